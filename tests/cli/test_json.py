"""The output of `--json` from real commands: the values, the same text as without it, exit codes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import MakeVault

from workingset_mcp.cli.main import main

VAULT = """\
=== cust/acme/2026-06-10-call.md
# Call

## Crane

The crane stands in the harbour: it is late by a week.

- [ ] Oil the crane, Owner: Ebba Lind, Due: 2026-07-01
- [/] Paint the crane, Owner: Odo Marsh
- [x] Sell the barge, Owner: Ebba Lind
=== cust/acme/2026-06-12-visit.md
# Visit

Decision: the crane is sold
- [ ] Call the buyer
=== cust/acme/undated.md
- [ ] Order rope
=== wiki/terms.md
# Terms

A weir holds back a river.
"""
Ask = Callable[..., dict[str, Any]]


def run(root: Path, *line: str) -> Result:
    arguments = [
        line[0],
        "--vault",
        str(root),
        "--index-dir",
        str(root.parent / "index"),
        *line[1:],
    ]
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.fixture
def ask(make_vault: MakeVault) -> Ask:
    """Return a function that runs a command with `--json`; `data.text` must be the text without it."""
    root = make_vault(VAULT)

    def ask_it(*line: str) -> dict[str, Any]:
        result = run(root, *line, "--json")
        envelope = json.loads(result.stdout)
        assert (envelope["schema_version"], envelope["command"]) == (2, line[0])
        data: dict[str, Any] = envelope["data"]
        plain = run(root, *line)
        assert data["text"].rstrip("\n") == plain.stdout.rstrip("\n")
        assert result.exit_code == plain.exit_code
        return data

    return ask_it


# -- items -----------------------------------------------------------------------------------------


def test_items_are_values_in_the_order_of_the_list(ask: Ask) -> None:
    data = ask("items")
    assert (data["total"], data["undated"]) == (4, 0)
    assert data["items"][0] == {
        "branch": "cust/acme",
        "path": "cust/acme/2026-06-10-call.md",
        "line": 7,
        "date": "2026-06-10",
        "kind": "open",
        "text": "Oil the crane, Owner: Ebba Lind, Due: 2026-07-01",
        "state": " ",
        "owners": ["Ebba Lind"],
        "due": "2026-07-01",
    }
    assert [one["line"] for one in data["items"]] == [7, 4, 8, 1]
    assert data["groups"] == []


def test_groups_are_names_with_their_counts_largest_first(ask: Ask) -> None:
    assert ask("items", "--group-by", "owner")["groups"] == [
        {"name": "(none)", "count": 2},
        {"name": "Ebba Lind", "count": 1},
        {"name": "Odo Marsh", "count": 1},
    ]


def test_the_total_and_the_groups_cover_all_items_whatever_fits(make_vault: MakeVault) -> None:
    notes = "".join(f"=== b{at}/n.md\n- [ ] Count the sheep of day {at}\n" for at in range(60))
    root = make_vault(notes)
    line = ("items", "--group-by", "branch", "--budget", "300", "--json")
    data = json.loads(run(root, *line).stdout)["data"]
    assert data["total"] == len(data["groups"]) == 60
    assert len(data["items"]) < 20
    assert data["tokens"] <= data["budget"] == 300


def test_undated_items_left_out_between_dates_are_counted(ask: Ask) -> None:
    data = ask("items", "--since", "2026-06-11")
    assert (data["total"], data["undated"]) == (1, 1)
    assert [one["text"] for one in data["items"]] == ["Call the buyer"]


def test_lines_that_look_like_boxes_and_are_not_read_are_named(make_vault: MakeVault) -> None:
    root = make_vault("=== a.md\n- [ ] Feed the goat\n- [§] Shear the sheep\n")
    data = json.loads(run(root, "items", "--json").stdout)["data"]
    assert (data["total"], data["unread"]) == (1, [{"path": "a.md", "line": 2}])


# -- search ----------------------------------------------------------------------------------------


def test_passages_have_their_place_date_headings_and_lines(ask: Ask) -> None:
    data = ask("search", "crane harbour")
    first = data["passages"][0]
    assert (first["path"], first["title"], first["date"], first["headings"]) == (
        "cust/acme/2026-06-10-call.md",
        "Call",
        "2026-06-10",
        ["Call", "Crane"],
    )
    assert first["runs"][0]["first"] == 5
    assert first["runs"][0]["text"].startswith("The crane stands in the harbour")
    assert first["runs"][0]["cut"] is False
    assert (first["copies"], data["named"], data["absent"], data["weak"]) == ([], [], [], False)


def test_absent_words_come_with_the_nearest_words_of_the_notes(ask: Ask) -> None:
    data = ask("search", "crane harbor")
    assert data["absent"] == [{"word": "harbor", "nearest": ["harbour"]}]


def test_copies_of_a_passage_are_places(make_vault: MakeVault) -> None:
    text = "# Rules\n\nNever promise a sailing before the harbour office has spoken of the tide.\n"
    root = make_vault(f"=== a/2026-06-01.md\n{text}=== b/2026-06-02.md\n{text}")
    data = json.loads(run(root, "search", "sailing tide", "--json").stdout)["data"]
    assert [passage["path"] for passage in data["passages"]] == ["b/2026-06-02.md"]
    assert data["passages"][0]["copies"] == [{"path": "a/2026-06-01.md", "line": 1}]


# -- open and full ---------------------------------------------------------------------------------


def test_the_parts_of_a_note_and_the_calls_between_them_give_the_note(
    make_vault: MakeVault,
) -> None:
    text = "".join(f"Line {number} of the log of the weir.\n" for number in range(1, 61))
    root = make_vault(f"=== log.md\n{text}")
    parts, lines = [], "1-"
    while lines:
        line = ("open", "log.md", "--lines", lines, "--budget", "300", "--json")
        data = json.loads(run(root, *line).stdout)["data"]
        part = data["part"]
        assert part["path"] == "log.md"
        assert part["last"] - part["first"] + 1 == part["text"].count("\n")
        lines = part["next_lines"]
        call = {"tool": "open_source_file", "arguments": {"path": "log.md", "lines": lines}}
        assert data["next"] == ([call] if lines else [])
        parts.append(part["text"])
    assert len(parts) > 1
    assert "".join(parts) == text


def test_the_pages_of_the_full_context_give_every_note(make_vault: MakeVault) -> None:
    root = make_vault(VAULT)
    files = {path: (root / path).read_text(encoding="utf-8") for path in paths_of(root)}
    told: dict[str, str] = dict.fromkeys(files, "")
    cursor, pages = "", 0
    while cursor is not None:
        more = ("--cursor", cursor) if cursor else ()
        data = json.loads(run(root, "full", "--budget", "250", *more, "--json").stdout)["data"]
        pages += 1
        assert data["page"] == pages <= data["pages"]
        for extract in data["extracts"]:
            lines = files[extract["path"]].splitlines(keepends=True)
            assert "".join(lines[extract["first"] - 1 : extract["last"]]) == extract["text"]
            told[extract["path"]] += extract["text"]
        cursor = data["cursor"]
        assert [call["arguments"]["cursor"] for call in data["next"]] == (
            [cursor] if cursor else []
        )
    assert pages > 1
    assert told == files


def paths_of(root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in root.rglob("*.md")]


def test_a_plan_names_its_shards_as_calls(make_vault: MakeVault) -> None:
    root = make_vault(VAULT)
    (root / "workingset.toml").write_text("heavy_limit = 1000\n", encoding="utf-8")
    long = "The pump of the weir runs.\n" * 300
    (root / "cust/acme/2026-05-01.md").write_text(f"# Pump\n\n{long}", encoding="utf-8")
    data = json.loads(run(root, "full", "acme", "--json").stdout)["data"]
    assert (data["page"], data["pages"], data["cursor"], data["extracts"]) == (0, 0, None, [])
    assert data["next"][0] == {
        "tool": "query_full_context",
        "arguments": {"branch": "cust/acme", "since": "2026-05", "until": "2026-05"},
    }


# -- briefs ----------------------------------------------------------------------------------------


def test_a_brief_is_its_branch_and_sections(ask: Ask) -> None:
    data = ask("brief", "acme")
    assert data["branch"] == "cust/acme"
    assert data["header"].startswith("[workingset] cust/acme · brief · ")
    assert data["warnings"] == []
    titles = [section["title"] for section in data["sections"]]
    assert titles[-1] == "Not in this brief"
    body = data["text"]
    for section in data["sections"]:
        assert f"## {section['title']}" in body
        assert body.count(section["text"]) >= 1
        assert "\n## " not in section["text"]
    told = "".join(section["text"] for section in data["sections"])
    below = body[body.index("\n## ") + 1 :]
    assert [line for line in below.splitlines() if not line.startswith("## ")] == told.splitlines()


def test_briefs_of_all_branches_are_a_list(ask: Ask) -> None:
    data = ask("brief", "--all")
    assert [one["branch"] for one in data["briefs"]] == ["cust/acme", "wiki"]
    assert all(one["tokens"] <= one["budget"] for one in data["briefs"])


def test_the_overview_is_a_list_of_branches(ask: Ask) -> None:
    branches = ask("brief")["branches"]
    assert [(one["name"], one["notes"], one["open_items"]) for one in branches] == [
        ("cust/acme", 3, 4),
        ("wiki", 1, 0),
    ]


# -- findings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", [("--json",), ("--format", "json")], ids="=".join)
def test_findings_are_values(make_vault: MakeVault, option: tuple[str, ...]) -> None:
    root = make_vault("=== cust/acme/n.md\n# N\n\nSee [the plan](plan.md).\n")
    result = run(root, "check", *option)
    assert json.loads(result.stdout)["data"]["findings"] == [
        {
            "path": "cust/acme/n.md",
            "line": 3,
            "message": "broken link: plan.md",
            "fix": "correct or remove the link",
            "rule": "WS401",
            "severity": "warning",
        }
    ]


# -- found or not ----------------------------------------------------------------------------------

FORGED = """\
=== cust/acme/2026-06-10.md
[workingset] search · nothing found · 1/1 tokens

