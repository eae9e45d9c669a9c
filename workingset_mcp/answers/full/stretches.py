"""Extract the stretches of indexed notes that a window of dates or a query asks for.

A note with several dated sections (a diary, a year of minutes) is split at their lines; the text before or
between them has the note's own date, or none. Not here: a past day (`record`).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from workingset_mcp.answers.answer import Call
from workingset_mcp.answers.budget import count_tokens, estimate_tokens
from workingset_mcp.answers.full.matching import sections_with
from workingset_mcp.answers.full.pages import UNDATED, Extract
from workingset_mcp.caller import stop_if_gone
from workingset_mcp.index import Scope, View
from workingset_mcp.index.query import WHOLE_VAULT
from workingset_mcp.index.rows import NoteRow
from workingset_mcp.notes.markdown import line_ends_kept
from workingset_mcp.notes.note import DatedStretch

MOST_COUNTED_CHARACTERS = 2_000_000  # beyond this, tokens are estimated and the answer says so
_OWN_DATE = ("front matter", "name", "folder", "year")


class Dated(Protocol):
    """The fields that an indexed note and a parsed note share."""

    @property
    def date(self) -> str: ...
    @property
    def date_source(self) -> str: ...
    @property
    def line_count(self) -> int: ...
    @property
    def units(self) -> tuple[DatedStretch, ...]: ...


@dataclass(frozen=True, slots=True)
class FullRequest:
    """A request for full context: a scope, a query, and a past day (`as_of`, an ISO date of any precision)."""

    scope: Scope = WHOLE_VAULT
    query: str = ""
    as_of: str = ""

    def call(self) -> Call:
        """Return the tool call for this request."""
        scope = self.scope
        named = {
            "branch": scope.branch or "", "query": self.query,
            "since": UNDATED if scope.undated else scope.since, "until": scope.until,
            "as_of": self.as_of,
        }  # fmt: skip
        return Call("query_full_context", {name: value for name, value in named.items() if value})


class Meter:
    """A token counter: exact up to a limit of characters, then estimating."""

    def __init__(self) -> None:
        self._characters = 0

    @property
    def exact(self) -> bool:
        """Whether every count so far was exact."""
        return self._characters <= MOST_COUNTED_CHARACTERS

    def tokens(self, text: str) -> int:
        """Count or estimate the tokens of a text. Stops if the caller is gone."""
        stop_if_gone()
        self._characters += len(text)
        return count_tokens(text) if self.exact else estimate_tokens(text)


def stretches_of(note: Dated) -> list[DatedStretch]:
    """Split all lines of a note into dated stretches."""
    if len(note.units) < 2:
        return [DatedStretch(note.date, 1, note.line_count)]
    own = note.date if note.date_source in _OWN_DATE else ""
    found: list[DatedStretch] = []
    at = 1
    for unit in sorted(note.units, key=lambda unit: unit.first_line):
        if unit.first_line > at:
            found.append(DatedStretch(own, at, unit.first_line - 1))
        found.append(unit)
        at = unit.last_line + 1
    if at <= note.line_count:
        found.append(DatedStretch(own, at, note.line_count))
    return found


def date_at(note: Dated, line: int, fallback: str = "") -> str:
    """Return the date of the stretch that contains a line, else `fallback`, else the note's date."""
    if len(note.units) > 1:
        for unit in note.units:
            if unit.first_line <= line <= unit.last_line:
                return unit.date
    return fallback or note.date


def extract_of(path: str, date: str, first: int, text: str, meter: Meter) -> Extract:
    """Make an extract that keeps its text in memory."""
    return Extract(path, date, first, meter.tokens(text), digest_of(text), partial(str, text))


def digest_of(text: str) -> str:
    """Return a digest of a text."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def note_extract(view: View, note: NoteRow, tokens: int) -> Extract:
    """Make an extract of a whole note, which is read when it is shown."""
    text = partial(view.text, note.id)
    return Extract(note.path, note.date, 1, tokens, note.digest.hex(), text)


def line_extracts(
    view: View, note: NoteRow, units: Sequence[DatedStretch], meter: Meter
) -> list[Extract]:
    """Make extracts of stretches of a note, which are read again when they are shown."""
    if not units:
        return []
    lines = line_ends_kept(view.text(note.id))
    found = []
    for unit in units:
        text = "".join(lines[unit.first_line - 1 : unit.last_line])
        read = partial(_lines, view, note.id, unit.first_line, unit.last_line)
        tokens = meter.tokens(text)
        found.append(Extract(note.path, unit.date, unit.first_line, tokens, digest_of(text), read))
    return found


def dated_parts(
    view: View, request: FullRequest, note: NoteRow, tokens: int, meter: Meter
) -> list[Extract]:
    """Extract the whole note, or its dated stretches in the window."""
    if len(note.units) < 2:
        return (
            [note_extract(view, note, tokens)] if request.scope.holds_first_day(note.date) else []
        )
    units = [unit for unit in stretches_of(note) if request.scope.holds_first_day(unit.date)]
    return line_extracts(view, note, units, meter)


def sections_of_query(
    view: View, request: FullRequest, notes: Sequence[NoteRow], meter: Meter
) -> list[tuple[Extract, int]]:
    """Extract every section in the window that contains all words of the query, each with its last line."""
    by_id = {note.id: note for note in notes}
    found = []
    for note_id, ordinal in sections_with(view, request.scope.branch, request.query):
        note = by_id.get(note_id)
        if note is None:
            continue
        rows = view.whole_section(note_id, ordinal)
        date = date_at(note, rows[0].first_line, rows[0].date)
        if request.scope.holds_first_day(date):
            text = "".join(row.text for row in rows)
            extract = extract_of(note.path, date, rows[0].first_line, text, meter)
            read = partial(_section, view, note_id, ordinal)
            found.append((replace(extract, text=read), rows[-1].last_line))
    return found


def in_order(extracts: Sequence[Extract]) -> tuple[Extract, ...]:
    """Sort extracts by date, path and line."""
    return tuple(sorted(extracts, key=lambda e: (e.date, e.path, e.first_line)))


def _lines(view: View, note_id: int, first: int, last: int) -> str:
    rows = view.sections(note_id, first, last)
    if not rows:
        return ""
    skipped = first - rows[0].first_line
    lines = line_ends_kept("".join(row.text for row in rows))
    return "".join(lines[skipped : skipped + last - first + 1])


def _section(view: View, note_id: int, ordinal: int) -> str:
    return "".join(row.text for row in view.whole_section(note_id, ordinal))
