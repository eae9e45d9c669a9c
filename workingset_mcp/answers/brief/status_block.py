"""The latest status, word for word; too long, cut at a block border with its fences closed. Pure."""

from collections.abc import Sequence

from workingset_mcp.answers.answer import closing_fence, counted, quoted_block
from workingset_mcp.answers.brief.room import Rendered, Room, mark_shown
from workingset_mcp.answers.budget import count_tokens, take_lines


def status_section(room: Room) -> Rendered:
    """The block word for word; too long, it is cut at a block border or a line."""
    row = room.materials.status
    if row is None:
        return Rendered("")
    note, status = row
    source = f"{note.path}:{status.line}"
    undated = "" if status.date else " The heading carries no date."
    head = f"_Source: [{source}]_{undated}\n"
    lines = room.materials.branch.lines(note, status.line, status.last_line)
    whole = head + _status_block([*lines, *closing_fence(lines)], source, status.last_line)
    if not status.date:
        room = room._replace(tokens=min(room.tokens, room.mosts.undated_status_tokens))
    tokens = count_tokens(whole)
    room.used["status"] = min(tokens, room.tokens)
    if tokens <= room.tokens:
        mark_shown(room, note.path, status.line, status.last_line)
        return Rendered(whole, tokens=tokens)
    more = f'open_source_file(path="{note.path}", lines="{{}}-{status.last_line}")'
    reserve = count_tokens(head + _status_block([], source, status.last_line) + more) + 30
    kept = max(1, take_lines([f"{line}\n" for line in lines], room.tokens - reserve))
    kept = _block_border(lines, kept)
    while kept > 1 and not lines[kept - 1].strip():
        kept -= 1
    if count_tokens(lines[0]) > room.tokens:
        return Rendered(
            "",
            (
                f'- The status block: open_source_file(path="{note.path}", lines="{status.line}-{status.last_line}")',
            ),
        )
    shown = [*lines[:kept], *closing_fence(lines[:kept])]
    rest = len(lines) - kept
    text = head + _status_block(shown, source, status.line + kept - 1)
    text += f"Cut: {counted(rest, 'more line')}: {more.format(status.line + kept)}\n"
    mark_shown(room, note.path, status.line, status.last_line)
    return Rendered(text)


def _status_block(lines: Sequence[str], source: str, last: int) -> str:
    first = source.rpartition(":")[2]
    lines_named = source if int(first) == last else f"{source}-{last}"
    return f"{quoted_block(chr(10).join(lines), 1, lines_named)}\n"


def _block_border(lines: Sequence[str], kept: int) -> int:
    """The last blank line that loses at most a third of what fits."""
    for at in range(kept, max(1, kept * 2 // 3), -1):
        if at < len(lines) and not lines[at].strip() and not closing_fence(lines[:at]):
            return at
    return kept
