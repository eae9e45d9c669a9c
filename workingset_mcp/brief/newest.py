"""The newest notes as they were written: which lines, as runs with true line numbers. Pure.

Lines that tell nothing later (attendees, links, copied-forward lines) are left out. Where a unit does
not fit, lines that commit, settle or look ahead go first.
"""

import re
from collections.abc import Iterator, Sequence

from workingset_mcp.answer import marked_line, quoted_block
from workingset_mcp.brief.extract import MOST_REPEATS
from workingset_mcp.brief.materials import Materials, NewUnit, ToldLine, ToldUnit
from workingset_mcp.budget import count_tokens
from workingset_mcp.dates import find_dates
from workingset_mcp.lines import bare_line, without_link_targets
from workingset_mcp.markdown import Kind, Outline, outline_of
from workingset_mcp.note import line_digest
from workingset_mcp.words import (
    AHEAD,
    COMMITMENT,
    COMMITMENT_WORDS,
    NEXT_TIME,
    NOISE_HEADING,
    NOISE_LINE,
    SETTLEMENT,
    STATE,
    plainly,
)

MOST_UNITS = 6
LEAST_TOPIC_CHARACTERS = 12  # shorter headings (Discussion, Notes) name no topic
LEAST_UNIT_CHARACTERS = 40
PICKS = 4  # rounds until what is picked fits as printed
MOST_UNIT_LINES = 1_500
LEAST_VALUE = 2.0
WRAPPED = 60  # characters; a shorter line was ended by a person
REPEAT_PENALTY = 2.0
EXPIRED = -2.0
_UNIT_BONUS = (5.0, 3.0, 1.0, 0.0, 0.0, 0.0)  # by how new the unit is
_ENDS = ".!?:;。！？：；\\|>"
_RUN_TOKENS = 4  # what the source of a further run costs
_NO_LETTERS = re.compile(r"[\W_]+")
_LETTER = re.compile(r"\w{2}")
_TABLE_RULE = re.compile(r"^\|?[\s:|-]+\|?$")
_ONLY_LINK = re.compile(r"^\W*(?:https?://\S+|!?\[[^\]]*\]\([^)]*\))\W*$")
_FENCE = re.compile(r"^[\s>]*(?:```|~~~)")
_TOP_LEVEL = re.compile(r"^\s?\S")


def newest_notes(materials: Materials, limit_tokens: int) -> tuple[str, int, int]:
    """The section's text within a limit, how many notes it shows, and how many lines it leaves out."""
    if not materials.told:
        materials.told.extend(_units(materials))
    units = materials.told
    room = limit_tokens
    for _ in range(PICKS):
        parts, shown = _printed(units, _pick(units, room))
        over = sum(map(count_tokens, parts)) - limit_tokens
        if over <= 0:
            break
        room -= over
    while parts and sum(map(count_tokens, parts)) > limit_tokens:
        parts.pop()
        shown.pop()
    return "".join(parts), len(parts), sum(map(_lines_of, units)) - sum(shown)


def _lines_of(unit: ToldUnit) -> int:
    return sum(line.last - line.number + 1 for line in unit.lines)


def _printed(
    units: Sequence[ToldUnit], picked: Sequence[Sequence[int]]
) -> tuple[list[str], list[int]]:
    """The picked lines of each unit that has some as text, and how many telling lines each shows."""
    parts: list[str] = []
    shown: list[int] = []
    for unit, numbers in zip(units, picked, strict=True):
        if numbers:
            runs = list(_runs(numbers, unit.outline, unit.unit.first_line))
            parts.append(unit.head + _quoted(unit, runs, len(parts) + 2))  # the status is quote 1
            chosen = [line for line in unit.lines if line.number in numbers]
            shown.append(sum(line.last - line.number + 1 for line in chosen))
    return parts, shown


def _units(materials: Materials) -> Iterator[ToldUnit]:
    """The newest dated stretches that say something, at most six."""
    found = 0
    for unit in materials.units:
        lines, outline = _content(materials, unit)
        told = sum(len(line.text) for line in lines if not _ONLY_LINK.match(line.text))
        if told < LEAST_UNIT_CHARACTERS:
            continue
        named = f" · {unit.note.title}" if _says_more(unit.note.title, unit.note.path) else ""
        head = f"### {unit.note.path} · {unit.date}{named}\n"
        yield ToldUnit(unit, head, count_tokens(head), lines, outline)
        found += 1
        if found == MOST_UNITS:
            return


def _says_more(title: str, path: str) -> bool:
    """Whether a title says something that the path does not."""
    letters = _NO_LETTERS.sub("", title.casefold())
    return bool(letters) and letters not in _NO_LETTERS.sub("", path.casefold())


def _pick(units: Sequence[ToldUnit], limit_tokens: int) -> list[list[int]]:
    """Line numbers to show of each unit: the most telling ones of all units, newer units first."""
    picked: list[set[int]] = [set() for _ in units]
    left = limit_tokens
    ordered = sorted(
        (
            (line.score + _UNIT_BONUS[at], -at, line)
            for at, unit in enumerate(units)
            for line in unit.lines
        ),
        key=lambda entry: (-entry[0], -entry[1], entry[2].number),
    )
    for value, minus_at, line in ordered:
        if value < LEAST_VALUE:
            break
        at = -minus_at
        beside = line.number - 1 in picked[at] or line.last + 1 in picked[at]
        line.tokens = line.tokens or count_tokens(line.text) + line.last - line.number + 1
        head = 0 if picked[at] else units[at].head_tokens
        cost = line.tokens + head + (0 if beside else _RUN_TOKENS)
        topic = line.topic if line.topic not in picked[at] else 0
        if topic:
            cost += _RUN_TOKENS + count_tokens(units[at].text_of(topic))
        if cost <= left:
            picked[at].update(range(line.number, line.last + 1))
            if topic:
                picked[at].add(topic)
            left -= cost
    return [sorted(numbers) for numbers in picked]


