"""What single lines of a note say: tasks, labelled lines, lines and rows under headings that make them so.

Each item is one line, verbatim but for its list mark and box, with the line it stands on. Pure: it
reads an `Outline` and gives values. Not here: which of them a brief shows (`brief`), tables (`tables`).
"""

import re
from collections.abc import Iterator

from workingset_mcp.notes.fields import with_fields
from workingset_mcp.notes.lines import (
    DRAWN_BOX,
    LETTERS,
    LIST_MARK,
    OPEN_STATES,
    UNREAD_KIND,
    Item,
    bare_line,
    plain,
    state_of,
    without_comment,
    without_link_targets,
)
from workingset_mcp.notes.outline import BOLD_LEVEL, Heading, LineKind, Outline
from workingset_mcp.notes.patterns import Patterns, patterns_for
from workingset_mcp.notes.people import People
from workingset_mcp.notes.standing import standing_of
from workingset_mcp.notes.statuses import DatedHeadings
from workingset_mcp.notes.tables import rows_of, tables_of
from workingset_mcp.notes.words import ATTENDANCE, GROUP_HEADING, NOTHING
from workingset_mcp.settings import Settings

_TASK = re.compile(
    rf"(?P<lead>[ \t>]*)(?P<mark>(?:{LIST_MARK}|\*{{2,8}})[ \t]+)?{DRAWN_BOX}(?P<text>\S.*)"
)
# What a line of a task holds: an engine skips to one of its first signs many times faster than it tries
# lines like the above.
_MAY_BE_TASK = re.compile(
    r"[\[TDNLWIC☐⬜◻▢□❏☑☒✓](?:(?<=\[)[^\n]\\?\][ \t]|(?<=[☐⬜◻▢□❏☑☒✓])\ufe0f?[ \t]"
    r"|(?:ODO|OING|OW|ATER|AITING|N-PROGRESS|ONE|ANCELL?ED)[ \t])"
)
_OPEN_SIGN = re.compile(r"\n[ \t>]*(?:[-*+•][ \t]+)?[☐⬜◻▢□❏]")
_RISK = re.compile(r"ris[kcqi]|riesgo|ryzyk|风险|風險|リスク|위험|리스크", re.IGNORECASE)
_OTHER_SIGN = r"[^\w\s\[\]…^#]"  # the excluded ones are an omission, a footnote, a reference
_LOOSE_BOX = re.compile(rf"\[(?:[ \txX]{{0,3}}|{_OTHER_SIGN})\]")
# What a person draws as a box and none of the above reads: in a cell, without a list mark or a blank,
# with a sign of their own.
_LOOKS_LIKE_BOX = re.compile(
    rf"[ \t>]*(?:\|(?:[^\n|`]*\|){{0,9}}[ \t]*\[[ xX]\][ \t]|(?P<mark>{LIST_MARK}[ \t]*)?"
    rf"\[[ \txX]{{0,3}}\](?![(\[:])|{LIST_MARK}[ \t]+\[{_OTHER_SIGN}\][ \t])"
)
_SAYS_SOMETHING = re.compile(r"\][^\]\w]*\w")
_BULLET = re.compile(rf"^([ \t>]*){LIST_MARK}[ \t]+(\S.*)$")
_BOX = re.compile(DRAWN_BOX)
_STRUCK = re.compile(r"^[*_]{0,3}~~[^~]+~~[*_]{0,3}\W*$")
_DONE_BULLET = re.compile(r"^(?:✅|✔\ufe0f?|☑)")
_CANCELLED_DAY = re.compile(r"❌\ufe0f?[ \t]*\d{4}-\d\d-\d\d")
_WEAK_SIGNS = (
    "✅✔✓□▢❏"  # also signs of emphasis, and bullets: boxes only in a list or under a heading
)
_MOST_CHILDREN = 40


