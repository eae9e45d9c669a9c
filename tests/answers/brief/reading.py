"""Parse a brief: `read_brief` relies only on what an agent relies on.

That is the header line, section titles outside quotes, quote marks and source marks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from workingset_mcp.answers.answer import printed
from workingset_mcp.workspace.facade import Workspace

ACME = "cust/acme"
STATUS = "Latest status (verbatim)"
NEWEST = "Newest notes (as written)"
ITEMS = "Open action items"
LABELS = "Recent decisions / owners / blockers"
STANDING = "Standing"
FACTS = "Facts"
MAP = "Where more stands"
LEFT = "Not in this brief"
SHORT_LOG = (
    "=== cust/acme/log.md\n## STATUS (2026-06-11)\n\nFine.\n\n## Work\n\n- [ ] order badges\n"
)
TITLES = (
    "Override (verbatim)",
    STATUS,
    NEWEST,
    ITEMS,
    LABELS,
    STANDING,
    FACTS,
    MAP,
    LEFT,
)

_QUOTE = re.compile(r"<!-- quote (\d+) (.+?)(?::(\d[\d,-]*))? -->")
_TITLE = re.compile(r"## (.+?)(?: \((\d+) of (\d+)(?:; (\d+) boxes)?\))?")
_MARKED = re.compile(r"(.*) _\[(.+)\]_")
_NUMBERED = re.compile(r"(\d{1,6})\| (.*)|(?P<gap>… \d+ more)", re.DOTALL)
_BOX = re.compile(r"- \[(.)\] (.*)")


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote block: the source it names, and its lines."""

    path: str
    numbers: tuple[int, ...]  # empty: the whole file
    lines: tuple[str, ...]
    number: int


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a brief: the counts in its title, its lines outside quotes, its quotes."""

    title: str
    shown: int | None
    total: int | None
    boxes: int | None
    lines: list[str] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)

    @property
    def marked(self) -> list[tuple[str, tuple[str, ...]]]:
        """The lines with a source mark and their sources, including the list mark."""
        found = (_MARKED.fullmatch(line) for line in self.lines)
        return [(m[1], tuple(m[2].split(", "))) for m in found if m]

    @property
    def texts(self) -> list[str]:
        """The texts of the marked lines, without the list mark."""
        return [text.removeprefix("- ") for text, _ in self.marked]


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed answer of `Workspace.brief`."""

    header: str
    warnings: list[str]
    fields: dict[str, Any]
    sections: dict[str, Section]
    text: str

    @property
    def body(self) -> str:
        """The brief below the header and the warnings."""
        return "\n".join(self.text.split("\n")[1 + len(self.warnings) :])

    def section(self, title: str) -> Section:
        """Return a section, or an empty one if the brief does not have it."""
        return self.sections.get(title) or Section(title, None, None, None)

    @property
    def status(self) -> str:
        """`path:first-last` of the status block shown; empty if there is none."""
        quotes = self.section(STATUS).quotes
        return f"{quotes[0].path}:{quotes[0].numbers[0]}-{quotes[0].numbers[-1]}" if quotes else ""

    @property
    def items(self) -> list[tuple[str, str, str]]:
        """State, text and source of every open item shown."""
        boxes = ((_BOX.fullmatch(text), sources) for text, sources in self.section(ITEMS).marked)
        return [(box[1], box[2], ", ".join(sources)) for box, sources in boxes if box]

    @property
    def actions(self) -> list[str]:
        """Texts of the action bullets without a box."""
        lines = self.section(ITEMS).lines
        start = next(
            (at for at, line in enumerate(lines) if line.startswith("Without a box")), None
        )
        below = [] if start is None else lines[start + 1 :]
        return [m[1].removeprefix("- ") for m in map(_MARKED.fullmatch, below) if m]

    @property
    def newest(self) -> list[str]:
        """Lines of the newest notes, without headings and blank lines."""
        section = self.section(NEWEST)
        quoted = [line for quote in section.quotes for line in quote.lines]
        lone = [text for text, _ in section.marked]
        return [line for line in [*quoted, *lone] if line.strip() and not line.startswith("#")]

    @property
    def standing(self) -> list[str]:
        """Lines of the standing section, without headings, blank lines and list marks."""
        section = self.section(STANDING)
        quoted = [line for quote in section.quotes for line in quote.lines]
        said = [line for line in quoted if line.strip() and not line.startswith("#")]
        return [*section.texts, *(line.removeprefix("- ") for line in said)]


