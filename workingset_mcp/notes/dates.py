"""Every date form people put into headings, file names and front matter. Pure: text in, values out.

Here: the names of the months, the forms (`FORMS`), dates in a text, a path and a YAML value, the
search words of a date. Not here: the clock, file times, time zones (a zone word counts to the place
of a date, not to its value); relative dates (`yesterday`); weeks, quarters, fiscal years; guessing the
order of `02/09/2015`, or a year that no folder names. What could be two days gets no value.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from workingset_mcp.notes.words import by_first_letter

Order: TypeAlias = Literal["dmy", "mdy"]

# English, German, French, Spanish, Portuguese, Italian, Dutch: full names, then abbreviations.
MONTHS = (
    "january januar jänner janvier enero janeiro gennaio januari jan jän janv ene gen",
    "february februar feber février febrero fevereiro febbraio februari feb febr févr fév fev",
    "march märz maerz mars marzo março maart mar mär mrz mrt",
    "april avril abril aprile apr avr abr",
    "may mai mayo maio maggio mei mag",
    "june juni juin junio junho giugno jun giu",
    "july juli juillet julio julho luglio jul juil lug",
    "august août agosto augustus aug ago",
    "september septembre septiembre setiembre setembro settembre sept sep sett set",
    "october oktober octobre octubre outubro ottobre oct okt out ott",
    "november novembre noviembre novembro nov",
    "december dezember décembre diciembre dezembro dicembre dec dez déc dic",
)
# English words too: a month only between a day and a year (`3 out 2026`).
WEAK_NAMES = frozenset({"ago", "gen", "mag", "out", "set"})
_MONTH_OF: dict[str, int] = {}
for _number, _names in enumerate(MONTHS, start=1):
    for _name in _names.split():
        _apart = unicodedata.normalize("NFD", _name)  # as macOS writes it in file names
        _bare = "".join(sign for sign in _apart if not unicodedata.combining(sign))
        _MONTH_OF |= dict.fromkeys((_name, _apart, _bare), _number)


def _any_of(names: Iterable[str]) -> str:
    ordered = sorted(names, key=len, reverse=True)
    return f"(?:{'|'.join(by_first_letter((name[0], name[1:]) for name in ordered).values())})"


# Parts of the forms. Each is bounded, so that a search is linear whatever the text.
_YEAR = "(?:199|20[0-9])[0-9]"
_YEAR_OR_SHORT = f"(?:{_YEAR}|['\u2018\u2019][0-9]{{2}})"
_NUMBER = "[0-9]{1,2}"
_NAME = _any_of(_MONTH_OF)
_SURE_NAME = _any_of(_MONTH_OF.keys() - WEAK_NAMES)
_LETTER = "[a-zß-öø-ÿ]"
_BLANK = r"[^\S\n]"
_DASHES = "\u2010-\u2015\u2212\uff0d-"  # the plain one last: in brackets it stands for itself
_DASH, _LINE = f"[{_DASHES}]", f"[_{_DASHES}]"
_ORDINAL = "(?:st|nd|rd|th|er|re|e|ste|de|[.º]?[ºª°o])?"
_GAP = rf"(?:{_BLANK}|[.,_/{_DASHES}]){{1,3}}(?:(?:of|del?|di){_BLANK})?"
_DAYS = rf"(?<!{_LETTER}|#)(?<![0-9][.:])({_NUMBER})(?:\.?{_DASH}({_NUMBER}))?{_ORDINAL}"
_UNTIL = rf"(?:{_BLANK}?(?:{_DASH}|&){_BLANK}?{_NUMBER}{_ORDINAL})?"
_FREE, _FREE_DOTS = f"(?<!{_LETTER})", rf"(?<!{_LETTER})(?<![0-9]\.)"
_FREE_LINE = rf"(?<![0-9][_./:{_DASHES}])"
_END, _END_DOTS = "(?![0-9])", r"(?![0-9]|\.[0-9])"
_END_LINE = rf"(?![0-9]|{_LETTER}|[_./:{_DASHES}][0-9])"
_END_YEAR = rf"(?![0-9]|[./{_DASHES}][0-9])"  # `June 2026-06-16`: that year opens another date

# A form: what its groups hold, and its pattern (lower case). The first that fits at a place wins;
# those without a year count only where the caller gives one.
FORMS: tuple[tuple[str, str], ...] = (
    # 20260616, 202606161145, 20260616114500
    (
        "year month day hour minute",
        rf"(?<![0-9][.,])({_YEAR})(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])"
        rf"(?:([01][0-9]|2[0-3])([0-5][0-9])(?:[0-5][0-9])?)?{_END}",
    ),
    # 2026-06-16, 2018-9-5, 2022–03-02, 2026/06/16, 2026_06_16
    (
        "year sign month day",
        rf"({_YEAR})(?:{_DASH}|(?P<s1>[/_]))({_NUMBER})(?(s1)(?P=s1)|{_DASH})({_NUMBER}){_END}",
    ),
    # 2026.06.16 (with one digit it would be a version), 2026. 6. 16.
    (
        "year month day",
        rf"{_FREE_DOTS}({_YEAR})\.(?:{_BLANK}|(?=[0-9]{{2}}\.[0-9]{{2}}))"
        rf"({_NUMBER})\.{_BLANK}?({_NUMBER}){_END_DOTS}",
    ),
    # 2026年6月16日, 2026년 6월 16일, 2024年6月
    (
        "year month day",
        rf"({_YEAR}){_BLANK}?[年년]{_BLANK}?({_NUMBER}){_BLANK}?[月월]"
        rf"(?:{_BLANK}?({_NUMBER}){_BLANK}?[日号號일])?",
    ),
    # 2024-06
    ("year month", rf"(?<!v){_FREE_LINE}({_YEAR}){_LINE}([0-9]{{2}}){_END_LINE}"),
    ("year name day", rf"({_YEAR}){_LINE}({_NAME}){_LINE}({_NUMBER}){_END}"),  # 2018-Aug-01
    # 16. Juni 2026, 10th of October 2024, 1-Aug-2018, 2 de marzo de 2026, 2 Mar '20, 16-18 May 2026
    ("day until name year", rf"{_DAYS}{_GAP}({_NAME}){_GAP}({_YEAR_OR_SHORT}){_END_YEAR}"),
    # Jun 16, 2026, June 16th 2026, Sept 17/ 2018, June 16-18, 2026, June 2026, Mar '20
    (
        "name day year",
        rf"({_SURE_NAME}){_GAP}(?:({_NUMBER}){_ORDINAL}{_UNTIL}{_GAP})?({_YEAR_OR_SHORT}){_END_YEAR}",
    ),
    # 13.04.2018, 13. 4. 2018
    (
        "first sign second year",
        rf"{_FREE_DOTS}({_NUMBER})(\.){_BLANK}?({_NUMBER})\.{_BLANK}?({_YEAR}){_END_DOTS}",
    ),
    # 10/17/2018, 2/13/19
    (
        "first sign second year",
        rf"{_FREE}(?<![/.])({_NUMBER})(/)({_NUMBER})/({_YEAR}|[0-9]{{2}})(?!/|{_LETTER}){_END_DOTS}",
    ),
    # 10-26-2023, 30_03_2016, 3-13-19
    (
        "first sign second year",
        rf"{_FREE}{_FREE_LINE}({_NUMBER})(?P<s2>{_LINE})({_NUMBER})(?P=s2)"
        rf"({_YEAR}|[0-9]{{2}}){_END_LINE}",
    ),
    # 2 Mar, April 25, 6月16日, 04-25; 07-3 only before a file's ending: else it is a score
    ("day until name", rf"{_DAYS}{_GAP}({_SURE_NAME})(?!{_LETTER}|[0-9])"),
    ("name day", rf"({_SURE_NAME}){_GAP}({_NUMBER}){_ORDINAL}(?!{_LETTER}|[0-9]|[.:%][0-9])"),
    ("month day", rf"({_NUMBER}){_BLANK}?[月월]{_BLANK}?({_NUMBER}){_BLANK}?[日号號일]"),
    ("month day", rf"{_FREE_LINE}(0[1-9]|1[0-2]){_LINE}([0-9]{{2}}|[0-9](?=\.[a-z])){_END_LINE}"),
)


@cache
def _compile(*, year_given: bool) -> re.Pattern[str]:
    """Join the forms, each as a group with its place in `FORMS` for a name."""
    sides: dict[bool, list[str]] = {False: [], True: []}
    for at, (held, pattern) in enumerate(FORMS):
        if year_given or "year" in held:
            sides[held.startswith("name")].append(f"(?P<at_{at}>{pattern})")
    initials = "".join({name[0] for name in _MONTH_OF})
    numbers_first = f"(?<![0-9])(?=[0-9])(?:{'|'.join(sides[False])})"
    names_first = f"(?=[{initials}])(?<!{_LETTER}|[0-9])(?:{'|'.join(sides[True])})"
    return re.compile(f"{numbers_first}|{names_first}")


# What every form with a year holds; it spares most texts the long pattern.
_YEAR_HINT = re.compile(
    rf"[0-9'\u2018\u2019](?:(?<=2)0[0-9]{{2}}|(?<=1)99[0-9]|(?<=['\u2018\u2019])[0-9]{{2}}"
    rf"|(?<=[0-9])[/_{_DASHES}][0-9]{{1,2}}[/_{_DASHES}][0-9]{{2}})"
)
_DIGIT = re.compile("[0-9]")
_TICKET = re.compile("[A-Z]{3,}-[0-9]+")  # DEC-2018

_ZONE = (
    r"(?:\s?(?:Z|UTC|GMT|Uhr|[ECMP][SD]?T|[CEW]ES?T|BST|IST|JST|KST|MSK|SGT|HKT|AE[SD]T|NZ[SD]T)\b)?"
    r"(?:\s?[+\u2212-][0-9]{2}:?[0-9]{2}(?![0-9]))?"
)
_CLOCK = (  # 16:40, 16:40:30, 16h40, 14時30分, 16.40 Uhr, 4:40 pm, 4 p.m.
    r"(?<![0-9:.])([01]?[0-9]|2[0-3])"
    r"(?:(?:[:hH]|[時时点點시]\s?)([0-5][0-9])(?::[0-5][0-9](?:[.,][0-9]{1,9})?)?[分분]?"
    r"|\.([0-5][0-9])(?=\s?Uhr\b)|(?=\s?[AaPp]\.?[Mm]\b))"
    r"(?![0-9:])(?:\s?([AaPp])\.?[Mm]\b\.?)?"
)
_SIGNS = r"[\s,;:·•|@/*()（）\[\]\u2010-\u2015-]{0,4}"
_TIME_BEHIND = re.compile(
    r"(?:[Tt]([01][0-9]|2[0-3])[:-]?([0-5][0-9])(?:[:-]?[0-5][0-9](?:[.,][0-9]{1,9})?)?(?![0-9])"
    r"|[_-]([01][0-9]|2[0-3])([0-5][0-9])[0-5][0-9](?![0-9])"  # 20260616_114500
    r"|_([01][0-9]|2[0-3])-([0-5][0-9])(?:-[0-5][0-9])?(?![0-9-])"  # 2026-06-16_11-45
    rf"|{_SIGNS}(?:[(（\[][^\W\d_]{{1,12}}\.?[)）\]]{_SIGNS})?"  # (Wed)
    rf"(?:(?:at|from|um|ab|von|à|a las|às|alle|om|kl)\.?\s)?{_CLOCK}){_ZONE}"
)
_TIME_BEFORE = re.compile(rf"{_CLOCK}{_ZONE}{_SIGNS}(?:[^\W\d_]{{2,12}}[.,]?\s)?\Z")
_TIME_BEFORE_MAX = 48


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date in a text: where it stands, with the time that belongs to it, and what it says."""

    start: int
    end: int
    value: str  # 'YYYY-MM-DD', 'YYYY-MM', or '' when ambiguous
    time: str = ""  # 'HH:MM', '' when none stands beside it
    ambiguous: bool = False
    candidates: tuple[str, ...] = ()  # the readings of an ambiguous one: day first, month first


