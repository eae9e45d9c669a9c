"""From bytes to a note: encodings, line ends, sections, headings, dates, units, remarks."""

import codecs
import re
import sys

import pytest
from conftest import OpenVault, assert_costs_its_length, least_seconds
from hypothesis import given, settings
from hypothesis import strategies as st

from workingset_mcp.answers.answer import printed
from workingset_mcp.notes.lines import bare_line, folded, folded_lines
from workingset_mcp.notes.note import DatedStretch, Note, Remark, RemarkKind, decode, parse_note
from workingset_mcp.settings import Settings


def note_of(text: str | bytes, path: str = "a.md", **chosen: object) -> Note:
    raw = text if isinstance(text, bytes) else text.encode()
    return parse_note(path, raw, Settings(**chosen))  # type: ignore[arg-type]  # fields by name


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends, as the law has them."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)


# -- bytes to text ---------------------------------------------------------------------------------

REPLACED = "some bytes are not UTF-8; shown as replacement marks"
WESTERN = "not UTF-8; read as Windows-1252"
NUL = "holds NUL characters"

DECODED = [
    ("empty", b"", "", []),
    ("UTF-8", "Größe 漢字 🚦\n".encode(), "Größe 漢字 🚦\n", []),
    ("UTF-8 with BOM", codecs.BOM_UTF8 + "Größe\n".encode(), "Größe\n", []),
    ("BOM alone", codecs.BOM_UTF8, "", []),
    ("BOM in the middle", "a\ufeffb".encode(), "a\ufeffb", []),
    ("UTF-16 LE", codecs.BOM_UTF16_LE + "# A 漢🚦\r\n".encode("utf-16-le"), "# A 漢🚦\r\n", []),
    ("UTF-16 BE", codecs.BOM_UTF16_BE + "# A 漢🚦\r\n".encode("utf-16-be"), "# A 漢🚦\r\n", []),
    ("UTF-16 cut", codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"c", "ab\ufffd", []),
    (
        "Windows-1252",
        "Größe: 5 € – „gut“\n".encode("cp1252"),
        "Größe: 5 € – „gut“\n",
        [Remark(1, WESTERN)],
    ),
    (
        "Windows-1252, accent before an ellipsis",
        "voilà… c’est fermé\n".encode("cp1252"),
        "voilà… c’est fermé\n",
        [Remark(1, WESTERN)],
    ),
    (
        "Windows-1252, accent before a closing quote",
        "le “café” est fermé\n".encode("cp1252"),
        "le “café” est fermé\n",
        [Remark(1, WESTERN)],
    ),
    (
        "Windows-1252 below two lines of ASCII",
        "a\nb\nGröße\n".encode("cp1252"),
        "a\nb\nGröße\n",
        [Remark(3, WESTERN)],
    ),
    (
        "Windows-1252 with old Mac line ends",
        "a\rb\rGröße\r".encode("cp1252"),
        "a\rb\rGröße\r",
        [Remark(3, WESTERN)],
    ),
    ("a byte that Windows-1252 lacks", b"a\x81b \xfc", "a\ufffdb ü", [Remark(1, WESTERN)]),
    ("UTF-8 cut", "Größe 漢".encode()[:-1], "Größe \ufffd", [Remark(1, REPLACED)]),
    ("UTF-8 cut, only signs", "§ 4\n漢".encode()[:-1], "§ 4\n\ufffd", [Remark(2, REPLACED)]),
    ("Windows-1252, Windows line ends", b"a\r\n\xe9\r\n", "a\r\né\r\n", [Remark(2, WESTERN)]),
    (
        "UTF-8 with one bad byte behind Windows line ends",
        "漢字\r\nb\r\n".encode() + b"c\xff",
        "漢字\r\nb\r\nc\ufffd",
        [Remark(3, REPLACED)],
    ),
    ("NUL", b"a\nb\0c\n", "a\nb\0c\n", [Remark(2, NUL)]),
    ("NUL with old Mac line ends", b"a\rb\rc\0\r", "a\rb\rc\0\r", [Remark(3, NUL)]),
    (
        "NUL in broken UTF-8",
        "é\n".encode() + b"\0\xff",
        "é\n\0\ufffd",
        [Remark(2, REPLACED), Remark(2, NUL)],
    ),
]


