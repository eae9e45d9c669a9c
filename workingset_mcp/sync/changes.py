"""Compare the fingerprints of disk and index, and decide when a fingerprint leaves doubt.

Pure: no file is read or written here (see `applying`).
"""

import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from workingset_mcp.index.rows import Known
from workingset_mcp.vault.files import COARSE_CLOCK_STEP_NS, Fingerprint
from workingset_mcp.vault.ignoring import folders_above


@dataclass(frozen=True, slots=True)
class Changes:
    """How the disk differs from the index. `doubtful` files must be read to find out."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()

    @property
    def sure(self) -> tuple[str, ...]:
        """The files that exist and certainly differ from the index."""
        return self.added + self.modified

    def __bool__(self) -> bool:
        return bool(self.sure or self.removed or self.doubtful)


def plan_changes(
    disk: Mapping[str, Fingerprint],
    known: Mapping[str, Known],
    doubts: "Doubts | None" = None,
    unread: Collection[str] = (),
) -> Changes:
    """Compare what is on disk with what the index knows.

    `unread`: files and folders that could not be looked at: nothing there counts as removed. A note whose
    text could not be read is doubtful, as the next reading may succeed.

    A file whose stamp lies within the clock's step of the moment it was read may have been written
    again unseen: it is doubtful until `doubts` says that this very fingerprint is settled.
    """
    added, modified, doubtful = [], [], []
    for path, fingerprint, seen in _not_surely_equal(disk, known):
        if seen is None:
            added.append(path)
        elif not seen.digest or (doubts and doubts.is_unread(path)):
            doubtful.append(path)
        elif seen.fingerprint != fingerprint:
            modified.append(path)
        elif fingerprint.unseen_until() > seen.read_ns and not (
            doubts and doubts.settled(path, fingerprint)
        ):
            doubtful.append(path)
    removed = (
        [path for path in known if path not in disk] if len(known) + len(added) != len(disk) else []
    )
    if removed and unread:
        removed = [path for path in removed if not _lies_in(path, unread)]
    return Changes(tuple(added), tuple(modified), tuple(removed), tuple(doubtful))


def _lies_in(path: str, places: Collection[str]) -> bool:
    """Whether a path is one of these places, or lies in one."""
    return path in places or any(above in places for above in folders_above(path))


def _not_surely_equal(
    disk: Mapping[str, Fingerprint], known: Mapping[str, Known]
) -> list[tuple[str, Fingerprint, Known | None]]:
    """Return the few files that differ, or that were read soon after they were written."""
    return [
        (path, now, seen)
        for path, now in disk.items()
        if (seen := known.get(path)) is None
        or seen.fingerprint != now
        or now.ctime_ns > seen.read_ns - COARSE_CLOCK_STEP_NS
        or now.mtime_ns > now.ctime_ns
        or not seen.digest
    ]


class Doubts:
    """Remembers which files were read long enough after their timestamp that a later write would show.

    It may be used from any thread; the lock is held briefly.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settled: dict[str, Fingerprint] = {}
        self._first_read: dict[str, tuple[Fingerprint, int]] = {}
        self._unread: dict[str, str] = {}  # notes, each with what the system says

    def note_unread(self, path: str, reason: str) -> None:
        """Remember that the text of a note cannot be read."""
        with self._lock:
            self._unread[path] = reason

    def note_read(self, path: str) -> None:
        """Remember that a note was read, or is gone."""
        if path in self._unread:
            with self._lock:
                self._unread.pop(path, None)

    def is_unread(self, path: str) -> bool:
        """Whether the last reading of a note failed."""
        return path in self._unread

    def unread(self) -> dict[str, str]:
        """Every note whose last reading failed, with what the system said."""
        with self._lock:
            return dict(self._unread)

    def settled(self, path: str, fingerprint: Fingerprint) -> bool:
        """Return whether a file with this fingerprint needs no further reading."""
        with self._lock:
            return self._settled.get(path) == fingerprint

    def note_reading(self, path: str, read: Known) -> None:
        """Record a reading of a doubtful file; it settles if the timestamp was over a clock step old.

        A timestamp in the future (from another machine, or set by hand) settles when two readings are
        more than two of the coarsest clock steps apart.
        """
        fingerprint, now = read.fingerprint, time.monotonic_ns()
        with self._lock:
            first, when = self._first_read.setdefault(path, (fingerprint, now))
            if first != fingerprint:
                self._first_read[path] = (fingerprint, now)
            waited = first == fingerprint and now - when > 2 * COARSE_CLOCK_STEP_NS
            if waited or read.read_ns >= fingerprint.unseen_until():
                self._settled[path] = fingerprint
                del self._first_read[path]

    def clear(self) -> None:
        """Forget what is settled: every file can be doubtful again."""
        with self._lock:
            self._settled.clear()
            self._first_read.clear()
            self._unread.clear()
