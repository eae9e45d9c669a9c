"""A note's text cut at its headings, and long sections at blocks. Pure."""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from workingset_mcp.markdown import LINE_END, Heading, Kind, Outline

MOST_SECTION_CHARACTERS = 2_400
_BREAK = re.compile(r"[ \t]*$|[-*+] |\d{1,9}[.)] |#{1,6} ")


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


def _raw_starts(text: str, count: int) -> list[int]:
    """Offset of each line in the text as it stands, whatever its line ends."""
    starts = array("q", [0])
    starts.extend(matched.end() for matched in LINE_END.finditer(text))
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
