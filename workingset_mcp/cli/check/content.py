"""The rules on notes: figures, statuses, items, and notes that could not be read in full."""

import re
from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache

from workingset_mcp.cli.check.reading import Finding, Reading, normalized
from workingset_mcp.index.rows import ItemRow
from workingset_mcp.notes.lines import DONE_STATES, OPEN_STATES
from workingset_mcp.notes.note import RemarkKind
from workingset_mcp.notes.outline import LineKind
from workingset_mcp.workspace.facade import Workspace

_PEOPLE = (
    r"developers?|engineers?|programmers?|seats?|users?|licen[cs]es?"
    r"|entwickler(?:innen)?|nutzer(?:innen)?"
)
_FIGURE = re.compile(
    rf"(?<![\w.,/$€£#%-])(\d{{1,3}}(?:[,.]\d{{3}})+|\d{{1,6}})(?:\s?[-–]\s?(\d{{1,6}}))?\+?"
    rf"(?:\s+(?!and\b|or\b|of\b|to\b|in\b)[A-Za-zÄÖÜäöüß-]{{2,20}}){{0,2}}?\s+({_PEOPLE})\b",
    re.IGNORECASE,
)
_LEAST_FIGURE = 5
_YEAR = re.compile(r"(?:19|20)\d\d")  # `the 2021 user survey`
_MOST_BRANCHES = 2  # an item in more branches belongs to a form that each of them fills in


def unlabelled_totals(reading: Reading) -> Iterator[Finding]:
    """WS301: find several figures for people or seats in a branch without a labelled total.

    A branch without a status is skipped: its figures usually answer different questions.
    """
    if not reading.name.partition("/")[2] or not reading.materials.status:
        return  # only a single customer or project has one right answer
    for fact in reading.materials.facts:
        if re.search(rf"\b(?:{_PEOPLE})\b", fact.text, re.IGNORECASE) and re.search(
            r"\d", fact.text
        ):
            return
    figures: dict[str, tuple[str, int, str]] = {}
    for path, outline in reading.outlines.items():
        for number, line in enumerate(outline.lines, start=1):
            if outline.kind(number) not in (LineKind.TEXT, LineKind.TABLE) or not any(
                c.isdigit() for c in line
            ):
                continue
            for found in _FIGURE.finditer(line):
                value = re.sub(r"[.,]", "", found[1])
                if int(value) >= _LEAST_FIGURE and not _YEAR.fullmatch(found[1]):
                    figures.setdefault(f"{value}-{found[2] or ''}", (path, number, found[0]))
    if len(figures) < 2:
        return
    places = list(figures.values())
    shown = ", ".join(f"{text!r} ({where}:{at})" for where, at, text in places[:5])
    yield Finding(
        *places[0][:2],
        f"{len(figures)} figures that are easy to confuse: {shown}",
        "add one labelled line, e.g. `Fact: developers in all: …, not the workshop group`",
    )


def status_dates(reading: Reading) -> Iterator[Finding]:
    """WS302: find a status without a readable date, two of one day without times, or one in the future."""
    rows = [
        row
        for row in reading.materials.branch.statuses
        if row.note.kind == "note" and not row.note.template
    ]
    if not any(row.status.date for row in rows):
        return  # nobody keeps dated statuses here
    tomorrow = (reading.materials.branch.today + timedelta(days=1)).isoformat()
    days: dict[str, str] = {}
    for row in rows:
        where, heading = (row.note.path, row.status.line), row.status.heading[:60]
        if not row.status.date:
            what = "reads two ways" if row.status.ambiguous else "has no date"
            yield Finding(*where, f"status {heading!r} {what}", "write its date as 2026-06-16")
        elif row.status.date > tomorrow:
            yield Finding(*where, f"status {heading!r} is in the future", "correct its date")
        elif len(row.status.date) == 10 and not row.status.time:
            if row.status.date in days:
                also = f"(also {days[row.status.date]})"
                what = f"a second status of {row.status.date} {also}, neither with a time"
                yield Finding(*where, what, "add the time after the date")
            days[row.status.date] = f"{row.note.path}:{row.status.line}"


def open_and_done(reading: Reading) -> Iterator[Finding]:
    """WS303: find an item that is open in one note and done in another that is not older.

    Recurring items are no contradiction: done in an older note and open in a newer one, done in several
    notes, or listed in several branches.
    """
    done: dict[str, list[ItemRow]] = {}
    still_open: dict[str, list[ItemRow]] = {}
    for row in reading.items:
        if row.item.kind == "task" and row.item.state in (*DONE_STATES, *OPEN_STATES):
            same = done if row.item.state in DONE_STATES else still_open
            same.setdefault(normalized(row.item.text), []).append(row)
    common = _in_many_branches(reading.workspace, reading.workspace.index.data_version())
    for text, rows in still_open.items():
        closed = done.get(text, [])
        if len({row.note.path for row in closed}) != 1 or text in common:
            continue
        for row in rows:
            opened_on, done_on = reading.day_of_item(row), closed[0].note.date
            if not (opened_on and done_on and done_on < opened_on):
                where = f"{closed[0].note.path}:{closed[0].item.line}"
                what = f"open here, done in {where}: {row.item.text[:80]}"
                yield Finding(row.note.path, row.item.line, what, "tick or remove one of them")
                break


@lru_cache(maxsize=2)
def _in_many_branches(workspace: Workspace, _state: object) -> frozenset[str]:
    """Return the texts of items in several branches: a form that each of them fills in."""
    branches: dict[str, set[str]] = {}
    with workspace.index.snapshot() as snapshot:
        for row in snapshot.items(("task",)):
            branches.setdefault(normalized(row.item.text), set()).add(row.note.branch)
    return frozenset(text for text, names in branches.items() if len(names) > _MOST_BRANCHES)


def unread(reading: Reading) -> Iterator[Finding]:
    """WS402: find notes that could not be read in full, or that were left out."""
    for note in reading.notes:
        for remark in note.remarks:
            if remark.kind != RemarkKind.AMBIGUOUS_DATE:  # WS302 reports those
                yield Finding(note.path, remark.line, remark.text, "fix the note")
    for left in reading.materials.branch.left_out:
        fix = "make it readable" if left.reason.is_unread else "merge or rename it"
        yield Finding(left.name, 0, left.said, fix)
