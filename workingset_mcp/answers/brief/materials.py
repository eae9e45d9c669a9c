"""What a brief is made from: a branch as the index knows it, and what was picked out of it.

These are values. What only some briefs look at is read when they do, through a `BranchReader`: it holds
an open view of the index and is never kept.
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
    """A branch as the index knows it, its notes by path."""

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
    """Reads more of a branch while a view is open, and ends with it."""

    view: View
    name: str

    def lines(self, note: NoteRow, first: int, last: int) -> list[str]:
        """Lines of a note, both ends included, without their ends."""
        sections = self.view.sections(note.id, first, last)
        if not sections:
            return []
        start = sections[0].first_line
        lines = split_lines("".join(section.text for section in sections))
        return lines[first - start : last - start + 1]

    def standing_lines(self) -> list[tuple[int, int, str, str]]:
        """(note id, line, kind, text) of what undated notes say that always holds."""
        return self.view.standing_lines(self.name)

    def topics(self, note_ids: Sequence[int]) -> Mapping[int, Sequence[tuple[str, int]]]:
        """Second-level headings of notes, with their lines."""
        return self.view.headings(note_ids, 2)

    def line_digests(self) -> "array[int]":
        """Digests of the lines of all notes, those of one note once."""
        digests = array("I")
        digests.frombytes(self.view.line_digests(self.name))
        return digests


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An open box, once, with everywhere it stands and where it is marked done."""

    item: Item
    sources: tuple[Source, ...]
    done_in: tuple[Source, ...]


class Sourced(NamedTuple):
    """A line of a note with its sources."""

    text: str
    sources: tuple[Source, ...]


class StandingLine(NamedTuple):
    """What an undated note says that always holds."""

    path: str
    line: int
    text: str


class NewUnit(NamedTuple):
    """A dated stretch of a note, newest first."""

    note: NoteRow
    date: str
    first_line: int
    last_line: int


@dataclass(slots=True)
class ToldLine:
    """A line of a newest note that says something, with the lines it is wrapped onto."""

    number: int
    text: str
    score: float
    topic: int  # the line of the heading that says what it is about; 0 when none does
    last: int
    tokens: int = 0  # counted when it is first considered


@dataclass(frozen=True, slots=True)
class ToldUnit:
    """A newest note as it is printed, with its telling lines."""

    unit: NewUnit
    head: str
    head_tokens: int
    lines: list[ToldLine]
    outline: Outline

    def text_of(self, line: int) -> str:
        """A line of the note by its number."""
        return self.outline.lines[line - self.unit.first_line]


@dataclass(slots=True)
class Materials:
    """Everything a brief may show, in order, with what is left out counted."""

    branch: Branch
    as_of: str
    fingerprint: str
    source_notes: int = 0  # of the branch, its override left aside
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
    told: list[ToldUnit] = field(default_factory=list)  # of the newest, once a brief looked at them
    standing: dict[str, list[StandingLine]] = field(default_factory=dict)  # by kind, likewise
    override: tuple[str, str] | None = None
    status_lines: tuple[str, ...] = ()  # of the status block, where they are wanted apart
    warnings: list[str] = field(default_factory=list)
    repeats: Counter[int] = field(default_factory=Counter)  # line digest -> notes, once looked at
    most_name: int = 1 << 30  # tokens of a name that a call repeats, set when there is a room
    listed: set[tuple[str, int]] = field(default_factory=set)  # (path, line) of boxes and labels


def repeats_of(materials: Materials, reader: BranchReader) -> Counter[int]:
    """In how many notes of the branch a line stands, by its digest."""
    if not materials.repeats:
        materials.repeats.update(reader.line_digests())
    return materials.repeats
