"""From the bytes of a file to a `Note`: decoded, dated, cut into sections, its items picked out.

Reading a note never fails: what could not be read in full becomes a remark. Not here: where the file
comes from (`vault`), and what is made of the note (`index`, `answers`).
"""

import codecs
import hashlib
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress
from pathlib import PurePosixPath
from typing import NamedTuple

from workingset_mcp.notes.dates import date_of_path, find_dates, year_of_path, year_only_of_path
from workingset_mcp.notes.front_matter import FrontMatter, read_front_matter
from workingset_mcp.notes.lines import Item, folded_lines, without_comment, without_link_targets
from workingset_mcp.notes.markdown import front_matter_lines, outline_of, split_lines
from workingset_mcp.notes.outline import Heading, LineKind, Outline
from workingset_mcp.notes.sections import Section, sections_of
from workingset_mcp.notes.statuses import DatedHeadings, StatusBlock, statuses_of
from workingset_mcp.notes.words import DATE_LINE, TEMPLATE
from workingset_mcp.notes.written_brief import BRIEF_KIND, unsigned
from workingset_mcp.settings import Settings

OVERRIDE_NAME = "override.md"
_CONFLICT_MARK = re.compile(r"^(?:<{7} |>{7} |={7}$)", re.MULTILINE)
_MULTIBYTE = re.compile(  # a whole character of several bytes, as UTF-8 allows it
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
_DATED_HEADING_LINES = 400
_LONGEST_MONTH = 16  # characters of a heading that says a month and nothing else
_TOP_LINES = 15  # of a note, in which a line may date it
_LINE_END = re.compile(r"\r\n|\n|\r")
_SAID = bytes(
    kind in (LineKind.TEXT, LineKind.TABLE) for kind in range(256)
)  # kinds that say something


class RemarkKind(StrEnum):
    """What a remark is about, where anything depends on that."""

    UNREAD = ""  # something could not be read as it was meant
    AMBIGUOUS_DATE = "ambiguous date"


class Remark(NamedTuple):
    """Something about a note that a person should know; line 0 means the whole note."""

    line: int
    text: str
    kind: str = RemarkKind.UNREAD


_NOT_OUR_BRIEF = Remark(
    1,
    f"left out: its front matter says kind: {BRIEF_KIND}, but it is not as `brief --write` wrote it;"
    " without that line it is a note",
)


class DatedStretch(NamedTuple):
    """A dated stretch of a note: the whole note, or one dated section of a year's file."""

    date: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Note:
    """One markdown file, read. `date` is ISO with as much as is known, or empty."""

    path: str
    title: str
    date: str
    date_source: str  # front matter, name, folder, line, heading, year; empty when undated
    line_count: int
    kind: str  # note, override, brief
    template: bool
    genre: str  # its kind of note (`NOTE_KINDS`), and the sign of it
    genre_sign: str
    not_current: str  # what it says of why it no longer holds; empty if it holds
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    sections: tuple[Section, ...]
    items: tuple[Item, ...]
    statuses: tuple[StatusBlock, ...]
    units: tuple[DatedStretch, ...]
    remarks: tuple[Remark, ...]
    line_digests: bytes  # sorted unsigned 32-bit digests of its folded lines


def parse_note(path: str, raw: bytes, settings: Settings) -> Note:
    """Read a note. Never raises: `remarks` say what is wrong with it."""
    from workingset_mcp.notes.items import items_of  # imports take 12 ms that a hook does without
    from workingset_mcp.notes.kinds import kind_of_note
    from workingset_mcp.notes.superseded import not_current

    text, remarks = decode(raw)
    outline = outline_of(text)
    front = FrontMatter()
    if outline.front_matter_lines:
        front = read_front_matter(outline.lines[: outline.front_matter_lines])
        remarks.extend(Remark(1, remark) for remark in front.remarks)
    date, source = _date_of(path, front, outline, settings)
    kind = _kind_of(path, front, settings)
    if kind == "private":
        return _empty_note(path, _stem(path), len(outline.lines), kind, ())
    if kind == "brief":
        doubts = () if unsigned(text) else (_NOT_OUR_BRIEF,)
        return _empty_note(path, front.title or _stem(path), len(outline.lines), kind, doubts)
    year = year_of_path(path)
    statuses = tuple(statuses_of(outline, settings, year=year))
    dated = DatedHeadings(outline, settings, year=year)
    remarks.extend(_remarks_of(outline, statuses))
    template = bool(TEMPLATE.search(path))
    units = _units_of(outline, date, source, dated.headings)
    days = {unit.date for unit in units} if len(units) > 1 else set()
    genre, sign = kind_of_note(path, front, outline, dated=bool(date), days=days)
    return Note(
        path=path,
        title=_title_of(path, front, outline),
        date=date,
        date_source=source,
        line_count=len(outline.lines),
        kind=kind,
        template=template,
        genre=genre,
        genre_sign=sign,
        not_current=not_current(front, outline),
        aliases=front.aliases,
        tags=front.tags,
        sections=tuple(sections_of(text, outline)),
        items=tuple(items_of(outline, settings, dated, note_date=date, template=template)),
        statuses=statuses,
        units=units,
        remarks=tuple(remarks),
        line_digests=_line_digests(outline),
    )


def unreadable_note(path: str, reason: str) -> Note:
    """What is known of a note whose file cannot be read."""
    return _empty_note(path, _stem(path), 0, "note", (Remark(0, reason),))


def decode(raw: bytes) -> tuple[str, list[Remark]]:
    """The text of a file without a BOM, and remarks where bytes were not UTF-8 or UTF-16."""
    for bom, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if raw.startswith(bom):
            text = raw[2:].decode(name, errors="replace")
            return _without_nul(text, [])
    if raw.startswith(codecs.BOM_UTF8):
        raw = raw[3:]
    try:
        return _without_nul(raw.decode("utf-8"), [])
    except UnicodeDecodeError as error:
        line = _line_of(raw[: error.start].decode("latin-1"))
    if _MULTIBYTE.search(raw):
        remark = Remark(line, "some bytes are not UTF-8; shown as replacement marks")
        return _without_nul(raw.decode("utf-8", errors="replace"), [remark])
    remark = Remark(line, "not UTF-8; read as Windows-1252")
    return _without_nul(raw.decode("cp1252", errors="replace"), [remark])


def text_digest(raw: bytes) -> bytes:
    """Digest of a file's bytes: equal contents, equal digest."""
    return hashlib.blake2b(raw, digest_size=16).digest()


def line_digest(line: str) -> int:
    """Digest of a line as it folds, without its list mark: copies have the same."""
    return line_digests([line])[0]


def line_digests(lines: Iterable[str]) -> list[int]:
    """Digests of lines, in order. Faster than one call a line."""
    return list(map(zlib.crc32, folded_lines(lines)))


def _line_of(before: str) -> int:
    """Number of the line that follows this text."""
    return len(_LINE_END.findall(before)) + 1


def _without_nul(text: str, remarks: list[Remark]) -> tuple[str, list[Remark]]:
    if "\0" in text:
        remarks.append(Remark(_line_of(text[: text.index("\0")]), "holds NUL characters"))
    return text, remarks


def _empty_note(
    path: str, title: str, line_count: int, kind: str, remarks: tuple[Remark, ...]
) -> Note:
    return Note(
        path,
        title,
        "",
        "",
        line_count,
        kind,
        False,
        "",
        "",
        "",
        (),
        (),
        (),
        (),
        (),
        (),
        remarks,
        b"",
    )


def is_private(text: str, settings: Settings) -> bool:
    """Whether the front matter of a text keeps the note out of every answer."""
    lines = split_lines(text) if text.startswith("---") else ()
    front = read_front_matter(lines[: front_matter_lines(lines)])
    return _is_marked_private(front, settings)


def _is_marked_private(front: FrontMatter, settings: Settings) -> bool:
    marked = {tag.casefold().partition("/")[0] for tag in front.tags}
    return front.is_private or not marked.isdisjoint(map(str.casefold, settings.private_tags))


def _kind_of(path: str, front: FrontMatter, settings: Settings) -> str:
    if _is_marked_private(front, settings):
        return "private"
    if front.kind == BRIEF_KIND:
        return "brief"
    return "override" if path.rpartition("/")[2].lower() == OVERRIDE_NAME else "note"


def _stem(path: str) -> str:
    return PurePosixPath(path).stem


def _title_of(path: str, front: FrontMatter, outline: Outline) -> str:
    title = without_comment(front.title)
    if title:
        return title
    headings = [h for h in outline.headings if h.line not in outline.item_depth]
    first = next((h for h in headings if h.level == 1 and h.text), None)
    if first is None and headings and headings[0].level <= 2:
        first = headings[0] if headings[0].line <= 12 else None
    heading = without_comment(without_link_targets(first.text)) if first else ""
    return heading[:300] or _stem(path)


def _date_of(
    path: str, front: FrontMatter, outline: Outline, settings: Settings
) -> tuple[str, str]:
    """The date of a note and where it stands: the first that parses counts."""
    if front.dates:
        return front.dates[0], "front matter"
    from_path = date_of_path(path, order=settings.date_order)
    if from_path:
        return from_path
    year = year_of_path(path)
    dated = [
        (mark, next(filter(None, (date.value for date in dates)), ""))
        for mark in outline.marks
        if mark.line <= _DATED_HEADING_LINES
        and (dates := find_dates(mark.text, year=year, order=settings.date_order))
    ]
    if dated and dated[0][1] and _is_title(dated[0][0], outline):
        return dated[0][1], "heading"
    said = _day_said_on_top(outline, settings)
    if said:
        return said, "line"
    for mark, value in dated:
        if value and _dates_the_note(mark, value, dated):
            return value, "heading"
    only_year = year_only_of_path(path)
    return (only_year, "year") if only_year else ("", "")


def _is_title(mark: Heading, outline: Outline) -> bool:
    return mark.level == 1 or mark is outline.marks[0]


def _dates_the_note(mark: Heading, value: str, dated: list[tuple[Heading, str]]) -> bool:
    """Whether the date of a heading is that of its note.

    A month inside a deeper heading (`Structure after the refactor of July 2026`) dates its section; in a
    log, several headings of one level are months.
    """
    if mark.level == 1 or len(value) == 10 or len(mark.text) <= _LONGEST_MONTH:
        return True
    return sum(other.level == mark.level and bool(said) for other, said in dated) > 1


def _day_said_on_top(outline: Outline, settings: Settings) -> str:
    """The day that a line such as `Date: …` or `Last updated: …` says among the first of a note."""
    first = outline.front_matter_lines
    for line in range(first + 1, min(first + _TOP_LINES, len(outline.lines)) + 1):
        text = outline.lines[line - 1]
        if outline.kinds[line - 1] not in (LineKind.TEXT, LineKind.TABLE) or len(text) > 400:
            continue
        said = DATE_LINE.match(text)
        if not said:
            continue
        dates = find_dates(said["said"], order=settings.date_order)
        at_head = bool(dates) and (dates[0].start <= 12 or bool(said["status"]))
        if at_head and len(dates[0].value) == 10:
            return dates[0].value
    return ""


def _units_of(
    outline: Outline, date: str, source: str, dated: list[tuple[Heading, str]]
) -> tuple[DatedStretch, ...]:
    """The dated stretches of a note: its dated sections where it has several, else itself."""
    levels = Counter(mark.level for mark, value in dated if len(value) == 10)
    for level, count in sorted(levels.items(), key=lambda pair: (-pair[1], pair[0])):
        marks = [(m, value) for m, value in dated if m.level == level and len(value) == 10]
        whole_is_dated = date and source in ("front matter", "name", "folder", "line")
        if count >= (3 if whole_is_dated else 2) and len({value for _, value in marks}) > 1:
            stretches = tuple(
                DatedStretch(value, mark.line, outline.section_end(mark)) for mark, value in marks
            )
            covered = sum(last - first + 1 for _, first, last in stretches)
            if whole_is_dated and covered * 2 < len(outline.lines):
                break  # an agenda names days, and the minutes below it are of the note's day
            return stretches
        break
    if not date or (len(date) < 10 and levels):
        if not dated:
            return ()
        mark, value = dated[0]
        if not date and not _dates_the_note(mark, value, dated):
            return (DatedStretch(value, mark.line, outline.section_end(mark)),)
        return (DatedStretch(value, 1, len(outline.lines)),)
    return (DatedStretch(date, 1, len(outline.lines)),)


def _remarks_of(outline: Outline, statuses: tuple[StatusBlock, ...]) -> list[Remark]:
    remarks = []
    if outline.unclosed_fence_line:
        remarks.append(
            Remark(
                outline.unclosed_fence_line, "code fence is never closed; the rest reads as code"
            )
        )
    if outline.holds("<<<<<<< "):
        matched = _CONFLICT_MARK.search(outline.flat)
        if matched:
            line = outline.line_at(matched.start())
            remarks.append(Remark(line, "holds merge conflict marks"))
    remarks.extend(
        Remark(
            status.line,
            f"date of {status.heading[:60]!r} reads two ways; set date_order",
            RemarkKind.AMBIGUOUS_DATE,
        )
        for status in statuses
        if status.ambiguous
    )
    return remarks


def _line_digests(outline: Outline) -> bytes:
    said = outline.kinds.translate(_SAID)
    lines = list(filter(str.strip, compress(outline.lines, said)))
    return array("I", sorted(set(line_digests(lines)) if lines else ())).tobytes()
