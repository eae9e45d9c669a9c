"""The output of `install`, read by a shell, a JSON parser and a TOML parser.

The printed server and hooks are started here, but not the clients.
"""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import write_vault

from workingset_mcp.cli import install as installing
from workingset_mcp.cli.main import main

SHELL = {
    "claude-code": ["claude", "mcp", "add", "-s", "user", "workingset", "--"],
    "copilot": ["copilot", "mcp", "add", "workingset", "--"],
    "gemini": ["gemini", "mcp", "add", "-s", "user", "workingset"],
}
JSON_KEY = {"claude-desktop": "mcpServers", "cursor": "mcpServers", "vscode": "servers"}
CLIENTS = (*SHELL, *JSON_KEY, "codex")
HOOKS = {
    "claude-code": {("session-start", "claude"), ("pre-compact", "claude")},
    "codex": {("session-start", "codex")},
    "gemini": {("session-start", "gemini")},
    "vscode": {("session-start", "vscode")},
    "copilot": {("session-start", "copilot")},
    "cursor": {("session-start", "cursor")},
}
NOTES = """\
=== cust/lock/2026-06-10.md
# Lock

## STATUS (2026-06-10)

The lower gate is stuck.
"""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault whose path has a space and both kinds of quotes in it."""
    root = tmp_path / "house" / 'Ebba\'s "old" notes'
    root.mkdir(parents=True)
    return write_vault(root, NOTES)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder nobody has written to."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    return folder


def install(client: str, vault: Path | str, *options: str) -> Result:
    return CliRunner().invoke(main, ["install", client, "--vault", str(vault), *options])


def printed(client: str, vault: Path | str, *options: str) -> str:
    """Return stdout of an install that succeeded."""
    result = install(client, vault, *options)
    assert result.exit_code == 0, result.output
    return result.stdout


def server_of(client: str, stdout: str) -> list[str]:
    """Return the command line with which a client starts the server."""
    if client in JSON_KEY:
        entry, _ = json.JSONDecoder().raw_decode(stdout)
        assert list(entry) == [JSON_KEY[client]]
        assert list(entry[JSON_KEY[client]]) == ["workingset"]
        server: dict[str, Any] = entry[JSON_KEY[client]]["workingset"]
        assert set(server) - {"type"} == {"command", "args"}
        assert server.get("type", "stdio") == "stdio"
        return [server["command"], *server["args"]]
    if client == "codex":
        block = stdout.partition(installing.INSTRUCTIONS)[0].partition("\n{\n")[0]
        server = tomllib.loads(block)["mcp_servers"]["workingset"]
        return [server["command"], *server["args"]]
    words = shlex.split(stdout.splitlines()[0])
    begin = SHELL[client]
    assert words[: len(begin)] == begin
    command = words[len(begin) :]
    if client == "gemini":  # without `--`, it reads the server's options as its own
        assert "--" in command
        command.remove("--")
    return command


def hooks_of(stdout: str) -> dict[str, Any]:
    """Parse the block of hooks: the last JSON object printed."""
    found: list[dict[str, Any]] = []
    at = stdout.find("{\n")
    while at >= 0:
        entry, length = json.JSONDecoder().raw_decode(stdout[at:])
        found.append(entry)
        at = stdout.find("{\n", at + length)
    assert set(found[-1]) <= {"hooks", "version"}
    return found[-1]


def commands_in(entry: object) -> Iterator[str]:
    """Return every command line in a block of hooks."""
    if isinstance(entry, dict):
        for key, value in entry.items():
            if key in ("command", "bash", "powershell") and isinstance(value, str):
                yield value
            else:
                yield from commands_in(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from commands_in(value)


def own() -> list[str]:
    """Return the command that starts this installation."""
    script = Path(sys.executable).with_name("workingset-mcp")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "workingset_mcp"]


# -- the server ------------------------------------------------------------------------------------


def test_seven_clients_are_known() -> None:
    assert sorted(installing.CLIENTS) == sorted(CLIENTS)
    assert len(CLIENTS) == 7


@pytest.mark.parametrize("options", [[], ["--hooks"]], ids=["", "hooks"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_starts_this_server_with_the_absolute_path_of_the_vault(
    vault: Path, client: str, options: list[str]
) -> None:
    command = server_of(client, printed(client, vault, *options))
    assert command == [*own(), "serve", "--vault", str(vault)]
    assert Path(command[0]).is_absolute()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_relative_vault_is_printed_as_an_absolute_path(
    vault: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vault.parent)
    assert str(vault) in server_of(client, printed(client, vault.name))


@pytest.mark.parametrize("client", CLIENTS)
def test_without_a_vault_option_the_enclosing_vault_is_used(
    vault: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / "workingset.toml").touch()
    monkeypatch.chdir(vault / "cust" / "lock")
    result = CliRunner().invoke(main, ["install", client])
    assert str(vault) in server_of(client, result.stdout)


@pytest.mark.parametrize("client", CLIENTS)
def test_an_index_folder_that_was_named_is_printed_for_server_and_hooks(
    vault: Path, client: str, tmp_path: Path
) -> None:
    folder = str(tmp_path / "an index")
    output = printed(client, vault, "--index-dir", folder, "--hooks")
    calls = [server_of(client, output)]
    if client in HOOKS:
        calls += [shlex.split(line) for line in commands_in(hooks_of(output))]
    assert [call for call in calls if call[-2:] != ["--index-dir", folder]] == []


@pytest.mark.parametrize("client", CLIENTS)
def test_an_installation_without_its_script_is_started_as_a_module(
    vault: Path, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = str(tmp_path / "bin of Ebba" / "python")
    monkeypatch.setattr(sys, "executable", python)
    command = server_of(client, printed(client, vault))
    assert command[:5] == [python, "-m", "workingset_mcp", "serve", "--vault"]


@pytest.mark.parametrize("client", CLIENTS)
def test_an_installation_in_a_cache_is_started_by_uvx(
    vault: Path, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "archive-v0" / "x" / "bin" / "python"))
    uvx = tmp_path / "path" / "uvx"
    uvx.parent.mkdir()
    uvx.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(uvx.parent))
    command = server_of(client, printed(client, vault))
    assert command[:2] == ["uvx", "workingset-mcp"]


# -- the hooks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", HOOKS)
def test_hooks_call_this_installation_for_their_client(vault: Path, client: str) -> None:
    entry = hooks_of(printed(client, vault, "--hooks"))
    calls = [shlex.split(command) for command in commands_in(entry)]
    expected = [
        [*own(), "hook", event, "--client", name, "--vault", str(vault)]
        for event, name in HOOKS[client]
    ]
    assert sorted(calls) == sorted(expected)


def test_hooks_go_where_each_client_looks_for_them(vault: Path) -> None:
    events = {}
    for client in HOOKS:
        entry = hooks_of(printed(client, vault, "--hooks"))
        events[client] = (sorted(entry["hooks"]), entry.get("version"))
    assert events == {
        "claude-code": (["PreCompact", "SessionStart"], None),
        "codex": (["SessionStart"], None),
        "gemini": (["SessionStart"], None),
        "vscode": (["SessionStart"], None),
        "copilot": (["sessionStart"], 1),
        "cursor": (["sessionStart"], 1),
    }


def test_claude_starts_its_hook_at_every_source_also_after_a_compaction(vault: Path) -> None:
    [group] = hooks_of(printed("claude-code", vault, "--hooks"))["hooks"]["SessionStart"]
    assert set(group["matcher"].split("|")) >= {"startup", "resume", "clear", "compact"}


def test_a_client_without_hooks_is_named_as_such(vault: Path) -> None:
    result = install("claude-desktop", vault, "--hooks")
    assert result.exit_code == 0
    assert "no hooks" in result.output
    assert '"hooks"' not in result.stdout


@pytest.mark.parametrize("client", CLIENTS)
def test_hooks_are_printed_only_when_asked_for(vault: Path, client: str) -> None:
    assert "session-start" not in install(client, vault).output


# -- around it -------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_titles_are_for_people_on_stderr(vault: Path, client: str) -> None:
    result = install(client, vault, "--hooks")
    titles = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(titles) == 3
    assert all(title.startswith("# ") for title in titles)
    assert [line for line in result.stdout.splitlines() if line.startswith("# ")] == []
    if client in HOOKS:
        assert "Hooks, into " in titles[1]


@pytest.mark.parametrize("client", CLIENTS)
def test_the_three_sentences_for_the_agent_come_last(vault: Path, client: str) -> None:
    sentences = printed(client, vault).splitlines()[-3:]
    assert "get_brief" in sentences[0]
    assert "search_notes" in sentences[1]
    assert "If it is not there, say so" in sentences[2]
    assert sentences == installing.INSTRUCTIONS.splitlines()


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_is_written_anywhere(vault: Path, home: Path, client: str) -> None:
    def seen() -> list[tuple[Path, int]]:
        return sorted((path, path.lstat().st_mtime_ns) for path in vault.parents[1].rglob("*"))

    before = seen()
    install(client, vault, "--hooks")
    assert seen() == before
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("client", ["emacs", "Claude-Code", "claude", ""])
def test_an_unknown_client_is_refused_with_the_known_ones(vault: Path, client: str) -> None:
    result = install(client, vault)
    assert (result.exit_code, result.stdout) == (2, "")
    assert all(name in result.stderr for name in CLIENTS)
    assert "Traceback" not in result.stderr


def test_a_vault_that_is_not_there_is_refused(tmp_path: Path) -> None:
    result = install("codex", tmp_path / "nowhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == ["Error", "hint"]


# -- what was printed, started ---------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("client", ["claude-code", "cursor", "copilot"])
def test_the_printed_server_starts_and_answers(vault: Path, client: str) -> None:
    command = server_of(client, printed(client, vault))
    request = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }  # fmt: skip
    stdin = json.dumps(request).encode() + b"\n"
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=50, check=True)
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"]


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="the line is for a POSIX shell")
@pytest.mark.parametrize("client", HOOKS)
def test_a_printed_hook_runs_in_a_shell_and_injects(vault: Path, client: str) -> None:
    entry = hooks_of(printed(client, vault, "--hooks"))
    [line] = [command for command in commands_in(entry) if "session-start" in command]
    folder = str(vault / "cust" / "lock")
    stdin = json.dumps({"cwd": folder, "workspace_roots": [folder], "source": "startup"})
    done = subprocess.run(
        ["sh", "-c", line], input=stdin.encode(), capture_output=True, timeout=50, check=True
    )
    assert "The lower gate is stuck." in json.dumps(json.loads(done.stdout))


def test_server_and_hooks_of_the_plugin_run_one_command_and_say_what_installed_hooks_say(
    vault: Path,
) -> None:
    plugin = Path(__file__).parents[2] / "docs" / "packaging" / "claude-plugin"
    manifest = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    entry = json.loads((plugin / "hooks" / "hooks.json").read_text(encoding="utf-8"))
    [server] = manifest["mcpServers"].values()
    runs = [run for groups in entry["hooks"].values() for group in groups for run in group["hooks"]]
    assert [server["command"]] == sorted({run["command"] for run in runs})
    own = shlex.join(installing.own_command())
    ours = commands_in(hooks_of(printed("claude-code", vault, "--hooks")))
    assert [line.removeprefix(f"{own} ").partition(" --vault ")[0] for line in ours] == [
        shlex.join(run["args"]) for run in runs
    ]