def read_brief(answer: str) -> Reading:
    """Parse an answer by its own boundaries."""
    lines = answer.split("\n")
    header, at = lines[0], 1
    while lines[at].startswith("warning: "):
        at += 1
    warnings = lines[1:at]
    assert lines[at] == "---", lines[: at + 1]
    end = lines.index("---", at + 1)
    fields = yaml.safe_load("\n".join(lines[at + 1 : end]))
    assert lines[end + 1] == f"# Brief: {fields['branch']}"
    sections: dict[str, Section] = {}
    current = Section("", None, None, None)
    at = end + 2
    while at < len(lines):
        line = lines[at]
        opened = _QUOTE.fullmatch(line)
        titled = _TITLE.fullmatch(line)
        if opened:
            close = lines.index(f"<!-- /quote {opened[1]} -->", at)
            numbers = tuple(numbers_of(opened[3])) if opened[3] else ()
            quoted = tuple(without_numbers(lines[at + 1 : close], numbers))
            current.quotes.append(Quote(opened[2], numbers, quoted, int(opened[1])))
            at = close
        elif titled:
            assert titled[1] in TITLES, line
            assert titled[1] not in sections, f"{titled[1]} stands twice"
            shown, total, boxes = (int(n) if n else None for n in titled.groups()[1:])
            current = sections[titled[1]] = Section(titled[1], shown, total, boxes)
        elif line:
            current.lines.append(line)
        at += 1
    assert list(sections) == [title for title in TITLES if title in sections]
    return Reading(header, warnings, fields, sections, answer)


def without_numbers(lines: list[str], numbers: tuple[int, ...]) -> Iterator[str]:
    """The lines of a quote as they stand in the note; each number that stands before one must be true."""
    following = iter(numbers)
    for line in lines:
        marked = _NUMBERED.fullmatch(line)
        if marked and marked["gap"]:
            continue
        number = next(following, 0)
        if marked and number:
            assert int(marked[1]) == number, (line, number)
        yield marked[2] if marked and number else line


def numbers_of(ranges: str) -> list[int]:
    """Parse `12-14,20` into line numbers."""
    found: list[int] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def brief(workspace: Workspace, branch: str = ACME, budget: int | None = None) -> Reading:
    return read_brief(printed(workspace.brief(branch, budget)))


def lines_of(workspace: Workspace, path: str) -> list[str]:
    return (workspace.vault.root / path).read_text(encoding="utf-8").split("\n")


def appendix(lines: int = 150) -> str:
    """Return a note that only adds size to a branch: it shows up only among the recent notes."""
    rows = "".join(f"{n:05} reading of the weir gauge, unchecked\n" for n in range(lines))
    return f"=== {ACME}/zz-appendix.md\n# Appendix\n\n```text\n{rows}```\n"


def fence_left_open(lines: list[str]) -> str:
    """Return the fence that these lines leave open, by the rules of CommonMark outside lists."""
    opened, quoted = "", False
    for line in lines:
        if opened and quoted and not line.lstrip().startswith(">"):
            opened = ""  # the block quote has ended, and its code block with it
        bare = re.sub(r"^(?: {0,3}> ?)* {0,3}", "", line)
        matched = re.match(r"(`{3,}(?=[^`]*$)|~{3,})", bare)
        if opened:
            if matched and bare.startswith(opened) and not bare.strip(f"{opened[0]} \t"):
                opened = ""
        elif matched:
            opened, quoted = matched[1], line.lstrip().startswith(">")
    return opened
