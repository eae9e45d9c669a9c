"""Notifications of saved notes: real files, the real watcher, a real process, both eras.

Clients of 2026 listen on a stream, older ones subscribe; the tests treat both alike.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path

import anyio
import pytest

from server.conftest import ERAS, Notifications, Served, over_stdio
from workingset_mcp.settings import load_settings
from workingset_mcp.workspace.facade import Workspace

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

SECONDS = 20.0  # 0.1 s on an idle machine; a sweep would come after 60 s
ACME = "workingset://brief/cust/acme"
LABS = "workingset://brief/cust/acme-labs"
WIKI = "workingset://brief/wiki"


@asynccontextmanager
async def subscribed(served: Served, *uris: str) -> AsyncIterator[None]:
    """Subscribe to resources and to their list, in the way of the client's era."""
    for uri in uris:  # also waits for the first scan, which sends nothing
        await served.client.read_resource(uri)
    if served.client.protocol_version == ERAS["auto"]:
        listening = served.client.listen(
            resources_list_changed=True, resource_subscriptions=list(uris)
        )
        async with listening as stream:
            assert stream.honored.resource_subscriptions == list(uris)
            yield
        return
    for uri in uris:
        await served.client.subscribe_resource(uri)
    try:
        yield
    finally:
        for uri in uris:
            await served.client.unsubscribe_resource(uri)


