"""A real server on loopback: token, Host and Origin checks, both eras, and shutdown."""

import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread
import httpx2
import pytest
from conftest import program, write_vault
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from server.conftest import ERAS, NOTES, Notifications

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.process,
    pytest.mark.skipif(os.name == "nt", reason="Windows lacks the signal that ends the server"),
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

SHARED = "a long random text"  # shared by the server and its client
BEARER = {"Authorization": f"Bearer {SHARED}"}
SECONDS_TO_START = 20.0
SECONDS_TO_END = 20.0
SECONDS_TO_TELL = 20.0  # a sweep would come after 60
WIKI = "workingset://brief/wiki"


class Running(NamedTuple):
    """A server process that answers."""

    url: str
    vault: Path
    process: subprocess.Popen[bytes]


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def started(folder: Path) -> Running:
    """Start a server over its own vault, and wait until it is healthy."""
    (folder / "vault").mkdir()
    vault = write_vault(folder / "vault", NOTES)
    (folder / "token").write_text(f"{SHARED}\n", encoding="utf-8")
    while True:
        address = f"127.0.0.1:{free_port()}"
        command = program(vault, folder, "--http", address, "--token-file", str(folder / "token"))
        with (folder / "stderr").open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
        if is_healthy(process, address, folder / "stderr"):
            return Running(f"http://{address}", vault, process)


def is_healthy(process: subprocess.Popen[bytes], address: str, log: Path) -> bool:
    """Wait until the server is healthy; return False if another process took its port first."""
    with httpx2.Client(transport=httpx2.HTTPTransport(retries=0)) as client:
        remaining = int(SECONDS_TO_START / 0.05)
        while True:
            try:
                client.get(f"http://{address}/health").raise_for_status()
            except httpx2.TransportError:
                remaining -= 1
                if process.poll() is not None:
                    said = log.read_text(encoding="utf-8")
                    assert "address already in use" in said, said
                    return False
                assert remaining, "the server does not answer"
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.05)
            else:
                return True


def ended(process: subprocess.Popen[bytes], sign: int) -> int:
    """Ask the process to end, and check that it does."""
    process.send_signal(sign)
    return process.wait(SECONDS_TO_END)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = started(tmp_path_factory.mktemp("http"))
    yield running
    try:
        ended(running.process, signal.SIGTERM)
    finally:
        running.process.kill()
        running.process.wait()


@asynccontextmanager
async def connected(
    running: Running, era: str, notifications: Notifications | None = None
) -> AsyncIterator[Client]:
    handler = (notifications or Notifications()).receive
    async with httpx2.AsyncClient(headers=BEARER, timeout=httpx2.Timeout(20)) as http:
        transport = streamable_http_client(f"{running.url}/mcp", http_client=http)
        async with Client(transport, mode=era, message_handler=handler) as client:
            yield client


def posted(running: Running, **headers: str) -> httpx2.Response:
    shaped = {"Accept": "application/json, text/event-stream", **headers}
    with httpx2.Client() as client:
        return client.post(f"{running.url}/mcp", json={"jsonrpc": "2.0"}, headers=shaped)


@pytest.mark.parametrize(
    "given",
    [None, "Bearer wrong", "Bearer", f"Bearer {SHARED}x", f"Basic {SHARED}", SHARED, "Bearer ø"],
)
def test_without_the_token_nothing_is_served(running: Running, given: str | None) -> None:
    with httpx2.Client() as client:
        raw = [] if given is None else [(b"Authorization", given.encode())]
        for path in ("/mcp", "/", "/health/"):
            answer = client.post(f"{running.url}{path}", json={}, headers=raw)
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert SHARED not in answer.text


def test_health_is_open_and_names_no_note(running: Running) -> None:
    with httpx2.Client() as client:
        answer = client.get(f"{running.url}/health")
    assert answer.json().keys() == {"status", "version"}
    assert answer.json()["status"] == "ok"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
def test_another_host_name_is_refused(running: Running, host: str) -> None:
    assert posted(running, **BEARER, Host=host).status_code == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_a_web_page_of_another_origin_is_refused(running: Running, origin: str) -> None:
    assert posted(running, **BEARER, Origin=origin).status_code == 403


