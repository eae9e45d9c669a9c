"""Context for an agent's session, injected by its client's hooks, under a hard byte cap.

Branch, day, status heading and urgent items come first (they survive a client's short preview), then
the override, then as much of the brief as fits. Fast: no `mcp`, no tokenizer; without an index the
branch's own notes are read. Not here: exit codes (`cli`).
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workingset_mcp.answer import quoted_block
from workingset_mcp.brief import Materials
from workingset_mcp.errors import OverrideTooLarge
from workingset_mcp.settings import Settings
from workingset_mcp.vault import Vault
from workingset_mcp.workspace import Workspace

DEFAULT_MAX_BYTES = 9_500
MOST_URGENT = 3
MOST_KEEP_LINES = 5
MOST_BYTES_WITHOUT_INDEX = 1_000_000
_PREVIEW_BYTES = 1_900  # what a client shows of output it finds too long


def _nested(text: str) -> str:
    event = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": event}, ensure_ascii=False)


def _copilot(text: str) -> str:
    return json.dumps({"additionalContext": text}, ensure_ascii=False)


def _cursor(text: str) -> str:
    return json.dumps({"additional_context": text, "continue": True}, ensure_ascii=False)


# The shape each client reads. Codex refuses any further key.
CLIENTS: Mapping[str, Callable[[str], str]] = {
    "claude": _nested,
    "codex": _nested,
    "gemini": _nested,
    "vscode": _nested,
    "copilot": _copilot,
    "cursor": _cursor,
}


@dataclass(frozen=True, slots=True)
class Payload:
    """What a client says on standard input, as far as it is of use."""

    cwd: str = ""
    source: str = ""


def read_payload(raw: bytes) -> Payload:
    """A client's JSON; anything else reads as nothing said."""
    try:
        found = json.loads(raw.decode("utf-8-sig", "replace"))
    except ValueError:
        return Payload()
    if not isinstance(found, dict):
        return Payload()
    roots = found.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return Payload(_text(found.get("cwd")) or _text(first), _text(found.get("source")))


def branch_for(vault: Vault, given: str | None, payload: Payload) -> str | None:
    """The branch asked for, else that of the client's folder if it lies in the vault, else none."""
    if given:
        return given.strip().strip("/") or "."
    if not payload.cwd:
        return None
    try:
        relative = Path(payload.cwd).resolve().relative_to(vault.root).as_posix()
    except (ValueError, OSError, RuntimeError):
        return None
    return None if relative == "." else vault.branch_of(f"{relative}/note.md")


def opened_for_hook(root: Path, settings: Settings, branch: str | None) -> Workspace:
    """A workspace that answers at once: its index where there is one, else the newest notes read now."""
    workspace = Workspace(root, settings)
    if workspace.freshness.built.is_set():
        if branch:
            workspace.freshness.refresh(branch)
        return workspace
    workspace.close()
    workspace = Workspace(root, settings, in_memory=True)
    if branch:
        workspace.freshness.take_newest(branch, MOST_BYTES_WITHOUT_INDEX)
    return workspace


def session_start(workspace: Workspace, branch: str | None, max_bytes: int, client: str) -> str:
    """The client's JSON with the context in it, at most `max_bytes` long; empty with nothing to say.

    Raises OverrideTooLarge.
    """
    shape = CLIENTS[client]
    room = max_bytes - len(shape("").encode("utf-8"))
    text = context_text(workspace, branch, room)
    while text and len(shape(text).encode("utf-8")) > max_bytes:
        text = _first_lines(text, len(text.encode("utf-8")) - 200)
    return shape(text) if text else ""


def context_text(workspace: Workspace, branch: str | None, max_bytes: int) -> str:
    """Decisive lines, the override, then the brief as far as it fits. Raises OverrideTooLarge."""
    materials = workspace.materials(branch)
    override = _checked_override(materials)
    if branch is not None and not materials.branch.notes:
        return ""
    parts = [_decisive(materials, branch)]
    if override:
        path, text = override
        parts.append(f"Override, kept by a person ({path}):\n{quoted_block(text, 1, path)}\n")
    if branch is not None:
        parts.append(_rest(materials))
    return _first_lines("\n".join(part for part in parts if part), max_bytes)


