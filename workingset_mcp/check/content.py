"""Rules on notes: figures, statuses, items, and notes that could not be read whole."""

import re
from collections.abc import Iterator
from datetime import timedelta

from workingset_mcp.check.reading import Finding, Reading, said
from workingset_mcp.index.rows import ItemRow
from workingset_mcp.lines import DONE_STATES, OPEN_STATES
from workingset_mcp.markdown import Kind

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


def unlabelled_totals(reading: Reading) -> Iterator[Finding]:
    """WS301: several figures beside words for people and seats, and no labelled total."""
    if not reading.name.partition("/")[2]:
        return  # only what stands for one customer or project has one answer
    for fact in reading.materials.facts:
        if re.search(rf"\b(?:{_PEOPLE})\b", fact.text, re.IGNORECASE) and re.search(
            r"\d", fact.text
        ):
            return
    figures: dict[str, tuple[str, int, str]] = {}
    for path, outline in reading.outlines.items():
        for number, line in enumerate(outline.lines, start=1):
            if outline.kind(number) not in (Kind.TEXT, Kind.TABLE) or not any(
                c.isdigit() for c in line
            ):
                continue
            for found in _FIGURE.finditer(line):
                value = re.sub(r"[.,]", "", found[1])
                if int(value) >= _LEAST_FIGURE:
                    figures.setdefault(f"{value}-{found[2] or ''}", (path, number, found[0]))
    if len(figures) < 2:
        return
    places = list(figures.values())
    shown = ", ".join(f"{text!r} ({where}:{at})" for where, at, text in places[:5])
    yield Finding(
        *places[0][:2],
        f"{len(figures)} figures that may be taken for one another: {shown}",
        "add one labelled line, e.g. `Fact: developers in all: …, not the workshop group`",
    )


def status_dates(reading: Reading) -> Iterator[Finding]:
    """WS302: a status without a readable date, two of a day without times, one in the future."""
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
            yield Finding(*where, f"status {heading!r} is dated ahead", "correct its date")
        elif len(row.status.date) == 10 and not row.status.time:
            if row.status.date in days:
                also = f"(also {days[row.status.date]})"
                what = f"a second status of {row.status.date} {also}, neither with a time"
                yield Finding(*where, what, "add the time behind the date")
            days[row.status.date] = f"{row.note.path}:{row.status.line}"


def open_and_done(reading: Reading) -> Iterator[Finding]:
    """WS303: the same item open in one place and done in another that is not older.

    Done in an older note and open in a newer one is a list that comes again, not a contradiction.
    """
    tasks = [row for row in reading.items if row.item.kind == "task"]
    done: dict[str, list[ItemRow]] = {}
    for row in tasks:
        if row.item.state in DONE_STATES:
            done.setdefault(said(row.item.text), []).append(row)
    told: set[str] = set()
    for row in tasks:
        text, opened = said(row.item.text), reading.day_of_item(row)
        if row.item.state not in OPEN_STATES or text in told:
            continue
        for other in done.get(text, ()):
            closed = other.note.date
            if opened and closed and closed < opened:
                continue
            told.add(text)
            where = f"{other.note.path}:{other.item.line}"
            what = f"open here, done in {where}: {row.item.text[:80]}"
            yield Finding(row.note.path, row.item.line, what, "tick or remove one of them")
            break


def unread(reading: Reading) -> Iterator[Finding]:
    """WS402: notes that could not be read whole."""
    for note in reading.notes:
        for remark in note.remarks:
            if "reads two ways" not in remark.text:  # WS302 says that
                yield Finding(note.path, remark.line, remark.text, "mend the note")
    for path, reason in reading.materials.branch.left_out:
        if reason.startswith(("conflict copy", "name is not", "folder cannot", "over ")):
            yield Finding(path, 0, f"left out: {reason}", "merge or rename it")
