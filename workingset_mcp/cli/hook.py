"""Build the context that a client's hooks inject into an agent's session, under a hard byte cap.

Branch, day, status heading and urgent items come first, because they survive a client's short preview. Then
come the override and as much of the brief as fits. Fast: no `mcp`, no tokenizer. Not here: a client's
payload, opening the vault, exit codes (`commands`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from workingset_mcp.answers.answer import Source, fenced, quoted_block
from workingset_mcp.answers.brief import Materials
from workingset_mcp.errors import ArgumentError, OverrideTooLarge
from workingset_mcp.escaping import show_line, show_name, write_json
from workingset_mcp.notes.markdown import line_ends_kept
from workingset_mcp.workspace.indexed import IndexedVault

DEFAULT_MAX_BYTES = 9_500
MOST_URGENT = 3
MOST_KEEP_LINES = 5
_PREVIEW_BYTES = 1_900  # a client shows only this much of output that it considers too long
_WIDTHS = (400, 250, 150, 80)  # bytes of a decisive line: the widest that fits all into the preview
_CUT = "(cut here: get_brief has the rest)\n"


def _nested(text: str) -> str:
    event = {"hookEventName": "SessionStart", "additionalContext": text}
    return write_json({"hookSpecificOutput": event})


def _copilot(text: str) -> str:
    return write_json({"additionalContext": text})


def _cursor(text: str) -> str:
    return write_json({"additional_context": text, "continue": True})


# The output format of each client. Codex rejects unknown keys.
CLIENTS: Mapping[str, Callable[[str], str]] = {
    "claude": _nested,
    "codex": _nested,
    "gemini": _nested,
    "vscode": _nested,
    "copilot": _copilot,
    "cursor": _cursor,
}


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the context. If it is cut, `closing` still ends it."""

    text: str
    closing: str = ""


def session_start(workspace: IndexedVault, branch: str | None, max_bytes: int, client: str) -> str:
    """Return the client's JSON on one line of at most `max_bytes`; empty if there is no context.

    Raises OverrideTooLarge, and ArgumentError if the cap is too small for one line.
    """
    shape = CLIENTS[client]
    blocks = context_blocks(workspace, branch)
    if not blocks:
        return ""
    room = max_bytes - len(f"{shape('')}\n".encode())
    text = _fitted(blocks, room, _size_in_json)
    if not text:
        raise ArgumentError(f"--max-bytes {max_bytes} is too small.", "Give 1000 or more.")
    return f"{shape(text)}\n"


def context_blocks(workspace: IndexedVault, branch: str | None) -> list[Block]:
    """Return the decisive lines, the override, then the contents of a brief. Raises OverrideTooLarge."""
    materials = workspace.materials(branch or ".")
    override = _checked_override(materials)
    blocks = []
    if branch is not None:
        blocks.append(Block(_decisive(materials, branch, _unread(workspace, branch))))
    if override:
        path, text = override
        blocks.append(Block(f"{_gap(blocks)}Override, kept by a person ({show_name(path)}):\n"))
        blocks.append(_quote(text, Source(path)))
    if branch is not None:
        blocks += _rest(materials)
    return blocks


def full_text(workspace: IndexedVault, branch: str) -> str:
    """Return the whole branch verbatim, in date order and without a cap (`--full`).

    Raises OverrideTooLarge.
    """
    _checked_override(workspace.materials(branch))
    with workspace.index.snapshot() as snapshot:
        notes = sorted(snapshot.notes(branch), key=lambda note: (note.date, note.path))
        return "".join(
            f"### {show_name(note.path)} · {note.date or 'undated'}\n{fenced(snapshot.text(note.id))}\n"
            for note in notes
        )


def keep_lines(workspace: IndexedVault, branch: str | None) -> list[str]:
    """Return at most five lines that a compaction should keep; only Claude Code reads them."""
    if branch is None:
        return []
    materials = workspace.materials(branch)
    lines = []
    if materials.status:
        lines.append(
            f"keep: status of {show_name(branch)}: {_clipped(materials.status.status.heading, 400)}"
        )
    lines += [
        f"keep: {_clipped(one.item.text, 400)} ({one.sources[0]})"
        for one in materials.open_items[:MOST_URGENT]
    ]
    lines.append(f'keep: get_brief(branch="{show_name(branch)}") gives the current state again')
    return lines[:MOST_KEEP_LINES]


