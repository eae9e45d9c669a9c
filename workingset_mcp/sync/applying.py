"""Read files that differ and write them into the index, in batches.

Not here: which files differ (`changes`); when to look, whom to notify, and the order of locks
(`freshness`).
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workingset_mcp.caller import stop_if_gone
from workingset_mcp.errors import VaultNotFound
from workingset_mcp.index import Engine, KnownFiles
from workingset_mcp.index.rows import Known, Parsed
from workingset_mcp.notes.note import parse_note, text_digest, unreadable_note
from workingset_mcp.sync.changes import Changes, Doubts, plan_changes
from workingset_mcp.sync.claims import Claims
from workingset_mcp.vault.files import is_absent
from workingset_mcp.vault.folder import Fingerprint, Vault

BATCH_NOTES = 400
STEP_SECONDS = 0.2  # longest wait before checking whether the caller has gone

Progress = Callable[[int, int], None]


class TakenOver(Exception):
    """Another database has replaced the one that was compared with the disk."""


def _ignore_progress(done: int, total: int) -> None:
    """Report progress to nobody."""


class Pass(NamedTuple):
    """The values shared by all batches of one refresh."""

    epoch: int
    total: int  # files in the scope
    deadline: float | None = None
    progress: Progress = _ignore_progress

    def is_late(self) -> bool:
        """Return whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline


