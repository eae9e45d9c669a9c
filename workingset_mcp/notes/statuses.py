"""Status blocks, and the dates that headings give. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from workingset_mcp.notes.dates import FoundDate, Order, find_dates, may_hold_date
from workingset_mcp.notes.lines import without_link_targets
from workingset_mcp.notes.outline import Heading, Outline
from workingset_mcp.notes.patterns import patterns_for
from workingset_mcp.settings import Settings

_UPDATE = re.compile(
    r"(?:update|report|as of|per|vom|au|del)\b(?!\s+(?:template|format|guide))", re.IGNORECASE
)
_WEEKDAY = re.compile(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\b[,.]?[ \t]+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class StatusBlock:
    """A status heading with everything below it up to the next heading of its level."""

    line: int
    last_line: int
    heading: str
    date: str
    time: str
    ambiguous: bool


def statuses_of(
    outline: Outline, settings: Settings, *, year: int | None = None
) -> list[StatusBlock]:
    """Every status block of a note, from top to bottom."""
    pattern = patterns_for(settings).status
    found = []
    for heading in outline.headings:
        matched = pattern.match(without_link_targets(heading.text))
        if not matched or not _is_status(matched["rest"]):
            continue
        last = outline.section_end(heading, among=outline.headings)
        while last > heading.last_line and not outline.lines[last - 1].strip():
            last -= 1
        dates = find_dates(heading.text, year=year, order=settings.date_order)
        first = best_date(dates)
        found.append(
            StatusBlock(
                heading.line, last, heading.text,
                first.value if first else "", first.time if first else "",
                first is None and any(date.ambiguous for date in dates),
            )
        )  # fmt: skip
    return found


class DatedHeadings:
    """The dates that headings give to the lines below them."""

    def __init__(self, outline: Outline, settings: Settings, *, year: int | None = None) -> None:
        self.headings: list[tuple[Heading, str]] = []
        marks = outline.marks
        if not may_hold_date("\n".join([mark.text for mark in marks]), year):
            marks = []
        for mark in marks:
            value = date_of_heading(mark.text, year, settings.date_order)
            if value:
                self.headings.append((mark, value))
        self._dates = {mark.line: value for mark, value in self.headings}
        self._outline = outline

    def at(self, line: int) -> str:
        """ISO date of the nearest dated heading that a line stands under; empty when none."""
        if not self._dates:
            return ""
        for mark in reversed(self._outline.marks_above(line)):
            if mark.line in self._dates:
                return self._dates[mark.line]
        return ""


def best_date(dates: Iterable[FoundDate]) -> FoundDate | None:
    """The first full date, else the first month."""
    known = [date for date in dates if date.value]
    return next((date for date in known if len(date.value) == 10), known[0] if known else None)


@lru_cache(maxsize=4096)
def date_of_heading(text: str, year: int | None = None, order: Order | None = None) -> str:
    """The date a heading names, ISO, as much as is known; empty when none. Notes share headings."""
    dates = find_dates(text, year=year, order=order)
    found = best_date(dates) if dates else None
    return found.value if found else ""


def _is_status(rest: str) -> bool:
    """Whether what follows the status word leaves it a status: nothing, marks, a date, `update`."""
    follows = rest.lstrip(" \t_*")
    if not follows or not follows[0].isalnum() or _UPDATE.match(follows):
        return True
    weekday = _WEEKDAY.match(follows)
    dates = find_dates(follows[weekday.end() :] if weekday else follows)
    return bool(dates) and dates[0].start == 0
