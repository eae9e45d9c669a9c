"""How many tokens of o200k_base a text costs, exactly, with the table that the package carries.

Two ways to one number. Words are looked up in the table as it lies: nothing to load, quick where
words are short and come again. tiktoken's encoder counts any text, and much text of other scripts far
faster, but takes 0.2 s and 40 MB to load: it is, once as much was spent on looking up. Nothing is
ever downloaded. Not here: budgets (`budget`).
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

# How a text is split: tokens never reach over two pieces.
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
# The same for `re`, which knows no \p: classes spelled out, for the characters that notes are made of.
_CLASSES = {
    r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}": ("Lu", "Lt", "Lm", "Lo", "Mn", "Mc", "Me"),
    r"\p{Ll}\p{Lm}\p{Lo}\p{M}": ("Ll", "Lm", "Lo", "Mn", "Mc", "Me"),
    r"\p{L}": ("Lu", "Ll", "Lt", "Lm", "Lo"),
    r"\p{N}": ("Nd", "Nl", "No"),
}
_Blocks = tuple[range, ...]
_USUAL: _Blocks = (
    range(0x1C),
    range(0x20, 0x530),  # Python alone takes the four separators before the blank for blanks
    range(0x2000, 0x27C0),  # dashes, quotation marks, arrows, signs
    range(0xFE0F, 0xFE10),  # "as an emoji"
    range(0x1F300, 0x1FB00),  # emoji
)
_MOST: _Blocks = (range(0x1C), range(0x20, 0xD800), range(0xF900, 0x10000), range(0x1F000, 0x1FB00))
_UNASSIGNED = "Cn"

LONG_TEXT = 200_000  # characters: counting so many costs as much as loading the encoder,
_MOST_JOINED = 20_000  # and so does joining so many bytes of endless words and of other letters
_LONG_PIECE = 1_000
_KEPT_PIECE = 100  # characters: words, and the rules of tables
_MOST_KEPT = 16_384  # pieces, 2 MB, and ranks, 2 MB
_NO_TOKEN = 1 << 30  # above all ranks

_load_lock = threading.Lock()


def count(text: str) -> int:
    """Tokens of a text. Slow for endless words and runs of blanks: those the caller keeps away."""
    if not encoder_is_loaded() and len(text) <= LONG_TEXT:
        piece, other = _patterns(_USUAL)
        if other.search(text):
            piece, other = _patterns(_MOST)  # 40 ms, once
            if other.search(text):
                return len(encoder().encode_ordinary(text))
        return sum(map(_tokens_of.__getitem__, piece.findall(text)))
    return len(encoder().encode_ordinary(text))


def encoder() -> "Encoding":
    """tiktoken's encoder with our table: loaded once, worth it before much text is counted."""
    with _load_lock:
        return _load()


def encoder_is_loaded() -> bool:
    """Whether the encoder is there: from then on it counts everything."""
    return _load.cache_info().currsize > 0


@cache
def _load() -> "Encoding":
    from tiktoken import Encoding  # on first use, for servers and commands that do without

    ranks = published_ranks()
    made = Encoding(name="o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})
    for done_with in (ranks, _rank_of, _tokens_of):  # it counts with a copy of its own
        done_with.clear()
    _table.cache_clear()
    return made


# -- the table -------------------------------------------------------------------------------------


class _Table(NamedTuple):
    """Where each token begins in `tokens`, by rank, and where to look for the rank of a token."""

    starts: "array[int]"  # and the end of the last
    slots: "array[int]"  # rank + 1, or 0 for none; as many as a power of two
    tokens: bytes


@cache
def _table() -> _Table:
    """Read the published table from a file laid out for looking up (`bench/make_token_table.py` makes it).

    It holds little-endian numbers of four bytes and then the tokens: the counts of tokens and slots;
    where each token starts, and where the last ends; the slots; the tokens in the order of their
    ranks. A token takes the slot that its CRC-32 names, or the next free one.
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
    """Every token with its rank."""
    starts, _, tokens = _table()
    return {tokens[start:end]: rank for rank, (start, end) in enumerate(pairwise(starts))}


class _RankOf(dict[bytes, int]):
    """Ranks of tokens, `_NO_TOKEN` of other bytes: the same pairs of letters come again and again."""

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
    """What finds the pieces of a text of these characters, and what finds any other character."""
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
    """Tokens of pieces: notes are made of the same words again and again."""

    joined = 0  # bytes so far of pieces that are not kept, and beyond one a letter

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
    """How many tokens stay when the neighbours of least rank are joined, again and again."""
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
