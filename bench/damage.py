"""What can happen to an index on disk: damage, lost permissions, a full disk.

`DAMAGES` and `RIGHTS` are the lists; each entry does one thing to a copy of an index folder. Not
here: the answer that must follow (`doors`, `stress_crash`).
"""

import contextlib
import ctypes
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from doors import NOBODY

INDEX = "index.sqlite3"
PAGE_BYTES = 8_192  # of the index
_chance = random.Random(1)


def index_file(folder: Path) -> Path:
    """Return the only index file below a folder."""
    return next(folder.rglob(INDEX))


def _cut(file: Path, share: float) -> None:
    os.truncate(file, int(file.stat().st_size * share))


def fill(file: Path, first: int, last: int, filling: Callable[[int], bytes]) -> None:
    """Overwrite a range of bytes."""
    with file.open("r+b") as opened:
        opened.seek(first)
        opened.write(filling(last - first))


def _fill_share(file: Path, first: float, last: float, filling: Callable[[int], bytes]) -> None:
    size = file.stat().st_size
    fill(file, int(size * first), int(size * last), filling)


def _sql(file: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement)


def _other_database(file: Path) -> None:
    file.unlink()
    _sql(file, "CREATE TABLE other (x)")


def _a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut to nothing": lambda file: _cut(file, 0.0),
    "cut to a tenth": lambda file: _cut(file, 0.1),
    "cut to a half": lambda file: _cut(file, 0.5),
    "cut by its last page": lambda file: os.truncate(file, file.stat().st_size - PAGE_BYTES),
    "zeroed": lambda file: _fill_share(file, 0, 1, bytes),
    "zeroed at its beginning": lambda file: _fill_share(file, 0, 0.01, bytes),
    "zeroed in the middle": lambda file: _fill_share(file, 0.4, 0.6, bytes),
    "zeroed in its last half": lambda file: _fill_share(file, 0.5, 1, bytes),
    "filled with junk": lambda file: _fill_share(file, 0, 1, _chance.randbytes),
    "junk in the middle": lambda file: _fill_share(file, 0.4, 0.6, _chance.randbytes),
    "junk behind its first pages": lambda file: _fill_share(file, 0.02, 1, _chance.randbytes),
    "of another schema": lambda file: _sql(file, "UPDATE meta SET value = 1 WHERE key = 'schema'"),
    "without its meta table": lambda file: _sql(file, "DROP TABLE meta"),
    "another program's database": _other_database,
    "its words gone": lambda file: _sql(file, "INSERT INTO fts(fts) VALUES ('delete-all')"),
    "some sections gone": lambda file: _sql(file, "DELETE FROM section WHERE id % 7 = 0"),
    "some notes gone": lambda file: _sql(file, "DELETE FROM note WHERE id % 7 = 0"),
    "a folder in its place": _a_folder,
    "folder missing": lambda file: shutil.rmtree(file.parent),
}


def _own(
    folder: Path, user: int, *, file_owner: int | None = None, file_mode: int = 0o600,
    folder_mode: int = 0o755,
) -> None:  # fmt: skip
    for place in [*folder.rglob("*"), folder]:
        is_folder = place.is_dir()
        owner = user if is_folder or file_owner is None else file_owner
        os.chown(place, owner, owner)
        place.chmod(folder_mode if is_folder else file_mode)


def _empty_of_root(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            file.unlink()
    _own(folder, 0)


RIGHTS: dict[str, Callable[[Path], object]] = {
    "all its own": lambda folder: _own(folder, NOBODY),
    "index files read-only": lambda folder: _own(folder, NOBODY, file_mode=0o444),
    "index files of another user": lambda folder: _own(folder, NOBODY, file_owner=0),
    "index files readable, of another user": (
        lambda folder: _own(folder, NOBODY, file_owner=0, file_mode=0o644)
    ),
    "folder not writable": lambda folder: _own(folder, 0, file_mode=0o644),
    "folder not writable, no index": _empty_of_root,
    "folder not readable": lambda folder: _own(folder, 0, folder_mode=0o700),
    "nothing writable, no temporary folder": _empty_of_root,
}


def make_readable(root: Path) -> None:
    """Let every user read a vault and enter the temporary folders above it."""
    for place in [root, *root.rglob("*")]:
        place.chmod(0o755 if place.is_dir() else 0o644)
    for above in root.parents:
        if above.name.startswith("stress-"):
            above.chmod(0o755)


@contextlib.contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[bool]:
    """Mount a tmpfs of this size, if mounting is allowed."""
    place.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    size = f"size={kilobytes}k".encode()
    mounted = libc.mount(b"tmpfs", str(place).encode(), b"tmpfs", 0, size) == 0
    try:
        yield mounted
    finally:
        if mounted:
            libc.umount2(str(place).encode(), 2)


def fill_up(disk: Path) -> None:
    """Write until the disk is full."""
    with contextlib.suppress(OSError), (disk / "filling").open("wb", buffering=0) as opened:
        for size in (1 << 20, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while opened.write(b"x" * size):
                    pass