def may_hold_date(text: str, year: int | None) -> bool:
    """Whether `find_dates` could find anything: a look that costs far less."""
    return bool((_YEAR_HINT if year is None else _DIGIT).search(text))


def lowered(text: str) -> str:
    """A text in lower case whose offsets stay true: one letter would grow."""
    small = text.lower()
    return small if len(small) == len(text) else text.replace("\u0130", "I").lower()


def find_dates(
    text: str, *, year: int | None = None, order: Order | None = None
) -> list[FoundDate]:
    """Find every date, in reading order, none overlapping another.

    `year` completes forms without one (`April 25`); give it only where a folder names the year.
    `order` decides `02/09/2015`; a part over 12 decides without it, and dots are day first.
    """
    if not may_hold_date(text, year):
        return []
    found = []
    pattern = _compile(year_given=year is not None)
    small = lowered(text)
    behind_last = 0
    while match := pattern.search(small, behind_last):
        start, end = match.span()
        form = str(match.lastgroup).removeprefix("at_")  # the outermost group is the last to close
        held = zip(FORMS[int(form)][0].split(), match.groups()[match.lastindex :], strict=False)
        parts = {role: part for role, part in held if part is not None}
        readings = () if _TICKET.fullmatch(text, start, end) else _readings(parts, year)
        if order and len(readings) == 2:
            readings = (readings[order == "mdy"],)
        if readings:
            time = ":".join(parts[role] for role in ("hour", "minute") if role in parts)
            if not time:
                start, end, time = _with_time(text, start, end, behind_last)
            if len(readings) == 1:
                found.append(FoundDate(start, end, readings[0], time))
            else:
                found.append(FoundDate(start, end, "", time, ambiguous=True, candidates=readings))
        behind_last = end
    return found