@pytest.mark.parametrize(
    ("raw", "text", "remarks"), [pytest.param(*case[1:], id=case[0]) for case in DECODED]
)
def test_bytes_become_the_text_they_mean(raw: bytes, text: str, remarks: list[Remark]) -> None:
    assert decode(raw) == (text, remarks)
    assert list(note_of(raw).remarks) == remarks


@given(st.text())
def test_any_text_survives_each_unicode_encoding(text: str) -> None:
    text = text.lstrip("\ufeff")
    little = codecs.BOM_UTF16_LE + text.encode("utf-16-le")
    big = codecs.BOM_UTF16_BE + text.encode("utf-16-be")
    with_mark = codecs.BOM_UTF8 + text.encode()
    assert {decode(raw)[0] for raw in (text.encode(), with_mark, little, big)} == {text}


def test_a_byte_order_mark_hides_neither_front_matter_nor_a_heading() -> None:
    text = "---\ntitle: T\n---\n# H\n"
    for raw in (codecs.BOM_UTF8 + text.encode(), codecs.BOM_UTF16_LE + text.encode("utf-16-le")):
        note = note_of(raw)
        assert (note.title, note.line_count) == ("T", 4)
        assert [section.headings for section in note.sections] == [(), ("H",)]


# -- lines -----------------------------------------------------------------------------------------

LINES = [
    ("", 0),
    ("\n", 1),
    ("a", 1),
    ("a\n", 1),
    ("a\nb", 2),
    ("a\r\nb\r\n", 2),
    ("a\rb\r", 2),
    ("a\n\rb", 3),
    ("a\r\n\r\nb", 3),
    ("a\r\r\nb", 3),
    ("a\n\n\n", 3),
    *((f"a{sign}b", 1) for sign in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"),
]


@pytest.mark.parametrize(("text", "count"), LINES, ids=ascii)
def test_lines_end_at_three_signs_and_nothing_else(text: str, count: int) -> None:
    assert note_of(text).line_count == count == len(lines_of(text))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=ascii)
@pytest.mark.parametrize("sign", ["", *"\x0b\x0c\x1c\x85\u2028\u2029"], ids=ascii)
def test_an_item_stands_on_the_line_an_editor_shows(end: str, sign: str) -> None:
    text = end.join(["# H", f"one{sign} line", "", "- [ ] task", "", "Decision: yes, do", ""])
    assert [(item.line, item.text) for item in note_of(text).items] == [
        (4, "task"),
        (6, "Decision: yes, do"),
    ]


# -- sections --------------------------------------------------------------------------------------

PIECES = [
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\n\r",
        "\x0b",
        "\x0c",
        "\u2028",
        "\u2029",
        "\x85",
        "\0",
        "\ufeff",
    ),
    *("# ", "## ", "###### ", "####### ", "#", "C#", "===\n", "---\n", "...\n", "***\n", "+++\n"),
    *(
        "- ",
        "* ",
        "1. ",
        "12) ",
        "- [ ] ",
        "- [x] ",
        "+ [/] ",
        "  - ",
        "\t- [ ] ",
        "> ",
        "> - [ ] ",
    ),
    *(
        "```",
        "````",
        "~~~",
        "    ",
        "\t",
        "`",
        "``",
        "<!--",
        "-->",
        "%%",
        "<div>",
        "</div>",
        "<",
        "&",
    ),
    *("| a | b |\n", "|---|---|\n", "|", "**", "__", "*", "_", "[", "](x)", "[[", "]]", "!", "\\"),
    *("title: x\n", "date: 2026-06-16\n", "tags: [a, b]\n", "a: &a\n", "*a", "kind: note\n", ": "),
    *(
        "Decision: ",
        "**Owner:** ",
        "Due: ",
        "[DECIDED] ",
        "Action items",
        "TODO",
        "STATUS ",
        "Stand ",
    ),
    *(
        "2026-06-16",
        "02/09/2015",
        "April 25",
        "2026",
        "16. Juni 2026",
        "<<<<<<< ",
        ">>>>>>> ",
        "@ana ",
    ),
    *("word ", "Größe ", "漢字", "現状", "🚦", "e\u0301", "a", " ", "x" * 2_500, "漢" * 2_500),
    *("word " * 600, "line\n" * 600, "- item\r\n" * 400, "a\r" * 1_300, "```\n" + "code\n" * 600),
]
MARKDOWN = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=25).map("".join)


