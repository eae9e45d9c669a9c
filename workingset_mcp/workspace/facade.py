"""The single entry point: every answer about an open vault, each checked before it is returned.

Composition only. Not here: how an answer is checked (`checked`), the vault and its index (`indexed`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workingset_mcp.answers import listing, source
from workingset_mcp.answers.answer import Answer, Limits, counted, shown_warnings
from workingset_mcp.answers.brief import (
    BranchLine,
    BranchReader,
    Brief,
    Materials,
    Overview,
    make_brief,
    make_overview,
    read_materials,
)
from workingset_mcp.answers.brief.cache import BriefCache
from workingset_mcp.answers.brief.reading import contents_of, overview_lines, read_branch
from workingset_mcp.answers.budget import (
    LEAST_BRIEF_BUDGET,
    LEAST_BUDGET,
    clipped,
    count_tokens,
    echo_tokens,
    fits,
)
from workingset_mcp.answers.counting import tokens_of
from workingset_mcp.errors import ArgumentError, NoteNotFound, PathRefused
from workingset_mcp.escaping import show_line, show_name
from workingset_mcp.index import Scope, View
from workingset_mcp.notes.dates import find_dates
from workingset_mcp.notes.markdown import line_ends_kept
from workingset_mcp.notes.note import OVERRIDE_NAME, Remark, decode, is_private
from workingset_mcp.settings import Settings, today
from workingset_mcp.sync.changes import plan_changes
from workingset_mcp.vault.folder import MOST_NOTE_BYTES, LeftOut
from workingset_mcp.workspace.branches import near_names
from workingset_mcp.workspace.checked import Allowance, checked_answer, fitted_answer
from workingset_mcp.workspace.healing import healing
from workingset_mcp.workspace.indexed import IndexedVault

if TYPE_CHECKING:
    from workingset_mcp.answers.full.pages import Page
    from workingset_mcp.answers.search import Ranking
    from workingset_mcp.answers.search.reply import Found

_MOST_TRIED = 200  # files that differ, read to see whether they can be
_MOST_SIGNS = 3  # of one kind of note, told by `status`
_LEAST_PATH_SCORE = 60  # lowest similarity of a path that is suggested


class Workspace(IndexedVault):
    """Every answer that an open vault gives.

    Raises VaultNotFound, SettingsError, IndexUnavailable.
    """

    def __init__(
        self, vault: Path, settings: Settings | None = None, *, in_memory: bool = False
    ) -> None:
        super().__init__(vault, settings, in_memory=in_memory)
        self._briefs = BriefCache()
        self._branch_lines: tuple[object, list[BranchLine]] = (None, [])  # version, lines

    @healing
    def status(self) -> dict[str, Any]:
        """Report what is indexed, left out and remarked, and whether the index matches the disk."""
        self.freshness.ensure_there()
        walked = self.vault.walk()
        with self.index.snapshot() as snapshot:
            state = str(self.freshness.state)
            changes = plan_changes(walked.files, snapshot.known(), unread=walked.unread)
            unread = self.vault.unreadable(changes.sure[:_MOST_TRIED])
            differing = len(changes.sure) + len(changes.removed)
            if differing and state == "index current":
                verb = "differs" if differing == 1 else "differ"
                state = f"index behind: {counted(differing, 'note')} {verb}"
            remarks = [
                f"{show_name(note.path)}:{remark.line} {show_line(remark.text)}"
                for note in snapshot.remarked()
                for remark in note.remarks
            ]
            return {
                "vault": show_name(self.vault.name),
                "state": state,
                "notes": snapshot.note_count(),
                "branches": len(snapshot.branch_names()),
                "kinds": _kinds_of_notes(snapshot.note_kinds()),
                "generation": snapshot.generation(),
                "index_place": self.index.place,
                "watcher": self.freshness.watcher,
                "remarks": [*self.settings.remarks, *remarks],
                "left_out": [
                    f"{left.name}: {left.said.removeprefix('left out: ')}"
                    for left in (*walked.left_out, *unread)
                ],
            }

    @healing
    def brief(
        self, branch: str | None = None, budget: int | None = None, limits: Limits | None = None,
        *, day: date | None = None,
    ) -> Answer[Brief | Overview]:  # fmt: skip
        """Make the brief of a branch, or the overview of the vault.

        `day`: the day it is for, instead of today. Raises ArgumentError, BranchNotFound.
        """
        allowance = self._allowance(budget, self.settings.brief_budget, LEAST_BRIEF_BUDGET, limits)
        name = self.branch_named(branch) if branch and branch.strip() else None
        self.freshness.refresh_paths((OVERRIDE_NAME,))  # the root's applies to every branch
        read: dict[tuple[int, int], Materials] = {}  # fitting repeats, reading does not

        def compose(snapshot: View, room: int) -> Answer[Brief | Overview]:
            if name is None:
                return self._compose_overview(snapshot, room)
            on, left_out = day or today(), self._left_out_of(name)
            contents = contents_of(snapshot, name)
            version = snapshot.version()
            # The epoch is part of the key, so nothing made from a damaged file is reused.
            made_from = (version[0], name, contents, on, left_out, room)
            made = self._briefs.get(made_from) if contents else None
            if made is None:
                reader = BranchReader(snapshot, name)
                if version not in read:
                    found = read_branch(snapshot, self, name, on, left_out)
                    read[version] = read_materials(found, reader)
                made = make_brief(read[version], reader, room)
                if contents:
                    self._briefs.keep(made_from, made)
            shown = clipped(show_name(name), echo_tokens(room, 8))
            return Answer(
                f"{shown} · brief", made.text, made, made.warnings, body_tokens=made.tokens
            )

        return checked_answer(self, name, compose, allowance)

    def brief_text(self, branch: str, limits: Limits) -> str:
        """Return a brief without its header, for a resource or a prompt; warnings of what is not current come first.

        Raises ArgumentError, BranchNotFound.
        """
        answer = self.brief(branch, limits=limits)
        is_behind = answer.state.startswith(("index behind", "index failing"))
        said = [answer.state] if is_behind else []
        said += [
            f"{left.name} {left.said}"
            for left in self.freshness.missing(branch)
            if left.reason.is_unread
        ]
        above = "".join(f"warning: {line}\n" for line in shown_warnings(said, tight=False))
        if above:
            answer = self.brief(branch, limits=limits.left_beside(above))
        return above + answer.body

    def _left_out_of(self, branch: str) -> tuple[LeftOut, ...]:
        walked = self.freshness.left_out.get(branch, ())
        return (*walked, *self.freshness.unread_notes(branch))

    def _compose_overview(self, snapshot: View, room: int) -> Answer[Brief | Overview]:
        version, lines = self._branch_lines
        if version != snapshot.version():
            version, lines = snapshot.version(), overview_lines(snapshot)
            self._branch_lines = version, lines
        made = make_overview(self.vault.name, lines, room)
        return Answer("overview", made.text, made, body_tokens=made.tokens)

    def note_part(self, path: str, limits: Limits, reserved: int) -> tuple[str, str]:
        """The text of a note, or of the lines behind its path (`a.md:12-40`), as far as a client lets through.

        Then the same path with the lines that follow; empty at the end. A part that is not the last leaves
        `reserved` bytes to a line behind it. Raises VaultError, ArgumentError.
        """
        found, lines = self._path_named(path)
        try:
            raw, _ = self.vault.read(found)
        except OSError:
            raise self._gone(found) from None
        ended = line_ends_kept(self._shown_text(found, raw)[0])
        if not ended:
            return "", ""
        span = source.span_of(lines, len(ended))
        room = most = int(limits.most_tokens / self.settings.token_margin)
        while True:
            part = source.show(found, ended, span, room)
            tokens, kept = count_tokens(part.text), reserved if part.next_lines else 0
            size = None if limits.max_bytes is None else max(1, limits.max_bytes - kept)
            if room <= 1 or fits(part.text, tokens + kept, most, size):
                return part.text, f"{found}:{part.next_lines}" if part.next_lines else ""
            over = len(part.text.encode("utf-8", "replace")) / (size or MOST_NOTE_BYTES)
            room = max(1, int(min(room, tokens) * min(0.95, 0.98 / over)))

    @healing
    def brief_numbers(self, branch: str, budget: int | None = None) -> tuple[int, int, int]:
        """Return the notes and source tokens of a branch, and the tokens of its brief."""
        text = self.brief(branch, budget).body
        with self.index.snapshot() as snapshot:
            notes = [
                note for note in snapshot.notes(self.branch_named(branch)) if note.kind == "note"
            ]
            tokens = tokens_of(snapshot, self.index, notes)
        return len(notes), sum(tokens.values()), count_tokens(text)

    @healing
    def search(
        self, query: str, *, also: Sequence[str] = (), budget: int | None = None,
        branch: str | None = None, since: str | None = None, until: str | None = None,
        boost: str | None = None, top: int | None = None, limits: Limits | None = None,
    ) -> Answer["Found"]:  # fmt: skip
        """Find the best passages for a question. Raises ArgumentError, BranchNotFound.

        `boost`: a branch whose sections weigh 1.5 times as much. `top`: the most sections to use.
        """
        from workingset_mcp.answers import search  # imports take 8 ms
        from workingset_mcp.answers.search.reply import compose_search

        if not query.strip():
            raise ArgumentError("The query is empty.", "Give a question or a few words.")
        allowance = self._allowance(budget, self.settings.search_budget, LEAST_BUDGET, limits)
        name = self.branch_named(branch) if branch and branch.strip() else None
        scope = Scope.of(name, day_argument("since", since), day_argument("until", until))
        parsed = search.parse_query(query, also=also, glossary=self.settings.glossary)
        boosted = self.branch_named(boost) if boost else None

        ranked: dict[tuple[int, int], Ranking] = {}  # packing repeats, ranking does not

        def compose(snapshot: View, room: int) -> "Answer[Found]":
            version = snapshot.version()
            if version not in ranked:
                found = search.rank(parsed, snapshot, self.stemmer, scope)
                ranked[version] = search.boost_and_cut(found, boosted, top)
            is_whole = not self.freshness.missing(name)
            return compose_search(parsed, ranked[version], snapshot, scope, room, is_whole=is_whole)

        return checked_answer(self, name, compose, allowance, quoted_only=name is None)

    @healing
    def open(
        self, path: str, *, lines: str | None = None, heading: str | None = None,
        budget: int | None = None, limits: Limits | None = None,
    ) -> Answer[source.NotePart]:  # fmt: skip
        """Show the exact text of a note, or of some of its lines. Raises VaultError, ArgumentError."""
        allowance = self._allowance(budget, self.settings.open_budget, LEAST_BUDGET, limits)
        found, behind = self._path_named(path)
        lines = lines or behind
        try:
            raw, _ = self.vault.read(found)
        except FileNotFoundError:
            raise self._gone(found) from None
        except OSError as error:
            raise NoteNotFound(
                f"{show_name(found)} cannot be read: {error.strerror or 'not a regular file'}.",
                "Check its permissions.",
            ) from None
        text, remarks = self._shown_text(found, raw)
        ended, name = line_ends_kept(text), show_name(found)
        span = source.span_of(lines, len(ended))
        if heading and not lines:
            span = source.section_span(text, heading, found)
        warnings = tuple(f"line {remark.line}: {remark.text}" for remark in remarks)

        def compose(room: int) -> Answer[source.NotePart]:
            shown = source.show(found, ended, span, room - 40)
            body, calls = shown.body, [shown.next_call] if shown.next_call else []
            most = echo_tokens(room)
            if calls:
                call = f'open_source_file(path="{name}", lines="{shown.next_lines}")'
                if clipped(call, most) != call:
                    call = f'the same path with lines="{shown.next_lines}"'
                body = f"next: {call}\n{body}"
            subject = f"open · {clipped(name, most)} lines {shown.lines}"
            return Answer(subject, body, shown, warnings, (shown.source,), next_calls=tuple(calls))

        return fitted_answer(self, compose, allowance)

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
    ) -> "Answer[Page]":
        """Return one page of verbatim notes in date order. Raises BranchNotFound, ArgumentError."""
        from workingset_mcp.answers.full.pages import UNDATED, compose_page
        from workingset_mcp.answers.full.record import FullRequest, record_of  # import takes 10 ms

        allowance = self._allowance(budget, self.settings.full_budget, LEAST_BUDGET, limits)
        at = day_argument("as_of", as_of)
        undated = (since or "").strip().lower() == UNDATED
        name = (
            self.branch_named(branch, may_be_gone=bool(at)) if branch and branch.strip() else None
        )
        scope = Scope.of(
            name, "" if undated else day_argument("since", since), day_argument("until", until)
        )
        request = FullRequest(replace(scope, undated=undated), (query or "").strip(), at)

        def compose(snapshot: View, room: int) -> "Answer[Page]":
            record = record_of(snapshot, self.index, self.vault, request)
            return compose_page(
                record, cursor, self.settings.heavy_limit, room, allowance.max_bytes
            )

        return checked_answer(self, name, compose, allowance)

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
    ) -> Answer[listing.Listing]:
        """Count and list items over all notes. Raises BranchNotFound, ArgumentError."""
        allowance = self._allowance(budget, self.settings.items_budget, LEAST_BUDGET, limits)
        name = self.branch_named(branch) if branch and branch.strip() else None
        request = listing.checked(
            listing.ListRequest(
                kind,
                Scope.of(name, day_argument("since", since), day_argument("until", until)),
                owner or "",
                text or "",
                day_argument("due_before", due_before),
                group_by,
            )
        )

        def compose(snapshot: View, room: int) -> Answer[listing.Listing]:
            left_out: Sequence[LeftOut] = ()
            if request.kind == "remark":
                older = (
                    one for one in self.freshness.unread_notes(name) if one.reason.is_warned_of
                )
                left_out = [*self.left_out(name), *older]
            return listing.compose_list(
                snapshot, request, left_out, self.vault.branch_of, room,
                is_whole=not self.freshness.missing(name),
            )  # fmt: skip

        return checked_answer(self, name, compose, allowance)

    def limits(self) -> Limits:
        """Return the limits from the settings, for a caller without its own."""
        return Limits(max_bytes=self.settings.max_answer_bytes)

    def _allowance(
        self, budget: int | None, usual: int, least: int, limits: Limits | None
    ) -> Allowance:
        return Allowance.of(budget, usual, least, limits or self.limits())

    def _path_named(self, given: str) -> tuple[str, str | None]:
        self.freshness.ensure_there()
        try:
            return self.vault.checked_path(given)
        except NoteNotFound:
            raise self._gone(given.strip()) from None

    def _shown_text(self, path: str, raw: bytes) -> tuple[str, list[Remark]]:
        """The text of a note, and remarks on it. Raises PathRefused for a private one."""
        text, remarks = decode(raw)
        if is_private(text, self.settings):
            raise PathRefused(
                f"{show_name(path)} is private: its front matter says so.",
                "Only the person may show it.",
            )
        return text, remarks

    def _gone(self, path: str) -> NoteNotFound:
        near = near_names(path, self.known_paths(), _LEAST_PATH_SCORE)
        hint = (
            f"Near: {', '.join(map(show_name, near))}."
            if near
            else "search_notes finds notes by their words."
        )
        return NoteNotFound(f"There is no note {path[:200]!r}.", hint)


def day_argument(name: str, value: str | None) -> str:
    """Parse a date, month or year that a caller wrote in any form to ISO. Raises ArgumentError."""
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


def _kinds_of_notes(rows: Sequence[tuple[str, str, int]]) -> list[str]:
    """Say how many notes are of each kind and by which signs, the most frequent first."""
    totals: Counter[str] = Counter()
    signs: dict[str, list[str]] = {}
    for kind, sign, times in rows:
        totals[kind] += times
        signs.setdefault(kind, []).append(f"{show_line(sign)} ({times:,})")
    return [
        f"{kind} {number:,}: {', '.join(signs[kind][:_MOST_SIGNS])}"
        for kind, number in totals.most_common()
    ]
