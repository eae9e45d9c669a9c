"""Choose lines of the newest notes, and show them verbatim as runs with their line numbers. Pure.

If a unit does not fit, lines that commit, settle or look ahead go first. Not here: how a line is scored
(`telling`).
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from workingset_mcp.answers.answer import Source, marked_line, unmarked_line
from workingset_mcp.answers.brief.materials import QUOTE_TOKENS, BranchReader, Materials, ReadUnit
from workingset_mcp.answers.brief.structure import Structure, bridged, quoted_lines
from workingset_mcp.answers.brief.telling import ONLY_LINK, telling_lines
from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.notes.kinds import POST_MORTEM, RECORD, TRACKER
from workingset_mcp.notes.markdown import outline_of

MOST_UNITS = 6
MOST_RECORDS = 10
_EVERY_LINE = 60  # characters: what a line costs beside its own
_LENGTH_WEIGHS = 0.35
_SHARE_OF_OTHERS = 0.4
MOST_OF_ONE = 0.8  # of the room of all notes
EMPTY = 4.0  # what a line loses that only introduces a list, and the list is not shown
LEAST_UNIT_CHARACTERS = 40
PICKS = 4  # attempts to make the picked lines fit as printed
MOST_UNIT_LINES = 1_500
LEAST_VALUE = 2.0
_UNIT_BONUS = (5.0, 3.0, 1.0, 0.0, 0.0, 0.0)  # newest unit first
_NO_LETTERS = re.compile(r"[\W_]+")


class Newest(NamedTuple):
    """The section: its text and tokens, the notes and lines it shows, and how many telling lines it leaves out."""

    text: str
    tokens: int
    notes: int
    left_out: int
    shown: set[tuple[str, int]]  # (path, line)


def newest_notes(materials: Materials, reader: BranchReader, limit_tokens: int) -> Newest:
    """Print the newest notes within a limit."""
    if not materials.newest:
        materials.newest.extend(_units(materials, reader))
    units = materials.newest
    ordered = list(_most_telling_first(units))
    room = limit_tokens
    tokens_of = cache(count_tokens)  # most parts do not change between attempts
    for _ in range(PICKS):
        parts = _printed(units, _pick(ordered, units, room))
        over = sum(tokens_of(part.text) for part in parts) - limit_tokens
        if over <= 0:
            break
        room -= over
    while sum(tokens_of(part.text) for part in parts) > limit_tokens:
        parts.pop()
    shown = {source for part in parts for source in part.shown}
    left_out = sum(
        line.last - line.number + 1
        for unit in units
        for line in unit.lines
        if (unit.unit.note.path, line.number) not in shown
    )
    tokens = sum(tokens_of(part.text) for part in parts)
    return Newest("".join(part.text for part in parts), tokens, len(parts), left_out, shown)


class _Part(NamedTuple):
    text: str
    shown: list[tuple[str, int]]


def _printed(units: Sequence[ReadUnit], picked: Sequence[Sequence[int]]) -> list[_Part]:
    """Print the picked lines unit by unit; skip units without any."""
    parts: list[_Part] = []
    for unit, numbers in zip(units, picked, strict=True):
        if numbers:  # quote 1 is the status
            text = unit.head + printed_lines(unit, numbers, len(parts) + 2)
            parts.append(_Part(text, [(unit.unit.note.path, line) for line in numbers]))
    return parts


def _units(materials: Materials, reader: BranchReader) -> Iterator[ReadUnit]:
    """Yield the newest dated stretches that say something, at most six."""
    found = 0
    for unit in materials.units:
        if found >= MOST_UNITS and unit.note.genre not in (RECORD, POST_MORTEM, TRACKER):
            continue
        last = min(unit.last_line, unit.first_line + MOST_UNIT_LINES)
        outline = outline_of("\n".join(reader.lines(unit.note, unit.first_line, last)))
        lines = telling_lines(materials, reader, unit, outline)
        length = sum(len(line.text) for line in lines if not ONLY_LINK.match(line.text))
        if length < LEAST_UNIT_CHARACTERS:
            continue
        said = [unit.date] if unit.date and unit.date not in unit.note.path else []
        if says_more(unit.note.title, unit.note.path):
            said.append(unmarked_line(unit.note.title))
        head = f"### {' · '.join(said)}\n" if said else ""
        tokens = count_tokens(head) + count_tokens(unit.note.path) + QUOTE_TOKENS
        yield ReadUnit(unit, head, tokens, lines, outline, Structure(outline))
        found += 1
        if found == MOST_RECORDS:
            return


def says_more(title: str, path: str) -> bool:
    """Return whether a title says something that the path does not."""
    letters = _NO_LETTERS.sub("", title.casefold())
    return bool(letters) and letters not in _NO_LETTERS.sub("", path.casefold())


class _Choice(NamedTuple):
    """Lines of a unit that are shown together: a telling line with what gives it meaning."""

    unit: int
    lines: frozenset[int]


def _most_telling_first(units: Sequence[ReadUnit]) -> Iterator[_Choice]:
    """Yield what is worth showing, the most telling for its length first."""
    valued: list[tuple[float, int, int, frozenset[int]]] = []
    for at, unit in enumerate(units):
        scores = {line.number: line.score for line in unit.lines}
        bonus = _UNIT_BONUS[min(at, len(_UNIT_BONUS) - 1)]
        choices = {
            frozenset(unit.bound(line)) for line in unit.lines if line.score + bonus >= LEAST_VALUE
        }
        for lines in choices:
            mine = [scores[line] for line in lines if line in scores]
            best = max(mine)
            more = sum(score for score in mine if score > 0) - max(best, 0)
            length = sum(unit.length_of(line) for line in lines)
            value = best + bonus + _SHARE_OF_OTHERS * more
            value -= EMPTY * unit.only_introduces(lines)
            valued.append(
                (-value / (length + _EVERY_LINE) ** _LENGTH_WEIGHS, at, min(lines), lines)
            )
    for _, at, _, lines in sorted(valued, key=lambda one: one[:3]):
        yield _Choice(at, lines)


def _pick(
    ordered: Sequence[_Choice], units: Sequence[ReadUnit], limit_tokens: int
) -> list[list[int]]:
    """Pick the lines to show of each unit: the most telling ones that fit with what gives them meaning."""
    picked: list[set[int]] = [set() for _ in units]
    used = [0] * len(units)
    left = limit_tokens
    most = limit_tokens if len(units) < 3 else int(limit_tokens * MOST_OF_ONE)
    for at, lines in ordered:
        unit = units[at]
        added = set(lines - picked[at])
        if not added:
            continue
        room = min(left, most - used[at])
        cost = unit.cost_of(added, picked[at], room) + (0 if picked[at] else unit.head_tokens)
        if cost <= room:
            picked[at] |= added
            left -= cost
            used[at] += cost
    return [sorted(numbers) for numbers in picked]


def printed_lines(unit: ReadUnit, numbers: Sequence[int], quote: int) -> str:
    """Print lines of one note: a single line with its source mark, more as one quote that names every range."""
    lines, offset, path = unit.outline.lines, unit.unit.first_line - 1, unit.unit.note.path
    if len(numbers) == 1:
        line = numbers[0]
        return f"{marked_line(lines[line - offset - 1].strip(), Source(path, line))}\n"
    shown = bridged(unit.outline, (number - offset for number in numbers))
    return quoted_lines(unit.outline, unit.structure, shown, path, offset, quote)
