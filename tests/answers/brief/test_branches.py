"""Paths and branches as a brief names and finds them; file times change nothing."""

import os
import random
import re

import pytest
from conftest import MakeVault, OpenVault

from answers.brief.reading import (
    ACME,
    appendix,
    brief,
    read_brief,
)
from workingset_mcp.answers.answer import printed
from workingset_mcp.errors import BranchNotFound

ODD_NAMES = [
    "Q3 plan 100% #1.md",
    "review? (draft) & 'final'.md",
    '"quoted" <name>.md',
    "📌 pinned.md",
    "-leading-dash.md",
    "日本語メモ.md",
    "a_b_c [draft].md",
    "notes · june.md",
    "with:colon.md",
    "note.md:3.md",
    "%2e%2e.md",
    "trailing space .md",
    "$HOME `x`.md",
    "deep er/and deeper/x y.md",
]


def test_every_path_of_a_brief_opens_as_it_is_printed(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "".join(
            f"=== cust/acme/{name}\n# N{n}\n\n- [ ] item {n}\n" for n, name in enumerate(ODD_NAMES)
        )
    )
    shown = brief(workspace)
    assert len(shown.items) == len(ODD_NAMES)
    for _, text, source in shown.items:
        number = int(text.removeprefix("item "))
        assert source == f"cust/acme/{ODD_NAMES[number]}:3"
        assert f"- [ ] {text}\n" in printed(workspace.open(source))
        assert f"# N{number}\n" in printed(workspace.open(source.rpartition(":")[0]))


def test_names_that_differ_only_in_case_are_two_notes(
    open_vault: OpenVault, make_vault: MakeVault
) -> None:
    root = make_vault("=== cust/acme/Notes.md\n- [ ] upper\n=== cust/acme/notes.md\n- [ ] lower\n")
    if len(list((root / ACME).iterdir())) < 2:
        pytest.skip("this disk folds case")
    workspace = open_vault(root)
    assert sorted(brief(workspace).items) == [
        (" ", "lower", "cust/acme/notes.md:1"),
        (" ", "upper", "cust/acme/Notes.md:1"),
    ]
    (root / ACME / "notes.md").unlink()
    (root / ACME / "Notes.md").rename(root / ACME / "NOTES.md")
    assert brief(workspace).items == [(" ", "upper", "cust/acme/NOTES.md:1")]


def test_a_branch_never_shows_what_only_begins_like_it(open_vault: OpenVault) -> None:
    names = ["acme", "acme-labs", "acme2", "acm_", "acmx", "ACME.old", "acme copy"]
    workspace = open_vault(
        "".join(
            f"=== cust/{name}/n.md\n- [ ] item of {name}\n\nOwner: {name}\n\nFact: of {name}\n"
            for name in names
        )
        + "=== cust/n.md\n- [ ] item of cust\n=== acme/n.md\n- [ ] item of the other acme\n"
    )
    for name in names:
        shown = brief(workspace, f"cust/{name}")
        assert shown.items == [(" ", f"item of {name}", f"cust/{name}/n.md:1")]
        assert set(re.findall(r"_\[([^\]]+?)(?::\d+)?\]_", shown.text)) == {f"cust/{name}/n.md"}
        assert shown.fields["source_notes"] == 1


@pytest.mark.parametrize(
    "given", ["cust/acme/", "/cust/acme", " cust/acme ", "cust\\acme", "Cust/ACME", "acme"]
)
def test_a_branch_is_found_by_what_people_type(open_vault: OpenVault, given: str) -> None:
    workspace = open_vault("=== cust/acme/n.md\n- [ ] acme\n=== cust/acme-labs/n.md\n- [ ] labs\n")
    assert printed(workspace.brief(given)) == printed(workspace.brief(ACME))


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("cust/acmee", "cust/acme"),
        ("cust/beto", "cust/beta"),
        ("cust", "cust/"),
        ("../cust/acme", ""),
        ("cust/acme/n.md", "cust/acme"),
        ("%", ""),
        ("x\0y", ""),
        ("z" * 600, ""),
    ],
    ids=["near", "another", "carrier", "above", "a note", "a sign", "a NUL", "too long for a disk"],
)
def test_an_unknown_branch_is_refused_with_near_names(
    open_vault: OpenVault, given: str, near: str
) -> None:
    workspace = open_vault("=== cust/acme/n.md\nA.\n=== cust/beta/n.md\nB.\n")
    with pytest.raises(BranchNotFound) as refused:
        printed(workspace.brief(given))
    assert near in refused.value.hint
    assert refused.value.hint
    assert str(workspace.vault.root) not in str(refused.value)


