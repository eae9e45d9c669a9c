"""A pool of read connections to one database; each serves one snapshot at a time.

Not here: whether the file is still the one that was opened (`engine`), what is read (`view`).
"""

import queue
import sqlite3
from pathlib import Path

from workingset_mcp.caller import stop_if_gone
from workingset_mcp.index.sqlite.opening import connected

_STEPS = 200_000  # of SQLite's machine between two questions: some 10 ms


def _is_gone() -> bool:
    """Whether the statement under way is to end: `in_our_words` then raises what the caller asks for."""
    try:
        stop_if_gone()
    except BaseException:  # noqa: BLE001  # SQLite takes a yes or a no; it is raised again outside
        return True
    return False


class Readers:
    """A pool of connections to one file. Once it is closed, returned connections are closed too."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._closed = False

    def borrow(self) -> sqlite3.Connection:
        """Take a connection that nobody else uses. Raises sqlite3.Error."""
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            connection = connected(self._file)
            connection.execute("PRAGMA query_only = ON")
            connection.set_progress_handler(_is_gone, _STEPS)
            return connection

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Return a connection to the pool."""
        self._idle.put(connection)
        if self._closed:
            self._close_idle()

    def close(self) -> None:
        """Close the idle connections now, and those in use when they are returned."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return
