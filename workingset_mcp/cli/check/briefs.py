"""The rule on written briefs: what a `brief.md` says must be what the notes give.

A brief also depends on its day (dates that lie ahead count more). Days that pass are no fault: a
written brief is right when it is what these notes give on any day since. Not here: writing them.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from workingset_mcp.cli.check.reading import Finding, Reading
from workingset_mcp.notes.note import decode, parse_note
from workingset_mcp.notes.written_brief import unsigned
from workingset_mcp.settings import today

MOST_DAYS = 60  # tried after the newest note, and before today
_HEAD = re.compile(r"^(as_of|fingerprint): *'?([^'\n]*)", re.MULTILINE)


def stale_brief(reading: Reading) -> Iterator[Finding]:
    """WS102: a `brief.md` that is not what the notes say now."""
    workspace, name = reading.workspace, reading.name
    file = workspace.vault.root / name / "brief.md"
    path = file.relative_to(workspace.vault.root).as_posix()
    try:
        raw, _ = workspace.vault.read(path)
    except OSError:
        return
    if parse_note(path, raw, workspace.settings).kind != "brief":
        return
    written = unsigned(decode(raw)[0])
    fix = f"workingset-mcp brief {name} --write"
    if written is None:
        yield Finding(path, 0, "was edited since it was written", f"{fix} --force")
    elif not any(workspace.brief(name, day=day).body == written for day in _days(reading, written)):
        yield Finding(path, 0, "differs from what the notes give now", fix)


def _days(reading: Reading, written: str) -> Iterator[date]:
    """Today; while the notes are those of the written brief, also the days since their newest."""
    now = today()
    yield now
    said = dict(_HEAD.findall(written[:1_000]))
    if said.get("fingerprint") != reading.materials.fingerprint:
        return
    try:
        first = date.fromisoformat(said.get("as_of", ""))
    except ValueError:
        first = now - timedelta(days=MOST_DAYS)
    days = (now - first).days
    for back in range(1, days + 1):
        if back <= MOST_DAYS or days - back <= MOST_DAYS:
            yield now - timedelta(days=back)
