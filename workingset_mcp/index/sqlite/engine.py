"""The SQLite FTS5 engine: open, write, and hand out snapshots.

Derived data only: a schema of another version, or a file that is damaged or gone, is dropped and
built anew; where it cannot be written any more, a copy in memory takes over. One writer at a time
(a lock inside the process, `BEGIN IMMEDIATE` between processes); readers never wait. Not here: what
changed (`sync`), reading rows (`view`), writing them (`writing`), errors (`failures`).
"""

import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

from workingset_mcp.errors import IndexDamaged, IndexHeld, IndexUnavailable
from workingset_mcp.index.rows import Known, Parsed
from workingset_mcp.index.sqlite.failures import cannot_write, in_our_words, is_busy, is_full
from workingset_mcp.index.sqlite.location import (
    BUILD_TURN_NAME,
    FILE_NAME,
    identity,
    make_writable,
    remove_unused,
    set_aside,
)
from workingset_mcp.index.sqlite.opening import (
    BUSY_SECONDS,
    build_turn,
    check,
    connected,
    ensure_schema,
)
from workingset_mcp.index.sqlite.readers import Readers
from workingset_mcp.index.sqlite.view import Counts, SqliteView
from workingset_mcp.index.sqlite.writing import (
    delete_note,
    drop_all,
    give_pages_back,
    insert_notes,
    known_among,
    mark_complete,
    mark_merged,
    merge_some,
    meta,
    next_generation,
    renew_stamp,
)

MOST_MEMORY_BYTES = 256_000_000  # of an index that is carried on in memory
_OPEN_SECONDS = 5.0  # eight servers starting at once all want to create the file
_HELD_SECONDS = 0.05  # a wait for a lock whose holder has written nothing since the last wait
_FRESH_FILES = 2  # how often a new file is tried before memory is
_TURN_SECONDS = 0.001  # for whoever waits for the write lock, between two steps of a merge
_Made = TypeVar("_Made")


