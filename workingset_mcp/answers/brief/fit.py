"""Fit a brief into its budget: each section gets a share, and unused room goes to the others. Pure.

The last section, "Not in this brief", is always there. It names what was left out, with the calls that
fetch it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias

from workingset_mcp.answers.answer import unread_line
from workingset_mcp.answers.brief.format import (
    SECTIONS,
    BriefSection,
    Rendered,
    SectionCaps,
    SectionRoom,
    branch_argument,
    front_matter,
)
from workingset_mcp.answers.brief.materials import BranchReader, Materials
from workingset_mcp.answers.budget import count_lines, count_tokens, echo_tokens
from workingset_mcp.escaping import show_name

LEFT_OUT = "Not in this brief"
_UNLIMITED = 1 << 30
_LEAST_BESIDE_OVERRIDE = 250
LEAST_SPARE_TOKENS = 40
SHORT_STATUS_TOKENS = 80
_Render: TypeAlias = Callable[[dict[str, int]], dict[str, Rendered]]  # limits -> sections, by title


class SectionSpan(NamedTuple):
    """The position of a section's text in a brief, below its title."""

    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Brief:
    """A brief as printed, with its tokens and its warnings."""

    text: str
    tokens: int
    warnings: tuple[str, ...]
    spans: tuple[SectionSpan, ...] = ()
    branch: str = ""

    def sections(self) -> list[tuple[str, str]]:
        """Return the sections as (title, text)."""
        return [(span.title, self.text[span.start : span.end]) for span in self.spans]


