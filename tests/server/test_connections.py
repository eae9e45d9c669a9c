"""Connections of the HTTP server, over real sockets: half requests, too many clients, idle sessions."""

import os
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from conftest import OpenVault

from server.test_http import BEARER, Running, ended, started
from workingset_mcp.server import connections
from workingset_mcp.server.connections import LimitedConnection, most_connections
from workingset_mcp.server.http import http_app
from workingset_mcp.server.server import build_server

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX limits of descriptors")

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
    },
}  # fmt: skip
SHAPED = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


class Quick(LimitedConnection):
    """A connection that waits a quarter of a second for a request."""

    request_seconds = 0.25


@contextmanager
def served(app: Any) -> Iterator[int]:
    """Run uvicorn with our connections in a thread, on a free loopback port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, http=Quick, log_level="error", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        port = int(listening.getsockname()[1])
        with httpx2.Client(transport=httpx2.HTTPTransport(retries=5)) as client:
            client.get(f"http://127.0.0.1:{port}/")
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join(5)


async def slow(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Read the whole request, and answer after twice the time that a request may take."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/slow":
        await anyio.sleep(2 * Quick.request_seconds)
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served(slow) as port:
        yield port


def heard(port: int, *pieces: bytes) -> bytes:
    """Send a piece after each answer, and return what the server sends until it hangs up."""
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        said = b""
        for number, piece in enumerate(pieces):
            if number:
                said += client.recv(4096)
            client.sendall(piece)
        try:
            while part := client.recv(4096):
                said += part
        except ConnectionResetError:
            pass
        return said


WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    ("pieces", "answers"),
    [
        pytest.param([], 0, id="nothing"),
        pytest.param([b"G"], 0, id="one byte"),
        pytest.param([b"POST / HTTP/1.1\r\nHost: localhost\r\nX-a: "], 0, id="half of the headers"),
        pytest.param(
            [b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf"], 0, id="half a body"
        ),
        pytest.param(
            [b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal"], 0,
            id="half a chunk",
        ),
        pytest.param([WHOLE, b"GET / HT"], 1, id="half of a second request"),
    ],
)  # fmt: skip
def test_a_connection_whose_request_does_not_arrive_is_dropped(
    port: int, pieces: list[bytes], answers: int
) -> None:
    assert heard(port, *pieces).count(b"200 OK") == answers


def test_an_answer_may_take_longer_than_a_request(port: int) -> None:
    request = WHOLE.replace(b"GET /", b"GET /slow").replace(
        b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"
    )
    assert heard(port, request).count(b"200 OK") == 1


def test_surplus_connections_are_closed_and_the_others_are_served(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 10)
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 5)) for _ in range(14)
        ]
        answered = 0
        for client in clients:
            try:
                client.sendall(WHOLE)
                answered += b"200 OK" in client.recv(4096)
            except (ConnectionResetError, BrokenPipeError):
                pass
    assert answered == 10


def test_connections_leave_descriptors_to_the_index() -> None:
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert 10 <= most_connections() <= max(10, allowed // 2)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = started(tmp_path_factory.mktemp("connections"))
    try:
        yield running
    finally:
        ended(running.process, signal.SIGTERM)


@pytest.mark.process
@pytest.mark.parametrize("last", [{}, {"Last-Event-ID": "1"}, {"Last-Event-ID": "x" * 900}])
def test_a_client_that_resumes_a_stream_gets_a_new_one(
    running: Running, last: dict[str, str]
) -> None:
    with httpx2.Client(headers={**BEARER, **SHAPED}) as client:
        opened = client.post(f"{running.url}/mcp", json=INITIALIZE)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        with client.stream("GET", f"{running.url}/mcp", headers={**session, **last}) as stream:
            assert stream.status_code == 200
            assert stream.headers["content-type"].startswith("text/event-stream")


@pytest.mark.process
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux alone limits another process")
def test_without_descriptors_the_server_does_not_spin_and_recovers(tmp_path: Path) -> None:
    """Takes 2 s: the CPU time of a waiting server is measured over one of them."""
    running = started(tmp_path)
    pid = running.process.pid
    address = ("127.0.0.1", int(running.url.rpartition(":")[2]))
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (400, before[1]))
    try:
        with ExitStack() as stack:
            for _ in range(520):
                half_open = stack.enter_context(socket.create_connection(address, 5))
                half_open.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-a: ")
            assert cpu_seconds_of_a_second(pid) < 0.5
        with httpx2.Client(transport=httpx2.HTTPTransport(retries=5)) as client:
            assert client.get(f"{running.url}/health").status_code == 200
        log = (tmp_path / "stderr").read_text(encoding="utf-8")
        assert log.count("out of system resource") == 0
    finally:
        ended(running.process, signal.SIGTERM)


def cpu_seconds_of_a_second(pid: int) -> float:
    """Return the CPU seconds that a process uses within one second."""

    def taken() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    first = taken()
    threading.Event().wait(1)
    return taken() - first


def test_an_idle_session_ends_and_its_client_opens_another(open_vault: OpenVault) -> None:
    workspace = open_vault("=== wiki/a.md\n# A\n")
    server = build_server(workspace, follow=False)
    app: Callable[..., Any] = http_app(server, "127.0.0.1", None, idle_session_seconds=0.2)
    with served(app) as port, httpx2.Client(headers=SHAPED) as client:
        url = f"http://127.0.0.1:{port}/mcp"
        session = client.post(url, json=INITIALIZE).headers["mcp-session-id"]
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        status = 200
        while status == 200:
            threading.Event().wait(0.3)
            status = client.post(url, json=ping, headers={"Mcp-Session-Id": session}).status_code
        assert status == 404
        assert client.post(url, json={**INITIALIZE, "id": 3}).status_code == 200
