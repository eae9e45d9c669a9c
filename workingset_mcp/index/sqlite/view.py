"""Read from one consistent view of the index: every query of the package, as SQL.

`index.engine.View` documents each method. No user text reaches SQL or MATCH unrendered. Not here: how
expressions and scopes are rendered (`rendering`).
"""

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from workingset_mcp.index.query import WHOLE_VAULT, Expr, Scope
from workingset_mcp.index.rows import (
    ITEM_FORMS,
    ITEM_KINDS,
    BranchRow,
    Hit,
    ItemRow,
    Known,
    ListedRow,
    NoteRow,
    SectionRow,
    StatusRow,
)
from workingset_mcp.index.sqlite import columns
from workingset_mcp.index.sqlite.rendering import (
    NOTE_DATE,
    SECTION_DATE,
    conditions,
    ranges_of,
    rendered,
)
from workingset_mcp.notes.lines import OPEN_STATES, STANDING_KINDS
from workingset_mcp.notes.statuses import StatusBlock
from workingset_mcp.vault.folder import Fingerprint

_MOST_MARKS = 10_000  # in one statement; SQLite may be built for 32,766
_SECTIONS_OF_NOTES = "note n JOIN section s ON s.id BETWEEN n.first_section AND n.last_section"
_NOTES_OF_FTS = "JOIN section s ON s.id = fts.rowid JOIN note n ON n.id = s.note_id"
_BETWEEN = "AND fts.rowid BETWEEN ? AND ?"
_OPEN = ", ".join(f"'{state}'" for state in OPEN_STATES)
_SHOWN = "kind NOT IN ('brief', 'private')"  # the others are in no answer
_ACTION_BULLET = f"i.kind = {ITEM_KINDS.index('action')} AND i.form = {ITEM_FORMS.index('bullet')}"
_DAY = "CASE WHEN i.date != '' THEN i.date ELSE n.date END"
# The rows of lists, in the order of `ListedRow`: notes only, no overrides, no generated briefs.
_LISTED_ITEMS = (
    "SELECT n.branch, n.path, i.line, iif(i.date != '', i.date, n.date), ?, i.text, i.state, i.owners,"
    " i.due FROM note n JOIN item i ON i.note_id = n.id WHERE n.kind = 'note'"
)
_LISTED_STATUSES = (
    "SELECT n.branch, n.path, s.line, iif(s.date != '', s.date, n.date), ?, s.heading, '', '', ''"
    " FROM note n JOIN status s ON s.note_id = n.id WHERE n.kind = 'note'"
)
_LISTED_NOTES = (
    "SELECT n.branch, n.path, 0, n.date, ?, n.title, '', '', '' FROM note n WHERE n.kind = 'note'"
)
_WRONG_PAGES = (  # table by table: checking the whole database also checks the word index in newer SQLites, slowly
    "SELECT quick_check FROM sqlite_master m, pragma_quick_check(m.name)"
    " WHERE m.type = 'table' AND m.rootpage > 0 AND quick_check != 'ok' LIMIT 1"
)
_MOST_CACHED = 4_000  # small values per version of the index
_Value = TypeVar("_Value")


class _Connection(Protocol):
    def execute(self, sql: str, parameters: Any = ..., /) -> Any: ...


class _Ended:
    """Replaces the connection of an ended view, because another view may use that by now."""

    def execute(self, _sql: str, _parameters: Any = (), /) -> Any:
        raise RuntimeError("This view has ended: read it inside its `with` block.")


