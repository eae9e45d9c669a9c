"""Which lines of a newest note say something, and how much each matters today. Pure.

Lines that tell nothing later (attendees, links, copied-forward lines) are left out; a line that was
wrapped is one. Not here: which of them a brief shows (`newest`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workingset_mcp.answers.brief.extract import MOST_REPEATS
from workingset_mcp.answers.brief.materials import (
    BranchReader,
    Materials,
    NewUnit,
    ToldLine,
    repeats_of,
)
from workingset_mcp.notes.dates import find_dates
from workingset_mcp.notes.lines import bare_line, without_link_targets
from workingset_mcp.notes.note import line_digests
from workingset_mcp.notes.outline import Heading, LineKind, Outline
from workingset_mcp.notes.words import (
    AHEAD,
    COMMITMENT,
    COMMITMENT_WORDS,
    NEXT_TIME,
    NOISE_HEADING,
    NOISE_LINE,
    SETTLEMENT,
    STATE,
    TELLING,
    plainly,
)

LEAST_TOPIC_CHARACTERS = 12  # shorter headings (Discussion, Notes) name no topic
WRAPPED = 60  # characters; a shorter line was ended by a person
REPEAT_PENALTY = 2.0
EXPIRED = -2.0
ONLY_LINK = re.compile(r"^\W*(?:https?://\S+|!?\[[^\]]{0,300}\]\([^)]{0,1000}\))\W*$")
_ENDS = ".!?:;。！？：；\\|>"
_LETTER = re.compile(r"\w{2}")
_TABLE_RULE = re.compile(r"^\|?[\s:|-]+\|?$")
_FENCE = re.compile(r"^[\s>]*(?:```|~~~)")
_TOP_LEVEL = re.compile(r"^\s?\S")
_SAYING = (int(LineKind.TEXT), int(LineKind.TABLE))
_HEADING = int(LineKind.HEADING)


class _Above(NamedTuple):
    """What the headings above a line make of it."""

    noise: bool = False
    topic: int = 0  # the line of the one that says what it is about; 0 when none does


class _Said(NamedTuple):
    """A line that says something, by its number in its unit."""

    at: int
    raw: str
    heading: int  # the line of the last heading above it; 0 when there is none
    topic: int


def telling_lines(
    materials: Materials, reader: BranchReader, unit: NewUnit, outline: Outline
) -> list[ToldLine]:
    """The lines of a unit that say something, with their scores."""
    repeats = repeats_of(materials, reader)
    said = list(_said_lines(materials, unit, outline))
    digests = line_digests([one.raw for one in said]) if said else []
    found: list[ToldLine] = []
    for (at, raw, heading, topic), digest in zip(said, digests, strict=True):
        times = repeats[digest]
        if times > MOST_REPEATS + 1:
            continue
        number = unit.first_line + at - 1
        before = found[-1] if found else None
        if (
            before
            and before.last == number - 1
            and at not in outline.item_depth
            and _goes_on(outline.lines[at - 2], raw)
        ):
            before.last, before.text = number, f"{before.text} {raw.strip()}"
            continue
        opens = before is None or unit.first_line + heading - 1 > before.number
        found.append(
            ToldLine(
                number, raw, opens - REPEAT_PENALTY * (times - 1),
                topic and topic + unit.first_line - 1, number,
            )
        )  # fmt: skip
    today, older = materials.branch.today.isoformat(), unit.date < materials.units[0].date
    for line in found:
        line.score += _score(line.text, unit.date, today, older=older)
    return found


def _said_lines(materials: Materials, unit: NewUnit, outline: Outline) -> Iterator[_Said]:
    """Lines that are not noise and stand nowhere else in the brief."""
    shown, before = _shown_elsewhere(materials, unit), unit.first_line - 1
    marks = iter([*outline.marks, Heading(len(outline.lines) + 1, 0, 0, "")])
    mark, passed = next(marks), 0  # the next heading, and how many are passed
    heading, above, asked = 0, _Above(), True
    for at, (raw, kind) in enumerate(zip(outline.lines, outline.kinds, strict=True), start=1):
        is_mark = False
        while mark.line <= at:
            passed, is_mark, mark = passed + 1, mark.line == at, next(marks)
        if is_mark or kind == _HEADING:
            heading, asked = at, False
        elif raw and kind in _SAYING:
            if not asked:
                above, asked = _above(outline.marks[:passed], outline.headings_at(at)), True
            if not above.noise and at + before not in shown and not _is_noise(raw):
                yield _Said(at, raw, heading, above.topic)


def _shown_elsewhere(materials: Materials, unit: NewUnit) -> set[int]:
    """Lines of its note that the lists of the brief and its status block show."""
    shown = {line for path, line in materials.listed if path == unit.note.path}
    row = materials.status
    if row and row.note.id == unit.note.id:
        shown.update(range(row.status.line, row.status.last_line + 1))
    return shown


def _goes_on(before: str, line: str) -> bool:
    """Whether a line of text goes on where the one before it was wrapped."""
    if line.lstrip()[:1].islower():
        return True
    ended = before.rstrip()
    return len(ended) > WRAPPED and ended[-1] not in _ENDS


def _above(passed: Sequence[Heading], path: Sequence[str]) -> _Above:
    """What the headings of a path, among those passed, make of the lines below them."""
    noise = any(NOISE_HEADING.match(text) for text in path[-2:])
    for mark in reversed(passed):
        if mark.text in path and len(without_link_targets(mark.text)) >= LEAST_TOPIC_CHARACTERS:
            return _Above(noise, mark.line if mark.line > 1 else 0)
    return _Above(noise)


def _is_noise(raw: str) -> bool:
    if not _LETTER.search(raw) or _TABLE_RULE.match(raw) or NOISE_LINE.match(bare_line(raw)):
        return True
    return bool(_FENCE.match(raw))  # inside HTML, where it opens nothing


def _score(raw: str, day: str, today: str, *, older: bool) -> float:
    """How likely a line of that day matters today: commitments, settlements, dates ahead."""
    text = without_link_targets(raw)
    score = 0.0
    said = TELLING.that_stand_in(plainly(text))
    if COMMITMENT_WORDS in said or COMMITMENT.search(f" {text}"):
        score += 3
    if SETTLEMENT in said:
        score += 3
    score += _worth_of_dates(text, day, today, ahead=AHEAD in said)
    if STATE in said:
        score += 1
    if _TOP_LEVEL.match(raw):
        score += 1
    if len(text) < 25 or len(text) > 500:
        score -= 1
    if text.rstrip().endswith("?"):
        score -= 1
    if ONLY_LINK.match(raw):
        score -= 2
    if older and (NEXT_TIME in said if text is raw else NEXT_TIME.stand_in(plainly(raw))):
        score += EXPIRED - 2  # what was planned for the next meeting: that one has been
    return score


def _worth_of_dates(text: str, day: str, today: str, *, ahead: bool) -> float:
    """What looks ahead counts, most of all to a day still to come; a plan whose day is over does not."""
    dates = [date.value for date in find_dates(text, year=int(day[:4])) if date.value]
    if not dates:
        return 2.0 * ahead
    if any(value >= today for value in dates):
        return 3.0 + 2 * ahead
    return EXPIRED if ahead else 1.0
