"""Render the sections of a brief, in order, each with its share of a tight budget.

Section titles are an interface: agents and scripts key on them. Not here: how much room each gets
(`fit`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from workingset_mcp.answers.answer import (
    Source,
    closing_fence,
    counted,
    cut_line,
    marked_line,
    quoted_block,
    source_mark,
)
from workingset_mcp.answers.brief.map import mapped
from workingset_mcp.answers.brief.materials import BranchReader, Materials, Sourced
from workingset_mcp.answers.brief.newest import newest_notes, printed_lines
from workingset_mcp.answers.brief.structure import numbered
from workingset_mcp.answers.brief.undated import pick_standing, standing_lines
from workingset_mcp.answers.budget import (
    clipped,
    count_tokens,
    echo_tokens,
    take_lines,
)
from workingset_mcp.escaping import show_name
from workingset_mcp.notes.dates import days_before
from workingset_mcp.notes.front_matter import written_block
from workingset_mcp.notes.written_brief import BRIEF_KIND

VERSION = 3
SPARE = 0.7
UPTO = (0.5, 0.6, 0.9)
STATUS_RECENT_DAYS = 45
MASS_OF_BOXES = 40


class SectionCaps(NamedTuple):
    """The caps of the sections, for budgets up to 8,000 tokens."""

    open_items: int = 25
    actions: int = 6
    decisions: int = 10
    facts: int = 12
    rhythm: int = 10
    contact: int = 6
    rule: int = 20
    lead: int = 6
    standing_tokens: int = 850
    standing_tokens_beside_status: int = 300
    map_tokens: int = 320
    undated_status_tokens: int = 300
    newest_tokens: int = 620
    newest_tokens_without_status: int = 1_250
    newest_tokens_beside_long_status: int = 400

    def for_budget(self, budget_tokens: int) -> "SectionCaps":
        """Raise the caps in proportion to a budget over 8,000 tokens."""
        if budget_tokens <= 8_000:
            return self
        return SectionCaps(*(most * budget_tokens // 8_000 for most in self))


class SectionRoom(NamedTuple):
    """The materials and the room that a section may use."""

    materials: Materials
    reader: BranchReader
    caps: SectionCaps
    tokens: int
    used: dict[str, int]  # tokens of sections whose unused room goes to others
    shown: set[tuple[str, int]]  # (path, line) of what quotes of sections before show


class Rendered(NamedTuple):
    """A section as printed: its text (empty if there is nothing), and lines on what it leaves out.

    `tokens`: the tokens of a text that begins on the line after the title, if already counted.
    """

    text: str
    left_out: tuple[str, ...] = ()
    tokens: int | None = None


class BriefSection(NamedTuple):
    """One titled part of a brief."""

    title: str
    share: float  # of a tight budget
    priority: int  # sections with a lower number get unused room first
    render: Callable[[SectionRoom], Rendered]


def front_matter(materials: Materials, room_tokens: int) -> str:
    """Print the YAML block at the top, and the title."""
    branch, status, most = materials.branch, materials.status, echo_tokens(room_tokens, 8)
    name = clipped(show_name(branch.name), most)
    fields: dict[str, str | int] = {
        "vault": clipped(show_name(branch.vault), most),
        "branch": name,
        "as_of": materials.as_of,
        "source_notes": materials.source_notes,
        "source_tokens": materials.source_tokens,
        "fingerprint": materials.fingerprint,
        "kind": BRIEF_KIND,
        "version": VERSION,
    }
    if status:
        fields["status_source"] = clipped(str(Source(status.note.path, status.status.line)), most)
    return f"---\n{written_block(fields)}---\n# Brief: {name}\n"


def called(tool: str, argument: str, name: str, most_tokens: int) -> str:
    """The beginning of a call that names a file or branch; dots for a name that costs too much."""
    shown = show_name(name)
    return f"{tool}({argument}=" + (f'"{shown}"' if clipped(shown, most_tokens) == shown else "…")


def branch_argument(materials: Materials) -> str:
    """The branch as an argument of a call."""
    return called("", "branch", materials.branch.name, materials.most_name)[1:]


def _override(room: SectionRoom) -> Rendered:
    override = room.materials.override
    if override is None:
        return Rendered("")
    path, text = override
    return Rendered(f"{source_mark(Source(path))}\n{quoted_block(text, 1, Source(path))}\n")


def _status(room: SectionRoom) -> Rendered:
    """Render the status block verbatim; if it is too long, cut it at a blank line, else at any line."""
    row = room.materials.status
    if row is None:
        return Rendered("")
    note, status = row
    source = Source(note.path, status.line)
    undated = "" if status.date else " The heading carries no date."
    head = f"_Source: [{source}]_{undated}\n"
    lines = room.reader.lines(note, status.line, status.last_line)
    whole = head + _status_block([*lines, *closing_fence(lines)], source, status.last_line)
    if not status.date:
        room = room._replace(tokens=min(room.tokens, room.caps.undated_status_tokens))
    tokens = count_tokens(whole)
    room.used["status"] = min(tokens, room.tokens)
    room.shown.update((note.path, line) for line in range(status.line, status.last_line + 1))
    if tokens <= room.tokens:
        return Rendered(whole, tokens=tokens)
    call = called("open_source_file", "path", note.path, room.materials.most_name)
    more = f'{call}, lines="{{}}-{status.last_line}")'
    reserve = count_tokens(head + _status_block([], source, status.last_line) + more) + 30
    fitting = max(1, take_lines([f"{line}\n" for line in lines], room.tokens - reserve))
    fitting = _block_border(lines, fitting)
    while fitting > 1 and not lines[fitting - 1].strip():
        fitting -= 1
    if count_tokens(lines[0]) > room.tokens:
        return Rendered("", (f"- The status block: {more.format(status.line)}",))
    shown = [*lines[:fitting], *closing_fence(lines[:fitting])]
    rest = len(lines) - fitting
    text = head + _status_block(shown, source, status.line + fitting - 1)
    text += f"Cut: {counted(rest, 'more line')}: {more.format(status.line + fitting)}\n"
    return Rendered(text)


def _status_block(lines: Sequence[str], source: Source, last: int) -> str:
    text = chr(10).join(numbered(lines, source.first))
    return f"{quoted_block(text, 1, source._replace(last=last))}\n"


def _block_border(lines: Sequence[str], fitting: int) -> int:
    """Return the last blank line in the final third of the lines that fit, else `fitting`."""
    for at in range(fitting, max(1, fitting * 2 // 3), -1):
        if at < len(lines) and not lines[at].strip() and not closing_fence(lines[:at]):
            return at
    return fitting


def _newest(room: SectionRoom) -> Rendered:
    materials, caps = room.materials, room.caps
    most = caps.newest_tokens_without_status
    if _has_recent_status(materials):
        long = room.used.get("status", 0) > caps.newest_tokens
        most = caps.newest_tokens_beside_long_status if long else caps.newest_tokens
    most = min(most, materials.source_tokens // 2)
    newest = newest_notes(materials, room.reader, min(room.tokens, most))
    room.used["newest"] = newest.tokens
    room.shown.update(newest.shown)
    left: tuple[str, ...] = ()
    if newest.left_out:
        plural = "s" if newest.notes != 1 else ""
        lines = counted(newest.left_out, "line")
        left = (f"- {lines} of the newest note{plural}: open_source_file(path=…)",)
    return Rendered(newest.text, left, newest.tokens)


def _has_recent_status(materials: Materials) -> bool:
    """Return whether somebody keeps a status: its date is near that of the newest note."""
    status = materials.status
    if status is None or not status.status.date or not materials.as_of:
        return False
    newest = max((unit.date for unit in materials.units), default="") or materials.as_of
    return status.status.date >= days_before(newest, STATUS_RECENT_DAYS)


def _open_items(room: SectionRoom) -> Rendered:
    materials = room.materials
    lines = _box_lines(room)
    bullets = [_listed_line(one, room.tokens) for one in materials.actions[: _most_actions(room)]]
    bullet_head = "Without a box (00 of 00):\n"
    bullets_room = int(room.tokens * 0.35) if lines else room.tokens
    fitting_bullets = (
        take_lines(bullets, min(bullets_room, room.tokens) - count_tokens(bullet_head))
        if bullets
        else 0
    )
    used = sum(map(count_tokens, bullets[:fitting_bullets])) + (
        count_tokens(bullet_head) if fitting_bullets else 0
    )
    fitting = take_lines(lines, room.tokens - used)
    if fitting == len(lines) and fitting_bullets < len(bullets):
        spare = room.tokens - sum(map(count_tokens, lines)) - count_tokens(bullet_head)
        fitting_bullets = max(fitting_bullets, take_lines(bullets, spare))
    text = "".join(lines[:fitting])
    if fitting_bullets:
        text += f"Without a box ({fitting_bullets} of {len(materials.actions)}):\n{''.join(bullets[:fitting_bullets])}"
    total = len(materials.open_items)
    boxes = materials.open_boxes - materials.stale_boxes
    several = f"; {boxes} boxes" if boxes != total else ""
    title = f" ({fitting} of {total}{several})" if total else ""
    left = tuple(_items_left_out(materials, fitting, fitting_bullets))
    return Rendered(f"{title}\n{text}" if text or total else "", left)


def _box_lines(room: SectionRoom) -> list[str]:
    """Print the open boxes, each with its sources and the places that mark it done."""
    lines = []
    for one in room.materials.open_items[: _most_boxes(room)]:
        also = f", and {len(one.sources) - 5} more" if len(one.sources) > 5 else ""
        text = cut_line(one.item.text, one.sources[0], room.tokens)
        if one.done_in:
            also += f" · done in {', '.join(map(str, one.done_in[:3]))}"
        lines.append(f"- [{one.item.state}] {marked_line(text, *one.sources[:5], also=also)}\n")
    return lines


def _most_boxes(room: SectionRoom) -> int:
    """Return the cap on boxes: a mass of them (a tracker, a plan) is counted, and only its first are listed."""
    is_mass = len(room.materials.open_items) > MASS_OF_BOXES
    return room.caps.open_items // 3 if is_mass else room.caps.open_items


def _items_left_out(materials: Materials, boxes: int, bullets: int) -> Iterator[str]:
    """Yield lines on the boxes and bullets that are not shown, with the calls that list them."""
    branch = branch_argument(materials)
    if len(materials.open_items) > boxes:
        rest = len(materials.open_items) - boxes
        yield f"- {counted(rest, 'more open item')}: list_items({branch})"
    if len(materials.actions) > bullets:
        rest = len(materials.actions) - bullets
        yield f'- {counted(rest, "more action bullet")}: list_items(kind="action", {branch})'
    if materials.copied_forward:
        yield f"- {materials.copied_forward} action bullets copied forward from note to note"
    if materials.stale_boxes:
        limit = days_before(materials.as_of, 181)
        yield (
            f"- {materials.stale_boxes} open boxes over 180 days older than {materials.as_of}:"
            f' list_items({branch}, until="{limit}")'
        )


def _most_actions(room: SectionRoom) -> int:
    """Return the cap on bullets without a box: lower if people use boxes."""
    boxes = min(len(room.materials.open_items), _most_boxes(room))
    return max(room.caps.actions // 2, room.caps.actions - boxes // 2)


def _decisions(room: SectionRoom) -> Rendered:
    materials, branch = room.materials, branch_argument(room.materials)
    left = []
    rendered = _list(room, materials.decisions, room.caps.decisions)
    shown = rendered.text.count("\n") - 1 if rendered.text else 0
    if len(materials.decisions) > shown:
        rest = counted(len(materials.decisions) - shown, "more labelled line")
        left.append(
            f'- {rest}: list_items(kind="decision", {branch}) and kinds owner, due, blocker, action'
        )
    if materials.stale_labels:
        left.append(
            f"- {materials.stale_labels} labelled lines over a year older than {materials.as_of}"
        )
    return Rendered(rendered.text, tuple(left))


def _facts(room: SectionRoom) -> Rendered:
    return _list(room, room.materials.facts, room.caps.facts, "fact", 'list_items(kind="fact", {})')


def _standing(room: SectionRoom) -> Rendered:
    """Render rhythm and roles, contacts, rules and leads, each up to its cap, as quotes of their notes."""
    materials, caps = room.materials, room.caps
    spare = caps.newest_tokens_without_status - room.used.get("newest", 0)
    most_tokens = caps.standing_tokens + max(0, int(spare * SPARE))
    if _has_recent_status(materials):
        most_tokens = caps.standing_tokens_beside_status
    limit = min(room.tokens, most_tokens, materials.source_tokens * 2 // 5)
    if not materials.standing:
        materials.standing.update(standing_lines(room.reader, materials.recent))
    picked = pick_standing(
        materials,
        room.reader,
        limit,
        (
            ("rhythm", caps.rhythm, UPTO[0]), ("contact", caps.contact, UPTO[1]), ("rule", caps.rule, UPTO[2]),
            ("lead", caps.lead, 1.0),
        ),
    )  # fmt: skip
    text = "".join(
        printed_lines(unit, sorted(numbers), at)
        for at, (unit, numbers) in enumerate(picked, start=20)
    )
    room.shown.update((unit.unit.note.path, line) for unit, numbers in picked for line in numbers)
    rest = sum(
        (line.path, line.line) not in room.shown
        for lines in materials.standing.values()
        for line in lines
    )
    left = (f"- {counted(rest, 'more standing line')} of undated notes",) if rest else ()
    return Rendered(f"\n{text}" if text else "", left)


def _map(room: SectionRoom) -> Rendered:
    limit = min(room.tokens, room.caps.map_tokens)
    text = mapped(room.materials, room.reader, room.shown, limit)
    return Rendered(f"\n{text}" if text else "")


def _list(
    room: SectionRoom, lines: Sequence[Sourced], most: int, noun: str = "", call: str = ""
) -> Rendered:
    printed = [_listed_line(line, room.tokens) for line in lines[:most]]
    fitting = take_lines(printed, room.tokens)
    text = "".join(printed[:fitting])
    left: tuple[str, ...] = ()
    if noun and len(lines) > fitting:
        rest = counted(len(lines) - fitting, f"more {noun}")
        left = (f"- {rest}: {call.format(branch_argument(room.materials))}",)
    return Rendered(f" ({fitting} of {len(lines)})\n{text}" if lines else "", left)


def _listed_line(line: Sourced, room_tokens: int) -> str:
    text = cut_line(line.text, line.sources[0], room_tokens)
    return f"- {marked_line(text, *line.sources)}\n"


# In the order of the brief. The newest notes leave out what the lists show (`Materials.listed`).
SECTIONS: tuple[BriefSection, ...] = (
    BriefSection("Override (verbatim)", 0.0, 0, _override),
    BriefSection("Latest status (verbatim)", 0.25, 1, _status),
    BriefSection("Newest notes (as written)", 0.25, 2, _newest),
    BriefSection("Open action items", 0.20, 3, _open_items),
    BriefSection("Recent decisions / owners / blockers", 0.10, 4, _decisions),
    BriefSection("Standing", 0.10, 5, _standing),
    BriefSection("Facts", 0.05, 6, _facts),
    BriefSection("Where more stands", 0.10, 7, _map),
)
