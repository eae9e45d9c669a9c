"""The SQLite FTS5 engine: open, write, and hand out snapshots. The only file that knows sqlite3.

Derived data only: a schema of another version, or a file that is damaged, is dropped and built
anew. One writer at a time (a lock inside the process, `BEGIN IMMEDIATE` between processes); readers
never wait. Not here: what changed (`freshness`), what to ask (`search`), reading rows (`snapshot`).
"""

import hashlib
import json
import os
import queue
import shutil
import sqlite3
import tempfile
import threading
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import platformdirs

from workingset_mcp.errors import IndexUnavailable
from workingset_mcp.index.rows import Known, Parsed, search_columns, section_date
from workingset_mcp.index.snapshot import Snapshot

BUSY_SECONDS = 30.0
UNUSED_DAYS = 60
FILE_NAME = "index.sqlite3"
_MOST_STEMS = 100_000
_OPEN_ATTEMPTS = 20  # eight servers starting at once all want to create the file

_SCHEMA = files("workingset_mcp.index").joinpath("schema.sql").read_text(encoding="utf-8")
_CODE = "2"  # raise when what goes into the tables changes without the schema changing
SCHEMA_VERSION = hashlib.sha256(
    f"{_SCHEMA}{_CODE}{unicodedata.unidata_version}".encode()
).hexdigest()[:12]


def index_folder(vault_root: Path, shape_digest: str, index_dir: str | None = None) -> Path:
    """The folder of this vault's index: one for each vault, schema version and shaping settings."""
    real = os.fsencode(vault_root.resolve())
    name = f"{hashlib.sha256(real).hexdigest()[:16]}-{SCHEMA_VERSION}-{shape_digest}"
    base = (
        Path(index_dir) if index_dir else Path(platformdirs.user_cache_dir("workingset-mcp", False))
    )
    return base / name