def make_brief(materials: Materials, reader: BranchReader, room_tokens: int) -> Brief:
    """Make the fullest brief that fits into about `room_tokens`.

    The shortest brief (front matter and "Not in this brief") may cost more: the caller counts the text.
    """
    # Its override may go out of this brief only.
    materials = replace(materials, most_name=echo_tokens(room_tokens, 8))
    caps = SectionCaps().for_budget(room_tokens)
    head = front_matter(materials, room_tokens)
    fixed = count_tokens(head)
    warnings = _leave_out_large_override(materials, room_tokens - fixed)
    render = partial(_render_all, materials, reader, caps)
    rendered = render(dict.fromkeys((s.title for s in SECTIONS), _UNLIMITED))
    text = _assembled(head, rendered, materials)
    tokens = fixed + _tokens_below_head(rendered, materials)
    if tokens > room_tokens:
        reserve = count_tokens(_not_in_this_brief(rendered, materials)) + 30
        limits = _limits(rendered, room_tokens - fixed - min(reserve, room_tokens // 3))
        text, rendered = _within(head, limits, materials, render, room_tokens)
        tokens = count_tokens(text)
    spans = _spans(head, rendered, text)
    return Brief(text, tokens, tuple(warnings), spans, materials.branch.name)


def _leave_out_large_override(materials: Materials, room: int) -> list[str]:
    """Return the warnings of the brief; drop the override whole if it leaves no room for anything else."""
    warnings = list(materials.warnings)
    if materials.override is None:
        return warnings
    path, text = materials.override
    tokens = count_tokens(text)
    if tokens + _LEAST_BESIDE_OVERRIDE > room:
        materials.override = None
        needed = tokens + _LEAST_BESIDE_OVERRIDE
        warnings.insert(
            0, f"{show_name(path)} is left out: {tokens:,} tokens; ask with budget={needed + 200:,}"
        )
    return warnings


def _render_all(
    materials: Materials, reader: BranchReader, caps: SectionCaps, limits: dict[str, int]
) -> dict[str, Rendered]:
    used: dict[str, int] = {}
    shown: set[tuple[str, int]] = set()
    found: dict[str, Rendered] = {}
    for section in SECTIONS:
        title = count_tokens(f"## {section.title} (000 of 000)\n")
        tokens = limits[section.title] - title
        one = section.render(SectionRoom(materials, reader, caps, max(0, tokens), used, shown))
        found[section.title] = one if tokens > 0 else Rendered("", one.left_out)
    return found


def _limits(rendered: dict[str, Rendered], room: int) -> dict[str, int]:
    """Return the token limit of each section: its cost up to its share, then unused room by priority."""
    override = count_tokens(rendered[SECTIONS[0].title].text)
    costs = {s.title: _cost(s, rendered[s.title]) for s in SECTIONS}
    limits = {s.title: min(costs[s.title], int((room - override) * s.share)) for s in SECTIONS}
    limits[SECTIONS[0].title] = costs[SECTIONS[0].title]
    floors = {s.title: _floor(s, rendered[s.title]) for s in SECTIONS}
    status = SECTIONS[1].title  # it keeps its whole share, and a short status is shown whole
    limits[status] = max(limits[status], min(costs[status], SHORT_STATUS_TOKENS))
    floors[status] = limits[status]
    if sum(floors.values()) <= room:  # keep every section whose first lines fit
        limits = {title: max(limit, floors[title]) for title, limit in limits.items()}
        _shrink(limits, floors, sum(limits.values()) - room)
    spare = room - sum(limits.values())
    for section in sorted(SECTIONS, key=lambda s: s.priority):
        extra = min(max(spare, 0), costs[section.title] - limits[section.title])
        limits[section.title] += extra
        spare -= extra
    return limits


def _floor(section: BriefSection, rendered: Rendered) -> int:
    """Return the tokens of a section's title and its first two lines."""
    if not rendered.text or section.priority == 0:
        return 0
    first = _titled(section, rendered).split("\n")[:3]
    return count_tokens("\n".join(first)) + 14


def _shrink(limits: dict[str, int], floors: dict[str, int], over: int) -> None:
    """Lower the limits by `over` tokens, least important sections first, never below a floor."""
    for section in sorted(SECTIONS, key=lambda s: -s.priority):
        if over <= 0 or section.priority == 0:
            break
        cut = min(over, limits[section.title] - floors[section.title])
        limits[section.title] -= cut
        over -= cut


def _cost(section: BriefSection, rendered: Rendered) -> int:
    if not rendered.text:
        return 0
    return count_tokens(_titled(section, rendered)) + 8


def _titled(section: BriefSection, rendered: Rendered) -> str:
    text = rendered.text
    if not text:
        return ""
    if not text.startswith((" (", "\n")):
        text = f"\n{text}"
    return f"## {section.title}{text}"


def _assembled(head: str, rendered: dict[str, Rendered], materials: Materials) -> str:
    body = "".join(_titled(section, rendered[section.title]) for section in SECTIONS)
    return f"{head}{body}{_not_in_this_brief(rendered, materials)}"


def _spans(head: str, rendered: dict[str, Rendered], text: str) -> tuple[SectionSpan, ...]:
    """Locate the sections in the assembled text of a brief."""
    found, at = [], len(head)
    for section in SECTIONS:
        end = at + len(_titled(section, rendered[section.title]))
        if end > at:
            found.append(SectionSpan(section.title, text.index("\n", at) + 1, end))
        at = end
    return (*found, SectionSpan(LEFT_OUT, text.index("\n", at) + 1, len(text)))


def _tokens_below_head(rendered: dict[str, Rendered], materials: Materials) -> int:
    """Count the tokens below the front matter by section: each starts with `#` and ends in a newline."""
    counts = [count_tokens(_not_in_this_brief(rendered, materials))]
    for section in SECTIONS:
        one = rendered[section.title]
        if one.text and one.tokens is not None:
            counts.append(count_tokens(f"## {section.title}\n") + one.tokens)
        else:
            counts.append(count_lines(_titled(section, one)))
    return sum(counts)


def _not_in_this_brief(rendered: dict[str, Rendered], materials: Materials) -> str:
    branch = materials.branch
    lines = [line for section in SECTIONS for line in rendered[section.title].left_out]
    missing = []
    if materials.status is None:
        missing.append("no recent status block" if branch.statuses else "no status block")
    if not materials.open_items and not materials.stale_boxes:
        missing.append("no open items")
    if missing:
        lines.insert(0, f"- {', '.join(missing).capitalize()} in this branch.")
    if materials.unread:
        lines.append(f"- {unread_line(materials.unread, materials.most_name)}".rstrip())
    plural = "s" if materials.source_notes != 1 else ""
    named = branch_argument(materials)
    lines.append(
        f"- All {materials.source_tokens:,} tokens of {materials.source_notes} note{plural}:"
        f" search_notes(query=…, {named}) or query_full_context({named})"
    )
    return f"## {LEFT_OUT}\n" + "\n".join(lines) + "\n"


def _within(
    head: str, limits: dict[str, int], materials: Materials, render: _Render, room: int
) -> tuple[str, dict[str, Rendered]]:
    """Assemble the brief within these limits: hand out spare room, or drop sections while it is too long."""
    rendered = render(limits)
    text = _assembled(head, rendered, materials)
    for section in sorted(SECTIONS, key=lambda s: s.priority):
        spare = room - count_tokens(text) - 20
        if spare < LEAST_SPARE_TOKENS:
            break
        if not rendered[section.title].left_out and section.share:
            continue
        grown = {**limits, section.title: limits[section.title] + spare}
        second = render(grown)
        longer = _assembled(head, second, materials)
        if count_tokens(longer) <= room:
            limits, rendered, text = grown, second, longer
    for section in sorted(SECTIONS, key=lambda s: -s.priority):
        if count_tokens(text) <= room:
            break
        if section.priority and rendered[section.title].text:
            limits = {**limits, section.title: 0}
            rendered = render(limits)
            text = _assembled(head, rendered, materials)
    return text, rendered