class Counts:
    """A cache of small values for the newest version of an index, usable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = (-1, -1)
        self._known: dict[Hashable, Any] = {}

    def of(self, version: tuple[int, int], key: Hashable, find: Callable[[], _Value]) -> _Value:
        """Return the value for `key` in a version of the index; a missing one is found outside the lock."""
        with self._lock:
            if version > self._version:
                self._version, self._known = version, {}
            if version == self._version and key in self._known:
                known: _Value = self._known[key]
                return known
        found = find()
        with self._lock:
            if version == self._version:  # an older view may still be in use
                if len(self._known) >= _MOST_CACHED:
                    self._known.clear()
                self._known[key] = found
        return found


class SqliteView:
    """A view of the index at one moment (`index.engine.View`)."""

    def __init__(self, connection: _Connection, epoch: int, counts: Counts) -> None:
        self._connection = connection
        self._epoch = epoch
        self._counts = counts
        self._generation: int | None = None
        self._ranges_of: dict[frozenset[str], list[tuple[str, tuple[int, ...]]]] = {}

    def end(self) -> None:
        """Release the connection."""
        self._connection = _Ended()

    def generation(self) -> int:
        """Return the number of changes applied so far."""
        if self._generation is None:
            self._generation = int(self._meta("generation") or 0)
        return self._generation

    def version(self) -> tuple[int, int]:
        """Return (epoch, generation): `Engine.data_version` when this view began."""
        return self._epoch, self.generation()

    def complete(self) -> bool:
        """Return whether the whole vault has been indexed once."""
        return bool(self._meta("complete"))

    def unmerged(self) -> bool:
        """Return whether the word index of a first build is not merged yet."""
        return bool(self._meta("unmerged"))

    def known(self, branch: str | None = None) -> dict[str, Known]:
        """Return what the index knows of every file, or of one branch's files, by path."""
        sql = "SELECT path, size, mtime_ns, ctime_ns, inode, read_ns, digest FROM note"
        within = (f"{sql} WHERE branch = ?", branch) if branch is not None else (sql,)
        rows = self._all(*within)
        return {row[0]: Known(Fingerprint(*row[1:5]), row[5], row[6]) for row in rows}

    def has_below(self, folder: str) -> bool:
        """Return whether there is a note or a generated brief below this folder."""
        sql = "SELECT 1 FROM note WHERE path > ? AND path < ? LIMIT 1"
        return bool(self._all(sql, f"{folder}/", f"{folder}0"))  # "0" is the character after "/"

    def branches(self) -> list[BranchRow]:
        """Return every branch with its notes, open checkboxes and newest date, by name."""
        open_tasks = self._all(
            "SELECT n.branch, count(*) FROM item i JOIN note n ON n.id = i.note_id"
            f" WHERE i.kind = 0 AND i.state IN ({_OPEN}) AND n.kind = 'note'"  # 0: a task
            " AND NOT n.template GROUP BY n.branch"
        )
        open_items = dict(open_tasks)
        rows = self._all(
            "SELECT branch, count(*), max(date || '\n' || path), sum(size) FROM note"
            f" WHERE {_SHOWN} GROUP BY branch ORDER BY branch"
        )
        found = []
        for branch, notes, newest, size in rows:
            date, _, path = newest.partition("\n")
            open_here = open_items.get(branch, 0)
            found.append(BranchRow(branch, notes, open_here, date, path if date else "", size))
        return found

    def branch_times(self) -> list[tuple[str, int]]:
        """Return (branch, newest file time of its notes in nanoseconds), by name."""
        sql = (
            f"SELECT branch, max(mtime_ns) FROM note WHERE {_SHOWN} GROUP BY branch ORDER BY branch"
        )
        return self._all(sql)

    def branch_names(self) -> list[str]:
        """Return the names of the branches that have a note."""
        return [row[0] for row in self._all("SELECT DISTINCT branch FROM note ORDER BY branch")]

    def has_branch(self, name: str) -> bool:
        """Return whether this branch has a note."""
        return bool(self._all("SELECT 1 FROM note WHERE branch = ? LIMIT 1", name))

    def remarked(self) -> list[NoteRow]:
        """Return the notes with a remark, by path, also briefs that a person may have written."""
        sql = f"SELECT {columns.NOTE} FROM note n WHERE n.remarks != '[]'"
        return columns.note_rows(self._all(f"{sql} ORDER BY n.path"))

    def note_kinds(self) -> list[tuple[str, str, int]]:
        """Return (kind of note, sign, number of notes), the most frequent first."""
        return self._all(
            "SELECT genre, genre_sign, count(*) AS times FROM note WHERE kind = 'note'"
            " GROUP BY 1, 2 ORDER BY times DESC, 1, 2"
        )

    def notes(self, branch: str | None = None) -> list[NoteRow]:
        """Return the notes of the vault or of one branch, by path, without generated briefs."""
        sql = f"SELECT {columns.NOTE} FROM note n WHERE n.{_SHOWN}"
        if branch is None:
            return columns.note_rows(self._all(f"{sql} ORDER BY n.path"))
        return columns.note_rows(self._all(f"{sql} AND n.branch = ? ORDER BY n.path", branch))

    def notes_by_id(self, ids: Iterable[int]) -> dict[int, NoteRow]:
        """Return the notes with these ids, without their units and remarks."""
        listed_ids, rows = list(ids), []
        for start in range(0, len(listed_ids), _MOST_MARKS):
            some = listed_ids[start : start + _MOST_MARKS]
            sql = f"SELECT {columns.NOTE_ALONE} FROM note n WHERE n.id IN ({columns.marks(some)})"
            rows.extend(self._all(sql, *some))
        return {note.id: note for note in columns.note_rows(rows)}

    def line_digests(self, branch: str) -> bytes:
        """Return the digests of a branch's lines, each line once per note, without templates."""
        sql = "SELECT line_digests FROM note WHERE branch = ? AND kind = 'note' AND NOT template"
        return b"".join(row[0] for row in self._all(sql, branch))

    def note(self, path: str) -> NoteRow | None:
        """Return the note at a path, if it is indexed."""
        rows = self._all(f"SELECT {columns.NOTE} FROM note n WHERE n.path = ?", path)
        return columns.note_rows(rows)[0] if rows else None

    def aliases(self) -> list[str]:
        """Return every alias of every note."""
        sql = "SELECT aliases FROM note WHERE aliases != ''"
        return [alias for row in self._all(sql) for alias in row[0].split("\n")]

    def paths(self) -> list[str]:
        """Return the paths of all notes, in order."""
        sql = f"SELECT path FROM note WHERE {_SHOWN} ORDER BY path"
        return [row[0] for row in self._all(sql)]

    def text(self, note_id: int) -> str:
        """Return the whole text of a note."""
        sql = f"SELECT s.text FROM {_SECTIONS_OF_NOTES} WHERE n.id = ? ORDER BY s.id"
        return "".join(row[0] for row in self._all(sql, note_id))

    def sections(
        self, note_id: int, first_line: int = 1, last_line: int = 1 << 60
    ) -> list[SectionRow]:
        """Return the sections of a note that overlap these lines, in order."""
        rows = self._all(
            f"SELECT {columns.SECTION} FROM {_SECTIONS_OF_NOTES} WHERE n.id = ? AND s.last_line >= ?"
            " AND s.first_line <= ? ORDER BY s.id",
            note_id, first_line, last_line,
        )  # fmt: skip
        return [columns.section_row(row) for row in rows]

    def sections_by_id(self, ids: Sequence[int]) -> dict[int, SectionRow]:
        """Return the sections with these ids."""
        sql = f"SELECT {columns.SECTION} FROM section s JOIN note n ON n.id = s.note_id"
        sql += f" WHERE s.id IN ({columns.marks(ids)})"
        return {row[0]: columns.section_row(row) for row in self._all(sql, *ids)}

    def items(
        self, kinds: Sequence[str], branch: str | None = None, notes: dict[int, NoteRow] | None = None,
        *, bullets_since: str = "",
    ) -> list[ItemRow]:  # fmt: skip
        """Return the items of these kinds in the vault or one branch, by path and line.

        `bullets_since`: action bullets of an earlier day are left out.
        """
        parameters: list[int | str] = [ITEM_KINDS.index(kind) for kind in kinds]
        where = f"i.kind IN ({columns.marks(kinds)})"
        if branch is not None:
            where += " AND n.branch = ?"
            parameters.append(branch)
        if bullets_since:
            where += f" AND NOT ({_ACTION_BULLET} AND length({_DAY}) = 10 AND {_DAY} < ?)"
            parameters.append(bullets_since)
        rows = self._all(
            f"SELECT {columns.ITEM} FROM item i JOIN note n ON n.id = i.note_id WHERE {where}"
            " ORDER BY n.id, i.line",
            *parameters,
        )
        known = notes or self.notes_by_id({row[0] for row in rows})
        found = [columns.item_row(row, known[row[0]]) for row in rows if row[0] in known]
        found.sort(key=lambda row: row.note.path)
        return found

    def statuses(
        self, branch: str | None = None, notes: dict[int, NoteRow] | None = None
    ) -> list[StatusRow]:
        """Return the status blocks of the vault or of one branch, by path and line."""
        where = "WHERE n.branch = ?" if branch is not None else ""
        rows = self._all(
            "SELECT s.note_id, s.line, s.last_line, s.heading, s.date, s.time, s.ambiguous"
            f" FROM status s JOIN note n ON n.id = s.note_id {where} ORDER BY n.path, s.line",
            *([branch] if branch is not None else []),
        )  # fmt: skip
        known = notes or self.notes_by_id({row[0] for row in rows})
        return [
            StatusRow(
                known[row[0]], StatusBlock(row[1], row[2], row[3], row[4], row[5], bool(row[6]))
            )
            for row in rows
            if row[0] in known
        ]

    def uncounted(self, limit: int) -> list[tuple[int, bytes]]:
        """Return (id, digest) of at most `limit` notes whose tokens are not counted yet."""
        sql = f"SELECT id, digest FROM note WHERE tokens IS NULL AND {_SHOWN} LIMIT ?"
        return self._all(sql, limit)

    def search(self, expr: Expr, limit: int, scope: Scope = WHOLE_VAULT) -> list[Hit]:
        """Return the best matching sections in a scope, best first."""
        where, parameters = conditions(scope, SECTION_DATE)
        rows: list[Any] = []
        for between, ends in self._ranges(scope.branches):
            rows += self._all(
                "WITH matched AS MATERIALIZED (SELECT fts.rowid AS id, rank AS cost"
                f" FROM fts {_NOTES_OF_FTS if where else ''} WHERE fts MATCH ?"
                f" AND rank MATCH 'bm25(1, 6, 3, 3, 1, 4)' {where} {between}),"
                " best AS (SELECT id, cost FROM matched WHERE cost <="  # includes ties with the last one
                " ifnull((SELECT cost FROM matched ORDER BY cost LIMIT 1 OFFSET ? - 1), 0))"
                " SELECT cost, n.path, s.first_line, s.ordinal, s.id, s.note_id FROM best"
                " JOIN section s ON s.id = best.id JOIN note n ON n.id = s.note_id",
                rendered(expr), *parameters, *ends, limit,
            )  # fmt: skip
        rows.sort()  # takes a third of the time of sorting in SQL
        return [Hit(row[4], row[5], -row[0]) for row in rows[:limit]]

    def _ranges(self, branches: frozenset[str] | None) -> list[tuple[str, tuple[int, ...]]]:
        """Return the rowid ranges with the sections of these branches, as SQL and its parameters."""
        if branches is None:
            return [("", ())]
        if branches not in self._ranges_of:
            spans = self._all(
                "SELECT first_section, last_section FROM note"
                f" WHERE branch IN ({columns.marks(tuple(branches))}) AND last_section >= first_section"
                " ORDER BY first_section",
                *branches,
            )
            self._ranges_of[branches] = [(_BETWEEN, ends) for ends in ranges_of(spans)]
        return self._ranges_of[branches]

    def matching_sections(self, expr: Expr, branch: str | None) -> list[tuple[int, int, bool]]:
        """Return every section whose own words match."""
        scope = Scope.of(branch)
        where, parameters = conditions(scope, SECTION_DATE)
        joined = _NOTES_OF_FTS if where else "JOIN section s ON s.id = fts.rowid"
        sql = f"SELECT s.note_id, s.ordinal, s.opens FROM fts {joined} WHERE fts MATCH ? {where}"
        own_words = f"{{heads body cjk dt}} : ({rendered(expr)})"
        return [
            (note_id, ordinal, bool(opens))
            for between, ends in self._ranges(scope.branches)
            for note_id, ordinal, opens in self._all(
                f"{sql} {between}", own_words, *parameters, *ends
            )
        ]

    def later_pieces(self, branch: str | None) -> list[tuple[int, int]]:
        """Return every piece of a long section but its first."""
        sql = "SELECT s.note_id, s.ordinal FROM section s WHERE NOT s.opens"
        if branch is None:
            return self._all(sql)
        return self._all(f"{sql} AND s.note_id IN (SELECT id FROM note WHERE branch = ?)", branch)

    def front_matters(self, branch: str | None) -> list[tuple[int, int, str]]:
        """Return the front matter of every note that has some."""
        where, parameters = conditions(Scope.of(branch), NOTE_DATE)
        return self._all(
            "SELECT s.note_id, s.ordinal, substr(s.text, 1, s.skip) FROM section s"
            f" JOIN note n ON n.id = s.note_id WHERE s.skip > 0 AND n.{_SHOWN} {where}",
            *parameters,
        )

    def section_start(self, note_id: int, ordinal: int) -> int:
        """Return the ordinal of the first piece of the section that a piece belongs to."""
        rows = self._all(
            f"SELECT max(s.ordinal) FROM {_SECTIONS_OF_NOTES} WHERE n.id = ?"
            " AND s.id <= n.first_section + ? AND s.opens",
            note_id, ordinal,
        )  # fmt: skip
        return int(rows[0][0] or 0)

    def whole_section(self, note_id: int, ordinal: int) -> list[SectionRow]:
        """Return all pieces of the section that begins at an ordinal."""
        rows = self._all(
            f"SELECT {columns.SECTION} FROM {_SECTIONS_OF_NOTES} WHERE n.id = ? AND s.id >= n.first_section + ?"
            " AND s.id < coalesce((SELECT min(id) FROM section WHERE id > n.first_section + ?"
            " AND id <= n.last_section AND opens), n.last_section + 1) ORDER BY s.id",
            note_id, ordinal, ordinal,
        )  # fmt: skip
        return [columns.section_row(row) for row in rows]

    def count(self, expr: Expr) -> int:
        """Return how many sections match."""
        return self._count("SELECT count(*) FROM fts WHERE fts MATCH ?", rendered(expr))

    def holds(self, expr: Expr, scope: Scope) -> bool:
        """Return whether any section in a scope matches."""
        where, parameters = conditions(scope, SECTION_DATE)
        joined = _NOTES_OF_FTS if where else ""
        sql = f"SELECT 1 FROM fts {joined} WHERE fts MATCH ? {where}"
        return any(
            self._all(f"{sql} {between} LIMIT 1", rendered(expr), *parameters, *ends)
            for between, ends in self._ranges(scope.branches)
        )

    def document_frequency(self, stem: str) -> int:
        """Return how many sections contain a stem."""
        return self._count("SELECT sum(doc) FROM vocabulary WHERE term = ?", stem)

    def words_between(self, first: str, last: str, limit: int) -> list[tuple[str, int]]:
        """Return the stems between two words with their frequencies, in order."""
        sql = "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?"
        return self._all(sql, first, last, limit)

    def section_count(self) -> int:
        """Return the number of sections."""
        return self._count("SELECT count(*) FROM fts_docsize")  # short rows: no text is read

    def note_count(self) -> int:
        """Return the number of notes."""
        return self._count(f"SELECT count(*) FROM note WHERE {_SHOWN}")

    def listed_items(
        self, kind: str, branch: str | None, *, states: Sequence[str] = (), label: str = ""
    ) -> list[ListedRow]:
        """Return the items of a kind, unordered; `states` limits them if given."""
        sql = f"{_LISTED_ITEMS} AND i.kind = {ITEM_KINDS.index(kind)}"  # as in index `item_task`
        if states:
            sql += f" AND i.state IN ({columns.marks(states)})"
        return self._listed(sql, label or kind, states, branch)

    def listed_statuses(self, branch: str | None) -> list[ListedRow]:
        """Return the status blocks with their headings, unordered."""
        return self._listed(_LISTED_STATUSES, "status", (), branch)

    def listed_notes(self, branch: str | None) -> list[ListedRow]:
        """Return the notes with their titles, unordered."""
        return self._listed(_LISTED_NOTES, "note", (), branch)

    def _listed(
        self, sql: str, label: str, parameters: Sequence[str], branch: str | None
    ) -> list[ListedRow]:
        where, of_scope = conditions(Scope.of(branch), NOTE_DATE)
        rows = self._all(f"{sql} {where}", label, *parameters, *of_scope)
        return list(map(ListedRow._make, rows))

    def standing_lines(self, branch: str) -> list[tuple[int, int, str, str]]:
        """Return the standing lines in a branch's undated notes."""
        rows = self._all(
            "SELECT i.note_id, i.line, i.kind, i.text FROM note n JOIN item i ON i.note_id = n.id"
            f" WHERE n.branch = ? AND n.date = '' AND i.kind IN ({columns.marks(STANDING_KINDS)})",
            branch, *map(ITEM_KINDS.index, STANDING_KINDS),
        )  # fmt: skip
        return [(note_id, line, ITEM_KINDS[kind], text) for note_id, line, kind, text in rows]

    def note_digests(self, branch: str, also: str) -> list[tuple[str, bytes]]:
        """Return (path, digest) of every note of a branch and of one more note, by path."""
        return self._all(
            f"SELECT path, digest FROM note WHERE {_SHOWN} AND (branch = ? OR path = ?)"
            " ORDER BY path",
            branch, also,
        )  # fmt: skip

    def newest_statuses(self) -> dict[str, tuple[str, str]]:
        """Return the date and heading of the newest status of each branch that has one."""
        rows = self._all(
            "SELECT n.branch, max(s.date || char(10) || s.heading)"
            " FROM status s CROSS JOIN note n ON n.id = s.note_id"  # few notes have a status
            " WHERE n.kind = 'note' AND NOT n.template GROUP BY n.branch"
        )
        found = {}
        for branch, newest in rows:
            date, _, heading = newest.partition("\n")
            found[branch] = date, heading
        return found

    def dated_names(self) -> list[str]:
        """Return the headings of all status blocks, then the titles of all notes."""
        sql = f"SELECT heading FROM status UNION ALL SELECT title FROM note WHERE {_SHOWN}"
        return [row[0] for row in self._all(sql)]

    def first_notes(self, scope: Scope, limit: int) -> list[tuple[int, str]]:
        """Return (id, path) of the first notes by path whose own dates are in the scope."""
        where, parameters = conditions(scope, NOTE_DATE)
        return self._all(
            f"SELECT n.id, n.path FROM note n WHERE n.{_SHOWN} {where} ORDER BY n.path LIMIT ?",
            *parameters, limit,
        )  # fmt: skip

    def wrong_pages(self) -> str:
        """Check the pages of the file and return what is wrong, or an empty text; 0.1 s for 100 MB."""
        rows = self._all(_WRONG_PAGES)
        return str(rows[0][0]) if rows else ""

    def once(self, key: Hashable, find: Callable[[], _Value]) -> _Value:
        """Return `find()`, cached under `key` for all views of the same version of the index."""
        return self._counts.of(self.version(), key, find)

    def _count(self, sql: str, *parameters: Any) -> int:
        return self.once((sql, *parameters), lambda: self._all(sql, *parameters)[0][0] or 0)

    def _meta(self, key: str) -> Any:
        rows = self._all("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else None

    def _all(self, sql: str, *parameters: Any) -> list[Any]:
        found: list[Any] = self._connection.execute(sql, parameters).fetchall()
        return found
