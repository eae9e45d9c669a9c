"""Compare the fingerprints of disk and index, and decide when a fingerprint leaves doubt.

Pure: no file is read or written here (see `applying`).
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from workingset_mcp.index.rows import Known
from workingset_mcp.vault.files import COARSE_CLOCK_STEP_NS, Fingerprint


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
) -> Changes:
    """Compare what is on disk with what the index knows.

    If a file was read within a clock step of its timestamp, a later write may not have changed the
    timestamp. Such a file is doubtful until `doubts` has settled this fingerprint.
    """
    added, modified, doubtful = [], [], []
    for path, fingerprint, seen in _not_surely_equal(disk, known):
        if seen is None:
            added.append(path)
        elif seen.fingerprint != fingerprint:
            modified.append(path)
        elif fingerprint.unseen_until() > seen.read_ns and not (
            doubts and doubts.settled(path, fingerprint)
        ):
            doubtful.append(path)
    removed = (
        [path for path in known if path not in disk] if len(known) + len(added) != len(disk) else []
    )
    return Changes(tuple(added), tuple(modified), tuple(removed), tuple(doubtful))


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
    ]


class Doubts:
    """Remembers which files were read long enough after their timestamp that a later write would show.

    It may be used from any thread; the lock is held briefly.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settled: dict[str, Fingerprint] = {}
        self._first_read: dict[str, tuple[Fingerprint, int]] = {}

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
