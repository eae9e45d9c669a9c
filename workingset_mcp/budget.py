"""Tokens: exact counts with the o200k_base table that the package carries, and taking what fits.

Nothing is ever downloaded. The table is loaded once, by `load_table` or the first count (about
0.2 s). Not here: what a brief or a search puts first.
"""

import math
import re
import struct
import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tiktoken import Encoding

LEAST_BUDGET = 200
LEAST_BRIEF_BUDGET = 400
MOST_BUDGET = 24_000

_PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
# The encoder's regex engine overflows on a run of about a million blanks and slows down on endless
# words: such text is counted in pieces, each a little dearer than its exact count.
_PATHOLOGICAL = re.compile(r"(?:^|(?<=\S))\s{2000}|(?:^|(?<=\s))\S{4000}")
_PATHOLOGICAL_CHARACTERS = 2_000
_SLOW = re.compile(r"(?:^|(?<=[\s\x00-\x7f]))[^\s\x00-\x7f]{400}")  # in texts where it adds up
_SLOW_FROM_CHARACTERS = 20_000
_PIECE_CHARACTERS = 200
_SHORT_CHARACTERS = 300
_LONGEST_TOKEN = 130  # characters
_load_lock = threading.Lock()


def count_tokens(text: str) -> int:
    """Tokens of the text in o200k_base: exact, or a little above for pathological lines."""
    if len(text) <= _SHORT_CHARACTERS:
        return _count_short(text)
    encoder = _encoder()
    if is_counted_exactly(text):
        return len(encoder.encode_ordinary(text))
    total = 0
    for start in range(0, len(text), _PIECE_CHARACTERS):
        piece = text[start : start + _PIECE_CHARACTERS]
        total += len(encoder.encode_ordinary(piece)) + 1
    return total


def is_counted_exactly(text: str) -> bool:
    """Whether no line is pathological: such a text is counted in pieces, a little above its cost."""
    slow = len(text) > _SLOW_FROM_CHARACTERS and _SLOW.search(text)
    return not slow and not (len(text) >= _PATHOLOGICAL_CHARACTERS and _PATHOLOGICAL.search(text))


@lru_cache(maxsize=4_096)
def _count_short(text: str) -> int:
    """Tokens of a line: the same lines are counted each time that an answer is fitted."""
    return len(_encoder().encode_ordinary(text)) if text else 0


def least_tokens(line: str) -> int:
    """What a line costs at least, without counting it: no token reaches over a blank into two words."""
    return len(line.split()) if line.isprintable() else 1


def estimate_tokens(text: str) -> int:
    """A quick guess, usually some percent above the exact count: for planning, never for a law."""
    if text.isascii():
        return len(text) * 2 // 7 + 1
    return len(text.encode("utf-8", "replace")) * 2 // 6 + 1


def cut_to_tokens(text: str, budget_tokens: int) -> int:
    """Characters of the longest beginning of `text` that costs at most `budget_tokens`."""
    if budget_tokens <= 0:
        return 0
    low, high = 0, min(len(text), budget_tokens * _LONGEST_TOKEN)
    if high == len(text) and count_tokens(text) <= budget_tokens:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle]) <= budget_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def take_lines(lines: Sequence[str], budget_tokens: int) -> int:
    """How many of the first lines (with their ends) fit into `budget_tokens` together."""
    used = 0
    for number, line in enumerate(lines):
        if len(line) > _LONGEST_TOKEN * (budget_tokens - used + 1):
            return number
        used += count_tokens(line)
        if used > budget_tokens:
            return number
    return len(lines)


class Counted(NamedTuple):
    """A text with its tokens, counted whole."""

    text: str
    tokens: int


def fits(made: Counted, budget_tokens: int, max_bytes: int | None, margin: float = 1.0) -> bool:
    """Whether the final text keeps the law: tokens (times the margin) and bytes, both of the whole."""
    if max_bytes is not None and len(made.text.encode("utf-8")) > max_bytes:
        return False
    return priced(made.tokens, margin) <= budget_tokens


def priced(tokens: int, margin: float) -> int:
    """Tokens as a budget sees them: times the margin for models that count more than o200k_base."""
    return math.ceil(tokens * margin)


def load_table() -> None:
    """Load the table now: a server does, before what it would otherwise grow around."""
    _encoder()


def _encoder() -> "Encoding":
    with _load_lock:
        return _load()


@cache
def _load() -> "Encoding":
    from tiktoken import Encoding  # on first use, for commands that never count: 0.1 s

    ranks = _ranks()
    made = Encoding(name="o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # it counts with a copy of its own: 25 MB
    return made


def _ranks() -> dict[bytes, int]:
    """The published table, from a file made for quick reading: numbers are little-endian.

    How many lengths of tokens there are (two bytes); each length (two) with how many tokens have it
    (four), shortest first; the rank of each token (four); the tokens themselves, in the same order.
    """
    from importlib.resources import files  # as above

    table = files("workingset_mcp").joinpath("data/o200k_base.ranks").read_bytes()
    at = 2 + 6 * int.from_bytes(table[:2], "little")
    lengths = list(struct.iter_unpack("<HI", table[2:at]))
    ranks = struct.unpack_from(f"<{sum(number for _, number in lengths)}I", table, at)
    at += 4 * len(ranks)
    tokens: list[bytes] = []
    for length, number in lengths:
        same = table[at : at + length * number]
        tokens += [token for (token,) in struct.iter_unpack(f"{length}s", same)]
        at += length * number
    return dict(zip(tokens, ranks, strict=True))
