"""The rule on written briefs: a `brief.md` must match its notes.

A brief also depends on the day it is made (future dates count more). A written brief is right if the notes
give the same brief on any day since the newest note. Not here: writing briefs.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from workingset_mcp.cli.check.reading import Finding, Reading
from workingset_mcp.notes.note import decode, parse_note
from workingset_mcp.notes.written_brief import unsigned
from workingset_mcp.settings import today

MOST_DAYS = 60  # days to try after the newest note, and before today
_HEAD = re.compile(r"^(as_of|fingerprint): *'?([^'\n]*)", re.MULTILINE)


def stale_brief(reading: Reading) -> Iterator[Finding]:
    """WS102: find a `brief.md` that no longer matches its notes."""
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
        yield Finding(path, 0, "no longer matches its notes", fix)


def _days(reading: Reading, written: str) -> Iterator[date]:
    """Yield today, and the days since the newest note if the notes are still those of the written brief."""
    now = today()
    yield now
    fields = dict(_HEAD.findall(written[:1_000]))
    if fields.get("fingerprint") != reading.materials.fingerprint:
        return
    try:
        first = date.fromisoformat(fields.get("as_of", ""))
    except ValueError:
        first = now - timedelta(days=MOST_DAYS)
    days = (now - first).days
    for back in range(1, days + 1):
        if back <= MOST_DAYS or days - back <= MOST_DAYS:
            yield now - timedelta(days=back)
