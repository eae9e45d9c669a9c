"""Who owns an item and when it is due, in the forms people write. Pure."""

import re
from functools import lru_cache

from workingset_mcp.notes.dates import DATE_HINT, find_dates
from workingset_mcp.notes.lines import STANDING_KINDS, Item, any_of
from workingset_mcp.settings import Settings

_NEAR_CHARACTERS = 30  # from a word like `due` to its date
_BRACKET_PREFIX = re.compile(r"^\W{0,2}\*{0,2}\[([^\]\[]{1,80})\](?!\()\*{0,2}")
_HANDLE = re.compile(r"(?<![\w@/.`])@([A-Za-z0-9][\w-]{0,38})")
_INLINE_OWNER = re.compile(r"\[(?:owner|assignee)::[ \t]*([^\]]{1,80})\]", re.IGNORECASE)
_NO_OWNER = re.compile(
    r"^(?:urgent|asap|blocker|blocked|critical|high|medium|low|wip|todo|done|new|open|draft|optional"
    r"|p\d|q\d|tbd|\W*)$",
    re.IGNORECASE,
)
_DUE_MARK = re.compile(
    r"📅|\[(?:due|deadline)::|(?:^|[(\s,;*_])(?:due|by|until|deadline|fällig|bis)\b[:*_]*",
    re.IGNORECASE,
)


def with_fields(item: Item, date: str, settings: Settings) -> Item:
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
    prefix = _BRACKET_PREFIX.match(text) if "[" in text else None
    if prefix:
        found.extend(re.split(r"[,/&;]| and | und ", prefix[1]))
    if ":" in text or "：" in text:
        field = _owner_field(settings.labels["owner"]).search(text)
        if field:
            found.extend(re.split(r"[,/&]| and | und ", field[1]))
    if "::" in text:
        found.extend(match[1] for match in _INLINE_OWNER.finditer(text))
    if "@" in text:
        found.extend(match[1] for match in _HANDLE.finditer(text))
    if not found:
        return ()
    clean = (re.sub(r"[*_`]", "", owner).strip(" @.,;:()[]") for owner in found)
    return tuple(dict.fromkeys(o for o in clean if o and len(o) <= 60 and not _NO_OWNER.match(o)))


@lru_cache(maxsize=8)
def _owner_field(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\w\[])(?:{any_of(words)})(?:\([^)]*\))?[*_]{{0,3}}[ \t]*[:：](?!:)[*_]{{0,3}}[ \t]*"
        r"((?:[^,;.(|\[\]\n*]|\.(?=\w)|,(?= [A-Z][\w-]+(?:,|$|;)))+)",
        re.IGNORECASE,
    )


def _due(item: Item, settings: Settings) -> str:
    if not DATE_HINT.search(item.text):
        return ""
    if item.kind == "due" and item.form == "label":
        return _first_day(item.text, settings)
    for marked in _DUE_MARK.finditer(item.text):
        behind = item.text[marked.end() : marked.end() + _NEAR_CHARACTERS]
        day = _first_day(behind, settings)
        if day:
            return day
    return ""


def _first_day(text: str, settings: Settings) -> str:
    dates = find_dates(text, order=settings.date_order)
    return next((date.value for date in dates if len(date.value) == 10), "")
