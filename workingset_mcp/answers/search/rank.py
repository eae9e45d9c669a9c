"""Rank the sections for a query: hits by bm25 on weighted columns, re-ranked on their text.

The constants are on a plateau, measured on eleven public vaults; a signal that improved nothing was left
out. Not here: which sections are considered (`hits`), what is shown of one (`pack`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from workingset_mcp.answers.search.compounds import compounds_with
from workingset_mcp.answers.search.hits import Weighed, find_hits, hits_of_rare, weigh
from workingset_mcp.answers.search.near import nearest_words
from workingset_mcp.answers.search.query import Concept, Query, cjk_phrase, words_of
from workingset_mcp.caller import stop_if_gone
from workingset_mcp.index import Scope, Stemmer, View
from workingset_mcp.index.query import Term, any_of
from workingset_mcp.index.rows import NoteRow, SectionRow
from workingset_mcp.notes.dates import date_words
from workingset_mcp.notes.folding import CJK, CJK_RUN, all_forms, as_read, fold

RERANKED = 60
BOOST = 1.5  # factor for sections of the boosted branch
NEAR_CHARACTERS = 50
SHORT_CHARACTERS = 60
OWN_WORDS = 0.6  # bonus for words of the question if `also` adds others
OWN_BESIDE_GLOSSARY = 0.9
EXACT, EXACT_ALONE = 0.2, 1.0  # bonus for the exact word, not only its stem
WEAK_BELOW = 0.38
MOST_ABSENT = 8  # absent words that an answer names, with near ones
_MOST_POSITIONS = 50
_LETTERS = re.compile(rf"[^\W_{CJK}]+")  # as `_is_letter`

Finder = Callable[[str, int], tuple[list[int], bool]]


class Ranked(NamedTuple):
    """A ranked section with its note, its score, and the share of the question it covers, by weight."""

    section: SectionRow
    note: NoteRow
    score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result of a search: sections best first, absent words, and whether the match is weak."""

    ranked: tuple[Ranked, ...]
    weighed: tuple[Weighed, ...]
    absent: tuple[tuple[str, tuple[str, ...]], ...]  # word -> nearest words that do occur
    weak: bool
    matched_notes: int


def rank(query: Query, view: View, stemmer: Stemmer, scope: Scope) -> Ranking:
    """Rank the sections in a scope for a query.

    A word that occurs only outside the window of dates does not count as absent.
    """
    anytime, total = scope.anytime(), view.section_count()
    weighed = [_weigh(c, total, view, stemmer, anytime) for c in query.concepts]
    present = [w for w in weighed if w.frequency]
    told = {word for w in present if w.concept.forms for word in w.concept.words}
    weighed = [w for w in weighed if w.frequency or not told.issuperset(w.concept.words)]
    missing = [
        w.concept for w in weighed if not w.frequency and w.concept.kind == "word" and w.concept.own
    ][:MOST_ABSENT]
    absent: tuple[tuple[str, tuple[str, ...]], ...] = (
        *((one.text, nearest_words(one.words[0], view, stemmer, anytime)) for one in missing),
        *((part, ()) for word in query.cjk_words for part in _absent_parts(word, view, anytime)),
    )
    if not present:
        return Ranking((), tuple(weighed), absent, weak=False, matched_notes=0)
    hits = find_hits(present, total, view, scope)
    if not hits:
        return Ranking((), tuple(weighed), absent, weak=False, matched_notes=0)
    best = hits[0].score or 1.0
    of_note: dict[int, float] = {}
    for hit in hits:
        of_note[hit.note_id] = max(of_note.get(hit.note_id, 0.0), hit.score / best)
    hits = sorted(hits, key=lambda h: -(h.score / best + 0.35 * of_note[h.note_id]))
    if len(hits) > RERANKED:
        rare = hits_of_rare(present, view, scope)
        hits = hits[:RERANKED] + [hit for hit in hits[RERANKED:] if hit.section_id in rare]
    sections = view.sections_by_id([hit.section_id for hit in hits])
    notes = view.notes_by_id({hit.note_id for hit in hits})
    sought = _sought(query, present, stemmer)
    ranked = []
    for hit in hits:
        stop_if_gone()
        base = hit.score / best + 0.35 * of_note[hit.note_id]
        ranked.append(_rerank(base, sections[hit.section_id], notes[hit.note_id], sought))
    ranked.sort(key=lambda r: (-r.score, r.note.path, r.section.first_line, r.section.ordinal))
    return Ranking(tuple(ranked), tuple(weighed), absent, _is_weak(ranked, weighed), len(of_note))


