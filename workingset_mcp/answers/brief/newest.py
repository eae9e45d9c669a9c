"""Choose lines of the newest notes, and show them verbatim as runs with their line numbers. Pure.

If a unit does not fit, lines that commit, settle or look ahead go first. Not here: how a line is scored
(`telling`).
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from workingset_mcp.answers.answer import Source, marked_line, quoted_block
from workingset_mcp.answers.brief.materials import BranchReader, Materials, NewestUnit, TellingLine
from workingset_mcp.answers.brief.telling import ONLY_LINK, telling_lines
from workingset_mcp.answers.budget import count_tokens, least_tokens
from workingset_mcp.escaping import show_line, show_name
from workingset_mcp.notes.markdown import outline_of
from workingset_mcp.notes.outline import LineKind, Outline

MOST_UNITS = 6
LEAST_UNIT_CHARACTERS = 40
PICKS = 4  # attempts to make the picked lines fit as printed
MOST_UNIT_LINES = 1_500
LEAST_VALUE = 2.0
_UNIT_BONUS = (5.0, 3.0, 1.0, 0.0, 0.0, 0.0)  # newest unit first
_RUN_TOKENS = 4  # cost of naming the source of one more run
_NO_LETTERS = re.compile(r"[\W_]+")


class Newest(NamedTuple):
    """The section: its text and tokens, the notes it shows, and the telling lines it leaves out."""

    text: str
    tokens: int
    notes: int
    left_out: int


def newest_notes(materials: Materials, reader: BranchReader, limit_tokens: int) -> Newest:
    """Print the newest notes within a limit."""
    if not materials.newest:
        materials.newest.extend(_units(materials, reader))
    units = materials.newest
    ordered = list(_most_telling_first(units))
    room = limit_tokens
    costs: list[int] = []
    tokens_of = cache(count_tokens)  # most parts do not change between attempts
    for _ in range(PICKS):
        parts, shown = _printed(units, _pick(ordered, units, room))
        costs = [tokens_of(part) for part in parts]
        over = sum(costs) - limit_tokens
        if over <= 0:
            break
        room -= over
    while sum(costs) > limit_tokens:
        for parallel in (parts, shown, costs):
            parallel.pop()
    left_out = sum(map(_lines_of, units)) - sum(shown)
    return Newest("".join(parts), sum(costs), len(parts), left_out)


def _lines_of(unit: NewestUnit) -> int:
    return sum(line.last - line.number + 1 for line in unit.lines)


def _printed(
    units: Sequence[NewestUnit], picked: Sequence[Sequence[int]]
) -> tuple[list[str], list[int]]:
    """Print the picked lines unit by unit, and count the telling lines each shows; skip units without any."""
    parts: list[str] = []
    shown: list[int] = []
    for unit, numbers in zip(units, picked, strict=True):
        if numbers:
            runs = list(_runs(numbers, unit.outline, unit.unit.first_line))
            parts.append(unit.head + _quoted(unit, runs, len(parts) + 2))  # quote 1 is the status
            chosen = [line for line in unit.lines if line.number in numbers]
            shown.append(sum(line.last - line.number + 1 for line in chosen))
    return parts, shown


def _units(materials: Materials, reader: BranchReader) -> Iterator[NewestUnit]:
    """Yield the newest dated stretches that say something, at most six."""
    found = 0
    for unit in materials.units:
        last = min(unit.last_line, unit.first_line + MOST_UNIT_LINES)
        outline = outline_of("\n".join(reader.lines(unit.note, unit.first_line, last)))
        lines = telling_lines(materials, reader, unit, outline)
        length = sum(len(line.text) for line in lines if not ONLY_LINK.match(line.text))
        if length < LEAST_UNIT_CHARACTERS:
            continue
        named = (
            f" · {show_line(unit.note.title)}"
            if _says_more(unit.note.title, unit.note.path)
            else ""
        )
        head = f"### {show_name(unit.note.path)} · {unit.date}{named}\n"
        yield NewestUnit(unit, head, count_tokens(head), lines, outline)
        found += 1
        if found == MOST_UNITS:
            return


def _says_more(title: str, path: str) -> bool:
    """Return whether a title says something that the path does not."""
    letters = _NO_LETTERS.sub("", title.casefold())
    return bool(letters) and letters not in _NO_LETTERS.sub("", path.casefold())


def _most_telling_first(units: Sequence[NewestUnit]) -> Iterator[tuple[int, TellingLine]]:
    """Yield the lines worth showing, best first, each with the index of its unit."""
    valued = sorted(
        (-line.score - _UNIT_BONUS[at], at, line.number, line)
        for at, unit in enumerate(units)
        for line in unit.lines
    )
    for value, at, _, line in valued:
        if -value < LEAST_VALUE:
            return
        yield at, line


def _pick(
    ordered: Sequence[tuple[int, TellingLine]], units: Sequence[NewestUnit], limit_tokens: int
) -> list[list[int]]:
    """Pick the line numbers to show of each unit: the most telling lines that fit."""
    picked: list[set[int]] = [set() for _ in units]
    left = limit_tokens
    for at, line in ordered:
        beside = line.number - 1 in picked[at] or line.last + 1 in picked[at]
        cost = (0 if beside else _RUN_TOKENS) + line.last - line.number + 1
        cost += 0 if picked[at] else units[at].head_tokens
        if cost + (line.tokens or least_tokens(line.text)) > left:
            continue
        line.tokens = line.tokens or count_tokens(line.text)
        cost += line.tokens
        topic = line.topic if line.topic not in picked[at] else 0
        if topic and cost <= left:
            cost += _RUN_TOKENS + count_tokens(units[at].text_of(topic))
        if cost <= left:
            picked[at].update(range(line.number, line.last + 1))
            if topic:
                picked[at].add(topic)
            left -= cost
    return [sorted(numbers) for numbers in picked]


def _runs(picked: Sequence[int], outline: Outline, offset: int) -> Iterator[tuple[int, int]]:
    """Yield runs of picked lines, joined across blank lines and headings between them."""
    start = end = picked[0]
    for number in picked[1:]:
        between = range(end + 1, number)
        bridging = all(
            not outline.lines[n - offset].strip() or outline.kinds[n - offset] == LineKind.HEADING
            for n in between
        )
        if bridging and len(between) <= 4:
            end = number
        else:
            yield start, end
            start = end = number
    yield start, end


def _quoted(unit: NewestUnit, runs: Sequence[tuple[int, int]], quote: int) -> str:
    """Print runs of one note: a single line with its source mark, more as one quote that names every range."""
    lines, offset, path = unit.outline.lines, unit.unit.first_line, unit.unit.note.path
    if len(runs) == 1 and runs[0][0] == runs[0][1]:
        line = runs[0][0]
        return f"{marked_line(lines[line - offset].strip(), Source(path, line))}\n"
    text = "\n".join(
        line for first, last in runs for line in lines[first - offset : last - offset + 1]
    )
    numbers = [number for first, last in runs for number in range(first, last + 1)]
    return f"{quoted_block(text, quote, *runs_of(path, numbers))}\n"


def runs_of(path: str, numbers: Sequence[int]) -> list[Source]:
    """Group ascending line numbers of a note into runs."""
    runs: list[Source] = []
    for number in numbers:
        if runs and number == runs[-1].last + 1:
            runs[-1] = runs[-1]._replace(last=number)
        else:
            runs.append(Source(path, number, number))
    return runs
