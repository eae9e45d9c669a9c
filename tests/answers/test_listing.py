"""Counts and lists are exact: every kind, group and filter; what only looks like an item does not count.

`read_list` parses a printed list; `boxes_of` counts the boxes of any vault a second time, by brute force.
"""

import re
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import OpenVault, exact_tokens
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp.client import Client

from workingset_mcp.answers.answer import Limits, printed
from workingset_mcp.cli.demo import example_vault
from workingset_mcp.errors import ArgumentError, BranchNotFound
from workingset_mcp.server.server import build_server
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

_HEADER = re.compile(
    r"\[workingset\] items · (?P<kind>\w+): (?P<total>[\d,]+) in (?P<where>.+?)"
    r" · (?P<spent>[\d,]+)/(?P<budget>[\d,]+) tokens · index current"
)
_LINE = re.compile(
    r"- (?:\[(?P<mark>.)\] )?(?P<text>.*) _\[(?P<path>.+?)(?::(?P<line>\d+))?\]_", re.DOTALL
)
_GROUP = re.compile(r"\| (.+) \| (\d+) \|")
_UNDATED = re.compile(r"(\d+) more ha(?:s|ve) no date and cannot be placed between dates")
_MORE = re.compile(r"([\d,]+) more not shown: .+")

KINDS = (
    *("open", "in_progress", "done", "cancelled", "decision", "owner", "due", "blocker", "action"),
    *("fact", "status", "note", "remark"),
)
GROUPS = ("branch", "folder", "owner", "kind", "year", "month", "path")
Place = tuple[str, int]  # path and line; line 0 is the whole note


@dataclass(frozen=True, slots=True)
class Listing:
    """A parsed list: its total, its groups, its undated items, the lines that fit."""

    kind: str
    total: int
    where: str
    spent: int
    groups: tuple[tuple[str, int], ...]
    more_groups: int
    undated: int
    lines: tuple[tuple[Place, str, str], ...]  # place, mark, text
    more: int
    rest: tuple[str, ...]

    @property
    def places(self) -> list[Place]:
        return sorted(place for place, _, _ in self.lines)


def read_list(text: str) -> Listing:
    """Parse an answer from its text alone."""
    header, *lines = text.removesuffix("\n").split("\n")
    stated = _HEADER.fullmatch(header)
    assert stated, header
    groups: list[tuple[str, int]] = []
    found: list[tuple[Place, str, str]] = []
    rest: list[str] = []
    undated = more = more_groups = 0
    for line in lines:
        if matched := _GROUP.fullmatch(line):
            groups.append((matched[1], int(matched[2])))
        elif line.startswith("| ") or line == "|---|---|":
            continue
        elif matched := re.fullmatch(r"(\d+) more groups?", line):
            more_groups = int(matched[1])
        elif matched := _UNDATED.fullmatch(line):
            undated = int(matched[1])
        elif matched := _MORE.fullmatch(line):
            more = int(matched[1].replace(",", ""))
        elif matched := _LINE.fullmatch(line):
            place = (matched["path"], int(matched["line"] or 0))
            found.append((place, matched["mark"] or "", matched["text"]))
        else:
            rest.append(line)
    total = int(stated["total"].replace(",", ""))
    return Listing(
        stated["kind"], total, stated["where"], int(stated["spent"].replace(",", "")),
        tuple(groups), more_groups, undated, tuple(found), more, tuple(rest),
    )  # fmt: skip


def listed(workspace: Workspace, kind: str = "open", budget: int = 8_000, **asked: Any) -> Listing:
    """Parse a list; check that it keeps its budget and that its lines and the rest add up."""
    text = printed(workspace.items(kind, budget=budget, **asked))
    assert exact_tokens(text) <= budget
    found = read_list(text)
    assert found.kind == kind
    assert found.spent == exact_tokens(text)
    assert found.total == len(found.lines) + found.more
    return found


# -- every kind ------------------------------------------------------------------------------------

EVERY_KIND = """\
=== cust/acme/2026-06-01-call.md
# Call

- [ ] open one
- [/] half done
- [!] urgent one
- [?] unclear one
- [x] done one
- [X] done two
- [-] dropped
- [>] moved on
- [<] planned

## Status (2026-06-01)

All is well.

Decision: go ahead
Owner: Mira
Due: 2026-07-01
Blocker: no crane
Action: call the yard
Fact: twelve crates

## Next steps

- paint the crane

## Decisions

- keep the kiln
=== cust/acme/index.md
---
date: someday
---
# Acme

## Status (2026-05-01)

Begun.

## Status (02/09/2015)

Unclear.
=== cust/acme-labs/2026-06-02-call.md
- [ ] of the others
=== loose.md
Nothing to do.
"""
CALL, INDEX = "cust/acme/2026-06-01-call.md", "cust/acme/index.md"
OF_KIND: dict[str, list[Place]] = {
    "open": [(CALL, 3), (CALL, 4), (CALL, 5), (CALL, 6), ("cust/acme-labs/2026-06-02-call.md", 1)],
    "in_progress": [(CALL, 4)],
    "done": [(CALL, 7), (CALL, 8)],
    "cancelled": [(CALL, 9), (CALL, 10), (CALL, 11)],
    "decision": [(CALL, 17), (CALL, 30)],
    "owner": [(CALL, 18)],
    "due": [(CALL, 19)],
    "blocker": [(CALL, 20)],
    "action": [(CALL, 21), (CALL, 26)],
    "fact": [(CALL, 22)],
    "status": [(CALL, 13), (INDEX, 6), (INDEX, 10)],
    "note": [
        (CALL, 0),
        (INDEX, 0),
        ("cust/acme-labs/2026-06-02-call.md", 0),
        ("loose.md", 0),
    ],
    "remark": [(INDEX, 1), (INDEX, 10)],
}


