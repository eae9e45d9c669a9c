"""What a client's hook asks for: its payload, the branch it means, and the vault opened for it.

Nothing here may be slow, and nothing is written: without an index the branch's own notes are read
into memory. Not here: what is injected (`hook`).
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from threading import Thread
from typing import Any

from workingset_mcp.errors import IndexDamaged, IndexUnavailable
from workingset_mcp.index import index_folder, is_index
from workingset_mcp.notes.dates import date_of_path
from workingset_mcp.notes.note import OVERRIDE_NAME
from workingset_mcp.notes.words import FIRST_NOTES
from workingset_mcp.settings import Settings
from workingset_mcp.vault.folder import Fingerprint, Vault
from workingset_mcp.workspace.branches import could_be_folder, name_branch
from workingset_mcp.workspace.indexed import IndexedVault

MOST_BYTES_READ = 150_000  # of notes that no index knows: less than 0.1 s
INDEX_SECONDS = 1.0  # an index that another process keeps for longer is left aside


@dataclass(frozen=True, slots=True)
class Payload:
    """What a client says on standard input, as far as it is of use."""

    cwd: str = ""
    source: str = ""


def is_whole(raw: bytes | bytearray) -> bool:
    """Whether a client's JSON object has arrived to its end."""
    if not raw.rstrip().endswith(b"}"):
        return False
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


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

    A given one is named as everywhere. Raises BranchNotFound with near matches.
    """
    if given:
        return name_branch(given, partial(_has_notes, vault), [partial(_branches_of, vault)])
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


def _has_notes(vault: Vault, branch: str) -> bool:
    """Whether there is a branch of this name, by its folder: no index may be there to ask."""
    if branch != "." and not could_be_folder(branch):
        return False
    return any(vault.branch_of(path) == branch for path in vault.walk(branch).files)


def _branches_of(vault: Vault) -> list[str]:
    return sorted(set(map(vault.branch_of, vault.walk().files)))


def opened_for_hook(
    root: Path, settings: Settings, branch: str | None, *, whole: bool = False
) -> IndexedVault:
    """A workspace that answers at once: its index where there is one, else the newest notes, read.

    No index is ever made on disk for a hook. `whole`: every note, however long it takes.
    """
    found: list[IndexedVault | None] = []

    def open_index() -> None:
        with suppress(Exception):  # whatever ails an index, the notes can be read without it
            found.append(_with_index(root, settings, branch))

    worker = Thread(target=open_index, daemon=True)
    worker.start()
    worker.join(INDEX_SECONDS)
    workspace = found[0] if found else None
    if workspace is None:
        workspace = IndexedVault(root, settings, in_memory=True)
        if branch:
            _read_notes(workspace, branch, whole=whole)
    return workspace


def newest_notes(files: Mapping[str, Fingerprint], most_bytes: int) -> list[str]:
    """What of a branch is read where there is no time for all: at most so many bytes, never none.

    Notes of a day, newest first, and notes without one (they say what holds), by turns. File times
    decide nothing: a fresh clone reads the same.
    """
    days = {path: _day_in(path) for path in files}
    dated = sorted((path for path in files if days[path]), key=lambda path: (days[path], path))
    living = sorted(
        (path for path in files if not days[path]),
        key=lambda path: (not FIRST_NOTES.match(path.rpartition("/")[2]), path),
    )
    taken: list[str] = []
    left = most_bytes
    for path in chain.from_iterable(zip_longest(reversed(dated), living)):
        if path and (files[path].size <= left or not taken):
            taken.append(path)
            left -= files[path].size
    return taken


def _read_notes(workspace: IndexedVault, branch: str, *, whole: bool) -> None:
    """Read the override, and of the notes what there is time for, or the `whole` branch."""
    files = workspace.vault.walk(branch).files
    override = f"{branch}/{OVERRIDE_NAME}".lower()
    wanted = [path for path in files if path.lower() == override]
    wanted += files if whole else newest_notes(files, MOST_BYTES_READ)
    workspace.freshness.refresh_paths(dict.fromkeys(wanted))


def _day_in(path: str) -> str:
    found = date_of_path(path)
    return found[0] if found else ""


def _with_index(root: Path, settings: Settings, branch: str | None) -> IndexedVault | None:
    """A workspace on the index that is there, brought up to date for the branch."""
    vault_root = Vault(root, settings).root
    folder = index_folder(vault_root, settings.shape_digest(), settings.index_dir)
    if not is_index(folder):
        return None
    try:
        workspace = IndexedVault(root, settings)
    except (IndexDamaged, IndexUnavailable):
        return None
    try:
        behind = _bytes_behind(workspace, branch) if branch else 0
        is_ready = behind <= MOST_BYTES_READ and workspace.is_built
        if is_ready and (not branch or workspace.freshness.refresh(branch)):
            return workspace
    except IndexDamaged:
        pass
    workspace.close()
    return None


def _bytes_behind(workspace: IndexedVault, branch: str) -> int:
    """Bytes of the branch's notes that the index does not know as they are now."""
    with workspace.index.snapshot() as snapshot:
        known = snapshot.known(branch)
    return sum(
        now.size
        for path, now in workspace.vault.walk(branch).files.items()
        if path not in known or known[path].fingerprint != now
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
