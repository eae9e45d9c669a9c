"""Ask real vaults "how many" questions and count again with plain patterns.

    python bench/counts.py VAULT...

Each question is one call of `list_items`. The second count walks the lines of the files; it knows fences,
comments, front matter, hidden folders, templates, lists of who was present, and boxes in all their forms (drawn
signs, words, states of a person's own), and uses none of the product's code. A ticked sign (`✓`) counts only in a note
that draws open boxes too: elsewhere it says what a product can do. Vaults without carrier folders only. Prints one
row per kind of question, then every answer that differs. Not here: which of two differing answers is right.
"""

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from workingset_mcp.answers.answer import printed
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

STATES = ("open", "done", "in_progress", "cancelled")
MOST_ASKED = 8  # per kind and vault, the largest groups
_BOX = re.compile(
    r"[ \t]*(?:> ?)*[ \t]*(?:(?P<mark>[-*+•]|\d+[.)])[ \t]+)?"
    r"(?:\\?\[(?P<state>.)\\?\]|(?P<sign>[☐◻⬜▢□❏☑☒✓])\ufe0f?"
    r"|(?P<word>TODO|DOING|NOW|LATER|WAITING|IN-PROGRESS|DONE|CANCELL?ED))[ \t]+(?P<text>\S.*)$"
)
_STATE_OF = {
    **dict.fromkeys("xX☑☒✓", "done"), **dict.fromkeys("-<>", "cancelled"), "/": "in_progress",
    "DONE": "done", "CANCELLED": "cancelled", "CANCELED": "cancelled", "DOING": "in_progress",
    "IN-PROGRESS": "in_progress",
}  # fmt: skip
_OPEN_SIGN = re.compile(r"^[ \t>]*(?:[-*+•][ \t]+)?[☐◻⬜▢□❏]", re.MULTILINE)
_NO_STATES = "[](^"  # a footnote, a link
_STRUCK = re.compile(r"~~[^~]+~~\W*$")
_DROPPED = re.compile(r"❌\ufe0f?[ \t]*20\d\d-\d\d-\d\d")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_PRESENT = re.compile(
    r"\W*(?:\w+ )?(?:attend|present\b|absent|apolog|regrets|participants|anwesend|abwesend|teilnehm|présents"
    r"|asistentes|出席|参会)",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"(?:^|[/_. -])(?:templates?|vorlagen?|checklists?|模板)(?:[/_. -]|$)", re.IGNORECASE
)
_ITEM = re.compile(r"[ \t]*(?:> ?)*[ \t]*(?:[-*+]|\d+[.)])[ \t]")
_FENCE = re.compile(r"[ \t]*(?:> ?)*[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_DAY = re.compile(r"(20\d\d)-(\d\d)-(\d\d)")
_HANDLE = re.compile(r"(?<![\w/.`])@([a-z0-9][a-z0-9-]*)")
_WORD = re.compile(r"[a-z]{5,}")


class Box(NamedTuple):
    """A checkbox of a note."""

    path: str
    state: str
    text: str


def folder_of(path: str) -> str:
    """The folder of a note."""
    return path.rpartition("/")[0] or "."


def branch_of(path: str) -> str:
    """The top folder (these vaults have no carriers)."""
    top, slash, _ = path.partition("/")
    return top if slash else "."


def notes_of(root: Path) -> dict[str, str]:
    """Texts of the notes by path, without hidden folders."""
    found = {}
    for file in sorted(root.rglob("*.md")):
        path = file.relative_to(root)
        if not any(part.startswith(".") or part == "node_modules" for part in path.parts):
            found[path.as_posix()] = file.read_text(encoding="utf-8-sig", errors="replace")
    return found


def boxes_of(path: str, text: str) -> Iterator[Box]:
    """Boxes of every form outside fences, indented code, comments, front matter and attendance lists."""
    headings: list[tuple[int, str]] = []
    ticks = bool(_OPEN_SIGN.search(text))
    fence, comment = "", False
    in_list, code, after_blank = False, False, True
    lines = re.split(r"\r\n|\n|\r", text)
    if lines[0] == "---" and "---" in lines[1:]:
        lines = lines[lines.index("---", 1) + 1 :]
    for line in lines:
        opened = _FENCE.match(line)
        if fence:
            bare = line.strip("> \t")
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif comment:
            comment = "-->" not in line
        elif opened:
            fence = opened[1]
        elif line.lstrip().startswith("<!--"):
            comment = "-->" not in line
        else:
            code = line.startswith(("    ", "\t")) and not in_list and (after_blank or code)
            if heading := _HEADING.match(line):
                level = len(heading[1])
                headings = [*(one for one in headings if one[0] < level), (level, heading[2])]
            present = any(_PRESENT.match(text) for _, text in headings)
            if not code and not present and (box := _box(path, line, ticks=ticks)):
                yield box
            goes_on = in_list and (not after_blank or line[:1] in ("", " ", "\t"))
            in_list = not code and (goes_on or bool(_ITEM.match(line)))
        after_blank = not line.strip()


def _box(path: str, line: str, *, ticks: bool) -> Box | None:
    """The box of a line; a sign without a list mark is one too, square brackets and words are not."""
    found = _BOX.match(line)
    if not found or not (found["mark"] or found["sign"]) or (found["state"] or "x") in _NO_STATES:
        return None
    if found["sign"] == "✓" and not ticks:
        return None
    state = _STATE_OF.get(found["state"] or found["sign"] or found["word"], "open")
    if state in ("open", "in_progress") and _STRUCK.match(found["text"]):
        state = "done"
    elif state in ("open", "in_progress") and _DROPPED.search(found["text"]):
        state = "cancelled"
    return Box(path, state, found["text"])


class Asked:
    """Questions to one vault, and how many answers agree."""

    def __init__(self, workspace: Workspace, equal: dict[str, list[int]]) -> None:
        self._workspace, self._equal = workspace, equal
        self.different: list[str] = []

    def total(self, about: str, expected: int, kind: str, **filters: Any) -> None:
        """Ask for a number in the first line."""
        said = printed(self._workspace.items(kind, **filters, budget=400))
        stated = re.search(r"items · \w+: ([\d,]+)", said)
        found = int(stated[1].replace(",", "")) if stated else -1
        self._note(about, kind, filters, expected, found)

    def groups(self, about: str, expected: Counter[str], kind: str, group: str) -> None:
        """Ask for a table of groups, as many as the answer shows."""
        said = printed(self._workspace.items(kind, group_by=group, budget=6_000))
        rows = re.findall(r"^\| (.+) \| (\d+) \|$", said, re.MULTILINE)
        for name, count in rows[:MOST_ASKED]:
            self._note(about, kind, {"group_by": group, "row": name}, expected[name], int(count))

    def sum_of_owners(self, total: int) -> None:
        """Group by owner: the groups add up to the total, or the answer says why they do not."""
        said = printed(self._workspace.items("open", group_by="owner", budget=30_000))
        rows = re.findall(r"^\| (?:.+) \| (\d+) \|$", said, re.MULTILINE)
        adds_up = sum(map(int, rows)) == total or "several owners" in said or "more group" in said
        self._note("groups of owners add up", "open", {"group_by": "owner"}, 1, int(adds_up))

    def _note(self, about: str, kind: str, filters: Any, expected: int, found: int) -> None:
        tally = self._equal.setdefault(about, [0, 0])
        tally[0] += 1
        tally[1] += found == expected
        if found != expected:
            name = self._workspace.vault_name
            self.different.append(f"{name}: {kind} {filters}: counted {expected}, answered {found}")


def ask_everything(asked: Asked, root: Path) -> None:
    """Ask every kind of question of a vault."""
    notes = notes_of(root)
    boxes = [
        box
        for path, text in notes.items()
        if not _TEMPLATE.search(path)
        for box in boxes_of(path, text)
    ]
    for kind in STATES:
        of_kind = [box for box in boxes if box.state == kind]
        asked.total("boxes of a state", len(of_kind), kind)
        for branch, count in Counter(branch_of(b.path) for b in of_kind).most_common(MOST_ASKED):
            asked.total("boxes of a state in a branch", count, kind, branch=branch)
    opened = [box for box in boxes if box.state == "open"]
    asked.sum_of_owners(len(opened))
    for group, key in (("branch", branch_of), ("folder", folder_of), ("path", str)):
        asked.groups(f"open by {group}", Counter(key(b.path) for b in opened), "open", group)
        asked.groups(f"notes by {group}", Counter(map(key, notes)), "note", group)
    words = Counter(word for box in opened for word in set(_WORD.findall(box.text.lower())))
    for word, _ in words.most_common(MOST_ASKED):
        with_word = sum(word in box.text.lower() for box in opened)
        asked.total("open with a word", with_word, "open", text=word)
    handles = Counter(name for box in opened for name in set(_HANDLE.findall(box.text.casefold())))
    for name, count in handles.most_common(MOST_ASKED):
        asked.total("open of a handle", count, "open", owner=f"@{name}")
    dated = {path: day for path in notes if (day := _DAY.search(path.rpartition("/")[2]))}
    for branch in sorted({branch_of(path) for path in dated}):
        if not all(path in dated for path in notes if branch_of(path) == branch):
            continue  # other notes of the branch may have dates in their text
        for size, about in ((4, "notes of a year"), (7, "notes of a month")):
            spans = Counter(dated[p][0][:size] for p in dated if branch_of(p) == branch)
            for span, count in spans.most_common(MOST_ASKED):
                asked.total(about, count, "note", branch=branch, since=span, until=span)


def main(words: Sequence[str] | None = None) -> None:
    """Ask the vaults named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("vaults", nargs="+", type=Path, metavar="VAULT")
    equal: dict[str, list[int]] = {}
    different = []
    for vault in parser.parse_args(words).vaults:
        with (
            tempfile.TemporaryDirectory() as index,
            closing(Workspace(vault, Settings(index_dir=index))) as workspace,
        ):
            workspace.build()
            asked = Asked(workspace, equal)
            ask_everything(asked, vault)
            different += asked.different
    print("| question | asked | agree |\n|---|---|---|")
    for about, (number, right) in sorted(equal.items()):
        print(f"| {about} | {number} | {right} |")
    print("", *different, sep="\n")


if __name__ == "__main__":
    main()
