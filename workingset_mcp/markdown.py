"""The structure of a note's text: what each line is, and its headings, lists and sections.

Line numbers in this package count from 1 and lines end at `\\n`, `\\r\\n` or `\\r` and nothing else.
CommonMark comes from pyromark; what people write beside it (bold lines used as headings, `%%`
comments, tab-indented lists) is added here. Not here: what the lines say (`items`).
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import accumulate
from typing import Any

import pyromark

MOST_SECTION_CHARACTERS = 2_400
BOLD_LEVEL = 7  # a line that is only bold text stands below every real heading

_OPTIONS = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_TASKLISTS
_WITH_FRONT_MATTER = pyromark.Options.ENABLE_YAML_STYLE_METADATA_BLOCKS
_HEAD_CHARACTERS = 100_000
_LINE_END = re.compile(r"\r\n|\n|\r")
_LINE_WITH_END = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_ATX = re.compile(r"^[ \t]*#{1,6}(?:[ \t]+|$)(.*?)(?:(?:^|[ \t]+)#+)?[ \t]*$")
_BOLD_LINE = re.compile(r"^ {0,3}\*\*([^*\n]{1,200})\*\*:?[ \t]*$", re.MULTILINE)
_FENCE_END = re.compile(r"^[ \t>]*(`{3,}|~{3,})[ \t]*$")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|%%.*?%%", re.DOTALL)
_BREAK = re.compile(r"[ \t]*$|[-*+] |\d{1,9}[.)] |#{1,6} ")


class Kind(IntEnum):
    """What a line is."""

    TEXT = 0
    CODE = 1
    COMMENT = 2
    TABLE = 3
    HEADING = 4
    FRONT_MATTER = 5


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its lines, its level (7: a bold line), its raw text without the marks."""

    line: int
    last_line: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a note from one heading to the next; long ones come in several pieces.

    The texts of a note's sections, joined, are the text of the note. `skip` counts the characters
    at its beginning that are front matter.
    """

    first_line: int
    last_line: int
    level: int
    headings: tuple[str, ...]
    text: str
    skip: int = 0
    opens: bool = True  # the first piece of its section


@dataclass(slots=True)
class Outline:
    """The structure of one text. Lists over lines count from 0, line numbers from 1."""

    lines: list[str]
    flat: str  # the lines joined with \n: what the patterns run over
    starts: list[int]  # offset of each line in `flat`
    kinds: bytearray
    headings: list[Heading] = field(default_factory=list)  # real ones, outside lists and quotes
    marks: list[Heading] = field(default_factory=list)  # real and bold ones, in order
    item_depth: dict[int, int] = field(
        default_factory=dict
    )  # line of a list item -> nesting, from 1
    front_matter_lines: int = 0
    unclosed_fence_line: int = 0
    paths: list[tuple[str, ...]] = field(default_factory=list)  # heading path at each of the marks
    _mark_lines: list[int] = field(default_factory=list)

    def line_at(self, offset: int) -> int:
        """Number of the line that holds this offset of `flat`."""
        return bisect_right(self.starts, offset)

    def headings_at(self, line: int) -> tuple[str, ...]:
        """The heading path of a line, bold lines included."""
        at = bisect_right(self._mark_lines, line) - 1
        return self.paths[at] if at >= 0 else ()

    def heading_above(self, line: int) -> Heading | None:
        """The nearest mark at or above a line."""
        at = bisect_right(self._mark_lines, line) - 1
        return self.marks[at] if at >= 0 else None

    def kind(self, line: int) -> int:
        """Kind of a line."""
        return self.kinds[line - 1]


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends; a final line end opens no further line."""
    lines = _LINE_END.split(text) if "\r" in text else text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def line_ends_kept(text: str) -> list[str]:
    """The lines of a text with their ends."""
    return _LINE_WITH_END.findall(text)


def outline_of(text: str) -> Outline:
    """Read the structure of a text (without a BOM)."""
    lines = split_lines(text)
    flat = "\n".join(lines)
    starts = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0)) if lines else []
    outline = Outline(lines, flat, starts, bytearray(len(lines)))
    if not lines:
        return outline
    outline.front_matter_lines = _front_matter_lines(lines)
    _read_blocks(outline)
    _mark_comments(outline)
    _mark_bold_lines(outline)
    _close_marks(outline)
    return outline