def _readings(parts: Mapping[str, str], year_given: int | None) -> tuple[str, ...]:
    """Return no day, one, or the two (day first, month first) that the parts can mean."""
    held = parts.get("year") or str(year_given)
    short = int(held[-2:]) + (1900 if held[-2:] >= "90" else 2000)
    year = int(held) if len(held) > 3 else short
    if "first" not in parts:
        month = int(parts["month"]) if "month" in parts else _MONTH_OF[parts["name"]]
        days = [int(parts[role]) for role in ("day", "until") if role in parts]
        value = _iso(year, month, min(days, default=None))
        return (value,) if value else ()
    first, second = int(parts["first"]), int(parts["second"])
    readings = [day for day in (_iso(year, second, first), _iso(year, first, second)) if day]
    if parts["sign"] == ".":
        return tuple(readings[:1])
    if len(held) == 2 and parts["sign"] != "/":
        year_first = len(parts["second"]) == 2 and _iso(2000 + first, second, int(held))
        if max(first, second) <= 12 or (first > 12 and year_first):
            return ()  # 03-04-19 may be a score, 19-03-13 of 2013 or 2019
    return tuple(dict.fromkeys(readings))


def _iso(year: int, month: int, day: int | None) -> str:
    """Return the ISO day or month, '' for one that is not in the calendar or not of our years."""
    if not 1990 <= year <= 2099:
        return ""
    try:
        value = datetime.date(year, month, 1 if day is None else day).isoformat()
    except ValueError:
        return ""
    return value[:7] if day is None else value


