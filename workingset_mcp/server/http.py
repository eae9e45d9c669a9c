"""Serve many agents from one process over Streamable HTTP: token, Host and Origin checks, `/health`.

A loopback address needs no token; on any other address the server does not start without one. Not here: what is served
(`server`).
"""

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from workingset_mcp import __version__
from workingset_mcp.errors import SettingsError
from workingset_mcp.server import sdk
from workingset_mcp.server.connections import BACKLOG, LimitedConnection, raise_descriptor_limit
from workingset_mcp.server.server import build_server
from workingset_mcp.vault.files import read_regular
from workingset_mcp.workspace.facade import Workspace

GRACE_SECONDS = 2  # for running answers; a listening client would wait forever
KEEP_ALIVE_SECONDS = 75  # uvicorn's default is 5, but agents pause longer between calls
MOST_BODY_BYTES = 1_000_000
IDLE_SESSION_SECONDS = 600  # a client that comes back later gets a 404 and opens a new session
MOST_SESSIONS = 5_000  # 37 KB each
_MOST_TOKEN_BYTES = 65_536
_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104  # compared, not bound
Scope = MutableMapping[str, Any]
App = Callable[
    [Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]
]


def serve_http(workspace: Workspace, address: str, token: str | None, hosts: Sequence[str]) -> None:
    """Serve until interrupted. Raises SettingsError for an address that needs a token and has none."""
    host, port = split_address(address)
    if not token and not is_loopback(host):
        raise SettingsError(
            f"{host} can be reached from other machines.",
            "Give a token: WORKINGSET_TOKEN or --token-file.",
        )
    sdk.log_plainly()
    raise_descriptor_limit()
    app = http_app(build_server(workspace), host, token, hosts)
    uvicorn.run(
        app, host=host, port=port, log_level="warning", access_log=False,
        timeout_graceful_shutdown=GRACE_SECONDS, timeout_keep_alive=KEEP_ALIVE_SECONDS,
        http=LimitedConnection, backlog=BACKLOG,
    )  # fmt: skip


def http_app(
    server: MCPServer[Workspace], host: str, token: str | None, hosts: Sequence[str] = (),
    *, idle_session_seconds: float = IDLE_SESSION_SECONDS,
) -> App:  # fmt: skip
    """Make the ASGI application: `/mcp` requires the token, `/health` does not."""

    @server.custom_route("/health", methods=["GET"])  # type: ignore[untyped-decorator]  # in the SDK
    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    names = ["127.0.0.1", "localhost", "[::1]", *([] if host in _EVERY_ADDRESS else [host]), *hosts]
    security = TransportSecuritySettings(
        allowed_hosts=[entry for name in names for entry in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{name}{port}"
            for name in names
            for scheme in ("http", "https")
            for port in ("", ":*")
        ],
    )  # fmt: skip
    app: App = server.streamable_http_app(
        host=host, transport_security=security, max_request_body_size=MOST_BODY_BYTES,
        session_idle_timeout=idle_session_seconds, max_sessions=MOST_SESSIONS,
    )  # fmt: skip
    app = _without_resumption(app)
    return _behind_token(app, token) if token else app


def split_address(address: str) -> tuple[str, int]:
    """Split `HOST:PORT`. Raises SettingsError."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise SettingsError(f"{address!r} is not an address.", "Write it as 127.0.0.1:8321.")
    return host.strip("[]"), int(port)


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(file: Path | None, from_environment: str | None) -> str | None:
    """Read the token from a file, else from the environment. Raises SettingsError for a bad file."""
    if file is None:
        return from_environment or None
    try:
        token = read_regular(file, _MOST_TOKEN_BYTES).decode("utf-8").strip()
    except OSError as error:
        raise SettingsError(f"The token file cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SettingsError(
            "The token file is not UTF-8.", "Write a long random string into it."
        ) from None
    if not token:
        raise SettingsError("The token file is empty.", "Write a long random string into it.")
    return token


def _without_resumption(app: App) -> App:
    """Remove the `Last-Event-ID` header: no events are stored, so a client gets a new stream.

    Without an event store the SDK never answers a request with that header.
    """

    async def served(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = [pair for pair in scope["headers"] if pair[0] != b"last-event-id"]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return served


def _behind_token(app: App, token: str) -> App:
    """Require a bearer token for every path except `/health`."""
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] != "/health":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, expected):
                refusal = PlainTextResponse(
                    "a bearer token is required", 401, {"WWW-Authenticate": "Bearer"}
                )
                await refusal(scope, receive, send)
                return
        await app(scope, receive, send)

    return guarded
