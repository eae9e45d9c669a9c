"""Writing `brief.md` beside the notes of a branch, only over what this command wrote.

Not here: what a brief says (`answers/brief`), and how a written one is marked (`notes/written_brief`).
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


class BriefKept(VaultError):
    """A `brief.md` that is not surely ours stays as it is."""


def write_brief(
    workspace: Workspace, branch: str, budget: int | None, *, force: bool = False
) -> str | None:
    """Write `brief.md` of a branch where its text differs; its path, None when nothing changed.

    A file that a person wrote stays; so does a brief that a person edited, unless `force` is given.
    Raises BriefKept, BranchNotFound, ArgumentError, OSError.
    """
    file = workspace.vault.root / branch / "brief.md"
    path = file.relative_to(workspace.vault.root).as_posix()
    content = signed(workspace.brief(branch, budget).body).encode()
    seen = _replaceable(workspace, file, path, force=force)
    if seen is None:
        new = written_beside(file, content, mode_of_notes(workspace, [branch]))
        try:
            place(new, file)
        except OSError as error:
            new.unlink(missing_ok=True)
            if isinstance(error, FileExistsError):
                raise BriefKept(f"{path} came meanwhile.", "Run it again.") from None
            raise
    elif seen.replace(b"\r\n", b"\n") == content:
        return None
    else:
        new = written_beside(file, content, stat.S_IMODE(file.lstat().st_mode))
        swap_in(new, file, seen, content)
    return path


def mode_of_notes(workspace: Workspace, branches: Iterable[str]) -> int:
    """The mode for a new file that quotes these branches: no more open than any of their notes."""
    mode = 0o666
    for path in (path for name in branches for path in workspace.vault.walk(name).files):
        with suppress(OSError):  # gone between the two looks
            mode &= (workspace.vault.root / path).lstat().st_mode
    return mode | 0o600 if mode != 0o666 else 0o644


def _replaceable(workspace: Workspace, file: Path, path: str, *, force: bool) -> bytes | None:
    """The bytes of a `brief.md` that may be replaced; None where there is none. Raises BriefKept."""
    try:
        raw = read_plain(file)
    except FileNotFoundError:
        return None
    except VaultError as error:
        raise BriefKept(f"{path} is left as it is: {error.message}", _ELSEWHERE) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise BriefKept(f"{path} cannot be read: {reason}.", _ELSEWHERE) from None
    if parse_note(path, raw, workspace.settings).kind != "brief":
        raise BriefKept(f"{path} was not written by this command: it is left as it is.", _ELSEWHERE)
    if not force and unsigned(decode(raw)[0]) is None:
        raise BriefKept(
            f"{path} was edited since it was written: it is left as it is.",
            "Rename it, give --out FILE, or give --force to write over it.",
        )
    return raw
