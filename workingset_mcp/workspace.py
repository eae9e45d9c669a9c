"""The one door: an opened vault with its index, and every answer, checked before it is given.

Composition only. Each answer first compares disk and index over its scope and refreshes what
differs; a vault that keeps changing under a call is tried three times, then the answer says so.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rapidfuzz import process

from workingset_mcp import history, listing, search, source
from workingset_mcp.answer import (
    Draft,
    Limits,
    checked_budget,
    counted,
    fit_answer,
    put_together,
    shown_warnings,
)
from workingset_mcp.brief import Brief, Materials, make_brief, make_overview, read_materials
from workingset_mcp.brief.view import branch_view, overview_lines
from workingset_mcp.budget import LEAST_BRIEF_BUDGET, LEAST_BUDGET, count_tokens
from workingset_mcp.counting import count_notes, tokens_of
from workingset_mcp.dates import find_dates
from workingset_mcp.errors import ArgumentError, BranchNotFound, NoteNotFound
from workingset_mcp.files import write_atomically
from workingset_mcp.freshness import FIRST_BUILD_WAIT_SECONDS, Freshness, Progress
from workingset_mcp.index import Index, Snapshot, Stemmer, index_folder
from workingset_mcp.markdown import line_ends_kept
from workingset_mcp.note import OVERRIDE_NAME, decode
from workingset_mcp.record import Window, record_of
from workingset_mcp.search.answer import search_draft
from workingset_mcp.settings import Settings, load_settings, today
from workingset_mcp.vault import LeftOut, Vault

ROUNDS = 3
SMALL_WALK_SECONDS = 0.004  # a vault walked this fast is checked whole before every search
_HEAD_TOKENS = 45
_JOIN_SECONDS = 1.5  # a server is gone two seconds after its client, whatever it was doing


class Workspace:
    """An opened vault. Any thread may ask it; close it when done.

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
        self.freshness.stopping.set()
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
        self.index.close()

    def build(self, progress: Progress | None = None) -> None:
        """Index the whole vault, in this thread."""
        self.freshness.build(progress)

    def start_building(self) -> threading.Thread:
        """Index the whole vault in a daemon thread, then count its tokens."""

        def work() -> None:
            try:
                self.build()
                self.count_all_tokens()
            except Exception as error:
                self.freshness.note_failure(error)
                if not self.freshness.stopping.is_set():
                    raise

        thread = threading.Thread(target=work, name="first build", daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def count_all_tokens(self) -> None:
        """Count the tokens of every note that has no count yet."""
        while not self.freshness.stopping.is_set():
            with self.index.snapshot() as snapshot:
                waiting = snapshot.uncounted(50)
                counted_now = count_notes(snapshot, waiting)
            if not counted_now:
                return
            self.index.save_tokens(counted_now)

    def status(self) -> dict[str, Any]:
        """What is indexed, left out and remarked, and how fresh it is."""
        left_out = self.vault.walk().left_out
        with self.index.snapshot() as snapshot:
            remarks = [
                f"{note.path}:{remark.line} {remark.text}"
                for note in snapshot.notes()
                for remark in note.remarks
            ]
            return {
                "vault": self.vault.name,
                "state": str(self.freshness.state),
                "notes": snapshot.note_count(),
                "branches": len(snapshot.branch_names()),
                "generation": snapshot.generation(),
                "index_place": self.index.place,
                "watcher": self.freshness.watcher,
                "remarks": remarks,
                "left_out": [f"{left.path}: {left.reason}" for left in left_out],
            }

    # -- the answers -------------------------------------------------------------------------------

    def brief(
        self, branch: str | None = None, budget: int | None = None, limits: Limits | None = None
    ) -> str:
        """The brief of a branch, or the overview of the vault, below its header line."""
        limits = limits or self.limits()
        budget, lowered = checked_budget(
            budget, self.settings.brief_budget, LEAST_BRIEF_BUDGET, limits.most_tokens
        )
        name = self.branch_named(branch) if branch and branch.strip() else None
        self.freshness.refresh_paths((OVERRIDE_NAME,))  # the root's holds for every branch

        def draft(snapshot: Snapshot, room: int) -> Draft:
            if name is None:
                return Draft(
                    "overview", make_overview(self.vault.name, overview_lines(snapshot), room)
                )
            made = self._brief_of(snapshot, name, room)
            return Draft(f"{name} · brief", made.text, made.warnings)

        return self._answer(name, draft, budget, limits, lowered)

    def materials(self, branch: str | None) -> Materials:
        """What a brief of a branch would be made from, without counting a token.

        Without a branch: only what holds for the whole vault (the root's override).
        """
        self.freshness.refresh_paths((OVERRIDE_NAME,))
        with self.index.snapshot() as snapshot:
            view = branch_view(snapshot, self, branch or "", today(), counted=False)
            made = read_materials(view)
            made.status_lines = tuple(
                view.lines(made.status.note, made.status.status.line, made.status.status.last_line)
                if made.status
                else ()
            )
        return made

    def known_branches(self) -> list[str]:
        """Names of the branches as the index has them."""
        with self.index.snapshot() as snapshot:
            return snapshot.branch_names()

    def known_paths(self) -> list[str]:
        """Paths of the notes as the index has them."""
        with self.index.snapshot() as snapshot:
            return snapshot.paths()

    def branch_times(self) -> list[tuple[str, int]]:
        """Branches and when a note of theirs was last written (nanoseconds)."""
        self._refresh_all()
        with self.index.snapshot() as snapshot:
            return snapshot.branch_times()

    def note_text(self, path: str) -> str:
        """The whole text of a note, decoded. Raises VaultError."""
        found, _ = self._path_named(path)
        try:
            raw, _ = self.vault.read(found)
        except OSError:
            raise self._gone(found) from None
        return decode(raw)[0]

    def brief_numbers(self, branch: str, budget: int | None = None) -> tuple[int, int, int]:
        """Notes and source tokens of a branch, and tokens of its brief."""
        text = self.brief(branch, budget).partition("\n")[2]
        with self.index.snapshot() as snapshot:
            notes = [
                note for note in snapshot.notes(self.branch_named(branch)) if note.kind == "note"
            ]
            tokens = tokens_of(snapshot, self.index, notes)
        return len(notes), sum(tokens.values()), count_tokens(text)

    def branches(self) -> list[str]:
        """Names of all branches, as the disk has them now."""
        self._refresh_all()
        with self.index.snapshot() as snapshot:
            return [row.branch for row in snapshot.branches()]

    def write_brief(
        self, branch: str, budget: int | None = None, target: Path | None = None
    ) -> tuple[Path, bool]:
        """Write `brief.md` of a branch, atomically, only where its text differs; whether it did."""
        name = self.branch_named(branch)
        text = brief_text(self.brief(name, budget))
        file = target or self.vault.root / name / "brief.md"
        with suppress(OSError, UnicodeDecodeError):
            if file.read_text(encoding="utf-8") == text:
                return file, False
        write_atomically(file, text)
        return file, True

    def search(
        self, query: str, *, also: Sequence[str] = (), budget: int | None = None,
        branch: str | None = None, since: str | None = None, until: str | None = None,
        limits: Limits | None = None,
    ) -> str:  # fmt: skip
        """Best passages for a question. Raises ArgumentError, BranchNotFound."""
        limits = limits or self.limits()
        if not query.strip():
            raise ArgumentError("The query is empty.", "Give a question or a few words.")
        budget, lowered = checked_budget(
            budget, self.settings.search_budget, LEAST_BUDGET, limits.most_tokens
        )
        name = self.branch_named(branch) if branch and branch.strip() else None
        within = search.Filter(name, day_argument("since", since), day_argument("until", until))
        parsed = search.parse_query(query, also=also, glossary=self.settings.glossary)

        ranked: dict[int, search.Ranking] = {}  # by generation: only packing runs again to fit

        def draft(snapshot: Snapshot, room: int) -> Draft:
            generation = snapshot.generation()
            if generation not in ranked:
                ranked[generation] = search.rank(parsed, snapshot, self._stemmer, within)
            return search_draft(parsed, ranked[generation], snapshot, within, room)

        if name is not None or self.freshness.walk_seconds < SMALL_WALK_SECONDS:
            return self._answer(name, draft, budget, limits, lowered)
        return self._quick_answer(draft, budget, limits, lowered)

    def open(
        self, path: str, *, lines: str | None = None, heading: str | None = None,
        budget: int | None = None, limits: Limits | None = None,
    ) -> str:  # fmt: skip
        """The exact text of a note, or of some of its lines. Raises VaultError, ArgumentError."""
        limits = limits or self.limits()
        budget, lowered = checked_budget(
            budget, self.settings.open_budget, LEAST_BUDGET, limits.most_tokens
        )
        found, behind = self._path_named(path)
        lines = lines or behind
        try:
            raw, _ = self.vault.read(found)
        except FileNotFoundError:
            raise self._gone(found) from None
        except OSError as error:
            raise NoteNotFound(
                f"{found} cannot be read: {error.strerror}.", "Check its permissions."
            ) from None
        text, remarks = decode(raw)
        ended = line_ends_kept(text)
        span = source.span_of(lines, len(ended))
        if heading and not lines:
            span = source.section_span(text, heading, found)
        warnings = tuple(f"line {remark.line}: {remark.text}" for remark in remarks)

        def compose(room: int) -> str:
            shown = source.show(ended, span, room - _HEAD_TOKENS - 40)
            body = shown.body
            if shown.next_lines:
                body = f'next: open_source_file(path="{found}", lines="{shown.next_lines}")\n{body}'
            return self._put(
                Draft(f"open · {found} lines {shown.lines}", body, warnings), budget, lowered, room
            )

        return self._fitted(compose, budget, limits)

    def full(
        self,
        branch: str | None = None,
        *,
        query: str | None = None,
        since: str | None = None,
        until: str | None = None,
        as_of: str | None = None,
        budget: int | None = None,
        cursor: str | None = None,
        limits: Limits | None = None,
    ) -> str:
        """Verbatim notes in date order, in pages. Raises BranchNotFound, ArgumentError."""
        limits = limits or self.limits()
        budget, lowered = checked_budget(
            budget, self.settings.full_budget, LEAST_BUDGET, limits.most_tokens
        )
        at = day_argument("as_of", as_of)
        undated = (since or "").strip().lower() == history.UNDATED
        name = (
            self.branch_named(branch, gone_is_fine=bool(at)) if branch and branch.strip() else None
        )
        window = Window(
            name,
            (query or "").strip(),
            history.UNDATED if undated else day_argument("since", since),
            day_argument("until", until),
            at,
        )

        def draft(snapshot: Snapshot, room: int) -> Draft:
            record = record_of(snapshot, self.index, self.vault, window)
            return history.record_draft(record, cursor, self.settings.heavy_limit, room)

        return self._answer(name, draft, budget, limits, lowered)

    def items(
        self,
        kind: str = "open",
        *,
        branch: str | None = None,
        owner: str | None = None,
        text: str | None = None,
        since: str | None = None,
        until: str | None = None,
        due_before: str | None = None,
        group_by: str | None = None,
        budget: int | None = None,
        limits: Limits | None = None,
    ) -> str:
        """Exact counts and lists over all notes. Raises BranchNotFound, ArgumentError."""
        limits = limits or self.limits()
        budget, lowered = checked_budget(
            budget, self.settings.items_budget, LEAST_BUDGET, limits.most_tokens
        )
        asked = listing.checked(
            listing.Asked(
                kind,
                self.branch_named(branch) if branch and branch.strip() else None,
                owner or "",
                text or "",
                day_argument("since", since),
                day_argument("until", until),
                day_argument("due_before", due_before),
                group_by,
            )
        )

        def draft(snapshot: Snapshot, room: int) -> Draft:
            left_out = self.left_out(asked.branch) if asked.kind == "remark" else ()
            return listing.list_draft(snapshot, asked, left_out, self.vault.branch_of, room)

        return self._answer(asked.branch, draft, budget, limits, lowered)

    @property
    def vault_name(self) -> str:
        """Name of the vault's folder."""
        return self.vault.name

    def left_out(self, branch: str | None = None) -> list[LeftOut]:
        """What of the vault, or of a branch, is no source, and why."""
        if branch is None:
            return self.freshness.left_out
        return self.vault.walk(branch).left_out

    # -- what the answers share --------------------------------------------------------------------

    def limits(self) -> Limits:
        """Limits from the settings, for a caller that has none of its own."""
        return Limits(max_bytes=self.settings.max_answer_bytes)

    def branch_named(self, given: str, *, gone_is_fine: bool = False) -> str:
        """The branch a caller means: exact, in another case, or its unique last part.

        `gone_is_fine`: a full name that is no branch today is taken as it is. Raises BranchNotFound
        with near matches.
        """
        wanted = given.strip().replace("\\", "/").strip("/") or "."
        for attempt in (1, 2):
            with self.index.snapshot() as snapshot:
                names = snapshot.branch_names()
            if wanted in names or self._may_be_folder(wanted):
                deadline = time.monotonic() + FIRST_BUILD_WAIT_SECONDS
                self.freshness.refresh(wanted, deadline=deadline)
                with self.index.snapshot() as snapshot:
                    names = snapshot.branch_names()
            if wanted in names:
                return wanted
            same = [name for name in names if name.casefold() == wanted.casefold()]
            last = [
                name for name in names if name.rpartition("/")[2].casefold() == wanted.casefold()
            ]
            for found in (same, last):
                if len(found) == 1:
                    return found[0]
            if attempt == 1:
                self._refresh_all()
        if gone_is_fine and wanted.partition("/")[2]:
            return wanted
        several = same or last
        near = several or [
            name for name, score, _ in process.extract(wanted, names, limit=3) if score > 55
        ]
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
    ) -> str:
        """Compose over a scope that equals the disk before and after."""
        state = ""
        for attempt in range(ROUNDS + 1):
            finished = self._refresh_scope(scope)
            with self.index.snapshot() as snapshot:

                def compose(room: int, snapshot: Snapshot = snapshot, state: str = state) -> str:
                    made = draft(snapshot, room - _HEAD_TOKENS)
                    return self._put(made, budget, lowered, room, state)

                text = self._fitted(compose, budget, limits)
            if not finished or state or self.freshness.is_current(scope):
                break
            if attempt == ROUNDS - 1:
                state = "index behind: the vault keeps changing"
        return text

    def _quick_answer(
        self, draft: Callable[[Snapshot, int], Draft], budget: int, limits: Limits, lowered: str
    ) -> str:
        """A search of a large vault: checks the notes it quotes; the whole vault when it finds nothing."""
        self._wait_for_build()
        for _ in range(ROUNDS):
            latest: list[Draft] = []

            def compose(room: int, snapshot: Snapshot, latest: list[Draft] = latest) -> str:
                latest.append(draft(snapshot, room - _HEAD_TOKENS))
                return self._put(latest[-1], budget, lowered, room)

            with self.index.snapshot() as snapshot:
                text = self._fitted(lambda room: compose(room, snapshot), budget, limits)
            if not latest[-1].found:
                break
            if not self.freshness.refresh_paths(latest[-1].sources):
                return text
        return self._answer(None, draft, budget, limits, lowered)

    def _put(self, draft: Draft, budget: int, lowered: str, room: int, state: str = "") -> str:
        warnings = shown_warnings(draft.warnings, tight=room < 1_500)
        if lowered:
            warnings.insert(0, lowered)
        return put_together(
            draft.subject, draft.body, budget=budget, state=str(self.freshness.state),
            margin=self.settings.token_margin, warnings=warnings,
        )  # fmt: skip

    def _fitted(self, compose: Callable[[int], str], budget: int, limits: Limits) -> str:
        return fit_answer(
            compose, budget=budget, max_bytes=limits.max_bytes, margin=self.settings.token_margin
        )

    def _brief_of(self, snapshot: Snapshot, name: str, room: int) -> Brief:
        view = branch_view(snapshot, self, name, today())
        return make_brief(read_materials(view), room)

    def _refresh_scope(self, scope: str | None) -> bool:
        """Make the scope equal to the disk; False when it is not done yet."""
        if scope is None and not self._wait_for_build():
            return False
        return self.freshness.refresh(scope, deadline=time.monotonic() + FIRST_BUILD_WAIT_SECONDS)

    def _wait_for_build(self) -> bool:
        return self.freshness.wait_until_built()

    def _refresh_all(self) -> None:
        if self._wait_for_build():
            self.freshness.refresh()

    def _may_be_folder(self, name: str) -> bool:
        parts = name.split("/")
        return name == "." or (
            ".." not in parts and "\0" not in name and (self.vault.root / name).is_dir()
        )

    def _path_named(self, given: str) -> tuple[str, str | None]:
        try:
            return self.vault.checked_path(given)
        except NoteNotFound:
            raise self._gone(given.strip()) from None

    def _gone(self, path: str) -> NoteNotFound:
        with self.index.snapshot() as snapshot:
            paths = snapshot.paths()
        near = [
            found for found, score, _ in process.extract(path[:200], paths, limit=3) if score > 60
        ]
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
    dates = [date.value for date in find_dates(text) if date.value]
    if not dates:
        raise ArgumentError(
            f"{name}={text[:40]!r} is no date.", "Write it as 2026-06-16, 2026-06 or 2026."
        )
    return dates[0]


__all__ = ["Workspace", "counted", "day_argument"]
