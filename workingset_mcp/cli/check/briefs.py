"""The rule on written briefs: what a `brief.md` says must be what the notes give.

A brief also depends on its day (dates that lie ahead count more). Days that pass are no fault: a
written brief is right when it is what these notes give on any day since. Not here: writing them.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from workingset_mcp.cli.check.reading import Finding, Reading
from workingset_mcp.notes.note import BRIEF_KIND
from workingset_mcp.settings import today

MOST_DAYS = 60  # tried after the newest note, and before today
_HEAD = re.compile(r"^(as_of|fingerprint): *'?([^'\n]*)", re.MULTILINE)


def stale_brief(reading: Reading) -> Iterator[Finding]:
    """WS102: a `brief.md` that is not what the notes say now."""
    workspace, name = reading.workspace, reading.name
    file = workspace.vault.root / name / "brief.md"
    try:
        written = file.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        return
    if f"kind: {BRIEF_KIND}" not in written[:1_000]:
        return
    if not any(workspace.brief(name, day=day).body == written for day in _days(reading, written)):
        path = file.relative_to(workspace.vault.root).as_posix()
        fix = f"workingset-mcp brief {name} --write"
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
