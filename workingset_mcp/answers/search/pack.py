"""Choose what to show of the ranked sections: passages in tiers, as verbatim runs of lines.

The first two passages are large, the next four smaller, the rest small: so even a small budget reaches rank
20 and beyond. Pure. Not here: the order (`rank`) and the answer around it (`reply`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from workingset_mcp.answers.answer import Source, fenced
from workingset_mcp.answers.budget import count_tokens, cut_to_tokens
from workingset_mcp.answers.search.hits import Weighed
from workingset_mcp.answers.search.rank import Ranked, begins_a_word
from workingset_mcp.caller import stop_if_gone
from workingset_mcp.escaping import show_line, show_name
from workingset_mcp.notes.folding import CJK, all_forms, fold
from workingset_mcp.notes.markdown import split_lines

LONG_LINE = 300
LEAST_PASSAGE_TOKENS = 30
LEAST_CAP_TOKENS = 120
MOST_STEMS, MOST_STEM_CHARACTERS = 64, 64  # of a phrase; the rest of a longer one is ignored


class Tier(NamedTuple):
    """How much of a passage is shown: all of it up to `whole_tokens`, else windows around hits."""

    whole_tokens: int
    hits: int
    pieces: int
    before: int
    after: int
    share: float


_FIRST = (Tier(300, 8, 14, 1, 4, 0.34), Tier(300, 8, 14, 1, 4, 0.25))
_NEXT = tuple(Tier(200, 6, 12, 1, 3, share) for share in (0.20, 0.15, 0.10, 0.10))
_REST = Tier(80, 2, 5, 0, 2, 0.10)
TIERS = (*_FIRST, *_NEXT)

_IN_A_WORD = re.compile(rf"[^\W{CJK}]")
_WORD_SIGN = re.compile(r"\w")
_NO_LETTERS = b"*_`#>-+ \t\n\v\f\r\x1c\x1d\x1e\x1f"  # emphasis, line marks and whitespace
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")
_ASCII_SENTENCE_END = re.compile(r"[.!?;]\s+")  # five times as fast


class Piece(NamedTuple):
    """A line, or a sentence of an over-long line: the smallest unit shown."""

    line: int
    text: str
    part: bool


class Look(NamedTuple):
    """The weight of a concept, and a test whether a folded line contains it."""

    idf: float
    holds: Callable[[str], bool]
    in_forms: bool  # whether it may be among the other forms of a line's words


class Passage(NamedTuple):
    """The shown runs of one section: (first line, last line, verbatim text, whether lines are cut)."""

    ranked: Ranked
    runs: tuple[tuple[int, int, str, bool], ...]
    copies: tuple[Source, ...]
    text: str  # as printed
    tokens: int

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the runs; the whole note if the passage only names it."""
        path = self.ranked.note.path
        runs = tuple(Source(path, first, last) for first, last, _, _ in self.runs)
        return runs or (Source(path),)


def pack(
    ranked: Sequence[Ranked], weighed: Sequence[Weighed], budget_tokens: int
) -> tuple[list[Passage], int]:
    """Return the passages that fit into `budget_tokens` as printed, best first, and how many do not."""
    finders = [Look(w.idf, _finder(w), w.in_forms) for w in weighed if w.frequency]
    passages: list[Passage] = []
    left = budget_tokens
    distinct = list(_without_copies(ranked))
    sections = Counter(one.note.id for one, _ in distinct)
    for at, (one, copies) in enumerate(distinct):
        stop_if_gone()
        if left < LEAST_PASSAGE_TOKENS:
            return passages, len(distinct) - at
        tier = TIERS[at] if at < len(TIERS) else _REST
        cap = min(left, max(LEAST_CAP_TOKENS, int(budget_tokens * tier.share)))
        passage = _passage(one, copies, tier, cap, finders, tight=budget_tokens < 1_900)
        if passage is None and sections[one.note.id] == 1 and not _pieces(one):
            passage = _named(one, copies)
        if not passages and (passage is None or passage.tokens > left):
            passage = _smaller(one, copies, left, finders)
        if passage and passage.tokens <= left:
            passages.append(passage)
            left -= passage.tokens
    return passages, len(distinct) - len(passages)


