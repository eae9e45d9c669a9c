"""A vault with its index: opening, building in the background, branches, what a brief is made from.

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
from workingset_mcp.sync.freshness import (
    FIRST_BUILD_WAIT_SECONDS,
    HELD,
    HELD_HINT,
    Freshness,
)
from workingset_mcp.vault.folder import LeftOut, Vault
from workingset_mcp.workspace.branches import could_be_folder, name_branch
from workingset_mcp.workspace.healing import damage_behind, healing

ATTEMPTS = 3  # at a first build over an index that turns out damaged
_LOOK_SECONDS = 1.0  # until a look at the pages, and between two at what another process does
_JOIN_SECONDS = 0.5  # a build stops between two notes; a count under way is not waited for


class IndexedVault:
    """A vault with its index, kept equal. Any thread may ask it; close it when done.

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
        """Index the whole vault in a daemon thread, count its tokens, look whether all is well."""

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
            pass  # another process merges the words, and may be ended before it is done
        if not stopping.wait(_LOOK_SECONDS):  # the first answers come first
            self.index.verify()

    @healing
    def settle(self) -> None:
        """Merge the words of a first build that was ended before it did."""
        self.freshness.settle()

    def count_all_tokens(self) -> None:
        """Count the tokens of every note that has no count yet."""
        before: list[tuple[int, bytes]] = []
        while not self.freshness.stopping.is_set():
            with self.index.snapshot() as snapshot:
                waiting = snapshot.uncounted(50)
                if waiting == before:  # none, or such as take no count: their rows are damaged
                    return
                counted_now, before = count_notes(snapshot, waiting), waiting
            if not self.index.save_tokens(counted_now):
                return

    @healing
    def materials(self, branch: str | None) -> Materials:
        """What a brief of a branch would be made from, without counting a token.

        Without a branch: only what holds for the whole vault (the root's override).
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
        """Names of the branches as the index has them."""
        with self.index.snapshot() as snapshot:
            return snapshot.branch_names()

    @healing
    def known_paths(self) -> list[str]:
        """Paths of the notes as the index has them."""
        with self.index.snapshot() as snapshot:
            return snapshot.paths()

    @healing
    def branch_times(self) -> list[tuple[str, int]]:
        """Branches and when a note of theirs was last written (nanoseconds)."""
        self.refresh_all()
        with self.index.snapshot() as snapshot:
            return snapshot.branch_times()

    def branches(self) -> list[str]:
        """Names of all branches, as the disk has them now."""
        self.refresh_all()
        with self.index.snapshot() as snapshot:
            return [row.branch for row in snapshot.branches()]

    @property
    def vault_name(self) -> str:
        """Name of the vault's folder."""
        return self.vault.name

    def left_out(self, branch: str | None = None) -> list[LeftOut]:
        """What of the vault, or of a branch, is no source, and why."""
        if branch is None:
            return list(self.freshness.left_out.get(None, ()))
        return self.vault.walk(branch).left_out

    @healing
    def branch_named(self, given: str, *, may_be_gone: bool = False) -> str:
        """The branch that a caller means, as the disk is now. Raises ArgumentError, BranchNotFound."""
        lists = (self.known_branches, self.branches)
        return name_branch(given, self._is_branch_now, lists, may_be_gone=may_be_gone)

    def refresh_scope(self, scope: str | None) -> bool:
        """Make the scope equal to the disk; False when it is not done yet."""
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
        """Whether a branch has notes, its folder read again first."""
        if not (self._is_branch(name) or self._may_be_folder(name)):
            return False
        deadline = time.monotonic() + FIRST_BUILD_WAIT_SECONDS
        self.freshness.refresh(name, deadline=deadline)
        return self._is_branch(name)

    def _is_branch(self, name: str) -> bool:
        try:
            with self.index.snapshot() as snapshot:
                return snapshot.has_branch(name)
        except UnicodeEncodeError:  # half a character: no folder has such a name
            return False

    def _may_be_folder(self, name: str) -> bool:
        if name == ".":
            return True
        try:
            return could_be_folder(name) and (self.vault.root / name).is_dir()
        except OSError:  # longer than a disk allows
            return False
