"""Numbers that are asked of an index again and again, counted once for each of its states."""

from collections.abc import Callable, Hashable

_MOST_KEPT = 4_000


class Counts:
    """Counts of the newest state of an index. Any thread may ask."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[int, int], dict[Hashable, int]] = ((-1, -1), {})

    def of(self, version: tuple[int, int], asked: Hashable, count: Callable[[], int]) -> int:
        """What `asked` counts in a state of the index; `count` is run where that is not known."""
        newest, known = self._kept
        if version != newest:
            known = {}
            if version > newest:  # a view that began earlier may still be read
                self._kept = (version, known)
        found = known.get(asked)
        if found is None:
            if len(known) >= _MOST_KEPT:
                known.clear()
            found = known[asked] = count()
        return found
