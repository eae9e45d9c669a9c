"""Order the standing lines of undated notes: rhythm, contacts, rules, leads. Pure.

Not here: what makes a line a standing line (`notes`).
"""

from collections.abc import Sequence

from workingset_mcp.answers.brief.materials import (
    QUOTE_TOKENS,
    BranchReader,
    Materials,
    NewUnit,
    ReadUnit,
    StandingLine,
)
from workingset_mcp.answers.brief.structure import Structure
from workingset_mcp.answers.budget import count_tokens, least_tokens
from workingset_mcp.index.rows import NoteRow
from workingset_mcp.notes.lines import STANDING_KINDS, all_folded
from workingset_mcp.notes.markdown import outline_of
from workingset_mcp.notes.words import FIRST_NOTES, STRONG_RULE, plainly

NEXT_OF_NOTE = 0.7  # penalty for each further line of the same note
FIRST_LEAD = 10  # bonus for a line of a top-level README, except rules
LONG_CHARACTERS = 240
_LEAST_LINE_TOKENS = 6


def standing_lines(
    reader: BranchReader, in_order: Sequence[NoteRow]
) -> dict[str, list[StandingLine]]:
    """Return standing lines by kind, each line once: README and index first, then the strongest lines."""
    undated = [note for note in in_order if not note.date]
    undated.sort(key=lambda n: (n.path.count("/"), not _is_first(n.path), n.path))
    place = {note.id: at for at, note in enumerate(undated)}
    kinds: dict[str, dict[int, list[tuple[float, int, str]]]] = {
        kind: {} for kind in STANDING_KINDS
    }
    for note_id, line, kind, text in reader.standing_lines():
        at = place.get(note_id)
        if at is not None:
            kinds[kind].setdefault(at, []).append((-_strength(kind, text), line, text))
    found = {}
    for kind, notes in kinds.items():
        entries: list[tuple[float, int, int, str]] = []
        for at, lines in notes.items():
            lines.sort()
            lead = FIRST_LEAD if kind != "rule" and _is_on_top(undated[at], undated[0]) else 0
            entries.extend(
                (cost + NEXT_OF_NOTE * rank - lead, at, line, text)
                for rank, (cost, line, text) in enumerate(lines)
            )
        entries.sort()
        found[kind] = _each_once(
            [StandingLine(undated[at].path, line, text) for _, at, line, text in entries]
        )
    return found


def pick_standing(
    materials: Materials, reader: BranchReader, limit: int, kinds: Sequence[tuple[str, int, float]]
) -> list[tuple[ReadUnit, set[int]]]:
    """Pick standing lines that fit, with what gives them meaning, as line numbers of each note.

    `kinds`: each with its most lines, and the share of the limit that is used up when it ends.
    """
    notes = {note.path: note for note in materials.recent}
    picked: dict[str, set[int]] = {}
    used = 0
    for kind, most, up_to in kinds:
        count = 0
        for line in materials.standing.get(kind, ()):
            room = int(limit * up_to) - used
            if count == most or room < _LEAST_LINE_TOKENS:
                break
            if least_tokens(line.text) > room:
                continue
            unit = read_whole(materials, reader, notes[line.path])
            have = picked.get(line.path, set())
            added = unit.bound_lines(line.line, line.line) - have
            mark = 0 if have else unit.head_tokens
            cost = unit.cost_of(added, have, room - mark) + mark
            if cost <= room:
                picked[line.path] = have | added
                used += cost
                count += bool(added)
    return [(materials.whole[path], lines) for path, lines in picked.items()]


def read_whole(materials: Materials, reader: BranchReader, note: NoteRow) -> ReadUnit:
    """Read a whole note, once for all attempts to fit a brief."""
    if note.path in materials.whole:
        return materials.whole[note.path]
    lines = reader.lines(note, 1, note.line_count)
    outline = outline_of("\n".join(lines))
    mark = QUOTE_TOKENS + count_tokens(note.path)
    unit = ReadUnit(
        NewUnit(note, "", 1, note.line_count), "", mark, [], outline, Structure(outline)
    )
    materials.whole[note.path] = unit
    return unit


def _strength(kind: str, text: str) -> float:
    """Score a standing line: strong words and amounts in a rule count, a long line loses a point."""
    strong = min(3, len(STRONG_RULE.findall(plainly(text)))) if kind == "rule" else 0
    return strong - (1.0 if len(text) > LONG_CHARACTERS else 0.0)


def _each_once(lines: Sequence[StandingLine]) -> list[StandingLine]:
    first: dict[str, StandingLine] = {}
    for line, key in zip(lines, all_folded(line.text for line in lines), strict=True):
        first.setdefault(key, line)
    return list(first.values())


def _is_on_top(note: NoteRow, first: NoteRow) -> bool:
    """Return whether a note is a README or index at the top level of the undated notes."""
    return _is_first(note.path) and note.path.count("/") == first.path.count("/")


def _is_first(path: str) -> bool:
    return bool(FIRST_NOTES.match(path.rpartition("/")[2]))
