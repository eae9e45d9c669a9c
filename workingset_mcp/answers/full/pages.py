"""Full context: verbatim text of a branch in date order, in pages; a plan if it is too much.

Lossless: the fenced texts of all pages, joined, are the texts of the result. A cursor holds the start of a
page and a digest of the result set. If the result set changes, the answer says so and shows nothing, so that
no text is skipped or repeated. Not here: which texts belong to the result (`record`).
"""

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from workingset_mcp.answers.answer import Answer, Call, Source, counted, fenced, quoted
from workingset_mcp.answers.budget import (
    MOST_BUDGET,
    clipped,
    count_tokens,
    echo_tokens,
    take_lines,
)
from workingset_mcp.caller import stop_if_gone
from workingset_mcp.errors import ArgumentError
from workingset_mcp.escaping import show_name
from workingset_mcp.notes.dates import first_day
from workingset_mcp.notes.markdown import line_ends_kept

UNDATED = "undated"  # as `since`: only notes without a date
_CURSOR = re.compile(r"^p(\d{1,6})\.([0-9a-f]{6})\.(\d{1,7})\.(\d{1,12})$")
_HEAD_TOKENS = 90
_STATE_BYTES = 60  # reserved for the state at the end of the header line
_MOST_CHARACTERS = 60  # a token; cheaper text (a line of blanks) comes in smaller parts
_LONG_LINE_CHARACTERS = 6  # a token: the first guess when cutting a long line
_MOST_SHARDS = 150
_COST_TOKENS = 45  # of the cost on the first line, where no name or query in it is long
_ECHO_SHARES = (
    3,
    6,
    12,
)  # of the room: what a name or a repeated query may cost, less where all is tight


class PageTooSmall(ArgumentError):
    """Not even a character of the text fits."""


@dataclass(frozen=True, slots=True)
class Extract:
    """A stretch of a note in the result. `text` reads it."""

    path: str
    date: str
    first_line: int
    tokens: int
    digest: str
    text: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Record:
    """A result set: its subject, the call for it, and its extracts in date order."""

    subject: str
    call: Call  # without a cursor
    extracts: tuple[Extract, ...]
    notices: tuple[str, ...] = ()
    exact: bool = True  # False: the tokens are estimates
    narrowed: bool = False  # by dates or a query: shown in pages, however large
    parts: Callable[[], Sequence[Extract]] | None = None  # the same lines, in dated stretches

    @property
    def tokens(self) -> int:
        """The tokens of all extracts."""
        return sum(extract.tokens for extract in self.extracts)

    def digest(self) -> str:
        """Return a digest of the call and the extracts; it ignores the rest of the vault."""
        digest = hashlib.sha256(self.call.written_arguments.encode("utf-8", "replace"))
        for extract in self.extracts:
            digest.update(f"{extract.path}\0{extract.first_line}\0{extract.digest}\0".encode())
        return digest.hexdigest()[:6]


@dataclass(frozen=True, slots=True)
class Cursor:
    """The start of a page: its number, an extract, and a character in it."""

    page: int
    digest: str
    extract: int = 0
    character: int = 0

    def __str__(self) -> str:
        return f"p{self.page}.{self.digest}.{self.extract}.{self.character}"


@dataclass(frozen=True, slots=True)
class PageRoom:
    """The room for a page, or for the rest of it, as printed."""

    tokens: int
    bytes: int | None = None

    def less(self, text: str) -> "PageRoom":
        """Return the room left after a text."""
        size = None if self.bytes is None else self.bytes - _size(text)
        return PageRoom(self.tokens - count_tokens(text), size)

    def share(self, text: str) -> float:
        """Return the share of a text that fits; 1 if all of it does."""
        tokens = max(self.tokens, 0) / max(count_tokens(text), 1)
        size = 1.0 if self.bytes is None else max(self.bytes, 0) / max(_size(text), 1)
        return min(1.0, tokens, size)


