"""Making the index equal to the vault, and knowing how far it is.

An event is only a hint: whatever arrives, `refresh` compares fingerprints of disk and index
(`plan_changes`, pure), parses what differs and applies it. Correctness never depends on which
events came. Not here: when to look (`follower`), what an answer needs checked (`workspace`).
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from workingset_mcp.index import Index, Snapshot
from workingset_mcp.index.rows import Known, Parsed
from workingset_mcp.note import parse_note, text_digest, unreadable_note
from workingset_mcp.vault import Fingerprint, LeftOut, Vault

BATCH_NOTES = 200
FIRST_BUILD_WAIT_SECONDS = 5.0
_CLOCK_STEP_NS = 50_000_000  # file systems stamp in steps of up to some 10 ms
_COARSE_CLOCK_STEP_NS = 2_000_000_000  # FAT and some network disks

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Changes:
    """How the disk differs from the index. `doubtful` files must be read to know."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.modified or self.removed or self.doubtful)


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


def plan_changes(
    disk: Mapping[str, Fingerprint],
    known: Mapping[str, Known],
    settled: Mapping[str, Fingerprint] | None = None,
) -> Changes:
    """Compare what is on disk with what the index knows.

    A file whose stamp lies within the clock's step of the moment it was read may have been written
    again unseen: it is doubtful unless `settled` holds this very fingerprint.
    """
    settled = settled or {}
    added, modified, doubtful = [], [], []
    for path, fingerprint in disk.items():
        seen = known.get(path)
        if seen is None:
            added.append(path)
        elif seen.fingerprint != fingerprint:
            modified.append(path)
        else:
            stamp = fingerprint.ctime_ns if os.name == "posix" else fingerprint.mtime_ns
            if stamp + _COARSE_CLOCK_STEP_NS > seen.read_ns:
                step = _CLOCK_STEP_NS if stamp % 1_000_000 else _COARSE_CLOCK_STEP_NS
                if stamp + step > seen.read_ns and settled.get(path) != fingerprint:
                    doubtful.append(path)
    removed = (
        [path for path in known if path not in disk] if len(known) + len(added) != len(disk) else []
    )
    return Changes(tuple(added), tuple(modified), tuple(removed), tuple(doubtful))


