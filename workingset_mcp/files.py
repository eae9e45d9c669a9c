"""Files, safely: opened without following a link, found in another Unicode form, written whole.

Not here: which files are notes (`vault`).
"""

import os
import stat
import tempfile
import unicodedata
from pathlib import Path


def open_without_links(root: Path, path: str) -> int:
    """A handle for reading `path` below `root`, no link followed at any level. Raises OSError."""
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    nofollow = getattr(os, "O_NOFOLLOW", 0)
    if not nofollow or os.open not in os.supports_dir_fd:
        handle = os.open(root / path, flags)
        if (root / path).resolve() != root / path:
            os.close(handle)
            raise PermissionError(path)
        return handle
    parts = path.split("/")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | nofollow, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], flags | nofollow | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)


def other_spelling(root: Path, path: str) -> str | None:
    """The path on disk that differs from `path` only in Unicode form."""
    folder, spelled = root, []
    for part in path.split("/"):
        wanted = unicodedata.normalize("NFC", part)
        try:
            names = [entry.name for entry in folder.iterdir()]
        except (OSError, ValueError):
            return None
        same = [name for name in names if unicodedata.normalize("NFC", name) == wanted]
        if not same:
            return None
        spelled.append(part if part in same else same[0])
        folder = folder / spelled[-1]
    return "/".join(spelled)


def write_atomically(file: Path, text: str) -> None:
    """Write a text so that a reader sees the old file or the new one, never a part."""
    write_bytes_atomically(file, text.encode("utf-8"))


def write_bytes_atomically(file: Path, content: bytes) -> None:
    """Write bytes to a temporary file beside the target, sync it, rename it over the target."""
    handle, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o644
        Path(temporary).chmod(mode)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