def assert_whole(note: Note, text: str) -> None:
    """The law of sections, and that everything found stands where it says."""
    lines = lines_of(text)
    assert note.line_count == len(lines)
    assert "".join(section.text for section in note.sections) == text
    ends = [0, *(section.last_line for section in note.sections)]
    assert ends[-1] == len(lines)
    for before, section in zip(ends, note.sections, strict=False):
        assert section.first_line == before + 1
        assert section.text == "".join(lines[section.first_line - 1 : section.last_line])
        assert 0 <= section.skip <= len(section.text)
    for item in note.items:
        assert item.text
        line = lines[item.line - 1]
        assert item.text in line or "<!--" in line or "%%" in line
    for status in note.statuses:
        assert 1 <= status.line <= status.last_line <= len(lines)
    for unit in note.units:
        assert 1 <= unit.first_line <= unit.last_line <= max(len(lines), 1)
    assert [item.line for item in note.items] == sorted({item.line for item in note.items})


@given(MARKDOWN)
@settings(max_examples=300)
def test_sections_of_any_markdown_join_back_to_the_text(text: str) -> None:
    text = text.lstrip("\ufeff")
    assert_whole(note_of(text), text)


@given(st.binary(max_size=400) | st.lists(st.sampled_from(PIECES)).map("".join).map(str.encode))
def test_any_bytes_make_a_note(raw: bytes) -> None:
    assert_whole(note_of(raw), decode(raw)[0])


def test_a_long_section_is_cut_between_blocks_and_keeps_its_heading() -> None:
    paragraph = "word " * 100 + "\n\n"
    text = "# A\n\n" + paragraph * 12
    note = note_of(text)
    assert_whole(note, text)
    assert len(note.sections) > 2
    assert {section.headings for section in note.sections} == {("A",)}
    assert all(len(section.text) <= 2_400 for section in note.sections)
    assert all(section.text.endswith("\n") for section in note.sections)


def sections(text: str) -> list[tuple[int, tuple[str, ...]]]:
    return [(section.level, section.headings) for section in note_of(text).sections]


HEADINGS = [
    ("no heading", "text\n", [(0, ())]),
    ("text before", "text\n# A\n", [(0, ()), (1, ("A",))]),
    ("nested", "# A\n## B\n### C\n## D\n# E\n", None),
    ("levels left out", "# A\n### B\n## C\n", [(1, ("A",)), (3, ("A", "B")), (2, ("A", "C"))]),
    ("closing marks", "# A #\n## B ##   \n", [(1, ("A",)), (2, ("A", "B"))]),
    ("a language", "# C#\n## F# ##\n", [(1, ("C#",)), (2, ("C#", "F#"))]),
    ("empty", "#\n## \n### ###\n", [(1, ("",)), (2, ("", "")), (3, ("", "", ""))]),
    ("indented three", "   # A\n", [(1, ("A",))]),
    ("indented four is code", "    # A\n", [(0, ())]),
    ("a tab behind the mark", "#\tA\n", [(1, ("A",))]),
    ("no blank is a tag", "#A\n", [(0, ())]),
    ("seven marks", "####### A\n", [(0, ())]),
    ("underlined", "A\n===\nB\n---\n", [(1, ("A",)), (2, ("A", "B"))]),
    ("underlined over two lines", "A\nand B\n===\n", [(1, ("A and B",))]),
    ("a rule is no underline", "A\n\n---\n", [(0, ())]),
    ("in a fence", "```\n# A\n```\n", [(0, ())]),
    ("in a comment", "<!--\n# A\n-->\n# B\n", [(0, ()), (1, ("B",))]),
    ("in an Obsidian comment", "%%\n# A\n%%\n# B\n", [(0, ()), (1, ("B",))]),
    ("in HTML", "<div>\n# A\n</div>\n", [(0, ())]),
    ("in a quote", "> # A\n", [(0, ())]),
    ("at the head of a list item, as outliners write it", "- # A\n", [(1, ("A",))]),
    ("behind front matter", "---\ntitle: T\n---\n# A\n", [(0, ()), (1, ("A",))]),
    ("marks inside", "# **A** and `b`\n", [(1, ("**A** and `b`",))]),
    ("a bold line cuts no section", "# A\n\n**B**\n\ntext\n", [(1, ("A",))]),
    ("with old Mac line ends", "# A\rtext\r## B\r", [(1, ("A",)), (2, ("A", "B"))]),
]


