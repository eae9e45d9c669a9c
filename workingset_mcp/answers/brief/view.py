"""Reading a branch out of the index for a brief: one look, values only."""

from collections.abc import Iterable
from datetime import date
from hashlib import blake2b
from typing import Protocol

from workingset_mcp.answers.brief.extract import oldest_bullet
from workingset_mcp.answers.brief.materials import Branch, StandingRow
from workingset_mcp.answers.brief.overview import BranchLine
from workingset_mcp.answers.counting import tokens_of
from workingset_mcp.index import Index, Snapshot
from workingset_mcp.index.rows import ITEM_KINDS, NoteRow
from workingset_mcp.notes.lines import LABEL_KINDS, STANDING_KINDS
from workingset_mcp.notes.markdown import split_lines
from workingset_mcp.notes.note import OVERRIDE_NAME
from workingset_mcp.settings import Settings
from workingset_mcp.vault.folder import LeftOut

_STANDING = (
    "SELECT i.note_id, i.line, i.kind, i.text FROM note n JOIN item i ON i.note_id = n.id"
    " WHERE n.branch = ? AND n.date = '' AND i.kind IN (?, ?, ?, ?)"
)


class _Opened(Protocol):
    @property
    def index(self) -> Index: ...
    @property
    def vault_name(self) -> str: ...
    @property
    def settings(self) -> Settings: ...


def branch_view(
    snapshot: Snapshot, opened: _Opened, name: str, today: date, left_out: Iterable[LeftOut],
    *, counted: bool = True,
) -> Branch:  # fmt: skip
    """A branch as a brief needs it; missing token counts are made and kept if `counted`."""
    notes = snapshot.notes(name)
    by_id = {note.id: note for note in notes}
    return Branch(
        vault=opened.vault_name,
        name=name,
        today=today,
        notes=notes,
        items=snapshot.items(
            ("task", *LABEL_KINDS), name, by_id, bullets_since=oldest_bullet(notes, today)
        ),
        standing=lambda: _standing(snapshot, name),
        statuses=snapshot.statuses(name, by_id),
        topics=lambda notes: snapshot.headings(notes, 2),
        tokens=tokens_of(snapshot, opened.index, notes) if counted else {},
        lines=lambda note, first, last: lines_of(snapshot, note, first, last),
        digests=lambda: snapshot.line_digests(name),
        override=_override(snapshot, notes, name),
        override_max_bytes=opened.settings.override_max_bytes,
        left_out=[left for left in left_out if left.reason.is_warned_of],
    )


def _standing(snapshot: Snapshot, branch: str) -> list[StandingRow]:
    """Standing lines of undated notes of a branch."""
    rows = snapshot.select(_STANDING, (branch, *map(ITEM_KINDS.index, STANDING_KINDS)))
    return [(note_id, line, ITEM_KINDS[kind], text) for note_id, line, kind, text in rows]


def contents_of(snapshot: Snapshot, name: str) -> bytes:
    """Digest of all that is indexed of a branch, and of the root's override; empty where none tells.

    A note that cannot be read has no digest of its own.
    """
    rows = snapshot.select(
        "SELECT path, digest FROM note WHERE kind != 'brief' AND (branch = ? OR path = ?) ORDER BY path",
        (name, OVERRIDE_NAME),
    )
    if not all(digest for _, digest in rows):
        return b""
    return blake2b(repr(rows).encode(), digest_size=16).digest()


def overview_lines(snapshot: Snapshot) -> list[BranchLine]:
    """One line a branch, from what the index knows."""
    statuses = dict(
        snapshot.select(
            "SELECT n.branch, max(s.date || char(10) || s.heading)"
            " FROM status s CROSS JOIN note n ON n.id = s.note_id"  # few notes have a status
            " WHERE n.kind = 'note' AND NOT n.template GROUP BY n.branch"
        )
    )
    found = []
    for row in snapshot.branches():
        date, _, heading = statuses.get(row.branch, "").partition("\n")
        found.append(
            BranchLine(
                row.branch, row.notes, row.size // 4, row.open_items, date, heading,
                row.newest_date, row.newest_path,
            )
        )  # fmt: skip
    return found


def lines_of(snapshot: Snapshot, note: NoteRow, first: int, last: int) -> list[str]:
    """Lines of a note, both ends included, without their ends."""
    sections = snapshot.sections(note.id, first, last)
    if not sections:
        return []
    start = sections[0].first_line
    lines = split_lines("".join(section.text for section in sections))
    return lines[first - start : last - start + 1]


def _override(snapshot: Snapshot, notes: list[NoteRow], branch: str) -> tuple[str, str] | None:
    """The override of the branch folder, else of the vault root."""
    own = next(
        (
            n
            for n in notes
            if n.kind == "override" and n.path.lower() == f"{branch}/{OVERRIDE_NAME}".lower()
        ),
        None,
    )
    if own is None:
        root = snapshot.note(OVERRIDE_NAME)
        own = root if root and root.kind == "override" else None
    return (own.path, snapshot.text(own.id)) if own else None
