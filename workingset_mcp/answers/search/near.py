"""Find words of the notes that look like an absent word. The answer names them; they are never searched.

The work is bounded, and the result depends only on the text of the notes. Not here: which words are absent
(`rank`).
"""

import re
from collections.abc import Iterator

from workingset_mcp.answers.search.query import LETTER
from workingset_mcp.index import Scope, Stemmer, View
from workingset_mcp.index.query import Term
from workingset_mcp.notes.folding import as_read, fold

MOST_NEAR = 3
LIKENESS = 0.86
_MOST_ALIKE = 8
_MOST_WORDS = 20_000  # with the same first two letters
_MOST_SCORED_ROWS = 1_000
_MOST_NOTES = 100


def nearest_words(word: str, view: View, stemmer: Stemmer, scope: Scope) -> tuple[str, ...]:
    """Return words that look like an absent one, spelled as in the notes of a scope.

    The result is cached: a caller who found nothing often repeats the same words with others.
    """
    key = ("near", word, scope)
    return view.once(key, lambda: _nearest_words(word, view, stemmer, scope))


def _nearest_words(word: str, view: View, stemmer: Stemmer, scope: Scope) -> tuple[str, ...]:
    from rapidfuzz import process  # 35 ms, only for absent words
    from rapidfuzz.distance import JaroWinkler

    if len(word) < 3:
        return ()
    first, following = word[:2], word[0] + chr(ord(word[1]) + 1)
    stems = dict(view.words_between(first, following, _MOST_WORDS))
    found: list[str] = []
    alike = process.extract(word, [*stems], scorer=JaroWinkler.similarity, limit=_MOST_ALIKE)
    for stem, score, _ in alike:
        if score < LIKENESS and not (stem.startswith(word[:4]) and len(word) >= 5):
            continue
        if not stem.isalnum():
            continue
        is_frequent = stems[stem] > _MOST_SCORED_ROWS
        texts = _first_notes(view, scope) if is_frequent else _best_section(stem, view, scope)
        written = as_read(_as_written(stem, texts, stemmer))
        if written and written not in found:
            found.append(written)
        if len(found) == MOST_NEAR:
            break
    return tuple(found)


def _best_section(stem: str, view: View, scope: Scope) -> Iterator[str]:
    for hit in view.search(Term(stem), 1, scope):
        yield view.sections_by_id([hit.section_id])[hit.section_id].text


def _first_notes(view: View, scope: Scope) -> Iterator[str]:
    """Yield paths and texts of the first notes by path: a frequent word occurs in one of them."""
    for note_id, path in view.first_notes(scope, _MOST_NOTES):
        yield path
        yield view.text(note_id)


def _as_written(stem: str, texts: Iterator[str], stemmer: Stemmer) -> str:
    begin = stem[:3]
    words = re.compile(rf"{begin}(?<!{LETTER}{begin}){LETTER}*")
    for text in map(fold, texts):
        for word in words.finditer(text):
            if stemmer.stem(word[0]) == stem:
                return word[0]
    return ""
