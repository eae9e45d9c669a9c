"""Making the index equal to the vault, and knowing how far it is.

An event is only a hint: whatever arrives, `refresh` compares fingerprints of disk and index, parses
what differs and applies it. Correctness never depends on which events came. Not here: what differs
(`changes`), when to look (`follower`), what an answer needs checked (`workspace`).
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from workingset_mcp.caller import stop_if_gone
from workingset_mcp.errors import IndexUnavailable, WorkingsetError
from workingset_mcp.index import Engine, KnownFiles, View
from workingset_mcp.index.rows import Known, Parsed
from workingset_mcp.notes.note import parse_note, text_digest, unreadable_note
from workingset_mcp.sync.changes import Changes, Doubts, plan_changes
from workingset_mcp.vault.folder import Fingerprint, LeftOut, Vault

BATCH_NOTES = 400
FIRST_BUILD_WAIT_SECONDS = 5.0

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class State:
    """How fresh the index is: `building`, `current`, `behind` or `failing`."""

    name: str = "building"
    done: int = 0
    total: int = 0
    problem: str = ""

    def __str__(self) -> str:
        if self.name == "building":
            percent = 100 * self.done // self.total if self.total else 0
            return f"indexing {self.done:,} of {self.total:,} notes ({percent} %)"
        if self.name == "failing":
            return f"index failing: {self.problem}"
        return f"index {self.name}"


class _TakenOver(Exception):
    """Another database took over from the one that was compared with the disk."""


class Freshness:
    """Keeps one index equal to one vault. Any thread may call it.

    Its methods raise IndexDamaged; without a follower also IndexUnavailable, when the index takes no
    writes. With one, that is remembered (`state`) and tried again.
    """

    def __init__(self, vault: Vault, index: Engine) -> None:
        self.vault = vault
        self.index = index
        self.state = State()
        self.left_out: dict[str | None, Sequence[LeftOut]] = {}  # as last seen; None: of the vault
        self.walked_files = 0  # when the whole vault was last made equal; none yet
        self.built = threading.Event()
        self.stopping = threading.Event()
        self.watcher = "off"  # then: starting, events or polling
        self.listeners: list[Callable[[frozenset[str]], None]] = []  # told of changed paths
        # In memory one connection serves everyone: one lock, or two threads wait for each other.
        self._lock = index.write_lock
        self._building = threading.Lock()
        self._doubts = Doubts()
        self._known = KnownFiles(index, vault.branch_of)
        self._looks: dict[str | None, Mapping[str, Fingerprint]] = {}  # that found a difference
        self._look_at_index()

    def refresh(
        self, branch: str | None = None, *, deadline: float | None = None,
        progress: Progress | None = None, looked: bool = False,
    ) -> bool:  # fmt: skip
        """Make the index equal to the disk, for the vault or one branch. True when it is.

        `deadline` (monotonic seconds): stop there with what is done, and return False. `looked`: what
        `is_current` saw of this scope will do, since its caller asks that again afterwards.
        """
        while True:
            seen = self._looks.pop(branch, None)
            try:
                return self._refresh(branch, seen if looked else None, deadline, progress)
            except _TakenOver:
                continue
            except IndexUnavailable as error:
                if self.watcher == "off":  # nobody tries again
                    raise
                self.note_failure(error)
                return False

    def is_current(
        self, branch: str | None = None, paths: Sequence[str] | None = None,
        snapshot: View | None = None,
    ) -> bool:  # fmt: skip
        """Whether disk and index, or a snapshot of it, agree on the vault, a branch, or these paths.

        Only files in doubt are read.
        """
        disk: Mapping[str, Fingerprint]
        if paths is not None:
            disk, known = self._about(paths, snapshot)
        else:
            known = self._known_of(branch, snapshot)
            disk = self._look_at_disk(branch)
        changes = plan_changes(disk, known, self._doubts.settled)
        if changes.sure or changes.removed:
            if paths is None:
                self._looks[branch] = disk
            return False
        return all(self._reads_the_same(path, disk[path], known[path]) for path in changes.doubtful)

    def differing(self) -> dict[str, Fingerprint | None]:
        """Files that differ from what the index has of them, as they are now; None: gone."""
        known = self._known_of(None)
        disk = self.vault.walk().files
        changes = plan_changes(disk, known, self._doubts.settled)
        return {path: disk.get(path) for path in (*changes.sure, *changes.removed)}

    def refresh_paths(self, paths: Iterable[str]) -> bool:
        """Make the index equal to the disk for these paths. True when anything differed.

        A path that is there, and is no note any more (an ignore file, a link), may not be the only
        one: then the whole vault is looked at.
        """
        with self._lock:
            disk, known = self._about(list(paths))
            changes = plan_changes(disk, known, self._doubts.settled)
            if not changes:
                return False
            if any(self.vault.fingerprint(path) for path in changes.removed):
                self.refresh()
                return True
            before = self.index.data_version()
            with suppress(_TakenOver):
                self._apply(changes, disk, before[0], None, None)
            return self.index.data_version() != before

    def build(self, progress: Progress | None = None) -> None:
        """Index the whole vault once; when another thread or process is at it, wait for that one."""
        with self._building:
            while not self.stopping.is_set():
                with self.index.build_turn() as mine:
                    if mine:
                        self.refresh(progress=progress)
                        break
                with self.index.snapshot() as snapshot:
                    complete, done = snapshot.complete(), snapshot.note_count()
                if complete:
                    self.refresh()
                    break
                self.state.done = done
                self.stopping.wait(0.1)
        self.settle()

    def settle(self) -> bool:
        """Merge the words of a first build, unless that was done; False while another is at it."""
        with self.index.snapshot() as snapshot:
            if not snapshot.unmerged():
                return True
        with self.index.build_turn() as mine:
            if mine:
                self.index.settle(self.stopping)
        return mine

    def wait_until_built(self, seconds: float = FIRST_BUILD_WAIT_SECONDS) -> bool:
        """Wait for a build under way; False when the first takes longer, or fails, or the server ends."""
        deadline = time.monotonic() + seconds
        while not (self.built.wait(0.1) and self._building.acquire(timeout=0.1)):
            stop_if_gone()
            over = self.stopping.is_set() or time.monotonic() >= deadline
            if over or self.state.name == "failing":
                return self.built.is_set()
        self._building.release()
        return True

    def knows_below(self, folder: str) -> bool:
        """Whether the index knows a note below this folder."""
        with self.index.snapshot() as snapshot:
            return snapshot.has_below(folder)

    def start_anew(self, epoch: int | None = None) -> None:
        """Put a new file in the place of a damaged one, and forget what was known.

        `epoch`: of the damaged file (`IndexDamaged.epoch`). Nothing is done when another thread
        replaced that one already; what another process has built already is taken.
        """
        with self._lock:
            if self.index.replace_damaged(epoch):
                self.built.clear()
                self.walked_files = 0
                self.state = State()
                self._doubts.clear()
                self._look_at_index()

    def note_failure(self, error: BaseException) -> None:
        """Remember that keeping up failed, until a refresh succeeds again."""
        named = error.message if isinstance(error, WorkingsetError) else type(error).__name__
        self.state = State("failing", problem=named.removesuffix("."))

    def _look_at_index(self) -> None:
        with self.index.snapshot() as snapshot:
            if snapshot.complete():
                self.built.set()
                self.state = State("current")

    def _about(
        self, paths: Sequence[str], view: View | None = None
    ) -> tuple[dict[str, Fingerprint], dict[str, Known]]:
        """What disk and index say of these paths."""
        with self._lock:
            known = self._known.about(paths, view)
        return self.vault.fingerprints(paths), known

    def _refresh(
        self, branch: str | None, disk: Mapping[str, Fingerprint] | None, deadline: float | None,
        progress: Progress | None,
    ) -> bool:  # fmt: skip
        epoch, known = self.index.data_version()[0], self._known_of(branch)
        if disk is None:  # the disk last: what another process indexes meanwhile is only added
            disk = self._look_at_disk(branch)
        changes = plan_changes(disk, known, self._doubts.settled)
        if changes and not self._apply(changes, disk, epoch, deadline, progress):
            return False
        if branch is None:
            with self._lock:
                self._ensure_same(epoch)
                self._mark_built()
                self.walked_files = len(disk)
        return True

    def _look_at_disk(self, branch: str | None) -> Mapping[str, Fingerprint]:
        walk = self.vault.walk(branch)
        self.left_out[branch] = walk.left_out or ()
        return walk.files

    def _known_of(self, branch: str | None, view: View | None = None) -> dict[str, Known]:
        with self._lock:
            known = dict(self._known.of(branch, view))
            self._tell_listeners(self._known.news())  # what another process read first
        return known

    def _mark_built(self) -> None:
        if not self.built.is_set():
            self.index.mark_complete()
            self.built.set()
            for listener in list(self.listeners):
                listener(frozenset())
        self.state = State("current")

    def _ensure_same(self, epoch: int) -> None:
        if self.index.data_version()[0] != epoch:
            raise _TakenOver

    def _apply(
        self, changes: Changes, disk: Mapping[str, Fingerprint], epoch: int, deadline: float | None,
        progress: Progress | None,
    ) -> bool:  # fmt: skip
        to_read = [*changes.added, *changes.modified, *changes.doubtful]
        whole = not self.built.is_set() and self.state.name == "building"
        if whole:
            self.state.total = max(self.state.total, len(disk))
        removed: tuple[str, ...] = changes.removed
        for start in range(0, len(to_read) or 1, BATCH_NOTES):
            if deadline is not None and time.monotonic() > deadline:
                return False
            batch = to_read[start : start + BATCH_NOTES]
            with self._lock:
                self._ensure_same(epoch)
                if not self._apply_batch(batch, removed, disk):
                    return False
            removed = ()
            done = len(disk) - len(to_read) + min(len(to_read), start + BATCH_NOTES)
            if whole:
                self.state.done = max(self.state.done, done)
            if progress:
                progress(done, len(disk))
        return True

    def _apply_batch(
        self, batch: Sequence[str], removed: Sequence[str], disk: Mapping[str, Fingerprint]
    ) -> bool:
        """Read and write some notes; False when there is no time, since the server ends."""
        parsed: list[Parsed] = []
        touched: list[tuple[str, Known]] = []
        there = self.vault.fingerprints(removed)  # again by now
        gone = [path for path in removed if path not in there]
        all_known = self._known.about(batch)
        for path in batch:
            stop_if_gone()
            if self.stopping.is_set():
                return False
            known = all_known.get(path)
            read = self._read(path, disk[path], known)
            if read is None:
                gone.extend([path] if known else [])
            elif isinstance(read, Known):
                self._doubts.note_reading(path, read)
                if known and known.fingerprint != read.fingerprint:
                    touched.append((path, read))
            else:
                parsed.append(read)
        if not (parsed or touched or gone):
            return not self.stopping.is_set()
        generation = self.index.apply(parsed, gone, touched)
        if self.state.name == "failing" and self.built.is_set():
            self.state = State("current")
        fresh = [(p.note.path, Known(p.fingerprint, p.read_ns, p.digest)) for p in parsed]
        self._known.took(generation, gone, [*touched, *fresh])
        self._tell_listeners([*gone, *(p.note.path for p in parsed)])
        return True

    def _tell_listeners(self, paths: Collection[str]) -> None:
        """Tell of changed notes; while a first build runs, of none."""
        if not (paths and self.built.is_set()):
            return
        for listener in list(self.listeners):
            listener(frozenset(paths))

    def _reads_the_same(self, path: str, seen: Fingerprint, known: Known) -> bool:
        read = self._read(path, seen, known)
        if not isinstance(read, Known):
            return False
        self._doubts.note_reading(path, read)
        return True

    def _read(self, path: str, seen: Fingerprint, known: Known | None) -> Parsed | Known | None:
        """Read one file: parsed, only its fingerprint where the content is known, None when gone."""
        branch, read_ns = self.vault.branch_of(path), time.time_ns()
        try:
            raw, fingerprint = self.vault.read(path)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            if known and known.fingerprint == seen and not known.digest:
                return Known(seen, read_ns, b"")  # still unreadable, as known
            note = unreadable_note(path, f"cannot be read: {error.strerror or 'refused'}")
            return Parsed(note, branch, seen, read_ns, b"")
        digest = text_digest(raw)
        if known and known.digest == digest:
            return Known(fingerprint, read_ns, digest)
        return Parsed(
            parse_note(path, raw, self.vault.settings), branch, fingerprint, read_ns, digest
        )
