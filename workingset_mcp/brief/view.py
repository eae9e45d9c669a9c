"""Reading a branch out of the index for a brief: one look, values only."""

from datetime import date
from typing import Protocol

from workingset_mcp.brief.materials import Branch
from workingset_mcp.brief.overview import BranchLine
from workingset_mcp.counting import tokens_of
from workingset_mcp.index import Index, Snapshot
from workingset_mcp.index.rows import NoteRow
from workingset_mcp.lines import LABEL_KINDS, STANDING_KINDS
from workingset_mcp.markdown import split_lines
from workingset_mcp.note import OVERRIDE_NAME
from workingset_mcp.settings import Settings
from workingset_mcp.vault import LeftOut

_WARNED_REASONS = ("conflict copy", "name is not", "folder cannot", "over ")


class _Opened(Protocol):
    @property
    def index(self) -> Index: ...
    def left_out(self, branch: str | None) -> list[LeftOut]: ...
    @property
    def vault_name(self) -> str: ...
    @property
    def settings(self) -> Settings: ...


def branch_view(
    snapshot: Snapshot, opened: _Opened, name: str, today: date, *, counted: bool = True
) -> Branch:
    """A branch as a brief needs it; missing token counts are made and kept if `counted`."""
    notes = snapshot.notes(name)
    by_id = {note.id: note for note in notes}
    return Branch(
        vault=opened.vault_name,
        name=name,
        today=today,
        notes=notes,
        items=snapshot.items(("task", *LABEL_KINDS, *STANDING_KINDS), name, by_id),
        statuses=snapshot.statuses(name, by_id),
        topics=lambda notes: snapshot.headings(notes, 2),
        tokens=tokens_of(snapshot, opened.index, notes) if counted else {},
        lines=lambda note, first, last: lines_of(snapshot, note, first, last),
        digests=lambda: snapshot.line_digests(name),
        override=_override(snapshot, notes, name),
        override_max_bytes=opened.settings.override_max_bytes,
        left_out=[
            (left.path, left.reason)
            for left in opened.left_out(name)
            if left.reason.startswith(_WARNED_REASONS)
        ],
    )


def overview_lines(snapshot: Snapshot) -> list[BranchLine]:
    """One line a branch, from what the index knows."""
    statuses: dict[str, tuple[str, str]] = {}
    for row in snapshot.statuses():
        if row.note.kind == "note" and not row.note.template:
            known = statuses.get(row.note.branch, ("", ""))
            statuses[row.note.branch] = max(known, (row.status.date, row.status.heading))
    return [
        BranchLine(
            row.branch, row.notes, row.size // 4, row.open_items,
            *statuses.get(row.branch, ("", "")), row.newest_date, row.newest_path,
        )
        for row in snapshot.branches()
    ]  # fmt: skip


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
