"""Which sections are hits of a query: how rare its concepts are here, and what is asked of the index.

A frequent word is looked for only beside another, so that a search takes about as long in a vault of
any size. Not here: the order of what was found (`rank`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from typing import NamedTuple

from workingset_mcp.answers.search.query import Concept
from workingset_mcp.index import Snapshot, Stemmer, Within
from workingset_mcp.index.rows import Hit

MATCHED = 200
MOST_SCORED_ROWS = 1_000
MOST_COMMON_ROWS = 2_000  # of the rarest word alone, where none is rare, or expected of a pair
RARE = 20  # sections
_PAIRED = 3


@dataclass(frozen=True, slots=True)
class Filter:
    """Limits of a search: exact branch, and the notes' own dates, both ends included."""

    branch: str | None = None
    since: str = ""
    until: str = ""

    def within(self) -> Within:
        """The same as the index knows it."""
        parts, parameters = list[str](), list[str]()
        if self.branch is not None:
            parts.append("AND n.branch = ?")
            parameters.append(self.branch)
        date = "CASE WHEN s.date != '' THEN s.date ELSE n.date END"
        if self.since:
            parts.append(f"AND {date} != '' AND {date} >= substr(?, 1, length({date}))")
            parameters.append(self.since)
        if self.until:
            parts.append(f"AND {date} != '' AND substr({date}, 1, length(?)) <= ?")
            parameters.extend((self.until, self.until))
        return Within(" ".join(parts), tuple(parameters), self.branch)

    def whole(self) -> "Filter":
        """The same without its dates: a word that stands outside them is not absent."""
        return Filter(self.branch)


class Weighed(NamedTuple):
    """A concept with how rare it is here."""

    concept: Concept
    stems: tuple[str, ...]
    frequency: int
    idf: float


def weigh(
    concept: Concept, total: int, snapshot: Snapshot, stemmer: Stemmer, within: Within
) -> Weighed:
    """A concept with its frequency in the vault; none where it does not stand within the limits."""
    stems = (
        tuple(stemmer.stem(word) for word in concept.words)
        if concept.kind != "cjk"
        else concept.words
    )
    if concept.kind in ("word", "cjk") and not concept.match.endswith("*"):
        frequency = snapshot.document_frequency(stems[0] if stems else "")
    else:
        frequency = snapshot.count(concept.match)
    idf = math.log(1 + (total - frequency + 0.5) / (frequency + 0.5)) * concept.weight
    if frequency and within.sql and not snapshot.holds(concept.match, within):
        frequency = 0
    return Weighed(concept, stems, frequency, max(idf, 0.01))


def find_hits(
    present: Sequence[Weighed], total: int, snapshot: Snapshot, within: Within
) -> list[Hit]:
    """The best sections by their words, best first.

    Rare words are ORed while few enough rows are scored, common ones only asked in pairs while few
    sections hold both. Where no word is rare, the rarest is asked alone only if pairs are not enough.
    Within limits few of the sections count, how common a word may be elsewhere.
    """
    most = math.inf if within.sql else MOST_COMMON_ROWS
    by_rarity = sorted(present, key=lambda w: (w.frequency, w.concept.match))
    alone = sum(rows <= MOST_SCORED_ROWS for rows in accumulate(w.frequency for w in by_rarity))
    terms = [one.concept.match for one in by_rarity[: max(alone, 1)]]
    if len(by_rarity) > 1 and by_rarity[0].frequency > most:
        pairs = _pairs(by_rarity, most * total) or [_both(*by_rarity[:2])]
        hits = snapshot.match(" OR ".join(pairs), MATCHED, within)
        if len(hits) == MATCHED:
            return hits
    else:
        pairs = _pairs(by_rarity[len(terms) :], most * total)
    return snapshot.match(" OR ".join([*terms, *pairs]), MATCHED, within)


def hits_of_rare(present: Sequence[Weighed], snapshot: Snapshot, within: Within) -> set[int]:
    """Sections that hold a word which hardly any other does: never crowded out by common words."""
    return {
        hit.section_id
        for one in present
        if one.concept.own and one.frequency <= RARE
        for hit in snapshot.match(one.concept.match, RARE, within)
    }


def _pairs(by_rarity: Sequence[Weighed], most: float) -> list[str]:
    """What asks for pairs of the first of some words, whose frequencies multiply to at most `most`."""
    return [
        _both(one, other)
        for one, other in combinations(by_rarity[:_PAIRED], 2)
        if one.frequency * other.frequency <= most
    ]


def _both(one: Weighed, other: Weighed) -> str:
    return f"({one.concept.match} AND {other.concept.match})"
