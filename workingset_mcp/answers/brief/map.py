"""Name the notes and headings where more stands than a brief shows: one call opens the rest. Pure.

Not here: which lines matter (`telling`, `undated`), and which of them are shown (`newest`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from workingset_mcp.answers.answer import Source, marked_line
from workingset_mcp.answers.brief.materials import BranchReader, Materials, ReadUnit
from workingset_mcp.answers.brief.newest import says_more
from workingset_mcp.answers.brief.undated import read_whole
from workingset_mcp.answers.budget import take_lines
from workingset_mcp.index.rows import NoteRow
from workingset_mcp.notes.lines import without_comment, without_link_targets

MOST_MAPPED = 14  # notes
LEAST_MAPPED = 6  # if so few hold more than is shown, the newest others are named by their titles
_MOST_HEADINGS = 5  # of one note
_LONGEST_HEADING = 90
_STANDING_WORTH = {"rule": 3.0, "rhythm": 2.0, "contact": 2.0, "lead": 0.5}


class _Place(NamedTuple):
    """A note with what it holds that is not shown: the worth of its lines, by line."""

    path: str
    worth: dict[int, float]


def mapped(
    materials: Materials, reader: BranchReader, shown: Iterable[tuple[str, int]], limit_tokens: int
) -> str:
    """Print one line a note, the newest first: its date and title, its headings with the most, its path."""
    seen = set(shown)
    units = {unit.unit.note.path: unit for unit in materials.newest}
    notes = {note.path: note for note in materials.recent}

    def read(path: str) -> ReadUnit:
        return units.get(path) or read_whole(materials, reader, notes[path])

    places = sorted(_places(materials, seen), key=lambda place: -sum(place.worth.values()))
    named = {place.path: _headings(read(place.path), place.worth) for place in places[:MOST_MAPPED]}
    shown_paths = {path for path, _ in seen}
    for note in materials.recent[:MOST_MAPPED]:
        if len(named) < LEAST_MAPPED and note.path not in named:
            topics = _topics(read(note.path), note.path, seen)
            if topics or note.path not in shown_paths:
                named[note.path] = topics
    lines = {
        path: f"- {marked_line(_said(notes[path], headings), Source(path))}\n"
        for path, headings in named.items()
    }
    fitting = set(list(lines)[: take_lines(list(lines.values()), limit_tokens)])
    return "".join(lines[note.path] for note in materials.recent if note.path in fitting)


def _said(note: NoteRow, headings: Sequence[str]) -> str:
    """The date and the title of a note where its path does not say them, then headings."""
    date = note.date if note.date and note.date not in note.path else ""
    title = note.title if says_more(note.title, note.path) or not headings else ""
    name = " ".join(filter(None, (date, without_comment(title))))
    said = (without_comment(without_link_targets(heading)) for heading in headings)
    topics = " · ".join(heading for heading in said if heading and heading != title)
    return ": ".join(filter(None, (name, topics)))


def _topics(unit: ReadUnit, path: str, seen: set[tuple[str, int]]) -> list[str]:
    """The first headings of the second level that are not shown."""
    return [
        mark.text
        for mark in unit.outline.headings
        if mark.level == 2
        and mark.text
        and (path, mark.line + unit.unit.first_line - 1) not in seen
    ][:_MOST_HEADINGS]


def _places(materials: Materials, shown: set[tuple[str, int]]) -> Iterator[_Place]:
    worth: dict[str, dict[int, float]] = {}
    for unit in materials.newest:
        for line in unit.lines:
            if line.score > 0 and (unit.unit.note.path, line.number) not in shown:
                worth.setdefault(unit.unit.note.path, {})[line.number] = line.score
    for kind, standing in materials.standing.items():
        for one in standing:
            if (one.path, one.line) not in shown:
                worth.setdefault(one.path, {})[one.line] = _STANDING_WORTH[kind]
    for path, of_note in worth.items():
        yield _Place(path, of_note)


def _headings(unit: ReadUnit, worth: dict[int, float]) -> Sequence[str]:
    """The headings of a note under which the most stands that is not shown, in the order of the note."""
    sums: dict[int, float] = {}
    for line, value in worth.items():
        heading = unit.structure.heading_line(line - unit.unit.first_line + 1)
        if heading:
            sums[heading] = sums.get(heading, 0.0) + value
    best = sorted(sorted(sums, key=lambda line: -sums[line])[:_MOST_HEADINGS])
    texts = (unit.structure.heading_text(line) for line in best)
    return [text for text in texts if 0 < len(text) <= _LONGEST_HEADING]
