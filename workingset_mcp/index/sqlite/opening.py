"""Open a database file: set up a connection, create the tables, check the file, lock the build.

Not here: what happens to a file that fails the check (`engine`).
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workingset_mcp.index.sqlite.failures import is_busy
from workingset_mcp.index.sqlite.location import content_stamp, schema
from workingset_mcp.index.sqlite.writing import merge_as_written

BUSY_SECONDS = 1.0  # an answer may wait for it; a process that holds the lock may be stopped
_WRITER_CACHE_KILOBYTES = 16_000
_READER_CACHE_KILOBYTES = 4_000  # per running call; the system caches the file's pages anyway


def connected(file: Path | None, *, writes: bool = False) -> sqlite3.Connection:
    """Connect to a file, or to a new database in memory, for use in any thread. Raises sqlite3.Error.

    The file is never memory-mapped: it may be truncated while it is read, and the system kills a
    process that touches a lost page.
    """
    connection = sqlite3.connect(
        str(file or ":memory:"),
        timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False,
    )  # fmt: skip
    if file is not None:
        # On a file that is there, `PRAGMA auto_vacuum` takes the write lock: readers must not.
        if not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("PRAGMA page_size = 8192")  # half as much stays empty
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # `settle` gives free pages back
        connection.execute("PRAGMA journal_mode = WAL")
        with suppress(OSError):
            file.chmod(0o600)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA temp_store = MEMORY")
    kilobytes = _WRITER_CACHE_KILOBYTES if writes else _READER_CACHE_KILOBYTES
    connection.execute(f"PRAGMA cache_size = -{kilobytes}")
    return connection


def ensure_schema(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty database; take no lock where they are. Raises sqlite3.Error."""
    if _has_tables(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _has_tables(connection):  # another process may have been faster
            for statement in schema().split(";\n"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute("INSERT INTO meta VALUES ('schema', ?)", (content_stamp(),))
            merge_as_written(connection, on=False)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def check(connection: sqlite3.Connection, file: Path | None) -> None:
    """Raise sqlite3.DatabaseError if a file is truncated, has another schema, or is inconsistent."""
    page_bytes = connection.execute("PRAGMA page_size").fetchone()[0]
    if file is not None and file.stat().st_size % page_bytes:
        raise sqlite3.DatabaseError("cut within a page")
    connection.execute("BEGIN")
    try:
        _check_parts(connection)
    finally:
        with suppress(sqlite3.Error):
            connection.execute("COMMIT")


@contextmanager
def build_turn(place: Path | None) -> Iterator[bool]:
    """Hold the build lock at a path; the value is False if another process holds it.

    The lock is on a separate database file, so it ends with its process, even a killed one. If the file
    cannot be created, every process gets a turn: building twice is slow but not wrong.
    """
    lock = None
    try:
        if place is not None:
            lock = sqlite3.connect(place, timeout=0, isolation_level=None)
            with suppress(OSError):
                place.chmod(0o600)
            lock.execute("BEGIN EXCLUSIVE")
        mine = True
    except sqlite3.Error as error:
        mine = not is_busy(error)
    try:
        yield mine
    finally:
        if lock is not None:
            lock.close()


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _check_parts(connection: sqlite3.Connection) -> None:
    found = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    if not found or found[0] != content_stamp():
        raise sqlite3.DatabaseError("another schema")
    sections = connection.execute("SELECT count(*) FROM section").fetchone()[0]
    searchable = connection.execute("SELECT count(*) FROM fts_docsize").fetchone()[0]
    if sections != searchable:
        raise sqlite3.DatabaseError("sections and searchable rows differ")
    connection.execute("SELECT 1 FROM fts WHERE fts MATCH 'a' LIMIT 1").fetchone()
    connection.execute("SELECT count(*) FROM note").fetchone()
