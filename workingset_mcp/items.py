"""What single lines of a note say: tasks, labelled lines, decisions, standing facts, statuses.

Each item is one line, verbatim but for its list mark and box, with the line it stands on. Pure: it
reads an `Outline` and gives values. Not here: which of them a brief shows (`brief`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from workingset_mcp.dates import FoundDate, find_dates
from workingset_mcp.markdown import Heading, Kind, Outline
from workingset_mcp.settings import Settings
from workingset_mcp.words import CONTACT, FORMER, RHYTHM, ROLE, ROLE_HEADING, RULE, UPDATED

LABEL_KINDS = ("decision", "owner", "due", "blocker", "action", "fact")
STANDING_KINDS = ("rhythm", "contact", "rule", "lead")
OPEN_STATES = (" ", "/", "!", "?")
DONE_STATES = ("x", "X")
CANCELLED_STATES = ("-", ">", "<")

_MARK = r"(?:[-*+]|\d{1,9}[.)])"
_TASK = re.compile(
    rf"^([ \t>]*){_MARK}[ \t]+\[([ xX/\-><!?])\][ \t]+(\S[^\n]*?)[ \t]*$", re.MULTILINE
)
_BULLET = re.compile(rf"^([ \t>]*){_MARK}[ \t]+(\S.*?)[ \t]*$")
_BOX = re.compile(r"^\[[^\[\]]?\](?:[ \t]|$)")
_LINE_MARK = re.compile(rf"^[ \t>]*(?:{_MARK}[ \t]+)?(?:\[[ xX/\-><!?]\][ \t]+)?")
_LINK_TARGET = re.compile(r"\]\([^)\n]*\)")
_LETTER = re.compile(r"\w{2}")
_BRACKET_PREFIX = re.compile(r"^\W{0,2}\*{0,2}\[([^\]\[]{1,80})\](?!\()\*{0,2}")
_HANDLE = re.compile(r"(?<![\w@/.`])@([A-Za-z0-9][\w-]{0,38})")
_INLINE_OWNER = re.compile(r"\[(?:owner|assignee)::[ \t]*([^\]]{1,80})\]", re.IGNORECASE)
_NO_OWNER = re.compile(
    r"^(?:urgent|asap|blocker|blocked|critical|high|medium|low|wip|todo|done|new|open|draft|optional"
    r"|p\d|q\d|tbd|\W*)$",
    re.IGNORECASE,
)
_DUE_MARK = re.compile(
    r"📅|\[(?:due|deadline)::|[(\s](?:due|by|until|deadline|fällig|bis)\b:?", re.IGNORECASE
)
_LEAD = re.compile(r"^[^\[(<!:%$|>#=\-*_`~\d][^|]*$")
_NOTHING = re.compile(
    r"^\W*(?:none|n/?a|nothing|no(?:ne)? (?:new|open|action items?)|tbd|keine?|nichts|なし|无|없음)\W*$",
    re.IGNORECASE,
)
_COMMENT_IN_LINE = re.compile(r"[ \t]*(?:<!--.*|%%.*)$")
_BLOCK_ID = re.compile(r"[ \t]+\^[A-Za-z0-9-]{1,64}$")  # a mark of the editor, not of the text
_BLANKS_AND_EMPHASIS = re.compile(r"[\s*_`]+")


@dataclass(frozen=True, slots=True)
class Item:
    """One line that says something of a known kind."""

    line: int
    kind: str  # task, one of LABEL_KINDS, or one of STANDING_KINDS
    text: str
    form: str = ""  # label, bullet, heading: where its kind comes from
    state: str = ""  # of a task: the character in its box
    owners: tuple[str, ...] = ()
    due: str = ""  # ISO day
    date: str = ""  # of the nearest dated heading above


@dataclass(frozen=True, slots=True)
class StatusBlock:
    """A status heading with everything below it up to the next heading of its level."""

    line: int
    last_line: int
    heading: str
    date: str
    time: str
    ambiguous: bool


@lru_cache(maxsize=8)
def patterns_of(settings_key: tuple[object, ...]) -> "Patterns":
    """The patterns that the settings shape, compiled once."""
    return Patterns(*settings_key)  # type: ignore[arg-type]  # the key is built by patterns_for


def patterns_for(settings: Settings) -> "Patterns":
    """The patterns for these settings."""
    return patterns_of(
        (
            settings.status_words,
            tuple((kind, words) for kind, words in settings.labels.items()),
            settings.action_headings,
            settings.decision_headings,
        )
    )


class Patterns:
    """Patterns built from the words in the settings."""

    def __init__(
        self,
        status_words: tuple[str, ...],
        labels: tuple[tuple[str, tuple[str, ...]], ...],
        action_headings: tuple[str, ...],
        decision_headings: tuple[str, ...],
    ) -> None:
        self.kind_of_label = {_plain(word): kind for kind, words in labels for word in words}
        keys = _any_of([word for _, words in labels for word in words])
        self.label = re.compile(
            rf"^[ \t>]*(?:{_MARK}[ \t]+)?[*_`]{{0,3}}(?:"
            rf"\[(?P<boxed>{keys})\][*_]{{0,3}}[::]?[ \t]+"
            rf"|(?P<key>{keys})(?:[ \t]*\([^()\n]{{1,60}}\))?"
            r"(?:[*_`]{0,3}[ \t]*[::][*_`]{0,3}|[*_`]{0,3}[ \t]+[-–—][ \t]+)"
            r")[ \t]*(?P<text>[^\n]*?)[ \t]*$",
            re.MULTILINE | re.IGNORECASE,
        )
        self.status = re.compile(
            rf"^[\W_]*(?:(?:current|latest|aktueller|derzeitiger)[ \t]+)?(?:{_any_of(status_words)})"
            r"(?P<rest>(?![^\W\d])(?![-'’]\w).*)$",
            re.IGNORECASE | re.DOTALL,
        )
        self.action_heading = re.compile(
            rf"^\W*(?:{_any_of(action_headings)})(?!\w)[^.]{{0,40}}$", re.IGNORECASE
        )
        self.decision_heading = re.compile(
            rf"^\W*(?:{_any_of(decision_headings)})(?!\w).{{0,20}}$", re.IGNORECASE
        )


def items_of(outline: Outline, settings: Settings, *, undated: bool) -> list[Item]:
    """Every item of a note, in line order; standing lines only where the note has no date."""
    patterns = patterns_for(settings)
    found = {item.line: item for item in _labelled(outline, patterns)}
    for item in _under_headings(outline, patterns):
        found.setdefault(item.line, item)
    for item in _tasks(outline):
        found[item.line] = item
    if undated:
        for item in _standing(outline):
            found.setdefault(item.line, item)
    dated = DatedHeadings(outline, settings)
    return [
        _with_fields(found[line], dated.at(line), settings)
        for line in sorted(found)
        if found[line].kind == "task" or not _NOTHING.match(found[line].text)
    ]


def statuses_of(
    outline: Outline, settings: Settings, *, year: int | None = None
) -> list[StatusBlock]:
    """Every status block of a note, from top to bottom."""
    pattern = patterns_for(settings).status
    found = []
    for at, heading in enumerate(outline.headings):
        matched = pattern.match(_LINK_TARGET.sub("]", heading.text))
        if not matched or not _is_status(matched["rest"]):
            continue
        ends = (h.line - 1 for h in outline.headings[at + 1 :] if h.level <= heading.level)
        last = next(ends, len(outline.lines))
        while last > heading.last_line and not outline.lines[last - 1].strip():
            last -= 1
        dates = find_dates(heading.text, year=year, order=settings.date_order)
        first = _best_date(dates)
        found.append(
            StatusBlock(
                heading.line, last, heading.text,
                first.value if first else "", first.time if first else "",
                first is None and any(date.ambiguous for date in dates),
            )
        )  # fmt: skip
    return found


class DatedHeadings:
    """The date that the nearest dated heading gives to the lines below it."""

    def __init__(self, outline: Outline, settings: Settings, *, year: int | None = None) -> None:
        self.headings: list[tuple[Heading, str]] = []
        for mark in outline.marks:
            date = _best_date(find_dates(mark.text, year=year, order=settings.date_order))
            if date:
                self.headings.append((mark, date.value))
        self._outline = outline

    def at(self, line: int) -> str:
        """ISO date of the dated heading that a line stands under; empty when none."""
        for mark, value in reversed(self.headings):
            if mark.line <= line:
                path = self._outline.headings_at(line)
                return value if mark.text in path else ""
        return ""


def bare_line(line: str) -> str:
    """A line without its quote marks, list mark and box."""
    return line[_LINE_MARK.match(line).end() :].strip()  # type: ignore[union-attr]  # always matches


def folded(text: str) -> str:
    """Text with case, blanks and emphasis folded: two lines that say the same fold alike."""
    return _BLANKS_AND_EMPHASIS.sub(" ", text).strip().casefold()


def without_link_targets(text: str) -> str:
    """Text whose links keep their words and lose their addresses."""
    return _LINK_TARGET.sub("]", text)


def _best_date(dates: Iterable[FoundDate]) -> FoundDate | None:
    """The first full date, else the first month."""
    known = [date for date in dates if date.value]
    return next((date for date in known if len(date.value) == 10), known[0] if known else None)


def _is_status(rest: str) -> bool:
    """Whether what follows the status word leaves it a status: nothing, punctuation, a date, update."""
    follows = rest.lstrip(" \t")
    if not follows or not follows[0].isalnum():
        return True
    if re.match(r"(?:update|report|as of|per|vom|au|del)\b", follows, re.IGNORECASE):
        return True
    dates = find_dates(follows)
    return (
        bool(dates) and (dates[0].start == 0 or not _LETTER.search(follows[: dates[0].start]))
    ) or bool(
        re.match(r"(?:mon|tue|wed|thu|fri|sat|sun|[a-z]{3,9}\.? \d)", follows, re.IGNORECASE)
        and dates
    )


def _tasks(outline: Outline) -> Iterator[Item]:
    for matched in _TASK.finditer(outline.flat):
        line = outline.line_at(matched.start())
        kind = outline.kinds[line - 1]
        if kind != Kind.TEXT or not (line in outline.item_depth or _inside_list(outline, line)):
            continue
        text = _without_comment(matched[3])
        if text:
            yield Item(line, "task", text, state=matched[2])


def _inside_list(outline: Outline, line: int) -> bool:
    """Whether an indented line continues a list item (CommonMark reads a deep tab as text)."""
    while line > 1 and outline.lines[line - 1].strip():
        if line in outline.item_depth:
            return True
        line -= 1
    return False


def _without_comment(text: str) -> str:
    if "<!--" in text or "%%" in text:
        text = _COMMENT_IN_LINE.sub("", text)
    return _BLOCK_ID.sub("", text) if "^" in text else text


def _labelled(outline: Outline, patterns: Patterns) -> Iterator[Item]:
    for matched in patterns.label.finditer(outline.flat):
        line = outline.line_at(matched.start())
        if outline.kinds[line - 1] != Kind.TEXT:
            continue
        key = matched["boxed"] or matched["key"]
        if key.upper() in ("AI", "AP") and not key.isupper():
            continue
        kind = patterns.kind_of_label[_plain(key)]
        if matched["text"]:
            text = _without_comment(bare_line(outline.lines[line - 1]))
            if _LETTER.search(matched["text"]) or matched["text"].strip(" *_"):
                yield Item(line, kind, text, form="label")
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
        if outline.kinds[below - 1] != Kind.TEXT or (below in outline.item_depth and depth <= own):
            return
        bullet = _BULLET.match(text)
        if depth == own + 1 and bullet and not _BOX.match(bullet[2]):
            yield below, _without_comment(bullet[2])
        elif depth == 0 and not text.startswith((" ", "\t")):
            return


def _under_headings(outline: Outline, patterns: Patterns) -> Iterator[Item]:
    """Bullets and paragraph lines under headings that make them actions or decisions."""
    marks = outline.marks
    for at, mark in enumerate(marks):
        text = without_link_targets(mark.text)
        if patterns.action_heading.match(text):
            kind = "action"
        elif patterns.decision_heading.match(text):
            kind = "decision"
        else:
            continue
        last = marks[at + 1].line - 1 if at + 1 < len(marks) else len(outline.lines)
        yield from _lines_under(outline, kind, mark.last_line + 1, last)


def _lines_under(outline: Outline, kind: str, first: int, last: int) -> Iterator[Item]:
    paragraph_lines = bullets = 0
    for line in range(first, last + 1):
        if outline.kinds[line - 1] != Kind.TEXT:
            continue
        text = outline.lines[line - 1]
        bullet = _BULLET.match(text)
        if bullet:
            if outline.item_depth.get(line) == 1 and not _BOX.match(bullet[2]):
                bullets += 1
                form = "bullet" if kind == "action" else "heading"
                yield Item(line, kind, _without_comment(bullet[2]), form=form)
        elif text.strip() and not text.startswith(("  ", "\t", "<", "|")):
            if kind == "decision" and (bullets or paragraph_lines):
                continue
            stripped = _without_comment(text.strip())
            if len(_LINK_TARGET.sub("]", stripped)) > 8 and _LETTER.search(stripped):
                paragraph_lines += 1
                form = "bullet" if kind == "action" else "heading"
                yield Item(line, kind, stripped, form=form)


def _standing(outline: Outline) -> Iterator[Item]:
    """Lines of an undated note that always hold: its lead, meeting rhythm and roles, contacts, rules."""
    lead_wanted = True
    for number, raw in enumerate(outline.lines, start=1):
        kind = outline.kinds[number - 1]
        if kind not in (Kind.TEXT, Kind.TABLE) or len(raw) > 1_200:
            continue
        text = raw.strip()
        if len(text) < 8 or not _LETTER.search(text) or text.endswith("?"):
            continue
        standing = _standing_kind(outline, number, text, kind)
        is_lead = lead_wanted and kind == Kind.TEXT and _LEAD.match(text) and len(text) >= 30
        lead_wanted = lead_wanted and not is_lead and number not in outline.item_depth
        if standing or is_lead:
            yield Item(number, standing or "lead", _without_comment(bare_line(raw)))


def _standing_kind(outline: Outline, number: int, text: str, kind: int) -> str:
    above = outline.heading_above(number)
    if above and FORMER.match(above.text):
        return ""
    if len(text) < 400 and (RHYTHM.search(text) or ROLE.search(text) or UPDATED.search(text)):
        return "rhythm"
    listed = kind == Kind.TABLE or number in outline.item_depth
    if listed and above and ROLE_HEADING.match(above.text) and not _is_table_head(outline, number):
        return "rhythm"
    if CONTACT.search(text):
        return "contact"
    if kind == Kind.TEXT and 20 <= len(_LINK_TARGET.sub("]", text)) <= 600 and RULE.search(text):
        return "rule"
    return ""


def _is_table_head(outline: Outline, number: int) -> bool:
    """Whether a line is the rule of a table, or the head right above it."""
    around = outline.lines[number - 1 : number + 1]
    return any(line.strip() and set(line.strip()) <= set("|-: ") for line in around)


def _with_fields(item: Item, date: str, settings: Settings) -> Item:
    """The item with its owners, due day and date filled in."""
    if item.kind in STANDING_KINDS:
        return item
    owners = _owners(item, settings)
    due = _due(item, settings)
    if not owners and not due and not date:
        return item
    return Item(item.line, item.kind, item.text, item.form, item.state, owners, due, date)


def _owners(item: Item, settings: Settings) -> tuple[str, ...]:
    text = item.text
    found: list[str] = []
    prefix = _BRACKET_PREFIX.match(text)
    if prefix:
        found.extend(re.split(r"[,/&;]| and | und ", prefix[1]))
    if "wner" in text or "ssignee" in text or item.kind == "owner" or "DRI" in text:
        field = _owner_field(settings.labels["owner"]).search(text)
        if field:
            found.extend(re.split(r"[,/&]| and | und ", field[1]))
    if "::" in text:
        found.extend(match[1] for match in _INLINE_OWNER.finditer(text))
    if "@" in text:
        found.extend(match[1] for match in _HANDLE.finditer(text))
    clean = (re.sub(r"[*_`]", "", owner).strip(" @.,;:()[]") for owner in found)
    return tuple(dict.fromkeys(o for o in clean if o and len(o) <= 60 and not _NO_OWNER.match(o)))


@lru_cache(maxsize=8)
def _owner_field(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\w\[])(?:{_any_of(words)})(?:\([^)]*\))?[*_]{{0,3}}[ \t]*[::](?!:)[*_]{{0,3}}[ \t]*"
        r"((?:[^,;.(|\[\]\n*]|\.(?=\w)|,(?= [A-Z][\w-]+(?:,|$|;)))+)",
        re.IGNORECASE,
    )


def _due(item: Item, settings: Settings) -> str:
    if not any(character.isdigit() for character in item.text):
        return ""
    marked = _DUE_MARK.search(item.text)
    start = 0 if item.kind == "due" and item.form == "label" else marked.end() if marked else -1
    if start < 0:
        return ""
    for date in find_dates(item.text[start:], order=settings.date_order):
        if len(date.value) == 10:
            return date.value if date.start < 25 or item.kind == "due" else ""
    return ""


def _any_of(words: Iterable[str]) -> str:
    longest_first = sorted(set(words), key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"[ \t]+") for word in longest_first)


def _plain(word: str) -> str:
    return " ".join(word.casefold().split())
