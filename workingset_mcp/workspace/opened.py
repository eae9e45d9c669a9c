"""An opened vault with its index, and how an answer is composed, then checked over its scope.

What differs from the disk is refreshed and the answer composed anew; a vault that keeps changing under
a call is tried three times, then the answer says so.
"""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from workingset_mcp.answers.answer import Draft, Limits, fit_answer, put_together, shown_warnings
from workingset_mcp.answers.brief import Materials, read_materials
from workingset_mcp.answers.brief.view import branch_view
from workingset_mcp.answers.budget import Counted
from workingset_mcp.answers.counting import count_notes
from workingset_mcp.errors import ArgumentError, BranchNotFound, IndexDamaged, NoteNotFound
from workingset_mcp.index import Index, Snapshot, Stemmer, index_folder
from workingset_mcp.notes.dates import find_dates
from workingset_mcp.notes.note import OVERRIDE_NAME
from workingset_mcp.settings import Settings, load_settings, today
from workingset_mcp.sync.applying import Progress
from workingset_mcp.sync.freshness import FIRST_BUILD_WAIT_SECONDS, Freshness
from workingset_mcp.vault.folder import LeftOut, Vault
from workingset_mcp.workspace.healing import damage_behind, healing

ROUNDS = 3
SMALL_VAULT_FILES = 1_000  # walked in some 5 ms: checked whole by every search
HEAD_TOKENS = 45
_LOOK_SECONDS = 1.0  # until a look at the pages, and between two at what another process does
_JOIN_SECONDS = 0.5  # a build stops between two notes; a count under way is not waited for