def sections_of(text: str, outline: Outline) -> list[Section]:
    """Cut a text at its headings, and long sections at blocks."""
    if not outline.lines:
        return []
    offsets = outline.starts if "\r" not in text else _raw_starts(text, len(outline.lines))
    bounds: list[tuple[int, int, tuple[str, ...]]] = []
    stack: list[Heading] = []
    if not outline.headings or outline.headings[0].line > 1:
        bounds.append((1, 0, ()))
    for heading in outline.headings:
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        stack.append(heading)
        bounds.append((heading.line, heading.level, tuple(h.text for h in stack)))
    found: list[Section] = []
    ends = [bound[0] - 1 for bound in bounds[1:]] + [len(outline.lines)]
    for (first, level, path), last in zip(bounds, ends, strict=True):
        found.extend(_pieces(text, outline, offsets, first, last, level, path))
    return found


def _front_matter_lines(lines: Sequence[str]) -> int:
    """How many lines the YAML block at the very top takes, its fences included."""
    if not lines[0].startswith("---") or len(lines) < 2:
        return 0
    head = "\n".join(lines[:2_000])[:_HEAD_CHARACTERS]
    for event, span in pyromark.events_with_range(head + "\n", options=_WITH_FRONT_MATTER):
        if event == {"Start": {"MetadataBlock": "YamlStyle"}} and span["start"] == 0:
            return (
                head.encode("utf-8", "surrogatepass")[: span["end"]]
                .decode("utf-8", "surrogatepass")
                .rstrip("\n")
                .count("\n")
                + 1
            )
        break
    # CommonMark wants no blank line below the opening one; people's editors do not mind.
    for number, line in enumerate(lines[1:400], start=2):
        if line.rstrip() in ("---", "...") and lines[0].rstrip() == "---":
            return number if ":" in "".join(lines[1:number]) or number == 2 else 0
    return 0


def _read_blocks(outline: Outline) -> None:
    """One pass over pyromark's events: kinds of lines, headings, list items."""
    lines, kinds, skip = outline.lines, outline.kinds, outline.front_matter_lines
    kinds[:skip] = bytes([Kind.FRONT_MATTER]) * skip
    body = "\n".join([""] * skip + lines[skip:]) if skip else outline.flat
    starts = _byte_starts(body, lines, skip)
    lists = nesting = 0
    events: Iterator[tuple[Any, Any]] = pyromark.events_with_range(body, options=_OPTIONS)
    for event, span in events:
        if type(event) is not dict:
            continue
        for edge in ("Start", "End"):
            tag = event.get(edge)
            if tag is None:
                continue
            name = tag if type(tag) is str else next(iter(tag))
            step = 1 if edge == "Start" else -1
            if name in _CONTAINERS:
                nesting += step
                lists += step * (name == "List")
                if name == "Item" and edge == "Start":
                    outline.item_depth[bisect_right(starts, span["start"])] = lists
            elif name in _MARKED and edge == "Start":
                first = bisect_right(starts, span["start"])
                last = bisect_right(starts, max(span["start"], span["end"] - 1))
                _mark_block(outline, name, tag, first, last, nesting)


def _mark_block(outline: Outline, name: str, tag: Any, first: int, last: int, nesting: int) -> None:
    """Note the kind of the lines of a block; keep a heading."""
    if name == "Heading":
        _add_heading(outline, int(tag["Heading"]["level"][1]), first, last, nesting)
        return
    outline.kinds[first - 1 : last] = bytes([_MARKED[name]]) * (last - first + 1)
    if name == "CodeBlock" and last >= len(outline.lines):
        _check_fence(outline, tag["CodeBlock"], first, last)


_CONTAINERS = frozenset({"List", "Item", "BlockQuote", "FootnoteDefinition"})
_MARKED = {
    "Heading": Kind.HEADING,
    "CodeBlock": Kind.CODE,
    "HtmlBlock": Kind.TEXT,
    "Table": Kind.TABLE,
}


def _add_heading(outline: Outline, level: int, first: int, last: int, nesting: int) -> None:
    atx = _ATX.match(outline.lines[first - 1]) if first == last else None
    if atx:
        text = atx[1].strip()
    else:
        text = " ".join(line.strip() for line in outline.lines[first - 1 : last - 1])
    outline.kinds[first - 1 : last] = bytes([Kind.HEADING]) * (last - first + 1)
    if nesting == 0:
        outline.headings.append(Heading(first, last, level, text))


def _check_fence(outline: Outline, tag: object, first: int, last: int) -> None:
    if not isinstance(tag, dict) or "Fenced" not in tag:
        return
    opened = re.match(r"^[ \t>]*(?:[-*+] +|\d+[.)] +)*(`{3,}|~{3,})", outline.lines[first - 1])
    closed = _FENCE_END.match(outline.lines[last - 1])
    if opened and not (last > first and closed and closed[1].startswith(opened[1])):
        outline.unclosed_fence_line = first


