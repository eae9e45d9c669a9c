"""What single lines of a note say: tasks, labelled lines, lines under headings that make them so.

Each item is one line, verbatim but for its list mark and box, with the line it stands on. Pure: it
reads an `Outline` and gives values. Not here: which of them a brief shows (`brief`).
"""

import re
from collections.abc import Iterator

from workingset_mcp.notes.fields import with_fields
from workingset_mcp.notes.lines import (
    LETTERS,
    LIST_MARK,
    TASK_BOX,
    Item,
    bare_line,
    plain,
    without_comment,
    without_link_targets,
)
from workingset_mcp.notes.outline import LineKind, Outline
from workingset_mcp.notes.patterns import Patterns, patterns_for
from workingset_mcp.notes.standing import standing_of
from workingset_mcp.notes.statuses import DatedHeadings
from workingset_mcp.settings import Settings

_TASK = re.compile(rf"\n[ \t>]*{LIST_MARK}[ \t]+\[([ xX/\-><!?])\][ \t]+(\S[^\n]*)")
_TASK_BOX = re.compile(TASK_BOX)
_BULLET = re.compile(rf"^([ \t>]*){LIST_MARK}[ \t]+(\S.*)$")
_BOX = re.compile(r"^\[[^\[\]]?\](?:[ \t]|$)")
_NOTHING = re.compile(
    r"^\W*(?:none|n/?a|nothing|no(?:ne)? (?:new|open|action items?)|tbd|keine?|nichts|なし|无|없음)\W*$",
    re.IGNORECASE,
)


def items_of(
    outline: Outline, settings: Settings, dated: DatedHeadings, *, undated: bool
) -> list[Item]:
    """Every item of a note, in line order; standing lines only where the note has no date."""
    patterns = patterns_for(settings)
    found = {item.line: item for item in _labelled(outline, patterns)}
    for item in _under_headings(outline, patterns):
        found.setdefault(item.line, item)
    for item in _tasks(outline):
        found[item.line] = item
    if undated:
        for item in standing_of(outline):
            found.setdefault(item.line, item)
    return [
        with_fields(found[line], dated.at(line), settings)
        for line in sorted(found)
        if found[line].kind == "task" or not _NOTHING.match(found[line].text)
    ]


def _tasks(outline: Outline) -> Iterator[Item]:
    if not _TASK_BOX.search(outline.flat):
        return
    inside: bytes = b""
    for line, matched in outline.lines_like(_TASK):
        if outline.kinds[line - 1] != LineKind.TEXT:
            continue
        if line not in outline.item_depth:
            inside = inside or _inside_lists(outline)
            if not inside[line - 1]:
                continue
        text = without_comment(matched[2])
        if text:
            yield Item(line, "task", text, state=matched[1])


def _inside_lists(outline: Outline) -> bytes:
    """Which lines continue a list item (CommonMark reads a deep tab as text): a byte for each."""
    inside = False
    found = bytearray()
    for line, text in enumerate(outline.lines, start=1):
        inside = bool(text.strip()) and (inside or line in outline.item_depth)
        found.append(inside)
    return bytes(found)


def _labelled(outline: Outline, patterns: Patterns) -> Iterator[Item]:
    for line, matched in outline.lines_like(patterns.label):
        if outline.kinds[line - 1] != LineKind.TEXT:
            continue
        key = matched["boxed"] or matched["key"]
        if key.upper() in ("AI", "AP") and not key.isupper():
            continue
        kind = patterns.kind_of_label[plain(key)]
        if matched["text"].strip(" \t*_"):
            yield Item(
                line, kind, without_comment(bare_line(outline.lines[line - 1])), form="label"
            )
        else:
            for child, text in _children(outline, line):
                yield Item(child, kind, text, form="label")


def _children(outline: Outline, line: int) -> Iterator[tuple[int, str]]:
    """The bullets nested below a label that has no text of its own, or standing right behind it."""
    own = outline.item_depth.get(line, 0)
    for below in range(line + 1, min(line + 40, len(outline.lines)) + 1):
        text = outline.lines[below - 1]
        if not text.strip():
            continue
        depth = outline.item_depth.get(below, 0)
        if outline.kinds[below - 1] != LineKind.TEXT or (
            below in outline.item_depth and depth <= own
        ):
            return
        bullet = _BULLET.match(text)
        if depth == own + 1 and bullet and not _BOX.match(bullet[2]):
            yield below, without_comment(bullet[2])
        elif depth == 0 and not text.startswith((" ", "\t")):
            return


def _under_headings(outline: Outline, patterns: Patterns) -> Iterator[Item]:
    """Bullets and paragraph lines under headings that make them actions or decisions."""
    marks = outline.marks
    for at, mark in enumerate(marks):
        kind = patterns.kind_under(mark.text)
        if not kind:
            continue
        last = marks[at + 1].line - 1 if at + 1 < len(marks) else len(outline.lines)
        yield from _lines_under(outline, kind, mark.last_line + 1, last)


def _lines_under(outline: Outline, kind: str, first: int, last: int) -> Iterator[Item]:
    form = "bullet" if kind == "action" else "heading"
    in_first_paragraph = bullets = False
    for line in range(first, last + 1):
        text = outline.lines[line - 1]
        if outline.kinds[line - 1] != LineKind.TEXT or not text.strip():
            if kind == "decision" and in_first_paragraph:
                return  # the first paragraph is the decision; what follows explains it
            continue
        bullet = _BULLET.match(text)
        if bullet:
            if outline.item_depth.get(line) == 1 and not _BOX.match(bullet[2]):
                bullets = True
                yield Item(line, kind, without_comment(bullet[2]), form=form)
        elif not (bullets and kind == "decision") and _is_paragraph_line(text):
            in_first_paragraph = True
            yield Item(line, kind, without_comment(text.strip()), form=form)


def _is_paragraph_line(text: str) -> bool:
    stripped = without_comment(text.strip())
    if text.startswith(("  ", "\t", "<", "|")) or not LETTERS.search(stripped):
        return False
    return len(without_link_targets(stripped)) > 8
