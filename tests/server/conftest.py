"""One real server process per protocol era, over real pipes, for all tests in this folder."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from conftest import program, write_vault
from mcp.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.stdio import StdioServerParameters
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
NOTES = """\
=== cust/acme/context/index.md
# Acme

## STATUS (2026-06-15)

The pilot waits for a signature.

- [ ] Send the contract, Owner: Ruben Castellano, Due: 2026-06-19
=== cust/acme/context/call notes.md
---
date: 2026-06-10
---
# Call\r\n\r\nThe account number is AC-4471.\r
=== cust/acme-labs/index.md
# Acme Labs

Decision: the Quillfish tank moves in July.
=== wiki/on-call.md
# On call

Monday to Sunday, hand-over at ten. Størmer keeps the list.
"""
MANY = [f"day-{number:03}" for number in range(110)]  # over two pages, over one completion


class Notifications:
    """The notifications that a client of either era received, in order."""

    def __init__(self) -> None:
        self.messages: list[IncomingMessage] = []
        self._more = anyio.Event()

    def updated(self) -> list[str]:
        """Return the URIs that were announced as changed."""
        return [m.params.uri for m in self.messages if isinstance(m, ResourceUpdatedNotification)]

    def lists_changed(self) -> int:
        """Return how often the list of resources was announced as changed."""
        return sum(isinstance(m, ResourceListChangedNotification) for m in self.messages)

    async def receive(self, message: IncomingMessage) -> None:
        """Store a message; the handler of a client."""
        self.messages.append(message)
        self._more.set()

    async def until(self, enough: Callable[[], object]) -> None:
        """Wait until the notifications satisfy a condition."""
        while not enough():
            self._more = anyio.Event()
            await self._more.wait()


class Served(NamedTuple):
    """A vault, a client connected to its server, and the client's notifications."""

    vault: Path
    client: Client
    notifications: Notifications


def over_stdio(vault: Path, folder: Path, era: str, notifications: Notifications) -> Client:
    """Make a client that starts its own server process."""
    command, *arguments = program(vault, folder)
    server = StdioServerParameters(command=command, args=arguments)
    return Client(server, mode=era, message_handler=notifications.receive)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", params=list(ERAS))
async def served(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    anyio_backend: str,
) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "vault").mkdir()
    days = "".join(f"=== {name}/index.md\n# {name}\n" for name in MANY)
    vault = write_vault(folder / "vault", NOTES + days)
    notifications = Notifications()
    async with over_stdio(vault, folder, request.param, notifications) as client:
        assert client.protocol_version == ERAS[request.param]
        yield Served(vault, client, notifications)
