"""The SQLite FTS5 engine: open, write, and hand out snapshots. The only file that knows sqlite3.

Derived data only: a schema of another version, or a file that is damaged, is dropped and built
anew. One writer at a time (a lock inside the process, `BEGIN IMMEDIATE` between processes); readers
never wait. Not here: what changed (`freshness`), what to ask (`search`), reading rows (`snapshot`).
"""

import os
import queue
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from workingset_mcp.errors import IndexDamaged, IndexUnavailable
from workingset_mcp.index.location import FILE_NAME, SCHEMA, SCHEMA_VERSION, remove_unused
from workingset_mcp.index.rows import Known, Parsed
from workingset_mcp.index.snapshot import Snapshot
from workingset_mcp.index.writing import already_there, delete_note, insert_note

BUSY_SECONDS = 30.0
_DAMAGED = (  # what SQLite says of a damaged file
    "malformed", "corrupt", "not a database", "vtable constructor", "disk image", "invalid",
)  # fmt: skip
_OPEN_ATTEMPTS = 20  # eight servers starting at once all want to create the file


class Index:
    """An open index. Close it; it may be used from any thread.

    `place` says where it lives: `cache`, `temporary` (the cache is not writable) or `memory`.
    Raises IndexUnavailable when SQLite has no FTS5.
    """

    def __init__(self, folder: Path | None) -> None:
        self.place = "memory" if folder is None else "cache"
        self.notice = ""  # something a person should hear once
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self.file = self._writable(folder)
        self.write_lock = threading.RLock()
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._closed = False
        self._epoch = 0  # how often a damaged file was replaced
        self._reader_epochs: dict[int, int] = {}
        self._writer = self._open_or_rebuild()

    def close(self) -> None:
        """Close every idle connection, those in use when they come back; drop a temporary index."""
        self._closed = True
        self._close_idle()
        with self.write_lock:
            self._writer.close()
        if self._temporary:
            self._temporary.cleanup()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """One consistent view for reading, whatever is written meanwhile."""
        if self.file is None:  # one connection holds a database in memory
            with self.write_lock:
                yield Snapshot(self._writer)
            return
        connection = self._borrow()
        try:
            with _damage_named():
                connection.execute("BEGIN")
                yield Snapshot(connection)
        finally:
            with suppress(sqlite3.Error):
                connection.execute("COMMIT")
            if self._reader_epochs.get(id(connection)) == self._epoch:
                self._readers.put(connection)
            else:
                connection.close()
            if self._closed:
                self._close_idle()

    def data_version(self) -> tuple[int, int]:
        """A value that changes whenever anyone, in any process, wrote to this index."""
        with self.write_lock, _damage_named():
            found: int = self._writer.execute("PRAGMA data_version").fetchone()[0]
            return found, self._writer.total_changes + (self._epoch << 40)

    def apply(
        self, added: Sequence[Parsed], removed: Iterable[str] = (),
        touched: Iterable[tuple[str, Known]] = (),
    ) -> int:  # fmt: skip
        """Write notes, drop others, renew fingerprints of `touched` ones, in one transaction.

        Idempotent: what another process already wrote is skipped. Returns the generation.
        """
        with self.write_lock, _damage_named():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                for path in removed:
                    delete_note(self._writer, path)
                for path, known in touched:
                    self._writer.execute(
                        "UPDATE note SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, read_ns = ?"
                        " WHERE path = ? AND digest = ?",
                        (*known.fingerprint, known.read_ns, path, known.digest),
                    )
                for parsed in added:
                    if not already_there(self._writer, parsed):
                        delete_note(self._writer, parsed.note.path)
                        insert_note(self._writer, parsed)
                generation = int(self._meta("generation") or 0) + 1
                self._set_meta("generation", generation)
                self._writer.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._writer.execute("ROLLBACK")
                raise
        return generation

    def save_tokens(self, counted: Mapping[int, tuple[bytes, int]]) -> None:
        """Keep token counts of notes (id -> digest, tokens) that still have that digest."""
        with self.write_lock, suppress(sqlite3.OperationalError):
            self._writer.execute("BEGIN IMMEDIATE")
            self._writer.executemany(
                "UPDATE note SET tokens = ? WHERE id = ? AND digest = ?",
                [(tokens, note_id, digest) for note_id, (digest, tokens) in counted.items()],
            )
            self._writer.execute("COMMIT")

    def settle(self) -> None:
        """Merge the word index after a full build: faster queries, smaller file.

        The log is copied back without waiting for readers: one of them may wait for the write lock.
        """
        with self.write_lock, suppress(sqlite3.OperationalError):
            self._writer.execute("INSERT INTO fts(fts) VALUES ('optimize')")
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def mark_complete(self, *, complete: bool) -> None:
        """Remember whether the whole vault has been indexed once."""
        with self.write_lock, _damage_named():
            self._writer.execute("BEGIN IMMEDIATE")
            self._set_meta("complete", int(complete))
            self._writer.execute("COMMIT")

    def clear(self) -> None:
        """Drop every row: a rebuild that other open servers see at once."""
        with self.write_lock:
            self._writer.execute("BEGIN IMMEDIATE")
            for table in ("note", "section", "item", "status"):
                self._writer.execute(f"DELETE FROM {table}")  # noqa: S608  # fixed names
            self._writer.execute("INSERT INTO fts(fts) VALUES ('delete-all')")
            self._set_meta("complete", 0)
            self._set_meta("generation", int(self._meta("generation") or 0) + 1)
            self._writer.execute("COMMIT")

    def replace_damaged(self) -> None:
        """Let a new, empty file take the place of a damaged one."""
        with self.write_lock:
            self._close_idle()
            with suppress(sqlite3.Error):
                self._writer.close()
            self._set_aside()
            self._epoch += 1
            self._writer = self._open_or_rebuild()

    @contextmanager
    def build_turn(self, wait_seconds: float = 0.0) -> Iterator[bool]:
        """Take the one turn to build this index in full; False when another process has it.

        The turn is a lock on a database of its own: it ends with its holder, however that ends.
        """
        if self.file is None:
            yield True
            return
        lock = sqlite3.connect(
            self.file.with_name("build-turn.sqlite3"), timeout=wait_seconds, isolation_level=None
        )
        try:
            with suppress(OSError):
                self.file.with_name("build-turn.sqlite3").chmod(0o600)
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                yield False
                return
            yield True
            lock.execute("ROLLBACK")
        finally:
            lock.close()

    def _writable(self, folder: Path | None) -> Path | None:
        if folder is None:
            return None
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}"
            probe.touch(0o600)
            probe.unlink()
            os.utime(folder)
        except OSError:
            self.place = "temporary"
            try:
                self._temporary = tempfile.TemporaryDirectory(prefix="workingset-mcp-")
            except OSError:
                self.place = "memory"
                return None
            folder = Path(self._temporary.name)
        else:
            remove_unused(folder.parent, keep=folder.name)
        return folder / FILE_NAME

    def _open_or_rebuild(self) -> sqlite3.Connection:
        for attempt in range(1, _OPEN_ATTEMPTS + 1):
            connection = None
            try:
                connection = self._connect()
                self._ensure_schema(connection)
                self._check(connection)
            except sqlite3.DatabaseError as error:
                if connection is not None:
                    connection.close()
                if "no such module" in str(error):
                    raise IndexUnavailable(
                        "The SQLite of this Python has no FTS5.",
                        "Use a Python whose sqlite3 is built with FTS5 (python.org and conda builds are).",
                    ) from None
                if _is_busy(error) and attempt < _OPEN_ATTEMPTS:
                    time.sleep(0.02 * attempt)
                    continue
                if attempt >= 3:
                    raise IndexUnavailable(
                        f"The index cannot be opened: {error}.",
                        "Give another folder: --index-dir PATH.",
                    ) from None
                self._set_aside()
            else:
                return connection
        raise AssertionError("unreachable")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            str(self.file or ":memory:"),
            timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False,
        )  # fmt: skip
        if self.file is not None:
            connection.execute("PRAGMA journal_mode = WAL")
            with suppress(OSError):
                self.file.chmod(0o600)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -16000")
        connection.execute("PRAGMA mmap_size = 268435456")
        return connection

    def _ensure_schema(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not tables:
                for statement in SCHEMA.split(";\n"):
                    if statement.strip():
                        connection.execute(statement)
                connection.execute("INSERT INTO meta VALUES ('schema', ?)", (SCHEMA_VERSION,))
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def _check(self, connection: sqlite3.Connection) -> None:
        """Raise DatabaseError when the file is of another schema or its parts disagree."""
        connection.execute("BEGIN")
        try:
            self._check_parts(connection)
        finally:
            with suppress(sqlite3.Error):
                connection.execute("COMMIT")

    def _check_parts(self, connection: sqlite3.Connection) -> None:
        found = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
        if not found or found[0] != SCHEMA_VERSION:
            raise sqlite3.DatabaseError("another schema")
        sections = connection.execute("SELECT count(*) FROM section").fetchone()[0]
        searchable = connection.execute("SELECT count(*) FROM fts_docsize").fetchone()[0]
        if sections != searchable:
            raise sqlite3.DatabaseError("sections and searchable rows differ")
        connection.execute("SELECT count(*) FROM fts WHERE fts MATCH 'a'").fetchone()
        connection.execute("SELECT count(*) FROM note").fetchone()

    def _set_aside(self) -> None:
        """Let a new file take over; others may still hold the old one."""
        if self.file is None:
            return
        self.notice = "the index was damaged or of another version; it is being built anew"
        aside = self.file.with_name(f"damaged-{time.time_ns()}")
        for suffix in ("", "-wal", "-shm"):
            part = self.file.with_name(self.file.name + suffix)
            with suppress(OSError):
                part.rename(aside.with_name(aside.name + suffix))
        for old in self.file.parent.glob("damaged-*"):
            with suppress(OSError):
                old.unlink()

    def _borrow(self) -> sqlite3.Connection:
        try:
            return self._readers.get_nowait()
        except queue.Empty:
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
            self._reader_epochs[id(connection)] = self._epoch
            return connection

    def _close_idle(self) -> None:
        while True:
            try:
                self._readers.get_nowait().close()
            except queue.Empty:
                return

    def _meta(self, key: str) -> Any:
        found = self._writer.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    def _set_meta(self, key: str, value: object) -> None:
        self._writer.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )


@contextmanager
def _damage_named() -> Iterator[None]:
    """Damage as our own error; a bug in a statement, or a busy file, as it is."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise
    except sqlite3.DatabaseError as error:
        if any(word in str(error) for word in _DAMAGED):
            raise IndexDamaged(f"The index is damaged: {error}.") from error
        raise


def _is_busy(error: sqlite3.Error) -> bool:
    return "locked" in str(error) or "busy" in str(error)