@dataclass(slots=True)
class _Batch:
    """The result of reading some files: new contents, new fingerprints of known contents, removed files."""

    parsed: list[Parsed] = field(default_factory=list)
    touched: list[tuple[str, Known]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def after(self) -> dict[str, Known | None]:
        """Return what the index will know of these files after the write; None for a removed one."""
        fresh = {p.note.path: Known(p.fingerprint, p.read_ns, p.digest) for p in self.parsed}
        return {**dict.fromkeys(self.gone), **dict(self.touched), **fresh}


class Applier:
    """Reads files and writes them into the index, in any number of threads, never one file in two."""

    def __init__(
        self, vault: Vault, index: Engine, stopping: threading.Event,
        written: Callable[[Collection[str]], None],
    ) -> None:  # fmt: skip
        self.claims = Claims()
        self.doubts = Doubts()
        self.known = KnownFiles(vault.branch_of)
        self._vault, self._index = vault, index
        self._stopping, self._written = stopping, written  # `written` gets each batch's paths

    def apply(self, changes: Changes, disk: Mapping[str, Fingerprint], run: Pass) -> bool:
        """Read what differs and write it; return False when time is up or the server stops.

        Files that another thread is reading, or that another process has just written, are checked again.
        """
        while changes:
            left = self._apply_once(changes, disk, run)
            if left is None or not self._wait_until_free(left, run):
                return False
            with self._index.snapshot() as view:
                known = self.known.about(left, view)
            found = self._vault.look_at(left)
            disk = found.files
            changes = plan_changes(disk, known, self.doubts, found.unread) if left else Changes()
        return True

    def reads_the_same(self, path: str, seen: Fingerprint, known: Known) -> bool:
        """Return whether a doubtful file still has the bytes that the index knows."""
        read = self._read(path, seen, known)
        if not isinstance(read, Known):
            return False
        self.doubts.note_reading(path, read)
        return True

    def ensure_there(self) -> None:
        """Raise VaultNotFound unless the vault is there: nothing in it may count as gone before."""
        if not self._vault.is_bare():
            return
        with self._index.snapshot() as view:
            notes = view.note_count()
        if notes:
            raise VaultNotFound(
                f"The vault folder {self._vault.name!r} is empty, and the index knows {notes:,} notes of it.",
                "Mount it, or put a note into it; `workingset-mcp index --full` forgets what was there.",
            )

    def ensure_same(self, epoch: int) -> None:
        """Raise TakenOver unless the database still has this epoch."""
        if self._index.data_version()[0] != epoch:
            raise TakenOver

    def _apply_once(
        self, changes: Changes, disk: Mapping[str, Fingerprint], run: Pass
    ) -> list[str] | None:
        """Read and write the unclaimed files; return the others, or None if there is no time left."""
        to_read = [*changes.sure, *changes.doubtful]
        paths = [*changes.removed, *to_read]
        left: list[str] = []
        for start in range(0, len(paths), BATCH_NOTES):
            if run.is_late():
                return None
            left_here = self._apply_batch(paths[start : start + BATCH_NOTES], disk, run.epoch)
            if left_here is None:
                return None
            left += left_here
            waiting = min(len(to_read), max(0, len(paths) - start - BATCH_NOTES))
            run.progress(run.total - waiting, run.total)
        return left

    def _wait_until_free(self, paths: Collection[str], run: Pass) -> bool:
        while not self.claims.wait_until_free(paths, STEP_SECONDS):
            stop_if_gone()
            if self._stopping.is_set() or run.is_late():
                return False
        return True

    def _apply_batch(
        self, paths: Sequence[str], disk: Mapping[str, Fingerprint], epoch: int
    ) -> list[str] | None:
        """Read and write some files; return those to check again, or None if the server stops."""
        with self.claims.claiming(paths) as mine:
            with self._index.snapshot() as view:
                before = self.known.about(mine, view)
            seen = {path: disk[path] for path in mine if path in disk}
            changes = plan_changes(seen, before, self.doubts)  # others may have applied some
            batch = self._read_batch(changes, seen, before)
            if batch is None:
                return None
            left = self._write_batch(batch, before, epoch)
        return [*left, *(set(paths) - set(mine))]

    def _read_batch(
        self, changes: Changes, disk: Mapping[str, Fingerprint], before: Mapping[str, Known]
    ) -> _Batch | None:
        """Read files that may differ, without a lock; return None if the server stops."""
        batch, gone = _Batch(), list(changes.removed)
        for path in (*changes.sure, *changes.doubtful):
            stop_if_gone()
            if self._stopping.is_set():
                return None
            known = before.get(path)
            read = self._read(path, disk[path], known)
            if read is None:
                gone.extend([path] if known else [])
            elif isinstance(read, Known):
                self.doubts.note_reading(path, read)
                if known and known.fingerprint != read.fingerprint:
                    batch.touched.append((path, read))
            else:
                batch.parsed.append(read)
        batch.gone += self._surely_gone(gone)
        return None if self._stopping.is_set() else batch

    def _surely_gone(self, paths: Sequence[str]) -> list[str]:
        """Those of these paths where no note is now, in a vault that is there."""
        if not paths:
            return []
        there = self._vault.look_at(paths)
        self.ensure_there()
        gone = [path for path in paths if path not in there.files and path not in there.unread]
        for path in gone:
            self.doubts.note_read(path)
        return gone

    def _write_batch(self, batch: _Batch, before: Mapping[str, Known], epoch: int) -> list[str]:
        """Write what was read; return the files that another process wrote first with another content."""
        after = batch.after()
        if not after:
            return []
        with self.known.writing():
            self.ensure_same(epoch)
            generation = self._index.apply(batch.parsed, batch.gone, batch.touched, before=before)
            self.known.took(generation, before, after)
        self._written([*batch.gone, *(parsed.note.path for parsed in batch.parsed)])
        with self._index.snapshot() as view:
            now = self.known.about(after, view)
        return [path for path, known in after.items() if not _same_reading(known, now.get(path))]

    def _read(self, path: str, seen: Fingerprint, known: Known | None) -> Parsed | Known | None:
        """Read one file: parsed, only its fingerprint where the content is known, None when gone.

        One that cannot be read stays as it is known.
        """
        branch, read_ns = self._vault.branch_of(path), time.time_ns()
        try:
            raw, fingerprint = self._vault.read(path)
        except OSError as error:
            if is_absent(error):
                return None
            reason = error.strerror or "refused"
            self.doubts.note_unread(path, reason)
            if known and (known.digest or known.fingerprint == seen):
                return known
            return Parsed(
                unreadable_note(path, f"cannot be read: {reason}"), branch, seen, read_ns, b""
            )
        self.doubts.note_read(path)
        digest = text_digest(raw)
        if known and known.digest == digest:
            return Known(fingerprint, read_ns, digest)
        return Parsed(
            parse_note(path, raw, self._vault.settings), branch, fingerprint, read_ns, digest
        )


def _same_reading(one: Known | None, other: Known | None) -> bool:
    """Return whether both describe the same fingerprint and bytes, no matter when they were read."""
    if one is None or other is None:
        return one is other
    return one.fingerprint == other.fingerprint and one.digest == other.digest