def _with_time(text: str, start: int, end: int, behind_last: int) -> tuple[int, int, str]:
    """Widen a date by the time behind it, or else before it; return that time too."""
    if behind := _TIME_BEHIND.match(text, end):
        return start, behind.end(), _clock(behind)
    first = max(behind_last, start - _TIME_BEFORE_MAX)
    if _DIGIT.search(text, first, start) and (before := _TIME_BEFORE.search(text, first, start)):
        return before.start(), end, _clock(before)
    return start, end, ""


def _clock(match: re.Match[str]) -> str:
    held = [part for part in match.groups() if part]
    half = held.pop().lower() if held[-1].isalpha() else ""
    hour, minute = int(held[0]), held[1] if len(held) > 1 else "00"
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{hour:02}:{minute}"


_LONE_YEAR = re.compile(  # `2025q1` too, not `v2025`, `2025.1`, `2048px`
    rf"(?<![0-9a-z])(?<![0-9]\.)({_YEAR})(?![0-9a-gi-pr-z]|\.[0-9])"
)
_DAY_IN_FOLDERS = re.compile(rf"(?:.*/)?({_YEAR})/(0[1-9]|1[0-2])/([0-9]{{2}})(?![0-9])")
_CALLED_BY_MONTH = re.compile(rf"(?:({_NUMBER})[ ._-]+)?({_SURE_NAME})\.[a-z]+")