@pytest.mark.parametrize(
    ("text", "expected"), [pytest.param(*case[1:], id=case[0]) for case in HEADINGS]
)
def test_sections_begin_at_headings(
    text: str, expected: list[tuple[int, tuple[str, ...]]] | None
) -> None:
    if expected is None:
        nested = [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",)]
        expected = [(len(path), path) for path in nested]
    assert sections(text) == expected
    assert_whole(note_of(text), text)


BOLD_LINES = [
    ("**Next steps**\n\n- Ana: call\n", True),
    ("**Next steps:**\n\n- Ana: call\n", True),
    ("**Next steps**:\n\n- Ana: call\n", True),
    ("  **Next steps**  \n- Ana: call\n", True),
    ("__Next steps__\n\n- Ana: call\n", True),
    ("# Notes\n\ntext\n\n**Next steps**\n- Ana: call\n", True),
    ("**Next steps** are these\n\n- Ana: call\n", False),
    ("the **Next steps**\n\n- Ana: call\n", False),
    ("**Next steps** and **more**\n\n- Ana: call\n", False),
    ("```\n**Next steps**\n```\n\n- Ana: call\n", False),
    ("<!--\n**Next steps**\n-->\n\n- Ana: call\n", False),
    ("**Next steps**\n\n**Other**\n\n- Ana: call\n", False),
    ("**Next steps**\n\n# Other\n\n- Ana: call\n", False),
]


@pytest.mark.parametrize(("text", "is_heading"), BOLD_LINES, ids=ascii)
def test_a_line_that_is_only_bold_text_is_a_heading_of_what_follows(
    text: str, is_heading: bool
) -> None:
    found = [(item.kind, item.text) for item in note_of(text).items]
    assert found == ([("action", "Ana: call")] if is_heading else [])


# -- title, kind -----------------------------------------------------------------------------------

TITLES = [
    ("---\ntitle: From the block\n---\n# H\n", "x/a.md", "From the block"),
    ("# H\n", "x/a.md", "H"),
    ("## Two\n# One\n", "x/a.md", "One"),
    ("## Two\ntext\n", "x/a.md", "Two"),
    ("text\n", "x/2026-06-16 call.md", "2026-06-16 call"),
    ("", "x/archive.tar.md", "archive.tar"),
    ("#\n", "x/a.md", "a"),
    ("# [Linked](https://example.invalid) title\n", "x/a.md", "[Linked] title"),
    ("---\ntitle: [a, b]\n---\n# H\n", "x/a.md", "H"),
    ("---\ntitle: 2026\n---\n# H\n", "x/a.md", "2026"),
]


@pytest.mark.parametrize(("text", "path", "title"), TITLES)
def test_a_title_comes_from_the_block_the_first_heading_or_the_name(
    text: str, path: str, title: str
) -> None:
    assert note_of(text, path).title == title


KINDS = [
    ("a.md", "text\n", "note"),
    ("cust/acme/override.md", "text\n", "override"),
    ("OVERRIDE.md", "text\n", "override"),
    ("my-override.md", "text\n", "note"),
    ("override.md/a.md", "text\n", "note"),
    ("any.md", "---\nkind: workingset-brief\n---\n- [ ] task\n", "brief"),
    ("override.md", "---\nkind: workingset-brief\n---\n- [ ] task\n", "brief"),
    ("brief.md", "- [ ] task\n", "note"),
    ("a.md", "---\nkind: meeting\n---\n", "note"),
    ("a.md", "text\n---\nkind: workingset-brief\n---\n", "note"),
]


@pytest.mark.parametrize(("path", "text", "kind"), KINDS)
def test_the_kind_of_a_note_is_told_by_its_block_or_its_name(
    path: str, text: str, kind: str
) -> None:
    note = note_of(text, path)
    assert note.kind == kind
    if kind == "brief":
        assert (note.sections, note.items) == ((), ())


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("templates/meeting.md", True),
        ("Vorlagen/a.md", True),
        ("x/meeting-template.md", True),
        ("x/release checklist.md", True),
        ("x/contemplate.md", False),
        ("x/templated.md", False),
    ],
)
def test_notes_and_folders_called_template_are_templates(path: str, template: bool) -> None:
    assert note_of("text\n", path).template is template


