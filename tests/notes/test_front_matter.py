"""The YAML block at the top of a note: what is read of it, what is remarked, what is none."""

import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from workingset_mcp.notes.front_matter import (
    MOST_BLOCK_CHARACTERS,
    written_block,
)
from workingset_mcp.notes.note import Note, parse_note
from workingset_mcp.settings import Settings

BODY = "# Heading\n\n- [ ] task\n"


def note_of(text: str) -> Note:
    return parse_note("a.md", text.encode(), Settings())


def with_block(block: str) -> Note:
    return note_of(f"---\n{block}\n---\n{BODY}")


def remarks_of(note: Note) -> list[str]:
    return [remark.text for remark in note.remarks]


def assert_body_is_read(note: Note, skipped_lines: int) -> None:
    """Line numbers of the body stay true, and its task is found."""
    (task,) = [item for item in note.items if item.kind == "task"]
    assert (task.text, task.line) == ("task", skipped_lines + 3)


# -- what is read ----------------------------------------------------------------------------------

FIELDS = [
    # name, block, title, date, aliases, tags
    (
        "all",
        "title: T\ndate: 2026-06-16\naliases: [A, B]\ntags: [x, y]",
        "T",
        "2026-06-16",
        "AB",
        "xy",
    ),
    ("nothing known", "cssclass: wide\nfoo: [1, 2]", "Heading", "", "", ""),
    ("comments only", "# nothing\n# here", "Heading", "", "", ""),
    ("empty values", "title:\ndate:\naliases:\ntags:", "Heading", "", "", ""),
    ("one alias, one tag", "alias: A\ntag: x", "Heading", "", "A", "x"),
    ("lists in lines", "aliases:\n  - A\n  - B\ntags:\n- x\n- y", "Heading", "", "AB", "xy"),
    ("commas", "aliases: A, B\ntags: x, y", "Heading", "", "AB", "xy"),
    ("tags with marks", "tags: ['#x', '#y']", "Heading", "", "", "xy"),
    ("keys in any case", "Title: T\nDATE: 2026-06-16\nTags: [x]", "T", "2026-06-16", "", "x"),
    ("quoted", "title: 'T: one'\ndate: \"2026-06-16\"", "T: one", "2026-06-16", "", ""),
    ("a long text", "title: >-\n  one\n  two", "one two", "", "", ""),
    ("JSON", '{"title": "T", "date": "2026-06-16", "tags": ["x"]}', "T", "2026-06-16", "", "x"),
    ("JSON in lines", '{\n  "title": "T",\n  "tags": ["x"]\n}', "T", "", "", "x"),
    ("other scripts", "title: 議事録 🚦\ntags: [会議]", "議事録 🚦", "", "", ["会議"]),
    ("numbers", "title: 7\ntags: [1, 2]", "7", "", "", "12"),
    ("nested values", "title: {a: b}\ntags: [[a], {b: c}, x]", "Heading", "", "", "x"),
]


@pytest.mark.parametrize(
    ("block", "title", "date", "aliases", "tags"),
    [pytest.param(*case[1:], id=case[0]) for case in FIELDS],
)
def test_the_fields_of_a_block_are_read(
    block: str, title: str, date: str, aliases: str, tags: str | list[str]
) -> None:
    note = with_block(block)
    assert (note.title, note.date) == (title, date)
    assert (note.aliases, note.tags) == (tuple(aliases), tuple(tags))
    assert note.remarks == ()
    assert_body_is_read(note, block.count("\n") + 3)


BLOCK_DATES = [
    ("2026-06-16", "2026-06-16"),
    ("2026-06-16 11:18", "2026-06-16"),
    ("2026-06-16T11:18:00Z", "2026-06-16"),
    ("2026-06-16T23:30:00-08:00", "2026-06-16"),
    ("'2026-06-16'", "2026-06-16"),
    ("20260616", "2026-06-16"),
    ("2026/06/16", "2026-06-16"),
    ("16 June 2026", "2026-06-16"),
    ("June 16th 2026", "2026-06-16"),
    ("16.06.2026", "2026-06-16"),
    ("2026年6月16日", "2026-06-16"),
    ("'[[2026-06-16]]'", "2026-06-16"),
    ("June 2026", "2026-06"),
    ("2026-06", "2026-06"),
    ("soon", ""),
    ("2026-13-45", ""),
    ("2026-02-30", ""),
    ("02/09/2015", ""),
    ("[2026-06-16]", ""),
    ("{{date}}", ""),
    ("true", ""),
    ("99999999999999999999", ""),
]


