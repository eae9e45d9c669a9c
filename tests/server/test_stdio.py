"""A real process over real pipes, in both protocol eras, and a live watcher.

Each test starts at least one server, which takes most of a second; those that call every tool or wait
for a process to end take 2 s.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest
from conftest import program
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from workingset_mcp.cli.demo import example_vault
from workingset_mcp.settings import load_settings
from workingset_mcp.sync.follower import Follower
from workingset_mcp.workspace.facade import Workspace

pytestmark = [pytest.mark.anyio, pytest.mark.process]
SECONDS_TO_END = 2.0  # then a client kills it
SECONDS_TO_START = 20.0


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return Path(shutil.copytree(example_vault(), tmp_path / "vault"))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_process_serves_every_tool_over_stdio(
    vault: Path, tmp_path: Path, mode: str
) -> None:
    command, *arguments = program(vault, tmp_path)
    async with Client(StdioServerParameters(command=command, args=arguments), mode=mode) as client:
        for tool, asked in (
            ("get_brief", {"branch": "acme"}),
            ("search_notes", {"query": "AC-4471-0932"}),
            ("open_source_file", {"path": "wiki/on-call.md"}),
            ("query_full_context", {"branch": "log"}),
        ):
            result = await client.call_tool(tool, asked)
            assert result.is_error is not True
            assert str(getattr(result.content[0], "text", "")).startswith("[workingset] ")


def handshake(process: subprocess.Popen[bytes]) -> dict[str, object]:
    client = {"name": "test", "version": "1"}
    return answered(
        process, "initialize",
        protocolVersion="2025-06-18", capabilities={}, clientInfo=client,
    )  # fmt: skip


def answered(
    process: subprocess.Popen[bytes], method: str, **parameters: object
) -> dict[str, object]:
    assert process.stdin is not None
    assert process.stdout is not None
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    answer: dict[str, object] = json.loads(process.stdout.readline())
    return answer


def started(vault: Path, tmp_path: Path, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]  # options vary by test
        program(vault, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


def test_a_server_loads_nothing_that_its_answers_do_not_need(vault: Path, tmp_path: Path) -> None:
    variables = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    with started(vault, tmp_path, stdin=subprocess.PIPE, env=variables) as process:
        handshake(process)
        asked: dict[str, object] = {"query": "signing keys"}
        answer = answered(process, "tools/call", name="search_notes", arguments=asked)
        _, told = process.communicate(timeout=SECONDS_TO_START)
    assert "signing" in json.dumps(answer)
    loaded = {line.rpartition("|")[2].strip() for line in told.decode().splitlines()}
    assert "mcp.server" in loaded
    assert not loaded & {"rich", "tiktoken"}


def test_the_process_ends_when_its_client_closes_stdin(vault: Path, tmp_path: Path) -> None:
    begun = time.monotonic()
    with started(vault, tmp_path, stdin=subprocess.PIPE) as process:
        assert "result" in handshake(process)
        seconds_to_start = time.monotonic() - begun  # about 1 s on an idle machine
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(max(SECONDS_TO_END, 2 * seconds_to_start)) == 0


def test_the_process_ends_on_the_null_device(vault: Path, tmp_path: Path) -> None:
    with started(vault, tmp_path, stdin=subprocess.DEVNULL) as process:
        assert process.wait(SECONDS_TO_START) == 0


def test_the_process_ends_when_its_client_is_killed(vault: Path, tmp_path: Path) -> None:
    parent = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent, *program(vault, tmp_path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + SECONDS_TO_START
    while _is_running(child):
        assert time.monotonic() < deadline, "the server outlived its client"
        time.sleep(0.02)


def _is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
        state = (
            Path(f"/proc/{process_id}/stat")
            .read_text(encoding="utf-8")
            .rpartition(")")[2]
            .split()[0]
        )
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


async def test_a_live_watcher_indexes_an_edit(vault: Path, tmp_path: Path) -> None:
    workspace = Workspace(vault, load_settings(vault, {"index_dir": str(tmp_path / "index")}))
    workspace.build()
    follower = Follower(workspace.freshness)

    def generation() -> int:
        with workspace.index.snapshot() as snapshot:
            return snapshot.generation()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(follower.run)
            with anyio.fail_after(10):
                await follower.watching.wait()
                before = generation()
                (vault / "wiki" / "new.md").write_text("# New\n\nfreshword\n", encoding="utf-8")
                while generation() == before:  # noqa: ASYNC110  # another thread tells, not an event
                    await anyio.sleep(0.01)
            with workspace.index.snapshot() as snapshot:
                assert snapshot.note("wiki/new.md") is not None
            group.cancel_scope.cancel()
    finally:
        workspace.close()
