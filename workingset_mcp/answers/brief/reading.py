"""Read a branch, and the overview of a vault, from a view of the index into values."""

from collections.abc import Iterable
from datetime import date
from hashlib import blake2b
from typing import Protocol

from workingset_mcp.answers.brief.extract import oldest_bullet
from workingset_mcp.answers.brief.materials import Branch
from workingset_mcp.answers.brief.overview import BranchLine
from workingset_mcp.answers.counting import tokens_of
from workingset_mcp.index import Engine, View
from workingset_mcp.index.rows import NoteRow
from workingset_mcp.notes.lines import LABEL_KINDS
from workingset_mcp.notes.note import OVERRIDE_NAME
from workingset_mcp.settings import Settings
from workingset_mcp.vault.folder import LeftOut


class _OpenVault(Protocol):
    @property
    def index(self) -> Engine: ...
    @property
    def vault_name(self) -> str: ...
    @property
    def settings(self) -> Settings: ...


def read_branch(
    view: View, vault: _OpenVault, name: str, today: date, left_out: Iterable[LeftOut],
    *, counted: bool = True,
) -> Branch:  # fmt: skip
    """Read what a brief needs of a branch; if `counted`, count and save missing token counts."""
    notes = view.notes(name)
    by_id = {note.id: note for note in notes}
    return Branch(
        vault=vault.vault_name,
        name=name,
        today=today,
        notes=notes,
        items=view.items(
            ("task", *LABEL_KINDS), name, by_id, bullets_since=oldest_bullet(notes, today)
        ),
        statuses=view.statuses(name, by_id),
        tokens=tokens_of(view, vault.index, notes) if counted else {},
        override=_override(view, notes, name),
        override_max_bytes=vault.settings.override_max_bytes,
        left_out=[left for left in left_out if left.reason.is_warned_of],
    )


def contents_of(view: View, name: str) -> bytes:
    """Return a digest of a branch's indexed notes and the root override; empty if a note is unreadable.

    An unreadable note has no digest of its own.
    """
    rows = view.note_digests(name, OVERRIDE_NAME)
    if not all(digest for _, digest in rows):
        return b""
    return blake2b(repr(rows).encode(), digest_size=16).digest()


def overview_lines(view: View) -> list[BranchLine]:
    """Read one overview line for each branch from the index."""
    statuses = view.newest_statuses()
    found = []
    for row in view.branches():
        date, heading = statuses.get(row.branch, ("", ""))
        found.append(
            BranchLine(
                row.branch, row.notes, row.size // 4, row.open_items, date, heading,
                row.newest_date, row.newest_path,
            )
        )  # fmt: skip
    return found


def _override(view: View, notes: list[NoteRow], branch: str) -> tuple[str, str] | None:
    """Return path and text of the override in the branch folder, else in the vault root."""
    own = next(
        (
            n
            for n in notes
            if n.kind == "override" and n.path.lower() == f"{branch}/{OVERRIDE_NAME}".lower()
        ),
        None,
    )
    if own is None:
        root = view.note(OVERRIDE_NAME)
        own = root if root and root.kind == "override" else None
    return (own.path, view.text(own.id)) if own else None
