"""A damaged index is built anew, unasked, and what was asked is answered from the new one.

Most damage SQLite sees when it reads; a part of a page that was lost (zeros) may read as rows without
values. What fails for such a reason looks like a bug: so the pages are looked at before it is one.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from workingset_mcp.errors import IndexDamaged, WorkingsetError
from workingset_mcp.index import Engine
from workingset_mcp.sync.freshness import Freshness


class Healed(Protocol):
    """What has an index that can be built anew."""

    index: Engine
    freshness: Freshness

    def start_building(self) -> threading.Thread: ...


Method = TypeVar("Method", bound=Callable[..., Any])


def healing(method: Method) -> Method:
    """A method of what is healed, that answers from a new index where the old one is damaged."""

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
    """The damage to an index for which something failed; None: it is a failure of its own."""
    if isinstance(error, WorkingsetError):
        return error if isinstance(error, IndexDamaged) else None
    try:
        index.verify()
    except Exception as found:  # noqa: BLE001  # what failed first is told, not what failed here
        return found if isinstance(found, IndexDamaged) else None
    return None
