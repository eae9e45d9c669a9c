"""The values that an index returns, and the text of its search columns. Pure.

Everything here is independent of the engine except `search_columns`, which decides what text each
weighted column contains.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import add
from typing import NamedTuple

from workingset_mcp.notes.dates import date_words
from workingset_mcp.notes.folding import CJK_RUN, other_forms, searchable
from workingset_mcp.notes.lines import LABEL_KINDS, STANDING_KINDS, UNREAD_KIND, Item
from workingset_mcp.notes.note import DatedStretch, Note, Remark
from workingset_mcp.notes.statuses import StatusBlock, date_of_heading
from workingset_mcp.vault.folder import Fingerprint

ITEM_KINDS = ("task", *LABEL_KINDS, *STANDING_KINDS, UNREAD_KIND)
ITEM_FORMS = ("", "label", "bullet", "heading", "row", "line")
_PATH_MARKS = re.compile(r"[/_.\-]+")


class Known(NamedTuple):
    """What the index knows of a file: enough to tell whether the file has changed."""

    fingerprint: Fingerprint
    read_ns: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Parsed:
    """A note ready to be indexed, with the fingerprint of the file when it was read."""

    note: Note
    branch: str
    fingerprint: Fingerprint
    read_ns: int
    digest: bytes


class NoteRow(NamedTuple):
    """A note in the index, without its text."""

    id: int
    path: str
    branch: str
    title: str
    date: str
    date_source: str
    kind: str
    template: bool
    genre: str
    genre_sign: str
    not_current: str
    line_count: int
    tokens: int | None
    size: int
    digest: bytes
    units: tuple[DatedStretch, ...]
    remarks: tuple[Remark, ...]
    names: str  # aliases and tags, one per line


class ItemRow(NamedTuple):
    """An item with its note."""

    note: NoteRow
    item: Item


class StatusRow(NamedTuple):
    """A status block with its note."""

    note: NoteRow
    status: StatusBlock


class SectionRow(NamedTuple):
    """A section (or a piece of a long one) with its text."""

    id: int
    note_id: int
    ordinal: int
    first_line: int
    last_line: int
    level: int
    headings: tuple[str, ...]
    date: str
    skip: int
    text: str
    opens: bool


class ListedRow(NamedTuple):
    """An entry of a list: an item, a status block or a note, with its text."""

    branch: str
    path: str
    line: int  # 0 for the note itself
    date: str  # its own, else its note's
    kind: str
    text: str
    mark: str = ""  # the character in a task's checkbox
    owners: str = ""  # one per line
    due: str = ""


class Hit(NamedTuple):
    """A matching section; a higher score is better."""

    section_id: int
    note_id: int
    score: float


class BranchRow(NamedTuple):
    """The numbers of a branch."""

    branch: str
    notes: int
    open_items: int
    newest_date: str
    newest_path: str  # the last path with that date; empty if no note is dated
    size: int  # bytes of its notes


def kept_headings(headings: Sequence[str], title: str) -> str:
    r"""Encode a heading path for storage: one heading per line, `\r` for a leading note title."""
    if headings and headings[0] == title:
        headings = ("\r", *headings[1:])
    return "\n".join(headings)


def headings_of(kept: str, title: str) -> tuple[str, ...]:
    """Decode a heading path that `kept_headings` encoded."""
    if kept[:1] == "\r":
        return (title, *kept.split("\n")[1:])
    return tuple(kept.split("\n")) if kept else ()


def section_date(headings: Sequence[str]) -> str:
    """Return the deepest full date in a heading path, else the deepest month; empty if there is none."""
    month = ""
    for heading in reversed(headings):
        date = date_of_heading(heading, None, None)  # cached: parsing calls it the same way
        if len(date) == 10:
            return date
        month = month or date
    return month


class SearchableNote:
    """Fills the weighted search columns for the sections of a note.

    Column `cjk` gets CJK text as overlapping pairs of characters, and the other forms of words; the other
    columns get the rest, so that Latin words inside CJK text become separate words.
    """

    def __init__(self, *, path: str, title: str, aliases: str, tags: str, date: str) -> None:
        self._title, self._date = title, date
        self._titles = f"{title}\n{aliases}" if aliases else title
        names = _PATH_MARKS.sub(" ", path)
        self._names = f"{names}\n{tags}" if tags else names
        titles, self._titles = self._titles, searchable(self._titles)
        self._forms = other_forms(titles, self._titles)
        self._names = searchable(self._names)
        self._is_ascii = self._titles.isascii() and self._names.isascii()

    def search_columns(self, headings: Sequence[str], date: str, text: str) -> tuple[str, ...]:
        """Return body, title, heads, path, cjk and dt of a section; `text` has no front matter."""
        titles, names = self._titles, self._names
        heads = "\n".join(headings[1:] if headings and headings[0] == self._title else headings)
        heads, forms_of_heads = _read_headings(heads)
        body = searchable(text)
        forms = " ".join(filter(None, (self._forms, forms_of_heads, other_forms(text, body))))
        if not (self._is_ascii and body.isascii() and heads.isascii()):
            parts = (titles, heads, names, body)
            pairs = " ".join(bigrams(part) for part in parts if not part.isascii()).strip()
            if pairs:
                forms = f"{pairs} {forms}"
                titles, heads, names, body = (
                    part if part.isascii() else CJK_RUN.sub(" ", part) for part in parts
                )
        body = body.replace("\0", " ") if "\0" in body else body
        return body, titles, heads, names, forms, _dates(self._date, date)


@lru_cache(maxsize=1024)
def _read_headings(written: str) -> tuple[str, str]:
    """Return searchable headings, and the other forms of their words."""
    plain = searchable(written)
    return plain, other_forms(written, plain)


@lru_cache(maxsize=1024)
def _dates(note_date: str, date: str) -> str:
    return " ".join(date_words(value) for value in dict.fromkeys((note_date, date)) if value)


def bigrams(text: str) -> str:
    """Return the overlapping character pairs of every CJK run, and the last character of each run.

    A query of one character can then search by prefix: it begins a pair, or it is the last of a run.
    """
    pairs: list[str] = []
    for run in CJK_RUN.findall(text):
        pairs.extend(map(add, run, run[1:]))
        pairs.append(run[-1])
    return " ".join(pairs)