class ShownExtract(NamedTuple):
    """A part of an extract that a page shows."""

    source: Source
    date: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page as printed: its number, the cursor of the next one, and the extracts it shows.

    A plan, or an answer without text, is page 0 of 0.
    """

    body: str = ""
    number: int = 0
    pages: int = 0
    next_cursor: Cursor | None = None
    shown: tuple[ShownExtract, ...] = ()


def compose_page(
    record: Record,
    cursor_text: str | None,
    heavy_limit: int,
    room: int,
    most_bytes: int | None = None,
) -> Answer[Page]:
    """Compose a page of a record, with the total cost in the header; a plan if the record is over the limit.

    Raises ArgumentError for a cursor in another form, or one past the end.
    """
    for share in _ECHO_SHARES[:-1]:
        with suppress(PageTooSmall):
            most = echo_tokens(room, share)
            return _compose(record, cursor_text, heavy_limit, room, most_bytes, most)
    most = echo_tokens(room, _ECHO_SHARES[-1])
    return _compose(record, cursor_text, heavy_limit, room, most_bytes, most)


def _compose(
    record: Record, cursor_text: str | None, heavy_limit: int, room: int, most_bytes: int | None,
    most: int,
) -> Answer[Page]:  # fmt: skip
    """The page, with names and words of at most so many tokens each."""
    cursor, same = cursor_from(cursor_text, record.digest())
    head = "".join(f"{clipped(notice, most)}\n" for notice in record.notices)
    cost = _cost(record, most)
    if not record.extracts:
        return Answer(cost, f"{head}Nothing there.\n", Page(), found=False)
    if not same:
        body = (
            "The notes changed since that cursor was given. Nothing is shown, so that nothing is"
            f" skipped or repeated.\nnext: {_shown_call(record.call, most)} from the beginning\n"
        )
        subject = f"{cost} · changed since page {cursor.page - 1}"
        return Answer(subject, head + body, Page(), next_calls=(record.call,))
    _check_place(record, cursor)
    if record.tokens > heavy_limit and not cursor_text and not record.narrowed:
        plan, calls = _plan(record, heavy_limit, room - count_tokens(head), most)
        return Answer(f"{cost} · a plan, no text", head + plan, Page(), next_calls=calls)
    header = (
        f"[workingset] {cost} · page 9,999 of 9,999 · {MOST_BUDGET:,}/{MOST_BUDGET:,} tokens · \n"
    )
    left = None if most_bytes is None else most_bytes - _size(header) - _STATE_BYTES
    long = max(0, count_tokens(cost) - _COST_TOKENS)
    page = _make_fitting(record, cursor, PageRoom(room - 12 - long, left).less(head), most)
    following = (_next_call(record, page.next_cursor),) if page.next_cursor else ()
    body = head + "".join(_next_line(call, most) for call in following) + page.body
    sources = tuple(shown.source for shown in page.shown)
    subject = f"{cost} · page {page.number} of {page.pages}"
    return Answer(subject, body, page, sources=sources, next_calls=following)


def cursor_from(text: str | None, digest: str) -> tuple[Cursor, bool]:
    """Parse a cursor; return it, and whether it belongs to the current result set.

    Raises ArgumentError if the text is not a cursor.
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


def _check_place(record: Record, cursor: Cursor) -> None:
    """Raise ArgumentError for a cursor past the end of the record, or past the end of its extract."""
    extracts = record.extracts
    inside = cursor.extract < len(extracts) and (
        not cursor.character or cursor.character < len(extracts[cursor.extract].text())
    )
    if not inside:
        raise ArgumentError(
            f"cursor={str(cursor)[:40]!r} is behind the end of the record.",
            f"Take it from the line `next:`, or begin again: {record.call}.",
        )


def _next_call(record: Record, cursor: Cursor) -> Call:
    return record.call.adding(cursor=str(cursor))


def _next_line(call: Call, most: int) -> str:
    return f"next: {_shown_call(call, most)}\n"


def _shown_call(call: Call, most: int, *changed: str) -> str:
    """A call as printed; where it is long, the same call with what is new in it."""
    written = str(call)
    if clipped(written, most) == written:
        return written
    new = ", ".join(
        f"{name}={quoted(call.arguments[name])}"
        for name in changed or ("cursor",)
        if name in call.arguments
    )
    return f"the same call with {new}" if new else "the same call"


def _make_fitting(record: Record, cursor: Cursor, room: PageRoom, most: int) -> Page:
    """Make the page, with room for the line `next:` if another page follows."""
    rest = sum(extract.tokens for extract in record.extracts[cursor.extract + 1 :])
    if rest < room.tokens:
        page = make_page(record.extracts, cursor, room, most)
        if page.next_cursor is None:
            return page
    longest = Cursor(cursor.page + 1, cursor.digest, len(record.extracts), 999_999_999)
    return make_page(
        record.extracts, cursor, room.less(_next_line(_next_call(record, longest), most)), most
    )


def make_page(
    extracts: Sequence[Extract], cursor: Cursor, room: PageRoom, most_name: int = MOST_BUDGET
) -> Page:
    """Make the page that starts at a cursor and costs at most `room` as printed.

    Raises PageTooSmall if not even one character fits.
    """
    blocks: list[str] = []
    shown: list[ShownExtract] = []
    left = room
    at, character = cursor.extract, cursor.character
    while at < len(extracts):
        stop_if_gone()
        text = extracts[at].text()
        block, part = _block(extracts[at], text, character, left, most_name)
        if not block:
            if blocks:
                break
            raise PageTooSmall(
                f"A page of {max(room.tokens, 0)} tokens is too small for any text.",
                "Ask with a larger budget.",
            )
        blocks.append(block)
        shown.append(part)
        left = left.less(block)
        character += len(part.text)
        if character < len(text):
            break
        at, character = at + 1, 0
        if left.tokens < _HEAD_TOKENS // 2:
            break
    if at >= len(extracts):
        return Page("".join(blocks), cursor.page, cursor.page, None, tuple(shown))
    total = sum(extract.tokens for extract in extracts)
    pages = max(cursor.page + 1, math.ceil(total / max(1, room.tokens - _HEAD_TOKENS)))
    following = Cursor(cursor.page + 1, cursor.digest, at, character)
    return Page("".join(blocks), cursor.page, pages, following, tuple(shown))


