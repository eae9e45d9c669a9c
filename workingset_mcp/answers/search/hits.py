"""Find the sections that match a query: weigh its concepts by rarity, and query the index.

A frequent word is searched only together with another word, so that the time of a search hardly depends on
the size of the vault. Not here: the final order (`rank`).
"""

import math
from collections.abc import Sequence
from itertools import accumulate, combinations
from typing import NamedTuple

from workingset_mcp.answers.search.query import Concept
from workingset_mcp.index import Scope, Stemmer, View
from workingset_mcp.index.query import WHOLE_VAULT, And, Expr, Phrase, Prefix, any_of
from workingset_mcp.index.rows import Hit

MATCHED = 200
MOST_SCORED_ROWS = 1_000
MOST_COMMON_ROWS = 2_000  # of the rarest word if searched alone; expected rows of a pair
RARE = 20  # sections
_PAIRED = 3
_KIND_ORDER = {"word": 0, "phrase": 0, "date": 1, "cjk": 2}  # between equally rare concepts


class Weighed(NamedTuple):
    """A concept with its rarity in this vault."""

    concept: Concept
    stems: tuple[str, ...]
    beginnings: tuple[str, ...]  # the prefix that all words of a stem share
    frequency: int
    idf: float
    in_forms: bool = False  # whether it stands among the other forms of words, in any section


def weigh(concept: Concept, total: int, view: View, stemmer: Stemmer, scope: Scope) -> Weighed:
    """Weigh a concept by its frequency in the vault; the frequency is 0 if the scope does not contain it."""
    stems = (
        tuple(stemmer.stem(word) for word in concept.words)
        if concept.kind != "cjk"
        else concept.words
    )
    is_one_word = concept.kind in ("word", "cjk") and not isinstance(concept.expr, Prefix)
    if is_one_word and not concept.forms:
        frequency = view.document_frequency(stems[0] if stems else "")
    else:
        frequency = view.count(concept.expr)
    idf = math.log(1 + (total - frequency + 0.5) / (frequency + 0.5)) * concept.weight
    if frequency and scope != WHOLE_VAULT and not view.holds(concept.expr, scope):
        frequency = 0
    beginnings = tuple(map(stemmer.common_beginning, stems))
    in_forms = (
        concept.kind in ("word", "phrase")
        and 0 < frequency <= MOST_SCORED_ROWS
        and view.holds(among_forms(concept), WHOLE_VAULT)
    )
    return Weighed(concept, stems, beginnings, frequency, max(idf, 0.01), in_forms)


def among_forms(concept: Concept) -> Expr:
    """Return the expression that finds a concept only among the other forms of words."""
    return any_of(Phrase(words, "cjk") for words in (concept.words, *concept.forms))


def find_hits(present: Sequence[Weighed], total: int, view: View, scope: Scope) -> list[Hit]:
    """Return the best sections by their words, best first.

    Rare words are ORed as long as few rows must be scored; common words are searched only in pairs that few
    sections contain. If no word is rare, the rarest is searched alone only if pairs find too few sections.
    With a filter, vault-wide frequency is ignored.
    """
    most = MOST_COMMON_ROWS if scope == WHOLE_VAULT else math.inf
    by_rarity = sorted(present, key=_rarity)
    alone = sum(rows <= MOST_SCORED_ROWS for rows in accumulate(w.frequency for w in by_rarity))
    words = [one.concept.expr for one in by_rarity[: max(alone, 1)]]
    if len(by_rarity) > 1 and by_rarity[0].frequency > most:
        pairs = _pairs(by_rarity, most * total) or [_both(*by_rarity[:2])]
        hits = view.search(any_of(pairs), MATCHED, scope)
        if len(hits) == MATCHED:
            return hits
    else:
        pairs = _pairs(by_rarity[len(words) :], most * total)
    return view.search(any_of([*words, *pairs]), MATCHED, scope)


def hits_of_rare(present: Sequence[Weighed], view: View, scope: Scope) -> set[int]:
    """Return the sections with a rare word of the question, so that common words cannot crowd them out."""
    return {
        hit.section_id
        for one in present
        if one.concept.own and one.frequency <= RARE
        for hit in view.search(one.concept.expr, RARE, scope)
    }


def _rarity(one: Weighed) -> tuple[int, int, str]:
    """Return the sort key: the rarest first; if equally rare, a phrase before its first word."""
    concept = one.concept
    spelled = concept.text.replace("-", "") if concept.kind == "date" else " ".join(concept.words)
    return one.frequency, _KIND_ORDER[concept.kind], f"{spelled}."


def _pairs(by_rarity: Sequence[Weighed], most: float) -> list[Expr]:
    """Pair the rarest words if the product of their frequencies is at most `most`."""
    return [
        _both(one, other)
        for one, other in combinations(by_rarity[:_PAIRED], 2)
        if one.frequency * other.frequency <= most
    ]


def _both(one: Weighed, other: Weighed) -> Expr:
    return And((one.concept.expr, other.concept.expr))