def test_every_kind_is_in_the_table() -> None:
    assert tuple(OF_KIND) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_counts_only_its_items(open_vault: OpenVault, kind: str) -> None:
    found = listed(open_vault(EVERY_KIND), kind)
    assert found.places == sorted(OF_KIND[kind])
    assert found.total == len(OF_KIND[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_a_branch_counts_only_its_own(open_vault: OpenVault, kind: str) -> None:
    workspace = open_vault(EVERY_KIND)
    own = [place for place in OF_KIND[kind] if place[0].startswith("cust/acme/")]
    found = listed(workspace, kind, branch="acme")
    assert found.places == sorted(own)
    assert found.where == "cust/acme"
    others = listed(workspace, kind, branch="cust/acme-labs")
    assert others.total == (1 if kind in ("open", "note") else 0)


def test_lines_are_shown_verbatim_with_their_box(open_vault: OpenVault) -> None:
    workspace = open_vault(EVERY_KIND)
    assert [(mark, text) for _, mark, text in listed(workspace, "cancelled").lines] == [
        ("-", "dropped"),
        (">", "moved on"),
        ("<", "planned"),
    ]
    statuses = [text for _, _, text in listed(workspace, "status").lines]
    assert statuses[0] == "2026-06-01 Status (2026-06-01)"
    assert "2026-05-01 Status (2026-05-01)" in statuses


def test_remarks_name_what_was_not_read_in_full(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== cust/acme/cut.md\n```\nnever closed\n"
        "=== cust/acme/bytes.md\nGr\udcfc\udcdfe\n"
        "=== cust/acme/merge.md\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
        "=== cust/acme/plan (conflicted copy 2026-06-01).md\nold\n"
        "=== cust/acme/day.md\n---\ndate: soon\n---\n"
        "=== cust/acme/.trash/old.md\nhidden\n"
        "=== cust/acme-labs/fine.md\nFine.\n"
    )
    found = listed(workspace, "remark")
    assert [path for path, _ in found.places] == [
        f"cust/acme/{name}.md"
        for name in ("bytes", "cut", "day", "merge", "plan (conflicted copy 2026-06-01)")
    ]
    assert listed(workspace, "remark", branch="acme").places == found.places
    assert listed(workspace, "remark", branch="acme-labs").total == 0


def test_a_note_is_counted_once_and_shown_by_title_and_date(open_vault: OpenVault) -> None:
    workspace = open_vault(EVERY_KIND)
    assert [(path, text) for (path, _), _, text in listed(workspace, "note").lines] == [
        ("cust/acme-labs/2026-06-02-call.md", "2026-06-02 2026-06-02-call"),
        (CALL, "2026-06-01 Call"),
        (INDEX, "2026-05-01 Acme"),
        ("loose.md", "loose"),
    ]


# -- what only looks like an item ------------------------------------------------------------------

HIDDEN = """\
=== cust/acme/2026-06-01.md
- [ ] the only one

```
- [ ] in a fence
Decision: in a fence
```

~~~~
```
- [ ] in a fence in a fence
~~~~

    - [ ] indented code

<!-- - [ ] in a comment -->

<!--
- [ ] in a long comment
Decision: in a comment
-->

%%
- [ ] in a comment of Obsidian
%%

| task | who |
|---|---|
| - [ ] in a table | Decision: no |

Text with `- [ ] code`.
=== cust/acme/.obsidian/plugin.md
- [ ] hidden folder
=== .trash/old.md
- [ ] hidden folder
=== node_modules/pack/readme.md
- [ ] folder of a program
=== cust/acme/.hidden.md
- [ ] hidden file
=== cust/acme/list.txt
- [ ] no note
=== .gitignore
ignored/
=== cust/acme/ignored/a.md
- [ ] ignored
=== cust/acme/private/a.md
- [ ] ignored by the settings
=== override.md
- [ ] of the override of all
Decision: of the override
=== cust/acme/override.md
- [ ] of an override
Decision: of an override

## Status (2026-06-01)
=== cust/acme/brief.md
---
kind: workingset-brief
---
- [ ] of a generated brief
Decision: of a brief

## Status (2026-06-01)
=== cust/acme/unclosed.md
# Unclosed

```
- [ ] in a fence that never ends
"""


@pytest.mark.parametrize("group", [None, *GROUPS])
def test_what_only_looks_like_a_box_does_not_count(
    open_vault: OpenVault, group: str | None
) -> None:
    workspace = open_vault(HIDDEN, ignore=("private/",))
    found = listed(workspace, group_by=group)
    assert found.places == [("cust/acme/2026-06-01.md", 1)]
    assert sum(count for _, count in found.groups) == (1 if group else 0)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("decision", []),
        ("status", []),
        ("note", ["cust/acme/2026-06-01.md", "cust/acme/unclosed.md"]),
    ],
)
def test_overrides_and_generated_briefs_do_not_count(
    open_vault: OpenVault, kind: str, expected: list[str]
) -> None:
    workspace = open_vault(HIDDEN, ignore=("private/",))
    assert [path for path, _ in listed(workspace, kind).places] == expected


def test_duplicate_boxes_count_each_time(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== cust/acme/a.md\n- [ ] oil it\n- [ ] oil it\n  - [ ] oil it\n> - [ ] oil it\n"
        "=== cust/acme/b.md\n- [ ] **oil** it\n"
    )
    assert listed(workspace).total == 5
    assert listed(workspace, group_by="path").groups == (
        ("cust/acme/a.md", 4),
        ("cust/acme/b.md", 1),
    )


# -- groups ----------------------------------------------------------------------------------------

GROUPED = """\
=== cust/acme/2026-06-01-call.md
- [ ] @mira: one
- [ ] @mira and @tom: two
- [ ] three
=== cust/acme/meetings/2026-05-01-call.md
- [ ] @mira: four
- [x] @tom: done
=== cust/acme-labs/2025-11.md
- [ ] @ana: five
=== projects/weir/2024/plan.md
- [ ] six
=== loose.md
- [ ] @mira: seven
=== wiki/a.md
- [ ] eight
- [ ] nine
"""
BY_GROUP: dict[str, list[tuple[str, int]]] = {
    "branch": [
        ("cust/acme", 4),
        ("wiki", 2),
        (".", 1),
        ("cust/acme-labs", 1),
        ("projects/weir", 1),
    ],
    "folder": [
        ("cust/acme", 3),
        ("wiki", 2),
        (".", 1),
        ("cust/acme-labs", 1),
        ("cust/acme/meetings", 1),
        ("projects/weir/2024", 1),
    ],
    "owner": [("(none)", 4), ("mira", 4), ("ana", 1), ("tom", 1)],
    "kind": [("open", 9)],
    "year": [("2026", 4), ("(undated)", 3), ("2024", 1), ("2025", 1)],
    "month": [("(undated)", 3), ("2026-06", 3), ("2024", 1), ("2025-11", 1), ("2026-05", 1)],
    "path": [
        ("cust/acme/2026-06-01-call.md", 3),
        ("wiki/a.md", 2),
        ("cust/acme-labs/2025-11.md", 1),
        ("cust/acme/meetings/2026-05-01-call.md", 1),
        ("loose.md", 1),
        ("projects/weir/2024/plan.md", 1),
    ],
}


@pytest.mark.parametrize("group", GROUPS)
def test_groups_come_largest_first(open_vault: OpenVault, group: str) -> None:
    found = listed(open_vault(GROUPED), group_by=group)
    assert sorted(found.groups) == sorted(BY_GROUP[group])
    assert [count for _, count in found.groups] == [count for _, count in BY_GROUP[group]]
    assert found.total == 9
    assert found.where == "5 branches"


def test_groups_count_only_what_the_filters_leave(open_vault: OpenVault) -> None:
    workspace = open_vault(GROUPED)
    assert listed(workspace, owner="mira", group_by="branch").groups == (("cust/acme", 3), (".", 1))
    assert listed(workspace, since="2026", group_by="year").groups == (("2026", 4),)
    assert listed(workspace, "done", group_by="owner").groups == (("tom", 1),)
    assert listed(workspace, "note", group_by="year", since="2025").groups == (
        ("2026", 2),
        ("2025", 1),
    )


def test_a_person_is_one_group_however_the_name_is_cased(open_vault: OpenVault) -> None:
    lines = ["@Mira: one", "@mira: two", "@MIRA and @mira: three", "@Mira: four", "@tom: five"]
    boxes = "".join(f"- [ ] {line}\n" for line in lines)
    workspace = open_vault(f"=== cust/acme/a.md\n{boxes}")
    assert listed(workspace, group_by="owner").groups == (("Mira", 4), ("tom", 1))
    assert listed(workspace, owner="mira").total == 4


def test_groups_that_do_not_fit_are_counted(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "".join(
            f"=== cust/customer-{n:03}/a.md\n" + "- [ ] do it\n" * (1 + n % 7) for n in range(150)
        )
    )
    for budget in (200, 1_000, 8_000, 24_000):
        found = listed(workspace, budget=budget, group_by="branch")
        assert len(found.groups) + found.more_groups == 150
        assert found.groups
        counts = [count for _, count in found.groups]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] == 7
        assert found.total == sum(1 + n % 7 for n in range(150))


# -- filters ---------------------------------------------------------------------------------------

OWNED = """\
=== cust/acme/a.md
- [ ] **[Acme, Priya]** one
- [ ] **[Vendor, URGENT]** two
- [ ] [Priya Raman] three
- [ ] ask @priya for it, four
- [ ] five, Owner: Priya Raman, Due: 2026-07-01
- [ ] six [owner:: Tom]
- [ ] **Owner:** Tom, seven
- [ ] @tom-two eight
- [ ] mail priya@example.com, nine
- [ ] Priya is away, ten
- [ ] [Priya](people/priya.md) has it, eleven
- [ ] **[Mira/Tom]** twelve
- [ ] [Assignee:: none] thirteen (@Mira)
- [x] @priya: fourteen
"""
OWNERS = {
    "Priya": [1, 3, 4, 5],
    "priya": [1, 3, 4, 5],
    "@priya": [1, 3, 4, 5],
    "Priya Raman": [3, 5],
    "Acme": [1],
    "Vendor": [2],
    "Tom": [6, 7, 12],
    "tom-two": [8],
    "Mira": [12, 13],
    "URGENT": [],
    "Raman": [3, 5],
    "Pri": [],
    "nobody": [],
}


@pytest.mark.parametrize(("owner", "lines"), OWNERS.items(), ids=OWNERS)
def test_an_owner_is_found_however_a_line_names_it(
    open_vault: OpenVault, owner: str, lines: list[int]
) -> None:
    found = listed(open_vault(OWNED), owner=owner)
    assert [line for _, line in found.places] == lines
    assert found.total == len(lines)
    assert found.where.endswith(f", of {owner}")


OWNER_FORMS = {
    "brackets": "**[Mira]** oil it",
    "brackets with others": "**[Acme, Mira]** oil it",
    "brackets with a slash": "**[Acme/Mira]** oil it",
    "brackets with and": "[Acme and Mira] oil it",
    "brackets with a mark": "**[Mira, URGENT]** oil it",
    "brackets with a handle": "**[@mira]** oil it",
    "a handle": "oil it @mira",
    "a handle with a colon": "@mira: oil it",
    "a handle in a bracket": "oil it (@Mira)",
    "a handle at an apostrophe": "oil @mira's crane",
    "two handles": "@tom, @mira oil it",
    "a field": "oil it, Owner: Mira",
    "a field and a due day": "oil it, Owner: Mira, Due: 2026-07-01",
    "a field in bold": "oil it, **Owner:** Mira",
    "a field in bold, the colon outside": "oil it, **Owner**: Mira",
    "a field with a full name": "oil it, Owner: Mira Holt, soon",
    "a field in brackets": "oil it (Owner: Mira)",
    "a field with a handle": "oil it, owner: @mira",
    "assignee": "oil it, Assignee: Mira",
    "an inline field": "oil it [owner:: Mira]",
    "an inline field, another word": "oil it [assignee:: Mira]",
    "German": "ölen, Verantwortlich: Mira",
}


@pytest.mark.parametrize("line", OWNER_FORMS.values(), ids=OWNER_FORMS)
def test_an_owner_is_read_in_every_form(open_vault: OpenVault, line: str) -> None:
    workspace = open_vault(f"=== cust/acme/a.md\n- [ ] {line}\n- [ ] Mira is away\n")
    for name in ("Mira", "@mira", "MIRA"):
        assert listed(workspace, owner=name).places == [("cust/acme/a.md", 1)]


TEXTS = {
    "crane": [1, 2],
    "CRANE": [1, 2],
    "the crane": [1, 2],
    "oil the": [1],
    "2026-07-01": [3],
    "倉庫": [4],
    "100% (sure)": [5],
    ".*": [],
    "%": [5],
    "_": [],
    "zeppelin": [],
}


@pytest.mark.parametrize(("text", "lines"), TEXTS.items(), ids=TEXTS)
def test_a_text_counts_the_lines_that_contain_it(
    open_vault: OpenVault, text: str, lines: list[int]
) -> None:
    workspace = open_vault(
        "=== cust/harbour/2026-06-01.md\n- [ ] Oil **the** crane\n- [ ] Paint the Crane\n"
        "- [ ] Done by 2026-07-01\n- [ ] 倉庫を見る\n- [ ] be 100% (sure)\n"
    )
    found = listed(workspace, text=text)
    assert [line for _, line in found.places] == lines


def test_a_text_that_is_only_in_the_path_matches_no_line(open_vault: OpenVault) -> None:
    workspace = open_vault("=== cust/harbour/2026-06-01.md\n- [ ] oil it\n- [ ] harbour dues\n")
    found = listed(workspace, text="harbour")
    assert [text for _, _, text in found.lines] == ["harbour dues"]


DUE = """\
=== cust/acme/2026-01-01.md
- [ ] one, Due: 2026-06-20
- [ ] two (due 2026-06-21)
- [ ] three 📅 2026-06-22
- [ ] four [due:: 2026-06-23]
- [ ] five, Due: 24 June 2026
- [ ] six (by 2026-06-25)
- [ ] seven, seen 2026-06-01
- [ ] eight, due soon
- [x] nine, Due: 2026-06-20
- [/] ten, Due: 2026-06-20

Due: 2026-06-19
"""
DUE_BEFORE = {
    "2026-06-19": [],
    "2026-06-20": [],
    "2026-06-21": [1, 10],
    "2026-06-22": [1, 2, 10],
    "2026-06-23": [1, 2, 3, 10],
    "2026-06-24": [1, 2, 3, 4, 10],
    "2026-06-25": [1, 2, 3, 4, 5, 10],
    "2026-06-26": [1, 2, 3, 4, 5, 6, 10],
    "2026-06": [],
    "2026-07": [1, 2, 3, 4, 5, 6, 10],
    "2027": [1, 2, 3, 4, 5, 6, 10],
    "25 June 2026": [1, 2, 3, 4, 5, 10],
}


@pytest.mark.parametrize(("day", "lines"), DUE_BEFORE.items(), ids=DUE_BEFORE)
def test_what_is_due_before_a_day_is_found_in_every_form(
    open_vault: OpenVault, day: str, lines: list[int]
) -> None:
    found = listed(open_vault(DUE), due_before=day)
    assert [line for _, line in found.places] == lines


DUE_FORMS = {
    "a field": "oil it, Due: 2026-06-20",
    "a field in small letters": "oil it, due: 2026-06-20",
    "a field in bold": "oil it, **Due:** 2026-06-20",
    "a field in bold, the colon outside": "oil it, **Due**: 2026-06-20",
    "a field of a day in bold": "oil it, Due: **2026-06-20**",
    "a field that comes first": "Due: 2026-06-20, oil it",
    "a bracket": "oil it (due 2026-06-20)",
    "a bracket with a colon": "oil it (Due: 2026-06-20)",
    "a word": "oil it by 2026-06-20",
    "until": "oil it until June 20, 2026",
    "deadline": "oil it, Deadline: 2026-06-20",
    "a calendar": "oil it 📅 2026-06-20",
    "a calendar behind another date": "oil it ➕ 2026-06-01 📅 2026-06-20",
    "an inline field": "oil it [due:: 2026-06-20]",
    "an inline field, another word": "oil it [deadline:: 2026-06-20]",
    "German": "ölen, fällig: 20.06.2026",
    "a handle between": "oil it, Owner: Mira, Due: 2026-06-20",
    "a day before it": "oil it as of 2026-06-01, Due: 2026-06-20",
}


@pytest.mark.parametrize(
    "line",
    DUE_FORMS.values(),
    ids=DUE_FORMS,
)
def test_a_due_day_is_read_in_every_form(open_vault: OpenVault, line: str) -> None:
    workspace = open_vault(f"=== cust/acme/2026-01-01.md\n- [ ] {line}\n")
    assert listed(workspace, due_before="2026-06-21").total == 1
    assert listed(workspace, due_before="2026-06-20").total == 0


@pytest.mark.parametrize(
    "line", ["oil it 2026-06-20", "seen on 2026-06-20", "overdue since 2026-06-20"]
)
def test_a_day_that_is_not_a_due_day_does_not_count(open_vault: OpenVault, line: str) -> None:
    workspace = open_vault(f"=== cust/acme/2026-01-01.md\n- [ ] {line}\n")
    assert listed(workspace, due_before="2027").total == 0


def test_a_separate_due_line_has_a_day_too(open_vault: OpenVault) -> None:
    assert listed(open_vault(DUE), "due", due_before="2026-06-20").total == 1
    assert listed(open_vault(DUE), "due", due_before="2026-06-19").total == 0


def test_the_next_due_comes_first_then_the_newest(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== cust/acme/2026-01-01.md\n- [ ] old\n- [ ] late, Due: 2026-07-02\n"
        "=== cust/acme/2026-05-01.md\n- [ ] new\n- [ ] next, Due: 2026-07-01\n"
        "=== cust/acme/loose.md\n- [ ] undated\n"
    )
    texts = [text.partition(",")[0] for _, _, text in listed(workspace).lines]
    assert texts == ["next", "late", "new", "old", "undated"]


WINDOWED = """\
=== cust/acme/2025-12-31-call.md
- [ ] one
=== cust/acme/2026-01-15-call.md
- [ ] @mira: two
=== cust/acme/2026-02.md
- [ ] three
=== cust/acme/2024/plan.md
- [ ] four
=== cust/acme/diary.md
# Diary

## 2026-01-20

- [ ] @mira: five

## 2026-03-01

- [ ] six
=== cust/acme/loose.md
- [ ] @mira: undated
- [ ] @tom: undated
=== cust/acme-labs/loose.md
- [ ] undated
"""
BETWEEN: dict[str, tuple[str | None, str | None, str]] = {
    "a day": ("2026-01-15", "2026-01-15", "two"),
    "a day of a section": ("2026-01-20", "2026-01-20", "five"),
    "a month": ("2026-01", "2026-01", "two five"),
    "a month with a note of the month": ("2026-02", "2026-02", "three"),
    "a year": ("2025", "2025", "one"),
    "a year with a note of the year": ("2024", "2024", "four"),
    "from": ("2026-01-16", None, "three five six"),
    "up to": (None, "2025-12-31", "one four"),
    "nothing": ("2023", "2023", ""),
}


@pytest.mark.parametrize(("since", "until", "texts"), BETWEEN.values(), ids=BETWEEN)
def test_a_window_counts_by_the_dates_of_notes_and_sections(
    open_vault: OpenVault, since: str | None, until: str | None, texts: str
) -> None:
    found = listed(open_vault(WINDOWED), branch="acme", since=since, until=until)
    assert sorted(text.rpartition(" ")[2] for _, _, text in found.lines) == sorted(texts.split())
    assert found.undated == 2


def test_without_a_window_the_undated_count_like_all(open_vault: OpenVault) -> None:
    found = listed(open_vault(WINDOWED))
    assert (found.total, found.undated) == (9, 0)


@pytest.mark.parametrize(
    ("asked", "undated"),
    [
        ({}, 3),
        ({"branch": "acme"}, 2),
        ({"owner": "mira"}, 1),
        ({"owner": "nobody"}, 0),
        ({"text": "five"}, 0),
        ({"text": "undated"}, 3),
    ],
    ids=str,
)
def test_the_undated_are_counted_after_the_other_filters(
    open_vault: OpenVault, asked: dict[str, Any], undated: int
) -> None:
    assert listed(open_vault(WINDOWED), since="2026", **asked).undated == undated


def test_notes_are_counted_between_dates(open_vault: OpenVault) -> None:
    workspace = open_vault(WINDOWED)
    found = listed(workspace, "note", since="2025-01-01", until="2026-02-28")
    assert [path for path, _ in found.places] == [
        "cust/acme/2025-12-31-call.md",
        "cust/acme/2026-01-15-call.md",
        "cust/acme/2026-02.md",
        "cust/acme/diary.md",
    ]
    assert found.undated == 2


def test_filters_combine(open_vault: OpenVault) -> None:
    found = listed(
        open_vault(OWNED + "=== wiki/2026-06-01.md\n- [ ] @tom: five, Due: 2026-07-01\n"),
        owner="tom",
        text="five",
        due_before="2026-07-02",
        since="2026-06",
        until="2026-06",
        branch="wiki",
        group_by="branch",
    )
    assert found.places == [("wiki/2026-06-01.md", 1)]
    assert found.groups == (("wiki", 1),)
    assert found.where == (
        "wiki, of tom, with 'five', dated 2026-06 to 2026-06, due before 2026-07-02"
    )


def test_nothing_found_is_an_exact_answer(open_vault: OpenVault) -> None:
    workspace = open_vault(EVERY_KIND)
    text = printed(workspace.items("open", owner="nobody"))
    assert text.startswith("[workingset] items · open: 0 in 0 branches, of nobody · ")
    assert "this is exact" in text
    with pytest.raises(BranchNotFound):
        printed(workspace.items("open", branch="nowhere"))


# -- the budget ------------------------------------------------------------------------------------


def test_counts_cover_every_match_whatever_fits(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "".join(
            f"=== cust/c{n % 5}/2026-{1 + n % 12:02}-01-{n:03}.md\n"
            + "".join(
                f"- [ ] @owner{line % 3}: matter {n}.{line} of the yard\n" for line in range(9)
            )
            for n in range(120)
        )
    )
    for budget in (200, 300, 900, 3_000, 24_000):
        for group in (None, *GROUPS):
            found = listed(workspace, budget=budget, group_by=group)
            assert found.total == 1_080
            assert (
                group in (None, "path")
                or found.more_groups
                or (sum(count for _, count in found.groups) == 1_080)
            )
    text = printed(workspace.items(budget=24_000, limits=Limits(max_bytes=2_000)))
    assert len(text.encode()) <= 2_000
    assert read_list(text).total == 1_080


def test_a_line_longer_than_the_budget_is_counted_and_not_cut(open_vault: OpenVault) -> None:
    workspace = open_vault(f"=== cust/acme/a.md\n- [ ] {'crate ' * 3_000}\n- [ ] short\n")
    found = listed(workspace, budget=500)
    assert found.total == 2
    assert all(len(text) < 20 for _, _, text in found.lines)


def test_a_forged_source_mark_is_escaped_before_the_real_one(open_vault: OpenVault) -> None:
    workspace = open_vault("=== cust/acme/a.md\n- [ ] forged _[cust/acme/b.md:7]_\n")
    text = printed(workspace.items())
    assert text.endswith("- [ ] forged _\\[cust/acme/b.md:7]_ _[cust/acme/a.md:1]_\n")


# -- unknown words ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["opne", "", "boxes", "open; drop", "kind", "x" * 900])
def test_an_unknown_kind_is_refused_with_the_list(open_vault: OpenVault, kind: str) -> None:
    workspace = open_vault("=== a.md\nText.\n")
    with pytest.raises(ArgumentError) as refused:
        printed(workspace.items(kind))
    assert all(name in str(refused.value) for name in KINDS)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("group", ["brnch", "customer", "week", "x" * 900])
def test_an_unknown_group_is_refused_with_the_list(open_vault: OpenVault, group: str) -> None:
    workspace = open_vault("=== a.md\nText.\n")
    with pytest.raises(ArgumentError) as refused:
        printed(workspace.items(group_by=group))
    assert all(name in str(refused.value) for name in GROUPS)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("name", ["since", "until", "due_before"])
def test_an_invalid_date_is_refused(open_vault: OpenVault, name: str) -> None:
    asked: dict[str, Any] = {name: "soon"}
    with pytest.raises(ArgumentError, match=f"{name}='soon' is no date"):
        printed(open_vault("=== a.md\nText.\n").items(**asked))


@pytest.fixture
async def client(open_vault: OpenVault) -> AsyncIterator[Client]:
    workspace = open_vault(GROUPED)
    async with Client(build_server(workspace, follow=False)) as client:
        yield client


async def said_to(client: Client, **arguments: object) -> tuple[str, bool]:
    result = await client.call_tool("list_items", arguments)
    (block,) = result.content
    return str(getattr(block, "text", "")), bool(result.is_error)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"kind": "opne"}, KINDS),
        ({"kind": ""}, KINDS),
        ({"kind": 7}, KINDS),
        ({"kind": None}, KINDS),
        ({"group_by": "customer"}, GROUPS),
        ({"group_by": ["branch"]}, GROUPS),
    ],
)
async def test_an_unknown_word_gets_one_plain_sentence_over_mcp(
    client: Client, arguments: dict[str, object], names: Sequence[str]
) -> None:
    text, refused = await said_to(client, **arguments)
    assert refused
    (argument,) = arguments
    assert argument in text
    assert [name for name in names if name not in text] == []
    assert "\n" not in text
    assert "pydantic" not in text
    assert "Traceback" not in text
    assert len(text) < 300


@pytest.mark.anyio
async def test_every_kind_and_group_is_answered_over_mcp(client: Client) -> None:
    for kind in KINDS:
        text, refused = await said_to(client, kind=kind)
        assert not refused
        assert read_list(text).kind == kind
    for group in GROUPS:
        text, refused = await said_to(client, group_by=group)
        assert not refused
        assert sorted(read_list(text).groups) == sorted(BY_GROUP[group])
    text, refused = await said_to(client)
    assert read_list(text).total == 9


# -- any vault, counted by brute force -------------------------------------------------------------

STATES = {
    "open": " /!?",
    "in_progress": "/",
    "done": "xX",
    "cancelled": "-><",
}
_BOX = re.compile(r"^[ >]*(?:[-*+]|\d+[.)]) \[(.)\] (\S.*)$")


@dataclass(frozen=True, slots=True)
class Box:
    """A box in the brute-force count."""

    path: str
    line: int
    state: str
    text: str


def boxes_of(path: str, text: str) -> Iterator[Box]:
    """Find every box outside fences, comments and tables, line by line."""
    fence, comment = "", ""
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if fence:
            if set(bare) == {fence[0]} and len(bare) >= len(fence):
                fence = ""
        elif comment:
            if comment in bare:
                comment = ""
        elif opened := re.match(r"(`{3,}|~{3,})", bare):
            fence = opened[1]
        elif bare in ("<!--", "%%"):
            comment = "-->" if bare == "<!--" else "%%"
        elif matched := _BOX.match(line):
            yield Box(path, number, matched[1], matched[2])


def branch_of(path: str) -> str:
    parts = path.split("/")
    if parts[0] in ("cust", "projects") and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0] if len(parts) > 1 else "."


def date_of(path: str) -> str:
    found = re.search(r"20\d\d(-\d\d){1,2}|20\d\d", path)
    return found[0] if found else ""


PATHS = (
    *("cust/acme/2026-06-01-call.md", "cust/acme/2026-05.md", "cust/acme/deep/er/list.md"),
    *("cust/acme-labs/2026-06-02-call.md", "projects/weir/2024/plan.md", "wiki/a.md", "top.md"),
    *("cust/acme/override.md", "cust/acme/.obsidian/x.md", "node_modules/x.md", "wiki/a.txt"),
)
COUNTED = PATHS[:7]
boxes = st.builds(
    lambda mark, state, text: f"{mark} [{state}] {text}",
    st.sampled_from(("-", "*", "+", "1.", "> -")),
    st.sampled_from(" /!?xX-><"),
    st.sampled_from(
        (
            "oil it",
            "@mira oil it",
            "@tom-two: oil it",
            "ask @mira, @tom",
            "**[Acme, Priya]** x",
            "塗る",
        )
    ),
)
blocks = st.one_of(
    st.lists(boxes, min_size=1, max_size=5).map("\n".join),
    boxes.map(lambda box: f"- a point\n  {box.removeprefix('> ')}"),
    st.tuples(st.sampled_from(("```", "````md", "~~~")), st.lists(boxes, max_size=3)).map(
        lambda pair: "\n".join([pair[0], *pair[1], pair[0].removesuffix("md")])
    ),
    st.lists(boxes, max_size=3).map(lambda inside: "\n".join(["<!--", *inside, "-->"])),
    st.lists(boxes, max_size=3).map(lambda inside: "\n".join(["%%", *inside, "%%"])),
    boxes.map(lambda box: f"| task |\n|---|\n| {box} |"),
    st.sampled_from(("# Heading", "Prose about [ ] and [x].", "---", "Decision: go on", "- [ ]x")),
)
texts = st.lists(blocks, max_size=6).map(lambda parts: "\n\n".join(parts) + "\n")

few_vaults = settings(
    max_examples=40,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@few_vaults
@given(
    notes=st.dictionaries(st.sampled_from(PATHS), texts, min_size=1),
    crlf=st.booleans(),
    budget=st.integers(200, 24_000),
)
def test_any_vault_is_counted_as_by_brute_force(
    notes: dict[str, str], budget: int, *, crlf: bool
) -> None:
    """Takes 2 s: every example is a vault, written and indexed."""
    found = [box for path in COUNTED for box in boxes_of(path, notes.get(path, ""))]
    with tempfile.TemporaryDirectory() as folder:
        for path, text in notes.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes((text.replace("\n", "\r\n") if crlf else text).encode())
        with closing(Workspace(Path(folder), Settings(), in_memory=True)) as workspace:
            workspace.build()
            assert_counts(workspace, found, budget)
            assert listed(workspace, "note").total == sum(path in notes for path in COUNTED)


def assert_counts(workspace: Workspace, found: Sequence[Box], budget: int) -> None:
    for kind, states in STATES.items():
        own = [box for box in found if box.state in states]
        assert listed(workspace, kind, 24_000).places == sorted((b.path, b.line) for b in own)
        assert listed(workspace, kind, budget).total == len(own)
    own = [box for box in found if box.state in STATES["open"]]
    expected: Mapping[str, Counter[str]] = {
        "branch": Counter(branch_of(box.path) for box in own),
        "folder": Counter(box.path.rpartition("/")[0] or "." for box in own),
        "path": Counter(box.path for box in own),
        "year": Counter(date_of(box.path)[:4] or "(undated)" for box in own),
        "month": Counter(date_of(box.path)[:7] or "(undated)" for box in own),
        "owner": Counter(owner for box in own for owner in owners_of(box.text)),
    }
    for group, counts in expected.items():
        grouped = listed(workspace, "open", 24_000, group_by=group)
        assert Counter(dict(grouped.groups)) == counts
        sizes = [count for _, count in grouped.groups]
        assert sizes == sorted(sizes, reverse=True)
    mira = [box for box in own if "mira" in owners_of(box.text)]
    assert listed(workspace, owner="@Mira").total == len(mira)
    dated = [box for box in own if date_of(box.path)[:4] == "2026"]
    within = listed(workspace, since="2026", until="2026")
    assert within.total == len(dated)
    assert within.undated == sum(not date_of(box.path) for box in own)
    assert listed(workspace, text="塗る").total == sum("塗る" in box.text for box in own)


def owners_of(text: str) -> list[str]:
    named = re.findall(r"@([\w-]+)", text)
    bracket = re.match(r"\*\*\[(.+?)\]\*\*", text)
    return [*(bracket[1].split(", ") if bracket else []), *named] or ["(none)"]


# -- the example vault -----------------------------------------------------------------------------


def test_the_example_vault_is_counted_as_by_brute_force(open_vault: OpenVault) -> None:
    root = example_vault()
    found = [
        box
        for file in sorted(root.rglob("*.md"))
        for box in boxes_of(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
    ]
    workspace = open_vault(root)
    for kind, states in STATES.items():
        own = sorted((box.path, box.line) for box in found if box.state in states)
        assert own
        assert listed(workspace, kind, 24_000).places == own
    groups = listed(workspace, group_by="branch").groups
    assert Counter(dict(groups)) == Counter(
        branch_of(box.path) for box in found if box.state in STATES["open"]
    )
