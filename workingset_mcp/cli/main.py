"""The command line: one group that loads its commands on demand and prints expected errors.

Data goes to stdout, everything else to stderr. Exit codes: 0 answered, 1 nothing found, 2 usage,
3 failed. Only `serve` and `demo` import `mcp`.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from workingset_mcp import __version__
from workingset_mcp.cli.terminal import say
from workingset_mcp.errors import WorkingsetError
from workingset_mcp.server import sdk

# The module of each command, so that a command imports only its own.
_MODULES: Mapping[str, str] = {
    "hook": "hooks",
    **dict.fromkeys(("serve", "install", "demo"), "clients"),
    **dict.fromkeys(("brief", "search", "open", "full", "items"), "answers"),
    **dict.fromkeys(("index", "status", "measure", "check", "compact"), "upkeep"),
}


class _Group(click.Group):
    """A group that loads commands on demand and prints our errors as an `Error:` and a `hint:` line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        module = import_module(f"workingset_mcp.cli.commands.{_MODULES[cmd_name]}")
        commands: tuple[click.Command, ...] = module.COMMANDS
        return next(command for command in commands if command.name == cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WorkingsetError as error:
            if ctx.params.get("debug"):
                raise
            say(f"Error: {error.message}", err=True)
            if error.hint:
                say(f"hint: {error.hint}", err=True)
            ctx.exit(error.exit_code)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="workingset-mcp")
@click.option("--debug", is_flag=True, help="Also show tracebacks of expected errors.")
def main(debug: bool) -> None:
    """A working set of your notes for agents, served over MCP."""
    sdk.collect_rarely()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
