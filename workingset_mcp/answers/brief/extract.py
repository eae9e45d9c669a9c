"""Pick what a brief may show of a branch: status, items, newest notes, standing lines. Pure.

Values in (`Branch`, as the index knows it), values out (`Materials`), most important first. File times
never matter, only contents. Not here: how much of it is shown (`fit`).
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from operator import itemgetter

from workingset_mcp.answers.answer import Source
from workingset_mcp.answers.brief.materials import (
    Branch,
    BranchReader,
    Materials,
    NewUnit,
    OpenItem,
    Sourced,
    repeats_of,
)
from workingset_mcp.escaping import show_name
from workingset_mcp.index.rows import ItemRow, NoteRow, StatusRow
from workingset_mcp.notes.dates import day_of, days_before
from workingset_mcp.notes.kinds import ARCHIVE, LIVING, POST_MORTEM, RECORD, TRACKER
from workingset_mcp.notes.lines import (
    DONE_STATES,
    OPEN_STATES,
    UNREAD_KIND,
    Item,
    all_folded,
)
from workingset_mcp.notes.note import Remark, line_digest
from workingset_mcp.notes.words import LIVING_NAME, URGENT

_WHOLE = (LIVING, RECORD, POST_MORTEM, TRACKER)  # kinds of notes that are read whole, dated or not
STALE_BOX_DAYS = 180
STALE_LABEL_DAYS = 365
ACTION_WINDOW_DAYS = 45
MOST_REPEATS = 3  # a line in more other notes than this is copied forward or comes from a template
MOST_LISTED = 12
# `0044-choose-a-database`, `ADR-12`; two digits alone number chapters, which are read from the first.
_RECORD_NUMBER = re.compile(
    r"(?:(?:adr|rfc|dr|decision|record)[ _-]?0*(?=\d)|(?=\d{3}))(\d{1,6})(?!\d)", re.IGNORECASE
)
_SERIES_NUMBER = re.compile(r"[A-Za-z]{0,12}[ _-]?0*(\d{1,6})(?:[-_.]0*(\d{1,6}))?(?!\d)")


def read_materials(branch: Branch, reader: BranchReader) -> Materials:
    """Pick out and order what a brief of this branch may show."""
    today = branch.today.isoformat()
    sources = [
        note
        for note in branch.notes
        if note.kind == "note" and not note.template and not note.not_current
    ]
    sources = [
        note for note in sources if note.genre != ARCHIVE
    ] or sources  # a branch may be an archive
    dates = {note.id: day_of(note.date, branch.today) for note in branch.notes}
    in_order = _newest_first(sources, dates, today)
    as_of = _as_of(branch, dates, today)
    found = Materials(branch, as_of, _fingerprint(branch.notes))
    counted = [branch.tokens.get(note.id, 0) for note in branch.notes if note.kind == "note"]
    found.source_notes, found.source_tokens = len(counted), sum(counted)
    allowed = {note.id for note in sources}
    of_notes: dict[int, list[ItemRow]] = {}
    for row in branch.items:
        of_notes.setdefault(row.note.id, []).append(row)
    items = [row for note in in_order for row in of_notes.get(note.id, ())]
    found.override = _override_within_cap(branch, found.warnings)
    found.status = _latest_status(branch, allowed, dates, today, found.warnings)
    _pass_over_stale_undated_status(found, dates)
    _read_boxes(items, dates, as_of, found)
    _read_labels(items, dates, as_of, found)
    found.unread = [_source_of(row) for row in items if row.item.kind == UNREAD_KIND]
    found.actions = _action_bullets(items, dates, as_of, today, found, reader)
    found.listed = set(_sources_shown(found))
    found.recent = in_order
    found.units = _units(sources, branch.today)
    found.warnings.extend(_remarks(branch))
    return found


def _sources_shown(found: Materials) -> Iterator[tuple[str, int]]:
    """Yield the lines that the lists of the brief show, or count as open items."""
    lists = (found.decisions[:MOST_LISTED], found.facts[:MOST_LISTED], found.actions[:MOST_LISTED])
    of_items = (one.sources for one in found.open_items)
    of_lines = (one.sources for lines in lists for one in lines)
    for source in chain.from_iterable((*of_items, *of_lines)):
        yield source.path, source.first


def _override_within_cap(branch: Branch, warnings: list[str]) -> tuple[str, str] | None:
    """Return the override; if it is over its cap, leave it out whole and make that the first warning."""
    if branch.override is None:
        return None
    path, text = branch.override
    size = len(text.encode("utf-8", "replace"))
    if size <= branch.override_max_bytes:
        return branch.override
    warnings.insert(
        0,
        f"{show_name(path)} is left out: {size:,} bytes, over its cap of {branch.override_max_bytes:,}",
    )
    return None


def _newest_first(notes: Sequence[NoteRow], dates: Mapping[int, str], today: str) -> list[NoteRow]:
    """Sort notes: dated up to today, newest first; then undated; then dated ahead."""
    newest = sorted(notes, key=lambda note: dates[note.id], reverse=True)  # same day: by path
    undated = [note for note in newest if not dates[note.id]]
    undated.sort(key=_current_first)
    dated = newest[: len(newest) - len(undated)]
    ahead = bisect_left(dated, True, key=lambda note: dates[note.id] <= today)
    return [*dated[ahead:], *undated, *dated[:ahead]]


def _current_first(note: NoteRow) -> tuple[bool, int]:
    """Where no date decides: notes that people keep current, then records by number, newest first."""
    name = _name_of(note.path)
    numbered = _RECORD_NUMBER.match(name)
    return not LIVING_NAME.match(name), -int(numbered[1]) if numbered else 0


def _as_of(branch: Branch, dates: Mapping[int, str], today: str) -> str:
    """Return the newest day in the notes that is not after today."""
    days = {day for day in dates.values() if day}
    days |= {unit.date for note in branch.notes for unit in note.units if len(unit.date) == 10}
    days |= {row.status.date for row in branch.statuses if len(row.status.date) == 10}
    return max((day for day in days if day <= today), default="")


def _fingerprint(notes: Sequence[NoteRow]) -> str:
    digest = hashlib.sha256()
    for note in notes:
        digest.update(b"%b\0%b" % (note.path.encode(), note.digest))
    return digest.hexdigest()[:12]


def _latest_status(
    branch: Branch, allowed: set[int], dates: Mapping[int, str], today: str, warnings: list[str]
) -> StatusRow | None:
    """Return the newest status block: dated before undated; one dated ahead is skipped with a warning."""
    tomorrow = days_before(today, -1)
    best: StatusRow | None = None
    best_key: tuple[object, ...] = ()
    for row in branch.statuses:
        if row.note.id not in allowed:
            continue
        status = row.status
        day = day_of(status.date, branch.today)
        if day > tomorrow:
            warnings.append(
                f"{show_name(row.note.path)}:{status.line} status is dated ahead ({status.date}), passed over"
            )
            continue
        note_day = dates[row.note.id] if dates[row.note.id] <= today else ""
        key = (day, status.time, note_day, row.note.path, status.line)
        if best is None or key > best_key:
            best, best_key = row, key
    return best


def _pass_over_stale_undated_status(found: Materials, dates: Mapping[int, str]) -> None:
    """Drop an undated status in a note far older than the newest: it says nothing about today."""
    row = found.status
    if row is None or row.status.date or not found.as_of or not dates[row.note.id]:
        return
    if dates[row.note.id] < days_before(found.as_of, STALE_BOX_DAYS):
        found.status = None


def _read_boxes(
    items: Sequence[ItemRow], dates: Mapping[int, str], as_of: str, found: Materials
) -> None:
    """Collect the open boxes, each once: urgent first, then by due day, then newest note."""
    limit = days_before(as_of, STALE_BOX_DAYS) if as_of else ""
    groups: dict[str, list[ItemRow]] = {}
    done: dict[str, list[Source]] = {}
    boxes = [row for row in items if row.item.kind == "task"]
    for row, key in zip(boxes, all_folded(row.item.text for row in boxes), strict=True):
        if row.item.state in DONE_STATES:
            done.setdefault(key, []).append(_source_of(row))
        elif row.item.state in OPEN_STATES:
            found.open_boxes += 1
            day = _day(row, dates, found.branch.today)
            if day and limit and day < limit:
                found.stale_boxes += 1
            else:
                groups.setdefault(key, []).append(row)
    found.open_items = [
        OpenItem(rows[0].item, tuple(_source_of(row) for row in rows), tuple(done.get(key, ())))
        for key, rows in groups.items()
    ]
    found.open_items.sort(key=lambda o: (not URGENT.search(o.item.text), o.item.due or "9999"))


def _read_labels(
    items: Sequence[ItemRow], dates: Mapping[int, str], as_of: str, found: Materials
) -> None:
    """Collect labelled lines, each once, newest note first; facts go to a list of their own."""
    limit = days_before(as_of, STALE_LABEL_DAYS) if as_of else ""
    labels = []
    for row in items:
        item = row.item
        if item.kind in ("task", UNREAD_KIND) or _is_listed_action(item):
            continue
        if _in_status(row, found.status):
            continue
        day = _day(row, dates, found.branch.today)
        if day and limit and day < limit:
            found.stale_labels += 1
        else:
            labels.append(row)
    seen: set[str] = set()
    for row, key in zip(labels, all_folded(row.item.text for row in labels), strict=True):
        if key not in seen:
            seen.add(key)
            target = found.facts if row.item.kind == "fact" else found.decisions
            target.append(Sourced(row.item.text, (_source_of(row),)))


def _in_status(row: ItemRow, shown: StatusRow | None) -> bool:
    """Return whether an item is in the status block that the brief shows anyway."""
    if shown is None or shown.note.id != row.note.id:
        return False
    return shown.status.line <= row.item.line <= shown.status.last_line


def _action_bullets(
    items: Sequence[ItemRow],
    dates: Mapping[int, str],
    as_of: str,
    today: str,
    materials: Materials,
    reader: BranchReader,
) -> list[Sourced]:
    """Collect bullets and rows under action headings.

    Those of notes that people keep current, of the time around the newest note that has such a heading,
    and of the other notes without a date.
    """
    bullets = [
        (_day(row, dates, materials.branch.today), row)
        for row in items
        if _is_listed_action(row.item)
    ]
    undated = [row for day, row in bullets if not day and row.item.form != "line"]
    living: list[ItemRow] = []
    others: list[ItemRow] = []
    for row in undated:
        (living if LIVING_NAME.match(_name_of(row.note.path)) else others).append(row)
    near = _around_the_newest(bullets, as_of, today)
    ordered = [*living, *near, *others]
    seen = set(all_folded(one.item.text for one in materials.open_items))
    found = []
    for row, key in zip(ordered, all_folded(row.item.text for row in ordered), strict=True):
        if key not in seen:
            seen.add(key)
            if repeats_of(materials, reader)[line_digest(row.item.text)] > MOST_REPEATS + 1:
                materials.copied_forward += 1
                continue
            found.append(Sourced(row.item.text, (_source_of(row),)))
    return found


def _is_listed_action(item: Item) -> bool:
    """Whether its heading, or the header of its table, makes a line something to do."""
    return item.kind == "action" and item.form in ("bullet", "line", "row")


def _around_the_newest(
    bullets: Sequence[tuple[str, ItemRow]], as_of: str, today: str
) -> list[ItemRow]:
    days = [day for day, _ in bullets if day and day <= today]
    if not days or not as_of or max(days) < days_before(as_of, STALE_LABEL_DAYS):
        return []
    first = days_before(max(days), ACTION_WINDOW_DAYS)
    near = [(day, row) for day, row in bullets if day and first <= day <= today]
    near.sort(key=lambda pair: pair[0], reverse=True)
    return [row for _, row in near]


def _name_of(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def oldest_bullet(notes: Sequence[NoteRow], today: date) -> str:
    """Return the earliest day whose action bullets may be shown; empty if no note has a date."""
    days = [note.date for note in notes if len(note.date) == 10]
    newest = max((day for day in days if day <= today.isoformat()), default="")
    return newest and days_before(newest, STALE_LABEL_DAYS + ACTION_WINDOW_DAYS)


def _source_of(row: ItemRow) -> Source:
    return Source(row.note.path, row.item.line)


def _day(row: ItemRow, dates: Mapping[int, str], today: date) -> str:
    """Return the date of an item, else of its note; empty if neither has one."""
    own = row.item.date
    return day_of(own, today) if own else dates[row.note.id]


def _units(notes: Sequence[NoteRow], today: date) -> list[NewUnit]:
    """Collect dated stretches up to today, newest first."""
    now = today.isoformat()
    dated = [
        (day if _names_its_year(note, today) else date, NewUnit(note, day, first, last))
        for note in notes
        if note.genre not in _WHOLE
        for date, first, last in note.units
        if (day := day_of(date, today)) and day <= now
    ]
    whole = [
        (newest, NewUnit(note, newest, 1, note.line_count))
        for note in notes
        if note.genre in _WHOLE and (newest := _newest_day(note, today)) is not None
    ]
    at_root = [unit for unit in whole if _is_living_at_root(unit[1].note)]
    others = [*dated, *(unit for unit in whole if not _is_living_at_root(unit[1].note))]
    # The year of a folder stands before its days; of one day, and of none, records go by number. Then by path and line.
    others.sort(key=lambda pair: (pair[0], _number_of(pair[1].note)), reverse=True)
    at_root.sort(key=itemgetter(0), reverse=True)
    return [unit for _, unit in (*at_root, *others)]


def _newest_day(note: NoteRow, today: date) -> str | None:
    """Return the newest day up to today that a note or a section of it names; None if all lie ahead."""
    now = today.isoformat()
    days = [day_of(note.date, today), *(day_of(unit.date, today) for unit in note.units)]
    return max((day for day in days if day <= now), default=None)


def _names_its_year(note: NoteRow, today: date) -> bool:
    """Whether a note is about a whole year that is over, as `annual-report-2025` is; a folder's year says less."""
    is_over = len(note.date) == 4 and note.date < today.isoformat()[:4]
    return is_over and note.date in _name_of(note.path)


def _number_of(note: NoteRow) -> tuple[int, int]:
    """The number of a note in a series: 44 of `0044-choose`, (2025, 2) of `PM2025-002`; 0 if it has none."""
    found = _SERIES_NUMBER.match(_name_of(note.path))
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _is_living_at_root(note: NoteRow) -> bool:
    """Whether a note tells how its whole branch stands, not how a folder of it does."""
    return note.genre == LIVING and note.path.rpartition("/")[0] in (note.branch, "")


def _remarks(branch: Branch) -> Iterator[str]:
    for note in branch.notes:
        for remark in note.remarks:
            yield _remark_line(note.path, remark)
    for left in branch.left_out:
        yield f"{left.name} {left.said}"


def _remark_line(path: str, remark: Remark) -> str:
    name = show_name(path)
    return f"{name}:{remark.line} {remark.text}" if remark.line else f"{name} {remark.text}"
