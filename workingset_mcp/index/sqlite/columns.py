"""The selected columns of each table, and the values made from their rows. Not here: which rows (`view`)."""

import json
from collections.abc import Sequence
from typing import Any

from workingset_mcp.index.rows import (
    ITEM_FORMS,
    ITEM_KINDS,
    ItemRow,
    NoteRow,
    SectionRow,
    headings_of,
)
from workingset_mcp.notes.lines import Item
from workingset_mcp.notes.note import DatedStretch, Remark

NOTE = (
    "n.id, n.path, n.branch, n.title, n.date, n.date_source, n.kind, n.template,"
    " n.genre, n.genre_sign, n.not_current, n.line_count,"
    " n.tokens, n.size, n.digest, n.units, n.remarks, n.aliases || char(10) || n.tags"
)
NOTE_ALONE = NOTE.replace("n.units, n.remarks", "'[]', '[]'")
SECTION = "s.*, n.title"
ITEM = "i.note_id, i.line, i.kind, i.text, i.form, i.state, i.owners, i.due, i.date"


def marks(values: Sequence[object]) -> str:
    """Return one SQL parameter mark per value."""
    return ", ".join("?" * len(values))


def note_rows(rows: Sequence[Sequence[Any]]) -> list[NoteRow]:
    """Make notes from rows of the columns `NOTE`."""
    all_units = json.loads(f"[{','.join(row[15] for row in rows)}]")  # one call is faster
    return [
        NoteRow(
            row[0], row[1], row[2], row[3], row[4], row[5], row[6], bool(row[7]), row[8], row[9], row[10], row[11],
            row[12], row[13], row[14],
            tuple([DatedStretch(*unit) for unit in units]),
            tuple([Remark(*remark) for remark in json.loads(row[16])]) if row[16] != "[]" else (),
            row[17],
        )
        for row, units in zip(rows, all_units, strict=True)
    ]  # fmt: skip


def section_row(row: Sequence[Any]) -> SectionRow:
    """Make a section from a row of the columns `SECTION`."""
    headings, opens = headings_of(row[7], row[11]), bool(row[6])
    return SectionRow._make((*row[:6], headings, *row[8:11], opens))


def item_row(row: Sequence[Any], note: NoteRow) -> ItemRow:
    """Make an item of a note from a row of the columns `ITEM`."""
    _, line, kind, text, form, state, owned, due, date = row
    owners = tuple(owned.split("\n")) if owned else ()
    item = Item(line, ITEM_KINDS[kind], text, ITEM_FORMS[form], state, owners, due, date)
    return ItemRow(note, item)
