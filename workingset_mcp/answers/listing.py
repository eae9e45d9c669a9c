"""Exact counts and lists over every note, which ranked passages cannot give.

A count covers every match, also those that do not fit below it. Duplicate boxes count each time; boxes in
fences and comments do not count. Not here: which items a brief shows (`brief`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from heapq import nsmallest
from typing import Literal, NamedTuple, get_args

from workingset_mcp.answers.answer import (
    Answer,
    Source,
    counted,
    cut_line,
    marked_line,
    unread_line,
)
from workingset_mcp.answers.budget import clipped, count_tokens, echo_tokens, take_lines
from workingset_mcp.caller import stop_if_gone
from workingset_mcp.errors import ArgumentError
from workingset_mcp.escaping import read_name, show_line, show_name
from workingset_mcp.index import Scope, View
from workingset_mcp.index.query import WHOLE_VAULT
from workingset_mcp.index.rows import ListedRow
from workingset_mcp.notes.lines import (
    CANCELLED_STATES,
    DONE_STATES,
    OPEN_STATES,
    UNREAD_KIND,
    all_folded,
    folded,
)
from workingset_mcp.vault.folder import LeftOut

ListedKind = Literal[
    "open", "in_progress", "done", "cancelled", "decision", "owner", "due", "blocker", "action",
    "fact", "status", "note", "remark",
]  # fmt: skip
GroupBy = Literal["branch", "folder", "owner", "kind", "year", "month", "path"]
KINDS: tuple[str, ...] = get_args(ListedKind)
GROUPS: tuple[str, ...] = get_args(GroupBy)
_STATES = {
    "open": OPEN_STATES,
    "in_progress": ("/",),
    "done": DONE_STATES,
    "cancelled": CANCELLED_STATES,
}
_MOST_GROUPS = 40
_FOLDED_AT_ONCE = 1_000  # lines


class Listing(NamedTuple):
    """A counted list: the total, the undated items that a window leaves out, the items shown, every group.

    `unread`: lines that look like boxes and are not read as such, so they are not in the total.
    """

    total: int
    undated: int
    items: tuple[ListedRow, ...]
    groups: tuple[tuple[str, int], ...]
    unread: tuple[Source, ...] = ()


class ListRequest(NamedTuple):
    """A kind of item to list, and its filters. `due_before` is an ISO date of any precision."""

    kind: str = "open"
    scope: Scope = WHOLE_VAULT
    owner: str = ""
    text: str = ""
    due_before: str = ""
    group_by: str | None = None


def checked(request: ListRequest) -> ListRequest:
    """Normalize the kind and the grouping of a request. Raises ArgumentError."""
    kind = request.kind.strip().lower().replace("-", "_")
    kind = {
        "todo": "open",
        "task": "open",
        "tasks": "open",
        "notes": "note",
        "remarks": "remark",
    }.get(kind, kind)
    if kind not in KINDS:
        raise ArgumentError(
            f"kind={request.kind[:40]!r} is unknown.", f"Kinds: {', '.join(KINDS)}."
        )
    group = request.group_by.strip().lower() if request.group_by else None
    if group and group not in GROUPS:
        raise ArgumentError(
            f"group_by={request.group_by[:40] if request.group_by else ''!r} is unknown.",
            f"Groups: {', '.join(GROUPS)}.",
        )
    return request._replace(kind=kind, group_by=group)


def compose_list(
    snapshot: View,
    request: ListRequest,
    left_out: Iterable[LeftOut],
    branch_of: Callable[[str], str],
    room: int,
    *,
    is_whole: bool = True,
) -> Answer[Listing]:
    """Compose the answer: the total, the groups (largest first), then the items that fit.

    `is_whole`: every note of the scope was read, so a count is exact.
    """
    undated = 0
    everything = _listed(snapshot, request, left_out, branch_of)
    if request.scope.has_window:
        meant = _filtered(everything, request._replace(scope=request.scope.anytime()))
        undated = sum(1 for one in meant if not one.date)
    found = _filtered(everything, request)
    subject = f"items · {request.kind}: {len(found):,} in {_where(request, found, room)}"
    head = ""
    if undated:
        have = counted(undated, "more has", "more have")
        head = f"{have} no date and cannot be placed between dates\n"
    unread = _unread(snapshot, request)
    head += unread_line(unread, echo_tokens(room, 6))
    counts = _group_counts(found, request.group_by) if request.group_by else []
    groups = ""
    if request.group_by:
        kind = found[0].kind if found else "count"
        groups = _group_lines(counts, request.group_by, kind, max(room // 2, 60))
        groups += _several_owners(found) if request.group_by == "owner" else ""
    if not found:
        listing = Listing(0, undated, (), tuple(counts), unread)
        ownerless = 0
        if request.owner:
            others = _filtered(everything, request._replace(owner=""))
            ownerless = sum(1 for one in others if not one.owners)
        nothing = _nothing(request, room, ownerless, is_whole=is_whole, is_exact=not unread)
        return Answer(subject, head + nothing, listing, found=False)
    first = nsmallest(max(room, 1), found, key=_order)  # each costs at least one token
    left = room - count_tokens(head + groups) - 40
    fitting = take_lines((_shown(one, room) for one in first), left)
    body = head + groups + "".join(_shown(one, room) for one in first[:fitting])
    if fitting < len(found):
        body += (
            f"{len(found) - fitting:,} more not shown:"
            " raise budget, or narrow by branch, owner, text, since\n"
        )
    shown = tuple(first[:fitting])
    listing = Listing(len(found), undated, shown, tuple(counts), unread)
    return Answer(subject, body, listing, sources=tuple(_source_of(one) for one in shown))


def _listed(
    snapshot: View,
    request: ListRequest,
    left_out: Iterable[LeftOut],
    branch_of: Callable[[str], str],
) -> list[ListedRow]:
    kind, branch = request.kind, request.scope.branch
    if kind == "remark":
        return _remarks(snapshot, branch, left_out, branch_of)
    if kind == "note":
        return snapshot.listed_notes(branch)
    if kind == "status":
        return snapshot.listed_statuses(branch)
    if kind in _STATES:
        return snapshot.listed_items("task", branch, states=_STATES[kind], label=kind)
    return snapshot.listed_items(kind, branch)


def _unread(snapshot: View, request: ListRequest) -> tuple[Source, ...]:
    """Where something looks like a box and is not read; whose it is, and when it is due, is not known."""
    if request.kind not in _STATES:
        return ()
    looking = snapshot.listed_items(UNREAD_KIND, request.scope.branch)
    found = _filtered(looking, request._replace(owner="", due_before=""))
    return tuple(sorted(map(_source_of, found)))


def _remarks(
    snapshot: View, branch: str | None, left_out: Iterable[LeftOut], branch_of: Callable[[str], str]
) -> list[ListedRow]:
    found = [
        ListedRow(note.branch, note.path, remark.line, note.date, "remark", remark.text)
        for note in snapshot.remarked()
        if branch in (None, note.branch)
        for remark in note.remarks
    ]
    for left in left_out:
        of = branch_of(left.path)
        if not left.reason.is_intended and branch in (None, of):
            path = read_name(left.name)  # a row is printed as a name
            found.append(ListedRow(of, path, 0, "", "remark", left.said))
    return found


def _filtered(listed: Iterable[ListedRow], request: ListRequest) -> list[ListedRow]:
    """Apply the filters that are set."""
    owner = request.owner.strip().lstrip("@").casefold()
    due_before = request.due_before
    if owner:
        listed = (one for one in listed if _has_owner(one, owner))
    if request.scope.has_window:
        may_hold = cache(request.scope.may_hold)  # many lines share a date
        listed = (one for one in listed if may_hold(one.date))
    if due_before:
        listed = (one for one in listed if one.due and one.due < due_before)
    return _holding(list(listed), request.text) if request.text.strip() else list(listed)


def _holding(listed: Sequence[ListedRow], wanted: str) -> list[ListedRow]:
    """Keep the items whose line contains a text, emphasis aside; a whole note also matches by its path."""
    literal = " ".join(wanted.split()).casefold()
    plain = folded(wanted)
    plain = plain if re.search(r"\w", plain) else literal  # folding would turn `.*` into `.`
    found: list[ListedRow] = []
    for start in range(0, len(listed), _FOLDED_AT_ONCE):
        stop_if_gone()
        some = listed[start : start + _FOLDED_AT_ONCE]
        texts = [one.text if one.line else f"{one.text}\n{one.path}" for one in some]
        found.extend(
            one
            for one, text, bare in zip(some, texts, all_folded(texts), strict=True)
            if plain in bare or literal in text.casefold()
        )
    return found


def _has_owner(one: ListedRow, wanted: str) -> bool:
    return any(_same_owner(wanted, name) for name in one.owners.split("\n"))


def _same_owner(wanted: str, name: str) -> bool:
    name = name.casefold()
    return wanted == name or wanted in re.split(r"[\s/]+", name)


def _order(one: ListedRow) -> tuple[str, int, str, int]:
    return one.due or "9999", _newest_first(one.date), one.path, one.line


@lru_cache(maxsize=4096)
def _newest_first(date: str) -> int:
    return -int(date.replace("-", "").ljust(8, "0") or 0)


def _where(request: ListRequest, found: Sequence[ListedRow], room: int) -> str:
    scope, most = request.scope, echo_tokens(room, 6)
    branches = counted(len({one.branch for one in found}), "branch", "branches")
    parts = [clipped(show_name(scope.branch), most) if scope.branch else branches]
    if request.owner:
        owner = request.owner[:40].encode("utf-8", "replace").decode("utf-8")
        parts.append(f"of {clipped(show_line(' '.join(owner.split())), most)}")
    if request.text:
        parts.append(f"with {clipped(repr(request.text[:40]), most)}")
    if scope.has_window:
        parts.append(f"dated {scope.since or '…'} to {scope.until or '…'}")
    if request.due_before:
        parts.append(f"due before {request.due_before}")
    return ", ".join(parts)


def _group_counts(found: Sequence[ListedRow], group_by: str) -> list[tuple[str, int]]:
    """Count the items by group, largest first; an item with two owners counts for both."""
    if group_by == "owner":
        counts = _people(Counter(name for one in found for name in _owners_of(one)))
    else:
        counts = Counter(map(_GROUP_OF[group_by], found))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _group_lines(ordered: Sequence[tuple[str, int]], group_by: str, kind: str, room: int) -> str:
    """Print the largest groups as a table."""
    lines = [f"| {group_by} | {kind} |\n", "|---|---|\n"]
    show = show_name if group_by in ("branch", "folder", "path") else show_line
    lines += [
        f"| {show(name).replace('|', '/')} | {count} |\n" for name, count in ordered[:_MOST_GROUPS]
    ]
    fitting = take_lines(lines, room)
    text = "".join(lines[:fitting])
    hidden = len(ordered) - max(0, fitting - 2)
    if hidden <= 0:
        return text
    theirs = sum(count for _, count in ordered[-hidden:])
    return f"{text}{counted(hidden, 'more group')} with {theirs:,}\n"


def _several_owners(found: Sequence[ListedRow]) -> str:
    """Say why the groups add up to more than the total."""
    several = sum(1 for one in found if "\n" in one.owners)
    have = counted(
        several, "item has several owners and counts", "items have several owners and count"
    )
    return f"{have} for each of them\n" if several else ""


def _people(counts: Counter[str]) -> Counter[str]:
    """Merge names that differ only in case, under the most frequent spelling."""
    spelled: dict[str, str] = {}
    people: Counter[str] = Counter()
    for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        people[spelled.setdefault(name.casefold(), name)] += count
    return people


def _owners_of(one: ListedRow) -> Iterable[str]:
    """Return each owner once, in the first spelling."""
    if not one.owners:
        return ["(none)"]
    return {name.casefold(): name for name in reversed(one.owners.split("\n"))}.values()


_GROUP_OF: Mapping[str, Callable[[ListedRow], str]] = {
    "branch": lambda one: one.branch,
    "folder": lambda one: one.path.rpartition("/")[0] or ".",
    "kind": lambda one: one.kind,
    "year": lambda one: one.date[:4] or "(undated)",
    "month": lambda one: one.date[:7] or "(undated)",
    "path": lambda one: one.path,
}


def _source_of(one: ListedRow) -> Source:
    return Source(one.path, one.line)


def _shown(one: ListedRow, room: int) -> str:
    box = f"[{one.mark}] " if one.mark else ""
    date = f"{one.date} " if one.kind in ("note", "status") and one.date else ""
    source = _source_of(one)
    return f"- {box}{date}{marked_line(cut_line(one.text, source, room), source)}\n"


def _nothing(
    request: ListRequest, room: int, ownerless: int, *, is_whole: bool, is_exact: bool
) -> str:
    """Say that there is none; call it exact only if everything that could be one was read."""
    branch = clipped(show_name(request.scope.branch or ""), echo_tokens(room, 6))
    where = f" of {branch}" if branch else ""
    if not is_whole:
        return (
            f"None in the notes{where} that could be read; those left out may hold some:"
            ' list_items(kind="remark") names them.\n'
        )
    if ownerless:
        names = counted(ownerless, "item names", "items name")
        return f"None. Counted over every note{where}; {names} no owner that is read.\n"
    return f"None. Counted over every note{where}{'; this is exact' if is_exact else ''}.\n"