class SqliteEngine:
    """An open index (`index.engine.Engine`): a file in a folder, or in memory without one.

    Raises IndexUnavailable when SQLite has no FTS5, or when an index too large for memory cannot be
    written.
    """

    def __init__(self, folder: Path | None) -> None:
        self.place = "memory" if folder is None else "cache"
        self.notice = ""  # something a person should hear once
        self._write_lock = threading.RLock()
        self._counts = Counts()
        self._folder = folder
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False
        self._held_at: int | None = None  # version of the file when its lock was waited for in vain
        self._takeover = threading.Lock()  # held while another database takes over; taken last
        self._epoch = 0  # raised whenever one does
        self.file = self._writable_file()
        self._identity: tuple[int, int] | None = None
        self._writer = self._open_or_rebuild()
        self._readers = Readers(self.file)

    def close(self) -> None:
        """Close every idle connection, those in use when they come back; drop a temporary index."""
        self._closed = True
        self._readers.close()
        with suppress(sqlite3.ProgrammingError):
            self._writer.interrupt()  # a batch of notes, or a step of a merge
        with self._write_lock:
            with suppress(sqlite3.Error):
                self._writer.execute("SELECT 1")  # still interrupted, it would leave its log behind
            self._writer.close()
        if self._temporary:
            self._temporary.cleanup()

    @contextmanager
    def snapshot(self) -> Iterator[SqliteView]:
        """One consistent view for reading, whatever is written meanwhile."""
        # File and epoch belong together: one that is found gone must never be taken for the next one.
        with self._takeover, in_our_words(self._epoch):
            self._ensure_in_place()
            epoch, readers = self._epoch, self._readers
            connection = readers.borrow() if self.file else None
        if connection is None:  # one connection holds a database in memory
            with self._write_lock, in_our_words(self._epoch):
                view = SqliteView(self._writer, self._epoch, self._counts)
                try:
                    yield view
                finally:
                    view.end()
            return
        view = SqliteView(connection, epoch, self._counts)
        with in_our_words(epoch):
            try:
                connection.execute("BEGIN")
                view.generation()  # SQLite fixes the moment with the first read, not with BEGIN
                yield view
            finally:
                view.end()
                with suppress(sqlite3.Error):
                    connection.execute("COMMIT")
                readers.give_back(connection)

    def data_version(self) -> tuple[int, int]:
        """A value that changes whenever anyone, in any process, changed what is indexed.

        It is (epoch, generation), as `View.version` gives it.
        """
        with self._write_lock, in_our_words(self._epoch):
            self._ensure_in_place()
            return self._epoch, int(meta(self._writer, "generation") or 0)

    def apply(
        self, added: Sequence[Parsed], removed: Iterable[str] = (),
        touched: Iterable[tuple[str, Known]] = (), *, before: Mapping[str, Known] | None = None,
    ) -> int:  # fmt: skip
        """Write notes, drop others, renew fingerprints of `touched` ones, in one transaction.

        Idempotent: what another process already wrote is skipped. `before`: what the index had of
        these files when they were read; a file that another process has changed here since is left
        alone, or an older reading could replace a newer one. Returns the generation.
        """
        gone, stamps = list(removed), list(touched)

        def work() -> int:
            paths = [*gone, *(path for path, _ in stamps), *(p.note.path for p in added)]
            there = known_among(self._writer, paths)
            as_read = there if before is None else before
            ours = {path for path in paths if there.get(path) == as_read.get(path)}
            for path in gone:
                if path in ours and path in there:
                    delete_note(self._writer, path)
                    del there[path]
            for path, known in stamps:
                if path in ours:
                    renew_stamp(self._writer, path, known)
            fresh = [p for p in added if p.note.path in ours and not _holds(there, p)]
            for parsed in fresh:
                if parsed.note.path in there:
                    delete_note(self._writer, parsed.note.path)
            insert_notes(self._writer, fresh)
            return next_generation(self._writer)

        return self._write(work)

    def save_tokens(self, counted: Mapping[int, tuple[bytes, int]]) -> bool:
        """Keep token counts of notes (id -> digest, tokens) that still have that digest.

        False when they cannot be kept: nothing is lost but the time to count again.
        """

        def work() -> None:
            self._writer.executemany(
                "UPDATE note SET tokens = ? WHERE id = ? AND digest = ?",
                [(tokens, note_id, digest) for note_id, (digest, tokens) in counted.items()],
            )

        try:
            with self._write_lock, in_our_words(self._epoch):
                self._in_transaction(work)
        except IndexUnavailable:
            return False
        return True

    def settle(self, stopping: threading.Event | None = None) -> bool:
        """Merge the word index after a full build: faster queries, smaller file.

        In steps: whoever else waits for the write lock has it between two. One that was ended early
        is taken up by the next (`View.unmerged`). False when another process holds the lock.
        """
        epoch, first, stopping = self._epoch, True, stopping or threading.Event()
        try:
            while self._merge_step(epoch, first=first) and not stopping.wait(_TURN_SECONDS):
                first = False
        except IndexHeld:
            return False
        except IndexUnavailable:
            return True  # no later try would do better
        return True

    def verify(self) -> None:
        """Raise IndexDamaged when a page of the file is not what was written: 0.1 s for 100 MB."""
        with self.snapshot() as view:
            wrong = view.wrong_pages() if self.file else ""
            if wrong:
                raise IndexDamaged(f"The index is damaged: {wrong}.", epoch=view.version()[0])

    def mark_complete(self) -> None:
        """Remember that the whole vault has been indexed once."""
        self._write(lambda: mark_complete(self._writer))

    def clear(self) -> None:
        """Drop every row: a rebuild that other open servers see at once."""
        self._write(lambda: drop_all(self._writer))

    def replace_damaged(self, epoch: int | None = None) -> bool:
        """Let a new, empty file take the place of a damaged one.

        `epoch`: of the damaged file (`IndexDamaged.epoch`). False, and nothing is done, when another
        thread replaced that one already.
        """
        with self._write_lock:
            if epoch not in (None, self._epoch):
                return False
            with self._takeover:
                self._readers.close()
                with suppress(sqlite3.Error):
                    self._writer.close()
                ours = self._identity == identity(self.file)  # not one of another process
                if self.file and ours:
                    self._set_aside(self.file)
                self._epoch += 1
                self.file = self._writable_file()
                self._writer = self._open_or_rebuild()
                self._readers = Readers(self.file)
            return True

    def build_turn(self) -> AbstractContextManager[bool]:
        """Take the one turn to build this index in full; False when another process has it."""
        return build_turn(self.file and self.file.with_name(BUILD_TURN_NAME))

    def _write(self, work: Callable[[], _Made]) -> _Made:
        """Run statements in one transaction; in memory from then on, where the file takes none."""
        with self._write_lock, in_our_words(self._epoch):
            self._ensure_in_place()
            try:
                return self._in_transaction(work)
            except sqlite3.Error as error:
                if not (cannot_write(error) and self._carry_on_in_memory()):
                    raise
            return self._in_transaction(work)

    def _in_transaction(self, work: Callable[[], _Made]) -> _Made:
        try:
            self._begin()
            made = work()
            self._writer.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")
            raise
        return made

    def _begin(self) -> None:
        """Take the write lock. Only the first of several waits for a stopped process is a long one."""
        if self.file is None:
            self._writer.execute("BEGIN IMMEDIATE")
            return
        stopped = self._held_at is not None and self._held_at == self._file_version()
        seconds = _HELD_SECONDS if stopped else BUSY_SECONDS
        self._writer.execute(f"PRAGMA busy_timeout = {int(1_000 * seconds)}")
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._held_at = self._file_version() if is_busy(error) else None
            raise
        self._held_at = None

    def _file_version(self) -> int:
        """A number that changes when another connection has written."""
        return int(self._writer.execute("PRAGMA data_version").fetchone()[0])

    def _merge_step(self, epoch: int, *, first: bool) -> bool:
        """Merge some of the word index, then give free pages back; whether there is more to do.

        At last that is remembered, and the log copied back without waiting for readers: one of them
        may wait for the write lock.
        """
        with self._write_lock, in_our_words(self._epoch):
            if self._closed or self._epoch != epoch:
                return False
            if merge_some(self._writer, first=first) or give_pages_back(self._writer):
                return True
            self._in_transaction(lambda: mark_merged(self._writer))
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
            return False

    def _carry_on_in_memory(self) -> bool:
        """Let a copy in memory take over; False when the index is there already, or too large."""
        pages, size = (
            self._writer.execute(f"PRAGMA {what}").fetchone()[0]
            for what in ("page_count", "page_size")
        )
        if self.file is None or pages * size > MOST_MEMORY_BYTES:
            return False
        memory = connected(None, writes=True)
        self._writer.backup(memory)
        with self._takeover:
            self._readers.close()
            self._writer.close()
            self._use_memory()
            self._epoch += 1
            self._writer = memory
        return True

    def _use_memory(
        self, notice: str = "the index cannot be written; it is kept in memory"
    ) -> None:
        self.file, self.place, self.notice = None, "memory", notice

    def _writable_file(self) -> Path | None:
        """Where the index file is to be, in a folder that can be written; None for memory."""
        if self._folder is None:
            return None
        if self._temporary:
            self._temporary.cleanup()
            self._temporary = None
        if make_writable(self._folder):
            self.place = "cache"
            remove_unused(self._folder.parent, keep=self._folder.name)
            return self._folder / FILE_NAME
        try:
            self._temporary = tempfile.TemporaryDirectory(prefix="workingset-mcp-")
        except OSError:
            self.place = "memory"
            return None
        self.place = "temporary"
        return Path(self._temporary.name) / FILE_NAME

    def _open_or_rebuild(self) -> sqlite3.Connection:
        deadline = time.monotonic() + _OPEN_SECONDS
        for attempt in count(1):
            connection = None
            try:
                connection = connected(self.file, writes=True)
                ensure_schema(connection)
                check(connection, self.file)
            except sqlite3.DatabaseError as error:
                if connection is not None:
                    connection.close()
                if "no such module" in str(error):
                    raise IndexUnavailable(
                        "The SQLite of this Python has no FTS5.",
                        "Use a Python whose sqlite3 is built with FTS5 (python.org and conda builds are).",
                    ) from None
                if is_busy(error) and time.monotonic() < deadline:
                    time.sleep(0.02 * attempt)
                elif is_busy(error) and self.file is not None:
                    self._use_memory("another process holds the index; this one is kept in memory")
                elif self.file is not None and attempt <= _FRESH_FILES and not is_full(error):
                    self._set_aside(self.file)
                elif self.file is not None:
                    self._use_memory()
                else:
                    raise IndexUnavailable(
                        f"The index cannot be opened: {error}.",
                        "Give another folder: --index-dir PATH.",
                    ) from None
            else:
                self._identity = identity(self.file)
                return connection
        raise AssertionError("unreachable")

    def _set_aside(self, file: Path) -> None:
        self.notice = "the index was damaged or of another version; it is being built anew"
        set_aside(file)

    def _ensure_in_place(self) -> None:
        """Raise IndexDamaged when another file, or none, stands where ours was opened."""
        if self.file is not None and identity(self.file) != self._identity:
            raise IndexDamaged("The index file is gone.", epoch=self._epoch)


def _holds(there: Mapping[str, Known], parsed: Parsed) -> bool:
    """Whether this very reading of a file is among what is there."""
    known = there.get(parsed.note.path)
    return bool(known and known.fingerprint == parsed.fingerprint and known.digest == parsed.digest)
