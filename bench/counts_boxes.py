"""Count the boxes of a note a second time, from the written description and from CommonMark.

Walks the lines of a note through its containers (list items, block quotes) as CommonMark opens and closes them, so it
knows fences, indented code, comments and headings wherever they stand. Knows boxes in all their forms (square
brackets, also escaped; drawn signs; words) and lines that look like a box and are none that can be counted. Uses none
of the product's code.

A ticked sign (`✓`) counts only behind a list mark, in a note that draws open boxes too: elsewhere it says what a
product can do. A box without a text is none. A digit in brackets is a reference. A line below a heading of actions
that looks like a box is an action there, so it is read. Below a label such as `Attendees:`, the outer items are people.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

OPEN, DONE, IN_PROGRESS, CANCELLED, UNREAD = "open", "done", "in_progress", "cancelled", "unread"
_SUFFIXES = {".md", ".mdx", ".markdown"}
_SKIPPED_FOLDERS = {"node_modules", "dist", "build", "venv", "__pycache__"}
_TEMPLATE = re.compile(
    r"(?:^|[/_. -])(?:templates?|vorlagen?|模板)/"  # a folder of them
    r"|(?:^|/)(?:template|vorlage|模板)[_. -]|(?:^|[/_. -])(?:template|vorlage|模板)\.md$",
    re.IGNORECASE,
)
_CHECKLIST = re.compile(r"checklist\.md$", re.IGNORECASE)
_TICKED = re.compile(r"^[ \t>]*(?:[-*+]|\d+[.)])[ \t]+\[[xX]\]", re.MULTILINE)

_QUOTE = re.compile(r" {0,3}> ?")
_MARK = re.compile(r" {0,3}(?:[-*+]|(?P<number>\d{1,9})[.)])(?P<gap> +|$)")
_RULE = re.compile(r" {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_RAW = re.compile(r" {0,3}(?:(?P<comment><!--)|<(?P<tag>pre|script|style|textarea)\b)", re.I)
_HEADING = re.compile(r" {0,3}(#{1,6})(?: +(.*?))?(?: +#+)? *$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+) *$")
_CODE_INDENT = " " * 4

_OPEN_SIGNS = "☐◻⬜▢□❏"
_SIGNS = f"{_OPEN_SIGNS}☑☒"
_WORDS = "TODO|DOING|NOW|LATER|WAITING|IN-PROGRESS|DONE|CANCELL?ED"
_BRACKETS = re.compile(r"\\?\[(?P<state>[^\s\d\[\]\\(^]|[ \u3000])\\?\] +(?P<text>\S.*)")
_SIGN = re.compile(rf"(?P<state>[{_SIGNS}])\ufe0f? +(?P<text>\S.*)")
_TICK = re.compile(r"(?P<state>✓)\ufe0f? +(?P<text>\S.*)")
_WORD = re.compile(rf"(?P<state>{_WORDS}) +(?P<text>\S.*)")
_ORG = re.compile(rf"\*+ +(?P<state>{_WORDS}) +(?P<text>\S.*)")
_BULLET = re.compile(r"•[ \t]*")
_OPEN_SIGN = re.compile(rf"^[ \t>]*(?:[-*+•][ \t]+)?[{_OPEN_SIGNS}]", re.MULTILINE)
_STATE_OF = {
    **dict.fromkeys("xX☑☒✓", DONE), **dict.fromkeys("-<>", CANCELLED), "/": IN_PROGRESS,
    "DONE": DONE, "CANCELLED": CANCELLED, "CANCELED": CANCELLED, "DOING": IN_PROGRESS,
    "IN-PROGRESS": IN_PROGRESS,
}  # fmt: skip
_STRUCK = re.compile(r"~~[^~]+~~\W*$")
_DROPPED = re.compile(r"❌\ufe0f?[ \t]*20\d\d-\d\d-\d\d")
_SHOUTED = re.compile(r"(?!TODO)\w+ (?:\W*\b[A-Z]{2,}\b){2,}[^a-z]*$")
_LOOKS = re.compile(
    r"(?:[*_~]{1,3}|[-*+•])?"
    r"\\?\[(?:[ \u3000]*|[ \u3000]*[xX]+[ \u3000]*|[^\w\s\[\]\\(^])\\?\](?![(\[:])\ufe0f? *(?=\w|\W*\w)"
)
_ATTENDANCE = re.compile(
    r"\W*(?:\w+ )?(?:attend(?:ees?|ance|ants|ing)|present|absent|absences|apologies|regrets|participants"
    r"|anwesend\w*|abwesend\w*|teilnehm\w*|présents?|asistentes|出席者?|参会\w*)"
    r"(?:\W*(?:and|und|&|/|,)?\W*(?:members?|list|apologies|regrets|absent|present|guests))*"
    r"(?: *\([^)]*\))?\W*$",
    re.IGNORECASE,
)
_ACTIONS = re.compile(r"[\W\d]*(?:action|next steps?\b|to-?dos?\b)", re.IGNORECASE)


class Box(NamedTuple):
    """A box of a note, or a line that looks like one."""

    path: str
    line: int
    state: str
    text: str


def notes_of(root: Path) -> dict[str, str]:
    """Texts of the notes by path, without hidden folders and folders of programs."""
    found = {}
    for file in sorted(one for one in root.rglob("*") if one.suffix in _SUFFIXES):
        path = file.relative_to(root)
        if not any(part.startswith(".") or part in _SKIPPED_FOLDERS for part in path.parts):
            found[path.as_posix()] = file.read_text(encoding="utf-8-sig", errors="replace")
    return found


def is_template(path: str, text: str) -> bool:
    """Whether a note is a form to copy: by its folder or name, or a checklist without a tick."""
    return bool(_TEMPLATE.search(path)) or bool(
        _CHECKLIST.search(path) and not _TICKED.search(text)
    )


def boxes_of(path: str, text: str) -> Iterator[Box]:
    """Boxes of a note, and what looks like one; none in templates and attendance lists."""
    if is_template(path, text):
        return
    ticks = bool(_OPEN_SIGN.search(text))
    for block in blocks_of(text):
        if found := _box(block, ticks=ticks) or _look(block):
            yield Box(path, block.line, *found)


class Block(NamedTuple):
    """A line of text that is no code: what stands behind the marks of its containers."""

    line: int
    text: str
    in_item: bool = False  # the first line of a list item
    heading: bool = False
    action: bool = (
        False  # a list item, or the first line of a paragraph, below a heading of actions
    )


def _box(block: Block, *, ticks: bool) -> tuple[str, str] | None:
    """State and text of the box of a line; a sign without a list mark is one too."""
    if block.heading:
        return None
    bullet = _BULLET.match(block.text)
    text = block.text[bullet.end() :] if bullet else block.text
    listed = block.in_item or bool(bullet)
    forms = (_SIGN, _BRACKETS, _WORD, *([_TICK] if ticks else ())) if listed else (_SIGN, _ORG)
    found = next((match for form in forms if (match := form.match(text))), None)
    if not found or _SHOUTED.match(found[0]):
        return None
    sign = found["state"]
    if found.re is _BRACKETS and not sign.isascii() and sign != "\u3000":
        return UNREAD, found["text"]
    state = _STATE_OF.get(sign, OPEN)
    if state in (OPEN, IN_PROGRESS) and _STRUCK.match(found["text"]):
        state = DONE
    elif state in (OPEN, IN_PROGRESS) and _DROPPED.search(found["text"]):
        state = CANCELLED
    return state, found["text"]


def _look(block: Block) -> tuple[str, str] | None:
    """Whether a line, or a cell of a table, looks like a box."""
    in_table = block.text.startswith("|")
    cells = block.text.split("|") if in_table else [block.text]
    looks = any(
        _LOOKS.match(cell) or (in_table and cell[:1] in tuple(_OPEN_SIGNS))
        for cell in map(str.strip, cells)
    )
    return (UNREAD, block.text) if looks and not block.action else None


def blocks_of(text: str) -> Iterator[Block]:
    """Lines of a note that are no code, comment or front matter, without lists of who was there."""
    walk = _Walk()
    lines = re.split(r"\r\n|\n|\r", text)
    first = _after_front_matter(lines)
    for number, line in enumerate(lines[first:], first + 1):
        following = lines[number] if number < len(lines) else ""
        if (block := walk.step(number, line.expandtabs(4), following)) and not walk.of_attendance:
            yield block


def _after_front_matter(lines: list[str]) -> int:
    """The index of the first line behind the front matter."""
    if lines[0].rstrip() != "---":
        return 0
    inside = sum(1 for _ in takewhile(lambda line: line.rstrip() not in ("---", "..."), lines[1:]))
    return inside + 2 if inside + 1 < len(lines) else 0


class _Walk:
    """Where a walk through the lines of a note stands."""

    def __init__(self) -> None:
        self._containers: list[int] = []  # the width of a list item, 0 for a quote
        self._people: list[bool] = []  # for each container: is it a list of who was there
        self._fence = ""  # what ends a fence, a comment or raw text
        self._fence_depth = 0
        self._paragraph = False
        self._headings: list[tuple[int, str]] = []
        self._label = False  # the last label was one of who was there

    @property
    def of_attendance(self) -> bool:
        """The line stands below a heading or a label of who was there."""
        below = any(_ATTENDANCE.match(text) for _, text in self._headings[-1:])
        outer = len(self._containers) <= 1
        return below or (self._label and outer) or any(self._people[:-1])

    def step(self, number: int, line: str, following: str) -> Block | None:
        """Take in a line."""
        kept, rest = self._matched(line)
        if self._fence:
            if kept >= self._fence_depth:
                if self._ends(rest):
                    self._fence = ""
                return None
            self._fence = ""
        lazy = self._paragraph and kept < len(self._containers)
        goes_on = self._paragraph and not lazy
        opened, rest, in_item = self._opened(rest, goes_on=goes_on)
        if lazy and not opened and rest.strip() and not self._is_block(rest):
            return Block(number, rest.strip())
        if kept < len(self._containers) or opened:
            goes_on = False
        self._containers = [*self._containers[:kept], *opened]
        self._people = [*self._people[:kept], *(False for _ in opened)]
        return self._leaf(number, rest, following, in_item=in_item, goes_on=goes_on)

    def _matched(self, line: str) -> tuple[int, str]:
        """How many containers go on in a line, and the rest of it."""
        for index, width in enumerate(self._containers):
            if not width:
                quote = _QUOTE.match(line)
                if not quote:
                    return index, line
                line = line[quote.end() :]
            elif not line.strip():
                line = ""
            elif line[:width].strip():
                return index, line
            else:
                line = line[width:]
        return len(self._containers), line

    def _ends(self, rest: str) -> bool:
        """Whether the rest of a line ends what is no text."""
        if self._fence[0] not in "`~":
            return self._fence in rest.lower()
        bare = rest.strip()
        closes = bare.startswith(self._fence) and not bare.strip(self._fence[0])
        return closes and not rest.startswith(_CODE_INDENT)

    def _opened(self, rest: str, *, goes_on: bool) -> tuple[list[int], str, bool]:
        """The containers that begin in a line, the rest of it, and whether a list item begins."""
        opened: list[int] = []
        in_item = False
        while not rest.startswith(_CODE_INDENT):
            if quote := _QUOTE.match(rest):
                opened.append(0)
                rest, in_item = rest[quote.end() :], False
                continue
            mark = _MARK.match(rest)
            if not mark or _RULE.match(rest):
                break
            bare = not rest[mark.end() :].strip()
            if goes_on and not opened and (bare or mark["number"] not in (None, "1")):
                break  # such an item does not interrupt a paragraph
            gap = len(mark["gap"])
            width = mark.end() - gap + (1 if bare or gap > 4 else gap)
            opened.append(width)
            rest, in_item = rest[width:], True
        return opened, rest, in_item

    @staticmethod
    def _is_block(rest: str) -> bool:
        """Whether the rest of a line begins a block that is no paragraph."""
        forms = (_FENCE, _HEADING, _RULE, _RAW)
        return any(form.match(rest) for form in forms)

    def _leaf(
        self, number: int, rest: str, following: str, *, in_item: bool, goes_on: bool
    ) -> Block | None:
        """The text of a line, once its containers are known."""
        if not rest.strip():
            self._paragraph = False
            return None
        if rest.startswith(_CODE_INDENT) and not goes_on:
            self._paragraph = False
            return None
        if self._opens_raw(rest):
            self._paragraph = False
            return None
        if heading := _HEADING.match(rest):
            self._under(len(heading[1]), heading[2] or "")
            return Block(number, heading[2] or "", heading=True)
        if _RULE.match(rest) or (goes_on and _UNDERLINE.match(rest)):
            self._paragraph = False
            return None
        text = rest.strip()
        if not goes_on and not self._containers and _UNDERLINE.match(following or "x"):
            self._under(1 if following.strip()[0] == "=" else 2, text)
        elif not goes_on:
            self._labelled(text, in_item=in_item)
        self._paragraph = True
        below = any(_ACTIONS.match(heading) for _, heading in self._headings)
        return Block(number, text, in_item=in_item, action=below and not goes_on)

    def _opens_raw(self, rest: str) -> bool:
        """Whether a line opens a fence, a comment or raw text; one that ends there too is passed."""
        fence, raw = _FENCE.match(rest), _RAW.match(rest)
        if fence:
            self._fence = fence[1]
        elif raw:
            self._fence = "-->" if raw["comment"] else f"</{raw['tag'].lower()}>"
            if self._ends(rest):
                self._fence = ""
        self._fence_depth = len(self._containers)
        return bool(fence or raw)

    def _under(self, level: int, text: str) -> None:
        """Go below a heading."""
        self._headings = [*(one for one in self._headings if one[0] < level), (level, text)]
        self._paragraph = self._label = False

    def _labelled(self, text: str, *, in_item: bool) -> None:
        """Note a label: a list item labels what is nested in it, a line of its own what follows."""
        label = bool(_ATTENDANCE.match(text)) and (":" in text or text[:2] in ("**", "__"))
        if in_item:
            self._people[-1] = label
        elif not self._containers:
            self._label = label
