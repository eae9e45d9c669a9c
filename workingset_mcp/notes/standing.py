"""What an undated note says that always holds: its lead, meeting rhythm and roles, contacts, rules."""

import re
from collections.abc import Iterator
from functools import cache

from workingset_mcp.notes.lines import (
    LETTERS,
    Item,
    bare_line,
    without_comment,
    without_link_targets,
)
from workingset_mcp.notes.outline import LineKind, Outline
from workingset_mcp.notes.words import (
    CONTACT,
    FORMER,
    RHYTHM,
    ROLE,
    ROLE_HEADING,
    RULE,
    UPDATED,
    hints_of,
    plainly,
)

MOST_LINE_CHARACTERS = 1_200
_MARKUP = re.compile(r"\([\w:.-]+\)=$|:::")  # targets and directives of documentation tools
_LEAD = re.compile(r"^[^\[(<!:%$|>#=\-*_`~\d][^|]*$")


def standing_of(outline: Outline) -> Iterator[Item]:
    """The standing lines of a note, in order."""
    likely, lead_wanted = _likely(outline), True
    for number, raw in enumerate(outline.lines, start=1):
        if not (lead_wanted or number in likely):
            continue
        kind = outline.kinds[number - 1]
        if kind not in (LineKind.TEXT, LineKind.TABLE) or len(raw) > MOST_LINE_CHARACTERS:
            continue
        text = raw.strip()
        if len(text) < 8 or not LETTERS.search(text) or text.endswith("?"):
            continue
        if _MARKUP.match(text) or _goes_on(outline, number, text):
            continue
        standing = _standing_kind(outline, number, text, kind) if number in likely else ""
        is_lead = lead_wanted and kind == LineKind.TEXT and _LEAD.match(text) and len(text) >= 30
        lead_wanted = lead_wanted and not is_lead and number not in outline.item_depth
        if standing or is_lead:
            yield Item(number, standing or "lead", without_comment(bare_line(raw)))


@cache
def _hints(*, in_ascii: bool) -> list[re.Pattern[str]]:
    return hints_of((RHYTHM, ROLE, UPDATED, CONTACT, RULE), in_ascii=in_ascii)


def _likely(outline: Outline) -> set[int]:
    """Every line that may be a standing one, and few others: looked for in the text as a whole."""
    found: set[int] = set()
    said = f"\n{plainly(outline.flat)[1:]}"
    for pattern in _hints(in_ascii=said.isascii()):
        found.update(outline.lines_with(pattern, said))
    ends = [*outline.mark_lines[1:], len(outline.lines) + 1]
    for mark, end in zip(outline.marks, ends, strict=False):
        if ROLE_HEADING.match(mark.text):
            found.update(range(mark.line, end))
    return found


def _goes_on(outline: Outline, number: int, text: str) -> bool:
    """Whether a line is the later part of a sentence that was wrapped: alone it says nothing."""
    if not text[0].islower() or number in outline.item_depth or number < 2:
        return False
    return outline.kinds[number - 2] == LineKind.TEXT and bool(outline.lines[number - 2].strip())


def _standing_kind(outline: Outline, number: int, text: str, kind: int) -> str:
    above = outline.heading_above(number)
    if above and FORMER.match(above.text):
        return ""
    said = plainly(text)
    if len(text) < 400 and any(phrases.stand_in(said) for phrases in (RHYTHM, ROLE, UPDATED)):
        return "rhythm"
    listed = kind == LineKind.TABLE or number in outline.item_depth
    if listed and above and ROLE_HEADING.match(above.text) and not _is_table_head(outline, number):
        return "rhythm"
    if CONTACT.stand_in(said):
        return "contact"
    if (
        kind == LineKind.TEXT
        and 20 <= _width(without_link_targets(text)) <= 600
        and RULE.stand_in(said)
    ):
        return "rule"
    return ""


def _width(text: str) -> int:
    """The length of a text; a sign of a script without blanks says as much as two letters."""
    return len(text) + len(text.encode()) // 3 - len(text) // 3 if not text.isascii() else len(text)


def _is_table_head(outline: Outline, number: int) -> bool:
    """Whether a line is the rule of a table, or the head right above it."""
    around = outline.lines[number - 1 : number + 1]
    return any(line.strip() and set(line.strip()) <= set("|-: ") for line in around)