class Freshness:
    """Keeps one index equal to one vault. Any thread may call it."""

    def __init__(self, vault: Vault, index: Index) -> None:
        self.vault = vault
        self.index = index
        self.state = State()
        self.left_out: list[LeftOut] = []
        self.walk_seconds = 1.0  # of the last look at the whole vault
        self.built = threading.Event()
        self.stopping = threading.Event()
        self.watcher = "off"
        self.listeners: list[
            Callable[[frozenset[str]], None]
        ] = []  # told of changed notes, by path
        # In memory one connection serves everyone: one lock, or two threads wait for each other.
        self._lock = index.write_lock if index.file is None else threading.RLock()
        self._settled: dict[str, Fingerprint] = {}
        self._known: dict[str, dict[str, Known]] = {}
        self._known_version: tuple[int, int] | None = None
        self._known_generation = -1
        with index.snapshot() as snapshot:
            if snapshot.complete():
                self.built.set()
                self.state = State("current")

    def refresh(
        self, branch: str | None = None, *, deadline: float | None = None,
        progress: Progress | None = None,
    ) -> bool:  # fmt: skip
        """Make the index equal to the disk, for the vault or one branch. True when it is.

        `deadline` (monotonic seconds): stop there with what is done, and return False.
        """
        started = time.monotonic()
        with self._lock:
            walk = self.vault.walk(branch)
            if branch is None:
                self.walk_seconds = time.monotonic() - started
                self.left_out = walk.left_out
            changes = plan_changes(walk.files, self._known_of(branch), self._settled)
        if not changes:
            if branch is None:
                self._mark_built()
            return True
        finished = self._apply(changes, walk.files, deadline, progress)
        if branch is None and finished:
            self._mark_built()
        return finished

    def is_current(
        self, branch: str | None = None, paths: Sequence[str] | None = None,
        snapshot: Snapshot | None = None,
    ) -> bool:  # fmt: skip
        """Whether disk and index, or a snapshot of it, agree on the vault, a branch, or these paths."""
        with self._lock:
            if paths is not None:
                return not self._changes_of(paths, snapshot)[0]
            disk = self.vault.walk(branch).files
            return not plan_changes(disk, self._known_to(snapshot, branch), self._settled)

    def refresh_paths(self, paths: Iterable[str]) -> bool:
        """Make the index equal to the disk for these paths. True when anything differed."""
        with self._lock:
            changes, disk = self._changes_of(paths)
            if not changes:
                return False
            before = self._known_version
            self._apply(changes, disk, None, None)
            return self._known_version != before or bool(changes.modified or changes.removed)

    def _changes_of(
        self, paths: Iterable[str], snapshot: Snapshot | None = None
    ) -> tuple[Changes, dict[str, Fingerprint]]:
        known, disk = {}, {}
        for path in paths:
            seen = self._known_to(snapshot, self.vault.branch_of(path)).get(path)
            now = self.vault.fingerprint(path)
            if seen:
                known[path] = seen
            if now:
                disk[path] = now
        return plan_changes(disk, known, self._settled), disk

    def build(self, progress: Progress | None = None) -> None:
        """Index the whole vault once; when another process is at it, wait for that one."""
        while not self.stopping.is_set():
            with self.index.build_turn() as mine:
                if mine:
                    with self.index.snapshot() as snapshot:
                        first = not snapshot.complete()
                    if self.refresh(progress=progress) and first:
                        self.index.settle()
                    return
            with self.index.snapshot() as snapshot:
                complete, done = snapshot.complete(), snapshot.note_count()
            if complete:
                self.refresh()
                return
            self.state.done = done
            self.stopping.wait(0.05)

    def wait_until_built(self, seconds: float = FIRST_BUILD_WAIT_SECONDS) -> bool:
        """Wait for the first full build; False when it takes longer, or the server ends."""
        deadline = time.monotonic() + seconds
        while not self.built.wait(0.1):
            if self.stopping.is_set() or time.monotonic() >= deadline:
                return False
        return True

    def state_token(self) -> object:
        """A value that changes with the index: for keeping what was derived from it."""
        return self.index.data_version()

    def knows_below(self, folder: str) -> bool:
        """Whether the index knows a note below this folder."""
        with self._lock:
            return any(path.startswith(f"{folder}/") for path in self._known_of(None))

    def start_anew(self) -> None:
        """Put a new, empty file in the place of a damaged one, and forget what was known."""
        with self._lock:
            self.index.replace_damaged()
            self.built.clear()
            self.state = State()
            self._known_version = None
            self._settled.clear()

    def note_failure(self, error: BaseException) -> None:
        """Remember that keeping up failed, until a refresh succeeds again."""
        self.state = State("failing", problem=type(error).__name__)

    def _mark_built(self) -> None:
        if not self.built.is_set():
            self.index.mark_complete(complete=True)
            self.built.set()
            self._tell_listeners(())
        if self.state.name != "current":
            self.state = State("current")

    def _apply(
        self, changes: Changes, disk: Mapping[str, Fingerprint], deadline: float | None,
        progress: Progress | None,
    ) -> bool:  # fmt: skip
        to_read = [*changes.added, *changes.modified, *changes.doubtful]
        whole = not self.built.is_set() and self.state.name == "building"
        if whole:
            self.state.total = max(self.state.total, len(disk))
        removed: tuple[str, ...] = changes.removed
        for start in range(0, len(to_read) or 1, BATCH_NOTES):
            if self.stopping.is_set() or (deadline is not None and time.monotonic() > deadline):
                return False
            batch = to_read[start : start + BATCH_NOTES]
            with self._lock:
                self._apply_batch(batch, removed, disk)
            removed = ()
            done = len(disk) - len(to_read) + min(len(to_read), start + BATCH_NOTES)
            if whole:
                self.state.done = max(self.state.done, done)
            if progress:
                progress(done, len(disk))
        return True

    def _apply_batch(
        self, batch: list[str], removed: tuple[str, ...], disk: Mapping[str, Fingerprint]
    ) -> None:
        parsed: list[Parsed] = []
        touched: list[tuple[str, Known]] = []
        gone: list[str] = list(removed)
        for path in batch:
            known = self._known_of(self.vault.branch_of(path)).get(path)
            read = self._read(path, disk[path], known)
            if read is None:
                gone.extend([path] if known else [])
            elif isinstance(read, Known):
                self._settled[path] = read.fingerprint
                if known and known.fingerprint != read.fingerprint:
                    touched.append((path, read))
            else:
                parsed.append(read)
        if not (parsed or touched or gone):
            return
        before = self.index.data_version()
        generation = self.index.apply(parsed, gone, touched)
        changed = [*gone, *(p.note.path for p in parsed)]
        if changed and self.built.is_set():
            self._tell_listeners(changed)
        if self._known_version != before:
            self._known_version = None
            return
        for path in gone:
            self._known.get(self.vault.branch_of(path), {}).pop(path, None)
        fresh = [(p.note.path, Known(p.fingerprint, p.read_ns, p.digest)) for p in parsed]
        for path, known in [*touched, *fresh]:
            self._known.setdefault(self.vault.branch_of(path), {})[path] = known
        after = self.index.data_version()
        self._known_version = after if after[0] == before[0] else None
        self._known_generation = generation

    def _tell_listeners(self, paths: Sequence[str]) -> None:
        for listener in list(self.listeners):
            listener(frozenset(paths))

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

    def _known_to(self, snapshot: Snapshot | None, branch: str | None) -> Mapping[str, Known]:
        """What a snapshot has, which is what the index has unless someone wrote since."""
        known = self._known_of(branch)
        if snapshot is None or snapshot.generation() == self._known_generation:
            return known
        return snapshot.known(branch)

    def _known_of(self, branch: str | None) -> Mapping[str, Known]:
        """What the index knows, from memory unless another process wrote to it."""
        version = self.index.data_version()
        if version != self._known_version:
            with self.index.snapshot() as snapshot:
                rows = snapshot.known()
                self._known_generation = snapshot.generation()
            self._known = {}
            for path, known in rows.items():
                self._known.setdefault(self.vault.branch_of(path), {})[path] = known
            self._known_version = version
        if branch is not None:
            return self._known.get(branch, {})
        return {path: known for part in self._known.values() for path, known in part.items()}
