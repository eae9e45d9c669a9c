"""A vault with its index: open, build in the background, resolve branches, read what a brief needs.

Not here: answers and their check against the disk (`checked`, `facade`).
"""

import threading
import time
from pathlib import Path

from workingset_mcp.answers.brief import BranchReader, Materials, read_materials
from workingset_mcp.answers.brief.reading import read_branch
from workingset_mcp.answers.counting import count_notes
from workingset_mcp.errors import IndexDamaged, IndexHeld
from workingset_mcp.index import index_folder, open_engine, open_stemmer
from workingset_mcp.notes.note import OVERRIDE_NAME
from workingset_mcp.settings import Settings, load_settings, today
from workingset_mcp.sync.applying import Progress
from workingset_mcp.sync.freshness import FIRST_BUILD_WAIT_SECONDS, HELD, HELD_HINT, Freshness
from workingset_mcp.vault.folder import LeftOut, Vault
from workingset_mcp.workspace.branches import could_be_folder, name_branch
from workingset_mcp.workspace.healing import damage_behind, healing

ATTEMPTS = 3  # of a first build whose index turns out to be damaged
_LOOK_SECONDS = 1.0  # before checking the pages, and between checks on another process
_JOIN_SECONDS = 0.5  # enough for a build to stop; a running count is not waited for


