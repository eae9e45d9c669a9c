"""Token counts of notes, made once and kept in the index.

Counting takes longer than indexing, so it runs after indexing, or when an answer first needs the number.
"""

from collections.abc import Iterable, Sequence

from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.caller import stop_if_gone
from workingset_mcp.index import Engine, View
from workingset_mcp.index.rows import NoteRow


def tokens_of(snapshot: View, index: Engine, notes: Sequence[NoteRow]) -> dict[int, int]:
    """Return the tokens of these notes by id; count what is missing and save it."""
    tokens = {note.id: note.tokens for note in notes if note.tokens is not None}
    missing = [(note.id, note.digest) for note in notes if note.tokens is None]
    if missing:
        counts = count_notes(snapshot, missing)
        index.save_tokens(counts)
        tokens |= {note_id: count for note_id, (_, count) in counts.items()}
    return tokens


def count_notes(snapshot: View, notes: Iterable[tuple[int, bytes]]) -> dict[int, tuple[bytes, int]]:
    """Count notes given as (id, digest): id -> (digest, tokens)."""
    counts = {}
    for note_id, digest in notes:
        stop_if_gone()
        counts[note_id] = (digest, count_tokens(snapshot.text(note_id)))
    return counts
