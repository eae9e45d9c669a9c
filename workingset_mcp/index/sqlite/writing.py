"""Insert and delete notes, and read and write the metadata of the index.

The engine calls these functions inside a transaction.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, TypeAlias

from workingset_mcp.index.rows import (
    ITEM_FORMS,
    ITEM_KINDS,
    Known,
    Parsed,
    SearchableNote,
    headings_of,
    kept_headings,
    section_date,
)
from workingset_mcp.index.sqlite.columns import marks
from workingset_mcp.vault.files import Fingerprint

_KIND_NUMBERS = {kind: number for number, kind in enumerate(ITEM_KINDS)}
_FORM_NUMBERS = {form: number for number, form in enumerate(ITEM_FORMS)}
Row: TypeAlias = tuple[Any, ...]
# FTS5 merge settings: normal, and during a first build, which writes large segments and merges none.
# automerge and crisismerge: segments per level that start a merge; hashsize: bytes of a segment.
_MERGING = {"automerge": 4, "crisismerge": 16, "hashsize": 1 << 20}
_BUILDING = {"automerge": 0, "crisismerge": 1_000, "hashsize": 4 << 20}
_KNOWN = "path, size, mtime_ns, ctime_ns, inode, read_ns, digest"
_MOST_MARKS = 10_000  # in one statement; SQLite may be built for 32,766
_MERGE_PAGES = 500  # per step: about 40 ms, during which nobody else can write


def known_among(writer: sqlite3.Connection, paths: Sequence[str]) -> dict[str, Known]:
    """Return what the index knows of these files; unknown ones are left out."""
    found = {}
    for start in range(0, len(paths), _MOST_MARKS):
        some = paths[start : start + _MOST_MARKS]
        rows = writer.execute(
            f"SELECT {_KNOWN} FROM note WHERE path IN ({marks(some)})",  # noqa: S608  # marks only
            some,
        )
        found.update({row[0]: Known(Fingerprint(*row[1:5]), row[5], row[6]) for row in rows})
    return found


def renew_stamp(writer: sqlite3.Connection, path: str, known: Known) -> None:
    """Update the fingerprint of a file whose bytes have not changed since it was indexed."""
    writer.execute(
        "UPDATE note SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, read_ns = ?"
        " WHERE path = ? AND digest = ?",
        (*known.fingerprint, known.read_ns, path, known.digest),
    )


def delete_note(writer: sqlite3.Connection, path: str) -> None:
    """Delete a note with its sections, items and statuses; FTS5 needs the old column values for that."""
    found = writer.execute(
        "SELECT id, title, aliases, tags, date, first_section, last_section FROM note WHERE path = ?",
        (path,),
    ).fetchone()
    if found is None:
        return
    note_id, title, aliases, tags, date, *own_sections = found
    rows = writer.execute(
        "SELECT id, headings, date, skip, text FROM section WHERE id BETWEEN ? AND ?", own_sections
    ).fetchall()
    searchable_note = SearchableNote(path=path, title=title, aliases=aliases, tags=tags, date=date)
    for section_id, headings, own_date, skip, text in rows:
        columns = searchable_note.search_columns(
            headings_of(headings, title), own_date, text[skip:]
        )
        writer.execute(
            "INSERT INTO fts(fts, rowid, body, title, heads, path, cjk, dt)"
            " VALUES ('delete', ?, ?, ?, ?, ?, ?, ?)",
            (section_id, *columns),
        )
    writer.execute("DELETE FROM section WHERE id BETWEEN ? AND ?", own_sections)
    for table in ("item", "status"):
        writer.execute(f"DELETE FROM {table} WHERE note_id = ?", (note_id,))  # noqa: S608  # fixed names
    writer.execute("DELETE FROM note WHERE id = ?", (note_id,))


def drop_all(writer: sqlite3.Connection) -> None:
    """Delete every row, as before a first build."""
    for table in ("note", "section", "item", "status"):
        writer.execute(f"DELETE FROM {table}")  # noqa: S608  # fixed names
    writer.execute("INSERT INTO fts(fts) VALUES ('delete-all')")
    for key in ("complete", "unmerged"):
        _set_meta(writer, key, 0)
    merge_as_written(writer, on=False)
    next_generation(writer)


def merge_as_written(writer: sqlite3.Connection, *, on: bool) -> None:
    """Set whether the word index is merged incrementally while notes are written."""
    chosen = _MERGING if on else _BUILDING
    writer.executemany("INSERT INTO fts(fts, rank) VALUES (?, ?)", chosen.items())


def merge_some(writer: sqlite3.Connection, *, first: bool) -> bool:
    """Merge some more of the word index; return whether there is more to do."""
    before = writer.total_changes
    pages = -_MERGE_PAGES if first else _MERGE_PAGES  # negative: start with all segments
    writer.execute("INSERT INTO fts(fts, rank) VALUES ('merge', ?)", (pages,))
    return writer.total_changes - before > 1  # FTS5 reports work done in this way


def give_pages_back(writer: sqlite3.Connection) -> bool:
    """Return some free pages to the file system; return whether there may be more."""
    before = _free_pages(writer)
    writer.executescript(f"PRAGMA incremental_vacuum({_MERGE_PAGES})")  # `execute` frees one page
    return _free_pages(writer) < before


def _free_pages(writer: sqlite3.Connection) -> int:
    return int(writer.execute("PRAGMA freelist_count").fetchone()[0])


def mark_complete(writer: sqlite3.Connection) -> None:
    """Record that everything is indexed and that its word index is still to be merged."""
    if not meta(writer, "complete"):
        _set_meta(writer, "complete", 1)
        _set_meta(writer, "unmerged", 1)


def mark_merged(writer: sqlite3.Connection) -> None:
    """Record that the word index is merged; from now on notes are merged as they are written."""
    if meta(writer, "complete"):  # otherwise a new build has begun
        _set_meta(writer, "unmerged", 0)
        merge_as_written(writer, on=True)


def next_generation(writer: sqlite3.Connection) -> int:
    """Raise the generation by one and return it."""
    generation = int(meta(writer, "generation") or 0) + 1
    _set_meta(writer, "generation", generation)
    return generation


def meta(writer: sqlite3.Connection, key: str) -> Any:
    """Return the metadata stored under a key; None if there is none."""
    found = writer.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return found[0] if found else None


def insert_notes(writer: sqlite3.Connection, added: Sequence[Parsed]) -> None:
    """Insert new notes, one statement per table."""
    note_id = _last_id(writer, "note")
    section_id = _last_id(writer, "section")
    notes: list[Row] = []
    sections: list[Row] = []
    searchable: list[Row] = []
    items: list[Row] = []
    statuses: list[Row] = []
    for parsed in added:
        note, note_id = parsed.note, note_id + 1
        aliases, tags = "\n".join(note.aliases), "\n".join(note.tags)
        notes.append(
            (
                note_id, note.path, parsed.branch, note.title, note.date, note.date_source, note.kind,
                int(note.template), note.genre, note.genre_sign, note.not_current, note.line_count,
                section_id + 1, section_id + len(note.sections),
                None, aliases, tags, json.dumps(note.units),
                json.dumps(note.remarks) if note.remarks else "[]", note.line_digests,
                *parsed.fingerprint, parsed.read_ns, parsed.digest,
            )
        )  # fmt: skip
        searchable_note = SearchableNote(
            path=note.path, title=note.title, aliases=aliases, tags=tags, date=note.date
        )
        for ordinal, section in enumerate(note.sections):
            first_line, last_line, level, headings, text, skip, opens = section
            section_id += 1
            date = section_date(headings)
            stored_headings = kept_headings(headings, note.title)
            sections.append(
                (
                    section_id, note_id, ordinal, first_line, last_line, level, int(opens),
                    stored_headings, date, skip, text,
                )
            )  # fmt: skip
            columns = searchable_note.search_columns(headings, date, text[skip:])
            searchable.append((section_id, *columns))
        items.extend(
            (
                note_id, line, _KIND_NUMBERS[kind], _FORM_NUMBERS[form], state, text,
                "\n".join(owners), due, date,
            )
            for line, kind, text, form, state, owners, due, date in note.items
        )  # fmt: skip
        statuses.extend(
            (note_id, s.line, s.last_line, s.heading, s.date, s.time, int(s.ambiguous))
            for s in note.statuses
        )
    _insert(writer, "note", notes)
    _insert(writer, "section", sections)
    _insert(writer, "fts(rowid, body, title, heads, path, cjk, dt)", searchable)
    _insert(writer, "item", items)
    _insert(writer, "status", statuses)


def _set_meta(writer: sqlite3.Connection, key: str, value: object) -> None:
    writer.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def _last_id(writer: sqlite3.Connection, table: str) -> int:
    last: int | None = writer.execute(f"SELECT max(id) FROM {table}").fetchone()[0]  # noqa: S608  # fixed names
    return last or 0


def _insert(writer: sqlite3.Connection, into: str, rows: Sequence[Row]) -> None:
    if rows:
        writer.executemany(f"INSERT INTO {into} VALUES ({marks(rows[0])})", rows)  # noqa: S608  # fixed names