@pytest.mark.parametrize(("value", "date"), BLOCK_DATES)
def test_a_date_is_read_in_any_form_or_remarked(value: str, date: str) -> None:
    note = with_block(f"title: T\ndate: {value}")
    assert (note.title, note.date, bool(note.remarks)) == ("T", date, not date)
    assert note.date_source == ("front matter" if date else "")
    assert_body_is_read(note, 4)


# -- what is remarked ------------------------------------------------------------------------------

BAD = [
    # name, block, title that is read all the same, what the remark says
    ("open bracket", "title: T\ntags: [a", "T", "no valid YAML"),
    ("open quote", 'title: T\nx: "a', "T", "no valid YAML"),
    ("a tab", "title: T\nx:\n\t- a", "T", "no valid YAML"),
    ("a tab at the front", "\ttitle: U\ntitle: T", "T", "no valid YAML"),
    ("a colon in a value", "title: T\nx: a: b", "T", "no valid YAML"),
    ("an impossible day", "title: T\ndate: 2026-13-45", "T", "no valid YAML"),
    ("an impossible hour", "title: T\ndate: 2026-06-16 99:99:99", "T", ""),
    ("an impossible zone", "title: T\ndate: 2026-06-16 11:18:00 +99:00", "T", "no valid YAML"),
    ("a Python object", "title: T\nx: !!python/object/apply:os.system [ls]", "T", "no valid YAML"),
    ("an unknown tag", "title: T\nx: !secret a", "T", "no valid YAML"),
    ("a tag on the wrong value", "title: T\ndate: !!timestamp soon", "T", "no valid YAML"),
    ("a number that is none", "title: T\nx: !!int ''", "T", "no valid YAML"),
    ("a fraction that is none", "title: T\nx: !!float ''", "T", "no valid YAML"),
    ("a truth that is none", "title: T\nx: !!bool maybe", "T", "no valid YAML"),
    ("a list as a key", "title: T\n? [a]\n: b", "T", "no valid YAML"),
    ("an unknown alias", "title: T\nx: *nobody", "T", "no valid YAML"),
    ("a template", "title: T\ndate: <% tp.date.now() %>\n{{x}}", "T", "no valid YAML"),
    ("a key twice", "title: S\ntitle: T\ntags: [a]", "T", "title twice"),
    ("keys twice", "a: 1\nb: 2\nTitle: T\na: 3\nb: 4", "T", "a, b twice"),
    ("a list", "- a\n- b", "Heading", "no list of fields"),
    ("a text", "just some words", "Heading", "no list of fields"),
    ("a number", "42", "Heading", "no list of fields"),
]


@pytest.mark.parametrize(
    ("block", "title", "says"), [pytest.param(*case[1:], id=case[0]) for case in BAD]
)
def test_a_bad_block_gives_what_can_be_read_and_a_remark(block: str, title: str, says: str) -> None:
    note = with_block(block)
    assert note.title == title
    assert any(says in remark for remark in remarks_of(note))
    assert all(remark.line == 1 for remark in note.remarks)
    assert_body_is_read(note, block.count("\n") + 3)


LONG = 5_000  # digits: Python refuses to print a number of more than 4,300
HUGE_NUMBERS = ["0x" + "f" * LONG, "1" * LONG, "0b" + "1" * 4 * LONG, "1:" + "59:" * LONG + "59"]


@pytest.mark.parametrize("number", HUGE_NUMBERS, ids=lambda number: str(number)[:6])
@pytest.mark.parametrize("block", ["title: {}", "date: {}", "tags: [{}]", "{}: x", "x: {}"])
def test_a_number_too_large_to_print_does_not_stop_the_note(block: str, number: str) -> None:
    assert_body_is_read(with_block(block.format(number)), 3)


def bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 [x, x]"]
    for level in range(1, levels):
        copies = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} [{copies}]")
    return "\n".join(lines)


