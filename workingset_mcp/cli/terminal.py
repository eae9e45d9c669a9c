"""What a command says: on a terminal what would move it is escaped, into a pipe the bytes stay as they are."""

import sys

import click

from workingset_mcp.escaping import show_on_terminal


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text to stdout, or to stderr."""
    stream = sys.stderr if err else sys.stdout
    # With `color` click takes no sequences out of what goes into a pipe.
    click.echo(show_on_terminal(text) if stream.isatty() else text, err=err, nl=nl, color=True)
