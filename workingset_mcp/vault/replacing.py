"""Replacing a file without losing what another program saves to it at the same moment.

The new file and the old one swap names, and only then the old one is checked: by then no other program
can find it under its name. If it was saved meanwhile, the two swap back. Not here: files that only this
program writes (`files`).
"""

import ctypes
import errno
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from workingset_mcp.errors import VaultError
from workingset_mcp.vault.files import UNFINISHED, is_link, open_without_links

SWAPPED = ".workingset-swap"  # ends the names of files that swap names with another
_WRITER_SECONDS = 1.0  # how long a program that has the old file open may go on writing
_SETTLE_SECONDS = 0.1  # for a program that read a file and saves it in a moment
_LINUX_HERE, _LINUX_EXCHANGE, _MAC_SWAP = -100, 2, 2  # AT_FDCWD, RENAME_EXCHANGE, RENAME_SWAP
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM}

if sys.platform == "linux":
    import fcntl


def read_plain(file: Path) -> bytes:
    """The bytes of a regular file with one name. Raises VaultError for a link, OSError."""
    try:
        handle = open_without_links(file.parent, file.name)
    except OSError:
        if is_link(str(file)):
            raise VaultError(f"{file.name} is a link.", "Give the file itself.") from None
        raise
    try:
        ensure_plain(handle, file.name)
        return all_bytes(handle)
    finally:
        os.close(handle)


def ensure_plain(handle: int, name: str) -> None:
    """Raise VaultError unless an opened file is regular and has one name."""
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        raise VaultError(f"{name} is no regular file.", "Give the file itself.")
    if about.st_nlink > 1:
        raise VaultError(
            f"{name} has {about.st_nlink} names (hard links); the others would keep the old text.",
            "Make it a file of its own first: copy it, then rename the copy over it.",
        )


def all_bytes(handle: int) -> bytes:
    """All bytes of an opened file."""
    os.lseek(handle, 0, os.SEEK_SET)
    parts = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def written_beside(file: Path, content: bytes, mode: int) -> Path:
    """A hidden file in the same folder that holds `content`, synced. Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=UNFINISHED, dir=file.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        new.chmod(mode)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    return new


def swap_in(
    new: Path, file: Path, seen: bytes, content: bytes, is_right: Callable[[], bool] | None = None
) -> None:
    """Put `new`, which holds `content`, in the place of `file`, if that still holds `seen`.

    `is_right` is asked a moment after the swap: by then a program that read another file before it has
    saved that, too. Raises VaultError when the file was saved meanwhile:
    what was saved stays. `new` is gone in any case. Raises OSError.
    """
    old = new.with_suffix(SWAPPED)
    try:
        new.rename(old)
        exchange(old, file)  # from here on `old` names what stood there
    except OSError as error:
        for left in (new, old):
            left.unlink(missing_ok=True)
        if isinstance(error, (FileNotFoundError, FileExistsError)):
            raise saved_meanwhile(file) from None
        raise
    if _holds_at_last(old, seen.__eq__) and (is_right is None or _is_still(is_right)):
        old.unlink()
        return
    raise saved_meanwhile(file, _swap_back(old, file, content))


def place(file: Path, target: Path) -> None:
    """Rename a file to a name that no file has. Raises FileExistsError, OSError."""
    if os.name != "nt":  # Windows refuses to rename over a file
        try:
            os.link(file, target, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if os.path.lexists(target):
                raise FileExistsError(target) from None
        else:
            file.unlink()
            return
    file.rename(target)


def taken_away(file: Path) -> Path:
    """Give a file a hidden name, under which no other program finds it. Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=SWAPPED, dir=file.parent)
    os.close(handle)
    try:
        return file.replace(name)
    except OSError:
        Path(name).unlink()
        raise


def remove_taken(taken: Path, file: Path, is_right: Callable[[bytes], bool]) -> None:
    """Remove a file that was taken away, if its bytes are right; else it gets its name back."""
    if _holds_at_last(taken, is_right):
        taken.unlink()
        return
    try:
        place(taken, file)
    except FileExistsError:
        _keep(taken, file)


def exchange(one: Path, other: Path) -> None:
    """Let two files swap names: at once where the system can, else one after the other.

    Raises FileNotFoundError when one is gone, FileExistsError when another program took the name
    between the two steps: its file stays, and `one` too. Raises OSError.
    """
    swap = _system_call()
    if swap is not None:
        if not swap(os.fsencode(one), os.fsencode(other)):
            return
        number = ctypes.get_errno()
        if number not in _CANNOT:
            raise OSError(number, os.strerror(number), str(other))
    exchange_in_turn(one, other)


def exchange_in_turn(one: Path, other: Path) -> None:
    """Let two files swap names in three steps; for a moment no file has the name of `other`."""
    aside = one.with_name(f"{one.name}{SWAPPED}")
    other.rename(aside)
    try:
        place(one, other)
    except FileExistsError:
        aside.unlink()  # the program that took the name replaced this one
        raise
    except BaseException:
        place(aside, other)
        raise
    aside.rename(one)


@cache
def _system_call() -> Callable[[bytes, bytes], int] | None:
    """The call that lets two names swap at once, where the system has one."""
    if sys.platform not in ("linux", "darwin"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "linux":
            linux = library.renameat2
            return lambda one, other: int(
                linux(_LINUX_HERE, one, _LINUX_HERE, other, _LINUX_EXCHANGE)
            )
        mac = library.renamex_np
        return lambda one, other: int(mac(one, other, _MAC_SWAP))
    except AttributeError:
        return None


def _swap_back(old: Path, file: Path, content: bytes) -> str:
    """Undo a swap. What was saved under the name in between stays: the name of its file, or nothing."""
    try:
        exchange(old, file)
    except FileNotFoundError:
        place(old, file)
        return ""
    except FileExistsError:
        return _keep(old, file)
    if _holds_at_last(old, content.__eq__):
        old.unlink()
        return ""
    return _keep(old, file)


def _keep(hidden: Path, file: Path) -> str:
    """Give a hidden file a name beside `file` that a person finds."""
    kept = file.with_name(f"{file.stem}.saved-{time.time_ns()}{file.suffix}")
    place(hidden, kept)
    return kept.name


def _holds_at_last(file: Path, is_right: Callable[[bytes], bool]) -> bool:
    """Whether the bytes of a file that no other program can find are right, and no program writes it."""
    try:
        handle = open_without_links(file.parent, file.name)
    except OSError:  # a link, or a folder, took its place
        return False
    try:
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        return regular and _is_written_by_none(handle) and is_right(all_bytes(handle))
    finally:
        os.close(handle)


def _is_still(is_right: Callable[[], bool]) -> bool:
    time.sleep(_SETTLE_SECONDS)
    return is_right()


def _is_written_by_none(handle: int) -> bool:
    """Wait until no program has a file open for writing; False when one goes on too long."""
    if sys.platform == "linux":
        until = time.monotonic() + _WRITER_SECONDS
        while time.monotonic() < until:
            try:  # a lease is given only while no program has the file open for writing
                fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
                fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            except BlockingIOError:
                time.sleep(0.005)
            except OSError:  # no leases on this file system, or the file is another user's
                break
            else:
                return True
        else:
            return False
    time.sleep(_SETTLE_SECONDS)
    return True


def saved_meanwhile(file: Path, kept: str = "") -> VaultError:
    """The error for a file that another program saved, or took away, at the same moment."""
    where = f" What was saved in between stands in {kept}." if kept else ""
    return VaultError(f"{file.name} changed meanwhile.", f"It stays as it is: run it again.{where}")
