"""Collect what `status` prints: the facts of a workspace, and the date order that a vault suggests.

Read-only: it indexes nothing. Not here: printing (`upkeep`).
"""

import re
from collections import Counter
from typing import Any

from workingset_mcp.workspace.facade import Workspace

_NUMBERS = re.compile(r"(?<![\d/-])(\d{1,2})([/-])(\d{1,2})\2(?:\d{4}|\d{2})(?![\d/-])")


def facts_of(workspace: Workspace) -> dict[str, Any]:
    """Return the facts of a workspace, with the date order that its headings suggest."""
    facts = workspace.status()
    order = _date_order(workspace)
    if order:
        facts["date_order"] = order
    return facts


def _date_order(workspace: Workspace) -> str:
    """Suggest an order for ambiguous dates, from the dates that can be read only one way."""
    if workspace.settings.date_order:
        return f"{workspace.settings.date_order} (set)"
    with workspace.index.snapshot() as snapshot:
        names = snapshot.dated_names()
    votes = Counter(
        _reading(int(found[1]), int(found[3]))
        for name in names
        for found in _NUMBERS.finditer(name)
    )
    if not votes["two ways"]:
        return ""
    unclear = f"{votes['two ways']} of the dates in headings read two ways"
    if votes["dmy"] == votes["mdy"]:
        return f"{unclear}; set date_order to dmy or mdy"
    order, other = ("dmy", "mdy") if votes["dmy"] > votes["mdy"] else ("mdy", "dmy")
    clear = f"{votes[order]} read only {order}, {votes[other]} only {other}"
    return f'{unclear}; {clear}: set date_order = "{order}"'


def _reading(first: int, second: int) -> str:
    if first == second or not (0 < first < 32 and 0 < second < 32):
        return "either"
    if first > 12:
        return "dmy"
    return "mdy" if second > 12 else "two ways"
