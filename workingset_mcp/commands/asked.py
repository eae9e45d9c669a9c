"""What a client's hook asks for: its payload, the branch it means, and the vault opened for it.

Nothing here may be slow, and nothing is written: without an index the branch's own notes are read
into memory. Not here: what is injected (`hook`).
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workingset_mcp.dates import date_of_path
from workingset_mcp.errors import BranchNotFound, IndexDamaged, IndexUnavailable
from workingset_mcp.index import index_folder
from workingset_mcp.index.location import FILE_NAME
from workingset_mcp.note import OVERRIDE_NAME
from workingset_mcp.settings import Settings
from workingset_mcp.vault import Vault
from workingset_mcp.workspace import Workspace

MOST_PAYLOAD_BYTES = 32_000_000
MOST_BYTES_WITHOUT_INDEX = 1_000_000
READ_SECONDS = 0.1  # newest notes are read without an index for as long
REFRESH_SECONDS = 0.15  # an index further behind than this is left aside
_BATCH_BYTES = 50_000


@dataclass(frozen=True, slots=True)
class Payload:
    """What a client says on standard input, as far as it is of use."""

    cwd: str = ""
    source: str = ""


def read_payload(raw: bytes) -> Payload:
    """A client's JSON; anything else reads as nothing said."""
    try:
        found = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return Payload()
    if not isinstance(found, dict):
        return Payload()
    roots = found.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return Payload(_text(found.get("cwd")) or _text(first), _text(found.get("source")))


def branch_for(vault: Vault, given: str | None, payload: Payload) -> str | None:
    """The branch asked for, else that of the client's folder if it lies in the vault, else none.

    Raises BranchNotFound when the one asked for has no notes.
    """
    if given:
        name = given.strip().replace("\\", "/").strip("/") or "."
        if ".." not in name.split("/") and "\0" not in name and vault.walk(name).files:
            return name
        raise BranchNotFound(
            f"{given[:80]!r} is no branch of this vault.", "`workingset-mcp brief` lists them."
        )
    if not payload.cwd:
        return None
    try:
        relative = Path(payload.cwd).resolve().relative_to(vault.root).as_posix()
    except (ValueError, OSError, RuntimeError):
        return None
    if relative == ".":
        return None
    name = vault.branch_of(f"{relative}/note.md")
    return name if vault.walk(name).files else None


def opened_for_hook(
    root: Path, settings: Settings, branch: str | None, *, whole: bool = False
) -> Workspace:
    """A workspace that answers at once: its index where there is one, else the newest notes, read.

    No index is ever made on disk for a hook. `whole`: every note, however long it takes.
    """
    workspace = _with_index(root, settings, branch)
    if workspace is None:
        workspace = Workspace(root, settings, in_memory=True)
        if branch:
            _read_notes(workspace, branch, whole=whole)
    return workspace


def _read_notes(workspace: Workspace, branch: str, *, whole: bool) -> None:
    """Read the override, then the notes, newest first, up to a megabyte and while there is time."""
    files = workspace.vault.walk(branch).files
    override = f"{branch}/{OVERRIDE_NAME}".lower()
    workspace.freshness.refresh_paths([path for path in files if path.lower() == override])
    newest = sorted(files, key=lambda path: (_day_in(path), files[path].mtime_ns), reverse=True)
    until = time.monotonic() + READ_SECONDS
    left = MOST_BYTES_WITHOUT_INDEX
    batch: list[str] = []
    size = 0
    for path in newest:
        left -= files[path].size
        if left < 0 and path != newest[0] and not whole:
            continue
        batch.append(path)
        size += files[path].size
        if size >= _BATCH_BYTES:
            workspace.freshness.refresh_paths(batch)
            batch, size = [], 0
            if time.monotonic() > until and not whole:
                return
    workspace.freshness.refresh_paths(batch)


def _day_in(path: str) -> str:
    found = date_of_path(path)
    return found[0] if found else ""


def _with_index(root: Path, settings: Settings, branch: str | None) -> Workspace | None:
    """A workspace on the index that is there and current for the branch."""
    vault_root = Vault(root, settings).root
    folder = index_folder(vault_root, settings.shape_digest(), settings.index_dir)
    if not (folder / FILE_NAME).is_file():
        return None
    try:
        workspace = Workspace(root, settings)
    except (IndexDamaged, IndexUnavailable):
        return None
    try:
        if workspace.freshness.built.is_set() and (
            not branch
            or workspace.freshness.refresh(branch, deadline=time.monotonic() + REFRESH_SECONDS)
        ):
            return workspace
    except IndexDamaged:
        pass
    workspace.close()
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
