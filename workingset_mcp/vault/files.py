"""Access files safely: fingerprints, opening without following links, Unicode spellings, atomic writes.

Not here: which files are notes (`ignoring`).
"""

import errno
import os
import stat
import tempfile
import time
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_CLOCK_STEP_NS = 50_000_000  # file systems round timestamps by 10 ms or more
UNFINISHED = ".workingset-part"  # suffix of a file that is being written
UNFINISHED_SECONDS = 60  # a writer is done by then, or was killed
MOST_FILE_BYTES = 64_000_000
_FURTHER_BYTES = 65_536  # size of a read past the known size: finds the end, or what was appended
COARSE_CLOCK_STEP_NS = 2_000_000_000  # FAT and some network disks
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}


class Fingerprint(NamedTuple):
    """What the file system records about a file. Every write to the file changes it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    def unseen_until(self) -> int:
        """Return the time (ns) until which another write may leave this fingerprint unchanged."""
        stamp = self.ctime_ns if os.name == "posix" else self.mtime_ns
        return stamp + (_CLOCK_STEP_NS if stamp % 1_000_000 else COARSE_CLOCK_STEP_NS)


def fingerprint_of(found: os.stat_result) -> Fingerprint:
    """Make a fingerprint from a stat result; the inode is cut to the 63 bits that SQLite can store."""
    inode = found.st_ino & 0x7FFF_FFFF_FFFF_FFFF
    return Fingerprint(found.st_size, found.st_mtime_ns, found.st_ctime_ns, inode)


def scan(folder: str) -> tuple[list["os.DirEntry[str]"], int | None]:
    """List the entries of a folder, and open a handle to close after their last use. Raises OSError.

    With the handle, the system resolves names from the folder and not from the root. It is None on
    systems without such handles.
    """
    if os.scandir not in os.supports_fd:
        with os.scandir(folder) as entries:
            return list(entries), None
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.scandir(handle) as entries:
            return list(entries), handle
    except OSError:
        os.close(handle)
        raise


def is_absent(error: OSError) -> bool:
    """Return whether an error means that the file does not exist; any other means that it cannot be read."""
    return error.errno in _ABSENT or isinstance(error, FileNotFoundError | NotADirectoryError)


def is_link(place: str) -> bool:
    """Return whether a path is itself a symlink; False for a path that the system refuses."""
    try:
        return stat.S_ISLNK(os.lstat(place).st_mode)
    except (OSError, ValueError):
        return False


def open_without_links(root: Path, path: str) -> int:
    """Open `path` below `root` for reading, without following links at any level. Raises OSError."""
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


def read_without_links(root: Path, path: str, most: int) -> tuple[bytes, Fingerprint]:
    """Read at most `most` bytes of a regular file, and its fingerprint afterwards. Raises OSError."""
    handle = open_without_links(root, path)
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise IsADirectoryError(errno.EISDIR, "not a regular file", path)
        return read_up_to(most, handle, about.st_size), fingerprint_of(os.fstat(handle))
    finally:
        os.close(handle)


def read_regular(file: Path, most: int = MOST_FILE_BYTES) -> bytes:
    """Read a file that a person named, and follow links. Raises OSError.

    A pipe or a device is refused: reading one may block forever.
    """
    real = file.resolve(strict=True)
    return read_without_links(real.parent, real.name, most)[0]


def read_up_to(most: int, handle: int, size: int) -> bytes:
    """Read the first bytes of an open file in as few calls as its size allows."""
    parts, left, buffer_bytes = [], most, size + 1
    while left and (part := os.read(handle, min(buffer_bytes, left))):
        parts.append(part)
        left, buffer_bytes = left - len(part), _FURTHER_BYTES
    return b"".join(parts)


def other_spelling(root: Path, path: str) -> str | None:
    """Return the path on disk that differs from `path` only in its Unicode form, if there is one."""
    folder, spelled = root, []
    for part in path.split("/"):
        normalized = unicodedata.normalize("NFC", part)
        try:
            names = [entry.name for entry in folder.iterdir()]
        except (OSError, ValueError):
            return None
        same = [name for name in names if unicodedata.normalize("NFC", name) == normalized]
        if not same:
            return None
        spelled.append(part if part in same else same[0])
        folder = folder / spelled[-1]
    return "/".join(spelled)


def write_atomically(file: Path, text: str, *, new_mode: int = 0o644) -> None:
    """Write a text so that a reader sees the old file or the new one, never a part of it.

    An existing file keeps its mode.
    """
    handle, temporary = tempfile.mkstemp(
        prefix=f".{file.name}.", suffix=UNFINISHED, dir=file.parent
    )
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(text.encode("utf-8"))
            opened.flush()
            os.fsync(opened.fileno())
        mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else new_mode
        Path(temporary).chmod(mode)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def remove_unfinished(file: Path) -> None:
    """Remove temporary files over a minute old that killed writers left beside a file."""
    for left in file.parent.iterdir():
        if left.name.startswith(f".{file.name}.") and left.name.endswith(UNFINISHED):
            with suppress(OSError):  # another process removed it, or we may not
                if left.lstat().st_mtime < time.time() - UNFINISHED_SECONDS:
                    left.unlink()
