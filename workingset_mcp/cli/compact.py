"""Move older status blocks of a long note into its archive without losing a byte.

The archive is written first, so after a crash a block is in one file or in both. A file that another program
saves at the same moment stays as saved (`vault/replacing`). Each stretch that moves leaves one pointer line.
In the archive its bytes are between two marks that give their number. Not here: the command
(`commands/upkeep`).
"""

import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.errors import ArgumentError, VaultError
from workingset_mcp.notes.markdown import line_ends_kept, outline_of
from workingset_mcp.notes.statuses import statuses_of
from workingset_mcp.settings import Settings
from workingset_mcp.vault.files import UNFINISHED_SECONDS, is_link, remove_unfinished
from workingset_mcp.vault.replacing import (
    SWAPPED,
    all_bytes,
    ensure_plain,
    read_plain,
    remove_taken,
    saved_meanwhile,
    swap_in,
    taken_away,
    written_beside,
)

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LEAST_TOKENS = 3_000
_BOM = b"\xef\xbb\xbf"
_PAST_THE_END = 1 << 40  # Windows locks a byte here, where no file has content
_PART = re.compile(rb"<!-- part (\d{1,9}), (\d{1,12}) bytes -->\n")


@dataclass(frozen=True, slots=True)
class Compaction:
    """A planned compaction: the new bytes of note and archive, and the headings that move."""

    rest: bytes
    archive: bytes
    moved: tuple[str, ...]
    tokens_before: int
    tokens_after: int


def archive_of(note: Path) -> Path:
    """Return the path of a note's archive: `index.md` -> `index.archive.md`."""
    return note.with_name(f"{note.stem}.archive{note.suffix}")


def plan_compaction(
    raw: bytes, archive: bytes, archive_name: str, settings: Settings, keep: int = 1
) -> Compaction:
    """Plan which blocks move: all dated status blocks except the newest `keep`.

    Nothing moves in a note of at most 3,000 tokens. Raises VaultError if the note is not UTF-8.
    """
    if keep < 0:
        raise ArgumentError(f"keep={keep} is too small.", "Give 0 or more.")
    bom = _BOM if raw.startswith(_BOM) else b""
    try:
        text = raw[len(bom) :].decode("utf-8")
    except UnicodeDecodeError:
        raise VaultError("The note is not UTF-8.", "Save it as UTF-8 first.") from None
    tokens = count_tokens(text)
    stretches = _stretches(text, settings, keep) if tokens > LEAST_TOKENS else []
    if not stretches:
        return Compaction(raw, archive, (), tokens, tokens)
    lines = line_ends_kept(text)
    end = "\r\n" if "\r\n" in text else "\r" if "\r" in text and "\n" not in text else "\n"
    number = 1 + max((*parts_of(archive), *_pointed_to(raw, archive_name)), default=0)
    kept, parts, at, moved = [], [archive], 0, []
    if archive and not archive.endswith(b"\n"):
        parts.append(b"\n")
    for first, last, headings in stretches:
        part = "".join(lines[first - 1 : last]).encode("utf-8")
        kept.append("".join(lines[at : first - 1]))
        kept.append(f"_Older status: [{archive_name}](<{archive_name}>), part {number}_{end}")
        parts.append(
            b"<!-- part %d, %d bytes -->\n%b\n<!-- /part %d -->\n"
            % (number, len(part), part, number)
        )
        at, number = last, number + 1
        moved += headings
    kept.append("".join(lines[at:]))
    rest = "".join(kept)
    return Compaction(
        bom + rest.encode("utf-8"), b"".join(parts), tuple(moved), tokens, count_tokens(rest)
    )


def read_both(note: Path) -> tuple[bytes, bytes]:
    """Read the bytes of a note and of its archive, which are empty if there is no archive.

    Raises VaultError for a symlink, whose target may be outside the vault. Raises OSError.
    """
    raw = read_plain(note)
    try:
        return raw, read_plain(archive_of(note))
    except FileNotFoundError:
        return raw, b""


def apply_compaction(note: Path, raw: bytes, before: bytes, compaction: Compaction) -> None:
    """Append the blocks to the archive, then replace the note.

    `raw`, `before`: the contents of note and archive at planning time. Raises VaultError, and leaves the note
    alone, if either file changed since or another run is writing. Raises OSError.
    """
    archive, mode = archive_of(note), stat.S_IMODE(note.lstat().st_mode)
    addition = compaction.archive[len(before) :]
    taken = None
    try:
        with _open_archive(archive, mode) as (handle, fresh):
            try:
                if all_bytes(handle) != before:
                    raise saved_meanwhile(archive)
                if read_plain(note) != raw:
                    raise saved_meanwhile(note)
                _write_both(note, raw, handle, addition, compaction)
            except (OSError, VaultError):
                if fresh and _is_in_note(note, addition):  # the lock keeps other runs away
                    taken = taken_away(archive)
                raise
    finally:
        if taken:
            remove_taken(taken, archive, addition.startswith)


def remove_leftovers(note: Path) -> list[str]:
    """Remove what killed runs left beside note and archive; return the names of files a person must check.

    A run that is killed while it swaps the old and the new note leaves one of them under a hidden name. The
    leftover is removed if note and archive contain all of it.
    """
    for file in (note, archive_of(note)):
        remove_unfinished(file)
    kept = []
    own = tuple(f".{file.name}." for file in (note, archive_of(note)))
    youngest = time.time() - UNFINISHED_SECONDS
    for left in sorted(note.parent.iterdir()):
        swapped = left.name.startswith(own) and left.name.endswith(SWAPPED)
        if swapped and left.lstat().st_mtime < youngest:
            if _is_held(left, note):
                left.unlink()
            else:
                kept.append(left.name)
    return kept


