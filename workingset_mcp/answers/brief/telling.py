"""Find the telling lines of a newest note, and score how much each matters today. Pure.

Lines that nobody needs later (attendees, links, copied-forward lines) are left out; a wrapped line counts as
one. Not here: which of them a brief shows (`newest`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workingset_mcp.answers.brief.extract import MOST_REPEATS
from workingset_mcp.answers.brief.materials import (
    BranchReader,
    Materials,
    NewUnit,
    TellingLine,
    repeats_of,
)
from workingset_mcp.answers.brief.structure import goes_on
from workingset_mcp.answers.brief.worth import worth_in_kind
from workingset_mcp.notes.dates import find_dates
from workingset_mcp.notes.kinds import AGENDA
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
REPEAT_PENALTY = 2.0
EXPIRED = -2.0
ONLY_LINK = re.compile(r"^\W*(?:https?://\S+|!?\[[^\]]{0,300}\]\([^)]{0,1000}\))\W*$")
_LETTER = re.compile(r"\w{2}")
_TABLE_RULE = re.compile(r"^\|?[\s:|-]+\|?$")
_FENCE = re.compile(r"^[\s>]*(?:```|~~~)")
_TOP_LEVEL = re.compile(r"^\s?\S")
_SAYING = (int(LineKind.TEXT), int(LineKind.TABLE))
_HEADING = int(LineKind.HEADING)


class _Above(NamedTuple):
    """What the headings above a line say about it."""

    noise: bool = False
    topic: int = 0  # the line of the heading that names its topic; 0 if none does


class _Candidate(NamedTuple):
    """A line that may be shown, by its number in its unit."""

    at: int
    raw: str
    heading: int  # the line of the last heading above it; 0 if there is none
    topic: int


def telling_lines(
    materials: Materials, reader: BranchReader, unit: NewUnit, outline: Outline
) -> list[TellingLine]:
    """Return the telling lines of a unit, with their scores."""
    repeats = repeats_of(materials, reader)
    candidates = list(_candidates(materials, unit, outline))
    digests = line_digests([one.raw for one in candidates]) if candidates else []
    found: list[TellingLine] = []
    for (at, raw, heading, topic), digest in zip(candidates, digests, strict=True):
        times = repeats[digest]
        if (
            times > MOST_REPEATS + 1 and unit.note.genre != AGENDA
        ):  # what is still open stands in each
            continue
        number = unit.first_line + at - 1
        before = found[-1] if found else None
        if (
            before
            and before.last == number - 1
            and at not in outline.item_depth
            and goes_on(outline.lines[at - 2], raw)
        ):
            before.last, before.text = number, f"{before.text} {raw.strip()}"
            continue
        opens = before is None or unit.first_line + heading - 1 > before.number
        found.append(
            TellingLine(
                number, raw, opens - REPEAT_PENALTY * (times - 1),
                topic and topic + unit.first_line - 1, number,
            )
        )  # fmt: skip
    today, older = (
        materials.branch.today.isoformat(),
        unit.date < max(one.date for one in materials.units),
    )
    for line in found:
        line.score += _score(line.text, unit.date, today, older=older)
        path = outline.headings_at(line.number - unit.first_line + 1)
        line.score += worth_in_kind(unit.note.genre, path, line.text)
    return found


def _candidates(materials: Materials, unit: NewUnit, outline: Outline) -> Iterator[_Candidate]:
    """Yield the lines that are not noise and that the brief does not show elsewhere."""
    shown, before = _shown_elsewhere(materials, unit), unit.first_line - 1
    marks = iter([*outline.marks, Heading(len(outline.lines) + 1, 0, 0, "")])
    mark, passed = next(marks), 0  # the next heading, and the number of headings before it
    heading, above, is_known = 0, _Above(), True
    for at, (raw, kind) in enumerate(zip(outline.lines, outline.kinds, strict=True), start=1):
        is_mark = False
        while mark.line <= at:
            passed, is_mark, mark = passed + 1, mark.line == at, next(marks)
        if is_mark or kind == _HEADING:
            heading, is_known = at, False
        elif raw and kind in _SAYING:
            if not is_known:
                above, is_known = _above(outline.marks[:passed], outline.headings_at(at)), True
            if not above.noise and at + before not in shown and not _is_noise(raw):
                yield _Candidate(at, raw, heading, above.topic)


def _shown_elsewhere(materials: Materials, unit: NewUnit) -> set[int]:
    """Return the lines of the note that the lists or the status block of the brief show."""
    shown = {line for path, line in materials.listed if path == unit.note.path}
    row = materials.status
    if row and row.note.id == unit.note.id:
        shown.update(range(row.status.line, row.status.last_line + 1))
    return shown


def _above(passed: Sequence[Heading], path: Sequence[str]) -> _Above:
    """Read the headings of a path, of those passed so far: whether they mark noise, which names the topic."""
    noise = any(NOISE_HEADING.match(text) for text in path[-2:])
    for mark in reversed(passed):
        if mark.text in path and len(without_link_targets(mark.text)) >= LEAST_TOPIC_CHARACTERS:
            return _Above(noise, mark.line if mark.line > 1 else 0)
    return _Above(noise)


def _is_noise(raw: str) -> bool:
    if not _LETTER.search(raw) or _TABLE_RULE.match(raw) or NOISE_LINE.match(bare_line(raw)):
        return True
    return bool(_FENCE.match(raw))  # inside HTML, where a fence opens no code block


def _score(raw: str, day: str, today: str, *, older: bool) -> float:
    """Score how likely a line of that day matters today: commitments, settlements, dates ahead."""
    text = without_link_targets(raw)
    score = 0.0
    kinds = TELLING.that_stand_in(plainly(text))
    if COMMITMENT_WORDS in kinds or COMMITMENT.search(f" {text}"):
        score += 3
    if SETTLEMENT in kinds:
        score += 3
    score += _worth_of_dates(text, day, today, ahead=AHEAD in kinds)
    if STATE in kinds:
        score += 1
    if _TOP_LEVEL.match(raw):
        score += 1
    if len(text) < 25 or len(text) > 500:
        score -= 1
    if text.rstrip().endswith("?"):
        score -= 1
    if ONLY_LINK.match(raw):
        score -= 2
    if older and (NEXT_TIME in kinds if text is raw else NEXT_TIME.stand_in(plainly(raw))):
        score += EXPIRED - 2  # a plan for the next meeting, which has taken place
    return score


def _worth_of_dates(text: str, day: str, today: str, *, ahead: bool) -> float:
    """Score the dates of a line: plans count, most of all for a day still ahead; expired plans count less."""
    year = int(day[:4]) if day else None
    dates = [date.value for date in find_dates(text, year=year) if date.value]
    if not dates:
        return 2.0 * ahead
    if any(value >= today for value in dates):
        return 3.0 + 2 * ahead
    return EXPIRED if ahead else 1.0