class IndexedVault:
    """A vault with its index, kept in step, usable from any thread. Close it when done.

    Raises VaultNotFound, SettingsError, IndexUnavailable.
    """

    def __init__(
        self, vault: Path, settings: Settings | None = None, *, in_memory: bool = False
    ) -> None:
        root = vault.expanduser()
        self.settings = settings or load_settings(root)
        self.vault = Vault(root, self.settings)
        folder = index_folder(
            self.vault.root, self.settings.shape_digest(), self.settings.index_dir
        )
        self.index = open_engine(None if in_memory else folder)
        self.freshness = Freshness(self.vault, self.index)
        self.stemmer = open_stemmer()
        self._threads: list[threading.Thread] = []

    def close(self) -> None:
        """Stop background work and close the index."""
        self.freshness.stop()
        self.stemmer.close()
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
        self.index.close()

    @property
    def is_built(self) -> bool:
        """Whether the whole vault has been indexed."""
        return self.freshness.built.is_set()

    def forget(self) -> None:
        """Empty the index; the next build reads every note again."""
        self.freshness.clear()

    def build(self, progress: Progress | None = None) -> None:
        """Index the whole vault, in this thread."""
        try:
            self.freshness.build(progress)
        except IndexDamaged as error:
            self.freshness.start_anew(error.epoch)
            self.freshness.build(progress)

    def start_building(self) -> threading.Thread:
        """Start a daemon thread that indexes the whole vault, counts its tokens and checks the index."""

        def work() -> None:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    self._make_whole()
                except Exception as error:
                    if self.freshness.stopping.is_set():
                        return
                    damage = damage_behind(error, self.index)
                    if damage is None or attempt == ATTEMPTS:
                        self.freshness.note_failure(error)
                        raise
                    self.freshness.start_anew(damage.epoch)
                else:
                    return

        thread = threading.Thread(target=work, name="first build", daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _make_whole(self) -> None:
        stopping = self.freshness.stopping
        self.build()
        self.count_all_tokens()
        while not (self.freshness.settle() or stopping.wait(_LOOK_SECONDS)):
            pass  # another process merges, and may be killed before it is done
        if not stopping.wait(_LOOK_SECONDS):  # answer the first calls before checking
            self.index.verify()

    @healing
    def settle(self) -> None:
        """Merge the word index of a first build that was stopped before it did."""
        self.freshness.settle()

    def count_all_tokens(self) -> None:
        """Count the tokens of every note that has no count yet."""
        before: list[tuple[int, bytes]] = []
        while not self.freshness.stopping.is_set():
            with self.index.snapshot() as snapshot:
                waiting = snapshot.uncounted(50)
                if waiting == before:  # none left, or damaged rows that keep no count
                    return
                counted_now, before = count_notes(snapshot, waiting), waiting
            if not self.index.save_tokens(counted_now):
                return

    @healing
    def materials(self, branch: str | None) -> Materials:
        """Read what a branch's brief is made from, without counting tokens.

        Without a branch: only what applies to the whole vault (the root's override).
        """
        self.freshness.refresh_paths((OVERRIDE_NAME,))
        with self.index.snapshot() as snapshot:
            left_out = self.left_out(branch or "")
            found = read_branch(snapshot, self, branch or "", today(), left_out, counted=False)
            reader = BranchReader(snapshot, found.name)
            made = read_materials(found, reader)
            if made.status:
                note, status = made.status
                made.status_lines = tuple(reader.lines(note, status.line, status.last_line))
        return made

    @healing
    def known_branches(self) -> list[str]:
        """Return the names of the branches in the index."""
        with self.index.snapshot() as snapshot:
            return snapshot.branch_names()

    @healing
    def known_paths(self) -> list[str]:
        """Return the paths of the notes in the index."""
        with self.index.snapshot() as snapshot:
            return snapshot.paths()

    @healing
    def branch_times(self) -> list[tuple[str, int]]:
        """Return (branch, newest file time of its notes in nanoseconds), after a refresh."""
        self.refresh_all()
        with self.index.snapshot() as snapshot:
            return snapshot.branch_times()

    def branches(self) -> list[str]:
        """Return the names of all branches now on disk."""
        self.refresh_all()
        with self.index.snapshot() as snapshot:
            return [row.branch for row in snapshot.branches()]

    @property
    def vault_name(self) -> str:
        """The name of the vault's folder."""
        return self.vault.name

    def left_out(self, branch: str | None = None) -> list[LeftOut]:
        """Return what the vault, or a branch, leaves out, and why."""
        if branch is None:
            return list(self.freshness.left_out.get(None, ()))
        return self.vault.walk(branch).left_out

    @healing
    def branch_named(self, given: str, *, may_be_gone: bool = False) -> str:
        """Return the branch on disk that a caller means. Raises ArgumentError, BranchNotFound."""
        lists = (self.known_branches, self.branches)
        return name_branch(given, self._is_branch_now, lists, may_be_gone=may_be_gone)

    def refresh_scope(self, scope: str | None) -> bool:
        """Bring the index in step with the disk over a scope; return whether it is done."""
        if scope is None and not self.freshness.wait_until_built():
            return False
        deadline = time.monotonic() + FIRST_BUILD_WAIT_SECONDS
        return self.freshness.refresh(scope, deadline=deadline, looked=True)

    def refresh_all(self) -> None:
        """Make the index equal to the whole vault, once it is built.

        Raises IndexHeld where nobody tries again while another process holds the index.
        """
        if not self.freshness.wait_until_built() or self.freshness.refresh():
            return
        if self.freshness.state.is_held and self.freshness.watcher == "off":
            raise IndexHeld(f"{HELD.capitalize()}.", HELD_HINT)

    def _is_branch_now(self, name: str) -> bool:
        """Refresh a branch, and return whether it has notes."""
        if not (self._is_branch(name) or self._may_be_folder(name)):
            return False
        deadline = time.monotonic() + FIRST_BUILD_WAIT_SECONDS
        self.freshness.refresh(name, deadline=deadline)
        return self._is_branch(name)

    def _is_branch(self, name: str) -> bool:
        try:
            with self.index.snapshot() as snapshot:
                return snapshot.has_branch(name)
        except UnicodeEncodeError:  # a lone surrogate: no folder has such a name
            return False

    def _may_be_folder(self, name: str) -> bool:
        if name == ".":
            return True
        try:
            return could_be_folder(name) and (self.vault.root / name).is_dir()
        except OSError:  # the name is too long
            return False
