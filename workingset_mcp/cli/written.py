"""Write `brief.md` beside the notes of a branch, and only overwrite briefs that this command wrote.

Not here: the text of a brief (`answers/brief`), the signature of a written one (`notes/written_brief`).
"""

import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from workingset_mcp.errors import VaultError
from workingset_mcp.notes.note import decode, parse_note
from workingset_mcp.notes.written_brief import signed, unsigned
from workingset_mcp.vault.replacing import place, read_plain, swap_in, written_beside
from workingset_mcp.workspace.facade import Workspace

_ELSEWHERE = "Rename it, or give --out FILE."


class BriefNotReplaced(VaultError):
    """A `brief.md` that was left alone, because it may not be ours."""


def write_brief(
    workspace: Workspace, branch: str, budget: int | None, *, force: bool = False
) -> str | None:
    """Write `brief.md` of a branch if its text changed; return its path, or None if nothing changed.

    A file that a person wrote is never overwritten; a brief that a person edited, only with `force`.
    Raises BriefNotReplaced, BranchNotFound, ArgumentError, OSError.
    """
    file = workspace.vault.root / branch / "brief.md"
    path = file.relative_to(workspace.vault.root).as_posix()
    content = signed(workspace.brief(branch, budget).body).encode()
    current = _replaceable(workspace, file, path, force=force)
    if current is None:
        new = written_beside(file, content, mode_of_notes(workspace, [branch]))
        try:
            place(new, file)
        except OSError as error:
            new.unlink(missing_ok=True)
            if isinstance(error, FileExistsError):
                raise BriefNotReplaced(f"{path} was just created.", "Run it again.") from None
            raise
    elif current.replace(b"\r\n", b"\n") == content:
        return None
    else:
        new = written_beside(file, content, stat.S_IMODE(file.lstat().st_mode))
        swap_in(new, file, current, content)
    return path


def mode_of_notes(workspace: Workspace, branches: Iterable[str]) -> int:
    """Return the mode for a new file that quotes these branches: no wider than that of any of their notes."""
    mode = 0o666
    for path in (path for name in branches for path in workspace.vault.walk(name).files):
        with suppress(OSError):  # deleted since the walk
            mode &= (workspace.vault.root / path).lstat().st_mode
    return mode | 0o600 if mode != 0o666 else 0o644


def _replaceable(workspace: Workspace, file: Path, path: str, *, force: bool) -> bytes | None:
    """Read a `brief.md` that may be replaced; return None if there is none. Raises BriefNotReplaced."""
    try:
        raw = read_plain(file)
    except FileNotFoundError:
        return None
    except VaultError as error:
        raise BriefNotReplaced(f"{path} is left as it is: {error.message}", _ELSEWHERE) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise BriefNotReplaced(f"{path} cannot be read: {reason}.", _ELSEWHERE) from None
    if parse_note(path, raw, workspace.settings).kind != "brief":
        raise BriefNotReplaced(
            f"{path} was not written by this command: it is left as it is.", _ELSEWHERE
        )
    if not force and unsigned(decode(raw)[0]) is None:
        raise BriefNotReplaced(
            f"{path} was edited since it was written: it is left as it is.",
            "Rename it, give --out FILE, or give --force to overwrite it.",
        )
    return raw
