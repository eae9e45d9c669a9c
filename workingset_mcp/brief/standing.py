"""What undated notes say that always holds, and the topics of a branch, in order. Pure."""

from collections.abc import Sequence
from itertools import zip_longest

from workingset_mcp.brief.materials import Branch, Sourced
from workingset_mcp.index.rows import ItemRow, NoteRow
from workingset_mcp.lines import STANDING_KINDS, Item, all_folded, without_comment
from workingset_mcp.words import FIRST_NOTES, STRONG_RULE, plainly

NEXT_OF_NOTE = 0.7  # what a further line of the same note is worth less
TOPIC_NOTES = 60


def standing_lines(
    items: Sequence[ItemRow], in_order: Sequence[NoteRow]
) -> dict[str, list[Sourced]]:
    """What undated notes say that always holds: README and index first, then the strongest lines."""
    undated = [note for note in in_order if not note.date]
    undated.sort(key=lambda n: (n.path.count("/"), not _is_first(n.path), n.path))
    place = {note.id: at for at, note in enumerate(undated)}
    top = min((note.path.count("/") for note in undated), default=0)
    kinds: dict[str, list[ItemRow]] = {kind: [] for kind in STANDING_KINDS}
    for row in items:
        if row.item.kind in kinds and row.note.id in place:
            kinds[row.item.kind].append(row)
    found: dict[str, list[Sourced]] = {}
    for kind, rows in kinds.items():
        pools: dict[int, list[tuple[float, ItemRow]]] = {}
        for row in rows:
            pools.setdefault(row.note.id, []).append((_strength(row.item), row))
        entries = []
        for pool in pools.values():
            pool.sort(key=lambda pair: -pair[0])
            for rank, (strength, row) in enumerate(pool):
                path = row.note.path
                first = kind != "rule" and _is_first(path) and path.count("/") == top
                value = strength - NEXT_OF_NOTE * rank + (10 if first else 0)
                entries.append((-value, place[row.note.id], row.item.line, row))
        entries.sort(key=lambda entry: entry[:3])
        found[kind] = _each_once([row for *_, row in entries])
    return found


def _strength(item: Item) -> float:
    """How much a standing line commits: strong words and amounts; long lines less."""
    value = 0.0
    if item.kind == "rule":
        value += min(3, len(STRONG_RULE.findall(plainly(item.text))))
    return value - (1.0 if len(item.text) > 240 else 0.0)


def _each_once(rows: Sequence[ItemRow]) -> list[Sourced]:
    first: dict[str, ItemRow] = {}
    for row, key in zip(rows, all_folded(row.item.text for row in rows), strict=True):
        first.setdefault(key, row)
    return [Sourced(row.item.text, (source_of(row),)) for row in first.values()]


def _is_first(path: str) -> bool:
    return bool(FIRST_NOTES.match(path.rpartition("/")[2]))


def topics_of(in_order: Sequence[NoteRow], branch: Branch) -> list[Sourced]:
    """Second-level headings in turn over the newest notes, each once."""
    statuses = {(row.note.id, row.status.line) for row in branch.statuses}
    newest = in_order[:TOPIC_NOTES]
    headings = branch.topics([note.id for note in newest])
    pools = [
        [
            (note.path, line, heading)
            for heading, line in headings.get(note.id, ())
            if (note.id, line) not in statuses
        ]
        for note in newest
    ]
    in_turn = [topic for topics in zip_longest(*pools) for topic in topics if topic]
    texts = [without_comment(heading) for *_, heading in in_turn]
    first: dict[str, Sourced] = {}
    for (path, line, _), text, key in zip(in_turn, texts, all_folded(texts), strict=True):
        if text and key not in first:
            first[key] = Sourced(text, (f"{path}:{line}",))
    return list(first.values())


def source_of(row: ItemRow) -> str:
    """Where an item stands."""
    return f"{row.note.path}:{row.item.line}"
