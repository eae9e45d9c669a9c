"""Ask real vaults "how many" questions and count again with plain patterns.

    python bench/counts.py VAULT...

Each question is one call of `list_items`. The second count is that of `counts_boxes.py`, which uses none of the
product's code. It also asks for the lines that look like a box and are not read, checks that an answer is called exact
only where there are none, and that the groups of owners add up to the total or the answer says why not. Prints one
row per vault with the boxes of each state (counted / answered), one per kind of question, then every answer that
differs. Not here: which of two differing answers is right.
"""

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from counts_boxes import CANCELLED, DONE, IN_PROGRESS, OPEN, UNREAD, Box, boxes_of, notes_of

from workingset_mcp.answers.answer import printed
from workingset_mcp.errors import BranchNotFound
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

STATES = (OPEN, DONE, IN_PROGRESS, CANCELLED)
STATE, NOT_READ = "boxes of a state", "lines not read"
MOST_ASKED = 8  # per kind and vault, the largest groups
MOST_TOKENS = 24_000  # of an answer
CARRIERS = {"cust", "customers", "accounts", "projects", "clients"}
_DAY = re.compile(r"(20\d\d)-(\d\d)-(\d\d)")
_HANDLE = re.compile(r"(?<![\w/.`])@([a-z0-9][a-z0-9-]*)")
_PLAIN = re.compile(r"(?<![\w@])\w[\w-]*")
_WORD = re.compile(r"[a-z]{5,}")
_TOTAL = re.compile(r"items · \w+: ([\d,]+)")
_UNREAD = re.compile(r"^([\d,]+) lines? looks? like", re.MULTILINE)
_SEVERAL = re.compile(r"^([\d,]+) items? ha(?:s|ve) several owners", re.MULTILINE)


def folder_of(path: str) -> str:
    """The folder of a note."""
    return path.rpartition("/")[0] or "."


def branch_of(path: str) -> str:
    """The top folder of a note, or the folder inside a carrier."""
    top, *inside = path.split("/")
    if not inside:
        return "."
    return f"{top}/{inside[0]}" if top in CARRIERS and len(inside) > 1 else top


def number_in(form: re.Pattern[str], text: str, *, otherwise: int = 0) -> int:
    """The number that a form finds in an answer."""
    found = form.search(text)
    return int(found[1].replace(",", "")) if found else otherwise


class Asked:
    """Questions to one vault, and how many answers agree."""

    def __init__(self, workspace: Workspace, equal: dict[str, list[int]]) -> None:
        self._workspace, self._equal = workspace, equal
        self.different: list[str] = []
        self.row: list[str] = []  # counted and answered, by state

    def total(self, about: str, expected: int, kind: str, **filters: Any) -> None:
        """Ask for a number in the first line."""
        try:
            said = printed(self._workspace.items(kind, **filters, budget=400))
        except BranchNotFound:
            said = ""
        self._note(about, kind, filters, expected, number_in(_TOTAL, said, otherwise=-1))

    def unread(self, expected: int) -> None:
        """Ask how many lines look like a box and are not read; only without them is an answer exact."""
        said = {kind: printed(self._workspace.items(kind, budget=400)) for kind in STATES}
        self._note(NOT_READ, OPEN, {}, expected, number_in(_UNREAD, said[OPEN]))
        for kind, text in said.items():
            if "this is exact" in text:
                self._note("called exact", kind, {"about": NOT_READ}, expected, 0)

    def groups(self, about: str, expected: Counter[str], kind: str, group: str) -> None:
        """Ask for a table of groups, as many as the answer shows."""
        said = printed(self._workspace.items(kind, group_by=group, budget=6_000))
        rows = re.findall(r"^\| (.+) \| (\d+) \|$", said, re.MULTILINE)
        for name, count in rows[:MOST_ASKED]:
            self._note(about, kind, {"group_by": group, "row": name}, expected[name], int(count))

    def sum_of_owners(self) -> None:
        """Group by owner: the groups add up to the total, or the answer says why they do not."""
        said = printed(self._workspace.items(OPEN, group_by="owner", budget=MOST_TOKENS))
        rows = sum(map(int, re.findall(r"^\| .+ \| (\d+) \|$", said, re.MULTILINE)))
        total, several = number_in(_TOTAL, said), number_in(_SEVERAL, said)
        adds_up = rows >= total + several if several else rows == total
        self._note("groups of owners add up", OPEN, {"group_by": "owner"}, 1, int(adds_up))

    def _note(self, about: str, kind: str, filters: Any, expected: int, found: int) -> None:
        tally = self._equal.setdefault(about, [0, 0])
        tally[0] += 1
        tally[1] += found == expected
        if about in (STATE, NOT_READ):
            self.row.append(f"{expected} / {found}")
        if found != expected:
            name = self._workspace.vault_name
            self.different.append(f"{name}: {kind} {filters}: counted {expected}, answered {found}")


