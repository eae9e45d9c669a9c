"""Count o200k_base tokens exactly, with the token table in this package.

Two ways give the same number. The first looks words up in the table: nothing to load, and fast for short
words that repeat. The second is tiktoken's encoder: it counts any text, and long text of other scripts
far faster, but takes 0.2 s and 40 MB to load. It is loaded once the look-ups have cost about as much.
Nothing is ever downloaded. Not here: budgets (`budget`).
"""

import re
import sys
import threading
from array import array
from collections import defaultdict
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category
from zlib import crc32

if TYPE_CHECKING:
    from tiktoken import Encoding

# How a text is split into pieces: no token spans two pieces.
_PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[\p{N}]{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
# `re` has no \p{…}: these classes are spelled out for it, for the characters that notes consist of.
_CLASSES = {
    r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}": ("Lu", "Lt", "Lm", "Lo", "Mn", "Mc", "Me"),
    r"\p{Ll}\p{Lm}\p{Lo}\p{M}": ("Ll", "Lm", "Lo", "Mn", "Mc", "Me"),
    r"\p{L}": ("Lu", "Ll", "Lt", "Lm", "Lo"),
    r"\p{N}": ("Nd", "Nl", "No"),
}
_Blocks = tuple[range, ...]
_USUAL: _Blocks = (
    range(0x1C),
    range(0x20, 0x530),  # without 0x1C-0x1F, which only Python counts as whitespace
    range(0x2000, 0x27C0),  # dashes, quotation marks, arrows, signs
    range(0xFE0F, 0xFE10),  # the emoji variation selector
    range(0x1F300, 0x1FB00),  # emoji
)
_MOST: _Blocks = (range(0x1C), range(0x20, 0xD800), range(0xF900, 0x10000), range(0x1F000, 0x1FB00))
_UNASSIGNED = "Cn"

LONG_TEXT = 200_000  # characters: counting that many costs as much as loading the encoder
_MOST_JOINED = 20_000  # bytes of endless words and non-ASCII letters: so does merging them
_LONG_PIECE = 1_000
_KEPT_PIECE = 100  # characters: words and table rules are cached, longer pieces are not
_MOST_KEPT = 16_384  # pieces (2 MB) and as many ranks (2 MB)
_NO_TOKEN = 1 << 30  # higher than any rank

_load_lock = threading.Lock()


def count(text: str) -> int:
    """Count the tokens of a text. Slow for endless words and runs of blanks: callers must split those."""
    if not encoder_is_loaded() and len(text) <= LONG_TEXT:
        piece, other = _patterns(_USUAL)
        if other.search(text):
            piece, other = _patterns(_MOST)  # 40 ms, once
            if other.search(text):
                return len(encoder().encode_ordinary(text))
        return sum(map(_tokens_of.__getitem__, piece.findall(text)))
    return len(encoder().encode_ordinary(text))


def encoder() -> "Encoding":
    """Return tiktoken's encoder with our table, loaded once; load it before counting a lot of text."""
    with _load_lock:
        return _load()


def encoder_is_loaded() -> bool:
    """Return whether the encoder is loaded; from then on it counts everything."""
    return _load.cache_info().currsize > 0


