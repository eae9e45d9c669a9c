"""Which files are being read for the index: never one file by two threads at once.

So of one file the later reading is always the later one applied, and no thread does what another one
is doing.
"""

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager


class Claims:
    """The files that threads have claimed. Nobody waits for a claim while holding one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._claimed: set[str] = set()

    @contextmanager
    def claiming(self, paths: Iterable[str]) -> Iterator[list[str]]:
        """Claim those of these files that no other thread has, until the block ends."""
        with self._changed:
            mine = [path for path in paths if path not in self._claimed]
            self._claimed.update(mine)
        try:
            yield mine
        finally:
            with self._changed:
                self._claimed.difference_update(mine)
                self._changed.notify_all()

    def wait_until_free(self, paths: Collection[str], seconds: float) -> bool:
        """Wait until no thread has one of these files; False when that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: self._claimed.isdisjoint(paths), seconds)
