"""Count tokens for budgets, and take what fits. No text makes a count slow or too low.

Not here: the token table (`tokenizer`), what a brief or a search puts first.
"""

import math
import re
from collections.abc import Iterable
from functools import lru_cache

from workingset_mcp.answers import tokenizer

LEAST_BUDGET = 200
LEAST_BRIEF_BUDGET = 400
MOST_BUDGET = 24_000

# The encoder's regex engine overflows on a run of about a million blanks and is slow on endless words.
# Such text is counted in pieces, which gives slightly more than the exact count.
_PATHOLOGICAL = re.compile(r"(?:^|(?<=\S))\s{2000}|(?:^|(?<=\s))\S{4000}")
_WITHIN = 1_000  # half the shortest such run: each run fills an aligned slice of this length
_SLOW = re.compile(r"(?:^|(?<=[\s\x00-\x7f]))[^\s\x00-\x7f]{400}")  # matters in long texts only
_SLOW_FROM_CHARACTERS = 20_000
_PIECE_CHARACTERS = 200
_SHORT_CHARACTERS = 300
_REACHES_OVER = re.compile(r"\n[\s/]")  # a token may contain the newline and what follows it
_LONGEST_TOKEN = 130  # characters
_LEAST_ECHO_TOKENS = 12


def count_tokens(text: str) -> int:
    """Count the tokens of a text in o200k_base: exactly, or slightly high for pathological lines."""
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
    """Return whether no line is pathological; a text with such a line is counted in pieces, slightly high."""
    if len(text) > _SLOW_FROM_CHARACTERS and _SLOW.search(text):
        return False
    stretches = (text[at : at + _WITHIN] for at in range(0, len(text) - _WITHIN + 1, _WITHIN))
    likely = any(len(stretch.split(None, 1)) < 2 for stretch in stretches)
    return not (likely and _PATHOLOGICAL.search(text))


def count_lines(text: str) -> int:
    """Count the tokens of a text line by line if line counts add up: the cache knows many of the lines."""
    if _REACHES_OVER.search(text) or not is_counted_exactly(text):
        return count_tokens(text)
    *lines, last = text.split("\n")
    return sum(count_tokens(f"{line}\n") for line in lines) + count_tokens(last)


@lru_cache(maxsize=4_096)
def _count_short(text: str) -> int:
    """Count a short text, cached: fitting an answer counts the same lines again and again."""
    return tokenizer.count(text)


def least_tokens(line: str) -> int:
    """Return a lower bound of a line's tokens without counting them: no token spans two words."""
    return len(line.split()) if line.isprintable() else 1


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, usually a few percent high: for planning, never to enforce a limit."""
    if text.isascii():
        return len(text) * 2 // 7 + 1
    return len(text.encode("utf-8", "replace")) * 2 // 6 + 1


def cut_to_tokens(text: str, budget_tokens: int) -> int:
    """Return the length of the longest prefix of `text` that costs at most `budget_tokens`."""
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


def take_lines(lines: Iterable[str], budget_tokens: int) -> int:
    """Return how many of the first lines fit together into `budget_tokens`, line ends included.

    Lines behind the first that does not fit are not asked for.
    """
    kept = used = 0
    for line in lines:
        if len(line) > _LONGEST_TOKEN * (budget_tokens - used + 1):
            break
        used += count_tokens(line)
        if used > budget_tokens:
            break
        kept += 1
    return kept


def fits(
    text: str, tokens: int, budget_tokens: int, max_bytes: int | None, margin: float = 1.0
) -> bool:
    """Return whether a printed text stays within its budget (tokens times margin) and its byte limit."""
    if max_bytes is not None and len(text.encode("utf-8")) > max_bytes:
        return False
    return priced(tokens, margin) <= budget_tokens


def priced(tokens: int, margin: float) -> int:
    """Multiply tokens by the margin for models that count more tokens than o200k_base does."""
    return math.ceil(tokens * margin)
