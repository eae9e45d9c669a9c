"""Which verbatim texts belong to a full context: a branch, a window of dates, a query, a day.

With a query: every section that holds all its words, not the top few. For a day: the notes as
committed then, in a git work tree; else what is dated up to it. Not here: pages (`history`).
"""

from collections.abc import Sequence
from dataclasses import replace

from workingset_mcp.answers.answer import counted
from workingset_mcp.answers.counting import tokens_of
from workingset_mcp.answers.full.committed import committed_notes, committed_record, status_notice
from workingset_mcp.answers.full.matching import Matcher
from workingset_mcp.answers.full.pages import UNDATED, Extract, Record
from workingset_mcp.answers.full.stretches import (
    MOST_COUNTED_CHARACTERS,
    Meter,
    Window,
    dated_parts,
    extract_of,
    in_order,
    line_extracts,
    note_extract,
    sections_of_query,
    stretches_of,
)
from workingset_mcp.index import Index, Snapshot
from workingset_mcp.index.rows import NoteRow
from workingset_mcp.notes.dates import last_day
from workingset_mcp.notes.markdown import line_ends_kept
from workingset_mcp.notes.note import DatedStretch
from workingset_mcp.vault.folder import Vault
from workingset_mcp.vault.git import files_at
from workingset_mcp.vault.ignoring import printable

Spans = dict[str, list[tuple[int, int, str]]]  # path -> first line, last line, date


def record_of(snapshot: Snapshot, index: Index, vault: Vault, window: Window) -> Record:
    """The result set of a window."""
    subject = printable(window.branch) if window.branch else vault.name
    if window.query:
        subject = f"{subject} with {window.query[:60]!r}"
    if window.as_of:
        return _record_at(snapshot, vault, window, f"{subject} as of {window.as_of}")
    notes = snapshot.notes(window.branch)
    if window.query:
        meter = Meter()
        found = in_order([e for e, _ in sections_of_query(snapshot, window, notes, meter)])
        return Record(subject, window.call(), found, exact=meter.exact, narrowed=True)
    tokens, exact = _tokens(snapshot, index, notes)
    if window.dated:
        return _record_between(snapshot, window, notes, tokens, exact=exact, subject=subject)

    def parts() -> tuple[Extract, ...]:
        return _parts(snapshot, window, notes, tokens, Meter())

    whole = in_order([note_extract(snapshot, note, tokens[note.id]) for note in notes])
    return Record(subject, window.call(), whole, exact=exact, parts=parts)


def _record_between(
    snapshot: Snapshot, window: Window, notes: Sequence[NoteRow], tokens: dict[int, int], *,
    exact: bool, subject: str,
) -> Record:  # fmt: skip
    """What lies between two days, and how much cannot be placed there."""
    meter = Meter()
    extracts = _parts(snapshot, window, notes, tokens, meter)
    shown = {extract.path for extract in extracts}
    notices = []
    undated = sum(1 for note in notes if not note.date and note.path not in shown)
    if undated and window.since != UNDATED:
        notices.append(f'{counted(undated, "note has", "notes have")} no date: since="{UNDATED}"')
    vague = [n for n in notes if window.begins_inside(n.date) and n.path not in shown]
    if vague:
        are = counted(len(vague), "note is", "notes are")
        notices.append(
            f"{are} dated by a month or year that begins before:"
            f' since="{min(note.date for note in vague)}"'
        )
    exact = exact and meter.exact
    return Record(subject, window.call(), extracts, tuple(notices), exact, narrowed=True)


def _parts(
    snapshot: Snapshot, window: Window, notes: Sequence[NoteRow], tokens: dict[int, int],
    meter: Meter,
) -> tuple[Extract, ...]:  # fmt: skip
    return in_order(
        [
            extract
            for note in notes
            for extract in dated_parts(snapshot, window, note, tokens[note.id], meter)
        ]
    )


def _tokens(
    snapshot: Snapshot, index: Index, notes: Sequence[NoteRow]
) -> tuple[dict[int, int], bool]:
    """Tokens by note; estimates where counting would keep the caller waiting."""
    if sum(note.size for note in notes if note.tokens is None) <= MOST_COUNTED_CHARACTERS:
        return tokens_of(snapshot, index, notes), True
    return {n.id: n.tokens if n.tokens is not None else n.size // 4 for n in notes}, False


def _record_at(snapshot: Snapshot, vault: Vault, window: Window, subject: str) -> Record:
    """The state at a day: as committed, else what is dated up to it."""
    commit = files_at(vault.root, last_day(window.as_of))
    if not commit.reason:
        committed = committed_notes(vault, commit, window.branch)
        if committed:
            return committed_record(snapshot, vault, window, commit, committed, subject)
    reason = commit.reason or "no note of this branch was committed then"
    return _record_by_dates(snapshot, window, subject, reason)


def _record_by_dates(snapshot: Snapshot, window: Window, subject: str, reason: str) -> Record:
    """What the notes themselves date up to a day."""
    day = last_day(window.as_of)
    meter = Meter()
    notes = snapshot.notes(window.branch)
    spans = _spans_up_to(snapshot, notes, window.branch, day)
    if window.query:
        extracts = _sections_inside(snapshot, window, notes, spans, meter)
    else:
        extracts = [
            extract
            for note in notes
            for extract in line_extracts(
                snapshot,
                note,
                [DatedStretch(d, a, b) for a, b, d in spans.get(note.path, ())],
                meter,
            )
        ]
    extracts = [extract for extract in extracts if window.holds(extract.date)]
    notices = [f"by the dates in the notes ({reason}): notes and status blocks dated up to {day}"]
    statuses = snapshot.statuses(window.branch)
    notices += status_notice([(row.status, row.note.path) for row in statuses], day)
    undated = sum(1 for note in notes if not note.date and note.kind == "note")
    if undated:
        notices.append(f"{counted(undated, 'undated note')} left out")
    return Record(
        subject, window.call(), in_order(extracts), tuple(notices), meter.exact, narrowed=True
    )


def _spans_up_to(
    snapshot: Snapshot, notes: Sequence[NoteRow], branch: str | None, day: str
) -> Spans:
    """Notes and dated stretches up to a day; of later or undated ones their status blocks up to it.

    Nothing stands there twice: a status inside a stretch that is shown comes with it.
    """
    spans: Spans = {
        note.path: [
            (unit.first_line, unit.last_line, unit.date)
            for unit in stretches_of(note)
            if unit.date and last_day(unit.date) <= day
        ]
        for note in notes
    }
    for row in snapshot.statuses(branch):
        status, known = row.status, spans.get(row.note.path)
        if known is None or not status.date or last_day(status.date) > day:
            continue
        if not any(first <= status.line <= last for first, last, _ in known):
            known.append((status.line, status.last_line, status.date))
    return spans


def _sections_inside(
    snapshot: Snapshot, window: Window, notes: Sequence[NoteRow], spans: Spans, meter: Meter
) -> list[Extract]:
    """Sections with all words of a query, as far as they lie in these spans and hold them there."""
    anywhen = replace(window, since="", until="")
    found = []
    with Matcher(window.query) as matcher:
        for section, last in sections_of_query(snapshot, anywhen, notes, Meter()):
            lines = line_ends_kept(section.text())
            for begin, end, date in spans[section.path]:
                first = max(begin, section.first_line)
                inside = lines[first - section.first_line : min(end, last) + 1 - section.first_line]
                text = "".join(inside) if first <= min(end, last) else ""
                if text and (len(inside) == len(lines) or matcher.holds_all(text)):
                    found.append(extract_of(section.path, date, first, text, meter))
    return found


__all__ = ["Window", "record_of"]
