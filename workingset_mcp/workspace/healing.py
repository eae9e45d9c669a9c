"""Rebuild a damaged index automatically, and answer the call from the new one.

SQLite notices most damage when it reads, but a zeroed part of a page may read as rows without values
and surface as an ordinary exception. So the pages are checked before a failure is reported as a bug.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from workingset_mcp.errors import IndexDamaged, WorkingsetError
from workingset_mcp.index import Engine
from workingset_mcp.sync.freshness import Freshness


class Healed(Protocol):
    """An object whose index can be rebuilt."""

    index: Engine
    freshness: Freshness

    def start_building(self) -> threading.Thread: ...


Method = TypeVar("Method", bound=Callable[..., Any])


def healing(method: Method) -> Method:
    """Wrap a method so that it rebuilds a damaged index and runs again."""

    @functools.wraps(method)
    def healed(self: Healed, *arguments: Any, **named: Any) -> Any:
        try:
            return method(self, *arguments, **named)
        except Exception as error:
            damage = damage_behind(error, self.index)
            if damage is None:
                raise
            self.freshness.start_anew(damage.epoch)
            self.start_building()
            self.freshness.wait_until_built()
            return method(self, *arguments, **named)

    return cast(Method, healed)


def damage_behind(error: Exception, index: Engine) -> IndexDamaged | None:
    """Return the index damage that caused an error; None if the error has another cause."""
    if isinstance(error, WorkingsetError):
        return error if isinstance(error, IndexDamaged) else None
    try:
        index.verify()
    except Exception as found:  # noqa: BLE001  # the caller raises the first error, not this one
        return found if isinstance(found, IndexDamaged) else None
    return None
