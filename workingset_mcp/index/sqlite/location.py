"""Locate the index of a vault: one folder for each vault, content stamp and shaping settings."""

import hashlib
import os
import re
import stat
import threading
import time
import unicodedata
from contextlib import suppress
from functools import cache
from pathlib import Path

import platformdirs

from workingset_mcp import __version__
from workingset_mcp.vault.files import read_without_links

UNUSED_DAYS = 60
FILE_NAME = "index.sqlite3"
BUILD_TURN_NAME = "build-turn.sqlite3"
MARKER_NAME = "made-by-workingset-mcp"
_MARKER = (
    b"workingset-mcp made this folder for an index, and removes it when it is unused for long.\n"
)
_FOLDER = re.compile(r"[0-9a-f]{16}-[0-9a-f]{12}-[0-9a-f]{12}")  # as `index_folder` names one
_OWN_FILE = re.compile(
    r"(?:index\.sqlite3|build-turn\.sqlite3|damaged-\d+)(?:-wal|-shm|-journal)?|\.probe-\d+-\d+"
    rf"|{MARKER_NAME}"
)
_PACKAGE = Path(__file__).parents[2]
# The sources that decide which rows a note becomes: these, and every module of `notes`.
_ROW_SOURCES = ("index/rows.py", "index/sqlite/writing.py", "index/sqlite/schema.sql")


def schema() -> str:
    """Return the SQL statements that create the tables."""
    return (_PACKAGE / "index/sqlite/schema.sql").read_text(encoding="utf-8")


@cache
def content_stamp() -> str:
    """Return a digest of the code that decides what an index contains; a new digest means a rebuild.

    It is made from the sources, so nobody has to remember to change it; 0.6 ms, once per process.
    """
    return stamp_of(_PACKAGE)


def stamp_of(package: Path) -> str:
    """Return the content stamp of a package; it is the same for a checkout and a wheel of one version."""
    names = sorted(f"notes/{file.name}" for file in (package / "notes").glob("*.py"))
    digest = hashlib.sha256(f"{__version__} {unicodedata.unidata_version}".encode())
    for name in (*names, *_ROW_SOURCES):
        source = (package / name).read_bytes().replace(b"\r\n", b"\n")  # git may check out CRLF
        digest.update(b"%b\0%d\0%b" % (name.encode(), len(source), source))
    return digest.hexdigest()[:12]


def index_folder(vault_root: Path, shape_digest: str, index_dir: str | None = None) -> Path:
    """Return the folder of an index: one for each vault, content stamp and shaping settings."""
    real = os.fsencode(vault_root.resolve())
    name = f"{hashlib.sha256(real).hexdigest()[:16]}-{content_stamp()}-{shape_digest}"
    base = (
        Path(index_dir) if index_dir else Path(platformdirs.user_cache_dir("workingset-mcp", False))
    )
    return base / name


def is_index(folder: Path) -> bool:
    """Return whether a folder contains an index."""
    return (folder / FILE_NAME).is_file()


def make_writable(folder: Path) -> bool:
    """Create the folder if missing; return whether it and the index files in it can be written."""
    try:
        _make(folder)
        probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}"
        probe.touch(0o600)
        probe.unlink()
        os.utime(folder)
        for name in (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", BUILD_TURN_NAME):
            part = folder / name
            if part.is_file() and not os.access(part, os.W_OK):
                part.chmod(0o600)
    except OSError:
        return False
    return True


def identity(file: Path | None) -> tuple[int, int] | None:
    """Return device and inode of the file now at a path; None if there is none."""
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def set_aside(file: Path) -> None:
    """Move an index file away to make room for a new one; other processes may still have it open."""
    aside = file.with_name(f"damaged-{time.time_ns()}")
    for suffix in ("", "-wal", "-shm"):
        part = file.with_name(file.name + suffix)
        with suppress(OSError):
            part.rename(aside.with_name(aside.name + suffix))
    for old in filter(lambda old: _OWN_FILE.fullmatch(old.name), file.parent.glob("damaged-*")):
        with suppress(OSError):  # e.g. a folder: it stays
            old.unlink()


def remove_unused(base: Path, keep: str) -> None:
    """Remove index folders that have not been opened for `UNUSED_DAYS`.

    Only folders made for an index (by name and marker) that contain nothing else are removed. A folder
    without a marker stays, even if an early version made it. No link is followed.
    """
    oldest = time.time() - UNUSED_DAYS * 86_400
    with suppress(OSError):
        for folder in base.iterdir():
            if folder.name == keep or not _FOLDER.fullmatch(folder.name):
                continue
            with suppress(OSError):  # in use, or another process removed it
                seen = folder.lstat()
                if stat.S_ISDIR(seen.st_mode) and seen.st_mtime < oldest and _is_ours(folder):
                    _remove(folder)


def _make(folder: Path) -> None:
    """Create a missing folder and mark it as ours. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return
    handle = os.open(folder / MARKER_NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as marker:
        marker.write(_MARKER)


def _is_ours(folder: Path) -> bool:
    """Return whether a folder has our marker and contains only index files. Raises OSError."""
    marked, _ = read_without_links(folder.parent, f"{folder.name}/{MARKER_NAME}", 2 * len(_MARKER))
    with os.scandir(folder) as entries:
        return marked == _MARKER and all(
            _OWN_FILE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            for entry in entries
        )


def _remove(folder: Path) -> None:
    """Remove the files of an index, the marker last, then the folder if it is empty. Raises OSError."""
    for file in sorted(folder.iterdir(), key=lambda file: file.name == MARKER_NAME):
        if _OWN_FILE.fullmatch(file.name):
            file.unlink()
    folder.rmdir()