def _weigh(concept: Concept, total: int, view: View, stemmer: Stemmer, scope: Scope) -> Weighed:
    """Weigh a concept; look for a word that no note contains as a part of compounds."""
    one = weigh(concept, total, view, stemmer, scope)
    if one.frequency or concept.kind != "word" or concept.literal or not concept.own:
        return one
    compounds = compounds_with(concept.words[0], view)
    if not compounds:
        return one
    forms = tuple((compound,) for compound in compounds)
    found = replace(concept, expr=any_of(map(Term, compounds)), forms=forms)
    return weigh(found, total, view, stemmer, scope)


def _absent_parts(word: str, view: View, scope: Scope) -> list[str]:
    """Return the parts of a CJK word whose characters are in no pair that the notes contain."""
    if view.holds(cjk_phrase(word), scope):
        return []
    known = [view.holds(cjk_phrase(word[at : at + 2]), scope) for at in range(len(word) - 1)]
    signs = "".join(
        sign if not (known[at - 1 : at] == [True] or known[at : at + 1] == [True]) else " "
        for at, sign in enumerate(word)
    )
    return [as_read(part) for part in signs.split() if len(part) > 1]


def boost_and_cut(ranking: Ranking, branch: str | None, top: int | None) -> Ranking:
    """Weigh sections of `branch` 1.5 times as much, and keep the best `top`."""
    ranked = list(ranking.ranked)
    if branch is not None:
        ranked = [
            one._replace(score=one.score * BOOST) if one.note.branch == branch else one
            for one in ranked
        ]
        ranked.sort(key=lambda one: -one.score)  # stable: ties keep their order
    return replace(ranking, ranked=tuple(ranked[:top]))


class _Sought(NamedTuple):
    """The concepts of a query with their weights, to compare each section with."""

    dates: tuple[str, ...]
    concepts: tuple[tuple[Weighed, Finder], ...]
    total: float  # weight of all concepts that occur
    typed: float  # weight of those in the question itself
    own_weight: float
    exact_weight: float


def _sought(query: Query, present: Sequence[Weighed], stemmer: Stemmer) -> _Sought:
    return _Sought(
        query.dates,
        tuple((one, _finder(one, stemmer)) for one in present),
        sum(w.idf for w in present),
        sum(w.idf for w in present if w.concept.own),
        OWN_BESIDE_GLOSSARY if query.named else OWN_WORDS,
        EXACT if len(present) > 1 else EXACT_ALONE,
    )


def _rerank(base: float, section: SectionRow, note: NoteRow, sought: _Sought) -> Ranked:
    body = fold(section.text[section.skip :])
    names = fold(f"{note.title}\n{' '.join(section.headings)}\n{note.path}\n{note.names}\n")
    text, body_at = names + body, len(names)
    forms = ""
    covered = exact = own = 0.0
    places: list[tuple[float, list[int]]] = []
    for one, find in sought.concepts:
        positions, is_exact = find(text, body_at)
        if not positions and one.in_forms:
            forms = forms or f"\n{all_forms(_as_written(section, note))}"
            positions = [len(text) + at for at in find(forms, 0)[0]]
        if positions:
            covered += one.idf
            own += one.idf * one.concept.own
        elif one.concept.kind == "date":
            if _is_dated(one.concept, note, section):
                covered += one.idf
            continue
        places.append((one.idf, positions))
        if is_exact:
            exact += one.idf
    total, typed = sought.total, sought.typed
    dated = any(value in (note.date, section.date) for value in sought.dates)
    score = (
        base + 0.5 * covered / total + 0.25 * _nearness(places) + sought.exact_weight * exact / total
        + (sought.own_weight * own / typed if 0 < typed < total else 0.0)
        + 0.5 * dated - (0.3 if len(body) < SHORT_CHARACTERS else 0.0)
    )  # fmt: skip
    return Ranked(section, note, score, max(own / typed if typed else 0.0, covered / total))


def _as_written(section: SectionRow, note: NoteRow) -> str:
    return "\n".join((note.title, *section.headings, note.names, section.text[section.skip :]))


def _finder(one: Weighed, stemmer: Stemmer) -> Finder:
    """Return a function that finds a concept in a folded text: its places, and whether the body has it exactly."""
    finders = [_own_finder(one, stemmer)]
    for form in one.concept.forms:
        if len(form) > 1:
            finders.append(partial(_find_phrase, form))
        else:
            stem = stemmer.stem(form[0])
            needle = stemmer.common_beginning(stem)
            finders.append(partial(_find_word, form[0], stem, needle, stemmer))
    return finders[0] if len(finders) == 1 else partial(_find_any, finders)


