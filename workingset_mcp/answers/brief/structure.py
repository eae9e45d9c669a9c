"""Keep lines of a note with what gives them meaning, and print them so that nothing is torn apart. Pure.

A line is shown with its heading, with the list items that it is nested in, with the rest of its sentence,
and with the whole of a short list or table; where rows of a longer one are left out, a line says how
many. Not here: which lines are worth showing (`newest`, `standing`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from workingset_mcp.answers.answer import Source, quoted_block
from workingset_mcp.notes.outline import LineKind, Outline

MOST_SHORT_ROWS = 12  # a list or table of at most so many rows is shown whole or not at all
LONGEST_SHORT_ROW = 200  # characters; longer rows make no short list
_LONGEST_LIST = 800  # characters of a list that the line above it brings along
MOST_WRAPPED = 12  # lines of one sentence
_EVERY = 5  # lines between two numbers in a quote
_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\d+[.)])\s+\S")
_FENCE = re.compile(r"[\s>]*(?:`{3}|~{3})")
_WRAPPED = 60  # characters; a shorter line was not wrapped by an editor
_ENDS = ".!?:;。！？：；\\|>"
# What a line of a note must not look like inside a quote: a number or a gap of ours.
_LIKE_OURS = re.compile(r"\s*(?:…|\[…|\d+\|)")


class Structure:
    """What the lines of a text belong to. Line numbers count from 1, as in the outline."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._lines, self._kinds = outline.lines, outline.kinds
        own = [mark for mark in outline.headings if mark.line not in outline.item_depth]
        self._headings = {mark.line: mark for mark in own}
        self._heading_lines = sorted(self._headings)
        self._bound: dict[tuple[int, int], frozenset[int]] = {}

    @cached_property
    def _parents(self) -> dict[int, int]:
        """For each list item the item that it is nested in; 0 for one that is in none."""
        found: dict[int, int] = {}
        stack: list[tuple[int, int]] = []
        for at, text in enumerate(self._lines, start=1):
            kind = self._kinds[at - 1]
            if kind == LineKind.CODE:
                continue
            item = (
                _ITEM.match(text)
                if kind == LineKind.TEXT or at in self._outline.item_depth
                else None
            )
            if kind == LineKind.HEADING and not item:
                stack = []
            elif item:
                indent = len(item[1].expandtabs(4))
                while stack and stack[-1][0] >= indent:
                    stack.pop()
                found[at] = stack[-1][1] if stack else 0
                stack.append((indent, at))
            elif text.strip() and not text.startswith((" ", "\t", ">")):
                stack = []
        return found

    @cached_property
    def _groups(self) -> dict[tuple[int, int], list[int]]:
        """The rows of each list and table, by the item above it and its heading or first line."""
        found: dict[tuple[int, int], list[int]] = {}
        for at, parent in self._parents.items():
            found.setdefault((parent, self.heading_line(at)), []).append(at)
        for at in range(1, len(self._lines) + 1):
            first = self._table_above(at)
            if first and at > first + 1:
                found.setdefault((-1, first), []).append(at)
        return found

    @cached_property
    def _group_of(self) -> dict[int, tuple[int, int]]:
        return {at: key for key, rows in self._groups.items() for at in rows}

    def _table_above(self, at: int) -> int:
        """The first line of the table that holds a line; 0 if none does."""
        first = at
        while first > 0 and self._kinds[first - 1] == LineKind.TABLE:
            first -= 1
        return first + 1 if first < at else 0

    def heading_line(self, at: int) -> int:
        """The line of the nearest heading at or above a line; 0 if there is none."""
        above = bisect_right(self._heading_lines, at)
        return self._heading_lines[above - 1] if above else 0

    def heading_text(self, line: int) -> str:
        """The text of the heading on a line."""
        return self._headings[line].text

    def with_meaning(self, first: int, last: int) -> frozenset[int]:
        """These lines and what gives them meaning."""
        if (first, last) in self._bound:
            return self._bound[first, last]
        found: set[int] = set()
        todo = list(range(first, last + 1))
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                todo.extend(self._bound_to(at))
        self._bound[first, last] = frozenset(found)
        return self._bound[first, last]

    def _bound_to(self, at: int) -> Iterator[int]:
        """Yield the lines that a line cannot be shown without."""
        heading = self.heading_line(at)
        if heading:
            yield from range(heading, self._headings[heading].last_line + 1)
        if self._parents.get(at):
            yield self._parents[at]
        if introduces(self._lines[at - 1]):
            yield from self._introduced(at)
        group = self._group_of.get(at)
        if group:
            if group[0] == -1:
                yield from (group[1], group[1] + 1)
            rows = self._groups[group]
            if len(rows) <= MOST_SHORT_ROWS and all(
                len(self._lines[row - 1]) <= LONGEST_SHORT_ROW for row in rows
            ):
                yield from rows
        if self._kinds[at - 1] == LineKind.TEXT:
            yield from self._rest_of_sentence(at)

    def _introduced(self, at: int) -> Sequence[int]:
        """The rows of a short list that a line introduces."""
        below = next(
            (
                n
                for n in range(at + 1, min(at + 3, len(self._lines) + 1))
                if self._lines[n - 1].strip()
            ),
            0,
        )
        group = self._group_of.get(below)
        rows: Sequence[int] = self._groups[group] if group else ()
        begins = bool(rows) and rows[0] == below
        is_short = (
            len(rows) <= MOST_SHORT_ROWS
            and sum(len(self._lines[row - 1]) for row in rows) < _LONGEST_LIST
        )
        return rows if begins and is_short else ()

    def _rest_of_sentence(self, at: int) -> Iterator[int]:
        first = at
        while (
            first > 1
            and first not in self._parents
            and at - first < MOST_WRAPPED
            and self._is_wrapped(first - 1)
        ):
            first -= 1
            yield first
        last = at
        while last - at < MOST_WRAPPED and self._is_wrapped(last) and last + 1 not in self._parents:
            last += 1
            yield last

    def _is_wrapped(self, at: int) -> bool:
        """Whether the sentence of a line goes on in the next one."""
        if not 0 < at < len(self._lines):
            return False
        text, below = self._lines[at - 1].rstrip(), self._lines[at]
        if self._kinds[at - 1] != LineKind.TEXT or self._kinds[at] != LineKind.TEXT:
            return False
        if not text or not below.strip() or at + 1 in self._parents:
            return False
        if _FENCE.match(text) or _FENCE.match(
            below
        ):  # inside HTML, where a fence opens no code block
            return False
        return goes_on(text, below)

    def missing_rows(self, shown: Sequence[int]) -> dict[int, int]:
        """For each shown line how many rows are left out between it and the shown line before it."""
        missing: dict[int, int] = {}
        have = set(shown)
        seen: dict[int, None] = {}
        for key in {self._group_of[at] for at in shown if at in self._group_of}:
            rows = self._groups[key]
            mine = [row for row in rows if row in have]
            for row in rows:
                if row not in have and mine[0] < row < mine[-1]:
                    seen[row] = None
        for row in seen:
            after = next(at for at in shown if at > row)
            missing[after] = missing.get(after, 0) + 1
        return missing


