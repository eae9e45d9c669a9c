"""A thread-safe cache of briefs, keyed by everything they are made from.

A change to a note, the day, the override or the budget changes the key: an entry is never out of date
and is evicted only for space.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple

from workingset_mcp.answers.brief.fit import Brief

MOST_BRIEFS = 64
MOST_BYTES = 1_000_000


class _Entry(NamedTuple):
    """A brief without its text, and the text encoded as UTF-8, which takes least memory."""

    brief: Brief
    text: bytes


class BriefCache:
    """The most recently used briefs, up to a number and a size."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._briefs: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._bytes = 0

    def get(self, made_from: Hashable) -> Brief | None:
        """Return the brief with this key, if it is in the cache."""
        with self._lock:
            found = self._briefs.get(made_from)
            if found is None:
                return None
            self._briefs.move_to_end(made_from)
        return replace(found.brief, text=found.text.decode("utf-8", "surrogatepass"))

    def keep(self, made_from: Hashable, brief: Brief) -> None:
        """Add a brief, and evict the least recently used ones if the cache is full."""
        made = _Entry(replace(brief, text=""), brief.text.encode("utf-8", "surrogatepass"))
        with self._lock:
            if made_from not in self._briefs:
                self._briefs[made_from] = made
                self._bytes += len(made.text)
            while len(self._briefs) > MOST_BRIEFS or self._bytes > MOST_BYTES:
                self._bytes -= len(self._briefs.popitem(last=False)[1].text)