def _byte_starts(body: str, lines: Sequence[str], skip: int) -> list[int]:
    """Offset in UTF-8 bytes of each line of `body`, whose first `skip` lines are empty."""
    if body.isascii():
        lengths = [0] * skip + [len(line) for line in lines[skip:]]
    else:
        lengths = [0] * skip + [len(line.encode("utf-8", "replace")) for line in lines[skip:]]
    return list(accumulate((length + 1 for length in lengths[:-1]), initial=0))


def _mark_comments(outline: Outline) -> None:
    """Lines that stand wholly inside an HTML or `%%` comment."""
    flat, kinds = outline.flat, outline.kinds
    if "<!--" not in flat and "%%" not in flat:
        return
    at = 0
    while matched := _COMMENT.search(flat, at):
        first = outline.line_at(matched.start())
        at = matched.end()
        if kinds[first - 1] in (Kind.CODE, Kind.FRONT_MATTER):
            at = matched.start() + 2
            continue
        last = outline.line_at(max(matched.start(), matched.end() - 1))
        if flat[outline.starts[first - 1] : matched.start()].strip(" \t>"):
            first += 1
        line_end = flat.find("\n", matched.end())
        if flat[matched.end() : line_end if line_end >= 0 else None].strip():
            last -= 1
        if last >= first:
            kinds[first - 1 : last] = bytes([Kind.COMMENT]) * (last - first + 1)
            for line in range(first, last + 1):
                outline.item_depth.pop(line, None)
    if any(kinds[h.line - 1] == Kind.COMMENT for h in outline.headings):
        outline.headings = [h for h in outline.headings if kinds[h.line - 1] != Kind.COMMENT]


def _mark_bold_lines(outline: Outline) -> None:
    outline.marks = list(outline.headings)
    if "**" not in outline.flat:
        return
    for matched in _BOLD_LINE.finditer(outline.flat):
        line = outline.line_at(matched.start())
        if outline.kinds[line - 1] == Kind.TEXT and line not in outline.item_depth:
            text = matched[1].strip().rstrip(":").strip()
            if text:
                outline.marks.append(Heading(line, line, BOLD_LEVEL, text))
    outline.marks.sort(key=lambda heading: heading.line)


def _close_marks(outline: Outline) -> None:
    stack: list[Heading] = []
    for mark in outline.marks:
        while stack and stack[-1].level >= mark.level:
            stack.pop()
        stack.append(mark)
        outline.paths.append(tuple(heading.text for heading in stack))
    outline._mark_lines = [mark.line for mark in outline.marks]


def _raw_starts(text: str, count: int) -> list[int]:
    """Offset of each line in the text as it stands, whatever its line ends."""
    starts = array("q", [0])
    starts.extend(matched.end() for matched in _LINE_END.finditer(text))
    return list(starts[:count])


def _pieces(
    text: str, outline: Outline, offsets: list[int], first: int, last: int, level: int,
    path: tuple[str, ...],
) -> Iterator[Section]:  # fmt: skip
    """The lines first to last as one section, or as several cut where a block begins."""
    begin = offsets[first - 1]
    end = offsets[last] if last < len(offsets) else len(text)
    skip_end = (
        offsets[outline.front_matter_lines]
        if outline.front_matter_lines < len(offsets)
        else len(text)
    )
    skip = max(0, min(skip_end, end) - begin) if outline.front_matter_lines else 0
    if end - begin <= MOST_SECTION_CHARACTERS:
        yield Section(first, last, level, path, text[begin:end], skip)
        return
    piece_first = candidate = first
    for line in range(first + 1, last + 1):
        too_long = (offsets[line] if line < len(offsets) else len(text)) - offsets[piece_first - 1]
        if too_long > MOST_SECTION_CHARACTERS and line > piece_first:
            cut = candidate if candidate > piece_first else line
            start = offsets[piece_first - 1]
            opens = piece_first == first
            piece = text[start : offsets[cut - 1]]
            yield Section(piece_first, cut - 1, level, path, piece, skip, opens)
            piece_first, candidate, skip = cut, cut, 0
        if _BREAK.match(outline.lines[line - 1]) and outline.kinds[line - 1] != Kind.CODE:
            candidate = line
    start = offsets[piece_first - 1]
    yield Section(piece_first, last, level, path, text[start:end], skip, piece_first == first)
