"""A stopped process holds the write lock of the index: everything answers, and says that it is behind.

The holder is a process of its own, stopped inside its transaction, as a laptop's sleep or a debugger
leaves it. What is timed is a wait, not work: it was 30 seconds a write, and 600 at opening.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import MakeVault, OpenVault, engine_of, program, write_vault

from workingset_mcp.answers.answer import printed
from workingset_mcp.cli.main import main
from workingset_mcp.errors import IndexHeld
from workingset_mcp.index.sqlite.engine import SqliteEngine
from workingset_mcp.index.sqlite.location import BUILD_TURN_NAME, FILE_NAME
from workingset_mcp.settings import Settings
from workingset_mcp.sync import freshness
from workingset_mcp.workspace.facade import Workspace

HELD = "index behind: another process holds the index"
VAULT = "=== cust/acme/a.md\n# A\n\n- [ ] walrus\n=== wiki/b.md\n# B\n\nheron\n"
MOST_SECONDS = 10.0  # a wait of one second, on a machine that may be busy
HOLD = """\
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(sys.argv[2])
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""
pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped"
)


@contextmanager
def held(file: Path, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Within the block, a stopped process holds the lock of a database."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file), begin], stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        yield
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def index_file(workspace: Workspace) -> Path:
    """The file of a workspace's index."""
    file = engine_of(workspace).file
    assert file is not None
    return file


CALLS: dict[str, Callable[[Workspace], str]] = {
    "brief": lambda workspace: printed(workspace.brief("cust/acme")),
    "overview": lambda workspace: printed(workspace.brief()),
    "search": lambda workspace: printed(workspace.search("walrus")),
    "items": lambda workspace: printed(workspace.items("open")),
    "full": lambda workspace: printed(workspace.full("cust/acme")),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_answer_comes_marked_and_is_current_once_the_lock_is_released(
    open_vault: OpenVault, call: str
) -> None:
    workspace = open_vault(VAULT)
    before = CALLS[call](workspace)
    assert "index current" in before
    write_vault(workspace.vault.root, "=== cust/acme/a.md\n# A\n\n- [ ] walrus swims\n- [ ] two\n")
    with held(index_file(workspace)):
        started = time.monotonic()
        first, second = CALLS[call](workspace), CALLS[call](workspace)
        took = time.monotonic() - started
        assert first.splitlines()[0].endswith(HELD)
        assert second.splitlines()[0].endswith(HELD)
        assert "walrus swims" not in first
        assert took < MOST_SECONDS
    after = CALLS[call](workspace)
    assert "index current" in after
    assert after != before


def test_an_answer_about_unchanged_notes_is_current_whoever_holds_the_lock(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(VAULT)
    with held(index_file(workspace)):
        assert all("index current" in call(workspace) for call in CALLS.values())


def test_an_index_that_is_there_opens_and_is_read_without_its_lock(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(VAULT)
    file = index_file(workspace)
    with held(file):
        started = time.monotonic()
        engine = SqliteEngine(file.parent)
        with engine.snapshot() as view, engine.snapshot() as other:
            assert view.note_count() == other.note_count() == 2
        assert engine.place == "cache"
        assert time.monotonic() - started < 0.9  # not even one wait
        with pytest.raises(IndexHeld):
            engine.clear()
        waited = time.monotonic()
        with pytest.raises(IndexHeld):
            engine.clear()
        assert time.monotonic() - waited < 0.9  # nothing was written since: no second long wait
        engine.close()
    workspace.index.clear()


def test_an_empty_file_whose_lock_is_held_is_left_aside_for_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workingset_mcp.index.sqlite.engine._OPEN_SECONDS", 0.5)
    folder = tmp_path / "index"
    SqliteEngine(folder).close()
    (folder / FILE_NAME).unlink()
    with held(folder / FILE_NAME):
        engine = SqliteEngine(folder)
        assert (engine.place, engine.notice) == (
            "memory", "another process holds the index; this one is kept in memory",
        )  # fmt: skip
        engine.close()


def test_commands_answer_marked_or_end_with_a_clear_error(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "STOPPED_SECONDS", 0.5)
    workspace = open_vault(VAULT)
    root, index = workspace.vault.root, index_file(workspace).parent.parent
    write_vault(root, "=== cust/acme/a.md\n# A\n\n- [ ] narwhal\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        ran = CliRunner().invoke(
            main, [*arguments, "--vault", str(root), "--index-dir", str(index)]
        )
        return ran.exit_code, ran.stdout, ran.stderr

    with held(index_file(workspace)):
        code, out, _ = run("search", "heron")
        assert (code, HELD in out.splitlines()[0]) == (0, True)
        for command in (["index"], ["check"], ["measure"]):
            code, _, said = run(*command)
            assert (code, said.splitlines()[0]) == (3, "Error: Another process holds the index.")
        code, out, _ = run("hook", "session-start", "--branch", "cust/acme")
        assert (code, "narwhal" in out) == (0, True)  # read from the disk
    assert run("index")[0] == 0


def test_a_stopped_process_that_builds_the_index_is_not_waited_for(
    make_vault: MakeVault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "STOPPED_SECONDS", 0.3)
    workspace = Workspace(make_vault(VAULT), Settings(index_dir=str(tmp_path / "index")))
    with held(index_file(workspace).with_name(BUILD_TURN_NAME), "BEGIN EXCLUSIVE"):
        workspace.build()
        assert workspace.is_built
    workspace.close()


def test_a_server_starts_and_answers_and_catches_up_by_itself(
    open_vault: OpenVault, tmp_path: Path
) -> None:
    workspace = open_vault(VAULT)
    root, file = workspace.vault.root, index_file(workspace)
    write_vault(root, "=== cust/acme/a.md\n# A\n\n- [ ] narwhal\n")
    server = subprocess.Popen(
        program(root, tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert server.stdin is not None
    assert server.stdout is not None

    def ask(number: int, method: str, **parameters: object) -> str:
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        server.stdin.write(f"{json.dumps(request)}\n")  # type: ignore[union-attr]
        server.stdin.flush()  # type: ignore[union-attr]
        while True:
            line = server.stdout.readline()  # type: ignore[union-attr]
            if json.loads(line).get("id") == number:
                return line

    try:
        with held(file):
            ask(
                1, "initialize", protocolVersion="2025-06-18", capabilities={},
                clientInfo={"name": "test", "version": "1"},
            )  # fmt: skip
            server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            asked = {"name": "search_notes", "arguments": {"query": "narwhal"}}
            assert HELD in ask(2, "tools/call", **asked)
        told = (ask(number, "tools/call", **asked) for number in range(3, 1_000))
        assert any("index current" in answer and "- [ ] narwhal" in answer for answer in told)
    finally:
        os.kill(server.pid, signal.SIGTERM)
        server.wait()
        server.stdin.close()
        server.stdout.close()
