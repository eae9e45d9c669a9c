"""Read a hook's payload, find the branch it means, and open the vault for it.

This must be fast and writes nothing: without an index, the branch's own notes are read into memory. Not here:
the injected text (`hook`).
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

MOST_BYTES_READ = 150_000  # of notes that are not indexed: takes less than 0.1 s
INDEX_SECONDS = 1.0  # how long to wait for an index that another process holds


@dataclass(frozen=True, slots=True)
class Payload:
    """The useful fields of what a client sends on standard input."""

    folders: tuple[str, ...] = ()  # the working folder, then the roots of the workspace
    source: str = ""


def is_whole(raw: bytes | bytearray) -> bool:
    """Return whether a client's JSON object is complete."""
    if not raw.rstrip().endswith(b"}"):
        return False
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def read_payload(raw: bytes) -> Payload:
    """Parse a client's JSON; anything else gives an empty payload."""
    try:
        found = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return Payload()
    if not isinstance(found, dict):
        return Payload()
    roots = found.get("workspace_roots")
    folders = (found.get("cwd"), *(roots if isinstance(roots, list) else ()))
    return Payload(tuple(filter(None, map(_text, folders))), _text(found.get("source")))


def branch_for(vault: Vault, given: str | None, payload: Payload) -> str | None:
    """Return the given branch, else that of the first of the client's folders in the vault, else None.

    A given name is resolved as in every tool. Raises BranchNotFound with near matches.
    """
    if given:
        return name_branch(given, partial(_has_notes, vault), [partial(_branches_of, vault)])
    for folder in payload.folders:
        try:
            relative = Path(folder).resolve().relative_to(vault.root).as_posix()
        except (ValueError, OSError, RuntimeError):
            continue
        name = vault.branch_of(f"{relative}/note.md")
        if relative != "." and vault.walk(name).files:
            return name
    return None


def _has_notes(vault: Vault, branch: str) -> bool:
    """Return whether a branch of this name has notes on disk: there may be no index to ask."""
    if branch != "." and not could_be_folder(branch):
        return False
    return any(vault.branch_of(path) == branch for path in vault.walk(branch).files)


def _branches_of(vault: Vault) -> list[str]:
    return sorted(set(map(vault.branch_of, vault.walk().files)))


def opened_for_hook(
    root: Path, settings: Settings, branch: str | None, *, whole: bool = False
) -> IndexedVault:
    """Open a workspace that answers at once: on its index if there is one, else on the newest notes.

    A hook never creates an index on disk. `whole`: read every note, however long it takes.
    """
    found: list[IndexedVault | None] = []

    def open_index() -> None:
        with suppress(Exception):  # the notes can be read without the index, too
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
    """Choose the notes to read if there is no time for all: up to `most_bytes`, but at least one.

    Dated notes, newest first, alternate with undated ones, which say what always holds. File times do not
    matter, so a fresh clone gives the same result.
    """
    days = {path: _day_in(path) for path in files}
    dated = sorted((path for path in files if days[path]), key=lambda path: (days[path], path))
    living = sorted(
        (path for path in files if not days[path]),
        key=lambda path: (not FIRST_NOTES.match(path.rpartition("/")[2]), path),
    )
    chosen: list[str] = []
    left = most_bytes
    for path in chain.from_iterable(zip_longest(reversed(dated), living)):
        if path and (files[path].size <= left or not chosen):
            chosen.append(path)
            left -= files[path].size
    return chosen


def _read_notes(workspace: IndexedVault, branch: str, *, whole: bool) -> None:
    """Read the override and as many notes as there is time for, or the `whole` branch."""
    files = workspace.vault.walk(branch).files
    override = f"{branch}/{OVERRIDE_NAME}".lower()
    paths = [path for path in files if path.lower() == override]
    paths += files if whole else newest_notes(files, MOST_BYTES_READ)
    workspace.freshness.refresh_paths(dict.fromkeys(paths))


def _day_in(path: str) -> str:
    found = date_of_path(path)
    return found[0] if found else ""


def _with_index(root: Path, settings: Settings, branch: str | None) -> IndexedVault | None:
    """Open a workspace on the existing index, and bring the branch up to date; None if that takes too long."""
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
    """Return the bytes of the branch's notes that the index does not have in their current state."""
    with workspace.index.snapshot() as snapshot:
        known = snapshot.known(branch)
    return sum(
        now.size
        for path, now in workspace.vault.walk(branch).files.items()
        if path not in known or known[path].fingerprint != now
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