class Stemmer:
    """Words as the index keeps them: split, folded and stemmed by the very tokenizer it uses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.execute(
            "CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self._connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)")
        self._known: dict[str, str] = {}

    def stem(self, word: str) -> str:
        """The stem of one word; empty when the tokenizer finds no word in it."""
        known = self._known.get(word)
        if known is None:
            with self._lock:
                run = self._connection.execute
                run("INSERT INTO t(rowid, x) VALUES (1, ?)", (word.replace("\0", " "),))
                found = run("SELECT term FROM v ORDER BY offset LIMIT 1").fetchone()
                run("DELETE FROM t")
                if len(self._known) > _MOST_STEMS:
                    self._known.clear()
                known = self._known[word] = found[0] if found else ""
        return known


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
        self._write_lock = threading.RLock()
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._closed = False
        self._writer = self._open_or_rebuild()

    def close(self) -> None:
        """Close every idle connection, those in use when they come back; drop a temporary index."""
        self._closed = True
        self._close_idle()
        with self._write_lock:
            self._writer.close()
        if self._temporary:
            self._temporary.cleanup()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """One consistent view for reading, whatever is written meanwhile."""
        if self.file is None:  # one connection holds a database in memory
            with self._write_lock:
                yield Snapshot(self._writer)
            return
        connection = self._borrow()
        try:
            connection.execute("BEGIN")
            yield Snapshot(connection)
        finally:
            with suppress(sqlite3.Error):
                connection.execute("COMMIT")
            self._readers.put(connection)
            if self._closed:
                self._close_idle()

    def data_version(self) -> tuple[int, int]:
        """A value that changes whenever anyone, in any process, wrote to this index."""
        with self._write_lock:
            found: int = self._writer.execute("PRAGMA data_version").fetchone()[0]
            return found, self._writer.total_changes

    def apply(
        self, added: Sequence[Parsed], removed: Iterable[str] = (),
        touched: Iterable[tuple[str, Known]] = (),
    ) -> int:  # fmt: skip
        """Write notes, drop others, renew fingerprints of `touched` ones, in one transaction.

        Idempotent: what another process already wrote is skipped. Returns the generation.
        """
        with self._write_lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                for path in removed:
                    self._delete(path)
                for path, known in touched:
                    self._writer.execute(
                        "UPDATE note SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, read_ns = ?"
                        " WHERE path = ? AND digest = ?",
                        (*known.fingerprint, known.read_ns, path, known.digest),
                    )
                for parsed in added:
                    if not self._already_there(parsed):
                        self._delete(parsed.note.path)
                        self._insert(parsed)
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
        with self._write_lock, suppress(sqlite3.OperationalError):
            self._writer.execute("BEGIN IMMEDIATE")
            self._writer.executemany(
                "UPDATE note SET tokens = ? WHERE id = ? AND digest = ?",
                [(tokens, note_id, digest) for note_id, (digest, tokens) in counted.items()],
            )
            self._writer.execute("COMMIT")

    def settle(self) -> None:
        """Merge the word index after a full build: faster queries, smaller file."""
        with self._write_lock, suppress(sqlite3.OperationalError):
            self._writer.execute("INSERT INTO fts(fts) VALUES ('optimize')")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def mark_complete(self, *, complete: bool) -> None:
        """Remember whether the whole vault has been indexed once."""
        with self._write_lock:
            self._writer.execute("BEGIN IMMEDIATE")
            self._set_meta("complete", int(complete))
            self._writer.execute("COMMIT")

    def clear(self) -> None:
        """Drop every row: a rebuild that other open servers see at once."""
        with self._write_lock:
            self._writer.execute("BEGIN IMMEDIATE")
            for table in ("note", "section", "item", "status"):
                self._writer.execute(f"DELETE FROM {table}")  # noqa: S608  # fixed names
            self._writer.execute("INSERT INTO fts(fts) VALUES ('delete-all')")
            self._set_meta("complete", 0)
            self._set_meta("generation", int(self._meta("generation") or 0) + 1)
            self._writer.execute("COMMIT")

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
            _remove_unused(folder.parent, keep=folder.name)
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
                for statement in _SCHEMA.split(";\n"):
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

    def _already_there(self, parsed: Parsed) -> bool:
        """Whether another process has indexed this very state of the file."""
        found = self._writer.execute(
            "SELECT size, mtime_ns, ctime_ns, inode, digest FROM note WHERE path = ?",
            (parsed.note.path,),
        ).fetchone()
        return bool(found == (*parsed.fingerprint, parsed.digest))

    def _delete(self, path: str) -> None:
        writer = self._writer
        found = writer.execute(
            "SELECT id, title, aliases, tags, date FROM note WHERE path = ?", (path,)
        ).fetchone()
        if found is None:
            return
        note_id, title, aliases, tags, date = found
        rows = writer.execute(
            "SELECT id, headings, date, skip, text FROM section WHERE note_id = ?", (note_id,)
        ).fetchall()
        for section_id, headings, own_date, skip, text in rows:
            columns = search_columns(
                path=path, title=title, aliases=aliases, tags=tags, note_date=date,
                headings=headings.split("\n") if headings else (), date=own_date, text=text[skip:],
            )  # fmt: skip
            writer.execute(
                "INSERT INTO fts(fts, rowid, title, heads, path, body, cjk, dt)"
                " VALUES ('delete', ?, ?, ?, ?, ?, ?, ?)",
                (section_id, *columns),
            )
        for table in ("section", "item", "status"):
            writer.execute(f"DELETE FROM {table} WHERE note_id = ?", (note_id,))  # noqa: S608  # fixed names
        writer.execute("DELETE FROM note WHERE id = ?", (note_id,))

    def _insert(self, parsed: Parsed) -> None:
        note, writer = parsed.note, self._writer
        aliases, tags = "\n".join(note.aliases), "\n".join(note.tags)
        note_id = writer.execute(
            "INSERT INTO note VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                note.path, parsed.branch, note.title, note.date, note.date_source, note.kind,
                int(note.template), note.line_count, aliases, tags,
                json.dumps(note.units), json.dumps(note.remarks), note.line_digests,
                *parsed.fingerprint, parsed.read_ns, parsed.digest,
            ),
        ).lastrowid  # fmt: skip
        for ordinal, section in enumerate(note.sections):
            headings = "\n".join(" ".join(h.split("\n")) for h in section.headings)
            date = section_date(section.headings)
            section_id = writer.execute(
                "INSERT INTO section VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    note_id, ordinal, section.first_line, section.last_line, section.level,
                    int(section.opens), headings, date, section.skip, section.text,
                ),
            ).lastrowid  # fmt: skip
            columns = search_columns(
                path=note.path, title=note.title, aliases=aliases, tags=tags, note_date=note.date,
                headings=headings.split("\n") if headings else (), date=date,
                text=section.text[section.skip :],
            )  # fmt: skip
            writer.execute(
                "INSERT INTO fts(rowid, title, heads, path, body, cjk, dt) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (section_id, *columns),
            )
        writer.executemany(
            "INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    note_id,
                    i.line,
                    i.kind,
                    i.form,
                    i.state,
                    i.text,
                    "\n".join(i.owners),
                    i.due,
                    i.date,
                )
                for i in note.items
            ],
        )
        writer.executemany(
            "INSERT INTO status VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (note_id, s.line, s.last_line, s.heading, s.date, s.time, int(s.ambiguous))
                for s in note.statuses
            ],
        )


def _is_busy(error: sqlite3.Error) -> bool:
    return "locked" in str(error) or "busy" in str(error)


def _remove_unused(base: Path, keep: str) -> None:
    """Remove folders of indexes that nobody opened for a long time."""
    oldest = time.time() - UNUSED_DAYS * 86_400
    with suppress(OSError):
        for folder in base.iterdir():
            if folder.name != keep and folder.is_dir() and folder.stat().st_mtime < oldest:
                if (folder / FILE_NAME).exists():
                    shutil.rmtree(folder, ignore_errors=True)
