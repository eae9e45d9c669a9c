"""The structure of a note's text: what each line is, and its headings, lists and sections.

Line numbers in this package count from 1 and lines end at `\\n`, `\\r\\n` or `\\r` and nothing else.
CommonMark comes from pyromark; what people write beside it (bold lines used as headings, `%%`
comments, tab-indented lists) is added here. Not here: what the lines say (`items`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any

import pyromark

from workingset_mcp.notes.outline import BOLD_LEVEL, Heading, LineKind, Outline

_OPTIONS = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_TASKLISTS
LINE_END = re.compile(r"\r\n|\n|\r")
_LINE_WITH_END = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_CLOSING_HASHES = re.compile(r"(?:^|(?<=[ \t]))#+$")
_BOLD_LINE = re.compile(
    r"\n {0,3}(?:\*\*([^*\n]{1,200})\*\*|__([^_\n]{1,200})__):?[ \t]*$", re.MULTILINE
)
_ITEM_MARK = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_TYPED_BULLET = re.compile(r"\n([ \t]*)[•◦‣▪●][ \t]+\S")
_FENCE_END = re.compile(r"^[ \t>]*(`{3,}|~{3,})[ \t]*$")


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends; a final line end opens no further line."""
    lines = LINE_END.split(text) if "\r" in text else text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def line_ends_kept(text: str) -> list[str]:
    """The lines of a text with their ends."""
    return _LINE_WITH_END.findall(text)


def outline_of(text: str) -> Outline:
    """Read the structure of a text (without a BOM)."""
    lines = split_lines(text)
    flat = "\n".join(lines) if "\r" in text else text.removesuffix("\n")
    starts = list(accumulate([len(line) + 1 for line in lines[:-1]], initial=0)) if lines else []
    outline = Outline(lines, flat, starts, bytearray(len(lines)))
    if not lines:
        return outline
    skip = outline.front_matter_lines = front_matter_lines(lines)
    outline.kinds[:skip] = bytes([LineKind.FRONT_MATTER]) * skip
    if skip < len(lines):
        _read_blocks(outline)
    _mark_typed_bullets(outline)
    _mark_comments(outline)
    _mark_bold_lines(outline)
    outline.mark_lines = [mark.line for mark in outline.marks]
    return outline


def front_matter_lines(lines: Sequence[str]) -> int:
    """How many lines the YAML block at the very top takes, its fences included.

    A blank line below the opening fence makes it a rule, as in CommonMark.
    """
    if len(lines) < 2 or lines[0].rstrip() != "---" or not lines[1].strip():
        return 0
    for number, line in enumerate(lines[1:], start=2):
        if line.rstrip() in ("---", "..."):
            return number
    return 0


def _read_blocks(outline: Outline) -> None:
    """One pass over pyromark's events: kinds of lines, headings, list items."""
    skip, flat = outline.front_matter_lines, outline.flat
    data, starts = _in_bytes(outline)
    body, base = flat[outline.starts[skip] :], starts[skip]
    item_depth, lists, nesting = outline.item_depth, 0, 0
    code_spans: list[tuple[int, int]] = []  # in bytes, as all spans of events
    html_spans: list[tuple[int, int]] = []
    events: Iterator[tuple[Any, Any]] = pyromark.events_with_range(body, options=_OPTIONS)
    for event, span in events:  # some are a name, most a dict of one
        if "Text" in event:
            continue
        if "End" in event:
            if type(event["End"]) is dict:
                name = next(iter(event["End"]))
                nesting -= name in _CONTAINERS
                lists -= name == "List"
        elif "Start" in event:
            tag = event["Start"]
            name = tag if type(tag) is str else next(iter(tag))
            if name == "Item":
                at = _first_mark(data, base + span["start"])
                item_depth[bisect_right(starts, at)] = lists
            elif name in _CONTAINERS:
                nesting += 1
                lists += name == "List"
            elif name in _MARKED:
                begin, end = base + span["start"], base + span["end"]
                first = bisect_right(starts, begin)
                last = bisect_right(starts, max(begin, end - 1), first - 1)
                _mark_block(outline, name, tag, first, last, nesting, lists)
        elif type(event) is dict:  # else a break or a rule
            _note_span(event, (base + span["start"], base + span["end"]), code_spans, html_spans)
    outline.code_spans = _in_characters(data, flat, code_spans)
    outline.html_spans = _in_characters(data, flat, html_spans)