def test_a_body_that_is_too_large_is_refused(running: Running) -> None:
    body = b'{"jsonrpc": "2.0", "x": "' + b"x" * 5_000_000 + b'"}'
    shaped = {**BEARER, "Content-Type": "application/json", "Accept": "application/json"}
    with httpx2.Client() as client:
        answer = client.post(f"{running.url}/mcp", content=body, headers=shaped)
    assert answer.status_code == 413


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_is_answered_in_both_eras(running: Running, era: str) -> None:
    async with connected(running, era) as client:
        assert client.protocol_version == ERAS[era]
        assert len((await client.list_tools()).tools) == 5
        [block] = (await client.call_tool("get_brief", {"branch": "acme"})).content
        assert isinstance(block, TextContent)
        assert block.text.startswith("[workingset] cust/acme · brief · ")


async def test_many_agents_are_served_at_once(running: Running) -> None:
    answers: list[bool | None] = []

    async def agent(era: str) -> None:
        async with connected(running, era) as client:
            answers.append((await client.call_tool("search_notes", {"query": "pilot"})).is_error)

    async with anyio.create_task_group() as group:
        for era in [*ERAS] * 3:
            group.start_soon(agent, era)
    assert [bool(answer) for answer in answers] == [False] * 6


async def wait_for_a_save(
    running: Running, client: Client, notifications: Notifications, name: str
) -> None:
    note = running.vault / "wiki" / name
    note.write_text("# Saved\n\nA new line.\n", encoding="utf-8")
    with anyio.fail_after(SECONDS_TO_TELL):
        await notifications.until(lambda: WIKI in notifications.updated())
    assert client.protocol_version in ERAS.values()


async def test_a_listener_is_notified_of_a_save(running: Running) -> None:
    notifications = Notifications()
    async with connected(running, "auto", notifications) as client:
        await client.read_resource(WIKI)
        async with client.listen(resource_subscriptions=[WIKI]):
            await wait_for_a_save(running, client, notifications, "for-listeners.md")


async def test_a_subscriber_of_the_older_era_is_notified_of_a_save(running: Running) -> None:
    notifications = Notifications()
    async with connected(running, "legacy", notifications) as client:
        await client.read_resource(WIKI)
        await client.subscribe_resource(WIKI)
        await wait_for_a_save(running, client, notifications, "for-subscribers.md")


async def test_an_older_client_is_notified_of_a_new_branch_without_a_subscription(
    running: Running,
) -> None:
    notifications = Notifications()
    async with connected(running, "legacy", notifications) as client:
        await client.read_resource(WIKI)
        resources = client.server_capabilities.resources
        assert resources
        assert resources.list_changed
        with anyio.fail_after(SECONDS_TO_TELL):
            for number in count():  # a notification before the stream is open is lost
                (running.vault / f"brook-{number}").mkdir()
                note = running.vault / f"brook-{number}/index.md"
                note.write_text("# Brook\n", encoding="utf-8")
                with anyio.move_on_after(1):
                    await notifications.until(notifications.lists_changed)
                    break
    assert notifications.updated() == []


async def test_two_vaults_on_two_ports_are_two_servers(running: Running, tmp_path: Path) -> None:
    other = started(tmp_path)
    try:
        (other.vault / "mill").mkdir()
        (other.vault / "mill/index.md").write_text("# Mill\n", encoding="utf-8")
        async with connected(running, "auto") as first, connected(other, "legacy") as second:
            texts = [str(await client.call_tool("get_brief", {})) for client in (first, second)]
        assert ["mill" in text for text in texts] == [False, True]
    finally:
        ended(other.process, signal.SIGTERM)


def test_an_open_address_without_a_token_is_not_served(
    make_vault: Callable[[str], Path], tmp_path: Path
) -> None:
    vault = make_vault(NOTES)
    done = subprocess.run(
        program(vault, tmp_path, "--http", "0.0.0.0:8321"),
        capture_output=True, text=True, encoding="utf-8", timeout=20, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "WORKINGSET_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr


async def test_the_server_stops_while_a_client_listens(tmp_path: Path) -> None:
    """Takes 3 s: a listening client gets two of them to leave by itself (`GRACE_SECONDS`)."""
    running = started(tmp_path)
    try:
        async with connected(running, "auto") as client:
            await client.read_resource(WIKI)
            async with client.listen(resource_subscriptions=[WIKI]):
                await anyio.to_thread.run_sync(ended, running.process, signal.SIGTERM)
    finally:
        running.process.kill()
        running.process.wait()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(running.url.rpartition(":")[2]))) != 0
