"""The input of the rules: a branch with its notes, read once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from workingset_mcp.answers.brief import Materials
from workingset_mcp.index.rows import ItemRow, NoteRow
from workingset_mcp.notes.markdown import outline_of
from workingset_mcp.notes.outline import Outline
from workingset_mcp.workspace.facade import Workspace

_EMPHASIS = re.compile(r"[*`~]|(?<!\w)_+|_+(?!\w)")


class Finding(NamedTuple):
    """One problem that a rule found. `fix` says what to do."""

    path: str
    line: int  # 0: the whole note
    message: str
    fix: str
    rule: str = ""
    severity: str = ""


@dataclass
class Reading:
    """A branch as the rules see it."""

    workspace: Workspace
    name: str
    materials: Materials
    first: bool  # on the first branch, rules on the whole vault run

    @property
    def notes(self) -> Sequence[NoteRow]:
        """The notes of the branch, including its override."""
        return self.materials.branch.notes

    @cached_property
    def items(self) -> list[ItemRow]:
        """The items of the branch, without those in templates, overrides and briefs."""
        return [
            row
            for row in self.materials.branch.items
            if row.note.kind == "note" and not row.note.template
        ]

    def day_of_item(self, row: ItemRow) -> str:
        """Return the date of an item, else of its note."""
        return row.item.date or row.note.date

    @cached_property
    def outlines(self) -> dict[str, Outline]:
        """The outline of every note, by path."""
        with self.workspace.index.snapshot() as snapshot:
            return {note.path: outline_of(snapshot.text(note.id)) for note in self.notes}

    @cached_property
    def own_override(self) -> tuple[NoteRow, str] | None:
        """The override of the branch itself, not of the vault root, with its text."""
        found = next((note for note in self.notes if note.kind == "override"), None)
        if found is None:
            return None
        with self.workspace.index.snapshot() as snapshot:
            return found, snapshot.text(found.id)


def read_branches(workspace: Workspace) -> Iterator[Reading]:
    """Yield every branch; for a vault without notes, its root."""
    for number, name in enumerate(workspace.branches() or ["."]):
        yield Reading(workspace, name, workspace.materials(name), number == 0)


def normalized(text: str) -> str:
    """Normalize a line for comparison: case-folded, without emphasis, single spaces."""
    return " ".join(_EMPHASIS.sub("", text).casefold().split())
