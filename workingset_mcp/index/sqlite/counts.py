"""Small values that are asked of an index again and again, found once for each of its states."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

_MOST_KEPT = 4_000
_Value = TypeVar("_Value")


class Counts:
    """Counts, and the like, of the newest state of an index. Any thread may ask."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[int, int], dict[Hashable, Any]] = ((-1, -1), {})

    def of(self, version: tuple[int, int], asked: Hashable, find: Callable[[], _Value]) -> _Value:
        """The value for `asked` in a state of the index; `find` is run where it is not known."""
        newest, known = self._kept
        if version != newest:
            known = {}
            if version > newest:  # a view that began earlier may still be read
                self._kept = (version, known)
        found: _Value | None = known.get(asked)
        if found is None:
            if len(known) >= _MOST_KEPT:
                known.clear()
            found = known[asked] = find()
        return found
