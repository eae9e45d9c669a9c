"""Make the table of o200k_base that the package carries from the ranks that tiktoken publishes.

    python bench/make_token_table.py RANKS [--to FILE]

RANKS is tiktoken's published file, plain or packed by gzip: a token in base64 and its rank on each
line. tiktoken keeps it in the folder that TIKTOKEN_CACHE_DIR names, under a name of 40 hexadecimal
digits. Its SHA-256 must be the published one; without `--to`, the table in the package is written.
The same ranks always give the same bytes: a test makes the table from the ranks in the package's own
table, compares both, and checks that these ranks, printed as tiktoken prints them, have that
SHA-256. How the file is laid out is described where it is read (`answers/tokenizer.py`, `_table`).
"""

import argparse
import gzip
import hashlib
import struct
import sys
from base64 import b64decode
from itertools import accumulate
from pathlib import Path
from zlib import crc32

TABLE = Path(__file__).parents[1] / "workingset_mcp/answers/data/o200k_base.table"
PUBLISHED_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
SLOTS = 1 << 19  # more than twice the tokens, so that most are found at their first slot


def tokens_of(ranks: bytes) -> list[bytes]:
    """The tokens of a published file, by rank."""
    lines = (line.split() for line in ranks.splitlines())
    rank_of = {b64decode(token): int(rank) for token, rank in lines}
    tokens = sorted(rank_of, key=rank_of.__getitem__)
    if list(map(rank_of.__getitem__, tokens)) != list(range(len(tokens))):
        raise ValueError("the ranks have gaps")
    return tokens


def table_of(tokens: list[bytes]) -> bytes:
    """The file for looking up: counts, where tokens start, slots, tokens; tokens take slots by rank."""
    slots = [0] * SLOTS
    for rank, token in enumerate(tokens):
        place = crc32(token) % SLOTS
        while slots[place]:
            place = (place + 1) % SLOTS
        slots[place] = rank + 1
    starts = accumulate(map(len, tokens), initial=0)
    numbers = (len(tokens), SLOTS, *starts, *slots)
    return struct.pack(f"<{len(numbers)}I", *numbers) + b"".join(tokens)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("ranks", type=Path)
    parser.add_argument("--to", type=Path, default=TABLE)
    chosen = parser.parse_args()
    ranks = chosen.ranks.read_bytes()
    if ranks.startswith(b"\x1f\x8b"):
        ranks = gzip.decompress(ranks)
    found = hashlib.sha256(ranks).hexdigest()
    if found != PUBLISHED_SHA256:
        print(f"{chosen.ranks} has SHA-256 {found}, published is {PUBLISHED_SHA256}")
        return 1
    chosen.to.write_bytes(table_of(tokens_of(ranks)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