def _find_any(finders: Sequence[Finder], text: str, body_at: int) -> tuple[list[int], bool]:
    """Return the places of the first form in the text; only the typed form counts as exact."""
    for find in finders:
        positions, is_exact = find(text, body_at)
        if positions:
            return positions, is_exact and find is finders[0]
    return [], False


def _own_finder(one: Weighed, stemmer: Stemmer) -> Finder:
    concept = one.concept
    if whole := concept.literal or (concept.kind == "cjk" and concept.words[0]):
        return partial(_find_whole, whole)
    if len(concept.words) != 1:
        return partial(_find_phrase, concept.words)
    return partial(_find_word, concept.words[0], one.stems[0], one.beginnings[0], stemmer)


def _find_whole(whole: str, text: str, body_at: int) -> tuple[list[int], bool]:
    found = list(_occurrences(text, whole))
    return found, bool(found) and found[-1] >= body_at


def _find_word(
    word: str, stem: str, needle: str, stemmer: Stemmer, text: str, body_at: int
) -> tuple[list[int], bool]:
    positions: list[int] = []
    exact = False
    if needle not in text:  # true for most words in most sections
        return positions, exact
    for place in starts_of_words(text, needle):
        rest = _LETTERS.match(text, place + len(needle))
        token = f"{needle}{rest[0]}" if rest else needle
        if token == word:
            exact = exact or place >= body_at
        elif token != stem and stemmer.stem(token) != stem:
            continue
        positions.append(place)
    return positions, exact


def _find_phrase(words: Sequence[str], text: str, body_at: int) -> tuple[list[int], bool]:
    positions: list[int] = []
    for place in starts_of_words(text, words[0] if words else ""):
        span = text[place : place + 3 * sum(map(len, words)) + 20]
        if tuple(words_of(span)[: len(words)]) == words:
            positions.append(place)
    return positions, bool(positions) and positions[-1] >= body_at


def _is_letter(character: str) -> bool:
    """Return whether a character belongs to a word of letters; a CJK character does not."""
    return character.isalnum() and not CJK_RUN.match(character)


def starts_of_words(text: str, needle: str) -> Iterator[int]:
    """Yield the places in a folded text where a word begins with the needle."""
    for place in _occurrences(text, needle):
        if not place or not _is_letter(text[place - 1]):
            yield place


def begins_a_word(text: str, needle: str) -> bool:
    """Return whether a word of a folded text begins with the needle."""
    place = text.find(needle)
    while place > 0 and _is_letter(text[place - 1]):
        place = text.find(needle, place + len(needle))
    return place >= 0


def _occurrences(text: str, needle: str) -> Iterator[int]:
    if not needle:
        return
    place = text.find(needle)
    for _ in range(_MOST_POSITIONS):
        if place < 0:
            return
        yield place
        place = text.find(needle, place + len(needle))


def _nearness(places: Sequence[tuple[float, list[int]]]) -> float:
    """Return the share of neighbouring concept pairs that occur close together somewhere, by weight."""
    together = possible = 0.0
    for (idf, first), (next_idf, second) in pairwise(places):
        weight = min(idf, next_idf)
        possible += weight
        if first and second and _close(first, second):
            together += weight
    return together / possible if possible else 0.0


def _close(first: list[int], second: list[int]) -> bool:
    at = 0
    for place in first:
        while at < len(second) and second[at] < place - NEAR_CHARACTERS:
            at += 1
        if at < len(second) and abs(second[at] - place) <= NEAR_CHARACTERS:
            return True
    return False


def _is_dated(concept: Concept, note: NoteRow, section: SectionRow) -> bool:
    token = f"d{concept.text.replace('-', '')}"
    return any(token in date_words(value).split() for value in (note.date, section.date) if value)


def _is_weak(ranked: Sequence[Ranked], weighed: Sequence[Weighed]) -> bool:
    """Return whether even the best section covers little of the question."""
    total = sum(w.idf for w in weighed)
    absent = sum(w.idf for w in weighed if not w.frequency) / total
    best = ranked[0]
    covered = best.coverage * (1 - absent)
    lead = best.score - ranked[min(9, len(ranked) - 1)].score
    return covered + 0.3 * lead - 0.5 * absent < WEAK_BELOW