def _named(one: Ranked, copies: tuple[Source, ...]) -> Passage:
    """Name a note that has no text beside its tags and names."""
    text = f"found by its tags or names: {show_name(one.note.path)} · {_heading_line(one)}\n"
    return Passage(one, (), copies, text, count_tokens(text))


def _smaller(
    one: Ranked, copies: tuple[Source, ...], left: int,
    finders: Sequence[Look],
) -> Passage | None:  # fmt: skip
    """Make the first passage if room is short: try less and less until it fits as printed."""
    for share in (1.0, 0.8, 0.6, 0.5, 0.4):
        passage = _passage(one, copies, _REST, int(left * share), finders, tight=True)
        if passage and passage.tokens <= left:
            return passage
    return None


def _cost(line: str) -> int:
    """Estimate the tokens of a line; the printed passage is counted exactly."""
    return len(line) * 5 // 18 + 2 if line.isascii() else count_tokens(line) + 1


def _without_copies(ranked: Sequence[Ranked]) -> Iterator[tuple[Ranked, tuple[Source, ...]]]:
    """Yield each text once, from the newest note that contains it, with the other notes as copies."""
    groups: dict[str | int, list[Ranked]] = {}
    for one in ranked:
        letters = _letters_of(one)
        groups.setdefault(letters if len(letters) > 40 else one.section.id, []).append(one)
    for group in groups.values():
        shown = max(group, key=lambda r: (r.note.date, r.score))
        copies = (Source(r.note.path, r.section.first_line) for r in group if r is not shown)
        yield shown, tuple(dict.fromkeys(copies))


def _letters_of(one: Ranked) -> str:
    """Reduce a section's text to what copies share: no heading, whitespace, emphasis or case."""
    text = one.section.text[one.section.skip :]
    if _has_heading_line(one) and not one.section.skip:
        text = text.partition("\n")[2]
    if not text.isascii():
        text = "".join(text.lower().split())
    return text.encode().lower().translate(None, _NO_LETTERS).decode()


def _has_heading_line(one: Ranked) -> bool:
    return bool(one.section.opens and one.section.level)


def _passage(
    one: Ranked, copies: tuple[Source, ...], tier: Tier, cap: int,
    finders: Sequence[Look], *, tight: bool,
) -> Passage | None:  # fmt: skip
    pieces = _pieces(one)
    head = _heading_line(one)
    room = cap - len(head) // 3 - 14
    if not pieces or room < 10:
        return None
    costs = [_cost(piece.text) for piece in pieces]
    whole = tier.whole_tokens * (0.7 if tight else 1.0)
    every = sum(costs) <= min(whole, room)
    chosen = [*range(len(pieces))] if every else _windows(pieces, costs, tier, room, finders)
    if not chosen:
        pieces, chosen = _beginning(pieces, finders, room)
    runs = tuple(_runs(pieces, chosen))
    if not runs:
        return None
    text = _printed(one, head, runs, copies)
    return Passage(one, runs, copies, text, count_tokens(text))


