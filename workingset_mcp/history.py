"""Full context: the verbatim notes of a branch in date order, in pages. Pure.

Lossless: the texts inside the fences of all pages, joined, are the texts of the notes. A cursor says
where a page begins and carries a digest of the result set, so that a change inside it is said
instead of skipping or repeating. Not here: reading the index (`workspace`).
"""

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from workingset_mcp.answer import Draft, counted, fenced
from workingset_mcp.budget import count_tokens, cut_to_tokens, take_lines
from workingset_mcp.counting import tokens_of
from workingset_mcp.errors import ArgumentError
from workingset_mcp.index import Index, Snapshot
from workingset_mcp.markdown import line_ends_kept

_CURSOR = re.compile(r"^p(\d{1,6})\.([0-9a-f]{6})(?:\.(\d{1,7})\.(\d{1,12}))?$")
_HEAD_TOKENS = 90


@dataclass(frozen=True, slots=True)
class Extract:
    """A stretch of a note that belongs to the result, in order. `text` reads it."""

    path: str
    date: str
    first_line: int
    tokens: int
    digest: str
    text: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: its number, the extract and the character in it."""

    page: int
    digest: str
    extract: int = 0
    character: int = 0

    def __str__(self) -> str:
        return f"p{self.page}.{self.digest}.{self.extract}.{self.character}"


@dataclass(frozen=True, slots=True)
class Page:
    """One page as printed, its number and the cursor of the next."""

    body: str
    number: int
    pages: int
    next_cursor: Cursor | None


def result_digest(extracts: Sequence[Extract]) -> str:
    """Digest of a result set: of what stands in it, not of what else is in the vault."""
    digest = hashlib.sha256()
    for extract in extracts:
        digest.update(f"{extract.path}\0{extract.first_line}\0{extract.digest}\0".encode())
    return digest.hexdigest()[:6]


def cursor_from(text: str | None, digest: str) -> tuple[Cursor, bool]:
    """The cursor a caller gave, and whether the result set is still the one it belongs to.

    Raises ArgumentError when it is no cursor of ours.
    """
    if not text:
        return Cursor(1, digest), True
    matched = _CURSOR.match(text.strip())
    if not matched:
        raise ArgumentError(
            f"cursor={text[:40]!r} is not one of ours.", "Take it from the line `next:`."
        )
    cursor = Cursor(int(matched[1]), matched[2], int(matched[3] or 0), int(matched[4] or 0))
    return cursor, cursor.digest == digest


def extracts_of(snapshot: Snapshot, index: Index, branch: str | None) -> list[Extract]:
    """The notes of a branch (or of the vault) in date order; undated ones come first."""
    notes = sorted(snapshot.notes(branch), key=lambda note: (note.date, note.path))
    tokens = tokens_of(snapshot, index, notes)
    return [
        Extract(
            note.path, note.date, 1, tokens[note.id],
            note.digest.hex(), partial(snapshot.text, note.id),
        )
        for note in notes
    ]  # fmt: skip


def page_draft(
    extracts: Sequence[Extract],
    subject: str,
    branch: str | None,
    cursor_text: str | None,
    room: int,
) -> Draft:
    """A page with the whole cost on its first line and the call for the next."""
    digest = result_digest(extracts)
    cursor, same = cursor_from(cursor_text, digest)
    total = sum(extract.tokens for extract in extracts)
    dates = [extract.date for extract in extracts if extract.date]
    span = f", {min(dates)} to {max(dates)}" if dates else ""
    cost = f"{subject}: {total:,} tokens in {counted(len(extracts), 'note')}{span}"
    scope = f'branch="{branch}", ' if branch else ""
    if not same:
        body = (
            "The notes changed since that cursor was given: nothing is shown, so that nothing is skipped"
            f" or repeated.\nnext: query_full_context({scope.rstrip(', ')}) from the beginning\n"
        )
        return Draft(f"{cost} · changed since page {cursor.page - 1}", body)
    page = make_page(extracts, cursor, room - 60)
    body = page.body
    if page.next_cursor:
        body = f'next: query_full_context({scope}cursor="{page.next_cursor}")\n{body}'
    return Draft(f"{cost} · page {page.number} of {page.pages}", body)


def make_page(extracts: Sequence[Extract], cursor: Cursor, room_tokens: int) -> Page:
    """The page that begins at a cursor and costs at most `room_tokens` as printed."""
    blocks: list[str] = []
    left = room_tokens
    at, character = cursor.extract, cursor.character
    while at < len(extracts):
        extract = extracts[at]
        text = extract.text()
        block, used, taken = _block(extract, text, character, left)
        if not taken and text[character:]:
            if blocks:
                break
            raise ArgumentError(f"{room_tokens} tokens hold no line.", "Ask with a larger budget.")
        blocks.append(block)
        left -= used
        character += taken
        if character < len(text):
            break
        at, character = at + 1, 0
        if left < _HEAD_TOKENS // 2:
            break
    total = sum(extract.tokens for extract in extracts)
    pages = max(cursor.page, math.ceil(total / max(1, room_tokens - _HEAD_TOKENS)))
    following = None
    if at < len(extracts):
        following = Cursor(cursor.page + 1, cursor.digest, at, character)
        pages = max(pages, cursor.page + 1)
    else:
        pages = cursor.page
    return Page("".join(blocks), cursor.page, pages, following)


def _block(extract: Extract, text: str, character: int, room: int) -> tuple[str, int, int]:
    """A part of an extract as printed, its tokens, and how many characters it takes."""
    rest = text[character:]
    first = (
        extract.first_line + len(line_ends_kept(text[:character]))
        if character
        else extract.first_line
    )
    if character and not text[:character].endswith(("\n", "\r")):
        first -= 1
    if not rest:
        head = f"### {extract.path} · {extract.date or 'undated'} · empty\n"
        return head, count_tokens(head), 0
    lines = line_ends_kept(rest[: room * 60])
    head_room = (
        count_tokens(
            f"### {extract.path}:{first}-{first + len(lines)} · {extract.date or 'undated'}\n"
        )
        + 24
    )
    kept = take_lines(lines, room - head_room)
    part = "".join(lines[:kept])
    if not kept and room - head_room > 40:
        part = lines[0][: cut_to_tokens(lines[0], room - head_room)]
    if not part:
        return "", 0, 0
    last = first + max(kept, 1) - 1
    named = f"{first}-{last}" if last > first else str(first)
    inside = "" if part.endswith(("\n", "\r")) else " · no line end behind the last line"
    block = f"### {extract.path}:{named} · {extract.date or 'undated'}{inside}\n{fenced(part)}\n"
    return block, count_tokens(block), len(part)
