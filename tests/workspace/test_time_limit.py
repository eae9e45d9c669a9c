"""A call that is cancelled, or runs into its time limit, ends there and leaves nothing behind."""

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from conftest import OpenVault, contents_of, contents_of_fresh, engine_of, write_vault
from mcp.client import Client

from workingset_mcp.answers.answer import printed
from workingset_mcp.caller import asking
from workingset_mcp.server.server import build_server
from workingset_mcp.workspace.facade import Workspace

VAULT = "".join(
    f"=== cust/acme/note-{at}.md\n---\ndate: 2026-06-0{at}\n---\n# Note {at}\n\n- [ ] walrus {at}\n"
    for at in range(1, 6)
)
CALLS: dict[str, Callable[[Workspace], str]] = {
    "brief": lambda workspace: printed(workspace.brief("cust/acme")),
    "overview": lambda workspace: printed(workspace.brief()),
    "search": lambda workspace: printed(workspace.search("walrus")),
    "items": lambda workspace: printed(workspace.items("open", text="walrus")),
    "full": lambda workspace: printed(workspace.full("cust/acme", query="walrus")),
    "open": lambda workspace: printed(workspace.open("cust/acme/note-1.md")),
}


class Ended(Exception):
    """What the edge raises in a call whose time is up."""


def ended_after(times: int) -> Callable[[], None]:
    """Asks whose answer is no after so many times."""
    asked = 0

    def ask() -> None:
        nonlocal asked
        asked += 1
        if asked > times:
            raise Ended

    return ask


@pytest.mark.parametrize("call", CALLS)
def test_wherever_a_call_is_ended_no_lock_stays_held_and_the_next_call_answers(
    open_vault: OpenVault, call: str
) -> None:
    workspace = open_vault(VAULT)
    root, file = workspace.vault.root, engine_of(workspace).file
    assert file is not None
    others = sqlite3.connect(file, timeout=0, isolation_level=None)
    for times in range(1_000):
        write_vault(root, f"=== cust/acme/note-1.md\n# Note 1\n\n- [ ] walrus, edit {times}\n")
        try:
            with asking(ended_after(times)):
                CALLS[call](workspace)
        except Ended:
            others.execute("BEGIN IMMEDIATE")  # free at once
            others.execute("ROLLBACK")
        else:
            break
    others.close()
    assert 1 <= times < 999
    assert "index current" in CALLS[call](workspace)
    workspace.freshness.refresh()
    assert contents_of(workspace) == contents_of_fresh(root)


@pytest.mark.anyio
async def test_a_call_past_its_time_limit_ends_with_a_clear_error_and_the_next_one_answers(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = open_vault(VAULT)
    asked: dict[str, dict[str, Any]] = {
        "get_brief": {"branch": "cust/acme"},
        "search_notes": {"query": "walrus"},
        "list_items": {"text": "walrus"},
        "query_full_context": {"query": "walrus"},
    }
    async with Client(build_server(workspace, follow=False)) as client:
        for tool, arguments in asked.items():
            with monkeypatch.context() as patched:
                patched.setattr("workingset_mcp.server.tools._declare.MOST_SECONDS", 0.0)
                refused = await client.call_tool(tool, arguments)
            assert refused.is_error
            assert "took over 0 s" in str(refused.content)
            assert "Narrow it" in str(refused.content)
            assert not (await client.call_tool(tool, arguments)).is_error


def test_a_long_statement_of_sqlite_ends_with_its_caller(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    endless = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    )
    with pytest.raises(Ended), asking(ended_after(3)), workspace.index.snapshot() as view:
        view._all(endless)
    assert "index current" in CALLS["search"](workspace)
