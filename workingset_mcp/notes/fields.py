"""Who owns an item and when it is due, in the forms people write. Pure."""

import re
from collections.abc import Iterator
from functools import lru_cache

from workingset_mcp.notes.dates import days_before, find_dates, lowered, may_hold_date
from workingset_mcp.notes.lines import STANDING_KINDS, UNREAD_KIND, Item, any_of
from workingset_mcp.notes.people import NAME, People
from workingset_mcp.notes.words import by_first_letter
from workingset_mcp.settings import Settings

_NEAR_CHARACTERS = 30  # from a word like `due` to its date
_CLOSE_CHARACTERS = 22  # from `by`, its date included: `by Friday 12 June 2026`
_MOST_CHARACTERS = (
    600  # of an item that are looked through: a pasted page names no owner further in
)
_SEPARATOR = r"(?:,[ ]?|[ ]?[/&+][ ]?| and | und | et | y | e | en | i )"
_BRACKET_PREFIX = re.compile(r"^\W{0,2}\*{0,2}\[([^\]\[]{1,80})\](?!\()\*{0,2}")
_NAME_PREFIX = re.compile(
    rf"^(?:\*\*|__)?(?P<names>{NAME}(?:{_SEPARATOR}{NAME}){{0,4}})(?:\*\*|__)?[ \t]?[:：](?:\*\*|__)?[ \t]"
)
_NAME_TO_DO = re.compile(
    rf"^(?:\*\*|__)?(?P<names>{NAME}(?:{_SEPARATOR}{NAME}){{0,3}})(?:\*\*|__)?"
    r"[ ](?:to|will|shall|must|needs to|soll|wird|muss|va|doit|debe|deve|moet|zal)[ ](?!be\b)[a-zß-ÿ]"
)
_ASSIGNED = re.compile(  # an engine skips to the letters that it begins with
    r"[AaZzTtPp](?<!\w.)(?:ssigned to|SSIGNED TO|ssignee|SSIGNEE|ssignée? à|signad[oa] a|ssegnat[oa] a|tribuíd[oa] a"
    rf"|ugewiesen an|oegewezen aan|rzypisan[aeoy] do):?[ ]@?(?P<name>{NAME})"
)
_HANDLE = re.compile(
    r"(?<![\w@/.`])@(?:\[\[(?P<link>[^\]\n|]{1,60})\]\]"
    r"|(?P<full>[A-ZÀ-Þ][\w'’-]{1,20} [A-ZÀ-Þ][\w'’-]{1,20})(?=[,:;.)\]]|$| to | will | and |: )"
    r"|(?P<handle>[A-Za-z0-9][\w-]{0,38})(?!\())"
)
_INLINE_OWNER = re.compile(r"[\[(](?:owner|assignee)::[ \t]*@?([^\])]{1,80})[\])]", re.IGNORECASE)
_NO_OWNER = re.compile(
    r"^(?:urgent|asap|blocker|blocked|critical|high|medium|low|wip|todo|done|new|open|draft|optional"
    r"|p\d|q\d|tbd|due|all|everyone|here|channel|\W*)$",
    re.IGNORECASE,
)
# These begin with one of some signs, to which an engine skips; a text gets a blank before it.
_DUE_WORDS = by_first_letter(
    (word[0], word[1:])
    for word in (
        "due(?! to)", "by", "until", "deadline", "fällig", "bis", "avant(?: le)?", "d'ici", "pour le", "antes del?",
        "para el", "entro(?: il)?", "até", "vóór", "voor", "tegen", "przed", "do dnia",
    )
)  # fmt: skip
_DUE_MARK = re.compile(  # in lower case
    rf"[📅📆🗓@\[<(\s,;*_](?:(?=[{''.join(_DUE_WORDS)}])(?<=[(\s,;*_])(?:{'|'.join(_DUE_WORDS.values())})\b[:*_]*"
    r"|(?<=[📅📆🗓])\ufe0f?|(?<=@)due\(|(?<=\[)(?:due|deadline)::|(?<=<)time\b[^<>]{0,40}datetime=[\"'])"
)
_PLANNED_MARK = re.compile(
    r"[⏳🛫:](?:(?<=[⏳🛫])\ufe0f?|(?<=\bSCHEDULED:)|:(?<=[\[(]scheduled::)|:(?<=[\[(]start::))"
)
_BEHIND_DATE = re.compile(r"[ ]?(?:まで|迄|까지|之前|前|以前)")
_BARE_DAY = re.compile(
    r"^\W{0,3}([0-9]{1,2})/([0-9]{1,2})(?![0-9/])"
)  # `(due 6/20)`: the year is its note's
_HALF_A_YEAR = 183


