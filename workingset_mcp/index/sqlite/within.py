"""What a search is limited to, and where in the word index the sections of a branch lie. Pure."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

MOST_RANGES = 4
LEAST_GAP = 1_000  # sections; to pass over fewer costs less than to ask once more


class Within(NamedTuple):
    """Limits as SQL over note `n` and section `s`, its parameters, and the branch that they name."""

    sql: str = ""
    parameters: tuple[Any, ...] = ()
    branch: str | None = None


EVERYWHERE = Within()


def ranges_of(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, put together to a few: the widest gaps stay.

    Notes of a branch are written one behind the other, those that change to the end.
    """
    gaps = [(after[0] - before[1], at) for at, (before, after) in enumerate(pairwise(spans), 1)]
    wide = sorted(gap for gap in gaps if gap[0] > LEAST_GAP)[1 - MOST_RANGES :]
    borders = [0, *sorted(at for _, at in wide), len(spans)]
    return [(spans[first][0], spans[last - 1][1]) for first, last in pairwise(borders) if spans]
