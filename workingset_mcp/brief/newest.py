"""The newest notes as they were written: which lines, as runs with true line numbers. Pure.

Lines that tell nothing later (attendees, links, copied-forward lines) are left out. Where a unit does
not fit, lines that commit, settle or look ahead go first.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workingset_mcp.answer import marked_line, quoted_block
from workingset_mcp.brief.extract import MOST_REPEATS, Materials, NewUnit
from workingset_mcp.budget import count_tokens
from workingset_mcp.dates import find_dates
from workingset_mcp.items import bare_line, without_link_targets
from workingset_mcp.markdown import Kind, Outline, outline_of
from workingset_mcp.note import line_digest
from workingset_mcp.words import (
    AHEAD,
    COMMITMENT,
    COMMITMENT_WORDS,
    NOISE_HEADING,
    NOISE_LINE,
    SETTLEMENT,
    STATE,
)

MOST_UNITS = 6
LEAST_UNIT_CHARACTERS = 40
MOST_UNIT_LINES = 1_500
_RUN_TOKENS = 24  # what a further quote block costs
_LETTER = re.compile(r"\w{2}")
_TABLE_RULE = re.compile(r"^\|?[\s:|-]+\|?$")
_ONLY_LINK = re.compile(r"^\W*(?:https?://\S+|!?\[[^\]]*\]\([^)]*\))\W*$")
_TOP_LEVEL = re.compile(r"^\s?\S")


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str
    tokens: int
    score: float


def newest_notes(
    materials: Materials, limit_tokens: int, shown: frozenset[tuple[str, int]]
) -> tuple[str, int, int]:
    """The section's text within a limit, notes shown, and lines of them left out.

    `shown`: (path, line) that stand elsewhere in the brief.
    """
    parts: list[str] = []
    used = units = left_out = quotes = 0
    for unit in materials.units:
        if units == MOST_UNITS or limit_tokens - used < 60:
            break
        lines, outline = _content(materials, unit, shown)
        if sum(len(line.text) for line in lines) < LEAST_UNIT_CHARACTERS:
            continue
        head = f"### {unit.note.path} · {unit.date} · {unit.note.title}\n"
        picked = _pick(lines, limit_tokens - used - count_tokens(head))
        if not picked:
            break
        text = head
        for first, last in _runs(picked, outline, unit.first_line):
            quotes += 1
            text += _run_text(unit, outline, first, last, quotes)
        cost = count_tokens(text)
        if used + cost > limit_tokens and parts:
            left_out += len(lines)
            break
        parts.append(text)
        used += cost
        units += 1
        left_out += len(lines) - len(picked)
    return "".join(parts), units, left_out


def _content(
    materials: Materials, unit: NewUnit, shown: frozenset[tuple[str, int]]
) -> tuple[list[_Line], Outline]:
    """The lines of a unit that say something, with their scores."""
    last = min(unit.last_line, unit.first_line + MOST_UNIT_LINES)
    outline = outline_of("\n".join(materials.branch.lines(unit.note, unit.first_line, last)))
    status = materials.status
    found = []
    after_heading = True
    for at, raw in enumerate(outline.lines, start=1):
        number = unit.first_line + at - 1
        kind = outline.kinds[at - 1]
        above = outline.heading_above(at)
        if kind == Kind.HEADING or (above and above.line == at):
            after_heading = True
            continue
        if not raw.strip() or kind not in (Kind.TEXT, Kind.TABLE) or (unit.note.path, number) in shown:
            continue
        if status and status.note.id == unit.note.id and status.status.line <= number <= status.status.last_line:
            continue
        if _is_noise(outline, at, raw) or _repeated(materials, raw):
            continue
        score = _score(raw, materials.branch.today.isoformat()) + after_heading
        found.append(_Line(number, raw, count_tokens(raw) + 1, score))
        after_heading = False
    return found, outline


def _is_noise(outline: Outline, at: int, raw: str) -> bool:
    if not _LETTER.search(raw) or _TABLE_RULE.match(raw) or NOISE_LINE.match(bare_line(raw)):
        return True
    return any(NOISE_HEADING.match(heading) for heading in outline.headings_at(at)[-2:])


def _repeated(materials: Materials, raw: str) -> bool:
    return materials.repeats is not None and materials.repeats.of(line_digest(raw)) > MOST_REPEATS


def _score(raw: str, today: str) -> float:
    """How likely a line matters later: commitments, settlements, dates ahead."""
    text = without_link_targets(raw)
    score = 0.0
    if COMMITMENT.search(text) or COMMITMENT_WORDS.search(text):
        score += 3
    if SETTLEMENT.search(text):
        score += 3
    if AHEAD.search(text):
        score += 2
    dates = [date.value for date in find_dates(text) if date.value]
    if any(value >= today for value in dates):
        score += 3
    elif dates:
        score += 1
    if STATE.search(text):
        score += 1
    if _TOP_LEVEL.match(raw):
        score += 1
    if len(text) < 25 or len(text) > 500:
        score -= 1
    if text.rstrip().endswith("?"):
        score -= 1
    if _ONLY_LINK.match(raw):
        score -= 2
    return score


def _pick(lines: Sequence[_Line], room: int) -> list[int]:
    """Numbers of the lines shown: all when they fit, else the best that do."""
    whole = sum(line.tokens for line in lines) + _RUN_TOKENS
    if whole <= room:
        return [line.number for line in lines]
    picked: set[int] = set()
    used = 0
    for line in sorted(lines, key=lambda line: (-line.score, line.number)):
        beside = line.number - 1 in picked or line.number + 1 in picked
        cost = line.tokens + (0 if beside else _RUN_TOKENS // 2)
        if used + cost <= room:
            picked.add(line.number)
            used += cost
    return sorted(picked)


def _runs(picked: Sequence[int], outline: Outline, offset: int) -> Iterator[tuple[int, int]]:
    """Runs of picked lines, joined over blank lines and headings between them."""
    start = end = picked[0]
    for number in picked[1:]:
        between = range(end + 1, number)
        bridging = all(
            not outline.lines[n - offset].strip() or outline.kinds[n - offset] == Kind.HEADING
            for n in between
        )
        if bridging and len(between) <= 4:
            end = number
        else:
            yield start, end
            start = end = number
    yield start, end


def _run_text(unit: NewUnit, outline: Outline, first: int, last: int, quote: int) -> str:
    offset = unit.first_line
    if first == last:
        text = outline.lines[first - offset].strip()
        return f"{marked_line(text, f'{unit.note.path}:{first}')}\n"
    text = "\n".join(outline.lines[first - offset : last - offset + 1])
    return f"{quoted_block(text, quote, f'{unit.note.path}:{first}-{last}')}\n"