# -- dates -----------------------------------------------------------------------------------------

DATES = [
    # path, text, date, source
    (
        "2025/2025-01-02 a.md",
        "---\ndate: 2026-06-16\n---\n# 2024-03-04\n",
        "2026-06-16",
        "front matter",
    ),
    ("2025-01-02 a.md", "---\ncreated: 2026-06-16\n---\n", "2026-06-16", "front matter"),
    ("a.md", "---\nupdated: 2026-06-17\ncreated: 2026-06-16\n---\n", "2026-06-17", "front matter"),
    ("a.md", "---\nupdated: 2026-06-17\ndate: 2026-06-16\n---\n", "2026-06-16", "front matter"),
    ("a.md", "---\ndate: soon\nupdated: 2026-06-17\n---\n", "2026-06-17", "front matter"),
    ("2025-01-02 a.md", "---\ndate: soon\n---\n", "2025-01-02", "name"),
    ("2025-01-02 a.md", "---\ndue: 2026-06-16\n---\n", "2025-01-02", "name"),
    ("2025/2024-01-02 a.md", "# 2026-06-16\n", "2024-01-02", "name"),
    ("2024/wasmtime-04-25.md", "# 2026-06-16\n", "2024-04-25", "folder"),
    ("2024/06/15.md", "# 2026-06-16\n", "2024-06-15", "folder"),
    ("2024-06-15 offsite/agenda.md", "# 2026-06-16\n", "2024-06-15", "folder"),
    ("2025/call.md", "# Call of 16 June 2026\n# 2026-06-17\n", "2026-06-16", "heading"),
    ("2025/call.md", "Call of 16 June 2026\n====\n", "2026-06-16", "heading"),
    ("2025/call.md", "# Call\n\n**16 June 2026**\n", "2026-06-16", "heading"),
    ("2025/call.md", "# April 25\n", "2025-04-25", "heading"),
    ("call.md", "# June 2026\n", "2026-06", "heading"),
    ("annual-report-2025.md", "# Report\n", "2025", "year"),
    ("2026/README.md", "text of 2026-06-16\n", "2026", "year"),
    ("a.md", "# April 25\n", "", ""),
    ("a.md", "held on 2026-06-16\n", "", ""),
    ("a.md", "```\n# 2026-06-16\n```\n<!--\n# 2026-06-15\n-->\n", "", ""),
    ("a.md", "# Release 0.11.16\n", "", ""),
    ("02-09-2015.md", "# 02/09/2015\n", "2015", "year"),
    ("a.md", "# 02/09/2015\n", "", ""),
]


@pytest.mark.parametrize(("path", "text", "date", "source"), DATES)
def test_the_date_of_a_note_is_the_first_that_parses(
    path: str, text: str, date: str, source: str
) -> None:
    note = note_of(text, path)
    assert (note.date, note.date_source) == (date, source)


def test_an_order_of_dates_decides_what_reads_two_ways() -> None:
    text = "# 02/09/2015\n"
    assert [note_of(text, date_order=order).date for order in (None, "dmy", "mdy")] == [
        "",
        "2015-09-02",
        "2015-02-09",
    ]