def introduces(line: str) -> bool:
    """Return whether a line only introduces what stands below it."""
    return line.rstrip(" \t*_`").endswith((":", "："))


def goes_on(before: str, line: str) -> bool:
    """Return whether a line continues the wrapped line before it."""
    if line.lstrip()[:1].islower():
        return True
    ended = before.rstrip()
    return len(ended) > _WRAPPED and ended[-1] not in _ENDS


def quoted_lines(
    outline: Outline,
    structure: Structure,
    shown: Sequence[int],
    path: str,
    offset: int,
    number: int,
) -> str:
    """Print lines of a note as one quote with numbers and gaps; `offset`: the line before the outline's first."""
    missing = structure.missing_rows(shown)
    runs = list(runs_of(path, shown))
    printed: list[str] = []
    for run in runs:
        if run.first in missing:
            printed.append(f"… {missing[run.first]} more")
        printed.extend(numbered(outline.lines[run.first - 1 : run.last], run.first + offset))
    places = [Source(path, run.first + offset, run.last + offset) for run in runs]
    return f"{quoted_block(chr(10).join(printed), number, *places)}\n"


def numbered(lines: Sequence[str], first: int) -> Iterator[str]:
    """Number the first line and every fifth one, and each that looks like a mark of ours.

    A number before the fence of a code block would undo the fence.
    """
    for number, text in enumerate(lines, start=first):
        is_due = number == first or (number % _EVERY == 0 and text.strip())
        wanted = (is_due or _LIKE_OURS.match(text)) and not _FENCE.match(text)
        yield f"{number}| {text}" if wanted else text


def bridged(outline: Outline, shown: Iterable[int]) -> list[int]:
    """Lines in order, with the blank lines between two of them that are otherwise neighbours."""
    found: list[int] = []
    for at in sorted(shown):
        if found and 1 < at - found[-1] <= 3:
            between = range(found[-1] + 1, at)
            if not any(outline.lines[n - 1].strip() for n in between):
                found.extend(between)
        found.append(at)
    return found


def runs_of(path: str, numbers: Sequence[int]) -> list[Source]:
    """Group ascending line numbers of a note into runs."""
    runs: list[Source] = []
    for number in numbers:
        if runs and number == runs[-1].last + 1:
            runs[-1] = runs[-1]._replace(last=number)
        else:
            runs.append(Source(path, number, number))
    return runs
