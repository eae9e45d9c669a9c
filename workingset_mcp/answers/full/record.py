"""Select the verbatim texts of a full context: by branch, window of dates, query and day.

With a query: every section that contains all its words, not only the best ones. As of a day: in a git work
tree the notes as committed then, else the notes dated up to that day. Not here: pages (`pages`).
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
    FullRequest,
    Meter,
    dated_parts,
    extract_of,
    in_order,
    line_extracts,
    note_extract,
    sections_of_query,
    stretches_of,
)
from workingset_mcp.escaping import show_name
from workingset_mcp.index import Engine, Scope, View
from workingset_mcp.index.rows import NoteRow
from workingset_mcp.notes.dates import last_day
from workingset_mcp.notes.markdown import line_ends_kept
from workingset_mcp.notes.note import DatedStretch
from workingset_mcp.vault.folder import Vault
from workingset_mcp.vault.git import files_at

Spans = dict[str, list[tuple[int, int, str]]]  # path -> first line, last line, date


def record_of(view: View, index: Engine, vault: Vault, request: FullRequest) -> Record:
    """Make the record of a request."""
    subject = show_name(request.scope.branch or vault.name)
    if request.query:
        subject = f"{subject} with {request.query[:60]!r}"
    if request.as_of:
        return _record_at(view, vault, request, f"{subject} as of {request.as_of}")
    notes = view.notes(request.scope.branch)
    if request.query:
        meter = Meter()
        found = in_order([e for e, _ in sections_of_query(view, request, notes, meter)])
        return Record(subject, request.call(), found, exact=meter.exact, narrowed=True)
    tokens, exact = _tokens(view, index, notes)
    if request.scope.has_window:
        return _record_between(view, request, notes, tokens, exact=exact, subject=subject)

    def parts() -> tuple[Extract, ...]:
        return _parts(view, request, notes, tokens, Meter())

    whole = in_order([note_extract(view, note, tokens[note.id]) for note in notes])
    return Record(subject, request.call(), whole, exact=exact, parts=parts)


def _record_between(
    view: View, request: FullRequest, notes: Sequence[NoteRow], tokens: dict[int, int], *,
    exact: bool, subject: str,
) -> Record:  # fmt: skip
    """Make the record of a window of dates, with notices on notes that cannot be placed in it."""
    meter = Meter()
    extracts = _parts(view, request, notes, tokens, meter)
    shown = {extract.path for extract in extracts}
    notices = []
    undated = sum(1 for note in notes if not note.date and note.path not in shown)
    if undated and not request.scope.undated:
        notices.append(f'{counted(undated, "note has", "notes have")} no date: since="{UNDATED}"')
    vague = [n for n in notes if request.scope.begins_within(n.date) and n.path not in shown]
    if vague:
        are = counted(len(vague), "note is", "notes are")
        notices.append(
            f"{are} dated by a month or year that begins before:"
            f' since="{min(note.date for note in vague)}"'
        )
    exact = exact and meter.exact
    return Record(subject, request.call(), extracts, tuple(notices), exact, narrowed=True)


def _parts(
    view: View, request: FullRequest, notes: Sequence[NoteRow], tokens: dict[int, int],
    meter: Meter,
) -> tuple[Extract, ...]:  # fmt: skip
    return in_order(
        [
            extract
            for note in notes
            for extract in dated_parts(view, request, note, tokens[note.id], meter)
        ]
    )


def _tokens(view: View, index: Engine, notes: Sequence[NoteRow]) -> tuple[dict[int, int], bool]:
    """Return tokens by note, and whether they are exact: estimate if counting would take too long."""
    if sum(note.size for note in notes if note.tokens is None) <= MOST_COUNTED_CHARACTERS:
        return tokens_of(view, index, notes), True
    return {n.id: n.tokens if n.tokens is not None else n.size // 4 for n in notes}, False


def _record_at(view: View, vault: Vault, request: FullRequest, subject: str) -> Record:
    """Make the record of a past day: the notes as committed then, else by the dates in the notes."""
    commit = files_at(vault.root, last_day(request.as_of))
    if not commit.reason:
        committed = committed_notes(vault, commit, request.scope.branch)
        if committed:
            return committed_record(view, vault, request, commit, committed, subject)
    reason = commit.reason or "no note of this branch was committed then"
    return _record_by_dates(view, request, subject, reason)


def _record_by_dates(view: View, request: FullRequest, subject: str, reason: str) -> Record:
    """Make the record of a past day from the dates in today's notes."""
    day = last_day(request.as_of)
    meter = Meter()
    notes = view.notes(request.scope.branch)
    spans = _spans_up_to(view, notes, request.scope.branch, day)
    if request.query:
        extracts = _sections_inside(view, request, notes, spans, meter)
    else:
        extracts = [
            extract
            for note in notes
            for extract in line_extracts(
                view, note, [DatedStretch(d, a, b) for a, b, d in spans.get(note.path, ())], meter
            )
        ]
    extracts = [extract for extract in extracts if request.scope.holds_first_day(extract.date)]
    notices = [f"by the dates in the notes ({reason}): notes and status blocks dated up to {day}"]
    statuses = view.statuses(request.scope.branch)
    notices += status_notice([(row.status, row.note.path) for row in statuses], day)
    undated = sum(1 for note in notes if not note.date and note.kind == "note")
    if undated:
        notices.append(f"{counted(undated, 'undated note')} left out")
    return Record(
        subject, request.call(), in_order(extracts), tuple(notices), meter.exact, narrowed=True
    )


def _spans_up_to(view: View, notes: Sequence[NoteRow], branch: str | None, day: str) -> Spans:
    """Return notes and dated stretches up to a day, and status blocks up to it in later or undated notes.

    Nothing comes twice: a status inside a stretch that is shown is not added again.
    """
    up_to = Scope(until=day)
    spans: Spans = {
        note.path: [
            (unit.first_line, unit.last_line, unit.date)
            for unit in stretches_of(note)
            if up_to.holds_every_day(unit.date)
        ]
        for note in notes
    }
    for row in view.statuses(branch):
        status, known = row.status, spans.get(row.note.path)
        if known is None or not up_to.holds_every_day(status.date):
            continue
        if not any(first <= status.line <= last for first, last, _ in known):
            known.append((status.line, status.last_line, status.date))
    return spans


def _sections_inside(
    view: View, request: FullRequest, notes: Sequence[NoteRow], spans: Spans, meter: Meter
) -> list[Extract]:
    """Return the parts of matching sections inside these spans that still contain all words of the query."""
    anytime = replace(request, scope=request.scope.anytime())
    found = []
    with Matcher(request.query) as matcher:
        for section, last in sections_of_query(view, anytime, notes, Meter()):
            lines = line_ends_kept(section.text())
            for begin, end, date in spans[section.path]:
                first = max(begin, section.first_line)
                inside = lines[first - section.first_line : min(end, last) + 1 - section.first_line]
                text = "".join(inside) if first <= min(end, last) else ""
                if text and (len(inside) == len(lines) or matcher.holds_all(text)):
                    found.append(extract_of(section.path, date, first, text, meter))
    return found


__all__ = ["FullRequest", "record_of"]
