"""Whether the caller of the running answer still waits: long work asks between its parts.

The edge says how to ask, for one call; commands and background work are never asked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ask: ContextVar[Callable[[], None] | None] = ContextVar("ask", default=None)


@contextmanager
def asking(ask: Callable[[], None]) -> Iterator[None]:
    """Within the block `stop_if_gone` calls `ask`, which raises when the caller is gone."""
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


def stop_if_gone() -> None:
    """Raise what the edge raises for a call that was cancelled; else nothing."""
    ask = _ask.get()
    if ask is not None:
        ask()
