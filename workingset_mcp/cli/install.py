"""Build what to type or paste so that a client starts this server. Writes nothing.

The formats are those of the clients' own commands and files. Not here: running them.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

NAME = "workingset"
INSTRUCTIONS = """\
Call get_brief of workingset first; it gives the current state in about 2,000 tokens.
Open sources (search_notes with `also`, then open_source_file) only if the brief does not hold \
the answer.
If it is not there, say so; never answer from memory."""


class Hook(NamedTuple):
    """The file where a client keeps its hooks, and the entry for it."""

    file: str
    entry: Mapping[str, object]


class Printed(NamedTuple):
    """The text for a client: titled blocks, ready to type or paste."""

    blocks: tuple[tuple[str, str], ...]


def printed_for(client: str, vault: Path, *, hooks: bool, index_dir: str | None = None) -> Printed:
    """Build the blocks for one of CLIENTS."""
    options = ["--vault", str(vault), *(["--index-dir", index_dir] if index_dir else [])]
    blocks = [CLIENTS[client]([*own_command(), "serve", *options])]
    if hooks:
        hook = _hook_of(client, options)
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
    """Return the command that starts this installation."""
    script = Path(sys.executable).with_name("workingset-mcp")
    if "archive-v" in sys.executable and shutil.which("uvx"):
        return ["uvx", "workingset-mcp"]  # this installation is in a cache that uv may delete
    if script.is_file():
        return [str(script)]
    return [sys.executable, "-m", "workingset_mcp"]


def _claude_code(command: list[str]) -> tuple[str, str]:
    return "Claude Code, in a shell", f"claude mcp add -s user {NAME} -- {shlex.join(command)}"


def _copilot(command: list[str]) -> tuple[str, str]:
    return "Copilot CLI, in a shell", f"copilot mcp add {NAME} -- {shlex.join(command)}"


def _codex(command: list[str]) -> tuple[str, str]:
    # Without `required`, Codex sends its first request before the server is ready.
    arguments = json.dumps(command[1:], ensure_ascii=False)
    return "Codex, into ~/.codex/config.toml", (
        f"[mcp_servers.{NAME}]\ncommand = {json.dumps(command[0], ensure_ascii=False)}\n"
        f"args = {arguments}\nrequired = true\nstartup_timeout_sec = 30"
    )


def _gemini(command: list[str]) -> tuple[str, str]:
    # `--` keeps Gemini from reading the server's options as its own.
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


def _hook_of(client: str, options: Sequence[str]) -> Hook | None:
    """Return where the client keeps its hooks, and the entry; None if it has no hooks."""
    made = _HOOKS.get(client)
    return made(options) if made else None


def _line(client: str, options: Sequence[str], event: str = "session-start") -> str:
    return shlex.join([*own_command(), "hook", event, "--client", client, *options])


def _run(line: str, timeout: int) -> dict[str, object]:
    return {"type": "command", "command": line, "timeout": timeout}


def _claude_hooks(options: Sequence[str]) -> Hook:
    start = {
        "matcher": "startup|resume|clear|compact",
        "hooks": [_run(_line("claude", options), 10)],
    }
    keep = {"hooks": [_run(_line("claude", options, "pre-compact"), 10)]}
    return Hook(
        "~/.claude/settings.json (or .claude/settings.json of a project)",
        {"hooks": {"SessionStart": [start], "PreCompact": [keep]}},
    )


def _codex_hooks(options: Sequence[str]) -> Hook:
    return Hook(
        "~/.codex/hooks.json (then trust it in /hooks: Codex skips untrusted ones silently)",
        {"hooks": {"SessionStart": [{"hooks": [_run(_line("codex", options), 10)]}]}},
    )


def _gemini_hooks(options: Sequence[str]) -> Hook:
    run = _run(_line("gemini", options), 10_000)  # milliseconds
    return Hook("~/.gemini/settings.json", {"hooks": {"SessionStart": [{"hooks": [run]}]}})


def _vscode_hooks(options: Sequence[str]) -> Hook:
    run = _run(_line("vscode", options), 10)
    return Hook(".github/hooks/workingset.json", {"hooks": {"SessionStart": [run]}})


def _copilot_hooks(options: Sequence[str]) -> Hook:
    run = {"type": "command", "bash": _line("copilot", options), "timeoutSec": 10}
    return Hook(
        "~/.copilot/hooks/workingset.json", {"version": 1, "hooks": {"sessionStart": [run]}}
    )


def _cursor_hooks(options: Sequence[str]) -> Hook:
    run = {"command": _line("cursor", options)}
    return Hook("~/.cursor/hooks.json", {"version": 1, "hooks": {"sessionStart": [run]}})


_HOOKS: Mapping[str, Callable[[Sequence[str]], Hook]] = {
    "claude-code": _claude_hooks,
    "codex": _codex_hooks,
    "gemini": _gemini_hooks,
    "vscode": _vscode_hooks,
    "copilot": _copilot_hooks,
    "cursor": _cursor_hooks,
}
