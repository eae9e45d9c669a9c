"""The command line: one group, its commands in order, and how our errors read.

Data goes to stdout, everything else to stderr. Exit codes: 0 answered, 1 nothing found, 2 usage,
3 failed. Only `serve` and `demo` import `mcp`.
"""

import sys
from typing import Any

import click

from workingset_mcp import __version__
from workingset_mcp.commands import answers, clients, upkeep
from workingset_mcp.errors import WorkingsetError


class _Group(click.Group):
    """Turns our errors into one `Error:` line and one `hint:` line."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WorkingsetError as error:
            if ctx.params.get("debug"):
                raise
            click.echo(f"Error: {error.message}", err=True)
            if error.hint:
                click.echo(f"hint: {error.hint}", err=True)
            ctx.exit(error.exit_code)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="workingset-mcp")
@click.option("--debug", is_flag=True, help="Show tracebacks of expected errors too.")
def main(debug: bool) -> None:
    """A working set of your notes for agents, served over MCP."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")


for command in (*clients.COMMANDS, *answers.COMMANDS, *upkeep.COMMANDS):
    main.add_command(command)
