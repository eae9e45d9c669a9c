"""Full context: verbatim text of a branch in date order, in pages; a plan where it is too much.

Lossless: the texts inside the fences of all pages, joined, are the texts of the result. A cursor says
where a page begins and carries a digest of the result set, so that a change inside it is said instead
of skipping or repeating. Not here: which texts belong to the result (`record`).
"""

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workingset_mcp.answer import Draft, counted, fenced
from workingset_mcp.budget import count_tokens, cut_to_tokens, take_lines
from workingset_mcp.errors import ArgumentError
from workingset_mcp.markdown import line_ends_kept

UNDATED = "undated"  # as `since`: only what carries no date
_CURSOR = re.compile(r"^p(\d{1,6})\.([0-9a-f]{6})\.(\d{1,7})\.(\d{1,12})$")
_HEAD_TOKENS = 90
_MOST_SHARDS = 150


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
class Record:
    """A result set: what was asked, in the words of a call, and its extracts in date order."""

    subject: str
    call: str  # arguments of the call, without the cursor
    extracts: tuple[Extract, ...]
    notices: tuple[str, ...] = ()
    exact: bool = True  # whether the tokens are counted, not estimated
    narrowed: bool = False  # by dates or a query: given in pages, however large

    @property
    def tokens(self) -> int:
        """Tokens of all extracts."""
        return sum(extract.tokens for extract in self.extracts)

    def digest(self) -> str:
        """Digest of what stands in the result, not of what else is in the vault."""
        digest = hashlib.sha256(self.call.encode("utf-8", "replace"))
        for extract in self.extracts:
            digest.update(f"{extract.path}\0{extract.first_line}\0{extract.digest}\0".encode())
        return digest.hexdigest()[:6]


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


def record_draft(record: Record, cursor_text: str | None, heavy_limit: int, room: int) -> Draft:
    """A page of a record with the whole cost on its first line; a plan when it is over the limit."""
    digest = record.digest()
    cursor, same = cursor_from(cursor_text, digest)
    head = "".join(f"{notice}\n" for notice in record.notices)
    cost = _cost(record)
    if not record.extracts:
        return Draft(cost, f"{head}Nothing there.\n", found=False)
    if not same:
        body = (
            "The notes changed since that cursor was given. Nothing is shown, so that nothing is skipped or"
            f" repeated.\nnext: query_full_context({record.call}) from the beginning\n"
        )
        return Draft(f"{cost} · changed since page {cursor.page - 1}", head + body)
    if record.tokens > heavy_limit and not cursor_text and not record.narrowed:
        return Draft(
            f"{cost} · a plan, no text",
            head + _plan(record, heavy_limit, room - count_tokens(head)),
        )
    page = make_page(record.extracts, cursor, room - 60 - count_tokens(head))
    body = page.body
    if page.next_cursor:
        scope = f"{record.call}, " if record.call else ""
        body = f'next: query_full_context({scope}cursor="{page.next_cursor}")\n{body}'
    return Draft(f"{cost} · page {page.number} of {page.pages}", head + body)


def cursor_from(text: str | None, digest: str) -> tuple[Cursor, bool]:
    """The cursor a caller gave, and whether the result set is still the one it belongs to.

    Raises ArgumentError when it is no cursor of ours.
    """
    if not text or not text.strip():
        return Cursor(1, digest), True
    matched = _CURSOR.match(text.strip())
    if not matched:
        raise ArgumentError(
            f"cursor={text[:40]!r} is not one of ours.", "Take it from the line `next:`."
        )
    cursor = Cursor(int(matched[1]), matched[2], int(matched[3]), int(matched[4]))
    return cursor, cursor.digest == digest


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
            raise ArgumentError(
                f"A page of {room_tokens} tokens holds no line.", "Ask with a larger budget."
            )
        blocks.append(block)
        left -= used
        character += taken
        if character < len(text):
            break
        at, character = at + 1, 0
        if left < _HEAD_TOKENS // 2:
            break
    if at >= len(extracts):
        return Page("".join(blocks), cursor.page, cursor.page, None)
    total = sum(extract.tokens for extract in extracts)
    pages = max(cursor.page + 1, math.ceil(total / max(1, room_tokens - _HEAD_TOKENS)))
    following = Cursor(cursor.page + 1, cursor.digest, at, character)
    return Page("".join(blocks), cursor.page, pages, following)


def _cost(record: Record) -> str:
    dates = [extract.date for extract in record.extracts if extract.date]
    span = f", {min(dates)} to {max(dates)}" if dates else ""
    notes = counted(len({extract.path for extract in record.extracts}), "note")
    about = "" if record.exact else "about "
    return f"{record.subject}: {about}{record.tokens:,} tokens in {notes}{span}"


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
    dated = extract.date or UNDATED
    if not rest:
        head = f"### {extract.path} · {dated} · empty\n"
        return head, count_tokens(head), 0
    lines = line_ends_kept(rest[: room * 60])
    head_room = count_tokens(f"### {extract.path}:{first}-{first + len(lines)} · {dated}\n") + 24
    kept = take_lines(lines, room - head_room)
    part = "".join(lines[:kept])
    if not kept and room - head_room > 40:
        part = lines[0][: cut_to_tokens(lines[0], room - head_room)]
    if not part:
        return "", 0, 0
    last = first + max(kept, 1) - 1
    named = f"{first}-{last}" if last > first else str(first)
    inside = "" if part.endswith(("\n", "\r")) else " · no line end behind the last line"
    block = f"### {extract.path}:{named} · {dated}{inside}\n{fenced(part)}\n"
    return block, count_tokens(block), len(part)


def _plan(record: Record, heavy_limit: int, room: int) -> str:
    """Shards by month with their sizes and the call for each: a large task is to be split."""
    months: dict[str, list[Extract]] = {}
    for extract in record.extracts:
        months.setdefault(extract.date[:7] or UNDATED, []).append(extract)
    scope = f"{record.call}, " if record.call else ""
    lines = []
    for month in sorted(months):
        extracts = months[month]
        tokens = sum(extract.tokens for extract in extracts)
        since = f'since="{month}"' if month == UNDATED else f'since="{month}", until="{month}"'
        lines.append(
            f"- {month}: {tokens:,} tokens in {counted(len(extracts), 'note')}:"
            f" query_full_context({scope}{since})\n"
        )
    text = (
        f"Over {heavy_limit:,} tokens: split the task. Read only the shards you need, or give query=…:"
        " every section that holds all its words.\n"
    )
    kept = take_lines(lines[:_MOST_SHARDS], room - count_tokens(text) - 30)
    text += "".join(lines[len(lines) - kept :])  # the newest ones, where not all fit
    if kept < len(lines):
        text += f"{len(lines) - kept} earlier shards: narrow by since and until\n"
    return text
