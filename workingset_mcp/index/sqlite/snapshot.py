"""Reading from one consistent view of the index. Speaks rows; no text of a user reaches SQL or MATCH
unrendered.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from workingset_mcp.index.rows import (
    ITEM_FORMS,
    ITEM_KINDS,
    BranchRow,
    Hit,
    ItemRow,
    Known,
    NoteRow,
    SectionRow,
    StatusRow,
)
from workingset_mcp.index.sqlite import columns
from workingset_mcp.index.sqlite.counts import Counts
from workingset_mcp.index.sqlite.within import EVERYWHERE, Within, ranges_of
from workingset_mcp.notes.lines import OPEN_STATES
from workingset_mcp.notes.statuses import StatusBlock
from workingset_mcp.vault.folder import Fingerprint

_MOST_MARKS = 10_000  # in one statement; SQLite may be built for 32,766
_SECTIONS_OF_NOTES = "note n JOIN section s ON s.id BETWEEN n.first_section AND n.last_section"
_NOTES_OF_FTS = "JOIN section s ON s.id = fts.rowid JOIN note n ON n.id = s.note_id"
_BETWEEN = "AND fts.rowid BETWEEN ? AND ?"
_OPEN = ", ".join(f"'{state}'" for state in OPEN_STATES)
_ACTION_BULLET = f"i.kind = {ITEM_KINDS.index('action')} AND i.form = {ITEM_FORMS.index('bullet')}"
_Value = TypeVar("_Value")
_DAY = "CASE WHEN i.date != '' THEN i.date ELSE n.date END"


class _Connection(Protocol):
    def execute(self, sql: str, parameters: Any = ..., /) -> Any: ...


class Snapshot:
    """A view of the index at one moment."""

    def __init__(self, connection: _Connection, epoch: int, counts: Counts) -> None:
        self._connection = connection
        self._epoch = epoch
        self._counts = counts
        self._generation: int | None = None
        self._ranges_of: dict[str, list[tuple[str, tuple[int, ...]]]] = {}

    def generation(self) -> int:
        """Counter raised by every applied change."""
        if self._generation is None:
            self._generation = int(self._meta("generation") or 0)
        return self._generation

    def version(self) -> tuple[int, int]:
        """What `Index.data_version` was when this view began: (epoch, generation)."""
        return self._epoch, self.generation()

    def complete(self) -> bool:
        """Whether the whole vault has been indexed once."""
        return bool(self._meta("complete"))

    def unmerged(self) -> bool:
        """Whether its words stand in the parts yet that a first build wrote."""
        return bool(self._meta("unmerged"))

    def known(self, branch: str | None = None) -> dict[str, Known]:
        """What the index knows of every file, or of one branch's files."""
        sql = "SELECT path, size, mtime_ns, ctime_ns, inode, read_ns, digest FROM note"
        within = (f"{sql} WHERE branch = ?", branch) if branch is not None else (sql,)
        rows = self._all(*within)
        return {row[0]: Known(Fingerprint(*row[1:5]), row[5], row[6]) for row in rows}

    def has_below(self, folder: str) -> bool:
        """Whether there is a note, or a generated brief, below this folder."""
        sql = "SELECT 1 FROM note WHERE path > ? AND path < ? LIMIT 1"
        return bool(self._all(sql, f"{folder}/", f"{folder}0"))  # "0" comes behind "/"

    def branches(self) -> list[BranchRow]:
        """Every branch with its notes, open boxes and newest date, by name."""
        open_tasks = self._all(
            "SELECT n.branch, count(*) FROM item i JOIN note n ON n.id = i.note_id"
            f" WHERE i.kind = 0 AND i.state IN ({_OPEN}) AND n.kind = 'note'"  # 0: a task
            " AND NOT n.template GROUP BY n.branch"
        )
        open_items = dict(open_tasks)
        rows = self._all(
            "SELECT branch, count(*), max(date || '\n' || path), sum(size) FROM note"
            " WHERE kind != 'brief' GROUP BY branch ORDER BY branch"
        )
        found = []
        for branch, notes, newest, size in rows:
            date, _, path = newest.partition("\n")
            open_here = open_items.get(branch, 0)
            found.append(BranchRow(branch, notes, open_here, date, path if date else "", size))
        return found

    def branch_times(self) -> list[tuple[str, int]]:
        """Branches by name with the newest file time of their notes, in nanoseconds."""
        sql = "SELECT branch, max(mtime_ns) FROM note WHERE kind != 'brief' GROUP BY branch ORDER BY branch"
        return self._all(sql)

    def branch_names(self) -> list[str]:
        """Names of the branches that hold a note."""
        return [row[0] for row in self._all("SELECT DISTINCT branch FROM note ORDER BY branch")]

    def has_branch(self, name: str) -> bool:
        """Whether a note stands in this branch."""
        return bool(self._all("SELECT 1 FROM note WHERE branch = ? LIMIT 1", name))

    def remarked(self) -> list[NoteRow]:
        """Notes with a remark, by path."""
        sql = f"SELECT {columns.NOTE} FROM note n WHERE n.kind != 'brief' AND n.remarks != '[]'"
        return columns.note_rows(self._all(f"{sql} ORDER BY n.path"))

    def notes(self, branch: str | None = None) -> list[NoteRow]:
        """Notes (no generated briefs) by path, of the vault or of one branch."""
        sql = f"SELECT {columns.NOTE} FROM note n WHERE n.kind != 'brief'"
        if branch is None:
            return columns.note_rows(self._all(f"{sql} ORDER BY n.path"))
        return columns.note_rows(self._all(f"{sql} AND n.branch = ? ORDER BY n.path", branch))

    def notes_by_id(self, ids: Iterable[int]) -> dict[int, NoteRow]:
        """The notes of these ids, without their units and remarks."""
        wanted, rows = list(ids), []
        for start in range(0, len(wanted), _MOST_MARKS):
            some = wanted[start : start + _MOST_MARKS]
            sql = f"SELECT {columns.NOTE_ALONE} FROM note n WHERE n.id IN ({columns.marks(some)})"
            rows.extend(self._all(sql, *some))
        return {note.id: note for note in columns.note_rows(rows)}

    def line_digests(self, branch: str) -> bytes:
        """Digests of the lines of a branch, those of each note once, templates aside."""
        sql = "SELECT line_digests FROM note WHERE branch = ? AND kind = 'note' AND NOT template"
        return b"".join(row[0] for row in self._all(sql, branch))

    def note(self, path: str) -> NoteRow | None:
        """The note at a path, if it is indexed."""
        rows = self._all(f"SELECT {columns.NOTE} FROM note n WHERE n.path = ?", path)
        return columns.note_rows(rows)[0] if rows else None

    def aliases(self) -> list[str]:
        """Every alias of every note."""
        sql = "SELECT aliases FROM note WHERE aliases != ''"
        return [alias for row in self._all(sql) for alias in row[0].split("\n")]

    def paths(self) -> list[str]:
        """Paths of all notes."""
        sql = "SELECT path FROM note WHERE kind != 'brief' ORDER BY path"
        return [row[0] for row in self._all(sql)]

    def text(self, note_id: int) -> str:
        """The whole text of a note."""
        sql = f"SELECT s.text FROM {_SECTIONS_OF_NOTES} WHERE n.id = ? ORDER BY s.id"
        return "".join(row[0] for row in self._all(sql, note_id))

    def sections(
        self, note_id: int, first_line: int = 1, last_line: int = 1 << 60
    ) -> list[SectionRow]:
        """Sections of a note that touch these lines, in order."""
        rows = self._all(
            f"SELECT {columns.SECTION} FROM {_SECTIONS_OF_NOTES} WHERE n.id = ? AND s.last_line >= ?"
            " AND s.first_line <= ? ORDER BY s.id",
            note_id, first_line, last_line,
        )  # fmt: skip
        return [columns.section_row(row) for row in rows]

    def sections_by_id(self, ids: Sequence[int]) -> dict[int, SectionRow]:
        """The sections of these ids."""
        sql = f"SELECT {columns.SECTION} FROM section s JOIN note n ON n.id = s.note_id"
        sql += f" WHERE s.id IN ({columns.marks(ids)})"
        return {row[0]: columns.section_row(row) for row in self._all(sql, *ids)}

    def headings(self, note_ids: Sequence[int], level: int) -> dict[int, list[tuple[str, int]]]:
        """Headings of one level in these notes, a path once: note -> [(text, line)] in order."""
        rows = self._all(
            f"SELECT n.id, n.title, s.headings, s.first_line FROM {_SECTIONS_OF_NOTES}"
            f" WHERE s.level = ? AND s.opens AND n.id IN ({columns.marks(note_ids)}) ORDER BY n.id, s.id",
            level, *note_ids,
        )  # fmt: skip
        found: dict[int, dict[str, tuple[str, int]]] = {}
        for note_id, title, headings, line in rows:
            own = title if headings == "\r" else headings.rpartition("\n")[2]
            found.setdefault(note_id, {}).setdefault(headings, (own, line))
        return {note_id: list(paths.values()) for note_id, paths in found.items()}

    def items(
        self, kinds: Sequence[str], branch: str | None = None, notes: dict[int, NoteRow] | None = None,
        *, bullets_since: str = "",
    ) -> list[ItemRow]:  # fmt: skip
        """Items of these kinds by path and line, of the vault or of one branch.

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
        """Status blocks by path and line, of the vault or of one branch."""
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
        """Notes whose tokens are not counted yet: (id, digest)."""
        return self._all(
            "SELECT id, digest FROM note WHERE tokens IS NULL AND kind != 'brief' LIMIT ?", limit
        )

    def match(self, expression: str, limit: int, within: Within = EVERYWHERE) -> list[Hit]:
        """Best sections for a rendered MATCH expression, best first."""
        rows: list[Any] = []
        for between, ends in self._ranges(within.branch):
            rows += self._all(
                "WITH matched AS MATERIALIZED (SELECT fts.rowid AS id, rank AS cost"
                f" FROM fts {_NOTES_OF_FTS if within.sql else ''} WHERE fts MATCH ?"
                f" AND rank MATCH 'bm25(1, 6, 3, 3, 1, 4)' {within.sql} {between}),"
                " best AS (SELECT id, cost FROM matched WHERE cost <="  # with all as good as the last
                " ifnull((SELECT cost FROM matched ORDER BY cost LIMIT 1 OFFSET ? - 1), 0))"
                " SELECT cost, n.path, s.first_line, s.ordinal, s.id, s.note_id FROM best"
                " JOIN section s ON s.id = best.id JOIN note n ON n.id = s.note_id",
                expression, *within.parameters, *ends, limit,
            )  # fmt: skip
        rows.sort()  # a third of the time that SQL takes for it
        return [Hit(row[4], row[5], -row[0]) for row in rows[:limit]]

    def _ranges(self, branch: str | None) -> list[tuple[str, tuple[int, ...]]]:
        """Where in the word index to look for sections of a branch: SQL, its parameters."""
        if branch is None:
            return [("", ())]
        if branch not in self._ranges_of:
            sql = "SELECT first_section, last_section FROM note WHERE branch = ? AND last_section >= first_section"
            spans = self._all(f"{sql} ORDER BY first_section", branch)
            self._ranges_of[branch] = [(_BETWEEN, ends) for ends in ranges_of(spans)]
        return self._ranges_of[branch]

    def matching_sections(self, expression: str, branch: str | None) -> list[tuple[int, int, int]]:
        """Every section that matches: (note id, ordinal, whether it begins one)."""
        where, parameters = ("AND n.branch = ?", [branch]) if branch is not None else ("", [])
        joined = _NOTES_OF_FTS if where else "JOIN section s ON s.id = fts.rowid"
        sql = f"SELECT s.note_id, s.ordinal, s.opens FROM fts {joined} WHERE fts MATCH ? {where}"
        return [
            row
            for between, ends in self._ranges(branch)
            for row in self._all(f"{sql} {between}", expression, *parameters, *ends)
        ]

    def section_start(self, note_id: int, ordinal: int) -> int:
        """Ordinal of the first piece of the section that a piece belongs to."""
        rows = self._all(
            f"SELECT max(s.ordinal) FROM {_SECTIONS_OF_NOTES} WHERE n.id = ?"
            " AND s.id <= n.first_section + ? AND s.opens",
            note_id, ordinal,
        )  # fmt: skip
        return int(rows[0][0] or 0)

    def whole_section(self, note_id: int, ordinal: int) -> list[SectionRow]:
        """All pieces of the section that begins at an ordinal."""
        rows = self._all(
            f"SELECT {columns.SECTION} FROM {_SECTIONS_OF_NOTES} WHERE n.id = ? AND s.id >= n.first_section + ?"
            " AND s.id < coalesce((SELECT min(id) FROM section WHERE id > n.first_section + ?"
            " AND id <= n.last_section AND opens), n.last_section + 1) ORDER BY s.id",
            note_id, ordinal, ordinal,
        )  # fmt: skip
        return [columns.section_row(row) for row in rows]

    def count(self, expression: str) -> int:
        """How many sections match."""
        return self._count("SELECT count(*) FROM fts WHERE fts MATCH ?", expression)

    def holds(self, expression: str, within: Within) -> bool:
        """Whether any section matches."""
        joined = _NOTES_OF_FTS if within.sql else ""
        sql = f"SELECT 1 FROM fts {joined} WHERE fts MATCH ? {within.sql}"
        return any(
            self._all(f"{sql} {between} LIMIT 1", expression, *within.parameters, *ends)
            for between, ends in self._ranges(within.branch)
        )

    def document_frequency(self, stem: str) -> int:
        """In how many sections a stemmed word stands."""
        return self._count("SELECT sum(doc) FROM vocabulary WHERE term = ?", stem)

    def words_between(self, first: str, last: str, limit: int) -> list[tuple[str, int]]:
        """Stemmed words of the vault in a range of the alphabet, with their frequencies."""
        sql = "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?"
        return self._all(sql, first, last, limit)

    def section_count(self) -> int:
        """How many sections there are."""
        return self._count("SELECT count(*) FROM fts_docsize")  # a short row each: no text is read

    def note_count(self) -> int:
        """How many notes there are."""
        return self._count("SELECT count(*) FROM note WHERE kind != 'brief'")

    def select(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Rows of a fixed statement (for `list_items` and look-ups of one kind)."""
        return self._all(sql, *parameters)

    def once(self, asked: Hashable, find: Callable[[], _Value]) -> _Value:
        """A small value that depends on `asked` and this state of the index alone, found once."""
        return self._counts.of(self.version(), asked, find)

    def _count(self, sql: str, *parameters: Any) -> int:
        return self.once((sql, *parameters), lambda: self._all(sql, *parameters)[0][0] or 0)

    def _meta(self, key: str) -> Any:
        rows = self._all("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else None

    def _all(self, sql: str, *parameters: Any) -> list[Any]:
        found: list[Any] = self._connection.execute(sql, parameters).fetchall()
        return found