@cache
def _load() -> "Encoding":
    from tiktoken import Encoding  # imported on first use: many servers and commands never need it

    ranks = published_ranks()
    made = Encoding(name="o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})
    for done_with in (ranks, _rank_of, _tokens_of):  # the encoder has its own copy
        done_with.clear()
    _table.cache_clear()
    return made


# -- the table -------------------------------------------------------------------------------------


class _Table(NamedTuple):
    """The token table: where each token starts in `tokens`, by rank, and a hash table of ranks."""

    starts: "array[int]"  # and, as its last element, where the last token ends
    slots: "array[int]"  # rank + 1, or 0 if free; their number is a power of two
    tokens: bytes


@cache
def _table() -> _Table:
    """Read the published table from a file laid out for look-ups (`bench/make_token_table.py` writes it).

    The file holds four-byte little-endian numbers, then the tokens: the number of tokens and of slots;
    where each token starts, and where the last one ends; the slots; the tokens in rank order. A token
    has the slot that its CRC-32 gives, or the next free one.
    """
    content = (Path(__file__).with_name("data") / "o200k_base.table").read_bytes()
    tokens, slots = (int.from_bytes(content[at : at + 4], "little") for at in (0, 4))
    slots_at = 8 + 4 * (tokens + 1)
    tokens_at = slots_at + 4 * slots
    return _Table(
        _numbers(content[8:slots_at]), _numbers(content[slots_at:tokens_at]), content[tokens_at:]
    )


def _numbers(content: bytes) -> "array[int]":
    numbers = array("I", content)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def published_ranks() -> dict[bytes, int]:
    """Return every token with its rank."""
    starts, _, tokens = _table()
    return {tokens[start:end]: rank for rank, (start, end) in enumerate(pairwise(starts))}


class _RankOf(dict[bytes, int]):
    """A cache of token ranks; other bytes have the rank `_NO_TOKEN`. The same letter pairs keep recurring."""

    def __missing__(self, token: bytes) -> int:
        starts, slots, tokens = _table()
        place = crc32(token) % len(slots)
        found = _NO_TOKEN
        while number := slots[place]:
            if tokens[starts[number - 1] : starts[number]] == token:
                found = number - 1
                break
            place = (place + 1) % len(slots)
        if len(self) >= _MOST_KEPT:
            self.clear()
        self[token] = found
        return found


_rank_of = _RankOf()


# -- without the encoder ---------------------------------------------------------------------------


@cache
def _patterns(blocks: _Blocks) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile two patterns: the pieces of a text in these characters, and any other character."""
    spans = defaultdict[str, list[str]](list)
    for block in blocks:
        for kind, same in groupby(block, key=lambda code: category(chr(code))):
            codes = list(same)
            first, last = re.escape(chr(codes[0])), re.escape(chr(codes[-1]))
            spans[kind].append(first if first == last else f"{first}-{last}")
    pattern = _PATTERN
    for name, kinds in _CLASSES.items():
        pattern = pattern.replace(name, "".join("".join(spans[kind]) for kind in kinds))
    known = "".join("".join(found) for kind, found in spans.items() if kind != _UNASSIGNED)
    return re.compile(pattern), re.compile(f"[^{known}]")


class _TokensOf(dict[str, int]):
    """A cache of the tokens of pieces: notes repeat the same words."""

    joined = 0  # bytes so far: of cached pieces, only those beyond one per character

    def __missing__(self, piece: str) -> int:
        whole = piece.encode()
        is_kept = len(piece) <= _KEPT_PIECE
        self.joined += len(whole) - len(piece) * is_kept
        if len(piece) > _LONG_PIECE or self.joined > _MOST_JOINED:
            return len(encoder().encode_ordinary(piece))
        tokens = 1 if _rank_of[whole] < _NO_TOKEN else _merged(whole)
        if is_kept:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[piece] = tokens
        return tokens


_tokens_of = _TokensOf()


def _merged(whole: bytes) -> int:
    """Count the tokens left after merging neighbours, lowest rank first, until none merges."""
    parts = [whole[at : at + 1] for at in range(len(whole))]
    ranks = [_rank_of[whole[at : at + 2]] for at in range(len(whole) - 1)]
    while ranks and (best := min(ranks)) < _NO_TOKEN:
        at = ranks.index(best)
        joined = parts[at] + parts.pop(at + 1)
        parts[at] = joined
        del ranks[at]
        if at:
            ranks[at - 1] = _rank_of[parts[at - 1] + joined]
        if at < len(ranks):
            ranks[at] = _rank_of[joined + parts[at + 1]]
    return len(parts)
