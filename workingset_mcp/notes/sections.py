"""A note's text cut at its headings, and long sections at blocks. Pure."""

import re
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from workingset_mcp.notes.markdown import LINE_END
from workingset_mcp.notes.outline import LineKind, Outline

MOST_SECTION_CHARACTERS = 2_400
_BREAK = re.compile(r"[ \t]*$|[-*+] |\d{1,9}[.)] |#{1,6} ")


class Section(NamedTuple):
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
    levels: list[int] = []
    texts: list[str] = []
    if not outline.headings or outline.headings[0].line > 1:
        bounds.append((1, 0, ()))
    for heading in outline.headings:
        while levels and levels[-1] >= heading.level:
            levels.pop()
            texts.pop()
        levels.append(heading.level)
        texts.append(heading.text)
        bounds.append((heading.line, heading.level, tuple(texts)))
    found: list[Section] = []
    offsets = [*offsets, len(text)]
    skip_end = offsets[outline.front_matter_lines]
    ends = [bound[0] - 1 for bound in bounds[1:]] + [len(outline.lines)]
    for (first, level, path), last in zip(bounds, ends, strict=True):
        begin, end = offsets[first - 1], offsets[last]
        skip = min(skip_end, end) - begin if begin < skip_end else 0
        whole = Section(first, last, level, path, text[begin:end], skip)
        if end - begin <= MOST_SECTION_CHARACTERS:
            found.append(whole)
        else:
            found.extend(_pieces(whole, text, outline, offsets))
    return found


def _raw_starts(text: str, count: int) -> list[int]:
    """Offset of each line in the text as it stands, whatever its line ends."""
    starts = array("q", [0])
    starts.extend(matched.end() for matched in LINE_END.finditer(text))
    return list(starts[:count])


def _pieces(whole: Section, text: str, outline: Outline, offsets: list[int]) -> Iterator[Section]:
    """A long section cut where a block begins."""
    first = candidate = whole.first_line
    skip, opens = whole.skip, True
    for line in range(whole.first_line + 1, whole.last_line + 1):
        if offsets[line] - offsets[first - 1] > MOST_SECTION_CHARACTERS:
            cut = candidate if candidate > first else line
            piece = text[offsets[first - 1] : offsets[cut - 1]]
            yield Section(first, cut - 1, whole.level, whole.headings, piece, skip, opens)
            first, candidate, skip, opens = cut, cut, 0, False
        if _BREAK.match(outline.lines[line - 1]) and outline.kinds[line - 1] != LineKind.CODE:
            candidate = line
    piece = text[offsets[first - 1] : offsets[whole.last_line]]
    yield Section(first, whole.last_line, whole.level, whole.headings, piece, skip, opens)
