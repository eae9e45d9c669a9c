"""What an index can do, whichever engine keeps it: `Engine` writes, `View` reads one moment of it.

One suite (`tests/index/test_engine_contract.py`) runs over every engine. Rows are the values of
`rows`, queries those of `query`. Not here: what differs from the disk (`sync`), SQL (`sqlite/`).
"""

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from workingset_mcp.index.query import WHOLE_VAULT, Expr, Scope
from workingset_mcp.index.rows import (
    BranchRow,
    Hit,
    ItemRow,
    Known,
    ListedRow,
    NoteRow,
    Parsed,
    SectionRow,
    StatusRow,
)

_Value = TypeVar("_Value")


class View(Protocol):
    """The index as it was at one moment. It ends with the `with` block that opened it.

    Generated briefs are in none of its rows, but for `known`, `has_below` and `has_branch`. A `branch`
    of None means the whole vault.
    """

    # -- the state --------------------------------------------------------------------------------

    def generation(self) -> int:
        """Counter that every applied change raises."""
        ...

    def version(self) -> tuple[int, int]:
        """What `Engine.data_version` was when this view began: (epoch, generation)."""
        ...

    def complete(self) -> bool:
        """Whether the whole vault has been indexed once."""
        ...

    def unmerged(self) -> bool:
        """Whether a first build still has to `settle`."""
        ...

    def once(self, asked: Hashable, find: Callable[[], _Value]) -> _Value:
        """A small value that depends on `asked` and this state alone; the next view of it knows it too."""
        ...

    # -- notes and branches -----------------------------------------------------------------------

    def known(self, branch: str | None = None) -> dict[str, Known]:
        """What is known of every file, by path, generated briefs too."""
        ...

    def has_below(self, folder: str) -> bool:
        """Whether any file below a folder is known."""
        ...

    def has_branch(self, name: str) -> bool:
        """Whether any file of a branch is known."""
        ...

    def branches(self) -> list[BranchRow]:
        """Every branch in numbers, by name. Open items are open boxes, those of templates aside."""
        ...

    def branch_names(self) -> list[str]:
        """Names of the branches, in order."""
        ...

    def branch_times(self) -> list[tuple[str, int]]:
        """Branches by name with the newest file time of their notes, in nanoseconds."""
        ...

    def notes(self, branch: str | None = None) -> list[NoteRow]:
        """Notes by path."""
        ...

    def note(self, path: str) -> NoteRow | None:
        """The note at a path; None where there is none."""
        ...

    def notes_by_id(self, ids: Iterable[int]) -> dict[int, NoteRow]:
        """The notes of these ids, without their units and remarks; unknown ids are left out."""
        ...

    def first_notes(self, scope: Scope, limit: int) -> list[tuple[int, str]]:
        """(id, path) of the first notes by path, their own dates being those of the scope."""
        ...

    def paths(self) -> list[str]:
        """Paths of all notes, in order."""
        ...

    def aliases(self) -> list[str]:
        """Every alias of every note."""
        ...

    def remarked(self) -> list[NoteRow]:
        """Notes with a remark, by path."""
        ...

    def note_digests(self, branch: str, also: str) -> list[tuple[str, bytes]]:
        """(path, digest) of every note of a branch and of the note at `also`, by path."""
        ...

    def note_count(self) -> int:
        """How many notes there are."""
        ...

    def uncounted(self, limit: int) -> list[tuple[int, bytes]]:
        """(id, digest) of notes whose tokens are not known, at most `limit`."""
        ...

    # -- text -------------------------------------------------------------------------------------

    def text(self, note_id: int) -> str:
        """The whole text of a note, byte for byte as it was decoded; empty for an unknown one."""
        ...

    def sections(
        self, note_id: int, first_line: int = 1, last_line: int = 1 << 60
    ) -> list[SectionRow]:
        """Sections of a note that touch these lines, in order."""
        ...

    def sections_by_id(self, ids: Sequence[int]) -> dict[int, SectionRow]:
        """The sections of these ids."""
        ...

    def section_start(self, note_id: int, ordinal: int) -> int:
        """Ordinal of the first piece of the section that a piece belongs to."""
        ...

    def whole_section(self, note_id: int, ordinal: int) -> list[SectionRow]:
        """All pieces of the section that begins at an ordinal."""
        ...

    def later_pieces(self, branch: str | None) -> list[tuple[int, int]]:
        """(note id, ordinal) of the pieces of long sections that do not begin one."""
        ...

    def front_matters(self, branch: str | None) -> list[tuple[int, int, str]]:
        """(note id, ordinal, text) of all front matter: no search sees it."""
        ...

    def headings(self, note_ids: Sequence[int], level: int) -> dict[int, list[tuple[str, int]]]:
        """Headings of one level in these notes, a heading path once: note id -> [(text, line)]."""
        ...

    def line_digests(self, branch: str) -> bytes:
        """Digests of the lines of a branch, four bytes each, those of one note once; no templates."""
        ...

    # -- items and statuses -----------------------------------------------------------------------

    def items(
        self, kinds: Sequence[str], branch: str | None = None, notes: dict[int, NoteRow] | None = None,
        *, bullets_since: str = "",
    ) -> list[ItemRow]:  # fmt: skip
        """Items of these kinds by path and line.

        `notes`: the notes by id, where the caller has read them; items of others are left out.
        `bullets_since`: action bullets of an earlier day are left out.
        """
        ...

    def statuses(
        self, branch: str | None = None, notes: dict[int, NoteRow] | None = None
    ) -> list[StatusRow]:
        """Status blocks by path and line; `notes` as for `items`."""
        ...

    def newest_statuses(self) -> dict[str, tuple[str, str]]:
        """Branch -> (date, heading) of its newest status block; branches without one are left out."""
        ...

    def standing_lines(self, branch: str) -> list[tuple[int, int, str, str]]:
        """(note id, line, kind, text) of what undated notes of a branch say that always holds."""
        ...

    def dated_names(self) -> list[str]:
        """Headings of all status blocks and titles of all notes: what dates are read from."""
        ...

    def listed_items(
        self, kind: str, branch: str | None, *, states: Sequence[str] = (), label: str = ""
    ) -> list[ListedRow]:
        """Items of a kind in no order; tasks may be limited to some states. `label`: the kind to give."""
        ...

    def listed_statuses(self, branch: str | None) -> list[ListedRow]:
        """Status blocks in no order, each with its heading."""
        ...

    def listed_notes(self, branch: str | None) -> list[ListedRow]:
        """Notes in no order, each with its title."""
        ...

    # -- words ------------------------------------------------------------------------------------

    def search(self, expr: Expr, limit: int, scope: Scope = WHOLE_VAULT) -> list[Hit]:
        """Best sections in a scope for an expression, best first; equal ones by path and line.

        A section has its own date (`section_date`), else that of its note.
        """
        ...

    def count(self, expr: Expr) -> int:
        """How many sections of the vault match."""
        ...

    def holds(self, expr: Expr, scope: Scope) -> bool:
        """Whether any section in a scope matches."""
        ...

    def matching_sections(self, expr: Expr, branch: str | None) -> list[tuple[int, int, bool]]:
        """(note id, ordinal, whether it begins a section) of every section whose own words match.

        Its own are its text, headings and dates; the title and the path of its note are not.
        """
        ...

    def section_count(self) -> int:
        """How many sections there are."""
        ...

    def document_frequency(self, stem: str) -> int:
        """How many sections hold a stem."""
        ...

    def words_between(self, first: str, last: str, limit: int) -> list[tuple[str, int]]:
        """Stems from `first` up to, not including, `last`, in order, with their frequencies."""
        ...