YEAR = "# 2026\n\n## 2026-06-16 Call\n\na\n\n### Details\n\nb\n\n## 2026-06-09 Call\n\nc\n"
UNITS = [
    ("a dated note", "2026-06-16.md", "# A\n\ntext\n", [DatedStretch("2026-06-16", 1, 3)]),
    ("an undated note", "a.md", "# A\n\ntext\n", []),
    ("a year alone", "2025.md", "# A\n\ntext\n", [DatedStretch("2025", 1, 3)]),
    (
        "one dated heading",
        "a.md",
        "# A\n\n## 2026-06-16\n\nx\n",
        [DatedStretch("2026-06-16", 1, 5)],
    ),
    (
        "a file of a year",
        "calls.md",
        YEAR,
        [DatedStretch("2026-06-16", 3, 10), DatedStretch("2026-06-09", 11, 13)],
    ),
    (
        "a file of a year, named so",
        "2026/calls.md",
        YEAR,
        [DatedStretch("2026-06-16", 3, 10), DatedStretch("2026-06-09", 11, 13)],
    ),
    (
        "days in the year of the folder",
        "2026/calls.md",
        "## June 16\na\n## June 9\nb\n",
        [DatedStretch("2026-06-16", 1, 2), DatedStretch("2026-06-09", 3, 4)],
    ),
    (
        "bold lines",
        "calls.md",
        "**2026-06-16**\n\na\n\n**2026-06-09**\n\nb\n",
        [DatedStretch("2026-06-16", 1, 4), DatedStretch("2026-06-09", 5, 7)],
    ),
    (
        "a section ends at a higher heading",
        "calls.md",
        "## 2026-06-16\na\n## 2026-06-09\nb\n# Appendix\nc\n",
        [DatedStretch("2026-06-16", 1, 2), DatedStretch("2026-06-09", 3, 4)],
    ),
    (
        "a dated note that mentions two days",
        "2026-06-16.md",
        "## Since 2026-06-09\na\n## Until 2026-06-23\nb\n",
        [DatedStretch("2026-06-16", 1, 4)],
    ),
    (
        "one day, twice",
        "a.md",
        "## 2026-06-16 morning\na\n## 2026-06-16 evening\nb\n",
        [DatedStretch("2026-06-16", 1, 4)],
    ),
]


@pytest.mark.parametrize(
    ("path", "text", "units"), [pytest.param(*case[1:], id=case[0]) for case in UNITS]
)
def test_units_are_the_dated_note_or_its_dated_sections(
    path: str, text: str, units: list[DatedStretch]
) -> None:
    assert list(note_of(text, path).units) == units


# -- remarks ---------------------------------------------------------------------------------------

OPEN = "code fence is never closed; the rest reads as code"
CONFLICT = "holds merge conflict marks"
REMARKED = [
    ("a\n```\nb\n", [Remark(2, OPEN)]),
    ("a\n~~~ py\nb\n", [Remark(2, OPEN)]),
    ("````\na\n```\n", [Remark(1, OPEN)]),
    ("```\na\n~~~\n", [Remark(1, OPEN)]),
    ("```\na\n```\n", []),
    ("```\na\n`````\n", []),
    ("```", [Remark(1, OPEN)]),
    ("    ```\n", []),
    ("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n", [Remark(2, CONFLICT)]),
    ("> <<<<<<< is a mark\n", []),
    ("Title\n=======\n", []),
    (
        "## Status 02/09/2015\n",
        [
            Remark(
                1,
                "date of 'Status 02/09/2015' reads two ways; set date_order",
                RemarkKind.AMBIGUOUS_DATE,
            )
        ],
    ),
    ("## Status 16/06/2026\n", []),
    ("plain\n", []),
]


@pytest.mark.parametrize(("text", "remarks"), REMARKED, ids=ascii)
def test_what_is_wrong_with_a_note_is_remarked_with_its_line(
    text: str, remarks: list[Remark]
) -> None:
    assert list(note_of(text).remarks) == remarks


