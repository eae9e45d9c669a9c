"""Briefs that were made, kept under all that they were made from. Any thread may ask.

Another byte in a note, another note, day, override or budget is another key: what is kept cannot be out
of date, and goes for room alone.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple

from workingset_mcp.answers.brief.fit import Brief

MOST_BRIEFS = 64
MOST_BYTES = 1_000_000


class _Kept(NamedTuple):
    """A brief, its text in the form that takes the least room."""

    text: bytes
    tokens: int
    warnings: tuple[str, ...]


class KeptBriefs:
    """The briefs that were asked for last, within a number and a size."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._briefs: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._bytes = 0

    def get(self, made_from: Hashable) -> Brief | None:
        """The brief that was made from this, if it is kept."""
        with self._lock:
            found = self._briefs.get(made_from)
            if found is None:
                return None
            self._briefs.move_to_end(made_from)
        return Brief(found.text.decode("utf-8", "surrogatepass"), found.tokens, found.warnings)

    def keep(self, made_from: Hashable, brief: Brief) -> None:
        """Keep a brief; those not asked for the longest go."""
        made = _Kept(brief.text.encode("utf-8", "surrogatepass"), brief.tokens, brief.warnings)
        with self._lock:
            if made_from not in self._briefs:
                self._briefs[made_from] = made
                self._bytes += len(made.text)
            while len(self._briefs) > MOST_BRIEFS or self._bytes > MOST_BYTES:
                self._bytes -= len(self._briefs.popitem(last=False)[1].text)