def _in_bytes(outline: Outline) -> tuple[bytes, list[int]]:
    """The text in UTF-8, and the offset of each of its lines."""
    data, starts = outline.flat.encode("utf-8", "replace"), outline.starts
    if len(data) > len(outline.flat):
        starts = [0, *accumulate([len(line) + 1 for line in data.split(b"\n")[:-1]])]
    return data, starts


def _first_mark(data: bytes, at: int) -> int:
    """Where a list item really begins: a span may start at the line end before it."""
    while at < len(data) and data[at] in b" \t\r\n>":
        at += 1
    return at


def _note_span(
    event: dict[str, str], span: tuple[int, int], code: list[tuple[int, int]],
    html: list[tuple[int, int]],
) -> None:  # fmt: skip
    """Remember code inside a line, HTML blocks, and comments inside a line."""
    if "Code" in event:
        code.append(span)
    elif "Html" in event or event.get("InlineHtml", "").lstrip().startswith("<!--"):
        html.append(span)


def _in_characters(data: bytes, flat: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of bytes, in order, as offsets of `flat`: what lies between two is decoded once."""
    if len(data) == len(flat):
        return spans
    found: list[int] = []
    behind_last = characters = 0
    for place in chain.from_iterable(spans):
        characters += len(data[behind_last:place].decode("utf-8", "replace"))
        found.append(characters)
        behind_last = place
    return list(zip(found[::2], found[1::2], strict=True))


def _mark_block(
    outline: Outline, name: str, tag: Any, first: int, last: int, nesting: int, lists: int
) -> None:
    """Note the kind of the lines of a block; keep a heading, also one that opens a list item."""
    if first == last:
        outline.kinds[first - 1] = _MARKED[name]
    else:
        outline.kinds[first - 1 : last] = bytes([_MARKED[name]]) * (last - first + 1)
    if name == "Heading":
        if nesting == 0:
            _add_heading(outline, int(tag["Heading"]["level"][1]), first, last)
        elif nesting == lists and first == last and first in outline.item_depth:
            _add_item_heading(outline, first, lists)
    elif name == "CodeBlock" and last >= len(outline.lines):
        _check_fence(outline, tag["CodeBlock"], first, last)


_CONTAINERS = frozenset({"List", "BlockQuote"})  # of them is what nests; items stand in lists
_MARKED = {
    "Heading": LineKind.HEADING,
    "CodeBlock": LineKind.CODE,
    "HtmlBlock": LineKind.TEXT,
    "Table": LineKind.TABLE,
}


def _add_heading(outline: Outline, level: int, first: int, last: int) -> None:
    if first == last:
        text = outline.lines[first - 1].lstrip(" \t").lstrip("#").strip()
        if text.endswith("#"):
            text = _CLOSING_HASHES.sub("", text).strip()
    else:
        text = " ".join(part.strip() for part in outline.lines[first - 1 : last - 1])
    outline.headings.append(Heading(first, last, level, text))


def _add_item_heading(outline: Outline, line: int, depth: int) -> None:
    """A heading as outliners write it, `- ## Status`: what is nested below its item belongs to it."""
    above = (h.level for h in reversed(outline.headings) if h.line not in outline.item_depth)
    text = _ITEM_MARK.sub("", outline.lines[line - 1]).lstrip("#").strip()
    outline.headings.append(Heading(line, line, min(6, next(above, 0) + depth), text))


def _check_fence(outline: Outline, tag: object, first: int, last: int) -> None:
    if not isinstance(tag, dict) or "Fenced" not in tag:
        return
    opened = re.match(r"^[ \t>]*(?:[-*+] +|\d+[.)] +)*(`{3,}|~{3,})", outline.lines[first - 1])
    closed = _FENCE_END.match(outline.lines[last - 1])
    if opened and not (last > first and closed and closed[1].startswith(opened[1])):
        outline.unclosed_fence_line = first


def _mark_typed_bullets(outline: Outline) -> None:
    """Bullets pasted from word processors: a list to its reader, plain text to CommonMark."""
    if outline.flat.isascii():
        return
    for line, matched in outline.lines_like(_TYPED_BULLET):
        if outline.kinds[line - 1] == LineKind.TEXT:
            outline.item_depth.setdefault(line, 1 + len(matched[1].expandtabs(2)) // 2)


def _mark_comments(outline: Outline) -> None:
    """Lines that stand wholly inside an HTML or `%%` comment."""
    flat = outline.flat
    if not (outline.holds("<!--") or outline.holds("%%")):
        return
    html = _joined(outline.html_spans)
    comments = [(a, b) for a, b in html if flat.startswith("<!--", a + _blanks(flat, a))]
    comments += _comments_across_blocks(outline, html)
    comments += _percent_comments(outline) if "%%" in flat else []
    for first, last in _joined(sorted(_whole_lines(outline, comments))):
        outline.kinds[first - 1 : last - 1] = bytes([LineKind.COMMENT]) * (last - first)
        for line in range(first, last):
            outline.item_depth.pop(line, None)
    if any(outline.kinds[h.line - 1] == LineKind.COMMENT for h in outline.headings):
        outline.headings = [
            h for h in outline.headings if outline.kinds[h.line - 1] != LineKind.COMMENT
        ]


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that touch, as one: a block of HTML comes line by line."""
    found: list[tuple[int, int]] = []
    for begin, end in spans:
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _blanks(flat: str, at: int) -> int:
    return len(flat[at : at + 4]) - len(flat[at : at + 4].lstrip(" "))


def _comments_across_blocks(outline: Outline, html: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Comments that begin behind text and hold a list: CommonMark sees text, their writer did not."""
    found: list[tuple[int, int]] = []
    flat, at, end = outline.flat, 0, -1
    block_end = flat.find("\n\n")
    while (at := flat.find("<!--", at)) >= 0:
        if end < at:
            end = flat.find("-->", at)
        if end < 0:
            return found
        if 0 <= block_end < at:
            block_end = flat.find("\n\n", at)
        inside = _inside(html, at) or _inside(outline.code_spans, at)
        crosses = 0 <= block_end < end - 1
        if not crosses and not inside and outline.kind(outline.line_at(at)) == LineKind.TEXT:
            found.append((at, end + 3))
        at += 4
    return found


def _inside(spans: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether an offset lies in one of these spans, which are in order."""
    index = bisect_right(spans, (at, 1 << 60)) - 1
    return index >= 0 and spans[index][0] <= at < spans[index][1]


def _percent_comments(outline: Outline) -> list[tuple[int, int]]:
    """Pairs of `%%` outside code, as the editors that know them read them."""
    flat, found, opened, at = outline.flat, [], -1, 0
    while (at := flat.find("%%", at)) >= 0:
        line = outline.line_at(at)
        kind = outline.kinds[line - 1]
        in_code = kind in (LineKind.CODE, LineKind.FRONT_MATTER) or _inside(outline.code_spans, at)
        if not in_code:
            if opened < 0:
                opened = at
            else:
                found.append((opened, at + 2))
                opened = -1
        at += 2
    return found


def _whole_lines(outline: Outline, comments: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The lines that each comment fills: the first, and the one behind the last."""

    @cache
    def text_of(line: int) -> tuple[int, int]:
        """Where the text of a line begins, behind marks of quotes, and ends."""
        text, start = outline.lines[line - 1], outline.starts[line - 1]
        return start + len(text) - len(text.lstrip(" \t>")), start + len(text.rstrip())

    for begin, end in comments:
        first, last = outline.line_at(begin), outline.line_at(max(begin, end - 1))
        first += begin > text_of(first)[0]
        last -= end < text_of(last)[1] and outline.flat[end - 1] != "\n"
        if last >= first:
            yield first, last + 1


def _mark_bold_lines(outline: Outline) -> None:
    outline.marks = list(outline.headings)
    if not (outline.holds("**") or outline.holds("__")):
        return
    for line, matched in outline.lines_like(_BOLD_LINE):
        if outline.kinds[line - 1] == LineKind.TEXT and line not in outline.item_depth:
            text = (matched[1] or matched[2]).strip().rstrip(":：").strip()
            if text:
                outline.marks.append(Heading(line, line, BOLD_LEVEL, text))
    outline.marks.sort(key=lambda heading: heading.line)
