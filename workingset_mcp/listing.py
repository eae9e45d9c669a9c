"""Exact counts and lists over every note: what ranked passages cannot answer.

Counts are over all, whatever fits below them. Boxes count as they stand, duplicates included; boxes
in fences and comments are none. Not here: a brief's choice of items (`brief`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from workingset_mcp.answer import Draft, counted, marked_line
from workingset_mcp.budget import count_tokens, take_lines
from workingset_mcp.errors import ArgumentError
from workingset_mcp.index import Snapshot
from workingset_mcp.index.rows import NoteRow
from workingset_mcp.lines import CANCELLED_STATES, DONE_STATES, OPEN_STATES, folded
from workingset_mcp.vault import LeftOut

Kind = Literal[
    "open", "in_progress", "done", "cancelled", "decision", "owner", "due", "blocker", "action",
    "fact", "status", "note", "remark",
]  # fmt: skip
Group = Literal["branch", "folder", "owner", "kind", "year", "month", "path"]
KINDS: tuple[str, ...] = get_args(Kind)
GROUPS: tuple[str, ...] = get_args(Group)
_STATES = {
    "open": OPEN_STATES,
    "in_progress": ("/",),
    "done": DONE_STATES,
    "cancelled": CANCELLED_STATES,
}
_MOST_GROUPS = 40


class Listed(NamedTuple):
    """One thing that is counted, and the line that shows it."""

    branch: str
    path: str
    line: int
    date: str
    kind: str
    text: str
    mark: str = ""  # a task's box
    owners: tuple[str, ...] = ()
    due: str = ""


class Asked(NamedTuple):
    """What is listed: a kind, and the filters on it. Dates are ISO, of any precision."""

    kind: str = "open"
    branch: str | None = None
    owner: str = ""
    text: str = ""
    since: str = ""
    until: str = ""
    due_before: str = ""
    group_by: str | None = None


def checked(asked: Asked) -> Asked:
    """The same, its words spelled as ours. Raises ArgumentError."""
    kind = asked.kind.strip().lower().replace("-", "_")
    kind = {
        "todo": "open",
        "task": "open",
        "tasks": "open",
        "notes": "note",
        "remarks": "remark",
    }.get(kind, kind)
    if kind not in KINDS:
        raise ArgumentError(f"kind={asked.kind[:40]!r} is unknown.", f"Kinds: {', '.join(KINDS)}.")
    group = asked.group_by.strip().lower() if asked.group_by else None
    if group and group not in GROUPS:
        raise ArgumentError(
            f"group_by={asked.group_by[:40] if asked.group_by else ''!r} is unknown.",
            f"Groups: {', '.join(GROUPS)}.",
        )
    return asked._replace(kind=kind, group_by=group)


def list_draft(
    snapshot: Snapshot,
    asked: Asked,
    left_out: Iterable[LeftOut],
    branch_of: Callable[[str], str],
    room: int,
) -> Draft:
    """The answer: the total, the groups (largest first), then the items that fit."""
    undated = 0
    everything = _listed(snapshot, asked, left_out, branch_of)
    if asked.since or asked.until:
        meant = _filtered(everything, asked._replace(since="", until=""))
        undated = sum(1 for one in meant if not one.date)
    found = sorted(_filtered(everything, asked), key=_order)
    subject = f"items · {asked.kind}: {len(found):,} in {_where(asked, found)}"
    head = ""
    if undated:
        have = counted(undated, "more has", "more have")
        head = f"{have} no date and cannot be placed between dates\n"
    groups = _group_lines(found, asked.group_by, max(room // 2, 60)) if asked.group_by else ""
    if not found:
        return Draft(subject, head + _nothing(asked), found=False)
    lines = [f"{_shown(one)}\n" for one in found]
    left = room - count_tokens(head + groups) - 40
    kept = take_lines(lines, left)
    body = head + groups + "".join(lines[:kept])
    if kept < len(lines):
        body += (
            f"{len(lines) - kept:,} more not shown:"
            " raise budget, or narrow by branch, owner, text, since\n"
        )
    return Draft(subject, body, sources=tuple(dict.fromkeys(one.path for one in found[:kept])))


def _listed(
    snapshot: Snapshot, asked: Asked, left_out: Iterable[LeftOut], branch_of: Callable[[str], str]
) -> list[Listed]:
    kind, branch = asked.kind, asked.branch
    if kind == "note":
        return [_of_note(note) for note in snapshot.notes(branch) if note.kind == "note"]
    if kind == "remark":
        return _remarks(snapshot, branch, left_out, branch_of)
    if kind == "status":
        return [
            Listed(
                r.note.branch,
                r.note.path,
                r.status.line,
                r.status.date or r.note.date,
                kind,
                r.status.heading,
            )
            for r in snapshot.statuses(branch)
            if r.note.kind == "note"
        ]
    states = _STATES.get(kind)
    kinds = ("task",) if states else (kind,)
    return [
        Listed(
            row.note.branch,
            row.note.path,
            row.item.line,
            row.item.date or row.note.date,
            kind,
            row.item.text,
            row.item.state,
            row.item.owners,
            row.item.due,
        )
        for row in snapshot.items(kinds, branch)
        if row.note.kind == "note" and (states is None or row.item.state in states)
    ]


def _of_note(note: NoteRow) -> Listed:
    return Listed(note.branch, note.path, 0, note.date, "note", note.title)


def _remarks(
    snapshot: Snapshot,
    branch: str | None,
    left_out: Iterable[LeftOut],
    branch_of: Callable[[str], str],
) -> list[Listed]:
    found = [
        Listed(note.branch, note.path, remark.line, note.date, "remark", remark.text)
        for note in snapshot.notes(branch)
        for remark in note.remarks
    ]
    for path, reason in left_out:
        if reason not in ("hidden", "ignored", "left out by default") and branch in (
            None,
            branch_of(path),
        ):
            found.append(Listed(branch_of(path), path, 0, "", "remark", f"left out: {reason}"))
    return found


def _filtered(listed: Iterable[Listed], asked: Asked) -> list[Listed]:
    owner = asked.owner.strip().lstrip("@").casefold()
    holds = _text_filter(asked.text)
    return [
        one
        for one in listed
        if (not owner or any(_same_owner(owner, name) for name in one.owners))
        and holds(one)
        and (not asked.since or (one.date and one.date >= asked.since[: len(one.date)]))
        and (not asked.until or (one.date and one.date[: len(asked.until)] <= asked.until))
        and (not asked.due_before or (one.due and one.due < asked.due_before))
    ]


def _text_filter(asked: str) -> Callable[[Listed], bool]:
    """Whether a line holds the asked text, emphasis aside; a whole note also by its path."""
    literal = " ".join(asked.split()).casefold()
    plain = folded(asked)
    plain = plain if re.search(r"\w", plain) else literal  # `.*` is not a full stop

    def holds(one: Listed) -> bool:
        text = one.text if one.line else f"{one.text}\n{one.path}"
        return plain in folded(text) or literal in text.casefold()

    return holds


def _same_owner(wanted: str, name: str) -> bool:
    name = name.casefold()
    return wanted == name or wanted in re.split(r"[\s/]+", name)


def _order(one: Listed) -> tuple[str, int, str, int]:
    return one.due or "9999", -int(one.date.replace("-", "").ljust(8, "0") or 0), one.path, one.line


def _where(asked: Asked, found: Sequence[Listed]) -> str:
    parts = [asked.branch or counted(len({one.branch for one in found}), "branch", "branches")]
    if asked.owner:
        owner = asked.owner[:40].encode("utf-8", "replace").decode("utf-8")
        parts.append(f"of {' '.join(owner.split())}")
    if asked.text:
        parts.append(f"with {asked.text[:40]!r}")
    if asked.since or asked.until:
        parts.append(f"dated {asked.since or '…'} to {asked.until or '…'}")
    if asked.due_before:
        parts.append(f"due before {asked.due_before}")
    return ", ".join(parts)


def _group_lines(found: Sequence[Listed], group_by: str, room: int) -> str:
    """A table of groups, largest first; an item of two owners counts for both."""
    counts: Counter[str] = Counter()
    for one in found:
        counts.update(_groups_of(one, group_by))
    if group_by == "owner":
        counts = _people(counts)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    kind = found[0].kind if found else "count"
    lines = [f"| {group_by} | {kind} |\n", "|---|---|\n"]
    lines += [f"| {name.replace('|', '/')} | {count} |\n" for name, count in ordered[:_MOST_GROUPS]]
    kept = take_lines(lines, room)
    text = "".join(lines[:kept])
    hidden = len(ordered) - max(0, kept - 2)
    return text + (f"{counted(hidden, 'more group')}\n" if hidden > 0 else "")


def _people(counts: Counter[str]) -> Counter[str]:
    """The same counts, a name once however it is cased, under its most frequent spelling."""
    spelled: dict[str, str] = {}
    people: Counter[str] = Counter()
    for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        people[spelled.setdefault(name.casefold(), name)] += count
    return people


def _groups_of(one: Listed, group_by: str) -> list[str]:
    if group_by == "owner":
        names = {name.casefold(): name for name in reversed(one.owners)}  # each person once
        return list(names.values()) or ["(none)"]
    return [
        {
            "branch": one.branch,
            "folder": one.path.rpartition("/")[0] or ".",
            "kind": one.kind,
            "year": one.date[:4] or "(undated)",
            "month": one.date[:7] if len(one.date) >= 7 else one.date or "(undated)",
            "path": one.path,
        }[group_by]
    ]


def _shown(one: Listed) -> str:
    source = f"{one.path}:{one.line}" if one.line else one.path
    box = f"[{one.mark}] " if one.mark else ""
    date = f"{one.date} " if one.kind in ("note", "status") and one.date else ""
    return f"- {box}{date}{marked_line(one.text, source)}"


def _nothing(asked: Asked) -> str:
    where = f" of {asked.branch}" if asked.branch else ""
    return f"None. Counted over every note{where}; this is exact.\n"
