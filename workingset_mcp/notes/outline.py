"""The structure of a text, as a value: kinds of lines, headings, lists.

Not here: how it is read from a text (`markdown`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple


class LineKind(IntEnum):
    """What a line is."""

    TEXT = 0
    CODE = 1
    COMMENT = 2
    TABLE = 3
    HEADING = 4
    FRONT_MATTER = 5


BOLD_LEVEL = 7  # of a line that is only bold text: below every real heading


class Heading(NamedTuple):
    """A heading: its lines, its level, its raw text without the marks."""

    line: int
    last_line: int
    level: int
    text: str


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
    code_spans: list[tuple[int, int]] = field(default_factory=list)  # inside lines, in `flat`
    html_spans: list[tuple[int, int]] = field(default_factory=list)
    mark_lines: list[int] = field(default_factory=list)
    _stacks: list[tuple[int, ...]] = field(default_factory=list)  # indexes into marks; made late

    def holds(self, sign: str) -> bool:
        """Whether the text holds a string. Looks for its first character first, which most texts lack."""
        return sign[0] in self.flat and sign in self.flat

    def line_at(self, offset: int) -> int:
        """Number of the line that holds this offset of `flat`."""
        return bisect_right(self.starts, offset)

    def lines_like(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
        r"""Each line that matches a pattern, with its number. The pattern begins with `\n`, not with
        `^`: an engine finds a character many times faster than a place between two.
        """
        for matched in pattern.finditer(f"\n{self.flat}"):
            yield self.line_at(matched.start()), matched

    def lines_with(self, pattern: re.Pattern[str], text: str) -> Iterator[int]:
        """Each line where something that fits a pattern begins; `text`: as long as that of `lines_like`."""
        at, starts = 0, self.starts
        while matched := pattern.search(text, at):
            line = bisect_right(starts, matched.start())
            yield line
            if line == len(starts):
                return
            at = starts[line]  # the line end before the next line

    def headings_at(self, line: int) -> tuple[str, ...]:
        """The heading path of a line, bold lines included."""
        return tuple(mark.text for mark in self.marks_above(line))

    def heading_above(self, line: int) -> Heading | None:
        """The nearest mark at or above a line."""
        at = bisect_right(self.mark_lines, line) - 1
        return self.marks[at] if at >= 0 else None

    def mark_after(self, line: int) -> Heading | None:
        """The next mark below a line."""
        at = bisect_right(self.mark_lines, line)
        return self.marks[at] if at < len(self.marks) else None

    def marks_above(self, line: int) -> list[Heading]:
        """The headings that a line stands under, outermost first, bold lines included."""
        if not self._stacks:
            self._stacks = _stacks_of(self.marks)
        at = bisect_right(self.mark_lines, line) - 1
        return [self.marks[index] for index in self._stacks[at]] if at >= 0 else []

    def section_end(self, heading: Heading, *, among: Sequence[Heading] | None = None) -> int:
        """The last line below a heading: the one before the next heading of its level or a higher one.

        `among`: which headings end it; as a rule the real and the bold ones.
        """
        marks = self.marks if among is None else among
        at = bisect_right(marks, heading.line, key=_line_of)
        behind = (
            marks[index] for index in range(at, len(marks))
        )  # islice would step over the others
        ends = (mark.line - 1 for mark in behind if mark.level <= heading.level)
        return next(ends, len(self.lines))

    def kind(self, line: int) -> int:
        """Kind of a line."""
        return self.kinds[line - 1]


def _line_of(mark: Heading) -> int:
    return mark.line


def _stacks_of(marks: Sequence[Heading]) -> list[tuple[int, ...]]:
    """For each mark, the marks it stands under, ending with itself."""
    stack: list[int] = []
    found = []
    for index, mark in enumerate(marks):
        while stack and marks[stack[-1]].level >= mark.level:
            stack.pop()
        stack.append(index)
        found.append(tuple(stack))
    return found
