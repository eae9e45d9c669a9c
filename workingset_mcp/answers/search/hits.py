"""Which sections are hits of a query: how rare its concepts are here, and what is asked of the index.

A frequent word is looked for only beside another, so that a search takes about as long in a vault of
any size. Not here: the order of what was found (`rank`).
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
MOST_COMMON_ROWS = 2_000  # of the rarest word alone, where none is rare, or expected of a pair
RARE = 20  # sections
_PAIRED = 3
_KIND_ORDER = {"word": 0, "phrase": 0, "date": 1, "cjk": 2}  # of concepts as rare as one another


class Weighed(NamedTuple):
    """A concept with how rare it is here."""

    concept: Concept
    stems: tuple[str, ...]
    beginnings: tuple[str, ...]  # what a word of each stem begins with
    frequency: int
    idf: float
    in_forms: bool = False  # whether it stands among the other forms of words, in any section


def weigh(concept: Concept, total: int, view: View, stemmer: Stemmer, scope: Scope) -> Weighed:
    """A concept with its frequency in the vault; none where it does not stand in the scope."""
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
    """What asks for a concept among the other forms of words alone."""
    return any_of(Phrase(words, "cjk") for words in (concept.words, *concept.forms))


def find_hits(present: Sequence[Weighed], total: int, view: View, scope: Scope) -> list[Hit]:
    """The best sections by their words, best first.

    Rare words are ORed while few enough rows are scored, common ones only asked in pairs while few
    sections hold both. Where no word is rare, the rarest is asked alone only if pairs are not enough.
    In a narrower scope than the vault, how frequent a word is elsewhere is ignored.
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
    """Sections that hold a word which hardly any other does: never crowded out by common words."""
    return {
        hit.section_id
        for one in present
        if one.concept.own and one.frequency <= RARE
        for hit in view.search(one.concept.expr, RARE, scope)
    }


def _rarity(one: Weighed) -> tuple[int, int, str]:
    """Sort key: the rarest first; of those as rare, a phrase before its first word."""
    concept = one.concept
    spelled = concept.text.replace("-", "") if concept.kind == "date" else " ".join(concept.words)
    return one.frequency, _KIND_ORDER[concept.kind], f"{spelled}."


def _pairs(by_rarity: Sequence[Weighed], most: float) -> list[Expr]:
    """What asks for pairs of the first of some words, whose frequencies multiply to at most `most`."""
    return [
        _both(one, other)
        for one, other in combinations(by_rarity[:_PAIRED], 2)
        if one.frequency * other.frequency <= most
    ]


def _both(one: Weighed, other: Weighed) -> Expr:
    return And((one.concept.expr, other.concept.expr))
