"""Stop work whose caller has gone: long work checks between its steps.

The server sets the check for each call. Commands and background work have none.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ask: ContextVar[Callable[[], None] | None] = ContextVar("ask", default=None)


@contextmanager
def asking(ask: Callable[[], None]) -> Iterator[None]:
    """Let `stop_if_gone` call `ask` inside the block; `ask` raises when the caller has gone."""
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


def stop_if_gone() -> None:
    """Raise the server's exception for a cancelled call; do nothing otherwise."""
    ask = _ask.get()
    if ask is not None:
        ask()
