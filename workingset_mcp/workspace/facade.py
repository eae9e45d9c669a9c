"""The one door: an opened vault with its index, and every answer, checked before it is given.

Composition only. Each answer first compares disk and index over its scope and refreshes what
differs; a vault that keeps changing under a call is tried three times, then the answer says so.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from workingset_mcp.answers import listing, search, source
from workingset_mcp.answers.answer import (
    Draft,
    Limits,
    checked_budget,
    counted,
)
from workingset_mcp.answers.brief import (
    BranchLine,
    Materials,
    make_brief,
    make_overview,
    read_materials,
)
from workingset_mcp.answers.brief.kept import KeptBriefs
from workingset_mcp.answers.brief.view import branch_view, contents_of, overview_lines
from workingset_mcp.answers.budget import LEAST_BRIEF_BUDGET, LEAST_BUDGET, Counted, count_tokens
from workingset_mcp.answers.counting import tokens_of
from workingset_mcp.answers.search.answer import search_draft
from workingset_mcp.errors import ArgumentError, NoteNotFound
from workingset_mcp.index import Snapshot
from workingset_mcp.notes.markdown import line_ends_kept
from workingset_mcp.notes.note import OVERRIDE_NAME, decode
from workingset_mcp.settings import Settings, today
from workingset_mcp.sync.changes import plan_changes
from workingset_mcp.vault.files import write_atomically
from workingset_mcp.workspace.healing import healing
from workingset_mcp.workspace.opened import (
    HEAD_TOKENS,
    Opened,
    brief_text,
    day_argument,
)


class Workspace(Opened):
    """Every answer that an opened vault gives.

    Raises VaultNotFound, SettingsError, IndexUnavailable.
    """

    def __init__(
        self, vault: Path, settings: Settings | None = None, *, in_memory: bool = False
    ) -> None:
        super().__init__(vault, settings, in_memory=in_memory)
        self._kept = KeptBriefs()
        self._overview: tuple[object, list[BranchLine]] = (None, [])  # and the version it is of

    @healing
    def status(self) -> dict[str, Any]:
        """What is indexed, left out and remarked; whether that is what stands on the disk."""
        walked = self.vault.walk()
        with self.index.snapshot() as snapshot:
            state = str(self.freshness.state)
            changes = plan_changes(walked.files, snapshot.known())
            differing = len(changes.sure) + len(changes.removed)
            if differing and state == "index current":
                verb = "differs" if differing == 1 else "differ"
                state = f"index behind: {counted(differing, 'note')} {verb}"
            remarks = [
                f"{note.path}:{remark.line} {remark.text}"
                for note in snapshot.remarked()
                for remark in note.remarks
            ]
            return {
                "vault": self.vault.name,
                "state": state,
                "notes": snapshot.note_count(),
                "branches": len(snapshot.branch_names()),
                "generation": snapshot.generation(),
                "index_place": self.index.place,
                "watcher": self.freshness.watcher,
                "remarks": remarks,
                "left_out": [f"{left.path}: {left.reason}" for left in walked.left_out],
            }

    @healing
    def brief(
        self, branch: str | None = None, budget: int | None = None, limits: Limits | None = None,
        *, day: date | None = None,
    ) -> str:  # fmt: skip
        """The brief of a branch, or the overview of the vault, below its header line.

        `day`: the day it is for, in place of today. Raises ArgumentError, BranchNotFound.
        """
        limits = limits or self.limits()
        budget, lowered = checked_budget(
            budget, self.settings.brief_budget, LEAST_BRIEF_BUDGET, limits.most_tokens
        )
        name = self.branch_named(branch) if branch and branch.strip() else None
        self.freshness.refresh_paths((OVERRIDE_NAME,))  # the root's holds for every branch
        read: dict[tuple[int, int], Materials] = {}  # only fitting runs again

        def draft(snapshot: Snapshot, room: int) -> Draft:
            if name is None:
                return self._overview_draft(snapshot, room)
            on, left_out = day or today(), tuple(self.freshness.left_out.get(name, ()))
            contents = contents_of(snapshot, name)
            version = snapshot.version()
            # By the epoch: nothing made from a damaged file is given again.
            made_from = (version[0], name, contents, on, left_out, room)
            made = self._kept.get(made_from) if contents else None
            if made is None:
                if version not in read:
                    read[version] = read_materials(branch_view(snapshot, self, name, on, left_out))
                made = make_brief(read[version], room)
                if contents:
                    self._kept.keep(made_from, made)
            return Draft(f"{name} · brief", made.text, made.warnings, tokens=made.tokens)

        return self._answer(name, draft, budget, limits, lowered)

    def _overview_draft(self, snapshot: Snapshot, room: int) -> Draft:
        version, lines = self._overview
        if version != snapshot.version():
            version, lines = snapshot.version(), overview_lines(snapshot)
            self._overview = version, lines
        text, tokens = make_overview(self.vault.name, lines, room)
        return Draft("overview", text, tokens=tokens)

    def named_brief(self, branch: str) -> str:
        """What the command `brief` prints of a branch. Raises ArgumentError, BranchNotFound."""
        return brief_text(self.brief(self.branch_named(branch)))

    def note_text(self, path: str) -> str:
        """The whole text of a note, decoded. Raises VaultError."""
        found, _ = self._path_named(path)
        try:
            raw, _ = self.vault.read(found)
        except OSError:
            raise self._gone(found) from None
        return decode(raw)[0]

    @healing
    def brief_numbers(self, branch: str, budget: int | None = None) -> tuple[int, int, int]:
        """Notes and source tokens of a branch, and tokens of its brief."""
        text = self.brief(branch, budget).partition("\n")[2]
        with self.index.snapshot() as snapshot:
            notes = [
                note for note in snapshot.notes(self.branch_named(branch)) if note.kind == "note"
            ]
            tokens = tokens_of(snapshot, self.index, notes)
        return len(notes), sum(tokens.values()), count_tokens(text)

    @healing
    def write_brief(self, branch: str, budget: int | None = None) -> tuple[Path, bool]:
        """Write `brief.md` of a branch, atomically, only where its text differs; whether it did."""
        name = self.branch_named(branch)
        text = brief_text(self.brief(name, budget))
        file = self.vault.root / name / "brief.md"
        with suppress(OSError, UnicodeDecodeError):
            if file.read_text(encoding="utf-8") == text:
                return file, False
        write_atomically(file, text)
        return file, True

    @healing
    def search(
        self, query: str, *, also: Sequence[str] = (), budget: int | None = None,
        branch: str | None = None, since: str | None = None, until: str | None = None,
        boost: str | None = None, top: int | None = None, limits: Limits | None = None,
    ) -> str:  # fmt: skip
        """Best passages for a question. Raises ArgumentError, BranchNotFound.

        `boost`: a branch whose sections weigh 1.5 times as much. `top`: most sections to take from.
        """
        limits = limits or self.limits()
        if not query.strip():
            raise ArgumentError("The query is empty.", "Give a question or a few words.")
        budget, lowered = checked_budget(
            budget, self.settings.search_budget, LEAST_BUDGET, limits.most_tokens
        )
        name = self.branch_named(branch) if branch and branch.strip() else None
        within = search.Filter(name, day_argument("since", since), day_argument("until", until))
        parsed = search.parse_query(query, also=also, glossary=self.settings.glossary)
        boosted = self.branch_named(boost) if boost else None

        ranked: dict[tuple[int, int], search.Ranking] = {}  # only packing runs again to fit

        def draft(snapshot: Snapshot, room: int) -> Draft:
            version = snapshot.version()
            if version not in ranked:
                found = search.rank(parsed, snapshot, self._stemmer, within)
                ranked[version] = search.bent(found, boosted, top)
            return search_draft(parsed, ranked[version], snapshot, within, room)

        return self._answer(name, draft, budget, limits, lowered, quoted_only=name is None)

    @healing
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
                f"{found} cannot be read: {error.strerror or 'no plain file'}.",
                "Check its permissions.",
            ) from None
        text, remarks = decode(raw)
        ended = line_ends_kept(text)
        span = source.span_of(lines, len(ended))
        if heading and not lines:
            span = source.section_span(text, heading, found)
        warnings = tuple(f"line {remark.line}: {remark.text}" for remark in remarks)

        def compose(room: int) -> Counted:
            shown = source.show(ended, span, room - HEAD_TOKENS - 40)
            body = shown.body
            if shown.next_lines:
                body = f'next: open_source_file(path="{found}", lines="{shown.next_lines}")\n{body}'
            return self._put(
                Draft(f"open · {found} lines {shown.lines}", body, warnings), budget, lowered, room
            )

        return self._fitted(compose, budget, limits)

    @healing
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
        from workingset_mcp.answers.full import pages as history  # only here: 10 ms of a start
        from workingset_mcp.answers.full.record import Window, record_of

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
        most_bytes = limits.max_bytes and limits.max_bytes - len(lowered.encode())

        def draft(snapshot: Snapshot, room: int) -> Draft:
            record = record_of(snapshot, self.index, self.vault, window)
            return history.record_draft(record, cursor, self.settings.heavy_limit, room, most_bytes)

        return self._answer(name, draft, budget, limits, lowered)

    @healing
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


__all__ = ["Workspace", "brief_text", "day_argument"]