def _cost(record: Record, most: int) -> str:
    dates = [extract.date for extract in record.extracts if extract.date]
    span = f", {min(dates)} to {max(dates)}" if dates else ""
    notes = counted(len({extract.path for extract in record.extracts}), "note")
    about = "" if record.exact else "about "
    return f"{clipped(record.subject, most)}: {about}{record.tokens:,} tokens in {notes}{span}"


def _block(
    extract: Extract, text: str, character: int, room: PageRoom, most: int
) -> tuple[str, ShownExtract]:
    """Print as much of an extract as fits; return the block and the part shown. The block may be empty."""
    rest = text[character : character + max(room.tokens, 1) * _MOST_CHARACTERS]
    nothing = ShownExtract(Source(extract.path), extract.date, "")
    if not rest:
        head = f"### {clipped(show_name(extract.path), most)} · {extract.date or UNDATED} · empty\n"
        return (head if room.share(head) == 1 else ""), nothing
    first = extract.first_line + _line_ends(text, character)
    part = _beginning(text, character, rest, room.tokens)
    while part:
        source = Source(extract.path, first, first + len(line_ends_kept(part)) - 1)
        shown = ShownExtract(source, extract.date, part)
        block = _printed(shown, most)
        share = room.share(block)
        if share == 1:
            return block, shown
        part = _shorter(text, character, part, int(len(part) * min(share, 0.98)))
    return "", nothing


def _printed(shown: ShownExtract, most: int) -> str:
    inside = "" if shown.text.endswith(("\n", "\r")) else " · no line end behind the last line"
    name = clipped(show_name(shown.source.path), most)
    return (
        f"### {name}:{shown.source.lines} · {shown.date or UNDATED}{inside}\n{fenced(shown.text)}\n"
    )


def _line_ends(text: str, character: int) -> int:
    """Count the lines that end before a character."""
    before = text[:character]
    lines = len(line_ends_kept(before))
    return lines if not before or before.endswith(("\n", "\r")) else lines - 1


def _beginning(text: str, character: int, rest: str, tokens: int) -> str:
    """Return about as much of the rest of a text as fits: whole lines, or a part of a long one."""
    lines = line_ends_kept(rest)
    fitting = take_lines(lines, tokens)
    if fitting:
        return "".join(lines[:fitting])
    least = max(tokens * _LONG_LINE_CHARACTERS, 1)
    return _whole_end(text, character, lines[0][:least])


def _shorter(text: str, character: int, part: str, most: int) -> str:
    """Shorten a part to its first whole lines, or to a piece of the first if no whole line fits."""
    part = part[:most]
    end = max(part.rfind("\n"), part.rfind("\r")) + 1
    return _whole_end(text, character, part[:end] if end else part)


def _whole_end(text: str, character: int, part: str) -> str:
    """Drop a final CR that would split a CRLF, unless the part is only that CR."""
    end = character + len(part)
    if len(part) > 1 and part.endswith("\r") and text[end : end + 1] == "\n":
        return part[:-1]
    return part


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _plan(record: Record, heavy_limit: int, room: int, most: int) -> tuple[str, tuple[Call, ...]]:
    """Plan a large task: the shards by month, each with its size and its call."""
    months: dict[str, list[Extract]] = {}
    for extract in record.parts() if record.parts else record.extracts:
        month = first_day(extract.date)[:7] if extract.date else UNDATED
        months.setdefault(month, []).append(extract)
    lines, calls = [], []
    for month in sorted(months):
        extracts = months[month]
        tokens = sum(extract.tokens for extract in extracts)
        call = record.call.adding(since=month)
        calls.append(call if month == UNDATED else call.adding(until=month))
        notes = counted(len({extract.path for extract in extracts}), "note")
        shown = _shown_call(calls[-1], most, "since", "until")
        lines.append(f"- {month}: {tokens:,} tokens in {notes}: {shown}\n")
    text = (
        f"Over {heavy_limit:,} tokens: split the task. Read only the shards you need, or give"
        " query=…: every section that holds all its words.\n"
    )
    fitting = take_lines(lines[:_MOST_SHARDS], room - count_tokens(text) - 30)
    earlier = len(lines) - fitting
    text += "".join(lines[earlier:])  # if not all fit, keep the newest
    if earlier:
        text += f"{earlier} earlier shards: narrow by since and until\n"
    return text, tuple(calls[earlier:])
