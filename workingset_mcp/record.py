"""Which verbatim texts belong to a full context: a branch, a window of dates, a query, a day.

With a query: every section that holds all its words, not the top few. For a day: the notes as
committed then, in a git work tree; else what is dated up to it. Not here: pages (`history`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from workingset_mcp.answer import counted
from workingset_mcp.budget import count_tokens
from workingset_mcp.counting import tokens_of
from workingset_mcp.days import last_day
from workingset_mcp.gitlog import Commit, Committed, notes_at, texts_of
from workingset_mcp.history import UNDATED, Extract, Record
from workingset_mcp.index import Index, Snapshot
from workingset_mcp.index.rows import NoteRow, SectionRow
from workingset_mcp.note import Note, decode, parse_note
from workingset_mcp.search.query import parse_query
from workingset_mcp.statuses import StatusBlock
from workingset_mcp.vault import Vault

_MOST_COUNTED_BYTES = 2_000_000  # more than this is estimated at first, and said so


@dataclass(frozen=True, slots=True)
class Window:
    """What of a branch is asked for. Dates are ISO, of any precision, both ends included."""

    branch: str | None = None
    query: str = ""
    since: str = ""
    until: str = ""
    as_of: str = ""

    def call(self) -> str:
        """The arguments as they stand in a call."""
        named = {
            "branch": self.branch or "", "query": self.query, "since": self.since, "until": self.until,
            "as_of": self.as_of,
        }  # fmt: skip
        return ", ".join(f'{name}="{value}"' for name, value in named.items() if value)

    def holds(self, date: str) -> bool:
        """Whether a date lies in the window; undated only where nothing or `undated` was asked."""
        if self.since == UNDATED:
            return not date
        if not self.since and not self.until:
            return True
        if not date:
            return False
        after = not self.since or date >= self.since[: len(date)]
        return after and (not self.until or date[: len(self.until)] <= self.until)


def record_of(snapshot: Snapshot, index: Index, vault: Vault, window: Window) -> Record:
    """The result set of a window."""
    subject = window.branch or vault.name
    if window.as_of:
        return _record_at(snapshot, index, vault, window, subject)
    notes = sorted(snapshot.notes(window.branch), key=lambda note: (note.date, note.path))
    if window.query:
        return _record_with(snapshot, window, notes, subject)
    tokens, exact = _tokens(snapshot, index, notes)
    extracts, undated = [], 0
    for note in notes:
        found = list(_dated_parts(snapshot, window, note, tokens[note.id]))
        undated += not found and not note.date
        extracts.extend(found)
    extracts.sort(key=lambda extract: (extract.date, extract.path, extract.first_line))
    narrowed = bool(window.since or window.until)
    notices: tuple[str, ...] = ()
    if narrowed and undated and window.since != UNDATED:
        notices = (f'{counted(undated, "note has", "notes have")} no date: since="{UNDATED}"',)
    return Record(subject, window.call(), tuple(extracts), notices, exact, narrowed)


def _tokens(
    snapshot: Snapshot, index: Index, notes: Sequence[NoteRow]
) -> tuple[dict[int, int], bool]:
    """Tokens by note; estimates where counting would keep the caller waiting."""
    if sum(note.size for note in notes if note.tokens is None) <= _MOST_COUNTED_BYTES:
        return tokens_of(snapshot, index, notes), True
    return {n.id: n.tokens if n.tokens is not None else n.size // 4 for n in notes}, False


def _dated_parts(snapshot: Snapshot, window: Window, note: NoteRow, tokens: int) -> list[Extract]:
    """The note, or those of its dated sections that lie in the window."""
    narrowed = bool(window.since or window.until) and window.since != UNDATED
    if not narrowed or len(note.units) < 2:
        if not window.holds(note.date):
            return []
        return [
            Extract(
                note.path, note.date, 1, tokens, note.digest.hex(), partial(snapshot.text, note.id)
            )
        ]
    return [
        _lines_extract(snapshot, note, unit.first_line, unit.last_line, unit.date)
        for unit in note.units
        if window.holds(unit.date)
    ]


def _lines_extract(snapshot: Snapshot, note: NoteRow, first: int, last: int, date: str) -> Extract:
    sections = [s for s in snapshot.sections(note.id, first, last) if s.first_line >= first]
    text = "".join(section.text for section in sections)
    return Extract(note.path, date, first, count_tokens(text), note.digest.hex(), lambda: text)


def _record_with(
    snapshot: Snapshot, window: Window, notes: Sequence[NoteRow], subject: str
) -> Record:
    """Every section that holds all words of a query, in date order."""
    query = parse_query(window.query)
    by_id = {note.id: note for note in notes}
    wanted: set[tuple[int, int]] | None = None
    for concept in query.concepts:
        expression = f"{{heads body cjk dt}} : ({concept.match})"
        found = {
            _start_of(snapshot, row)
            for row in snapshot.matching_sections(expression, window.branch)
            if row[0] in by_id
        }
        wanted = found if wanted is None else wanted & found
    extracts = []
    for note_id, ordinal in sorted(wanted or ()):
        rows = snapshot.whole_section(note_id, ordinal)
        note = by_id[note_id]
        date = rows[0].date or note.date
        if window.holds(date):
            extracts.append(_section_extract(note, rows, date))
    extracts.sort(key=lambda extract: (extract.date, extract.path, extract.first_line))
    subject = f"{subject} with {window.query[:60]!r}"
    return Record(subject, window.call(), tuple(extracts), narrowed=True)


def _start_of(snapshot: Snapshot, row: tuple[int, int]) -> tuple[int, int]:
    note_id, ordinal = row
    return note_id, snapshot.section_start(note_id, ordinal)


def _section_extract(note: NoteRow, rows: Sequence[SectionRow], date: str) -> Extract:
    text = "".join(row.text for row in rows)
    return Extract(
        note.path, date, rows[0].first_line, count_tokens(text), note.digest.hex(), lambda: text
    )


def _record_at(
    snapshot: Snapshot, index: Index, vault: Vault, window: Window, subject: str
) -> Record:
    """The state at a day: as committed, else what is dated up to it."""
    day = last_day(window.as_of)
    subject = f"{subject} as of {window.as_of}"
    commit = notes_at(vault.root, day)
    if not commit.reason:
        committed = [
            note
            for note in commit.notes
            if vault.is_note_name(note.path.rpartition("/")[2])
            and window.branch in (None, vault.branch_of(note.path))
        ]
        if committed:
            return _committed_record(vault, window, commit, committed, subject)
    notes = snapshot.notes(window.branch)
    extracts = _parts_up_to(snapshot, notes, window.branch, day)
    extracts.sort(key=lambda extract: (extract.date, extract.path, extract.first_line))
    undated = sum(1 for note in notes if not note.date and note.kind == "note")
    reason = commit.reason or "no note of this branch was committed then"
    notices = [f"by the dates in the notes ({reason}): notes and status blocks dated up to {day}"]
    statuses = [
        r for r in snapshot.statuses(window.branch) if r.status.date and r.status.date <= day
    ]
    if statuses:
        newest = max(
            statuses, key=lambda r: (r.status.date, r.status.time, r.note.path, r.status.line)
        )
        notices.append(_status_notice(newest.note.path, newest.status))
    if undated:
        notices.append(f"{counted(undated, 'undated note')} left out")
    return Record(subject, window.call(), tuple(extracts), tuple(notices), narrowed=True)


def _parts_up_to(
    snapshot: Snapshot, notes: Sequence[NoteRow], branch: str | None, day: str
) -> list[Extract]:
    """Notes and dated sections up to a day; of later or undated notes their status blocks up to it."""
    found = []
    for note in notes:
        units = [unit for unit in note.units if unit.date]
        if note.date and last_day(note.date) <= day and len(units) < 2:
            text = snapshot.text(note.id)
            found.append(
                Extract(
                    note.path,
                    note.date,
                    1,
                    count_tokens(text),
                    note.digest.hex(),
                    partial(str, text),
                )
            )
        elif len(units) > 1:
            found += [
                _lines_extract(snapshot, note, unit.first_line, unit.last_line, unit.date)
                for unit in units
                if unit.date <= day
            ]
    shown = {(extract.path, extract.first_line) for extract in found}
    whole = {extract.path for extract in found if extract.first_line == 1}
    for row in snapshot.statuses(branch):
        if not row.status.date or row.status.date > day or row.note.path in whole:
            continue
        if (row.note.path, row.status.line) not in shown:
            found.append(
                _lines_extract(
                    snapshot, row.note, row.status.line, row.status.last_line, row.status.date
                )
            )
    return found


def _committed_record(
    vault: Vault, window: Window, commit: Commit, committed: Sequence[Committed], subject: str
) -> Record:
    """Notes as a commit holds them, in the order of their dates then."""
    texts = texts_of(vault.root, [note.blob for note in committed])
    extracts, statuses, missing = [], [], 0
    for entry, raw in zip(committed, texts, strict=True):
        if raw is None:
            missing += 1
            continue
        note = parse_note(entry.path, raw, vault.settings)
        if note.kind == "brief":
            continue
        text, _ = decode(raw)
        statuses += [(status, note) for status in note.statuses]
        extracts.append(
            Extract(entry.path, note.date, 1, count_tokens(text), entry.blob, partial(str, text))
        )
    extracts.sort(key=lambda extract: (extract.date, extract.path))
    notices = [f"as committed on {commit.day} ({commit.name[:10]})"]
    day = last_day(window.as_of)
    newest = _newest_status(statuses, day)
    if newest:
        notices.append(_status_notice(newest[1].path, newest[0]))
    if missing:
        notices.append(f"{counted(missing, 'note')} not in this partial clone: left out")
    return Record(subject, window.call(), tuple(extracts), tuple(notices), narrowed=True)


def _newest_status(
    statuses: Sequence[tuple[StatusBlock, Note]], day: str
) -> tuple[StatusBlock, Note] | None:
    dated = [pair for pair in statuses if pair[0].date and pair[0].date <= day]
    return max(dated, key=lambda p: (p[0].date, p[0].time, p[1].path, p[0].line), default=None)


def _status_notice(path: str, status: StatusBlock) -> str:
    return f"newest status then: {status.heading} · {path}:{status.line}-{status.last_line}"
