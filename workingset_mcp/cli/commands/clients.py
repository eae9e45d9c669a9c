"""The commands for clients: serve, install, demo."""

import os
from pathlib import Path

import click

from workingset_mcp.cli.commands.shared import opened_workspace, vault_options
from workingset_mcp.cli.terminal import say
from workingset_mcp.server import sdk
from workingset_mcp.settings import settings_home
from workingset_mcp.vault.folder import Vault


@click.command()
@vault_options
@click.option(
    "--max-answer-bytes",
    type=int,
    help="Maximum bytes of an answer, for clients that cut long answers (Copilot CLI: 9500).",
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
    with opened_workspace(
        vault, index_dir, build=False, max_answer_bytes=max_answer_bytes
    ) as workspace:
        sdk.defer_models()
        if address:
            from workingset_mcp.server.http import read_token, serve_http  # imports mcp

            token = read_token(token_file, os.environ.get("WORKINGSET_TOKEN"))
            serve_http(workspace, address, token, hosts)
            return
        from workingset_mcp.server.server import serve_stdio  # imports mcp: 0.5 s

        serve_stdio(workspace)


@click.command()
@vault_options
@click.argument("client")
@click.option("--hooks", is_flag=True, help="Also print the hook entries.")
def install(vault: Path | None, index_dir: str | None, client: str, hooks: bool) -> None:
    """Print what to type or paste so that CLIENT uses this server. Writes nothing."""
    from workingset_mcp.cli import install as installing

    if client not in installing.CLIENTS:
        raise click.UsageError(f"unknown client {client!r}; known: {', '.join(installing.CLIENTS)}")
    root = Vault(vault or settings_home(Path.cwd())).root
    for title, text in installing.printed_for(
        client, root, hooks=hooks, index_dir=index_dir
    ).blocks:
        say(f"# {title}", err=True)
        say(text)
        say("", err=True)


@click.command()
def demo() -> None:
    """Serve a copy of the example vault to a real MCP client and show what an agent sees."""
    from workingset_mcp.cli.demo import run_demo  # imports mcp

    run_demo()


COMMANDS = (serve, install, demo)
