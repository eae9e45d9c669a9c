"""Writing a note into the tables, and dropping one. Called inside a transaction of the engine."""

import json
import sqlite3

from workingset_mcp.index.rows import Parsed, search_columns, section_date


def already_there(writer: sqlite3.Connection, parsed: Parsed) -> bool:
    """Whether another process has indexed this very state of the file."""
    found = writer.execute(
        "SELECT size, mtime_ns, ctime_ns, inode, digest FROM note WHERE path = ?",
        (parsed.note.path,),
    ).fetchone()
    return bool(found == (*parsed.fingerprint, parsed.digest))


def delete_note(writer: sqlite3.Connection, path: str) -> None:
    """Drop a note with everything of it; FTS5 is given the old column values again."""
    found = writer.execute(
        "SELECT id, title, aliases, tags, date FROM note WHERE path = ?", (path,)
    ).fetchone()
    if found is None:
        return
    note_id, title, aliases, tags, date = found
    rows = writer.execute(
        "SELECT id, headings, date, skip, text FROM section WHERE note_id = ?", (note_id,)
    ).fetchall()
    for section_id, headings, own_date, skip, text in rows:
        columns = search_columns(
            path=path, title=title, aliases=aliases, tags=tags, note_date=date,
            headings=headings.split("\n") if headings else (), date=own_date, text=text[skip:],
        )  # fmt: skip
        writer.execute(
            "INSERT INTO fts(fts, rowid, title, heads, path, body, cjk, dt)"
            " VALUES ('delete', ?, ?, ?, ?, ?, ?, ?)",
            (section_id, *columns),
        )
    for table in ("section", "item", "status"):
        writer.execute(f"DELETE FROM {table} WHERE note_id = ?", (note_id,))  # noqa: S608  # fixed names
    writer.execute("DELETE FROM note WHERE id = ?", (note_id,))


def insert_note(writer: sqlite3.Connection, parsed: Parsed) -> None:
    """Write a note that is not there."""
    note = parsed.note
    aliases, tags = "\n".join(note.aliases), "\n".join(note.tags)
    note_id = writer.execute(
        "INSERT INTO note VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            note.path, parsed.branch, note.title, note.date, note.date_source, note.kind,
            int(note.template), note.line_count, aliases, tags,
            json.dumps(note.units), json.dumps(note.remarks), note.line_digests,
            *parsed.fingerprint, parsed.read_ns, parsed.digest,
        ),
    ).lastrowid  # fmt: skip
    for ordinal, section in enumerate(note.sections):
        headings = "\n".join(" ".join(h.split("\n")) for h in section.headings)
        date = section_date(section.headings)
        section_id = writer.execute(
            "INSERT INTO section VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                note_id, ordinal, section.first_line, section.last_line, section.level,
                int(section.opens), headings, date, section.skip, section.text,
            ),
        ).lastrowid  # fmt: skip
        columns = search_columns(
            path=note.path, title=note.title, aliases=aliases, tags=tags, note_date=note.date,
            headings=headings.split("\n") if headings else (), date=date,
            text=section.text[section.skip :],
        )  # fmt: skip
        writer.execute(
            "INSERT INTO fts(rowid, title, heads, path, body, cjk, dt) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (section_id, *columns),
        )
    writer.executemany(
        "INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                note_id,
                i.line,
                i.kind,
                i.form,
                i.state,
                i.text,
                "\n".join(i.owners),
                i.due,
                i.date,
            )
            for i in note.items
        ],
    )
    writer.executemany(
        "INSERT INTO status VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (note_id, s.line, s.last_line, s.heading, s.date, s.time, int(s.ambiguous))
            for s in note.statuses
        ],
    )
