"""`open_source_file`: the exact text behind a line of a brief or a passage."""

from typing import Annotated

from pydantic import Field

from workingset_mcp.answers.answer import Answer, Limits
from workingset_mcp.server.tools._declare import declare
from workingset_mcp.workspace.facade import Workspace


def open_source_file(
    workspace: Workspace,
    limits: Limits,
    path: Annotated[str, Field(description="as printed, also with :12 or :12-40 behind it")],
    lines: Annotated[str | None, Field(description='e.g. "12-40"')] = None,
    heading: Annotated[
        str | None, Field(description="a section, by the text of its heading")
    ] = None,
    budget: Annotated[
        int | None, Field(description="most tokens of the answer, from 200 (default 6000)")
    ] = None,
) -> Answer[object]:
    """Read a note verbatim, whole or some lines or one section, when a brief or passage is not enough.

    Takes every path the other tools print. A long note comes in parts: the answer names the call
    for the next one. An unknown heading gives the outline.
    """
    return workspace.open(path, lines=lines, heading=heading, budget=budget, limits=limits)


OPEN_SOURCE_FILE = declare(open_source_file, title="Open a note")
