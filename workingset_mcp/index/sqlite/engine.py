"""The SQLite FTS5 engine: opens and writes the index, and hands out snapshots.

The index is derived data: if it has another schema version, or is damaged or gone, it is dropped and
rebuilt; if its file can no longer be written, a copy in memory takes over. There is one writer at a
time (a lock inside the process, `BEGIN IMMEDIATE` between processes); readers never wait. Not here:
what changed (`sync`), reading rows (`view`), writing them (`writing`), errors (`failures`).
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

MOST_MEMORY_BYTES = 256_000_000  # of an index that continues in memory
_OPEN_SECONDS = 5.0  # eight servers that start together all try to create the file
_HELD_SECONDS = 0.05  # a wait for a lock whose holder has written nothing since the last wait
_FRESH_FILES = 2  # new files to try before the index is kept in memory
_TURN_SECONDS = 0.001  # pause between two merge steps, for others that wait for the write lock
_Made = TypeVar("_Made")


class SqliteEngine:
    """An open index (`index.engine.Engine`): a file in the given folder, or in memory.

    Raises IndexUnavailable if SQLite has no FTS5, or if an index too large for memory cannot be
    written.
    """

    def __init__(self, folder: Path | None) -> None:
        self.place = "memory" if folder is None else "cache"
        self.notice = ""  # a message to show a person once
        self._write_lock = threading.RLock()
        self._counts = Counts()
        self._folder = folder
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False
        self._held_at: int | None = None  # version of the file when its lock was waited for in vain
        self._takeover = threading.Lock()  # held during a takeover; taken last
        self._epoch = 0  # raised by each takeover
        self.file = self._writable_file()
        self._identity: tuple[int, int] | None = None
        self._writer = self._open_or_rebuild()
        self._readers = Readers(self.file)

    def close(self) -> None:
        """Close all connections (readers in use when they are returned); delete a temporary index."""
        self._closed = True
        self._readers.close()
        with suppress(sqlite3.ProgrammingError):
            self._writer.interrupt()  # stops a batch of notes or a merge step
        with self._write_lock:
            with suppress(sqlite3.Error):
                self._writer.execute("SELECT 1")  # else the interrupt makes close leave the log
            self._writer.close()
        if self._temporary:
            self._temporary.cleanup()

    @contextmanager
    def snapshot(self) -> Iterator[SqliteView]:
        """Open one consistent view for reading; later writes do not change it."""
        # Read file and epoch under one lock, so that a lost file is reported with its own epoch.
        with self._takeover, in_our_words(self._epoch):
            self._ensure_in_place()
            epoch, readers = self._epoch, self._readers
            connection = readers.borrow() if self.file else None
        if connection is None:  # a database in memory has only one connection
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
                view.generation()  # SQLite fixes the snapshot at the first read, not at BEGIN
                yield view
            finally:
                view.end()
                with suppress(sqlite3.Error):
                    connection.execute("COMMIT")
                readers.give_back(connection)

    def data_version(self) -> tuple[int, int]:
        """Return (epoch, generation), which changes whenever any process changes the index.

        `View.version` returns the same value.
        """
        with self._write_lock, in_our_words(self._epoch):
            self._ensure_in_place()
            return self._epoch, int(meta(self._writer, "generation") or 0)

    def apply(
        self, added: Sequence[Parsed], removed: Iterable[str] = (),
        touched: Iterable[tuple[str, Known]] = (), *, before: Mapping[str, Known] | None = None,
    ) -> int:  # fmt: skip
        """Add notes, remove notes and update the fingerprints of `touched` ones, in one transaction.

        Idempotent: what another process has already written is skipped. `before`: what the index knew
        of these files when they were read; a file that another process has updated since then is
        skipped, because an older reading could replace a newer one. Returns the generation.
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
            fresh = [p for p in added if p.note.path in ours and not _is_stored(there, p)]
            for parsed in fresh:
                if parsed.note.path in there:
                    delete_note(self._writer, parsed.note.path)
            insert_notes(self._writer, fresh)
            return next_generation(self._writer)

        return self._write(work)

    def save_tokens(self, counted: Mapping[int, tuple[bytes, int]]) -> bool:
        """Store token counts (note id -> digest, tokens) of notes that still have that digest.

        Returns False if they cannot be stored; then they have to be counted again.
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

        It works in steps, and others can take the write lock between two steps. The next call continues
        a merge that was stopped early (`View.unmerged`). False when another process holds the lock.
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
        """Raise IndexDamaged if a page of the file is not what was written; takes 0.1 s for 100 MB."""
        with self.snapshot() as view:
            wrong = view.wrong_pages() if self.file else ""
            if wrong:
                raise IndexDamaged(f"The index is damaged: {wrong}.", epoch=view.version()[0])

    def mark_complete(self) -> None:
        """Record that the whole vault has been indexed once."""
        self._write(lambda: mark_complete(self._writer))

    def clear(self) -> None:
        """Delete every row; other servers with this index open see that at once."""
        self._write(lambda: drop_all(self._writer))

    def replace_damaged(self, epoch: int | None = None) -> bool:
        """Replace a damaged file with a new, empty one.

        `epoch`: the epoch of the damaged file (`IndexDamaged.epoch`). Does nothing and returns False if
        another thread has already replaced it.
        """
        with self._write_lock:
            if epoch not in (None, self._epoch):
                return False
            with self._takeover:
                self._readers.close()
                with suppress(sqlite3.Error):
                    self._writer.close()
                ours = self._identity == identity(self.file)  # not if another process replaced it
                if self.file and ours:
                    self._set_aside(self.file)
                self._epoch += 1
                self.file = self._writable_file()
                self._writer = self._open_or_rebuild()
                self._readers = Readers(self.file)
            return True

    def build_turn(self) -> AbstractContextManager[bool]:
        """Take the only turn to build this index in full; the value is False if another process has it."""
        return build_turn(self.file and self.file.with_name(BUILD_TURN_NAME))

    def _write(self, work: Callable[[], _Made]) -> _Made:
        """Run statements in one transaction; if the file cannot be written, continue in memory."""
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
        """Merge some of the word index, then free some pages; return whether there is more to do.

        The last step records that, and checkpoints the log without waiting for readers: one of them may
        be waiting for the write lock.
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
        """Switch to a copy in memory; return False if the index is already there, or is too large."""
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
        """Return the path of the index file in a writable folder; None for memory."""
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
        self.notice = "the index was damaged or from another version; it is being rebuilt"
        set_aside(file)

    def _ensure_in_place(self) -> None:
        """Raise IndexDamaged if the index file was removed or replaced after we opened it."""
        if self.file is not None and identity(self.file) != self._identity:
            raise IndexDamaged("The index file is gone.", epoch=self._epoch)


def _is_stored(there: Mapping[str, Known], parsed: Parsed) -> bool:
    """Return whether exactly this reading of a file is already stored."""
    known = there.get(parsed.note.path)
    return bool(known and known.fingerprint == parsed.fingerprint and known.digest == parsed.digest)