def test_a_name_of_several_branches_is_refused_with_all_of_them(open_vault: OpenVault) -> None:
    workspace = open_vault("=== cust/acme/n.md\nA.\n=== projects/acme/n.md\nB.\n")
    with pytest.raises(BranchNotFound, match="several") as refused:
        printed(workspace.brief("acme"))
    assert "cust/acme" in refused.value.hint
    assert "projects/acme" in refused.value.hint


@pytest.mark.parametrize("given", [None, "", "  "])
def test_no_branch_gives_the_overview(open_vault: OpenVault, given: str | None) -> None:
    answer = printed(
        open_vault("=== cust/acme/n.md\n- [ ] a\n=== wiki/n.md\nB.\n=== top.md\nT.\n").brief(given)
    )
    assert "# Branches of vault (3)\n" in answer
    assert "- **cust/acme** · 1 open item · 1 note" in answer
    assert "- **.** · 0 open items" in answer


def test_notes_at_the_root_are_the_branch_dot(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== top.md\n## STATUS (2026-06-10)\n\nRoot.\n\n- [ ] root item\n=== wiki/n.md\n"
        "- [ ] wiki item\n"
    )
    shown = brief(workspace, ".")
    assert shown.items == [(" ", "root item", "top.md:5")]
    assert shown.status == "top.md:1-5"
    assert shown.fields["branch"] == "."
    assert printed(workspace.brief("./")) == printed(workspace.brief("."))


def test_an_empty_vault_has_no_branches_and_an_overview(open_vault: OpenVault) -> None:
    workspace = open_vault("=== cust/acme/\n=== readme.txt\nNo note.\n")
    assert "# Branches of vault (0)\n" in printed(workspace.brief())
    with pytest.raises(BranchNotFound):
        printed(workspace.brief(ACME))


def test_recent_notes_and_all_else_do_not_depend_on_file_times(
    open_vault: OpenVault, make_vault: MakeVault
) -> None:
    text = (
        "=== cust/acme/2026-06-10 call.md\n# Call\n\n- [ ] b\n=== cust/acme/2026-05-02 intro.md\n"
        "# Intro\n\n- [ ] c\n"
        "=== cust/acme/notes.md\n---\ndate: 2026-06-04\n---\n# Notes\n\n- [ ] a\n"
        "=== cust/acme/u2.md\n# U2\n\n- [ ] d\n=== cust/acme/u1.md\n# U1\n\n- [ ] e\n"
        "=== cust/acme/2026-09-01 ahead.md\n# Ahead\n" + appendix()
    )
    answers = set()
    root = make_vault(text)
    for seed in range(6):
        draw = random.Random(seed)
        for file in root.rglob("*.md"):
            moment = draw.choice([0, 1_000_000_000, 1_781_600_000, 2_200_000_000]) + draw.random()
            os.utime(file, (moment, moment))
        answers.add(printed(open_vault(root).brief(ACME)))
    (answer,) = answers
    assert [text for _, text, _ in read_brief(answer).items] == ["b", "a", "c", "e", "d"]


def test_items_of_a_note_dated_ahead_come_last(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-09-01.md\n- [ ] ahead\n=== cust/acme/u.md\n- [ ] undated\n"
            "=== cust/acme/2026-06-01.md\n- [ ] old\n"
        )
    )
    assert [text for _, text, _ in shown.items] == ["old", "undated", "ahead"]