def _checked_override(materials: Materials) -> tuple[str, str] | None:
    if materials.branch.override and materials.override is None:
        path, text = materials.branch.override
        cap = materials.branch.override_max_bytes
        raise OverrideTooLarge(
            f"{show_name(path)} holds {_size(text):,} bytes, over its cap of {cap:,}.",
            "Shorten it: nothing is injected until it fits.",
        )
    return materials.override


def _unread(workspace: IndexedVault, branch: str) -> str:
    """Return a line on how much of a branch was read without an index; empty if all of it was."""
    if workspace.index.place != "memory":
        return ""
    with workspace.index.snapshot() as snapshot:
        known = snapshot.known(branch)
    files = workspace.vault.walk(branch).files
    read = sum(path in known for path in files)
    return f"Read without an index: {read:,} of {len(files):,} notes." if read < len(files) else ""


def _decisive(materials: Materials, branch: str, notice: str) -> str:
    """Print the lines that must survive a preview of two kilobytes."""
    text = ""
    for width in _WIDTHS:
        lines = [*_decisive_lines(materials, branch, width), *([notice] if notice else [])]
        text = "".join(f"{line}\n" for line in lines)
        if _size(text) <= _PREVIEW_BYTES:
            break
    return text


def _decisive_lines(materials: Materials, branch: str, width: int) -> list[str]:
    lines = [f"Notes on {show_name(branch)}, as of {materials.as_of or 'no date'}."]
    status = materials.status
    if status:
        heading = _clipped(status.status.heading, width)
        lines.append(f"Latest status: {heading} ({Source(status.note.path, status.status.line)})")
        first = next((line.strip() for line in materials.status_lines[1:] if line.strip()), "")
        if first:
            lines.append(f"> {_clipped(first, width)}")
    lines += [
        f"- [ ] {_clipped(one.item.text, width)} ({one.sources[0]})"
        for one in materials.open_items[:MOST_URGENT]
    ]
    lines.append(
        f'More: get_brief(branch="{show_name(branch)}"), search_notes, open_source_file of workingset.'
    )
    return lines


def _rest(materials: Materials) -> list[Block]:
    """Return the status block, further open items, facts and decisions, without extra formatting."""
    blocks = []
    status = materials.status
    if status:
        note, found = status
        source = Source(note.path, found.line, found.last_line)
        blocks += [Block("\n"), _quote("\n".join(materials.status_lines), source)]
    items = [
        f"- [{one.item.state}] {show_line(one.item.text)} ({one.sources[0]})\n"
        for one in materials.open_items[MOST_URGENT:25]
    ]
    if items:
        blocks.append(Block(f"\nFurther open items:\n{''.join(items)}"))
    said = [*materials.facts[:6], *materials.decisions[:12]]
    if said:
        lines = "".join(f"- {show_line(one.text)} ({one.sources[0]})\n" for one in said)
        blocks.append(Block(f"\nSaid:\n{lines}"))
    return blocks


def _gap(before: Sequence[Block]) -> str:
    return "\n" if before else ""


def _quote(text: str, source: Source) -> Block:
    quoted = f"{quoted_block(text, 1, source)}\n"
    return Block(quoted, quoted[quoted.rindex("<!-- /quote ") :])


def _fitted(blocks: Sequence[Block], room: int, size: Callable[[str], int]) -> str:
    """Fit whole lines of the blocks into `room`; close a cut quote, and add a line that says it was cut."""
    whole = "".join(block.text for block in blocks)
    if size(whole) <= room:
        return whole
    room -= size(_CUT)
    kept: list[str] = []
    for block in blocks:
        if size(block.text) > room:
            kept.append(_first_lines(block, room, size))
            break
        kept.append(block.text)
        room -= size(block.text)
    text = "".join(kept)
    return f"{text}{_CUT}" if text else ""


def _first_lines(block: Block, room: int, size: Callable[[str], int]) -> str:
    """Return the first lines of a block that is too long, then its closing mark."""
    room -= size(block.closing) + size("\n")
    kept = []
    for line in line_ends_kept(block.text.removesuffix(block.closing)):
        room -= size(line)
        if room < 0:
            break
        kept.append(line)
    if not kept or (block.closing and len(kept) == 1):
        return ""
    text = "".join(kept)
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}{block.closing}"


def _clipped(text: str, most_bytes: int) -> str:
    """A line of a note up to so many bytes; where it is cut, dots say so."""
    text = show_line(text)
    if _size(text) <= most_bytes:
        return text
    return text.encode("utf-8", "replace")[: most_bytes - 3].decode("utf-8", "ignore") + "…"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _size_in_json(text: str) -> int:
    return _size(write_json(text)) - 2