def _content(materials: Materials, unit: NewUnit) -> tuple[list[ToldLine], Outline]:
    """The lines of a unit that say something, with their scores."""
    last = min(unit.last_line, unit.first_line + MOST_UNIT_LINES)
    outline = outline_of("\n".join(materials.branch.lines(unit.note, unit.first_line, last)))
    status = materials.status
    found: list[ToldLine] = []
    after_heading = True
    for at, raw in enumerate(outline.lines, start=1):
        number = unit.first_line + at - 1
        kind = outline.kinds[at - 1]
        above = outline.heading_above(at)
        if kind == Kind.HEADING or (above and above.line == at):
            after_heading = True
            continue
        if (
            not raw.strip()
            or kind not in (Kind.TEXT, Kind.TABLE)
            or (unit.note.path, number) in materials.listed
        ):
            continue
        if (
            status
            and status.note.id == unit.note.id
            and status.status.line <= number <= status.status.last_line
        ):
            continue
        repeats = materials.repeats.of(line_digest(raw)) if materials.repeats else 1
        if _is_noise(outline, at, raw) or repeats > MOST_REPEATS + 1:
            continue
        before = found[-1] if found and found[-1].last == number - 1 else None
        if before and at not in outline.item_depth and _goes_on(outline.lines[at - 2], raw):
            before.last, before.text = number, f"{before.text} {raw.strip()}"
            continue
        topic = _topic_line(outline, at)
        topic = topic + unit.first_line - 1 if topic else 0
        score = after_heading - REPEAT_PENALTY * (repeats - 1)
        found.append(ToldLine(number, raw, score, topic, number))
        after_heading = False
    for line in found:
        line.score += _score(line.text, unit.date, materials.branch.today.isoformat())
        if unit.date < materials.units[0].date and NEXT_TIME.stand_in(plainly(line.text)):
            line.score += EXPIRED - 2  # what was planned for the next meeting: that one has been
    return found, outline


def _goes_on(before: str, line: str) -> bool:
    """Whether a line of text goes on where the one before it was wrapped."""
    ended = before.rstrip()
    return line.lstrip()[:1].islower() or (len(ended) > WRAPPED and ended[-1] not in _ENDS)


def _topic_line(outline: Outline, at: int) -> int:
    """The line of the nearest heading above that says what a line is about; 0 when none does."""
    path = outline.headings_at(at)
    for mark in reversed([m for m in outline.marks if m.line < at and m.line > 1]):
        if mark.text in path and len(without_link_targets(mark.text)) >= LEAST_TOPIC_CHARACTERS:
            return mark.line
    return 0


def _is_noise(outline: Outline, at: int, raw: str) -> bool:
    if not _LETTER.search(raw) or _TABLE_RULE.match(raw) or NOISE_LINE.match(bare_line(raw)):
        return True
    if _FENCE.match(raw):  # inside HTML, where it opens nothing
        return True
    return any(NOISE_HEADING.match(heading) for heading in outline.headings_at(at)[-2:])


def _score(raw: str, day: str, today: str) -> float:
    """How likely a line of that day matters today: commitments, settlements, dates ahead."""
    text = without_link_targets(raw)
    score = 0.0
    said = plainly(text)
    if COMMITMENT_WORDS.stand_in(said) or COMMITMENT.search(text):
        score += 3
    if SETTLEMENT.stand_in(said):
        score += 3
    score += _worth_of_dates(text, day, today, ahead=AHEAD.stand_in(said))
    if STATE.stand_in(said):
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


def _worth_of_dates(text: str, day: str, today: str, *, ahead: bool) -> float:
    """What looks ahead counts, most of all to a day still to come; a plan whose day is over does not."""
    dates = [date.value for date in find_dates(text, year=int(day[:4])) if date.value]
    if any(value >= today for value in dates):
        return 3.0 + 2 * ahead
    if dates:
        return EXPIRED if ahead else 1.0
    return 2.0 * ahead


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


def _quoted(unit: ToldUnit, runs: Sequence[tuple[int, int]], quote: int) -> str:
    """Runs of one note as a single quote block that names every range; a lone line with its mark."""
    lines, offset, path = unit.outline.lines, unit.unit.first_line, unit.unit.note.path
    if len(runs) == 1 and runs[0][0] == runs[0][1]:
        line = runs[0][0]
        return f"{marked_line(lines[line - offset].strip(), f'{path}:{line}')}\n"
    text = "\n".join(
        line for first, last in runs for line in lines[first - offset : last - offset + 1]
    )
    numbers = [number for first, last in runs for number in range(first, last + 1)]
    return f"{quoted_block(text, quote, f'{path}:{line_ranges(numbers)}')}\n"


def line_ranges(numbers: Sequence[int]) -> str:
    """Ascending line numbers as `12-31,40`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)
