"""The protocols of an index, for any engine: `Engine` writes, `View` reads one moment of it.

One test suite (`tests/index/test_engine_contract.py`) runs over every engine. Rows are defined in
`rows`, queries in `query`. Not here: how disk and index differ (`sync`), SQL (`sqlite/`).
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

    Only `known`, `has_below` and `has_branch` include generated briefs. A `branch` of None means the
    whole vault.
    """

    # -- the state --------------------------------------------------------------------------------

    def generation(self) -> int:
        """Return the number of changes applied so far."""
        ...

    def version(self) -> tuple[int, int]:
        """Return (epoch, generation): `Engine.data_version` when this view began."""
        ...

    def complete(self) -> bool:
        """Return whether the whole vault has been indexed once."""
        ...

    def unmerged(self) -> bool:
        """Return whether `settle` still has to finish a first build."""
        ...

    def once(self, key: Hashable, find: Callable[[], _Value]) -> _Value:
        """Return `find()`, cached under `key` for all views of the same version of the index."""
        ...

    # -- notes and branches -----------------------------------------------------------------------

    def known(self, branch: str | None = None) -> dict[str, Known]:
        """Return what the index knows of every file, by path."""
        ...

    def has_below(self, folder: str) -> bool:
        """Return whether the index knows any file below a folder."""
        ...

    def has_branch(self, name: str) -> bool:
        """Return whether the index knows any file of a branch."""
        ...

    def branches(self) -> list[BranchRow]:
        """Return the numbers of every branch, by name. Open items are open checkboxes outside templates."""
        ...

    def branch_names(self) -> list[str]:
        """Return the names of the branches, in order."""
        ...

    def branch_times(self) -> list[tuple[str, int]]:
        """Return (branch, newest file time of its notes in nanoseconds), by name."""
        ...

    def notes(self, branch: str | None = None) -> list[NoteRow]:
        """Return the notes, ordered by path."""
        ...

    def note(self, path: str) -> NoteRow | None:
        """Return the note at a path; None if there is none."""
        ...

    def notes_by_id(self, ids: Iterable[int]) -> dict[int, NoteRow]:
        """Return the notes with these ids, without their units and remarks; unknown ids are left out."""
        ...

    def first_notes(self, scope: Scope, limit: int) -> list[tuple[int, str]]:
        """Return (id, path) of the first notes by path whose own dates are in the scope."""
        ...

    def paths(self) -> list[str]:
        """Return the paths of all notes, in order."""
        ...

    def aliases(self) -> list[str]:
        """Return every alias of every note."""
        ...

    def remarked(self) -> list[NoteRow]:
        """Return the notes with a remark, by path."""
        ...

    def note_kinds(self) -> list[tuple[str, str, int]]:
        """Return (kind of note, sign, number of notes), the most frequent first."""
        ...

    def note_digests(self, branch: str, also: str) -> list[tuple[str, bytes]]:
        """Return (path, digest) of every note of a branch and of the note at `also`, by path."""
        ...

    def note_count(self) -> int:
        """Return the number of notes."""
        ...

    def uncounted(self, limit: int) -> list[tuple[int, bytes]]:
        """Return (id, digest) of at most `limit` notes whose tokens are not counted yet."""
        ...

    # -- text -------------------------------------------------------------------------------------

    def text(self, note_id: int) -> str:
        """Return the whole text of a note exactly as it was decoded; empty for an unknown id."""
        ...

    def sections(
        self, note_id: int, first_line: int = 1, last_line: int = 1 << 60
    ) -> list[SectionRow]:
        """Return the sections of a note that overlap these lines, in order."""
        ...

    def sections_by_id(self, ids: Sequence[int]) -> dict[int, SectionRow]:
        """Return the sections with these ids."""
        ...

    def section_start(self, note_id: int, ordinal: int) -> int:
        """Return the ordinal of the first piece of the section that a piece belongs to."""
        ...

    def whole_section(self, note_id: int, ordinal: int) -> list[SectionRow]:
        """Return all pieces of the section that begins at an ordinal."""
        ...

    def later_pieces(self, branch: str | None) -> list[tuple[int, int]]:
        """Return (note id, ordinal) of every piece of a long section but its first."""
        ...

    def front_matters(self, branch: str | None) -> list[tuple[int, int, str]]:
        """Return (note id, ordinal, text) of all front matter, which `search` does not cover."""
        ...

    def line_digests(self, branch: str) -> bytes:
        """Return four-byte digests of a branch's lines, each line once per note, without templates."""
        ...

    # -- items and statuses -----------------------------------------------------------------------

    def items(
        self, kinds: Sequence[str], branch: str | None = None, notes: dict[int, NoteRow] | None = None,
        *, bullets_since: str = "",
    ) -> list[ItemRow]:  # fmt: skip
        """Return the items of these kinds, by path and line.

        `notes`: notes by id that the caller has already read; items of other notes are left out.
        `bullets_since`: action bullets of an earlier day are left out.
        """
        ...

    def statuses(
        self, branch: str | None = None, notes: dict[int, NoteRow] | None = None
    ) -> list[StatusRow]:
        """Return the status blocks, by path and line; `notes` as for `items`."""
        ...

    def newest_statuses(self) -> dict[str, tuple[str, str]]:
        """Return branch -> (date, heading) of its newest status block; branches without one are left out."""
        ...

    def standing_lines(self, branch: str) -> list[tuple[int, int, str, str]]:
        """Return (note id, line, kind, text) of the standing lines in a branch's undated notes."""
        ...

    def dated_names(self) -> list[str]:
        """Return the headings of all status blocks and the titles of all notes; dates are read from these."""
        ...

    def listed_items(
        self, kind: str, branch: str | None, *, states: Sequence[str] = (), label: str = ""
    ) -> list[ListedRow]:
        """Return the items of a kind, unordered; `states` limits tasks, `label` replaces the kind in each row."""
        ...

    def listed_statuses(self, branch: str | None) -> list[ListedRow]:
        """Return the status blocks with their headings, unordered."""
        ...

    def listed_notes(self, branch: str | None) -> list[ListedRow]:
        """Return the notes with their titles, unordered."""
        ...

    # -- words ------------------------------------------------------------------------------------

    def search(self, expr: Expr, limit: int, scope: Scope = WHOLE_VAULT) -> list[Hit]:
        """Return the best matching sections in a scope, best first; ties by path and line.

        A section has its own date (`section_date`), or else its note's date.
        """
        ...

    def count(self, expr: Expr) -> int:
        """Return how many sections of the vault match."""
        ...

    def holds(self, expr: Expr, scope: Scope) -> bool:
        """Return whether any section in a scope matches."""
        ...

    def matching_sections(self, expr: Expr, branch: str | None) -> list[tuple[int, int, bool]]:
        """Return (note id, ordinal, whether it begins a section) of every section whose own words match.

        Its own words are its text, headings and dates, but not the title and path of its note.
        """
        ...

    def section_count(self) -> int:
        """Return the number of sections."""
        ...

    def document_frequency(self, stem: str) -> int:
        """Return how many sections contain a stem."""
        ...

    def words_between(self, first: str, last: str, limit: int) -> list[tuple[str, int]]:
        """Return (stem, frequency) from `first` up to but not including `last`, in order."""
        ...


