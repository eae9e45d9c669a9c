"""Limit the HTTP server's connections: how many are open, and how long a request may take to arrive.

uvicorn limits neither: a client that sends half a request keeps its connection forever, and a server
without free file descriptors fails calls and retries `accept` in a loop. Not here: sessions (the SDK
ends idle ones) and what is served (`http`).
"""

import asyncio
from contextlib import suppress
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 20.0  # from the connection, or a request's first byte, to the request's last byte
MOST_CONNECTIONS = 4_000
_LEAST_CONNECTIONS = 10
BACKLOG = 64  # asyncio accepts this many in one turn of its loop
_TURNS = 4  # from accepting a surplus connection to closing it


def most_connections() -> int:
    """Return how many connections may be open at once.

    Half of the file descriptors that surplus connections leave; the index needs the other half.
    """
    try:
        import resource  # POSIX only
    except ImportError:
        return MOST_CONNECTIONS
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(_LEAST_CONNECTIONS, min(MOST_CONNECTIONS, (allowed - _TURNS * BACKLOG) // 2))


def raise_descriptor_limit() -> None:
    """Raise this process's limit of file descriptors as far as allowed: the usual 1,024 are too few."""
    try:
        import resource  # POSIX only
    except ImportError:
        return
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    new_limit = 4 * MOST_CONNECTIONS
    if most != resource.RLIM_INFINITY:
        new_limit = min(new_limit, most)
    if allowed != resource.RLIM_INFINITY and allowed < new_limit:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (new_limit, most))


class LimitedConnection(H11Protocol):
    """A uvicorn connection that closes if the server is full or its request does not arrive in time."""

    request_seconds = REQUEST_SECONDS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.abort()
        else:
            self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_request_under_way():
            self._stop_waiting()
        elif self._deadline is None:
            self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_request_under_way(self) -> bool:
        """Return whether a request has begun and is not complete."""
        if self.conn.their_state is h11.IDLE:
            return bool(self.conn.trailing_data[0])
        return self.conn.their_state is h11.SEND_BODY

    def _wait_for_request(self) -> None:
        self._deadline = self.loop.call_later(self.request_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
