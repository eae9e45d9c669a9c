"""Clients: serving them, installing into them, injecting into their sessions, the demonstration."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from workingset_mcp.commands.shared import opened, vault_options
from workingset_mcp.errors import OverrideTooLarge
from workingset_mcp.settings import load_settings, settings_home
from workingset_mcp.vault import Vault
from workingset_mcp.workspace import Workspace


@click.command()
@vault_options
@click.option(
    "--max-answer-bytes",
    type=int,
    help="Most bytes of an answer, for clients that cut (Copilot CLI: 9500).",
)
@click.option("--http", "address", help="Serve Streamable HTTP at HOST:PORT, e.g. 127.0.0.1:8321.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with the bearer token (or WORKINGSET_TOKEN).",
)
@click.option("--allow-host", "hosts", multiple=True, help="Another Host name clients may use.")
def serve(
    vault: Path | None,
    index_dir: str | None,
    max_answer_bytes: int | None,
    address: str | None,
    token_file: Path | None,
    hosts: tuple[str, ...],
) -> None:
    """Serve the vault to an MCP client over stdin and stdout, or to many over HTTP."""
    here = settings_home(Path.cwd()).resolve()
    if vault is None and here in (Path.home().resolve(), Path(here.anchor)):
        raise click.UsageError("Give the folder of notes: --vault PATH (not a whole home folder).")
    with opened(vault, index_dir, build=False, max_answer_bytes=max_answer_bytes) as workspace:
        if address:
            from workingset_mcp.http import read_token, serve_http  # imports mcp

            token = read_token(token_file, os.environ.get("WORKINGSET_TOKEN"))
            serve_http(workspace, address, token, hosts)
            return
        from workingset_mcp.server import serve_stdio  # imports mcp: 0.6 s no other command pays

        serve_stdio(workspace)


@click.command()
@vault_options
@click.argument("client")
@click.option("--hooks", is_flag=True, help="Also the hook entries.")
def install(vault: Path | None, index_dir: str | None, client: str, hooks: bool) -> None:
    """Print what to type or paste so that CLIENT uses this server. Writes nothing."""
    from workingset_mcp import install as installing

    if client not in installing.CLIENTS:
        raise click.UsageError(f"unknown client {client!r}; known: {', '.join(installing.CLIENTS)}")
    root = Vault(vault or settings_home(Path.cwd())).root
    for title, text in installing.printed_for(
        client, root, hooks=hooks, index_dir=index_dir
    ).blocks:
        click.echo(f"# {title}", err=True)
        click.echo(text)
        click.echo("", err=True)


@click.group()
def hook() -> None:
    """Inject context into a client's session (used by the client's hooks)."""


def _hook_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--branch", help="The branch (default: that of the client's folder).")(
        command
    )
    clients = ["claude", "codex", "gemini", "vscode", "copilot", "cursor"]
    return click.option("--client", type=click.Choice(clients), default="claude")(command)


@hook.command(name="session-start")
@vault_options
@_hook_options
@click.option("--max-bytes", type=int, default=9_500, help="Most bytes of the output.")
@click.option("--full", is_flag=True, help="The whole branch, whatever its size.")
def session_start(
    vault: Path | None,
    index_dir: str | None,
    client: str,
    branch: str | None,
    max_bytes: int,
    full: bool,
) -> None:
    """Print context for a session that starts, resumes or was compacted."""
    from workingset_mcp import hook as hooks

    def printed(workspace: Workspace, name: str | None) -> str:
        if full and name:
            return f"{hooks.CLIENTS[client](hooks.full_text(workspace, name))}\n"
        return hooks.session_start(workspace, name, max_bytes, client)

    _run_hook(vault, index_dir, branch, printed, whole=full)


@hook.command(name="pre-compact")
@vault_options
@_hook_options
def pre_compact(vault: Path | None, index_dir: str | None, client: str, branch: str | None) -> None:
    """Print what a compaction should keep, for the one client that reads it."""
    from workingset_mcp import hook as hooks

    def printed(workspace: Workspace, name: str | None) -> str:
        return "".join(f"{line}\n" for line in hooks.keep_lines(workspace, name))

    if client == "claude":
        _run_hook(vault, index_dir, branch, printed)


def _run_hook(
    vault: Path | None,
    index_dir: str | None,
    branch: str | None,
    printed: Callable[[Workspace, str | None], str],
    *,
    whole: bool = False,
) -> None:
    """Never stop a session: whatever fails is one line on stderr, but an override over its cap."""
    from workingset_mcp.commands import asked

    try:
        payload = asked.read_payload(_standard_input(asked.MOST_PAYLOAD_BYTES))
        root = vault or settings_home(Path(payload.cwd) if payload.cwd else Path.cwd())
        settings = load_settings(root, {"index_dir": index_dir})
        name = asked.branch_for(Vault(root, settings), branch, payload)
        workspace = asked.opened_for_hook(root, settings, name, whole=whole)
        try:
            text = printed(workspace, name)
        finally:
            workspace.close()
    except OverrideTooLarge as error:
        click.echo(f"Error: {error}", err=True)
        click.get_current_context().exit(1)
    except Exception as error:  # noqa: BLE001  # a hook must not stop the session it serves
        click.echo(f"workingset hook: {' '.join(str(error).split())}", err=True)
        return
    click.echo(text, nl=False)


def _standard_input(most_bytes: int) -> bytes:
    """What the client sends; nothing where it gave no standard input, or a person types."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return b""
    return sys.stdin.buffer.read(most_bytes)


@click.command()
def demo() -> None:
    """Serve a copy of the example vault to a real MCP client and show what an agent sees."""
    from workingset_mcp.demo import run_demo  # imports mcp

    run_demo()


COMMANDS = (serve, install, hook, demo)
