"""Where the index of a vault lives: one folder for each vault, content stamp and shaping settings."""

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
# What decides which rows a note becomes: these modules, and every one of `notes`.
_ROW_SOURCES = ("index/rows.py", "index/sqlite/writing.py", "index/sqlite/schema.sql")


def schema() -> str:
    """The statements that make the tables."""
    return (_PACKAGE / "index/sqlite/schema.sql").read_text(encoding="utf-8")


@cache
def content_stamp() -> str:
    """Digest of all that decides what an index holds: an index with another one is built anew.

    Made from the sources, so that nobody has to remember to change it; about 0.6 ms, once a process.
    """
    return stamp_of(_PACKAGE)


def stamp_of(package: Path) -> str:
    """The content stamp of a package; a checkout and a wheel with the same sources have the same one."""
    names = sorted(f"notes/{file.name}" for file in (package / "notes").glob("*.py"))
    digest = hashlib.sha256(f"{__version__} {unicodedata.unidata_version}".encode())
    for name in (*names, *_ROW_SOURCES):
        source = (package / name).read_bytes().replace(b"\r\n", b"\n")  # as git may check it out
        digest.update(b"%b\0%d\0%b" % (name.encode(), len(source), source))
    return digest.hexdigest()[:12]


def index_folder(vault_root: Path, shape_digest: str, index_dir: str | None = None) -> Path:
    """The folder of this vault's index: one for each vault, content stamp and shaping settings."""
    real = os.fsencode(vault_root.resolve())
    name = f"{hashlib.sha256(real).hexdigest()[:16]}-{content_stamp()}-{shape_digest}"
    base = (
        Path(index_dir) if index_dir else Path(platformdirs.user_cache_dir("workingset-mcp", False))
    )
    return base / name


def is_index(folder: Path) -> bool:
    """Whether a folder holds an index."""
    return (folder / FILE_NAME).is_file()


def make_writable(folder: Path) -> bool:
    """Make the folder where it is missing; whether it, and every file of an index in it, takes writes."""
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
    """Device and inode of the file that stands at a path now; None when there is none."""
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def set_aside(file: Path) -> None:
    """Take an index file away, so that a new one can take over; others may still hold the old one."""
    aside = file.with_name(f"damaged-{time.time_ns()}")
    for suffix in ("", "-wal", "-shm"):
        part = file.with_name(file.name + suffix)
        with suppress(OSError):
            part.rename(aside.with_name(aside.name + suffix))
    for old in filter(lambda old: _OWN_FILE.fullmatch(old.name), file.parent.glob("damaged-*")):
        with suppress(OSError):  # such as a folder: it stays
            old.unlink()


def remove_unused(base: Path, keep: str) -> None:
    """Remove folders of indexes that nobody opened for a long time.

    Only folders that were made for an index (by name and marker) and hold nothing else. A folder without a
    marker stays, also one of a version that set none. No link is followed.
    """
    oldest = time.time() - UNUSED_DAYS * 86_400
    with suppress(OSError):
        for folder in base.iterdir():
            if folder.name == keep or not _FOLDER.fullmatch(folder.name):
                continue
            with suppress(OSError):  # it is in use, or another process was faster
                seen = folder.lstat()
                if stat.S_ISDIR(seen.st_mode) and seen.st_mtime < oldest and _is_ours(folder):
                    _remove(folder)


def _make(folder: Path) -> None:
    """Make a folder that is missing, and mark it as ours. Raises OSError."""
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
    """Whether a folder carries our marker and holds only files of an index. Raises OSError."""
    marked, _ = read_without_links(folder.parent, f"{folder.name}/{MARKER_NAME}", 2 * len(_MARKER))
    with os.scandir(folder) as entries:
        return marked == _MARKER and all(
            _OWN_FILE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            for entry in entries
        )


def _remove(folder: Path) -> None:
    """Remove the files of an index, the marker last, then their folder if it is empty. Raises OSError."""
    for file in sorted(folder.iterdir(), key=lambda file: file.name == MARKER_NAME):
        if _OWN_FILE.fullmatch(file.name):
            file.unlink()
    folder.rmdir()