class Engine(Protocol):
    """An open index. Close it; any thread may use it.

    Each method raises IndexDamaged when what is stored is damaged or gone (then `replace_damaged`),
    and IndexUnavailable when it cannot be read or written for another reason: IndexHeld while another
    process holds its write lock, for which no method waits longer than two seconds.
    """

    @property
    def place(self) -> str:
        """Where it lives: `cache`, `temporary` (the cache is not writable) or `memory`."""
        ...

    @property
    def notice(self) -> str:
        """What a person should hear once; empty for nothing."""
        ...

    def close(self) -> None:
        """Close it; a view that is open stays usable until its block ends."""
        ...

    def snapshot(self) -> AbstractContextManager[View]:
        """Open a view of this moment; what is written meanwhile does not change it."""
        ...

    def data_version(self) -> tuple[int, int]:
        """(epoch, generation): another value whenever anyone, in any process, changed what is indexed."""
        ...

    def apply(
        self, added: Sequence[Parsed], removed: Iterable[str] = (),
        touched: Iterable[tuple[str, Known]] = (), *, before: Mapping[str, Known] | None = None,
    ) -> int:  # fmt: skip
        """Write notes, drop others, renew the fingerprints of `touched` ones: all of it, or nothing.

        What is there already is skipped; a touched note must have the same digest. `before`: what the
        index had of these files when they were read; a file that another process has written here since
        is left alone. Returns the generation.
        """
        ...

    def save_tokens(self, counted: Mapping[int, tuple[bytes, int]]) -> bool:
        """Keep token counts (note id -> digest, tokens) of notes that still have that digest.

        False when they cannot be kept: nothing is lost but the time to count again.
        """
        ...

    def mark_complete(self) -> None:
        """Remember that the whole vault has been indexed once."""
        ...

    def clear(self) -> None:
        """Drop every row; other processes on this index see it at once."""
        ...

    def settle(self, stopping: threading.Event | None = None) -> bool:
        """Do what a first build leaves for later, in short steps, until `stopping`.

        False when another process holds the index: it is to be done later.
        """
        ...

    def verify(self) -> None:
        """Raise IndexDamaged when what is stored is not what was written."""
        ...

    def replace_damaged(self, epoch: int | None = None) -> bool:
        """Let a new, empty index take the place of a damaged one.

        `epoch`: of the damaged one (`IndexDamaged.epoch`). False, and nothing is done, when another
        thread replaced that one already.
        """
        ...

    def build_turn(self) -> AbstractContextManager[bool]:
        """Take the one turn to build this index in full; False when another process has it."""
        ...


class Stemmer(Protocol):
    """Words as the index keeps them. Any thread may ask; close it when done."""

    def stem(self, word: str) -> str:
        """The stem of one word, split and folded as the index does it; empty where there is no word."""
        ...

    def common_beginning(self, stem: str) -> str:
        """The characters that a word with this stem begins with, as far as that is known."""
        ...

    def close(self) -> None:
        """Close it."""
        ...