class Opened:
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
        self.index = Index(None if in_memory else folder)
        self.freshness = Freshness(self.vault, self.index)
        self._stemmer = Stemmer()
        self._threads: list[threading.Thread] = []

    def close(self) -> None:
        """Stop background work and close the index."""
        self.freshness.stop()
        self._stemmer.close()
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
        self.index.close()

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
            for attempt in range(1, ROUNDS + 1):
                try:
                    self._make_whole()
                except Exception as error:
                    if self.freshness.stopping.is_set():
                        return
                    damage = damage_behind(error, self.index)
                    if damage is None or attempt == ROUNDS:
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
            self.index.check_pages()

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
            view = branch_view(snapshot, self, branch or "", today(), left_out, counted=False)
            made = read_materials(view)
            made.status_lines = tuple(
                view.lines(made.status.note, made.status.status.line, made.status.status.last_line)
                if made.status
                else ()
            )
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
        self._refresh_all()
        with self.index.snapshot() as snapshot:
            return snapshot.branch_times()

    def branches(self) -> list[str]:
        """Names of all branches, as the disk has them now."""
        self._refresh_all()
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

    def limits(self) -> Limits:
        """Limits from the settings, for a caller that has none of its own."""
        return Limits(max_bytes=self.settings.max_answer_bytes)

    @healing
    def branch_named(self, given: str, *, gone_is_fine: bool = False) -> str:
        """The branch a caller means: exact, in another case, or its unique last part.

        `gone_is_fine`: a full name that is no branch today is taken as it is. Raises ArgumentError,
        BranchNotFound with near matches.
        """
        wanted = given.strip()
        if not wanted:
            raise ArgumentError("No branch is named.", 'Name one, e.g. "cust/acme".')
        if not self._is_branch(wanted):  # `cust\\acme`, unless a folder is called so
            wanted = wanted.replace("\\", "/").strip("/") or "."
        for attempt in (1, 2):
            if self._is_branch(wanted) or self._may_be_folder(wanted):
                deadline = time.monotonic() + FIRST_BUILD_WAIT_SECONDS
                self.freshness.refresh(wanted, deadline=deadline)
                if self._is_branch(wanted):
                    return wanted
            names = self.known_branches()
            same = [name for name in names if name.casefold() == wanted.casefold()]
            last = [
                name for name in names if name.rpartition("/")[2].casefold() == wanted.casefold()
            ]
            for found in (same, last):
                if len(found) == 1:  # as it is on the disk now
                    return self.branch_named(found[0], gone_is_fine=gone_is_fine)
            if attempt == 1:
                self._refresh_all()
        several = same or last
        if gone_is_fine and not several and _could_be_folder(wanted):
            return wanted
        near = several or [name for name, score, _ in _near(wanted, names) if score > 55]
        about = "means several branches" if several else "is no branch of this vault"
        hint = f"Near: {', '.join(near)}." if near else "get_brief() lists the branches."
        raise BranchNotFound(f"{given[:80]!r} {about}.", hint)

    def _answer(
        self,
        scope: str | None,
        draft: Callable[[Snapshot, int], Draft],
        budget: int,
        limits: Limits,
        lowered: str,
        *,
        quoted_only: bool = False,
    ) -> str:
        """Compose, and give it once disk and what it was composed from are equal over the scope.

        `quoted_only`: of a large vault, an answer that found something is checked over the notes it
        quotes alone, once the whole was looked at since it was opened.
        """
        finished = scope is not None or self.freshness.wait_until_built()
        quoted_only &= self.freshness.walked_files > SMALL_VAULT_FILES
        state = ""
        for attempt in range(ROUNDS + 1):
            latest: list[Draft] = []
            with self.index.snapshot() as snapshot:

                def compose(
                    room: int,
                    snapshot: Snapshot = snapshot,
                    state: str = state,
                    latest: list[Draft] = latest,
                ) -> Counted:
                    latest.append(draft(snapshot, room - HEAD_TOKENS))
                    return self._put(latest[-1], budget, lowered, room, state)

                text = self._fitted(compose, budget, limits)
                quoted = latest[-1].sources if quoted_only and latest[-1].found else None
                if not finished or state:
                    return text
                known = self.freshness.known_in(snapshot, scope, quoted)
            if self.freshness.is_current(scope, quoted, known):
                return text
            if quoted is None:
                finished = self._refresh_scope(scope)
            else:
                self.freshness.refresh_paths(quoted)
            if not finished and self.freshness.state.name != "building":
                state = "index behind: changes are still being read"
            elif attempt == ROUNDS - 1:
                state = "index behind: the vault keeps changing"
        return text

    def _put(self, draft: Draft, budget: int, lowered: str, room: int, state: str = "") -> Counted:
        warnings = shown_warnings(draft.warnings, tight=room < 1_500)
        if lowered:
            warnings.insert(0, lowered)
        return put_together(
            draft.subject, draft.body, budget=budget, state=state or str(self.freshness.state),
            margin=self.settings.token_margin, warnings=warnings, body_tokens=draft.tokens,
        )  # fmt: skip

    def _fitted(self, compose: Callable[[int], Counted], budget: int, limits: Limits) -> str:
        return fit_answer(
            compose, budget=budget, max_bytes=limits.max_bytes, margin=self.settings.token_margin
        )

    def _refresh_scope(self, scope: str | None) -> bool:
        """Make the scope equal to the disk; False when it is not done yet."""
        if scope is None and not self.freshness.wait_until_built():
            return False
        deadline = time.monotonic() + FIRST_BUILD_WAIT_SECONDS
        return self.freshness.refresh(scope, deadline=deadline, looked=True)

    def _refresh_all(self) -> None:
        if self.freshness.wait_until_built():
            self.freshness.refresh()

    def _is_branch(self, name: str) -> bool:
        try:
            with self.index.snapshot() as snapshot:
                return snapshot.has_branch(name)
        except UnicodeEncodeError:  # half a character: no folder is called so
            return False

    def _may_be_folder(self, name: str) -> bool:
        if name == ".":
            return True
        if {"", ".", ".."} & set(name.split("/")) or "\0" in name:
            return False
        try:
            return (self.vault.root / name).is_dir()
        except OSError:  # longer than a disk allows
            return False

    def _path_named(self, given: str) -> tuple[str, str | None]:
        try:
            return self.vault.checked_path(given)
        except NoteNotFound:
            raise self._gone(given.strip()) from None

    def _gone(self, path: str) -> NoteNotFound:
        with self.index.snapshot() as snapshot:
            paths = snapshot.paths()
        near = [found for found, score, _ in _near(path, paths) if score > 60]
        hint = f"Near: {', '.join(near)}." if near else "search_notes finds notes by their words."
        return NoteNotFound(f"There is no note {path[:200]!r}.", hint)


def brief_text(answer: str) -> str:
    """A brief without the header line and the warnings of its answer."""
    body = answer.partition("\n")[2]
    while body.startswith("warning: "):
        body = body.partition("\n")[2]
    return body


def day_argument(name: str, value: str | None) -> str:
    """ISO date (or month, or year) that a caller wrote in any form. Raises ArgumentError."""
    if value is None or not value.strip():
        return ""
    text = value.strip()
    if len(text) == 4 and text.isdecimal():
        return text
    dates = [date.value for date in find_dates(text[:200]) if date.value]
    if not dates:
        raise ArgumentError(
            f"{name}={text[:40]!r} is no date.", "Write it as 2026-06-16, 2026-06 or 2026."
        )
    return dates[0]


def _could_be_folder(name: str) -> bool:
    """Whether a folder inside the vault could have been called so."""
    try:
        parts = name.encode("utf-8").split(b"/")
    except UnicodeEncodeError:
        return False
    inside = not {b"", b".", b".."} & set(parts) and b"\0" not in name.encode()
    return inside and max(map(len, parts)) <= 255 and len(name) <= 1_000


def _near(word: str, words: Sequence[str]) -> list[tuple[str, float, int]]:
    from rapidfuzz import process  # 12 ms, for a mistake

    return process.extract(word[:200], words, limit=3)  # a megabyte takes a quarter of a second
