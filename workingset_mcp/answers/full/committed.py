"""Read the notes of a commit, and select what a request asks for.

Not here: git itself (`vault.git`), which paths are notes (`vault.ignoring`), what a request gets without a
commit (`record`).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from weakref import WeakKeyDictionary

from workingset_mcp.answers.answer import Source, counted
from workingset_mcp.answers.full.matching import Matcher
from workingset_mcp.answers.full.pages import Extract, Record
from workingset_mcp.answers.full.stretches import (
    Dated,
    FullRequest,
    Meter,
    date_at,
    digest_of,
    in_order,
    stretches_of,
)
from workingset_mcp.caller import stop_if_gone
from workingset_mcp.escaping import quote
from workingset_mcp.index import Scope, View
from workingset_mcp.index.rows import section_date
from workingset_mcp.notes.dates import last_day
from workingset_mcp.notes.markdown import line_ends_kept
from workingset_mcp.notes.note import Note, decode, parse_note, text_digest
from workingset_mcp.notes.sections import Section
from workingset_mcp.notes.statuses import StatusBlock
from workingset_mcp.vault.folder import MOST_NOTE_BYTES, Vault
from workingset_mcp.vault.git import Blobs, Commit, Committed

_Place = tuple[str, int, int, int]  # date, first line, first character, end character
_newest: WeakKeyDictionary[Vault, tuple[object, Record]] = WeakKeyDictionary()


def committed_notes(vault: Vault, commit: Commit, branch: str | None) -> list[Committed]:
    """Return the files of a commit that would be notes today, in the vault or in one branch."""
    sieve = vault.sieve_of_commit()
    return [
        file
        for file in commit.files
        if branch in (None, vault.branch_of(file.path)) and sieve.keeps(file.path)
    ]


def committed_record(
    view: View, vault: Vault, request: FullRequest, commit: Commit,
    committed: Sequence[Committed], subject: str,
) -> Record:  # fmt: skip
    """Make the record of a request from the notes of a commit, ordered by their dates at that time.

    The newest record of each vault is cached for the pages that follow: a commit never changes.
    """
    key = (request, commit.name, tuple(committed))
    cached = _newest.get(vault)
    if cached and cached[0] == key:
        return cached[1]
    made = _Making(view, vault, request)
    blobs = Blobs(vault.root, commit.name, MOST_NOTE_BYTES)
    missing = 0
    with Matcher(request.query) as matcher:
        for file, raw in zip(committed, blobs.each([f.blob for f in committed]), strict=True):
            if raw is None:
                missing += 1
            else:
                made.add(file, raw, blobs, matcher)
    extracts = in_order(made.extracts)
    blobs.expect([made.blobs[extract.path] for extract in extracts])
    notices = [f"as committed on {commit.day} ({commit.name[:10]})"]
    notices += status_notice(made.statuses, last_day(request.as_of))
    missing -= blobs.too_large
    if blobs.too_large:
        most = f"over {MOST_NOTE_BYTES // 1_000_000} MB"
        notices.append(f"{counted(blobs.too_large, 'note')} {most}: left out")
    if missing:
        notices.append(f"{counted(missing, 'note')} not in this partial clone: left out")
    exact = made.meter.exact
    record = Record(subject, request.call(), extracts, tuple(notices), exact, narrowed=True)
    if not missing:
        _newest[vault] = key, record
    return record


class _Making:
    """The extracts and statuses of a commit's notes, collected note by note.

    A note that the index holds byte for byte is not parsed again, except for a query.
    """

    def __init__(self, view: View, vault: Vault, request: FullRequest) -> None:
        self.extracts: list[Extract] = []
        self.statuses: list[tuple[StatusBlock, str]] = []
        self.blobs: dict[str, tuple[str, int]] = {}  # by path: the blob and its characters
        self.meter = Meter()
        self._settings, self._request = vault.settings, request
        self._notes = {note.path: note for note in view.notes(request.scope.branch)}
        self._statuses: dict[str, list[StatusBlock]] = {}
        for row in view.statuses(request.scope.branch):
            self._statuses.setdefault(row.note.path, []).append(row.status)

    def add(self, file: Committed, raw: bytes, blobs: Blobs, matcher: Matcher) -> None:
        """Add the extracts of a note that the request asks for."""
        stop_if_gone()
        path, text = file.path, decode(raw)[0]
        self.blobs[path] = file.blob, len(text)
        known = self._notes.get(path)
        places: Iterable[_Place]
        tokens: int | None = None
        if known and not self._request.query and known.digest == text_digest(raw):
            statuses: Sequence[StatusBlock] = self._statuses.get(path, ())
            places, tokens = _places(known, text, self._request), known.tokens
        else:
            note = parse_note(path, raw, self._settings)
            if note.kind in ("brief", "private"):
                return
            statuses = note.statuses
            places = (
                _sections(note, self._request, matcher)
                if self._request.query
                else _places(note, text, self._request)
            )
        self.statuses += [(status, path) for status in statuses]
        for date, line, begin, end in places:
            part = text[begin:end]
            whole = tokens is not None and len(part) == len(text)
            cost = tokens if whole and tokens is not None else self.meter.tokens(part)
            read = partial(blobs.text, file.blob, begin, end)
            self.extracts.append(Extract(path, date, line, cost, digest_of(part), read))


def status_notice(statuses: Sequence[tuple[StatusBlock, str]], day: str) -> list[str]:
    """Return a line that names the newest status up to a day; empty if there is none.

    `statuses` are (status, path).
    """
    up_to = Scope(until=day)
    dated = [(s, path) for s, path in statuses if up_to.holds_every_day(s.date)]
    if not dated:
        return []
    status, path = max(dated, key=lambda p: (p[0].date, p[0].time, p[1], p[0].line))
    source = Source(path, status.line, status.last_line)
    return [f"newest status then: {quote(status.heading)} · {source}"]


def _places(note: Dated, text: str, request: FullRequest) -> Iterator[_Place]:
    """Yield the whole note, or its dated stretches in the window of a request."""
    if not request.scope.has_window or len(note.units) < 2:
        if request.scope.holds_first_day(note.date):
            yield note.date, 1, 0, len(text)
        return
    starts = [0, *accumulate(map(len, line_ends_kept(text)))]
    for unit in stretches_of(note):
        if request.scope.holds_first_day(unit.date):
            yield unit.date, unit.first_line, starts[unit.first_line - 1], starts[unit.last_line]


def _sections(note: Note, request: FullRequest, matcher: Matcher) -> Iterator[_Place]:
    """Yield the sections in the window that contain all words of the query."""
    end = 0
    for section in _whole_sections(note.sections):
        headings = section[0].headings
        untitled = headings[1:-1] if headings[:1] == (note.title,) else headings[:-1]
        above = "\n".join(untitled)  # as the index stores them
        body = "".join(piece.text for piece in section)
        begin, end = end, end + len(body)
        date = date_at(note, section[0].first_line, section_date(headings))
        if request.scope.holds_first_day(date) and matcher.holds_all(f"{above}\n{body}"):
            yield date, section[0].first_line, begin, end


def _whole_sections(pieces: Sequence[Section]) -> Iterator[list[Section]]:
    section: list[Section] = []
    for piece in pieces:
        if piece.opens and section:
            yield section
            section = []
        section.append(piece)
    if section:
        yield section
