"""Phrases that tell what a line is about: looked for together, they are those found one by one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workingset_mcp.notes.words import (
    AHEAD,
    COMMITMENT_WORDS,
    NEXT_TIME,
    SETTLEMENT,
    STATE,
    TELLING,
    WordPhrases,
    plainly,
)

KINDS = (COMMITMENT_WORDS, SETTLEMENT, AHEAD, STATE, NEXT_TIME)
PIECES = (
    "will be", "willing", "will", "need to", "needs", "to-do", "action", "actions", "blocked",
    "->  x", "-> owner", "(@mira)", "@mira", "priority", "deadline", "deadlines", "we should",
    "is out", "no", "longer", "next", "meeting", "time", "next week", "next call", "until", "bis",
    "ende", "now", "new", "renewed", "STILL", "Agreed", "beschlossen", "KÜMMERT", "à faire", "次回",
    "決定", "まで", "現在", " ", "  ", ".", "-", "_", "(", ")", "*", "\u0130s", "ſtill", "x", "7", "é",
)  # fmt: skip
LINES = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=14).map


@given(LINES(" ".join) | LINES("".join))
def test_kinds_that_are_looked_for_together_are_those_found_alone(line: str) -> None:
    said = plainly(line)
    assert TELLING.that_stand_in(said) == [kind for kind in KINDS if kind.stand_in(said)]


@pytest.mark.parametrize("kind", KINDS)
@given(line=LINES(" ".join) | LINES("".join))
def test_phrases_of_one_letter_together_match_what_they_match_alone(
    kind: WordPhrases, line: str
) -> None:
    words, more = kind.told
    alone = re.compile(rf"\W(?:(?:{words})\b|{more or '(?!)'})")
    said = plainly(line)
    assert kind.stand_in(said) == (bool(alone.search(said)) or kind.have_signs_in(said))


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("Mira will send it", [COMMITMENT_WORDS]),
        ("Blocked until the next meeting", [COMMITMENT_WORDS, AHEAD, STATE, NEXT_TIME]),
        ("(agreed)", [SETTLEMENT]),
        ("offers (@ole)", [COMMITMENT_WORDS]),
        ("次回まで", [AHEAD, NEXT_TIME]),
        ("a renewed, willing knowledge", []),
        ("", []),
    ],
)
def test_what_a_line_tells(line: str, kinds: list[WordPhrases]) -> None:
    assert TELLING.that_stand_in(plainly(line)) == kinds
