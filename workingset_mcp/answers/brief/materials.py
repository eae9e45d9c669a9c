"""The values that a brief is made from: a branch as the index knows it, and what was picked from it.

What only some briefs need is read on demand through a `BranchReader`, which holds an open view of the index
and must not outlive it.
"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from workingset_mcp.answers.answer import Source
from workingset_mcp.index import View
from workingset_mcp.index.rows import ItemRow, NoteRow, StatusRow
from workingset_mcp.notes.lines import Item
from workingset_mcp.notes.markdown import split_lines
from workingset_mcp.notes.outline import Outline
from workingset_mcp.vault.folder import LeftOut


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch as the index knows it, with its notes sorted by path."""

    vault: str
    name: str
    today: date
    notes: Sequence[NoteRow]
    items: Sequence[ItemRow]  # tasks and labelled lines
    statuses: Sequence[StatusRow]
    tokens: Mapping[int, int]
    override: tuple[str, str] | None = None  # path, text
    override_max_bytes: int = 9_000
    left_out: Sequence[LeftOut] = ()


@dataclass(frozen=True, slots=True)
class BranchReader:
    """A reader of a branch, valid while its view is open."""

    view: View
    name: str

    def lines(self, note: NoteRow, first: int, last: int) -> list[str]:
        """Return lines `first` to `last` of a note, without line ends."""
        sections = self.view.sections(note.id, first, last)
        if not sections:
            return []
        start = sections[0].first_line
        lines = split_lines("".join(section.text for section in sections))
        return lines[first - start : last - start + 1]

    def standing_lines(self) -> list[tuple[int, int, str, str]]:
        """Return the standing lines of undated notes as (note id, line, kind, text)."""
        return self.view.standing_lines(self.name)

    def topics(self, note_ids: Sequence[int]) -> Mapping[int, Sequence[tuple[str, int]]]:
        """Return the second-level headings of notes with their line numbers, by note id."""
        return self.view.headings(note_ids, 2)

    def line_digests(self) -> "array[int]":
        """Return the line digests of all notes; a line counts once for each note."""
        digests = array("I")
        digests.frombytes(self.view.line_digests(self.name))
        return digests


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An open box, with every place that lists it and every place that marks it done."""

    item: Item
    sources: tuple[Source, ...]
    done_in: tuple[Source, ...]


class Sourced(NamedTuple):
    """A line of a note with its sources."""

    text: str
    sources: tuple[Source, ...]


class StandingLine(NamedTuple):
    """A line of an undated note that always holds."""

    path: str
    line: int
    text: str


class NewUnit(NamedTuple):
    """A dated stretch of a note."""

    note: NoteRow
    date: str
    first_line: int
    last_line: int


@dataclass(slots=True)
class TellingLine:
    """A telling line of a newest note, joined with the lines it wraps onto."""

    number: int
    text: str
    score: float
    topic: int  # the line of the heading that names its topic; 0 if none does
    last: int
    tokens: int = 0  # counted when it is first considered


@dataclass(frozen=True, slots=True)
class NewestUnit:
    """One of the newest units, with its printed heading and its telling lines."""

    unit: NewUnit
    head: str
    head_tokens: int
    lines: list[TellingLine]
    outline: Outline

    def text_of(self, line: int) -> str:
        """Return a line of the note by its number."""
        return self.outline.lines[line - self.unit.first_line]


@dataclass(slots=True)
class Materials:
    """Everything a brief may show, in order, with counts of what is left out."""

    branch: Branch
    as_of: str
    fingerprint: str
    source_notes: int = 0  # notes of the branch without its override
    source_tokens: int = 0
    status: StatusRow | None = None
    open_items: list[OpenItem] = field(default_factory=list)
    open_boxes: int = 0
    stale_boxes: int = 0
    actions: list[Sourced] = field(default_factory=list)
    decisions: list[Sourced] = field(default_factory=list)
    facts: list[Sourced] = field(default_factory=list)
    stale_labels: int = 0
    copied_forward: int = 0
    topics: list[Sourced] = field(default_factory=list)
    recent: list[NoteRow] = field(default_factory=list)
    units: list[NewUnit] = field(default_factory=list)
    newest: list[NewestUnit] = field(default_factory=list)  # read on demand
    standing: dict[str, list[StandingLine]] = field(default_factory=dict)  # by kind, read on demand
    override: tuple[str, str] | None = None
    status_lines: tuple[str, ...] = ()  # lines of the status block, used by hooks
    warnings: list[str] = field(default_factory=list)
    repeats: Counter[int] = field(default_factory=Counter)  # line digest -> notes, read on demand
    most_name: int = 1 << 30  # tokens of a name that a call repeats, set when there is a room
    listed: set[tuple[str, int]] = field(default_factory=set)  # (path, line) of boxes and labels


def repeats_of(materials: Materials, reader: BranchReader) -> Counter[int]:
    """Count the notes of the branch that contain a line, by line digest."""
    if not materials.repeats:
        materials.repeats.update(reader.line_digests())
    return materials.repeats