def _beginning(
    pieces: Sequence[Piece], finders: Sequence[Look], room: int
) -> tuple[list[Piece], list[int]]:
    """Cut the best piece, which is longer than the room, to its most relevant stretch."""

    def value(text: str) -> float:
        folded = fold(text)
        if any(look.in_forms for look in finders):
            folded = f"{folded} {all_forms(text)}"
        return sum(look.idf for look in finders if look.holds(folded))

    best = max(pieces, key=lambda piece: value(piece.text))
    width = max(24, room * 2)
    starts = range(0, max(1, len(best.text) - width // 2), width // 2)
    start = max(starts, key=lambda at: (value(best.text[at : at + width]), -at))
    kept = start + cut_to_tokens(best.text[start : start + width], room)
    parts = [best.text[:start], best.text[start:kept], best.text[kept:]]
    return [Piece(best.line, text, part=True) for text in parts], [1] if parts[1].strip() else []


def _pieces(one: Ranked) -> list[Piece]:
    """Split a section into lines without its heading and front matter, and long lines into sentences."""
    section = one.section
    skipped = len(split_lines(section.text[: section.skip])) if section.skip else 0
    lines = split_lines(section.text)[skipped:]
    number = section.first_line + skipped
    if _has_heading_line(one) and not skipped and any(line.strip() for line in lines[1:]):
        lines, number = lines[1:], number + 1  # unless the heading is all there is
    pieces: list[Piece] = []
    for at, line in enumerate(lines, number):
        if len(line) <= LONG_LINE:
            pieces.append(Piece(at, line, False))
        else:
            pieces.extend(_sentences(at, line))
    while pieces and not pieces[0].text.strip() and not pieces[0].part:
        pieces.pop(0)
    while pieces and not pieces[-1].text.strip() and not pieces[-1].part:
        pieces.pop()
    return pieces


def _sentences(number: int, line: str) -> Iterator[Piece]:
    """Cut a long line at sentence ends, else after 1,200 characters."""
    start = 0
    ends = _ASCII_SENTENCE_END if line.isascii() else _SENTENCE_END
    for matched in ends.finditer(line):
        if matched.end() - start >= 80:
            yield from _hard_pieces(number, line[start : matched.end()])
            start = matched.end()
    if start < len(line):
        yield from _hard_pieces(number, line[start:])


def _hard_pieces(number: int, text: str) -> Iterator[Piece]:
    for start in range(0, len(text), 1_200):
        yield Piece(number, text[start : start + 1_200], part=True)


def _windows(
    pieces: Sequence[Piece], costs: Sequence[int], tier: Tier, room: int,
    finders: Sequence[Look],
) -> list[int]:  # fmt: skip
    """Return the indexes of the pieces worth showing: the best ones, each with some lines around it."""
    whole = fold("\n".join([piece.text for piece in pieces]))
    there = [look for look in finders if look.holds(whole)]
    lines = whole.split("\n")
    if any(look.in_forms and look not in there for look in finders):
        lines = [
            f"{line} {all_forms(piece.text)}" for line, piece in zip(lines, pieces, strict=True)
        ]
        there = [look for look in finders if look in there or look.in_forms]
    own = [sum([look.idf for look in there if look.holds(line)]) for line in lines]
    last = len(pieces) - 1
    values = [
        value + 0.4 * ((own[at - 1] if at else 0.0) + (own[at + 1] if at < last else 0.0))
        for at, value in enumerate(own)
    ]
    chosen: set[int] = set()
    used = 0
    for best in sorted(range(len(pieces)), key=lambda at: (-values[at], at))[: tier.hits]:
        if not chosen and costs[best] > room:
            return []  # the caller cuts the best piece instead of skipping it
        if values[best] <= 0 and chosen:
            break
        around = [
            best,
            *range(best + 1, best + 1 + tier.after),
            *range(best - 1, best - 1 - tier.before, -1),
        ]
        for at in around:
            if at in chosen or not 0 <= at <= last:
                continue
            gap = 0 if not chosen or at - 1 in chosen or at + 1 in chosen else 14
            if len(chosen) >= tier.pieces or used + costs[at] + gap > room:
                break
            chosen.add(at)
            used += costs[at] + gap
    return sorted(chosen)


def _runs(pieces: Sequence[Piece], chosen: Sequence[int]) -> Iterator[tuple[int, int, str, bool]]:
    start = 0
    while start < len(chosen):
        end = start
        while end + 1 < len(chosen) and chosen[end + 1] == chosen[end] + 1:
            end += 1
        first, last = chosen[start], chosen[end]
        while last > first and not pieces[last].text.strip():
            last -= 1
        while last > first and not pieces[first].text.strip():
            first += 1
        run = pieces[first : last + 1]
        text = run[0].text
        for before, piece in pairwise(run):
            text += piece.text if piece.line == before.line else f"\n{piece.text}"
        if text.strip():
            yield run[0].line, run[-1].line, text, _is_cut(pieces, first, last)
        start = end + 1


def _is_cut(pieces: Sequence[Piece], first: int, last: int) -> bool:
    """Return whether a run begins or ends inside a line."""
    before = first > 0 and pieces[first - 1].line == pieces[first].line
    return before or (last + 1 < len(pieces) and pieces[last + 1].line == pieces[last].line)


def _heading_line(one: Ranked) -> str:
    headings = one.section.headings
    if headings and headings[0] == one.note.title:
        headings = headings[1:]
    names = " › ".join(heading[:60] for heading in headings[-2:])
    date = one.section.date or one.note.date
    said = (date, one.note.title[:60], names, one.note.not_current)
    return show_line(" · ".join(filter(None, said)))


def _printed(
    one: Ranked, head: str, runs: Sequence[tuple[int, int, str, bool]], copies: Sequence[Source]
) -> str:
    blocks, path = [], show_name(one.note.path)
    for at, (first, last, text, cut) in enumerate(runs):
        lines = f"{first}-{last}" if last > first else str(first)
        about = f" · {head}" if at == 0 else ""
        part = " · part of the line" if cut and first == last else " · lines cut" if cut else ""
        blocks.append(f"### {path}:{lines}{about}{part}\n{fenced(text)}\n")
    if copies:
        more = f" and {len(copies) - 3} more" if len(copies) > 3 else ""
        blocks.append(f"the same text: {', '.join(map(str, copies[:3]))}{more}\n")
    return "".join(blocks)


def _finder(one: Weighed) -> Callable[[str], bool]:
    """Return a test whether a folded line contains a concept: some word begins with its stem."""
    ways = [_own_finder(one), *map(_finder_of, one.concept.forms)]
    return ways[0] if len(ways) == 1 else lambda text: any(holds(text) for holds in ways)


def _own_finder(one: Weighed) -> Callable[[str], bool]:
    concept = one.concept
    if concept.literal or concept.kind == "cjk":
        needle = concept.literal or concept.words[0]
        return lambda text: needle in text
    return _finder_of(one.beginnings)


def _finder_of(words: Sequence[str]) -> Callable[[str], bool]:
    beginnings = [beginning for beginning in words if beginning]
    if len(beginnings) < 2:
        return lambda text: bool(beginnings) and begins_a_word(text, beginnings[0])

    return lambda text: (
        all(one in text for one in beginnings) and _follow_each_other(text, beginnings)
    )


def _follow_each_other(text: str, stems: Sequence[str]) -> bool:
    """Return whether words with these stems follow each other, at most three other characters apart.

    A set of places is an integer with one bit for each place, which makes the cost linear in the text. A
    regular expression would try every way to split the words.
    """
    first, *others = [stem[:MOST_STEM_CHARACTERS] for stem in stems[:MOST_STEMS]]
    begins = _bits((at for at in _places_of(first, text) if _begins_there(text, at)), len(text))
    found = {stem: _bits(_places_of(stem, text), len(text)) for stem in set(others)}
    in_words = _bits((matched.start() for matched in _WORD_SIGN.finditer(text)), len(text))
    length = len(first)
    for stem in others:
        ends = begins << length
        reached = ends | ((ends & in_words) + in_words) ^ in_words  # the rest of each word
        behind = reached & ~in_words
        for _ in range(3):
            behind <<= 1
            reached |= behind
            behind &= ~in_words
        begins, length = found[stem] & reached, len(stem)
    return begins != 0


def _bits(places: Iterable[int], length: int) -> int:
    """Return an integer with one bit set for each of these places in a text."""
    signs = bytearray(b"0") * (length + 1)
    for at in places:
        signs[length - at] = 49  # "1"
    return int(signs, 2)


def _begins_there(text: str, at: int) -> bool:
    return not at or not _IN_A_WORD.match(text, at - 1)


def _places_of(needle: str, text: str) -> Iterator[int]:
    """Yield every place of a needle in a text, overlapping ones included."""
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)
