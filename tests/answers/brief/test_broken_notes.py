"""Front matter, encodings and broken text: the brief is still made, and names what is wrong."""

import os
import re
from pathlib import Path

import pytest
from conftest import MakeVault, OpenVault

from answers.brief.reading import (
    ACME,
    LEFT,
    STANDING,
    appendix,
    brief,
)

_BODY = "# Renewal\n\n## STATUS (2026-06-09)\n\nSigned.\n\n- [ ] chase the signature\n"
_BOMB = "".join(f"b{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 31))
FRONT_MATTERS = [
    # name, block, whether it is warned of
    ("a bare date", "---\ncreated: 2026-06-11\n---\n", False),
    ("a bare time stamp", "---\ncreated: 2026-06-11T10:00:00+02:00\n---\n", False),
    ("a date that is none", "---\ndate: 2026-13-45\n---\n", True),
    ("an unquoted colon", "---\ntitle: Plan: the weir: part 2\n---\n", True),
    ("a Windows path", '---\nsource: "C:\\docs\\plan"\n---\n', True),
    ("a leading star", "---\ntitle: *draft*\n---\n", True),
    ("a leading at", "---\nowner: @mira\n---\n", True),
    ("a key twice", "---\ntitle: a\ntitle: b\n---\n", True),
    ("tabs", "---\ntags:\n\t- a\n\t- b\n---\n", True),
    ("signs in a title", "---\ntitle: a | b & c\n---\n", False),
    ("a list", "---\n- tags: a\n- tags: b\n---\n", True),
    ("an alias bomb", f"---\na: &a0 [x, x]\n{_BOMB}---\n", True),
    ("nothing", "---\n---\n", False),
    ("dots at its end", "---\ntitle: x\n...\n", False),
    ("a python object", "---\nx: !!python/object/apply:os.system ['true']\n---\n", True),
    ("nested deeply", "---\na: " + "[" * 200 + "]" * 200 + "\n---\n", True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("block", "warned"),
    [case[1:] for case in FRONT_MATTERS],
    ids=[case[0] for case in FRONT_MATTERS],
)
def test_whatever_the_front_matter_the_body_is_read(
    open_vault: OpenVault, block: str, *, warned: bool
) -> None:
    workspace = open_vault(
        f"=== cust/acme/renewal.md\n{block}{_BODY}=== cust/acme/other.md\n- [ ] neighbour\n"
    )
    before = (workspace.vault.root / "cust/acme/renewal.md").read_bytes()
    shown = brief(workspace)
    first = block.count("\n") + 3
    assert shown.status == f"cust/acme/renewal.md:{first}-{first + 4}"
    assert shown.items == [
        (" ", "chase the signature", f"cust/acme/renewal.md:{first + 4}"),
        (" ", "neighbour", "cust/acme/other.md:1"),
    ]
    named = [line for line in shown.warnings if "cust/acme/renewal.md" in line]
    assert bool(named) == warned, shown.warnings
    assert shown.warnings == named
    assert (workspace.vault.root / "cust/acme/renewal.md").read_bytes() == before


def test_the_brief_shows_no_line_of_front_matter(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-06-10.md\n---\ntags: [weirtag]\nowner: Yaml Person\n"
            "- [ ] yaml box\n---\n"
            "# Call\n\nTom will ask the mill for two pumps until Friday.\n"
            "=== cust/acme/only.md\n---\ntags: [weirtag]\nDecision: in yaml\n---"
            + "\n"
            + appendix()
        )
    )
    assert not re.search("weirtag|Yaml Person|yaml box|in yaml", shown.body)


def test_front_matter_without_its_end_is_text(open_vault: OpenVault) -> None:
    shown = brief(open_vault("=== cust/acme/a.md\n---\ntitle: x\n\n- [ ] still listed\n"))
    assert shown.items == [(" ", "still listed", "cust/acme/a.md:4")]


@pytest.mark.parametrize("head", ["", "---\ntitle: Bom note\ndate: 2026-06-01\n---\n", "\n\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_order_mark_changes_nothing(
    open_vault: OpenVault, make_vault: MakeVault, head: str, end: str
) -> None:
    note = (head + _BODY).replace("\n", end)
    root = make_vault(f"=== cust/acme/a.md\n{note}")
    shown = [brief(open_vault(root))]
    (root / "cust/acme/a.md").write_bytes(f"\ufeff{note}".encode())
    shown.append(brief(open_vault(root)))
    (root / "cust/acme/a.md").write_bytes(note.encode("utf-16"))
    shown.append(brief(open_vault(root)))
    assert "\ufeff" not in "".join(reading.text for reading in shown)
    same = [re.sub("fingerprint: .*", "", reading.body) for reading in shown]
    assert same[0] == same[1] == same[2]


def test_empty_and_blank_notes_are_counted_and_harmless(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/empty.md\n=== cust/acme/blank.md\n \n\t\n\n=== cust/acme/yaml.md\n"
            "---\ntags: [x]\n---"
            "\n=== cust/acme/hash.md\n#\n=== cust/acme/box.md\n- [ ] no line end"
        )
    )
    assert shown.items == [(" ", "no line end", "cust/acme/box.md:1")]
    assert shown.fields["source_notes"] == 5
    assert shown.warnings == []


def test_a_branch_of_one_empty_note_says_what_it_lacks(open_vault: OpenVault) -> None:
    shown = brief(open_vault("=== cust/acme/empty.md\n"))
    assert shown.fields["source_tokens"] == 0
    (first, last) = shown.section(LEFT).lines
    assert first == "- No status block, no open items in this branch."
    assert last.startswith("- All 0 tokens of 1 note: ")


HEADING_SHAPES = [
    # name, lines, the nearest heading as it stands in the note
    ("a sign behind", "## C#", "## C#"),
    ("a sign behind, closed", "## F# ##", "## F# ##"),
    ("three blanks in front", "   ## Three blanks", "   ## Three blanks"),
    ("four blanks in front", "    ## Code", "# Shapes"),
    ("a tab behind the signs", "##\tTabbed", "##\tTabbed"),
    ("a tag", "##NoBlank is a tag", "# Shapes"),
    ("underlined", "Underlined\n---", "Underlined"),
    ("underlined with a double line", "First level\n===", "First level"),
    ("a rule below a list", "- a point\n\n---", "# Shapes"),
    ("in a fence", "```\n## In a fence\n```", "# Shapes"),
    ("in a tilde fence", "~~~\n## In a fence\n~~~", "# Shapes"),
    ("in a quote", "> ## In a quote", "# Shapes"),
    ("in a comment", "<!--\n## Hidden\n-->", "# Shapes"),
    ("other levels", "# One\n\n### Three", "### Three"),
    ("bold", "**Bold line**", "# Shapes"),
    ("emphasis and links", "## *Of* [the plan](plan.md)", "## *Of* [the plan](plan.md)"),
    ("other scripts", "## 水門の予定", "## 水門の予定"),
    ("carriage returns", "## Returned\r\n\r\nText.", "## Returned"),
]


@pytest.mark.parametrize(
    ("lines", "nearest"),
    [case[1:] for case in HEADING_SHAPES],
    ids=[case[0] for case in HEADING_SHAPES],
)
def test_a_line_stands_below_its_nearest_heading_of_every_shape(
    open_vault: OpenVault, lines: str, nearest: str
) -> None:
    rule = "A key must be returned within 24 hours."
    shown = brief(open_vault(f"=== cust/acme/a.md\n# Shapes\n\n{lines}\n\n{rule}\n" + appendix()))
    (quote,) = shown.section(STANDING).quotes
    assert quote.lines[0] == nearest
    assert quote.lines[-1] == rule


@pytest.mark.parametrize("fence", ["```", "~~~~", "> ```", "````md"])
def test_an_unclosed_fence_ends_with_its_note_and_is_named(
    open_vault: OpenVault, fence: str
) -> None:
    quote = "> " if fence.startswith(">") else ""
    shown = brief(
        open_vault(
            f"=== cust/acme/a.md\n- [ ] before\n\n{fence}\n{quote}- [ ] code\n"
            "=== cust/acme/b.md\n- [ ] the other note\n"
        )
    )
    assert [text for _, text, _ in shown.items] == ["before", "the other note"]
    (warning,) = shown.warnings
    assert warning.startswith("warning: cust/acme/a.md:3 ")
    assert "fence" in warning


@pytest.mark.parametrize("name", ["HEAD", "theirs"])
def test_conflict_marks_are_named_and_the_note_is_read(open_vault: OpenVault, name: str) -> None:
    shown = brief(
        open_vault(
            f"=== cust/acme/a.md\n# Plan\n\n<<<<<<< {name}\n## STATUS (2026-06-10)\n\nours\n"
            "=======\n"
            "## STATUS (2026-06-09)\n\ntheirs\n>>>>>>> main\n\n## Work\n\n- [ ] resolve it\n"
        )
    )
    assert shown.items == [(" ", "resolve it", "cust/acme/a.md:15")]
    (warning,) = shown.warnings
    assert warning.startswith("warning: cust/acme/a.md:3 ")
    assert "conflict" in warning


def test_a_heading_underlined_with_seven_signs_is_not_a_conflict(open_vault: OpenVault) -> None:
    assert brief(open_vault("=== cust/acme/a.md\nHeading\n=======\n\nText.\n")).warnings == []


def test_invalid_utf8_is_read_and_named(open_vault: OpenVault, make_vault: MakeVault) -> None:
    root = make_vault("=== cust/acme/ok.md\n- [ ] good\n")
    folder = root / ACME
    (folder / "latin.md").write_bytes("- [ ] café order\n".encode("latin-1"))
    (folder / "wide.md").write_bytes("- [ ] wide order\n".encode("utf-16"))
    (folder / "cut.md").write_bytes("- [ ] geöffnet € ".encode()[:-2] + b"\n- [ ] line two\n")
    (folder / "nul.md").write_bytes(b"- [ ] nul\0order\n")
    shown = brief(open_vault(root))
    shown.text.encode("utf-8")
    texts = [text for _, text, _ in shown.items]
    assert {"good", "café order", "wide order", "line two"} <= set(texts)
    named = "\n".join(shown.warnings)
    assert "cust/acme/latin.md" in named
    assert "cust/acme/cut.md" in named
    assert "cust/acme/nul.md" in named
    assert "ok.md" not in named
    assert "wide.md" not in named


@pytest.mark.skipif(os.name != "posix", reason="names are bytes only on POSIX")
def test_an_undecodable_file_name_is_named_and_left_out(
    open_vault: OpenVault, make_vault: MakeVault
) -> None:
    root = make_vault("=== cust/acme/ok.md\n- [ ] good\n")
    try:
        Path(os.fsdecode(os.fsencode(root / ACME) + b"/\xcf\xf0.md")).write_bytes(b"- [ ] odd\n")
    except OSError:
        pytest.skip("this disk takes only names that are text")
    shown = brief(open_vault(root))
    shown.text.encode("utf-8")
    assert [text for _, text, _ in shown.items] == ["good"]
    assert any("\\xcf\\xf0.md" in line for line in shown.warnings)