def restored(rest: bytes, archive: bytes, archive_name: str) -> bytes:
    """Rebuild the note before compaction: replace every pointer line with its part of the archive."""
    parts = parts_of(archive)
    return _pointer(archive_name).sub(lambda found: parts.get(int(found[1]), found[0]), rest)


def _is_held(left: Path, note: Path) -> bool:
    """Return whether note and archive together contain all of a leftover file."""
    try:
        held, (raw, archive) = read_plain(left), read_both(note)
    except (OSError, VaultError):
        return False
    name = archive_of(note).name
    whole = restored(raw, archive, name)
    return held in (raw, whole) or restored(held, archive, name) == whole


def _write_both(
    note: Path, raw: bytes, archive: int, addition: bytes, compaction: Compaction
) -> None:
    """Append to the open archive, then replace the note. Raises VaultError, OSError."""
    new = written_beside(note, compaction.rest, stat.S_IMODE(note.lstat().st_mode))
    try:
        _append(archive, addition)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    swap_in(new, note, raw, compaction.rest, lambda: _holds(archive_of(note), archive, addition))


def _is_in_note(note: Path, addition: bytes) -> bool:
    """Return whether the note still contains every part that would move."""
    try:
        raw = read_plain(note)
    except (OSError, VaultError):
        return False
    return all(part in raw for part in parts_of(addition).values())


@contextmanager
def _open_archive(archive: Path, mode: int) -> Iterator[tuple[int, bool]]:
    """Open and lock the archive; yield its handle and whether it is new. Raises VaultError, OSError."""
    flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if is_link(str(archive)):
        raise VaultError(f"{archive.name} is a link.", "Replace it with a regular file.")
    try:
        handle, fresh = os.open(archive, flags | os.O_CREAT | os.O_EXCL, mode), True
    except FileExistsError:
        handle, fresh = os.open(archive, flags), False
    try:
        ensure_plain(handle, archive.name)
        _lock(handle, archive.name)
        if not _holds(archive, handle, b""):
            raise saved_meanwhile(archive)
        yield handle, fresh
    finally:
        os.close(handle)


def _lock(handle: int, name: str) -> None:
    """Lock the archive until it is closed. Raises VaultError if another run holds the lock."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, _PAST_THE_END, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise VaultError(f"Another run is writing {name}.", "Wait until it is done.") from None
    except OSError:
        return  # a file system without locks: a second run notices that the files changed


def _append(handle: int, addition: bytes) -> None:
    """Append bytes to the end of the file and sync it. Raises OSError."""
    left = memoryview(addition)
    while left:
        left = left[os.write(handle, left) :]
    os.fsync(handle)


def _holds(file: Path, handle: int, addition: bytes) -> bool:
    """Return whether an open file is still at its path and contains these bytes."""
    try:
        there = file.lstat()
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(handle)) and addition in all_bytes(handle)


def parts_of(archive: bytes) -> dict[int, bytes]:
    """Return the stretches in an archive by number. Marks inside a stretch are part of its text."""
    found, at = {}, 0
    while mark := _PART.search(archive, at):
        end = mark.end() + int(mark[2])
        if archive.startswith(b"\n<!-- /part %b -->\n" % mark[1], end):
            found[int(mark[1])] = archive[mark.end() : end]
            at = end
        else:
            at = mark.end()
    return found


def _pointed_to(raw: bytes, archive_name: str) -> list[int]:
    """Return the part numbers that a note already points to; new parts must not reuse them."""
    return [int(number) for number in _pointer(archive_name).findall(raw)]


def _pointer(archive_name: str) -> re.Pattern[bytes]:
    name = re.escape(archive_name.encode("utf-8", "surrogateescape"))
    return re.compile(
        rb"_Older status: \[%b\]\(<%b>\), part (\d{1,9})_(?:\r\n|\n|\r)" % (name, name)
    )


def _stretches(text: str, settings: Settings, keep: int) -> list[tuple[int, int, list[str]]]:
    """Return the line ranges to move, with their headings; adjacent blocks are joined."""
    outline = outline_of(text)
    blocks = [block for block in statuses_of(outline, settings) if block.date]
    blocks.sort(key=lambda block: (block.date, block.time, block.line), reverse=True)
    kept_lines = [(block.line, block.last_line) for block in blocks[:keep]]
    found: list[tuple[int, int, list[str]]] = []
    for block in sorted(blocks[keep:], key=lambda block: block.line):
        last = _end_of(outline.lines, block.last_line)
        overlaps_kept = any(first <= last and block.line <= end for first, end in kept_lines)
        if overlaps_kept or (found and block.line <= found[-1][1]):
            continue
        if found and block.line == found[-1][1] + 1:
            found[-1] = (found[-1][0], last, [*found[-1][2], block.heading])
        else:
            found.append((block.line, last, [block.heading]))
    return found


def _end_of(lines: list[str], last: int) -> int:
    """Return the last line of a block, including the blank lines after it."""
    while last < len(lines) and not lines[last].strip():
        last += 1
    return last