def is_of(box: Box, kind: str) -> bool:
    """Whether a box is listed under a state: what is in progress is open too."""
    return box.state == kind or (box.state == IN_PROGRESS and kind == OPEN)


def ask_everything(asked: Asked, root: Path) -> None:
    """Ask every kind of question of a vault."""
    notes = notes_of(root)
    found = [box for path, text in notes.items() for box in boxes_of(path, text)]
    for kind in STATES:
        of_kind = [box for box in found if is_of(box, kind)]
        asked.total(STATE, len(of_kind), kind)
        for branch, count in Counter(branch_of(b.path) for b in of_kind).most_common(MOST_ASKED):
            asked.total("boxes of a state in a branch", count, kind, branch=branch)
    asked.unread(sum(box.state == UNREAD for box in found))
    asked.sum_of_owners()
    opened = [box for box in found if is_of(box, OPEN)]
    for group, key in (("branch", branch_of), ("folder", folder_of), ("path", str)):
        asked.groups(f"open by {group}", Counter(key(b.path) for b in opened), "open", group)
        asked.groups(f"notes by {group}", Counter(map(key, notes)), "note", group)
    words = Counter(word for box in opened for word in set(_WORD.findall(box.text.lower())))
    for word, _ in words.most_common(MOST_ASKED):
        with_word = sum(word in box.text.lower() for box in opened)
        asked.total("open with a word", with_word, "open", text=word)
    ask_of_handles(asked, opened)
    dated = {path: day for path in notes if (day := _DAY.search(path.rpartition("/")[2]))}
    for branch in sorted({branch_of(path) for path in dated}):
        if not all(path in dated for path in notes if branch_of(path) == branch):
            continue  # other notes of the branch may have dates in their text
        for size, about in ((4, "notes of a year"), (7, "notes of a month")):
            spans = Counter(dated[p][0][:size] for p in dated if branch_of(p) == branch)
            for span, count in spans.most_common(MOST_ASKED):
                asked.total(about, count, "note", branch=branch, since=span, until=span)


def ask_of_handles(asked: Asked, opened: Sequence[Box]) -> None:
    """Ask for open items of a handle, but not where its name also stands without `@`: that is one owner."""
    texts = [box.text.casefold() for box in opened]
    plain = {word for text in texts for word in _PLAIN.findall(text)}
    handles = Counter(name for text in texts for name in set(_HANDLE.findall(text)) - plain)
    for name, count in handles.most_common(MOST_ASKED):
        asked.total("open of a handle", count, OPEN, owner=f"@{name}")


def main(words: Sequence[str] | None = None) -> None:
    """Ask the vaults named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("vaults", nargs="+", type=Path, metavar="VAULT")
    equal: dict[str, list[int]] = {}
    rows, different = [], []
    for vault in parser.parse_args(words).vaults:
        with (
            tempfile.TemporaryDirectory() as index,
            closing(Workspace(vault, Settings(index_dir=index))) as workspace,
        ):
            workspace.build()
            asked = Asked(workspace, equal)
            ask_everything(asked, vault)
            different += asked.different
            rows.append(f"| {vault.name} | {' | '.join(asked.row)} |")
    print(f"| vault | {' | '.join((*STATES, UNREAD))} |\n|---|---|---|---|---|---|")
    print(*rows, "", sep="\n")
    print("| question | asked | agree |\n|---|---|---|")
    for about, (number, right) in sorted(equal.items()):
        print(f"| {about} | {number} | {right} |")
    print("", *different, sep="\n")


if __name__ == "__main__":
    main()
