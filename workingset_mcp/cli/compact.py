"""Moving older status blocks out of a long note into its archive, without losing a byte.

The archive is written first: whatever happens in between, a block stands in one file or in both.
Each stretch that moves leaves one pointer line, and its bytes stand in the archive between two
marks that say how many they are. Not here: which note is worth it (`cli`).
"""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.errors import ArgumentError, VaultError
from workingset_mcp.notes.markdown import line_ends_kept, outline_of
from workingset_mcp.notes.statuses import statuses_of
from workingset_mcp.settings import Settings
from workingset_mcp.vault.files import remove_unfinished, write_bytes_atomically

LEAST_TOKENS = 3_000
_BOM = b"\xef\xbb\xbf"
_PART = re.compile(rb"<!-- part (\d{1,9}), (\d{1,12}) bytes -->\n")


@dataclass(frozen=True, slots=True)
class Compaction:
    """What compacting a note would do: the bytes of both files then, and the moved headings."""

    rest: bytes
    archive: bytes
    moved: tuple[str, ...]
    tokens_before: int
    tokens_after: int


def archive_of(note: Path) -> Path:
    """The archive beside a note: `index.md` -> `index.archive.md`."""
    return note.with_name(f"{note.stem}.archive{note.suffix}")


def plan_compaction(
    raw: bytes, archive: bytes, archive_name: str, settings: Settings, keep: int = 1
) -> Compaction:
    """Work out what moves: all dated status blocks but the newest `keep`.

    Nothing moves in a note of at most 3,000 tokens. Raises VaultError where it is not UTF-8.
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


def apply_compaction(note: Path, compaction: Compaction) -> None:
    """Write archive, then note, each whole or not at all; a link stays one. Raises OSError."""
    note = note.resolve()
    archive = archive_of(note).resolve()
    fresh = not archive.exists()
    try:
        if fresh:  # no more open than its note, from the first byte on
            mode = stat.S_IMODE(note.stat().st_mode)
            os.close(os.open(archive, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        write_bytes_atomically(archive, compaction.archive)
    except OSError:
        if fresh:
            archive.unlink(missing_ok=True)
        raise
    write_bytes_atomically(note, compaction.rest)


def remove_leftovers(note: Path) -> None:
    """Remove the unfinished files of earlier runs that were killed, beside note and archive."""
    note = note.resolve()
    for file in (note, archive_of(note).resolve()):
        remove_unfinished(file)


def parts_of(archive: bytes) -> dict[int, bytes]:
    """The moved stretches in an archive, by number. Marks inside a stretch are its own words."""
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
    """Numbers on the pointer lines that a note already has: no new part may take one."""
    name = re.escape(archive_name.encode("utf-8", "surrogateescape"))
    pointer = rb"_Older status: \[%b\]\(<%b>\), part (\d{1,9})_(?:\r\n|\n|\r)" % (name, name)
    return [int(number) for number in re.findall(pointer, raw)]


def _stretches(text: str, settings: Settings, keep: int) -> list[tuple[int, int, list[str]]]:
    """Line ranges to move, neighbouring blocks joined, with the headings in them."""
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
    """The last line of a block with the blank lines behind it."""
    while last < len(lines) and not lines[last].strip():
        last += 1
    return last
