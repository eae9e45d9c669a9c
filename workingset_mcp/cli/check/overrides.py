"""Rules on overrides, which a person curates."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from workingset_mcp.cli.check.historical import historical_lines
from workingset_mcp.cli.check.reading import Finding, Reading, said
from workingset_mcp.notes.dates import days_before
from workingset_mcp.notes.markdown import outline_of
from workingset_mcp.notes.words import URGENT

OLD_DAYS = 30
HISTORICAL_DAYS = 42
_BRACKETS = re.compile(r"^\W*\*{0,2}\[[^\]]*\]\*{0,2}")
_BLOCKER_LABEL = re.compile(r"^\W*(?:blockers?|blocked(?: by| on)?)\s*:\s*")


def over_cap(reading: Reading) -> Iterator[Finding]:
    """WS101: an override over its byte cap."""
    if reading.own_override is None:
        return
    note, text = reading.own_override
    size, cap = len(text.encode("utf-8", "replace")), reading.workspace.settings.override_max_bytes
    if size > cap:
        yield Finding(
            note.path,
            0,
            f"{size:,} bytes, over the cap of {cap:,}",
            f"cut {size - cap:,} bytes: it is injected nowhere",
        )


def old(reading: Reading) -> Iterator[Finding]:
    """WS103: an override older than 30 days while its branch changed."""
    if reading.own_override is None:
        return
    note, _ = reading.own_override
    day = _day_of_override(reading)
    newest = reading.materials.as_of
    if day and newest and day < days_before(newest, OLD_DAYS):
        yield Finding(
            note.path,
            0,
            f"of {day}, but the branch has notes up to {newest}",
            "read it again and set its `updated:` date",
        )


def historical(reading: Reading) -> Iterator[Finding]:
    """WS201: lines of an override that say what was."""
    if reading.own_override is None:
        return
    note, text = reading.own_override
    today = reading.materials.branch.today
    limit = (today - timedelta(days=HISTORICAL_DAYS)).isoformat()
    outline = outline_of(text)
    for number, reason in historical_lines(outline, limit):
        yield Finding(
            note.path,
            number,
            f"{reason}: {outline.lines[number - 1].strip()[:80]}",
            "move it into a note; keep what holds now",
        )


def missing_urgent(reading: Reading) -> Iterator[Finding]:
    """WS202: an open blocker or urgent item that is newer than the override and not in it."""
    if reading.own_override is None:
        return
    note, text = reading.own_override
    day, inside = _day_of_override(reading), said(text)
    told: set[str] = set()
    for path, line, words, item_day in _urgent(reading):
        key = _key_of(words)
        if key not in told and key not in inside and (not day or not item_day or item_day >= day):
            told.add(key)
            what = f"urgent and not in {note.path}: {words[:80]}"
            yield Finding(path, line, what, "name it in the override")


def _urgent(reading: Reading) -> Iterator[tuple[str, int, str, str]]:
    """Open urgent items and labelled blockers: path, line, words, day."""
    for one in reading.materials.open_items:
        if URGENT.search(one.item.text):
            source = one.sources[0]
            dates = (note.date for note in reading.notes if note.path == source.path)
            yield source.path, source.first, one.item.text, one.item.date or next(dates, "")
    for row in reading.items:
        if row.item.kind == "blocker" and reading.day_of_item(row):  # else it explains the word
            yield row.note.path, row.item.line, row.item.text, reading.day_of_item(row)


def _key_of(words: str) -> str:
    """What an override must hold of an item: its words without label in front and owner behind."""
    bare = _BLOCKER_LABEL.sub("", said(_BRACKETS.sub("", words)))
    return bare.partition(", owner")[0].rstrip(" .!")[:60]


def _day_of_override(reading: Reading) -> str:
    """The date an override carries, else the day its file was written."""
    assert reading.own_override is not None  # noqa: S101  # callers looked
    note, _ = reading.own_override
    if note.date:
        return note.date
    seen = reading.workspace.vault.fingerprint(note.path)
    if seen is None:
        return ""
    written: date = datetime.fromtimestamp(seen.mtime_ns / 1e9, UTC).astimezone().date()
    return written.isoformat()
