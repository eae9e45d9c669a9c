"""Replace a file without losing what another program saves to it at the same moment.

The new file and the old one swap names. Only then is the old one checked, because no other program can
open it by its name any more. If it was saved meanwhile, the two swap back. Not here: files that only
this program writes (`files`).
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

SWAPPED = ".workingset-swap"  # suffix of a file that swaps names with another
_WRITER_SECONDS = 1.0  # how long to wait for a program that has the old file open for writing
_SETTLE_SECONDS = 0.1  # for a program that has read a file and is about to save it
_LINUX_HERE, _LINUX_EXCHANGE, _MAC_SWAP = -100, 2, 2  # AT_FDCWD, RENAME_EXCHANGE, RENAME_SWAP
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM}

if sys.platform == "linux":
    import fcntl


def read_plain(file: Path) -> bytes:
    """Read a regular file that has one name. Raises VaultError for a link, OSError."""
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
    """Raise VaultError unless an open file is regular and has one name."""
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        raise VaultError(f"{name} is not a regular file.", "Give the file itself.")
    if about.st_nlink > 1:
        raise VaultError(
            f"{name} has {about.st_nlink} names (hard links); the others would keep the old text.",
            "Give it one name first: copy it, then rename the copy over it.",
        )


def all_bytes(handle: int) -> bytes:
    """Read all bytes of an open file."""
    os.lseek(handle, 0, os.SEEK_SET)
    parts = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def written_beside(file: Path, content: bytes, mode: int) -> Path:
    """Write `content` to a hidden file in the same folder, and sync it. Raises OSError."""
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
    """Replace `file` with `new`, which holds `content`, if `file` still holds `seen`.

    `is_right` is called a moment after the swap, so that a program which had read another file has
    saved that file by then. Raises VaultError if the file was saved meanwhile; what was saved stays.
    `new` is gone in any case. Raises OSError.
    """
    old = new.with_suffix(SWAPPED)
    try:
        new.rename(old)
        exchange(old, file)  # from here on `old` names the old file
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
    """Rename a file to an unused name. Raises FileExistsError, OSError."""
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
    """Move a file to a hidden name, where no other program finds it. Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=SWAPPED, dir=file.parent)
    os.close(handle)
    try:
        return file.replace(name)
    except OSError:
        Path(name).unlink()
        raise


def remove_taken(taken: Path, file: Path, is_right: Callable[[bytes], bool]) -> None:
    """Remove a file that was taken away if its bytes are right; otherwise give it its name back."""
    if _holds_at_last(taken, is_right):
        taken.unlink()
        return
    try:
        place(taken, file)
    except FileExistsError:
        _keep(taken, file)


def exchange(one: Path, other: Path) -> None:
    """Swap the names of two files: atomically where the system can, else in steps.

    Raises FileNotFoundError if one is gone, and FileExistsError if another program took the name
    between two steps; then its file stays, and so does `one`. Raises OSError.
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
    """Swap the names of two files in three steps; for a moment no file has the name of `other`."""
    aside = one.with_name(f"{one.name}{SWAPPED}")
    other.rename(aside)
    try:
        place(one, other)
    except FileExistsError:
        aside.unlink()  # the file of the program that took the name replaces it
        raise
    except BaseException:
        place(aside, other)
        raise
    aside.rename(one)


@cache
def _system_call() -> Callable[[bytes, bytes], int] | None:
    """Return the system call that swaps two names atomically; None if there is none."""
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
    """Undo a swap; return the name of the file that keeps what was saved in between, or an empty name."""
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
    """Rename a hidden file to a visible name beside `file`, and return that name."""
    visible = file.with_name(f"{file.stem}.saved-{time.time_ns()}{file.suffix}")
    place(hidden, visible)
    return visible.name


def _holds_at_last(file: Path, is_right: Callable[[bytes], bool]) -> bool:
    """Return whether a hidden file has the right bytes and no program is still writing it."""
    try:
        handle = open_without_links(file.parent, file.name)
    except OSError:  # a link or a folder replaced it
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
    """Wait until no program has a file open for writing; False if one keeps it open too long."""
    if sys.platform == "linux":
        until = time.monotonic() + _WRITER_SECONDS
        while time.monotonic() < until:
            try:  # the system grants a lease only if no program has the file open for writing
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
    """Make the error for a file that another program saved or moved at the same moment."""
    where = f" What was saved in between is in {kept}." if kept else ""
    return VaultError(
        f"{file.name} changed meanwhile.", f"It was left as it is: run the command again.{where}"
    )
