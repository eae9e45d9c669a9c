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
from workingset_mcp.answers.brief.structure import Structure, introduces
from workingset_mcp.answers.budget import count_tokens, least_tokens
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


QUOTE_TOKENS = 16  # of the two marks of a quote, without its path
RUN_TOKENS = 7  # of one more run: its lines in the mark, its number, the gap before it


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
class ReadUnit:
    """A stretch of a note, read: its printed heading, its telling lines, what its lines belong to."""

    unit: NewUnit
    head: str
    head_tokens: int
    lines: list[TellingLine]
    outline: Outline
    structure: Structure
    _tokens: dict[int, int] = field(default_factory=dict)

    def bound(self, line: TellingLine) -> set[int]:
        """Return a line with what gives it meaning, by numbers of the note."""
        return self.bound_lines(line.number, line.last)

    def bound_lines(self, first: int, last: int) -> set[int]:
        """Return lines with what gives them meaning, by numbers of the note."""
        offset = self.unit.first_line - 1
        bound = self.structure.with_meaning(first - offset, last - offset)
        return {at + offset for at in bound}

    def cost_of(self, added: set[int], picked: set[int], most: int) -> int:
        """Return the tokens that lines add to those picked; a lower bound if that is over `most`."""
        beside = added | picked
        cost = RUN_TOKENS * sum(one - 1 not in beside for one in added)
        least = cost + sum(map(self.least_tokens, added))
        return least if least > most else cost + sum(map(self.tokens_of, added))

    def only_introduces(self, lines: frozenset[int]) -> bool:
        """Return whether the last of these lines introduces what is not among them."""
        return introduces(self.outline.lines[max(lines) - self.unit.first_line])

    def length_of(self, line: int) -> int:
        """Return the characters of a line of the note."""
        return len(self.outline.lines[line - self.unit.first_line])

    def least_tokens(self, line: int) -> int:
        """Return a lower bound of a line's tokens."""
        return least_tokens(self.outline.lines[line - self.unit.first_line])

    def tokens_of(self, line: int) -> int:
        """Return the tokens of a line of the note, with its line end."""
        if line not in self._tokens:
            self._tokens[line] = count_tokens(self.outline.lines[line - self.unit.first_line]) + 1
        return self._tokens[line]


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
    unread: list[Source] = field(default_factory=list)  # look like boxes, and are not read as such
    copied_forward: int = 0
    recent: list[NoteRow] = field(default_factory=list)
    units: list[NewUnit] = field(default_factory=list)
    newest: list[ReadUnit] = field(default_factory=list)  # read on demand
    whole: dict[str, ReadUnit] = field(default_factory=dict)  # whole notes by path, read on demand
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
