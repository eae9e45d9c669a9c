"""One rule for CJK characters and one for stems: index, ranking and passages agree on every word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workingset_mcp.answers.search.hits import Weighed
from workingset_mcp.answers.search.pack import _finder as finder_of_passages
from workingset_mcp.answers.search.query import Concept, parse_query
from workingset_mcp.answers.search.rank import _finder as finder_of_ranking
from workingset_mcp.answers.search.rank import begins_a_word
from workingset_mcp.index import open_stemmer
from workingset_mcp.index.rows import bigrams
from workingset_mcp.notes.folding import CJK_RUN

STEMMER = open_stemmer()
CJK = {
    "Hiragana": "あ",
    "Katakana": "カ",
    "half-width Katakana": "ｱ",
    "Hangul": "한",
    "Han": "漢",
    "Han, extension A": "㐀",
    "Han, extension B": "𠀀",
    "Han, compatibility": "\uf900",
}
NOT_CJK = {"Latin": "x", "accented": "é", "Greek": "λ", "Cyrillic": "ч", "digit": "7"}


def weighed(concept: Concept) -> Weighed:
    stems = tuple(map(STEMMER.stem, concept.words))
    return Weighed(concept, stems, tuple(map(STEMMER.common_beginning, stems)), 1, 1.0)


def found(asked: str, text: str) -> list[tuple[bool, bool]]:
    """Return whether ranking and passages find each concept of a query in a folded text."""
    return [
        (bool(finder_of_ranking(one, STEMMER)(text, 0)[0]), finder_of_passages(one)(text))
        for one in map(weighed, parse_query(asked).concepts)
    ]


@pytest.mark.parametrize("character", CJK.values(), ids=CJK)
def test_a_cjk_character_ends_a_word_for_index_ranking_and_passages(
    character: str,
) -> None:
    assert bigrams(f"x{character}y") == character
    assert begins_a_word(f"{character}copper", "copper")
    asked = '"copper kettle"'
    assert found(asked, f"{character}copper kettle") == found(asked, "copper kettle")
    assert all(each == (True, True) for each in found(asked, f"{character}copper kettle"))


@pytest.mark.parametrize("character", NOT_CJK.values(), ids=NOT_CJK)
def test_a_letter_of_another_script_continues_the_word(character: str) -> None:
    assert bigrams(character) == ""
    assert not begins_a_word(f"{character}copper", "copper")
    assert found("copper", f"{character}copper kettle") == [(False, False)]


@given(st.characters(codec="utf-8"))
def test_index_and_ranking_agree_on_every_cjk_character(character: str) -> None:
    is_cjk = bool(CJK_RUN.fullmatch(character))
    assert bool(bigrams(character)) == is_cjk
    if character.isalnum():
        phrase = weighed(parse_query('"copper kettle"').concepts[0])
        assert finder_of_passages(phrase)(f"{character}copper kettle") == is_cjk
        assert begins_a_word(f"{character}copper", "copper") == is_cjk


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("company", "companies"), ("companies", "company"), ("policy", "policies"),
        ("kilns", "kiln"), ("running", "run"), ("city", "cities"),
    ],
)  # fmt: skip
def test_the_forms_of_a_word_are_found_by_its_stem(word: str, form: str) -> None:
    assert STEMMER.stem(word) == STEMMER.stem(form)
    for text in (f"the {word} here", f"the {form} here"):
        assert all(each == (True, True) for each in found(word, text))
