"""Bring the index in step with the vault, and report its progress.

An event is only a hint: `refresh` always compares the fingerprints of disk and index, parses what
differs and applies it. Correctness never depends on which events arrived. Not here: what differs
(`changes`), reading and writing it (`applying`), when to look (`follower`), what to check for an answer
(`workspace`).

Locks, in the order in which a thread may take them:

1. Claims on files (`claims`): held while these files are read, parsed and written. A thread that
   finds a file claimed goes on with the others, and waits only when it holds no claim.
2. The turn to write (`KnownFiles.writing`): held while one batch is written.
3. The engine's own lock. An open view of an index in memory holds it too: while a view is open, a
   thread may only take the locks of step 4. `known_in` takes no others.
4. The locks that guard values in memory (here, in `KnownFiles` and in `Doubts`): held briefly, without
   reading, waiting or calling anything.

So no file is read or parsed under the engine's lock. A check whether an answer is current never waits
for threads that read files, nor (with an index on disk) for writers of the index.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from workingset_mcp.caller import stop_if_gone
from workingset_mcp.errors import IndexHeld, IndexUnavailable, WorkingsetError
from workingset_mcp.index import Engine, View
from workingset_mcp.index.rows import Known
from workingset_mcp.sync.applying import STEP_SECONDS, Applier, Pass, Progress, TakenOver
from workingset_mcp.sync.changes import plan_changes
from workingset_mcp.vault.folder import Fingerprint, LeftOut, Vault, Walk
from workingset_mcp.vault.ignoring import WhyLeftOut

FIRST_BUILD_WAIT_SECONDS = 5.0
RETRY_SECONDS = 1.0  # between two tries to write an index that another process holds
STOPPED_SECONDS = 5.0  # another process that builds and writes nothing for so long may be stopped
HELD = "another process holds the index"
HELD_HINT = "Ask again once that process goes on or ends; it may be stopped."


@dataclass(frozen=True, slots=True)
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
        return f"index {self.name}: {self.problem}" if self.problem else f"index {self.name}"

    @property
    def is_held(self) -> bool:
        """Whether changes wait for another process that holds the write lock of the index."""
        return self.problem == HELD


class Freshness:
    """Keeps one index in step with one vault, and may be called from any thread.

    Its methods raise IndexDamaged; without a follower also IndexUnavailable, when the index takes no
    writes. With one, that is remembered (`state`) and tried again. While another process holds the
    index, `state` says so, and nothing but `build` and `clear` raises IndexHeld.
    """

    def __init__(self, vault: Vault, index: Engine) -> None:
        self.vault = vault
        self.index = index
        self.built = threading.Event()
        self.stopping = threading.Event()
        self.watcher = "off"  # then starting, events or polling; only the follower sets it
        self.listeners: list[Callable[[frozenset[str]], None]] = []  # get the changed paths
        # Values written under the lock, each replaced as a whole, so reading needs no lock.
        self._changed = threading.Condition(threading.Lock())  # of `built`, `building`, `state`
        self.state = State()
        self.building = False
        self.left_out: Mapping[
            str | None, Sequence[LeftOut]
        ] = {}  # by branch, from the last walk; None: the vault
        self.walked_files = 0  # in the last full refresh; 0 before the first
        self._looks: dict[str | None, Walk] = {}  # that found a difference
        self._applier = Applier(vault, index, self.stopping, self._note_written)
        self._look_at_index()

    def stop(self) -> None:
        """Stop every wait and every running batch, because the server stops."""
        with self._changed:
            self.stopping.set()
            self._changed.notify_all()

    def refresh(
        self, branch: str | None = None, *, deadline: float | None = None,
        progress: Progress | None = None, looked: bool = False,
    ) -> bool:  # fmt: skip
        """Bring the index in step with the disk, for the vault or one branch; return whether it is.

        `deadline` (monotonic seconds): stop then with what is done, and return False. `looked`: reuse
        the walk that `is_current` just made; its caller checks again afterwards.
        """
        while True:
            with self._changed:
                last_walk = self._looks.pop(branch, None)
            try:
                return self._refresh(branch, last_walk if looked else None, deadline, progress)
            except TakenOver:
                continue
            except IndexHeld:
                self._note_held()
                return False
            except IndexUnavailable as error:
                if self.watcher == "off":  # nobody would retry
                    raise
                self.note_failure(error)
                return False

    def known_in(
        self, view: View, branch: str | None = None, paths: Sequence[str] | None = None
    ) -> dict[str, Known]:
        """Return what a view of the index knows of the vault's files, a branch's, or these paths."""
        return (
            self._applier.known.of(branch, view)
            if paths is None
            else self._applier.known.about(paths, view)
        )

    def is_current(
        self, branch: str | None = None, paths: Sequence[str] | None = None,
        known: Mapping[str, Known] | None = None,
    ) -> bool:  # fmt: skip
        """Return whether disk and index agree on the vault, a branch, or these paths.

        `known`: what a view of the index knew of them (`known_in`), instead of the newest state. Only
        doubtful files are read.
        """
        if known is None:
            with self.index.snapshot() as view:
                known = self.known_in(view, branch, paths)
        self._tell_news()
        self._applier.ensure_there()
        disk = self.vault.look_at(paths) if paths is not None else self._look_at_disk(branch)
        changes = plan_changes(disk.files, known, self._applier.doubts, disk.unread)
        if changes.sure or changes.removed:
            if paths is None:
                with self._changed:
                    self._looks[branch] = disk
            return False
        same = all(
            self._applier.reads_the_same(path, disk.files[path], known[path])
            for path in changes.doubtful
        )
        if same and branch is None and paths is None:
            self._note_whole()
        return same

    def unread_notes(self, branch: str | None = None) -> list[LeftOut]:
        """Notes of the vault, or a branch, whose text could not be read, by path."""
        unread = sorted(self._applier.doubts.unread().items())
        if not unread:
            return []
        with self.index.snapshot() as view:
            known = self._applier.known.about([path for path, _ in unread], view)
        return [
            LeftOut(
                path,
                WhyLeftOut.OLDER_TEXT if known[path].digest else WhyLeftOut.UNREADABLE_NOTE,
                reason,
            )
            for path, reason in unread
            if path in known and branch in (None, self.vault.branch_of(path))
        ]

    def missing(self, branch: str | None = None) -> tuple[LeftOut, ...]:
        """What belongs to the vault, or a branch, and is in no answer as it is now, as last seen."""
        walked = [left for left in self.left_out.get(branch, ()) if left.reason.is_missing]
        named = {left.path for left in walked}
        return (*walked, *(left for left in self.unread_notes(branch) if left.path not in named))

    def ensure_there(self) -> None:
        """Raise VaultNotFound unless the vault is there, with something in it if anything is known."""
        self._applier.ensure_there()

    def differing(self) -> dict[str, Fingerprint | None]:
        """Return the current fingerprints of files that differ from the index; None for a removed file."""
        with self.index.snapshot() as view:
            known = self.known_in(view)
        self._tell_news()
        self._applier.ensure_there()
        disk = self.vault.walk()
        changes = plan_changes(disk.files, known, self._applier.doubts, disk.unread)
        return {path: disk.files.get(path) for path in (*changes.sure, *changes.removed)}

    def refresh_paths(self, paths: Iterable[str]) -> bool:
        """Bring the index in step with the disk for these paths; return whether anything differed.

        If a path still exists but is no longer a note (e.g. it is now ignored, or a link), others may
        have changed in the same way: then the whole vault is refreshed.
        """
        listed = list(paths)
        with self.index.snapshot() as view:
            before, known = view.version(), self.known_in(view, paths=listed)
        looked = self.vault.look_at(listed)
        disk = looked.files
        changes = plan_changes(disk, known, self._applier.doubts, looked.unread)
        if not changes:
            return False
        if any(self.vault.fingerprint(path) for path in changes.removed):
            self.refresh()
            return True
        try:
            with suppress(TakenOver):
                self._applier.apply(changes, disk, Pass(before[0], len(disk)))
        except IndexHeld:
            self._note_held()
        return self._version() != before

    def build(self, progress: Progress | None = None) -> None:
        """Index the whole vault once; when another thread or process is at it, wait for that one.

        Raises IndexHeld when another process holds the index and nobody else tries again.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self.building)
            self.building = True
        try:
            self._build(progress)
        finally:
            with self._changed:
                self.building = False
                self._changed.notify_all()
        self.settle()

    def settle(self) -> bool:
        """Merge the word index of a first build if needed; return False if another process is doing it."""
        with self.index.snapshot() as snapshot:
            if not snapshot.unmerged():
                return True
        with self.index.build_turn() as mine:
            return mine and self.index.settle(self.stopping)

    def wait_until_built(self, seconds: float = FIRST_BUILD_WAIT_SECONDS) -> bool:
        """Wait for a running build; return False if the first takes longer, fails, or the server stops."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            with self._changed:
                if self._changed.wait_for(self._needs_no_wait, max(0.0, min(left, STEP_SECONDS))):
                    return self.built.is_set()
            stop_if_gone()
            if left <= 0:
                return self.built.is_set()

    def knows_below(self, folder: str) -> bool:
        """Return whether the index knows a note below this folder."""
        with self.index.snapshot() as snapshot:
            return snapshot.has_below(folder)

    def start_anew(self, epoch: int | None = None) -> None:
        """Replace a damaged index file with a new one, and forget what was known.

        `epoch`: the epoch of the damaged file (`IndexDamaged.epoch`). Does nothing if another thread has
        already replaced it, and uses a file that another process has already rebuilt.
        """
        with self._applier.known.writing():
            if self.index.replace_damaged(epoch):
                self._forget_build()
                self._look_at_index()

    def clear(self) -> None:
        """Delete every row of the index, as before a first build."""
        with self._applier.known.writing():
            self.index.clear()
            self._forget_build()

    def note_failure(self, error: BaseException) -> None:
        """Set the state to failing until a refresh succeeds again."""
        named = error.message if isinstance(error, WorkingsetError) else type(error).__name__
        with self._changed:
            self.state = State("failing", problem=named.removesuffix("."))
            self._changed.notify_all()

    def _note_whole(self) -> None:
        """Nothing of the whole vault waits for the index any more, whoever wrote it."""
        with self._changed:
            if self.state.is_held and self.built.is_set():
                self.state = State("current")

    def _note_held(self) -> None:
        with self._changed:
            self.state = State("behind", problem=HELD)
            self._changed.notify_all()

    def _forget_build(self) -> None:
        with self._changed:
            self.built.clear()
            self.walked_files = 0
            self.state = State()
        self._applier.doubts.clear()

    def _look_at_index(self) -> None:
        with self.index.snapshot() as snapshot:
            complete = snapshot.complete()
        if complete:
            self._set_built()

    def _set_built(self) -> None:
        with self._changed:
            self.built.set()
            self.state = State("current")
            self._changed.notify_all()

    def _needs_no_wait(self) -> bool:
        ready = self.built.is_set() and not self.building
        stuck = self.state.name == "failing" or self.state.is_held
        return ready or self.stopping.is_set() or stuck

    def _version(self) -> tuple[int, int]:
        with self.index.snapshot() as view:
            return view.version()

    def _build(self, progress: Progress | None) -> None:
        seen, stopped_at = self._version(), time.monotonic() + STOPPED_SECONDS
        while not self.stopping.is_set():
            if (now := self._version()) != seen:
                seen, stopped_at = now, time.monotonic() + STOPPED_SECONDS
            with self.index.build_turn() as mine:
                may_build = mine or time.monotonic() > stopped_at  # twice is slow, and not wrong
                if may_build and self._is_refreshed(progress, stopped_at):
                    return
            if may_build:
                self.stopping.wait(RETRY_SECONDS)
                continue
            with self.index.snapshot() as snapshot:
                complete, done = snapshot.complete(), snapshot.note_count()
            if complete and self._is_refreshed(None, stopped_at):
                return
            with self._changed:
                self.state = replace(self.state, done=done)
            self.stopping.wait(0.1)  # another process sends no signal

    def _is_refreshed(self, progress: Progress | None, stopped_at: float) -> bool:
        """Refresh the vault; False to try again, as another process holds the index for now."""
        self.refresh(progress=progress)
        if self.state.is_held and self.watcher == "off" and time.monotonic() > stopped_at:
            raise IndexHeld(f"{HELD.capitalize()}.", HELD_HINT)
        return not self.state.is_held

    def _refresh(
        self, branch: str | None, looked: Walk | None, deadline: float | None,
        progress: Progress | None,
    ) -> bool:  # fmt: skip
        with self.index.snapshot() as view:
            epoch, known = view.version()[0], self.known_in(view, branch)
        self._tell_news()
        if looked is None:  # walk last, so that a newer index does no harm
            self._applier.ensure_there()
            looked = self._look_at_disk(branch)
        disk = looked.files
        changes = plan_changes(disk, known, self._applier.doubts, looked.unread)
        report = partial(self._note_progress, progress)
        self._note_progress(None, 0, len(disk))
        if not self._applier.apply(changes, disk, Pass(epoch, len(disk), deadline, report)):
            return False
        if branch is None:
            self._mark_built(epoch, len(disk))
        return True

    def _look_at_disk(self, branch: str | None) -> Walk:
        walk = self.vault.walk(branch)
        with self._changed:
            self.left_out = {**self.left_out, branch: tuple(walk.left_out)}
        return walk

    def _mark_built(self, epoch: int, walked_files: int) -> None:
        with self._applier.known.writing():  # the index cannot be replaced meanwhile
            self._applier.ensure_same(epoch)
            first = not self.built.is_set()
            if first:
                self.index.mark_complete()
            self._set_built()
            with self._changed:
                self.walked_files = walked_files
        if first:
            for listener in list(self.listeners):
                listener(frozenset())

    def _note_progress(self, tell: Progress | None, done: int, total: int) -> None:
        """Record the progress of a first build in the state, and report it."""
        with self._changed:
            if not self.built.is_set() and self.state.name == "building":
                total_known, done_known = max(self.state.total, total), max(self.state.done, done)
                self.state = State(done=done_known, total=total_known)
        if tell:
            tell(done, total)

    def _note_written(self, paths: Collection[str]) -> None:
        with self._changed:
            if self.state.name == "failing" and self.built.is_set():
                self.state = State("current")
            elif self.state.is_held and not self.built.is_set():
                self.state = State()
        self._tell_listeners(paths)

    def _tell_news(self) -> None:
        """Tell the listeners of notes that another process indexed first."""
        self._tell_listeners(self._applier.known.news())

    def _tell_listeners(self, paths: Collection[str]) -> None:
        """Tell the listeners of changed notes, but not during a first build."""
        if not (paths and self.built.is_set()):
            return
        for listener in list(self.listeners):
            listener(frozenset(paths))
