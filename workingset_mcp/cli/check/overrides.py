"""The rules on overrides, which a person maintains."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from workingset_mcp.cli.check.historical import historical_lines
from workingset_mcp.cli.check.reading import Finding, Reading, normalized
from workingset_mcp.notes.dates import days_before
from workingset_mcp.notes.markdown import outline_of
from workingset_mcp.notes.words import URGENT

OLD_DAYS = 30
HISTORICAL_DAYS = 42
_BRACKETS = re.compile(r"^\W*\*{0,2}\[[^\]]*\]\*{0,2}")
_BLOCKER_LABEL = re.compile(r"^\W*(?:blockers?|blocked(?: by| on)?)\s*:\s*")


def over_cap(reading: Reading) -> Iterator[Finding]:
    """WS101: find an override over its byte cap."""
    if reading.own_override is None:
        return
    note, text = reading.own_override
    size, cap = len(text.encode("utf-8", "replace")), reading.workspace.settings.override_max_bytes
    if size > cap:
        yield Finding(
            note.path,
            0,
            f"{size:,} bytes, over the cap of {cap:,}",
            f"cut {size - cap:,} bytes: until then it is not injected",
        )


def old(reading: Reading) -> Iterator[Finding]:
    """WS103: find an override more than 30 days older than the newest note of its branch."""
    if reading.own_override is None:
        return
    note, _ = reading.own_override
    day = _day_of_override(reading)
    newest = reading.materials.as_of
    if day and newest and day < days_before(newest, OLD_DAYS):
        yield Finding(
            note.path,
            0,
            f"dated {day}, but the branch has notes up to {newest}",
            "review it and set its `updated:` date",
        )


def historical(reading: Reading) -> Iterator[Finding]:
    """WS201: find lines of an override that are about the past."""
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
            "move it into a note; keep only what is true now",
        )


def missing_urgent(reading: Reading) -> Iterator[Finding]:
    """WS202: find an open blocker or urgent item that is newer than the override and not in it."""
    if reading.own_override is None:
        return
    note, text = reading.own_override
    day, inside = _day_of_override(reading), normalized(text)
    found: set[str] = set()
    for path, line, words, item_day in _urgent(reading):
        key = _key_of(words)
        if key not in found and key not in inside and (not day or not item_day or item_day >= day):
            found.add(key)
            what = f"urgent, but not in {note.path}: {words[:80]}"
            yield Finding(path, line, what, "add it to the override")


def _urgent(reading: Reading) -> Iterator[tuple[str, int, str, str]]:
    """Yield open urgent items and labelled blockers as (path, line, words, day)."""
    for one in reading.materials.open_items:
        if URGENT.search(one.item.text):
            source = one.sources[0]
            dates = (note.date for note in reading.notes if note.path == source.path)
            yield source.path, source.first, one.item.text, one.item.date or next(dates, "")
    for row in reading.items:
        if row.item.kind == "blocker" and reading.day_of_item(
            row
        ):  # an undated line only explains the word
            yield row.note.path, row.item.line, row.item.text, reading.day_of_item(row)


def _key_of(words: str) -> str:
    """Return the words of an item that an override must contain: without the label and the owner."""
    bare = _BLOCKER_LABEL.sub("", normalized(_BRACKETS.sub("", words)))
    return bare.partition(", owner")[0].rstrip(" .!")[:60]


def _day_of_override(reading: Reading) -> str:
    """Return the date in an override, else the day its file was written."""
    assert reading.own_override is not None  # noqa: S101  # callers checked
    note, _ = reading.own_override
    if note.date:
        return note.date
    file = reading.workspace.vault.fingerprint(note.path)
    if file is None:
        return ""
    written: date = datetime.fromtimestamp(file.mtime_ns / 1e9, UTC).astimezone().date()
    return written.isoformat()
