"""Rows of tables that are items: the columns are found by the words of their header. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workingset_mcp.notes.dates import find_dates
from workingset_mcp.notes.lines import Item, plain
from workingset_mcp.notes.outline import LineKind, Outline
from workingset_mcp.notes.patterns import Patterns
from workingset_mcp.notes.words import (
    DONE_CELL,
    DUE_COLUMN,
    NOTHING,
    OWNER_COLUMN,
    STATE_COLUMN,
    TEXT_COLUMN,
)

_CELL_END = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"^[ \t>]*(?:\|[ \t]*)?:?-[ \t|:-]*$")
_MARKUP = re.compile(r"[*_`~]|\[\[|\]\]|<[^<>]{1,80}>")
_VERDICTS = (
    "verdict",
    "resolution",
    "outcome",
    "conclusion",
    "agreed",
    "resolved",
)  # of reviews: of each row
_NUMBERS = re.compile(r"^\W*\d*\W*$")


class Table(NamedTuple):
    """A table: its first line, the cells of its header, and its rows as (line, text, cells)."""

    first: int
    header: tuple[str, ...]
    rows: tuple[tuple[int, str, tuple[str, ...]], ...]


class _Columns(NamedTuple):
    """Which column says what; -1 where none does."""

    kind: str
    text: int
    owner: int
    due: int
    state: int


def tables_of(outline: Outline, first: int = 1, last: int = 1 << 60) -> Iterator[Table]:
    """The tables that begin between two lines."""
    kinds = outline.kinds
    at = kinds.find(LineKind.TABLE, first - 1)
    while 0 <= at < last:
        end = at
        while end < len(kinds) and kinds[end] == LineKind.TABLE:
            end += 1
        lines = outline.lines[at:end]
        if len(lines) > 2 and _RULE.match(lines[1]):
            rows = tuple(
                (at + 3 + n, _bare(line), _cells(line)) for n, line in enumerate(lines[2:])
            )
            yield Table(at + 1, _cells(lines[0]), rows)
        at = kinds.find(LineKind.TABLE, end)


def rows_of(table: Table, kind: str, patterns: Patterns) -> Iterator[Item]:
    """The rows of a table as items of a kind; without a kind, of the one that its header names."""
    columns = _columns_of(table.header, kind, patterns)
    if columns is None:
        return
    for line, text, cells in table.rows:
        said = _cell(cells, columns.text)
        if NOTHING.match(said) or _NUMBERS.match(said):
            continue
        if columns.kind == "action" and DONE_CELL.match(_cell(cells, columns.state)):
            continue
        dates = find_dates(_cell(cells, columns.due)) if columns.due >= 0 else []
        due = next((date.value for date in dates if len(date.value) == 10), "")
        owners = tuple(_names(_cell(cells, columns.owner)))
        yield Item(line, columns.kind, text, form="row", owners=owners, due=due)


def _columns_of(header: Sequence[str], kind: str, patterns: Patterns) -> _Columns | None:
    names = [plain(_MARKUP.sub("", name).strip(" \t:：#")) for name in header]
    named = {
        at: found
        for at, name in enumerate(names)
        if name not in _VERDICTS and (found := patterns.kind_of_label.get(name, ""))
    }
    owner = next(
        (
            at
            for at, name in enumerate(names)
            if named.get(at) == "owner" or OWNER_COLUMN.match(name)
        ),
        -1,
    )
    due = next(
        (at for at, name in enumerate(names) if named.get(at) == "due" or DUE_COLUMN.match(name)),
        -1,
    )
    state = next((at for at, name in enumerate(names) if STATE_COLUMN.match(name)), -1)
    wanted = (kind,) if kind else ("action", "decision")
    text = next((at for at, found in named.items() if found in wanted), -1)
    if kind and text < 0:
        text = next((at for at, name in enumerate(names) if TEXT_COLUMN.match(name)), -1)
    if text < 0 or (not kind and owner < 0 and due < 0):
        return None
    return _Columns(kind or named[text], text, owner, due, state)


def _names(cell: str) -> Iterator[str]:
    for name in re.split(r"[,/&;+]|<br ?/?>| and | und | et | y | e | en | oraz ", cell):
        bare = name.strip(" \t@.()[]")
        if bare and len(bare) <= 60 and not NOTHING.match(bare) and not _NUMBERS.match(bare):
            yield bare


def _cell(cells: Sequence[str], at: int) -> str:
    return _MARKUP.sub("", cells[at]).strip() if 0 <= at < len(cells) else ""


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in _CELL_END.split(_bare(line)))


def _bare(line: str) -> str:
    """A row without the bars at its ends."""
    text = line.strip(" \t>")
    text = text[1:] if text.startswith("|") else text
    return (text[:-1] if text.endswith("|") and not text.endswith("\\|") else text).strip()