def items_of(
    outline: Outline, settings: Settings, dated: DatedHeadings, *, note_date: str, template: bool
) -> list[Item]:
    """Every item of a note, in line order; standing lines only where the note has no date.

    The boxes of a template are nobody's work.
    """
    reader = _Reader(outline, patterns_for(settings), People(outline.flat), dated=bool(note_date))
    found = {item.line: item for item in reader.labelled()}
    labels = frozenset(found)
    for item in reader.under_headings():
        found.setdefault(item.line, item)
    for item in () if template else reader.tasks(labels):
        found[item.line] = item
    for item in () if template else reader.unread():
        found.setdefault(item.line, item)
    if not note_date:
        for item in standing_of(outline):
            found.setdefault(item.line, item)
    return [
        with_fields(found[line], dated.at(line), note_date, settings, reader.people)
        for line in sorted(found)
        if found[line].kind in ("task", UNREAD_KIND) or not NOTHING.match(found[line].text)
    ]


class _Reader:
    """One pass over a note for each form of item."""

    def __init__(
        self, outline: Outline, patterns: Patterns, people: People, *, dated: bool
    ) -> None:
        self.people = people
        self._dated = dated
        self._outline, self._patterns = outline, patterns
        self._owner_at: dict[int, str] = {}  # of lines below a person's name
        self._under = bytearray(len(outline.lines) + 1)  # 1 for lines below a heading of items
        self._in_lists = bytearray()  # for each line, whether it continues a list item; made late
        self._boxes: set[int] = set()  # lines whose box was read, as a task or as something else

    # -- boxes -------------------------------------------------------------------------------------

    def tasks(self, labels: frozenset[int]) -> Iterator[Item]:
        """Boxes in all their forms, but those that tick who is present."""
        for line in self._outline.lines_with(_MAY_BE_TASK, self._outline.flat):
            drawn = _TASK.match(self._outline.lines[line - 1])
            text = without_comment(drawn["text"]) if drawn else ""
            if not drawn or not text or not self._is_box(line, drawn, labels):
                continue
            self._boxes.add(line)
            if self._ticks_attendance(line):
                continue
            state = state_of(drawn)
            if state in OPEN_STATES and _STRUCK.match(text):
                state = "x"
            elif state in OPEN_STATES and _CANCELLED_DAY.search(text):
                state = "-"
            owner = self._owner_at.get(line, "")
            yield Item(line, "task", text, state=state, owners=(owner,) if owner else ())

    def _is_box(self, line: int, drawn: re.Match[str], labels: frozenset[int]) -> bool:
        outline, sign = self._outline, drawn["sign"]
        if outline.kinds[line - 1] != LineKind.TEXT:
            return False
        if drawn["word"] and drawn["text"].isupper():
            return False  # `CANCELED FOR THE HOLIDAYS`: a sentence
        if drawn["mark"]:
            if sign and sign in _WEAK_SIGNS and line in labels:
                return False
            if sign == "✓" and not self._under[line] and not _OPEN_SIGN.search(outline.flat):
                return False  # what a product can do, not what was done
            return line in outline.item_depth or self._inside_list(line) or "**" in drawn["mark"]
        if not sign or len(drawn["lead"].expandtabs(4)) > 3:
            return False  # `[ ] text` without a list mark is told as not read
        return sign not in _WEAK_SIGNS or bool(self._under[line])

    def _inside_list(self, line: int) -> bool:
        """Whether a line continues a list item (CommonMark reads a deep tab as text)."""
        if not self._in_lists:
            inside = False
            for number, text in enumerate(self._outline.lines, start=1):
                inside = bool(text.strip()) and (inside or number in self._outline.item_depth)
                self._in_lists.append(inside)
        return bool(self._in_lists[line - 1])

    def _ticks_attendance(self, line: int) -> bool:
        """Return whether a box is under a heading or a label for who was present."""
        outline = self._outline
        if any(ATTENDANCE.match(mark.text) for mark in outline.marks_above(line)):
            return True
        for above in range(line - 1, max(0, line - _MOST_CHILDREN), -1):
            text = outline.lines[above - 1]
            if above in outline.item_depth or not text.strip():
                continue
            return outline.kinds[above - 1] == LineKind.TEXT and bool(
                ATTENDANCE.match(text.strip(" \t*_>"))
            )
        return False

    def unread(self) -> Iterator[Item]:
        """Lines that look like a box and are none to us: they are counted, so that none is lost unseen."""
        outline = self._outline
        for line in outline.lines_with(_LOOSE_BOX, outline.flat):
            drawn = _LOOKS_LIKE_BOX.match(outline.lines[line - 1])
            if not drawn:
                continue
            kind = outline.kinds[line - 1]
            stands = kind == LineKind.TABLE or (
                kind == LineKind.TEXT
                and ((drawn["mark"] or "")[-1:] not in (" ", "\t") or self._inside_list(line))
            )
            text = without_comment(outline.lines[line - 1].strip())
            is_said = stands and line not in self._boxes and _SAYS_SOMETHING.search(text)
            if is_said and not self._ticks_attendance(line):
                yield Item(line, UNREAD_KIND, text)

    # -- labels ------------------------------------------------------------------------------------

    def labelled(self) -> Iterator[Item]:
        """Lines that begin with a label, and the bullets below a label without text."""
        outline, patterns = self._outline, self._patterns
        for line, matched in outline.lines_like(patterns.label):
            if outline.kinds[line - 1] != LineKind.TEXT:
                continue
            key = matched["boxed"] or matched["key"]
            if key.upper() in ("AI", "AP") and not key.isupper():
                continue
            kind = patterns.kind_of_label[plain(key)]
            text = matched["text"].strip(" \t*_`")
            if text:  # one that only says none holds its place, so that no other reading takes it
                whole = without_comment(bare_line(outline.lines[line - 1]))
                yield Item(line, kind, text if NOTHING.match(text) else whole, form="label")
            else:
                for child, words in self._children(line):
                    if kind != "owner" or "](" not in words:  # `Owners:` above links to their files
                        form = "bullet" if kind == "action" else "label"
                        yield Item(child, kind, words, form=form)

    def _children(self, line: int) -> Iterator[tuple[int, str]]:
        """The bullets nested below a label that has no text of its own, or standing right behind it."""
        outline = self._outline
        own = outline.item_depth.get(line, 0)
        for below in range(line + 1, min(line + _MOST_CHILDREN, len(outline.lines)) + 1):
            text = outline.lines[below - 1]
            if not text.strip():
                continue
            depth = outline.item_depth.get(below, 0)
            if outline.kinds[below - 1] != LineKind.TEXT or (
                below in outline.item_depth and depth <= own
            ):
                return
            bullet = _BULLET.match(text)
            if depth == own + 1 and bullet and _is_open_bullet(bullet[2]):
                yield below, without_comment(bullet[2])
            elif depth == 0 and not text.startswith((" ", "\t")):
                return

    # -- headings ----------------------------------------------------------------------------------

    def under_headings(self) -> Iterator[Item]:
        """Bullets, lines and rows under headings that make them actions, decisions or blockers."""
        marks, patterns = self._outline.marks, self._patterns
        at = 0
        while at < len(marks):
            mark, kind = marks[at], patterns.kind_under(marks[at].text)
            at += 1
            if not kind or self._only_describes(kind, mark.text):
                continue
            yield from self._lines_under(kind, mark, "")
            while (
                at < len(marks) and marks[at].level > mark.level and self._is_group(kind, marks[at])
            ):
                yield from self._lines_under(kind, marks[at], self._person_of(marks[at]))
                at += 1
        for table in tables_of(self._outline):
            if not self._under[table.first]:
                yield from rows_of(table, "", self._patterns)

    def _only_describes(self, kind: str, heading: str) -> bool:
        """Whether a heading opens a description: a register of risks, or what actors of a system do."""
        if kind == "blocker":
            return not self._dated and bool(_RISK.search(heading))
        if kind == "action" and heading.casefold().strip(" *_:") == "actions":
            return any(
                mark.text.casefold().strip(" *_:") == "actors" for mark in self._outline.marks
            )
        return False

    def _is_group(self, kind: str, mark: Heading) -> bool:
        """Whether a heading below one of actions only groups them: by person, by urgency, by time."""
        if kind != "action" or self._patterns.kind_under(mark.text):
            return False
        may_be_person = self.people.bare_name(mark.text, alone=mark.level < BOLD_LEVEL)
        return bool(may_be_person or GROUP_HEADING.match(mark.text))

    def _person_of(self, mark: Heading) -> str:
        """The person that a heading of a group names; a bold full name needs no other mention."""
        is_full = mark.level == BOLD_LEVEL and " " in mark.text.strip()
        return self.people.bare_name(mark.text, alone=not is_full)

    def _last_line(self, mark: Heading) -> int:
        following = self._outline.mark_after(mark.line)
        return following.line - 1 if following else len(self._outline.lines)

    def _lines_under(self, kind: str, mark: Heading, owner: str) -> Iterator[Item]:
        """The items below one heading up to the next; `owner`: the person that the heading names."""
        outline, first, last = self._outline, mark.last_line + 1, self._last_line(mark)
        self._under[first : last + 1] = b"\1" * (last + 1 - first)
        for table in tables_of(outline, first, last) if kind != "blocker" else ():
            yield from rows_of(table, kind, self._patterns)
        own_depth = outline.item_depth.get(mark.line, 0)  # of a heading that opens a list item
        in_first_paragraph = bullets = False
        person = ""  # the bullet above that only names someone: the bullets below it are theirs
        for line in range(first, last + 1):
            text = outline.lines[line - 1]
            if outline.kinds[line - 1] != LineKind.TEXT or not text.strip():
                if kind == "decision" and in_first_paragraph:
                    return  # the first paragraph is the decision; what follows explains it
            elif bullet := _BULLET.match(text):
                depth, bullets = outline.item_depth.get(line, 0) - own_depth, True
                if depth == 1:
                    person = self._person_above_bullets(line, bullet[2])
                item = self._bullet(kind, line, bullet[2], person or owner, depth - bool(person))
                if item:
                    yield item
            elif name := self._person_before_bullets(line, text):
                owner = name
            elif (
                kind != "blocker"
                and not (bullets and kind == "decision")
                and _is_paragraph_line(text)
                and not (kind == "action" and self._introduces(mark, line, text))
            ):
                in_first_paragraph = True
                form = "line" if kind == "action" else "heading"
                yield Item(line, kind, without_comment(text.strip()), form=form)

    def _bullet(self, kind: str, line: int, text: str, owner: str, depth: int) -> Item | None:
        """Return a bullet as an item if it is at the outermost level and has no box."""
        if owner:
            self._owner_at[line] = owner
        if depth != 1 or not _is_open_bullet(text):
            return None
        owners = (owner,) if owner else ()
        return Item(line, kind, without_comment(text), form=_form(kind), owners=owners)

    def _person_above_bullets(self, line: int, text: str) -> str:
        """The person that a bullet names and nothing else, if bullets are nested below it."""
        below = self._outline.item_depth.get(line + 1, 0) or self._outline.item_depth.get(
            line + 2, 0
        )
        return self.people.bare_name(text, alone=False) if below == 2 else ""

    def _introduces(self, mark: Heading, line: int, text: str) -> bool:
        """Return whether a line only introduces a list: it comes before the list, or at the start of the note."""
        if text.rstrip().endswith((":", "：")):
            return True
        outline = self._outline
        below = range(line + 1, min(line + 2, len(outline.lines)) + 1)
        next_said = next((at for at in below if outline.lines[at - 1].strip()), 0)
        if next_said in outline.item_depth or (
            next_said and outline.kind(next_said) == LineKind.TABLE
        ):
            return True
        return mark.level == 1 and mark is not self._outline.marks[-1]

    def _person_before_bullets(self, line: int, text: str) -> str:
        """The person that a line of text names and nothing else, if a list begins behind it."""
        depths = self._outline.item_depth
        if not (line + 1 in depths or line + 2 in depths):
            return ""
        return self.people.bare_name(text, alone=True)


def _form(kind: str) -> str:
    return "bullet" if kind == "action" else "heading"


def _is_open_bullet(text: str) -> bool:
    """Return whether a bullet has no box (a box is a task) and is neither struck out nor ticked."""
    return text[0].islower() or not (
        _BOX.match(text) or _STRUCK.match(text) or _DONE_BULLET.match(text)
    )


def _is_paragraph_line(text: str) -> bool:
    stripped = without_comment(text.strip())
    if (
        text.startswith(("  ", "\t", "<", "|"))
        or not LETTERS.search(stripped)
        or _STRUCK.match(stripped)
    ):
        return False
    return len(without_link_targets(stripped)) > 8
