"""What to type or paste so that a client starts this server. Writes nothing.

Shapes as the clients' own commands and files take them. Not here: running them.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

NAME = "workingset"
INSTRUCTIONS = """\
Call get_brief of workingset first; it gives the current state in a few hundred tokens.
Open sources (search_notes with `also`, then open_source_file) only if the brief does not hold the answer.
If it is not there, say so; never answer from memory."""


class Hook(NamedTuple):
    """Where a client keeps its hooks, and the entry."""

    file: str
    entry: Mapping[str, object]


class Printed(NamedTuple):
    """What is printed for a client: titled blocks, ready to type or paste."""

    blocks: tuple[tuple[str, str], ...]


def printed_for(client: str, vault: Path, *, hooks: bool, index_dir: str | None = None) -> Printed:
    """The blocks for one of CLIENTS."""
    command = [*own_command(), "serve", "--vault", str(vault)]
    if index_dir:
        command += ["--index-dir", index_dir]
    blocks = [CLIENTS[client](command)]
    if hooks:
        hook = _hook_of(client, vault)
        if hook:
            blocks.append(
                (f"Hooks, into {hook.file}", json.dumps(hook.entry, indent=2, ensure_ascii=False))
            )
        else:
            blocks.append(("Hooks", "This client runs no hooks at session start."))
    blocks.append(
        ("Three sentences for the agent's instruction file (AGENTS.md, CLAUDE.md, …)", INSTRUCTIONS)
    )
    return Printed(tuple(blocks))


def own_command() -> list[str]:
    """How a client can start this very installation."""
    script = Path(sys.executable).with_name("workingset-mcp")
    if "archive-v" in sys.executable and shutil.which("uvx"):
        return ["uvx", "workingset-mcp"]  # run from a cache that may go
    if script.is_file():
        return [str(script)]
    return [sys.executable, "-m", "workingset_mcp"]


def _claude_code(command: list[str]) -> tuple[str, str]:
    return "Claude Code, in a shell", f"claude mcp add -s user {NAME} -- {shlex.join(command)}"


def _copilot(command: list[str]) -> tuple[str, str]:
    return "Copilot CLI, in a shell", f"copilot mcp add {NAME} -- {shlex.join(command)}"


def _codex(command: list[str]) -> tuple[str, str]:
    # `required`: without it Codex sends its first request before the server has answered.
    arguments = json.dumps(command[1:], ensure_ascii=False)
    return "Codex, into ~/.codex/config.toml", (
        f"[mcp_servers.{NAME}]\ncommand = {json.dumps(command[0], ensure_ascii=False)}\n"
        f"args = {arguments}\nrequired = true\nstartup_timeout_sec = 30"
    )


def _gemini(command: list[str]) -> tuple[str, str]:
    # Options of the server would be read as Gemini's own: `--` keeps them apart.
    program, *arguments = command
    line = shlex.join([NAME, program, "--", *arguments])
    return "Gemini CLI, in a shell", f"gemini mcp add -s user {line}"


def _entry(command: list[str], kind: str = "") -> dict[str, object]:
    return {**({"type": kind} if kind else {}), "command": command[0], "args": command[1:]}


def _claude_desktop(command: list[str]) -> tuple[str, str]:
    return "Claude Desktop, into claude_desktop_config.json", _servers(
        "mcpServers", _entry(command)
    )


def _cursor(command: list[str]) -> tuple[str, str]:
    return "Cursor, into ~/.cursor/mcp.json or .cursor/mcp.json", _servers(
        "mcpServers", _entry(command)
    )


def _vscode(command: list[str]) -> tuple[str, str]:
    return "VS Code, into .vscode/mcp.json", _servers("servers", _entry(command, "stdio"))


def _servers(key: str, entry: dict[str, object]) -> str:
    return json.dumps({key: {NAME: entry}}, indent=2, ensure_ascii=False)


CLIENTS: Mapping[str, Callable[[list[str]], tuple[str, str]]] = {
    "claude-code": _claude_code,
    "claude-desktop": _claude_desktop,
    "copilot": _copilot,
    "vscode": _vscode,
    "cursor": _cursor,
    "codex": _codex,
    "gemini": _gemini,
}


def _hook_of(client: str, vault: Path) -> Hook | None:
    def line(client_name: str, event: str = "session-start") -> list[str]:
        return [*own_command(), "hook", event, "--client", client_name, "--vault", str(vault)]

    def nested(client_name: str, timeout: int) -> dict[str, object]:
        return {"type": "command", "command": shlex.join(line(client_name)), "timeout": timeout}

    if client == "claude-code":
        keep = {
            "type": "command",
            "command": shlex.join(line("claude", "pre-compact")),
            "timeout": 10,
        }
        entry: dict[str, object] = {
            "hooks": {
                "SessionStart": [
                    {"matcher": "startup|resume|clear|compact", "hooks": [nested("claude", 10)]}
                ],
                "PreCompact": [{"hooks": [keep]}],
            }
        }
        return Hook("~/.claude/settings.json (or .claude/settings.json of a project)", entry)
    if client == "codex":
        return Hook(
            "~/.codex/hooks.json (then trust it in /hooks: Codex skips untrusted ones silently)",
            {"hooks": {"SessionStart": [{"hooks": [nested("codex", 10)]}]}},
        )
    if client == "gemini":
        return Hook(
            "~/.gemini/settings.json",
            {"hooks": {"SessionStart": [{"hooks": [nested("gemini", 10_000)]}]}},
        )
    if client == "vscode":
        return Hook(
            ".github/hooks/workingset.json", {"hooks": {"SessionStart": [nested("vscode", 10)]}}
        )
    if client == "copilot":
        run = {"type": "command", "bash": shlex.join(line("copilot")), "timeoutSec": 10}
        return Hook(
            "~/.copilot/hooks/workingset.json", {"version": 1, "hooks": {"sessionStart": [run]}}
        )
    if client == "cursor":
        run = {"command": shlex.join(line("cursor"))}
        return Hook("~/.cursor/hooks.json", {"version": 1, "hooks": {"sessionStart": [run]}})
    return None