async def until(is_so: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait for what must happen within seconds of a save."""
    with anyio.fail_after(SECONDS):
        while True:
            answer = is_so()
            if answer if isinstance(answer, bool) else await answer:
                return
            await anyio.sleep(0.01)


def is_announced(notifications: Notifications, uri: str, since: int) -> bool:
    """Return whether an update of a resource came after the first `since` updates."""
    return uri in notifications.updated()[since:]


def save(note: Path, text: str) -> None:
    """Save as editors do: write a new file and rename it over the old one."""
    note.parent.mkdir(parents=True, exist_ok=True)
    saving = note.with_name(".saving")
    saving.write_text(text, encoding="utf-8")
    saving.replace(note)


async def test_a_subscriber_is_notified_soon_after_a_save(served: Served) -> None:
    note = served.vault / "cust/acme/2026-06-16.md"
    async with subscribed(served, ACME):
        for word in ("new", "changed"):
            before = len(served.notifications.updated())
            save(note, f"# Call\n\nA {word} line.\n")
            await until(partial(is_announced, served.notifications, ACME, before))
        before = len(served.notifications.updated())
        note.unlink()
        await until(lambda: ACME in served.notifications.updated()[before:])


async def test_a_notified_subscriber_reads_the_saved_note(served: Served) -> None:
    note = served.vault / "cust/acme/2026-06-17.md"
    async with subscribed(served, ACME):
        before = len(served.notifications.updated())
        save(note, "# Call\n\n- [ ] Order the zanzibar crate\n")
        await until(lambda: ACME in served.notifications.updated()[before:])
        assert "zanzibar" in str(await served.client.read_resource(ACME))
    note.unlink()


async def test_a_subscriber_is_notified_only_of_its_branch(served: Served) -> None:
    before = len(served.notifications.updated())
    async with subscribed(served, ACME):
        save(served.vault / "cust/acme-labs/note.md", "# Note\n\nOnly labs.\n")
        await served.client.read_resource(LABS)  # refreshes it, and notifies subscribers
        save(served.vault / "cust/acme/note.md", "# Note\n\nOnly Acme.\n")
        await until(lambda: ACME in served.notifications.updated()[before:])
    assert set(served.notifications.updated()[before:]) == {ACME}


async def test_a_client_that_unsubscribed_is_not_notified(served: Served) -> None:
    async with subscribed(served, ACME):
        pass
    before = len(served.notifications.updated())
    async with subscribed(served, WIKI):
        save(served.vault / "cust/acme/later.md", "# Later\n\nNobody listens.\n")
        await served.client.read_resource(ACME)
        save(served.vault / "wiki/later.md", "# Later\n\nSomebody listens.\n")
        await until(lambda: WIKI in served.notifications.updated()[before:])
    assert set(served.notifications.updated()[before:]) == {WIKI}


async def test_a_new_folder_changes_the_list_and_is_in_it(served: Served) -> None:
    async def listed() -> bool:
        result = await served.client.list_resources()
        return "workingset://brief/brook" in [resource.uri for resource in result.resources]

    async with subscribed(served, ACME):
        before = served.notifications.lists_changed()
        save(served.vault / "brook/index.md", "# Brook\n\nA new folder.\n")
        await until(lambda: served.notifications.lists_changed() > before)
        await until(listed)


async def test_a_save_does_not_change_the_list(vault: Path, tmp_path: Path) -> None:
    notifications = Notifications()
    async with over_stdio(vault, tmp_path, "auto", notifications) as client:
        served = Served(vault, client, notifications)
        async with subscribed(served, WIKI):
            for number in (1, 2):  # the second arrives after everything from the first
                save(vault / "wiki/on-call.md", f"# On call\n\nTurn {number}.\n")
                await until(partial(is_announced, notifications, WIKI, number - 1))
    assert notifications.lists_changed() == 0


async def test_a_subscriber_to_a_note_is_notified_with_the_uri_it_gave(served: Served) -> None:
    save(served.vault / "wiki/late shift.md", "# Late shift\n")
    note = "workingset://note/wiki/late%20shift.md"
    async with subscribed(served, note):
        before = len(served.notifications.updated())
        save(served.vault / "wiki/late shift.md", "# Late shift\n\nFrom ten.\n")
        await until(partial(is_announced, served.notifications, note, before))
    assert set(served.notifications.updated()[before:]) == {note}


async def test_an_older_client_is_notified_of_a_new_branch_without_a_subscription(
    vault: Path, tmp_path: Path
) -> None:
    notifications = Notifications()
    async with over_stdio(vault, tmp_path, "legacy", notifications) as client:
        await client.read_resource(WIKI)
        save(vault / "brook/index.md", "# Brook\n\nA new folder.\n")
        await until(lambda: notifications.lists_changed() == 1)
    assert notifications.updated() == []


async def test_the_server_advertises_list_changes_in_both_eras(served: Served) -> None:
    resources = served.client.server_capabilities.resources
    assert resources is not None
    assert (resources.list_changed, resources.subscribe) == (True, True)


@pytest.mark.parametrize("era", ERAS)
async def test_a_damaged_index_stops_neither_the_server_nor_notifications(
    vault: Path, tmp_path: Path, era: str
) -> None:
    notifications = Notifications()
    async with over_stdio(vault, tmp_path, era, notifications) as client:
        async with subscribed(Served(vault, client, notifications), WIKI):
            for file in (tmp_path / "index").rglob("*.sqlite*"):
                with file.open("r+b") as index:
                    index.write(b"no index" * (file.stat().st_size // 8))
            save(vault / "brook/index.md", "# Brook\n\nA new folder.\n")
            await until(lambda: notifications.lists_changed() > 0)
            save(vault / "wiki/on-call.md", "# On call\n\nA whole week.\n")
            await until(lambda: WIKI in notifications.updated())
        assert "Brook" in str(await client.read_resource("workingset://brief/brook"))


def test_a_note_that_another_process_indexed_first_is_announced_too(
    vault: Path, tmp_path: Path
) -> None:
    settings = load_settings(vault, {"index_dir": str(tmp_path / "index")})
    with closing(Workspace(vault, settings)) as one, closing(Workspace(vault, settings)) as other:
        one.build()
        other.build()
        heard: list[str] = []
        one.freshness.listeners.append(heard.extend)
        save(vault / "wiki/on-call.md", "# On call\n\nA whole week.\n")
        save(vault / "brook/index.md", "# Brook\n\nA new folder.\n")
        other.freshness.refresh()
        for branch in ("wiki", "brook"):
            one.freshness.refresh(branch)
        assert heard == ["wiki/on-call.md", "brook/index.md"]
        (vault / "brook/index.md").unlink()
        other.freshness.refresh()
        one.freshness.refresh()
        assert heard[2:] == ["brook/index.md"]
        one.freshness.refresh()
        assert len(heard) == 3


@pytest.fixture
def vault(make_vault: Callable[[str], Path]) -> Path:
    return make_vault("=== wiki/on-call.md\n# On call\n\nMonday to Sunday.\n")
