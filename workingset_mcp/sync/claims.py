"""Claims on files that are being read for the index, so that no two threads read one file at once.

The readings of a file are therefore applied in their order, and no thread repeats the work of another.
"""

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager


class Claims:
    """The files that threads have claimed. No thread may wait for a claim while it holds one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._claimed: set[str] = set()

    @contextmanager
    def claiming(self, paths: Iterable[str]) -> Iterator[list[str]]:
        """Claim, until the block ends, the files that no other thread has claimed."""
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
        """Wait until no thread has claimed one of these files; return False after `seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: self._claimed.isdisjoint(paths), seconds)