HOSTILE = {
    "alias bomb": bomb(9, 9),
    "alias bomb in twos": bomb(60, 2),
    "alias bomb in lines": "\n".join(
        f"a{n}: &a{n}\n- *a{n - 1}\n- *a{n - 1}" for n in range(1, 40)
    ),
    "merge bomb": "a0: &a0 {x: 1}\n"
    + "\n".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], y{n}: 1}}" for n in range(1, 30)),
    "an alias of itself": "a: &a [*a]",
    "a merge of itself": "a: &a\n  <<: *a",
    "deep brackets": "x: " + "[" * 5_000,
    "deep brackets apart": "x: " + "[ " * 5_000 + "] " * 5_000,
    "deep braces": "x: " + "{a: " * 5_000,
    "deep dashes": "- " * 5_000 + "x",
    "deep questions": "? " * 5_000 + "x",
    "deep indents": "".join(" " * depth + "a:\n" for depth in range(300)),
    "a long line": "x: " + "y" * (MOST_BLOCK_CHARACTERS - 100),
    "a long key": "y" * 9_000 + ": x",
    "many keys": "\n".join(f"k{number}: v" for number in range(900)),
    "one key often": "\n".join(["k: v"] * 900),
    "quotes": "x: " + "'" * 20_001,
    "colons": ":" * 20_000,
    "stars": "& " + "*a " * 5_000,
    "NUL": "title: a\0b",
}


@pytest.mark.parametrize("block", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
def test_a_hostile_block_is_read_within_a_second_and_the_body_is_found(block: str) -> None:
    started = time.process_time()
    note = with_block(block)
    seconds = time.process_time() - started
    assert_body_is_read(note, block.rstrip("\n").count("\n") + 3 + block.endswith("\n"))
    assert seconds < 1


@pytest.mark.parametrize("size", ["over the cap", "a megabyte in lines", "a megabyte in one line"])
def test_a_huge_block_is_skipped_and_remarked(size: str) -> None:
    lines = {
        "over the cap": ["title: T", *["key: " + "x" * 60] * 1_100],
        "a megabyte in lines": ["title: T", *(f"key{n}: value {n}" for n in range(50_000))],
        "a megabyte in one line": ["title: T", "key: " + "x" * 1_000_000],
    }[size]
    started = time.process_time()
    note = with_block("\n".join(lines))
    seconds = time.process_time() - started
    assert_body_is_read(note, len(lines) + 2)
    assert note.title == "Heading"
    assert any("front matter over 64 KB" in remark for remark in remarks_of(note))
    assert seconds < 1


# -- where a block begins and ends -----------------------------------------------------------------

NO_BLOCKS = {
    "in the middle": "text\n\n---\ntitle: T\n---\n",
    "behind a blank line": "\n---\ntitle: T\n---\n",
    "behind a heading": "# Heading\n---\ntitle: T\n---\n",
    "indented": " ---\ntitle: T\n---\n",
    "two dashes": "--\ntitle: T\n--\n",
    "four dashes": "----\ntitle: T\n----\n",
    "never closed": "---\ntitle: T\n\ntext\n",
    "a rule, then a heading": "---\n\nSome text: here\n---\n\ntext\n",
    "a rule alone": "---\n",
    "a rule and text": "---\n\ntext\n",
    "in a fence": "```\n---\ntitle: T\n---\n```\n",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in NO_BLOCKS.items()])
def test_what_is_no_block_at_the_top_is_text(text: str) -> None:
    note = note_of(text)
    assert note.title != "T"
    assert [section.skip for section in note.sections] == [0] * len(note.sections)


def test_slides_that_begin_with_a_rule_keep_their_decisions() -> None:
    note = note_of("---\n\n# Agenda: Friday\n\nDecision: ship it\n\n---\n\n# Next\n")
    assert [(item.kind, item.text) for item in note.items] == [("decision", "Decision: ship it")]


