"""Open a note: the requested lines or section, as much as fits, and the call for the rest. Pure.

The parts, joined, are the file. A line longer than the budget comes in pieces, addressed as
`line@character`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workingset_mcp.answers.answer import Call, Source, fenced
from workingset_mcp.answers.budget import cut_to_tokens, take_lines
from workingset_mcp.errors import ArgumentError, NoteNotFound
from workingset_mcp.escaping import quote, show_name
from workingset_mcp.notes.lines import folded, without_link_targets
from workingset_mcp.notes.markdown import outline_of

_LINES = re.compile(r"^\s*(\d{1,9})(?:@(\d{1,12}))?\s*+(?:[-–:]\s*+(\d{1,9})?\s*+)?$")
_RANGES = re.compile(r"^\s*\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)+\s*$")
_FENCE_TOKENS = 12


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a note to show, counted from 1, and the character of the first to start at, from 0."""

    first_line: int
    last_line: int
    character: int = 0


@dataclass(frozen=True, slots=True)
class NotePart:
    """A part of a note: as printed (`body`, `lines`) and verbatim (`text`).

    `next_lines` names the lines that follow; it is empty at the end.
    """

    body: str
    lines: str
    next_lines: str
    source: Source
    text: str

    @property
    def next_call(self) -> Call | None:
        """The call for the lines that follow."""
        if not self.next_lines:
            return None
        return Call("open_source_file", {"path": self.source.path, "lines": self.next_lines})


def span_of(lines: str | None, line_count: int) -> Span:
    """Parse `12-40`, `12`, `12-` or `12@3000` into a span. Raises ArgumentError."""
    if lines is None:
        return Span(1, line_count)
    if _RANGES.match(lines):  # the ranges of a quote in a brief: show first to last
        numbers = [int(number) for number in re.findall(r"\d+", lines)]
        lines = f"{min(numbers)}-{max(numbers)}"
    matched = _LINES.match(lines)
    if not matched:
        raise ArgumentError(f"lines={lines[:40]!r} names no lines.", 'Write them as "12-40".')
    first = int(matched[1])
    character = int(matched[2]) if matched[2] else 0
    single = not character and "-" not in lines and "–" not in lines and ":" not in lines
    last = int(matched[3]) if matched[3] else first if single else line_count
    if first < 1 or last < first or first > max(line_count, 1):
        raise ArgumentError(
            f"lines={lines!r} is outside the note.", f"It has lines 1-{line_count}."
        )
    return Span(first, min(last, line_count), character)


def section_span(text: str, heading: str, path: str) -> Span:
    """Return the section under a heading, found by its text. Raises NoteNotFound with the outline."""
    outline = outline_of(text)
    needle = folded(heading.lstrip("# ").split("›")[-1])
    marks = outline.marks
    found = next((at for at, m in enumerate(marks) if folded(m.text) == needle), None)
    if found is None:
        found = next(
            (at for at, m in enumerate(marks) if needle and needle in folded(m.text)), None
        )
    if found is None:
        listed = "; ".join(
            f"{m.line}: {quote(without_link_targets(m.text), 60)}" for m in outline.headings[:40]
        )
        raise NoteNotFound(
            f"{show_name(path)} has no heading {heading[:60]!r}.",
            f"Its headings: {listed}." if listed else "It has no headings; open it by lines.",
        )
    mark = marks[found]
    return Span(mark.line, outline.section_end(mark))


def show(path: str, lines: Sequence[str], span: Span, room_tokens: int) -> NotePart:
    """Show the first whole lines of a span that fit into `room_tokens`, in a fence."""
    if not lines:
        return NotePart("(the note is empty)\n", "0", "", Source(path), "")
    selected = list(lines[span.first_line - 1 : span.last_line])
    if span.character and selected:
        selected[0] = selected[0][span.character :]
    room = max(room_tokens - _FENCE_TOKENS, 1)
    count = take_lines(selected, room)
    if count == 0:
        return _piece(path, selected[0], span, len(lines), room)
    last = span.first_line + count - 1
    text = "".join(selected[:count])
    rest = f"{last + 1}-{span.last_line}" if last < span.last_line else ""
    first = f"{span.first_line}@{span.character}" if span.character else str(span.first_line)
    named = f"{first}-{last} of {len(lines)}"
    return NotePart(_block(text), named, rest, Source(path, span.first_line, last), text)


def _piece(path: str, line: str, span: Span, line_count: int, room: int) -> NotePart:
    """Show the beginning of a line that is longer than the room."""
    characters = max(1, cut_to_tokens(line, room))
    start, end = span.character, span.character + characters
    rest = f"{span.first_line}@{end}-{span.last_line}"
    if characters >= len(line):
        rest = f"{span.first_line + 1}-{span.last_line}" if span.first_line < span.last_line else ""
    lines = f"{span.first_line}@{start} of {line_count} (characters {start}-{end} of the line)"
    text = line[:characters]
    return NotePart(_block(text), lines, rest, Source(path, span.first_line, span.first_line), text)


def _block(text: str) -> str:
    added = "" if text.endswith(("\n", "\r")) else "(no line end behind the last line)\n"
    return f"{fenced(text)}\n{added}"