class Engine(Protocol):
    """An open index, usable from any thread. Close it when done.

    Each method raises IndexDamaged when what is stored is damaged or gone (then `replace_damaged`),
    and IndexUnavailable when it cannot be read or written for another reason: IndexHeld while another
    process holds its write lock, for which no method waits longer than two seconds.
    """

    @property
    def place(self) -> str:
        """Where the index is: `cache`, `temporary` (the cache is not writable) or `memory`."""
        ...

    @property
    def notice(self) -> str:
        """A message to show a person once; may be empty."""
        ...

    def close(self) -> None:
        """Close the index; an open view stays usable until its block ends."""
        ...

    def snapshot(self) -> AbstractContextManager[View]:
        """Open a view of this moment; later writes do not change it."""
        ...

    def data_version(self) -> tuple[int, int]:
        """Return (epoch, generation), which changes whenever any process changes the index."""
        ...

    def apply(
        self, added: Sequence[Parsed], removed: Iterable[str] = (),
        touched: Iterable[tuple[str, Known]] = (), *, before: Mapping[str, Known] | None = None,
    ) -> int:  # fmt: skip
        """Add notes, remove notes and update the fingerprints of `touched` ones, all or nothing.

        Notes already stored are skipped; a touched note must still have the same digest. `before`: what
        the index knew of these files when they were read; a file that another process has updated
        since then is skipped. Returns the generation.
        """
        ...

    def save_tokens(self, counted: Mapping[int, tuple[bytes, int]]) -> bool:
        """Store token counts (note id -> digest, tokens) of notes that still have that digest.

        Returns False if they cannot be stored; then they have to be counted again.
        """
        ...

    def mark_complete(self) -> None:
        """Record that the whole vault has been indexed once."""
        ...

    def clear(self) -> None:
        """Delete every row; other processes with this index open see that at once."""
        ...

    def settle(self, stopping: threading.Event | None = None) -> bool:
        """Do what a first build leaves for later, in short steps, until `stopping`.

        False when another process holds the index: it is to be done later.
        """
        ...

    def verify(self) -> None:
        """Raise IndexDamaged if the stored data is not what was written."""
        ...

    def replace_damaged(self, epoch: int | None = None) -> bool:
        """Replace a damaged index with a new, empty one.

        `epoch`: the epoch of the damaged one (`IndexDamaged.epoch`). Does nothing and returns False if
        another thread has already replaced it.
        """
        ...

    def build_turn(self) -> AbstractContextManager[bool]:
        """Take the only turn to build this index in full; the value is False if another process has it."""
        ...


class Stemmer(Protocol):
    """Turns words into the stems that the index stores; usable from any thread. Close it when done."""

    def stem(self, word: str) -> str:
        """Return the stem of one word, split and folded as in the index; empty if there is no word."""
        ...

    def common_beginning(self, stem: str) -> str:
        """Return the longest known prefix of all words with this stem."""
        ...

    def close(self) -> None:
        """Close the stemmer."""
        ...
