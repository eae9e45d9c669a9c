"""The hook commands: inject context into a client's session, whatever the client sends or fails.

A session waits for its hooks, so this module imports only what they need. Not here: the injected text
(`hook`), reading a client's payload (`payload`).
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NoReturn

import click

from workingset_mcp.cli import hook as hooks
from workingset_mcp.cli.commands import payload as payloads
from workingset_mcp.cli.commands.shared import vault_options
from workingset_mcp.cli.terminal import say
from workingset_mcp.errors import OverrideTooLarge, VaultNotFound
from workingset_mcp.settings import load_settings, settings_home
from workingset_mcp.vault.folder import Vault
from workingset_mcp.workspace.indexed import IndexedVault

MOST_PAYLOAD_BYTES = 32_000_000
SILENCE_SECONDS = 1.0  # after this long without input, the payload is taken as complete


class _Hooks(click.Group):
    """A group that never stops a session: a failure is one line on stderr with exit code 0.

    The exit code is 1 for an override over its cap and for a usage error. It is never 2, which makes a client
    block.
    """

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.ClickException as error:
            _fail(error.format_message())

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OverrideTooLarge as error:
            _fail(str(error))
        except click.ClickException as error:
            _fail(error.format_message())
        except click.exceptions.Exit:
            raise  # `--help`
        except Exception as error:  # noqa: BLE001  # a hook must not stop the session it serves
            say(f"workingset hook: {' '.join(str(error).split())}", err=True)


def _fail(message: str) -> NoReturn:
    """Exit with code 1 and one line on stderr."""
    say(f"Error: {' '.join(message.split())}", err=True)
    raise click.exceptions.Exit(1)


@click.group(cls=_Hooks, no_args_is_help=False)
def hook() -> None:
    """Inject context into a client's session (used by the client's hooks)."""


def _hook_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--branch", help="The branch (default: that of the client's folder).")(
        command
    )
    clients = click.Choice(list(hooks.CLIENTS))
    return click.option("--client", type=clients, default="claude")(command)


@hook.command(name="session-start")
@vault_options
@_hook_options
@click.option(
    "--max-bytes", type=int, default=hooks.DEFAULT_MAX_BYTES, help="Maximum bytes of the output."
)
@click.option("--full", is_flag=True, help="Print the whole branch, whatever its size.")
def session_start(
    vault: Path | None,
    index_dir: str | None,
    client: str,
    branch: str | None,
    max_bytes: int,
    full: bool,
) -> None:
    """Print context for a session that starts, resumes or was compacted."""

    def text_for(workspace: IndexedVault, name: str | None) -> str:
        if full and name:
            return f"{hooks.CLIENTS[client](hooks.full_text(workspace, name))}\n"
        return hooks.session_start(workspace, name, max_bytes, client)

    _run_hook(vault, index_dir, branch, text_for, whole=full)


@hook.command(name="pre-compact")
@vault_options
@_hook_options
def pre_compact(vault: Path | None, index_dir: str | None, client: str, branch: str | None) -> None:
    """Print what a compaction should keep (only Claude Code reads it)."""

    def text_for(workspace: IndexedVault, name: str | None) -> str:
        return "".join(f"{line}\n" for line in hooks.keep_lines(workspace, name))

    if client == "claude":
        _run_hook(vault, index_dir, branch, text_for)


def _run_hook(
    vault: Path | None,
    index_dir: str | None,
    branch: str | None,
    text_for: Callable[[IndexedVault, str | None], str],
    *,
    whole: bool = False,
) -> None:
    """Open the vault and branch that the client means, and print the text."""
    payload = payloads.read_payload(_standard_input())
    root = vault or settings_home(Path(payload.folders[0]) if payload.folders else Path.cwd())
    settings = load_settings(root, {"index_dir": index_dir})
    opened = Vault(root, settings)
    if opened.is_bare():
        raise VaultNotFound(f"The vault folder {opened.name!r} is empty.", "Is it mounted?")
    name = payloads.branch_for(opened, branch, payload)
    workspace = payloads.opened_for_hook(root, settings, name, whole=whole)
    try:
        say(text_for(workspace, name), nl=False)
    finally:
        workspace.close()


def _standard_input() -> bytes:
    """Read what the client sends; return nothing if there is no standard input, or if it is a terminal.

    Reading ends after a whole JSON object or a time of silence: some clients never close the pipe.
    """
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return b""
    try:
        descriptor = sys.stdin.fileno()
    except OSError:  # no file descriptor: the data is in memory
        return sys.stdin.buffer.read(MOST_PAYLOAD_BYTES)
    pieces: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_pass_on, args=(descriptor, pieces), daemon=True).start()
    received = bytearray()
    while len(received) < MOST_PAYLOAD_BYTES:
        try:
            piece = pieces.get(timeout=SILENCE_SECONDS)
        except Empty:
            break
        received += piece
        if not piece or payloads.is_whole(received):
            break
    return bytes(received)


def _pass_on(descriptor: int, pieces: "SimpleQueue[bytes]") -> None:
    """Queue pieces of input, an empty one at the end. Unbuffered: the buffer's lock would block the exit."""
    piece = b"-"
    while piece:
        try:
            piece = os.read(descriptor, 1 << 20)
        except OSError:
            piece = b""
        pieces.put(piece)


COMMANDS = (hook,)
