"""The overview of a vault: one line for each branch, newest first. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from workingset_mcp.answers.answer import counted
from workingset_mcp.answers.budget import clipped, count_tokens, echo_tokens, take_lines
from workingset_mcp.escaping import quote, show_name


class BranchLine(NamedTuple):
    """The facts about one branch in the overview."""

    name: str
    notes: int
    tokens: int
    open_items: int
    status_date: str
    status_heading: str
    newest_date: str
    newest_path: str


class Overview(NamedTuple):
    """The overview as printed, its tokens, and all branches in the same order."""

    text: str
    tokens: int
    branches: tuple[BranchLine, ...]


def make_overview(vault: str, branches: Sequence[BranchLine], room_tokens: int) -> Overview:
    """Print one line for each branch, newest first; count those that do not fit."""
    ordered = sorted(branches, key=lambda b: b.name)
    ordered.sort(key=lambda b: max(b.status_date, b.newest_date), reverse=True)
    name = clipped(show_name(vault), echo_tokens(room_tokens, 6))
    head = f"# Branches of {name} ({len(ordered)})\n"
    lines = [_line(branch) for branch in ordered]
    fitting = take_lines(lines, room_tokens - 70)
    shown = [head, *lines[:fitting]]
    if fitting < len(lines):
        most = echo_tokens(room_tokens, 20)
        hidden = (show_name(branch.name) for branch in ordered[fitting : fitting + 5])
        names = ", ".join(clipped(name, most) for name in hidden)
        shown.append(f"{len(lines) - fitting} more branches ({names}, …): raise budget\n")
    shown.append('Next: get_brief(branch="…") for one of them.\n')
    tokens = sum(map(count_tokens, shown))
    return Overview("".join(shown), tokens, tuple(ordered))


def _line(branch: BranchLine) -> str:
    status = ""
    if branch.status_heading:
        status = f" · {quote(branch.status_heading)}"
    newest = (
        f" · newest {branch.newest_date} {show_name(branch.newest_path)}"
        if branch.newest_path
        else ""
    )
    return (
        f"- **{show_name(branch.name)}** · {counted(branch.open_items, 'open item')}{status}{newest}"
        f" · {counted(branch.notes, 'note')}, about {max(1, round(branch.tokens / 1000)):,}k tokens\n"
    )