def with_fields(item: Item, date: str, note_date: str, settings: Settings, people: People) -> Item:
    """The item with its owners, due day and date filled in.

    `date`: of the nearest dated heading; `note_date` completes days without a year.
    """
    if item.kind in (*STANDING_KINDS, UNREAD_KIND):
        return item
    text = item.text[:_MOST_CHARACTERS]
    owners = tuple(dict.fromkeys((*item.owners, *_owners(item, text, settings, people))))
    due = item.due or _due(item, text, date or note_date, settings)
    if not owners and not due and not date:
        return item
    return Item(item.line, item.kind, item.text, item.form, item.state, owners, due, date)


def _owners(item: Item, text: str, settings: Settings, people: People) -> Iterator[str]:
    for owner in _named(item, text, settings, people):
        clean = re.sub(r"[*_`]", "", owner).strip(" @.,;:()[]")
        if clean and len(clean) <= 60 and not _NO_OWNER.match(clean):
            yield clean


def _named(item: Item, text: str, settings: Settings, people: People) -> Iterator[str]:
    prefix = _BRACKET_PREFIX.match(text) if "[" in text else None
    if prefix:
        parts = re.split(r"[,/&;]| and | und ", prefix[1])
        yield from (
            part
            for part in parts
            if _is_owner_tag(part.strip(), several=len(parts) > 1, people=people)
        )
    if ":" in text or "：" in text:
        field = _owner_field(settings.labels["owner"]).search(text)
        if field:
            yield from re.split(r"[,/&]| and | und ", field[1])
    if item.kind in ("task", "action") and (text[:1].isupper() or text.startswith(("**", "__"))):
        has_colon = ":" in text or "：" in text
        for pattern in (_NAME_PREFIX, _NAME_TO_DO) if has_colon else (_NAME_TO_DO,):
            matched = pattern.match(text)
            names = re.split(_SEPARATOR, matched["names"]) if matched else []
            if names and all(map(people.has, names)):
                yield from names
                break
    if matched := _ASSIGNED.search(text):
        yield matched["name"]
    if "::" in text:
        yield from (match[1] for match in _INLINE_OWNER.finditer(text))
    if "@" in text:
        yield from (
            match["link"] or match["full"] or match["handle"] for match in _HANDLE.finditer(text)
        )


def _is_owner_tag(tag: str, *, several: bool, people: People) -> bool:
    """Whether a tag in square brackets names someone, not a product, a vendor or a subject."""
    word = tag.strip("*@ ")
    if "=" in word:  # `[name=ross]`: who wrote the line
        return False
    return several or " " in word or tag.startswith("@") or bool(word and people.has(word))


@lru_cache(maxsize=8)
def _owner_field(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\w\[])(?:{any_of(words)})(?:\([^)]{{0,80}}\))?[*_]{{0,3}}[ \t]*[:：](?!:)[*_]{{0,3}}[ \t]*"
        r"((?:[^,;.(|\[\]\n*]|\.(?=\w)|,(?= [A-Z][\w-]+(?:,|$|;)))+)",
        re.IGNORECASE,
    )


def _due(item: Item, text: str, written: str, settings: Settings) -> str:
    """The day by which an item is due; `written` is the day of its note, as much as is known."""
    year = int(written[:4]) if written[:4].isdecimal() else None
    if not may_hold_date(text, year):
        return ""
    if item.kind == "due" and item.form == "label":
        return _first_day(text, year, written, settings)
    for mark, in_case in ((_DUE_MARK, lowered(text)), (_PLANNED_MARK, text)):
        for marked in mark.finditer(f" {in_case}"):
            near = _CLOSE_CHARACTERS if marked[0].strip(" (,;*_:") == "by" else _NEAR_CHARACTERS
            behind = text[marked.end() - 1 :][:near]
            day = _first_day(behind, year, written, settings)
            if day:
                return day
    if not text.isascii():
        for date in find_dates(text, year=year, order=settings.date_order):
            if len(date.value) == 10 and _BEHIND_DATE.match(text, date.end):
                return _in_its_year(text[date.start : date.end], date.value, written)
    return ""


def _first_day(text: str, year: int | None, written: str, settings: Settings) -> str:
    bare = _BARE_DAY.match(text) if year else None
    if bare:
        text = f"{bare[1]}/{bare[2]}/{year}"
    for date in find_dates(text, year=year, order=settings.date_order):
        if len(date.value) == 10:
            said = "" if bare else text[date.start : date.end]
            return _in_its_year(said, date.value, written)
    return ""


def _in_its_year(said: str, day: str, written: str) -> str:
    """A day said without its year lies ahead of its note: in January for a note of December."""
    if len(written) < 10 or day[:4] in said:
        return day
    if day < days_before(written, _HALF_A_YEAR):
        return f"{int(day[:4]) + 1}{day[4:]}"
    return day
