"""What an error of SQLite means for us: damage, a place that cannot be written, somebody else's turn.

A bug in a statement stays the error it is. Not here: what is done then (`engine`).
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from workingset_mcp.caller import stop_if_gone
from workingset_mcp.errors import IndexDamaged, IndexHeld, IndexUnavailable

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_DAMAGED_IN_DETAIL = {
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_READONLY_DBMOVED,
    sqlite3.SQLITE_CONSTRAINT_UNIQUE,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
    sqlite3.SQLITE_CONSTRAINT_ROWID,
}
_DAMAGED_IN_WORDS = ("no such table", "no such column", "vtable constructor", "malformed", "UTF-8")
_NOT_WRITABLE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
}
_ANOTHERS_TURN = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is no index any more, or not one whole."""
    return (
        _code(error) & 0xFF in _DAMAGED
        or _code(error) in _DAMAGED_IN_DETAIL
        or (
            isinstance(error, sqlite3.OperationalError)
            and any(words in str(error) for words in _DAMAGED_IN_WORDS)
        )
    )


def cannot_write(error: sqlite3.Error) -> bool:
    """Whether the file cannot be written: a full disk, no permission."""
    return _code(error) & 0xFF in _NOT_WRITABLE and not is_damage(error)


def is_full(error: sqlite3.Error) -> bool:
    """Whether there is no room on the disk; a file there may be whole."""
    return cannot_write(error) and _code(error) & 0xFF != sqlite3.SQLITE_CANTOPEN


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection has its turn."""
    return _code(error) & 0xFF in _ANOTHERS_TURN


@contextmanager
def in_our_words(epoch: int) -> Iterator[None]:
    """Raise what SQLite says inside as IndexDamaged (of the file with this epoch) or IndexUnavailable."""
    try:
        yield
    except sqlite3.Error as error:
        if is_damage(error):
            raise IndexDamaged(f"The index is damaged: {error}.", epoch=epoch) from error
        if cannot_write(error):
            raise IndexUnavailable(
                f"The index cannot be kept: {error}.",
                "Free some space, or give another folder: --index-dir PATH.",
            ) from error
        if is_busy(error):
            raise IndexHeld(
                "Another process holds the index.",
                "Ask again once that process goes on or ends; it may be stopped.",
            ) from error
        if _code(error) == sqlite3.SQLITE_INTERRUPT:
            stop_if_gone()
            raise IndexUnavailable("The index is being closed.") from error
        raise


def _code(error: sqlite3.Error) -> int:
    """The code of SQLite; 0 for an error of Python's own."""
    return getattr(error, "sqlite_errorcode", 0)
