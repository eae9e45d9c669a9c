"""A brief tears no line from what gives it meaning: headings, parents, short lists, sentences, gaps."""

import re

import pytest
from conftest import OpenVault
from hypothesis import given
from hypothesis import strategies as st

from answers.brief.reading import NEWEST, STANDING, appendix, brief
from workingset_mcp.answers.brief.structure import (
    MOST_SHORT_ROWS,
    Structure,
    bridged,
    numbered,
    quoted_lines,
)
from workingset_mcp.notes.markdown import outline_of


def with_meaning(text: str, line: int) -> list[int]:
    return sorted(Structure(outline_of(text)).with_meaning(line, line))


def printed(text: str, lines: list[int]) -> list[str]:
    outline = outline_of(text)
    quote = quoted_lines(outline, Structure(outline), bridged(outline, lines), "a.md", 0, 7)
    return quote.splitlines()[1:-1]


LONG = "".join(f"- row {n}\n" for n in range(1, 31))


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("# A\n\n## B\n\ntext\n", 5, [3, 5]),  # the nearest heading
        ("A\n=\n\ntext\n", 4, [1, 2, 4]),  # an underlined one
        ("# A\n\n- one\n  - two\n    - three\n", 5, [1, 3, 4, 5]),  # its parents
        ("# A\n\n- one\n- two\n\n- three\n", 4, [1, 3, 4, 6]),  # a short list, loose too
        (f"# A\n\n{LONG}", 20, [1, 20]),  # a row of a long one
        ("# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", 6, [1, 3, 4, 5, 6]),  # a short table
        ("one\nthat goes on\nand on.\n\nTwo.\n", 2, [1, 2, 3]),  # the rest of a sentence
        ("One.\nTwo.\nThree.\n", 2, [2]),  # but no other one
        ("Bring:\n\n- rope\n- paint\n", 1, [1, 3, 4]),  # what it introduces
        ("```\ncode\n```\ntext\n", 4, [4]),  # no fence
    ],
)  # fmt: skip
def test_a_line_brings_what_gives_it_meaning(text: str, line: int, expected: list[int]) -> None:
    assert with_meaning(text, line) == expected


def test_left_out_rows_are_marked_where_they_are_missing() -> None:
    assert printed(f"# A\n\n{LONG}", [1, 4, 5, 9, 30]) == [
        "1| # A",
        "4| - row 2", "5| - row 3",
        "… 3 more", "9| - row 7",
        "… 20 more", "30| - row 28",
    ]  # fmt: skip


def test_no_line_of_a_note_can_pass_for_a_number_or_a_gap_of_ours() -> None:
    lines = ["one", "… 3 more", "[… cut]", "9| nine", "five", "```", "seven"]
    assert list(numbered(lines, 1)) == [
        "1| one", "2| … 3 more", "3| [… cut]", "4| 9| nine", "5| five", "```", "seven",
    ]  # fmt: skip


rows = st.lists(
    st.tuples(
        st.sampled_from(["- ", "  - ", "    - ", "1. ", "", "# ", "## ", "### ", "> "]),
        st.sampled_from(["pump", "The pump will wait", "Mira must call", "gate, of steel", "x" * 250]),
        st.sampled_from(["", ".", ":", " and"]),
        st.booleans(),
    ),
    min_size=1, max_size=60,
)  # fmt: skip


@given(rows, st.data())
def test_whatever_is_shown_keeps_its_structure(
    parts: list[tuple[str, str, str, bool]], data: st.DataObject
) -> None:
    text = "".join(f"{mark}{words}{end}\n" + "\n" * blank for mark, words, end, blank in parts)
    outline = outline_of(text)
    structure = Structure(outline)
    asked = data.draw(st.lists(st.integers(1, len(outline.lines)), min_size=1, max_size=6))
    shown = set[int]().union(*(structure.with_meaning(line, line) for line in asked))
    for line in shown:
        heading = structure.heading_line(line)
        assert not heading or heading in shown
        parent = parent_of(outline.lines, line)
        assert not parent or parent in shown, (text, line)
    said = printed(text, sorted(shown))
    numbers = [int(found[1]) for found in map(re.compile(r"(\d+)\| ").match, said) if found]
    assert numbers == sorted(numbers)
    verbatim = [re.sub(r"^\d+\| ", "", line) for line in said if not line.startswith("… ")]
    assert [line for line in verbatim if line.strip()] == [
        outline.lines[line - 1] for line in sorted(shown) if outline.lines[line - 1].strip()
    ]


def parent_of(lines: list[str], line: int) -> int:
    """The list item that a list item is nested in, by its indent."""
    item = re.compile(r"( *)(?:- |1\. )")
    own = item.match(lines[line - 1])
    if not own:
        return 0
    for above in range(line - 1, 0, -1):
        text = lines[above - 1]
        found = item.match(text)
        if found and len(found[1]) < len(own[1]):
            return above
        if not found and text.strip() and not text.startswith(" "):
            return 0
    return 0


def test_a_long_list_of_a_note_is_shown_with_gaps_and_a_short_one_whole(
    open_vault: OpenVault,
) -> None:
    def note(count: int) -> str:
        rows = [f"- Reading {n} of the gauge at the old quay, as it stood\n" for n in range(count)]
        rows[count // 2] = "- Tom will ask the mill for two pumps by Friday, as agreed\n"
        rows[count - 1] = "- Mira must bring the steel until Monday, it was decided\n"
        return f"=== cust/acme/2026-06-09.md\n# Call\n\n## Talk\n\n{''.join(rows)}{appendix()}"

    short = brief(open_vault(note(MOST_SHORT_ROWS))).section(NEWEST).quotes[0]
    assert len(short.lines) == MOST_SHORT_ROWS + 2
    long = brief(open_vault(note(200)))
    assert re.search(r"^… \d+ more$", long.text, re.MULTILINE)
    assert "## Talk" in long.section(NEWEST).quotes[0].lines


def test_a_rule_stands_below_its_heading_and_its_parent(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/rules.md\n# Rules\n\nAbout keys.\n\n## Keys\n\n- For the tower:\n"
            "  - A key is never lent for more than 24 hours.\n" + appendix()
        )
    )
    (quote,) = [quote for quote in shown.section(STANDING).quotes if 8 in quote.numbers]
    assert quote.lines == (
        "## Keys", "", "- For the tower:", "  - A key is never lent for more than 24 hours.",
    )  # fmt: skip