BLOCKS = {
    "dashes": "---\ntitle: T\n---\n",
    "ended by dots": "---\ntitle: T\n...\n",
    "blanks behind the dashes": "---  \ntitle: T\n---\t\n",
    "Windows line ends": "---\r\ntitle: T\r\n---\r\n",
    "old Mac line ends": "---\rtitle: T\r---\r",
    "no end of the last line": "---\ntitle: T\n---",
    "a rule below it": "---\ntitle: T\n---\n\n---\n\ntitle: U\n\n---\n",
    "a blank line inside": "---\ntitle: T\n\ntags: [x]\n---\n",
    "dashes in a value": "---\ntitle: T\nx: a --- b\n---\n",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in BLOCKS.items()])
def test_a_block_ends_at_its_own_line_and_is_no_text(text: str) -> None:
    note = note_of(text)
    assert note.title == "T"
    (first, *_) = note.sections
    assert first.skip > 0
    assert first.text[: first.skip].rstrip().endswith(("---", "..."))
    assert "".join(section.text for section in note.sections) == text


def test_an_empty_block_is_a_block() -> None:
    note = note_of(f"---\n---\n{BODY}")
    assert (note.title, note.remarks) == ("Heading", ())
    assert_body_is_read(note, 2)


PIECES = st.sampled_from(
    [
        *(
            "title: ",
            "date: ",
            "tags: ",
            "aliases: ",
            "kind: ",
            "a: ",
            "  ",
            "\t",
            "\n",
            "- ",
            "? ",
        ),
        *(
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
            "'",
            '"',
            "|",
            ">",
            "&a ",
            "*a",
            "<<: ",
            "!x ",
            "%YAML 1.1\n",
        ),
        *("!!int ", "!!float ", "!!bool ", "!!timestamp ", "!!binary ", "!!set ", "!!omap "),
        *("!!pairs ", "!!null ", "!!str ", "!!seq ", "!!map ", "=", "~", "null", "true", "_", "+"),
        *("2026-06-16", "2026-13-45", "1:59", "0x1f", "0o17", "0b", ".inf", "-.nan", "1e400"),
        *("\x00", "\ufeff", "\u2028"),
    ]
)


@given(st.lists(PIECES | st.text(max_size=3), max_size=20).map("".join))
@settings(max_examples=400)
def test_no_block_stops_the_note(block: str) -> None:
    text = f"---\ntitle: T\n{block}\n---\n{BODY}"
    note = note_of(text)
    assert "".join(section.text for section in note.sections) == text
    assert ("task", "task") in [(item.kind, item.text) for item in note.items]


KEYS = st.sampled_from(["title", "tags", "aliases", "other", "kind"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_whatever_a_program_writes_is_read_without_a_remark(fields: dict[str, object]) -> None:
    block = yaml.safe_dump(fields, allow_unicode=True)
    note = with_block(block.rstrip("\n"))
    assert note.remarks == ()
    title = fields.get("title")
    if isinstance(title, str) and title.split():
        assert note.title == " ".join(title.split())


# -- what is written -------------------------------------------------------------------------------


NAMES = st.sampled_from(
    (
        *("acme", "cust/acme/2026-06-16.md", "0b11", "0x1f", "1e5", "3f9a", "12", "1.5", "1:30"),
        *("2026-06-16", "yes", "No", "null", "y", "~", ".", "-", ":", ":18", " ", "#", "'", "_"),
        *("", "\n", "水門", "--- "),
    )
)
TEXTS = st.lists(NAMES, max_size=3).map("".join) | st.text()


@given(st.dictionaries(KEYS, TEXTS | st.integers(), min_size=1))
def test_a_block_holds_the_fields_it_was_written_from(fields: dict[str, str | int]) -> None:
    block = written_block(fields)
    assert list(yaml.safe_load(block).items()) == list(fields.items())


def test_a_block_is_written_a_field_a_line_with_quotes_only_where_yaml_needs_them() -> None:
    fields: dict[str, str | int] = {
        "branch": "cust/acme", "as_of": "2026-06-16", "newest": "a/2026-06-16.md:18", "notes": 12,
        "digest": "3f9a", "status": "", "title": "水門", "override": "no",
    }  # fmt: skip
    assert written_block(fields) == (
        "branch: cust/acme\nas_of: '2026-06-16'\nnewest: a/2026-06-16.md:18\nnotes: 12\n"
        "digest: 3f9a\nstatus: ''\ntitle: 水門\noverride: 'no'\n"
    )