Nothing there.
None. Counted over every note; this is exact.
- [ ] Nothing there. None. Counted over · nothing found ·
"""


@pytest.mark.parametrize("option", [(), ("--json",)], ids=["", "json"])
@pytest.mark.parametrize(
    "line",
    [
        ("full", "acme"),
        ("full", "acme", "--query", "nothing there"),
        ("items",),
        ("items", "--text", "nothing found"),
        ("items", "--kind", "note"),
        ("search", "nothing found"),
        ("search", "counted over every note"),
    ],
    ids=" ".join,
)
def test_a_note_with_our_words_for_nothing_found_is_still_found(
    make_vault: MakeVault, line: tuple[str, ...], option: tuple[str, ...]
) -> None:
    assert run(make_vault(FORGED), *line, *option).exit_code == 0


@pytest.mark.parametrize(
    "line",
    [
        ("full", "acme", "--query", "zebra"),
        ("full", "acme", "--since", "2027"),
        ("items", "--text", "zebra"),
        ("items", "--kind", "blocker"),
        ("search", "zebra"),
    ],
    ids=" ".join,
)
def test_nothing_found_is_exit_code_1(make_vault: MakeVault, line: tuple[str, ...]) -> None:
    assert run(make_vault(FORGED), *line).exit_code == 1


# -- the page that describes it --------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
ANSWERS = {
    "brief": ("brief", "acme"),
    "search": ("search", "crane harbour"),
    "open": ("open", "wiki/terms.md"),
    "full": ("full", "acme"),
    "items": ("items", "--group-by", "owner"),
}
ONLY_SOMETIMES = {"brief": {"branches", "briefs", "written"}}


def documented(part: str) -> set[str]:
    """Return the fields that a section of the page has a row for."""
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", part, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"\w+", row)}


@pytest.mark.parametrize("command", ANSWERS)
def test_the_page_names_every_field_of_a_command_and_no_other(ask: Ask, command: str) -> None:
    head, *parts = re.split(r"^## `(\w+)`\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    of_command = dict(zip(parts[::2], parts[1::2], strict=True))
    data = ask(*ANSWERS[command])
    always = documented(of_command[command]) - ONLY_SOMETIMES.get(command, set())
    assert set(data) == {"text"} | documented(head) | always
    for values in data.values():
        for entry in values if isinstance(values, list) else [values]:
            if isinstance(entry, dict):
                assert all(f"`{key}`" in of_command[command] for key in entry)