def full_text(workspace: Workspace, branch: str) -> str:
    """The whole branch, verbatim: the deliberate opt-in that lifts the cap."""
    pages, cursor = [], None
    while True:
        page = workspace.full(branch, cursor=cursor, budget=24_000)
        pages.append(page)
        following = re.search(r'^next: .*cursor="([^"]+)"', page, re.MULTILINE)
        if not following:
            return "\n".join(pages)
        cursor = following[1]


def keep_lines(workspace: Workspace, branch: str | None) -> list[str]:
    """What a compaction should keep, at most five lines; for the one client that reads them."""
    if branch is None:
        return []
    materials = workspace.materials(branch)
    if not materials.branch.notes:
        return []
    lines = []
    if materials.status:
        lines.append(f"keep: status of {branch}: {materials.status.status.heading}")
    lines += [
        f"keep: {one.item.text} ({one.sources[0]})" for one in materials.open_items[:MOST_URGENT]
    ]
    lines.append(f'keep: get_brief(branch="{branch}") gives the current state again')
    return lines[:MOST_KEEP_LINES]


def _checked_override(materials: Materials) -> tuple[str, str] | None:
    if materials.branch.override and materials.override is None:
        path, text = materials.branch.override
        cap = materials.branch.override_max_bytes
        raise OverrideTooLarge(
            f"{path} holds {len(text.encode('utf-8', 'replace')):,} bytes, over its cap of {cap:,}.",
            "Shorten it: nothing is injected until it fits.",
        )
    return materials.override


def _decisive(materials: Materials, branch: str | None) -> str:
    """What must survive a preview of two kilobytes."""
    if branch is None:
        return (
            f"Notes are kept in the vault {materials.branch.vault}: get_brief() of workingset lists its"
            " branches, get_brief(branch=…) gives the current state of one.\n"
        )
    lines = [f"Notes on {branch}, as of {materials.as_of or 'no date'}."]
    status = materials.status
    if status:
        lines.append(
            f"Latest status: {status.status.heading} ({status.note.path}:{status.status.line})"
        )
        first = next((line.strip() for line in materials.status_lines[1:] if line.strip()), "")
        if first:
            lines.append(f"> {first[:400]}")
    lines += [
        f"- [ ] {one.item.text[:300]} ({one.sources[0]})"
        for one in materials.open_items[:MOST_URGENT]
    ]
    lines.append(
        f'More: get_brief(branch="{branch}"), search_notes, open_source_file of workingset.'
    )
    return _first_lines("\n".join(lines) + "\n", _PREVIEW_BYTES)


def _rest(materials: Materials) -> str:
    """Status block, further open items, decisions and facts, plainly."""
    parts = []
    status = materials.status
    if status:
        note, block = status
        source = f"{note.path}:{block.line}-{block.last_line}"
        block_text = "\n".join(materials.status_lines)
        parts.append(f"{quoted_block(block_text, 1, source)}\n")
    items = [
        f"- [{one.item.state}] {one.item.text} ({one.sources[0]})"
        for one in materials.open_items[MOST_URGENT:25]
    ]
    if items:
        parts.append("Further open items:\n" + "\n".join(items) + "\n")
    said = [*materials.facts[:6], *materials.decisions[:12]]
    if said:
        parts.append(
            "Said:\n" + "\n".join(f"- {one.text} ({one.sources[0]})" for one in said) + "\n"
        )
    return "\n".join(parts)


def _first_lines(text: str, max_bytes: int) -> str:
    """Whole lines of a text up to a number of bytes; what was cut is said."""
    if len(text.encode("utf-8", "replace")) <= max_bytes:
        return text
    mark = "(cut here: get_brief has the rest)\n"
    left = max_bytes - len(mark.encode())
    kept = []
    for line in text.splitlines(keepends=True):
        left -= len(line.encode("utf-8", "replace"))
        if left < 0:
            break
        kept.append(line)
    opened = sum(line.startswith("<!-- quote ") for line in kept) - sum(
        line.startswith("<!-- /quote ") for line in kept
    )
    if opened > 0 and kept:
        number = next(line for line in reversed(kept) if line.startswith("<!-- quote ")).split()[2]
        closing = f"<!-- /quote {number} -->\n"
        while kept and left < len(closing) and not kept[-1].startswith("<!-- quote "):
            left += len(kept.pop().encode("utf-8", "replace"))
        kept.append(closing)
    return "".join(kept) + mark


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