def test_a_bad_note_is_indexed_and_remarked_and_leaves_the_others_alone(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(
        "=== good.md\nthe good note\n=== nul.md\nbefore \0 behind\n=== broken.md\nzebra \udcff\n"
        "=== front.md\n---\ntitle: [\n---\ngiraffe\n=== x.md/inner.md\nwalrus\n"
    )
    status = workspace.status()
    assert status["notes"] == 5
    assert sorted(remark.partition(" ")[0] for remark in status["remarks"]) == [
        "broken.md:1",
        "front.md:1",
        "nul.md:1",
    ]
    for word in ("good", "behind", "zebra", "giraffe", "walrus"):
        assert word in printed(workspace.search(word)).partition("\n")[2]


# -- hostile shapes: each is read within a second --------------------------------------------------

HOSTILE = {
    "quotes": ">" * 100_000 + " x",
    "quotes apart": "> " * 100_000,
    "a line of 4 MB": "word " * 800_000,
    "blanks": " " * 400_000,
    "tabs": "\t" * 400_000,
    "line ends": "\n" * 200_000,
    "brackets": "[" * 100_000,
    "links": "[a](" * 50_000,
    "stars": "**" * 100_000,
    "backticks": "".join("`" * length + " " for length in range(1, 800)),
    "lists in a line": "- " * 50_000,
    "lists in lists": "".join(" " * depth * 2 + "- a\n" for depth in range(500)),
    "a wide table": "|a" * 20_000 + "\n" + "|-" * 20_000 + "\n",
    "comments": "<!-- " * 50_000,
    "short comments": "a <!-- b -->\n" * 20_000,
    "comment marks": "%%" * 100_001,
    "HTML": "<" * 100_000,
    "owners": "- [ ] " + "@a " * 50_000,
    "open owners": "- [ ] " + "[owner:: " * 50_000,
    "dues": "- [ ] " + "due " * 50_000 + "2",
    "digits": "1" * 100_000 + ". x",
    "empty labels": "- Decision:\n" * 20_000,
    "bold lines": "**a**\n\n" * 20_000,
    "dated headings": "# 2026-06-16\n- [ ] x\n" * 3_000,
    "code in a line": "a `b` " * 80_000,
    "code between letters of two bytes": "é `é` " * 60_000,
    "comments in a line": "a <!-- b --> " * 40_000,
    "comments between letters of two bytes": "é <!-- é --> " * 30_000,
    "comment marks in a line": "a %% b " * 60_000,
    "comments that blanks surround": " " * 100_000 + "%% a %% " * 10_000 + " " * 100_000,
    "comments that end once": "- a <!-- b\n" * 20_000 + "-->",
    "comments over paragraphs": "a <!-- b\n\n" * 30_000 + "-->",
    "boxes in no list": "x\n" + "        - [ ] b\n" * 15_000,
    "days of years": "".join(f"# {1990 + at % 90}-01-01\nx\n" for at in range(15_000)),
    "statuses": "## STATUS (2026-11-16)\n" * 10_000,
    "links open": "[" * 100_000 + "](a)" * 50_000,
    "tables": "|a|\n|-|\n\n" * 15_000,
    "quotes in quotes": "".join(">" * depth + " a\n" for depth in range(500)),
}


@pytest.mark.untraced
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
def test_a_hostile_text_is_read_whole_and_costs_its_length_not_its_square(text: str) -> None:
    assert "".join(section.text for section in note_of(text).sections) == text
    assert_costs_its_length(note_of, text)


BLANKS = " " * 15_000
WITH_BLANKS = {
    "blanks in a task": f"- [ ] a{BLANKS}b\n",
    "blanks in a bullet": f"## Next steps\n\n- a{BLANKS}b\n",
    "blanks in a label": f"Decision: a{BLANKS}b\n",
    "blanks in a heading": f"# a{BLANKS}b\n",
    "blanks before a comment": f"- [ ] a{BLANKS}b <!-- c -->\n",
    "blanks in broken front matter": f"---\ntitle: a{BLANKS}b\nx: [\n---\n",
}


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=name) for name, text in WITH_BLANKS.items()]
)
def test_a_run_of_blanks_costs_its_length_not_its_square(text: str) -> None:
    assert least_seconds(lambda: note_of(text)) < 0.3  # it takes 2 ms; by its square, seconds


# -- lines that say the same -------------------------------------------------------------------------


def test_every_blank_and_sign_of_emphasis_folds_alike() -> None:
    blanks = [sign for sign in map(chr, range(sys.maxunicode + 1)) if sign.isspace()]
    for sign in [*blanks, *"*_`"]:
        assert folded(f"{sign}Ä{sign}{sign} B{sign}") == "ä b"


@given(st.lists(st.text("aÄ *_`->[x]1.\t\u3000\x1c", max_size=8), min_size=1, max_size=6))
def test_lines_fold_together_as_they_fold_alone(lines: list[str]) -> None:
    assert folded_lines(lines) == [folded(bare_line(line)).encode() for line in lines]
