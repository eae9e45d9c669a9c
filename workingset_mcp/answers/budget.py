"""Tokens as budgets see them: counts that no text makes slow or too low, and taking what fits.

Not here: the table behind the counts (`o200k`), what a brief or a search puts first.
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from workingset_mcp.answers import tokenizer

LEAST_BUDGET = 200
LEAST_BRIEF_BUDGET = 400
MOST_BUDGET = 24_000

# The encoder's regex engine overflows on a run of about a million blanks and slows down on endless
# words: such text is counted in pieces, each a little dearer than its exact count.
_PATHOLOGICAL = re.compile(r"(?:^|(?<=\S))\s{2000}|(?:^|(?<=\s))\S{4000}")
_WITHIN = 1_000  # half the shortest such run: each fills a stretch that begins at a multiple of it
_SLOW = re.compile(r"(?:^|(?<=[\s\x00-\x7f]))[^\s\x00-\x7f]{400}")  # in texts where it adds up
_SLOW_FROM_CHARACTERS = 20_000
_PIECE_CHARACTERS = 200
_SHORT_CHARACTERS = 300
_REACHES_OVER = re.compile(r"\n[\s/]")  # where a token may hold a line end and what follows
_LONGEST_TOKEN = 130  # characters
_LEAST_ECHO_TOKENS = 12


def count_tokens(text: str) -> int:
    """Tokens of the text in o200k_base: exact, or a little above for pathological lines."""
    if len(text) <= _SHORT_CHARACTERS:
        return _count_short(text)
    if is_counted_exactly(text):
        return tokenizer.count(text)
    if len(text) > tokenizer.LONG_TEXT:
        tokenizer.encoder()
    total = 0
    for start in range(0, len(text), _PIECE_CHARACTERS):
        piece = text[start : start + _PIECE_CHARACTERS]
        total += tokenizer.count(piece) + 1
    return total


def is_counted_exactly(text: str) -> bool:
    """Whether no line is pathological: such a text is counted in pieces, a little above its cost."""
    if len(text) > _SLOW_FROM_CHARACTERS and _SLOW.search(text):
        return False
    stretches = (text[at : at + _WITHIN] for at in range(0, len(text) - _WITHIN + 1, _WITHIN))
    likely = any(len(stretch.split(None, 1)) < 2 for stretch in stretches)
    return not (likely and _PATHOLOGICAL.search(text))


def count_lines(text: str) -> int:
    """Tokens of a text: line by line, often counted before, where each costs here what it costs alone."""
    if _REACHES_OVER.search(text) or not is_counted_exactly(text):
        return count_tokens(text)
    *lines, last = text.split("\n")
    return sum(count_tokens(f"{line}\n") for line in lines) + count_tokens(last)


@lru_cache(maxsize=4_096)
def _count_short(text: str) -> int:
    """Tokens of a line: the same lines are counted each time that an answer is fitted."""
    return tokenizer.count(text)


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


def clipped(text: str, most_tokens: int) -> str:
    """The text, cut where it costs more; dots say so."""
    if len(text) * 4 <= most_tokens or count_tokens(text) <= most_tokens:
        return text
    return f"{text[: cut_to_tokens(text, most_tokens - 2)]}…"


def echo_tokens(room: int, share: int = 3) -> int:
    """The most tokens for a name or words that an answer repeats: a share of its room."""
    return max(room // share, _LEAST_ECHO_TOKENS)


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


def fits(
    text: str, tokens: int, budget_tokens: int, max_bytes: int | None, margin: float = 1.0
) -> bool:
    """Whether a final text and its tokens (times the margin) stay within the budget and the bytes."""
    if max_bytes is not None and len(text.encode("utf-8")) > max_bytes:
        return False
    return priced(tokens, margin) <= budget_tokens


def priced(tokens: int, margin: float) -> int:
    """Tokens as a budget sees them: times the margin for models that count more than o200k_base."""
    return math.ceil(tokens * margin)
