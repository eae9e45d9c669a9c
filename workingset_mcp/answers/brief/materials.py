"""What a brief is made from: a branch as the index knows it, and what was picked out of it. Values."""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import NamedTuple

from workingset_mcp.answers.answer import Source
from workingset_mcp.index.rows import ItemRow, NoteRow, StatusRow
from workingset_mcp.notes.lines import Item
from workingset_mcp.notes.outline import Outline
from workingset_mcp.vault.folder import LeftOut

Lines = Callable[[NoteRow, int, int], list[str]]
StandingRow = tuple[int, int, str, str]  # of an undated note: its id, line, kind, text


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch as the index knows it, its notes by path.

    `lines` reads lines of a note, both ends included.
    """

    vault: str
    name: str
    today: date
    notes: Sequence[NoteRow]
    items: Sequence[ItemRow]  # tasks and labelled lines
    standing: Callable[[], Sequence[StandingRow]]
    statuses: Sequence[StatusRow]
    topics: Callable[[Sequence[int]], Mapping[int, Sequence[tuple[str, int]]]]  # headings of notes
    tokens: Mapping[int, int]
    lines: Lines
    digests: Callable[[], bytes]  # of the lines of its notes, one a note
    override: tuple[str, str] | None = None  # path, text
    override_max_bytes: int = 9_000
    left_out: Sequence[LeftOut] = ()


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
    repeats: "Repeats | None" = None
    listed: set[tuple[str, int]] = field(default_factory=set)  # (path, line) of boxes and labels


class Repeats:
    """In how many notes of a branch a line stands."""

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    @cached_property
    def _counts(self) -> Counter[int]:
        digests = array("I")
        digests.frombytes(self._branch.digests())
        return Counter(digests)

    def of(self, digest: int) -> int:
        """Notes that hold a line of this digest."""
        return self._counts[digest]
