"""Where the index of a vault lives: one folder for each vault, schema and shaping settings."""

import hashlib
import os
import shutil
import threading
import time
import unicodedata
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import platformdirs

from workingset_mcp import __version__

UNUSED_DAYS = 60
FILE_NAME = "index.sqlite3"
BUILD_TURN_NAME = "build-turn.sqlite3"
SCHEMA = files("workingset_mcp.index.sqlite").joinpath("schema.sql").read_text(encoding="utf-8")
_CODE = "5"  # raise when what goes into the tables changes within one release and one schema
SCHEMA_VERSION = hashlib.sha256(
    f"{SCHEMA}{__version__}{_CODE}{unicodedata.unidata_version}".encode()
).hexdigest()[:12]


def index_folder(vault_root: Path, shape_digest: str, index_dir: str | None = None) -> Path:
    """The folder of this vault's index: one for each vault, schema version and shaping settings."""
    real = os.fsencode(vault_root.resolve())
    name = f"{hashlib.sha256(real).hexdigest()[:16]}-{SCHEMA_VERSION}-{shape_digest}"
    base = (
        Path(index_dir) if index_dir else Path(platformdirs.user_cache_dir("workingset-mcp", False))
    )
    return base / name


def make_writable(folder: Path) -> bool:
    """Make the folder where it is missing; whether it, and every file of an index in it, takes writes."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
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
    for old in file.parent.glob("damaged-*"):
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        with suppress(OSError):
            old.unlink()


def remove_unused(base: Path, keep: str) -> None:
    """Remove folders of indexes that nobody opened for a long time."""
    oldest = time.time() - UNUSED_DAYS * 86_400
    with suppress(OSError):
        for folder in base.iterdir():
            unused = folder.name != keep and folder.is_dir() and folder.stat().st_mtime < oldest
            if unused and (folder / FILE_NAME).exists():
                shutil.rmtree(folder, ignore_errors=True)