def year_of_path(path: str) -> int | None:
    """Return the year that a parent folder names, the nearest one; `2019-2020` names none."""
    return next(filter(None, map(_year_named, reversed(path.split("/")[:-1]))), None)


def year_only_of_path(path: str) -> str | None:
    """Return the year that the file name or else a parent folder names: the least precise date."""
    year = _year_named(path.rpartition("/")[2]) or year_of_path(path)
    return str(year) if year else None


@lru_cache(maxsize=256)  # notes share folders
def _year_named(name: str) -> int | None:
    years = set(_LONE_YEAR.findall(name.lower()))
    return int(years.pop()) if len(years) == 1 else None


def date_of_path(path: str, *, order: Order | None = None) -> tuple[str, str] | None:
    """Return the date of a POSIX relative path, and its source: 'name', or 'folder' if one helped.

    File name; file name with the year of a folder; full date in the nearest folder that has one.
    """
    *folders, name = path.split("/")
    if value := _most_precise(find_dates(name, order=order)):
        return value, "name"
    year = year_of_path(path)
    if year:
        value = _called_by_month(name, year) or _most_precise(find_dates(name, year=year))
    if not value and (nested := _DAY_IN_FOLDERS.match(path)):  # 2024/06/15.md
        value = _iso(*map(int, nested.groups()))
    while folders and not value:
        found = find_dates(folders.pop(), order=order)
        value = _most_precise([date for date in found if len(date.value) == 10])
    return (value, "folder") if value else None


def _called_by_month(name: str, year: int) -> str:
    """Return the month of `june.md`, also of `06-june.md`, which is not 6 June."""
    match = _CALLED_BY_MONTH.fullmatch(name.lower())
    month = _MONTH_OF[match[2]] if match else 0
    return _iso(year, month, None) if match and int(match[1] or month) == month else ""


def _most_precise(dates: list[FoundDate]) -> str:
    return max((date.value for date in dates), key=len, default="")


# 1990 and 2100 in seconds since 1970: a larger number counts milliseconds.
_FIRST_EPOCH, _LAST_EPOCH = 631_152_000, 4_102_444_800


def iso_day(value: object) -> str | None:
    """Return the day or month that a YAML value names: a date, a text, a number like 20260616, a Unix time."""
    if isinstance(value, datetime.date):  # a datetime is one, too
        return _iso(value.year, value.month, value.day) or None
    if isinstance(value, int):
        if _FIRST_EPOCH <= value < _LAST_EPOCH * 1_000:
            seconds = value if value < _LAST_EPOCH else value // 1_000
            moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
            return _iso(moment.year, moment.month, moment.day) or None
        value = str(value) if 19900101 <= value <= 20991231 else ""
    return (_most_precise(find_dates(value)) or None) if isinstance(value, str) else None


def date_words(value: str) -> str:
    """Return search words: '2019-03-13' gives 'd20190313 d201903 march 13 2019'."""
    match = re.fullmatch("([0-9]{4})(?:-(0[1-9]|1[0-2])(?:-([0-9]{2}))?)?", value)
    if not match:
        return ""
    year, month, day = match.groups()
    name = MONTHS[int(month or 1) - 1].split()[0]
    if day:
        return f"d{year}{month}{day} d{year}{month} {name} {int(day)} {year}"
    return f"d{year}{month} {name} {year}" if month else f"d{year}"


def first_day(value: str) -> str:
    """The first day that an ISO date of any precision can mean."""
    return f"{value}-01-01"[:10]


def last_day(value: str) -> str:
    """The last day that an ISO date of any precision can mean."""
    if len(value) == 4:
        return f"{value}-12-31"
    if len(value) == 7:
        return f"{value}-{monthrange(int(value[:4]), int(value[5:]))[1]}"
    return value


def day_of(value: str, today: datetime.date) -> str:
    """A date of any precision as a full day: the last it can mean, but not after today."""
    if len(value) == 10 or not value:
        return value
    last = last_day(value)
    return max(first_day(value), min(last, today.isoformat()))


def days_before(day: str, days: int) -> str:
    """The day so many days before an ISO day."""
    return (datetime.date.fromisoformat(day[:10]) - datetime.timedelta(days=days)).isoformat()
