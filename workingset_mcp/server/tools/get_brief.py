"""`get_brief`: the small current slice of one branch, or the overview of all."""

from typing import Annotated

from pydantic import Field

from workingset_mcp.answers.answer import Answer, Limits
from workingset_mcp.server.tools._declare import declare
from workingset_mcp.workspace.facade import Workspace


def get_brief(
    workspace: Workspace,
    limits: Limits,
    branch: Annotated[
        str | None,
        Field(description='e.g. "cust/acme" or "acme"; without it: one line for every branch'),
    ] = None,
    budget: Annotated[
        int | None, Field(description="most tokens of the answer, from 400 (default 8000)")
    ] = None,
) -> Answer[object]:
    """Current state of one customer, project or folder in about 2,000 tokens: call this first.

    Latest status word for word, newest notes, open items by urgency, decisions, owners, blockers,
    standing rules; every line with its path:line. What does not fit is counted and named with the
    call that fetches it. Without `branch`: all branches, newest first. Always equals the files.
    """
    return workspace.brief(branch, budget, limits)


GET_BRIEF = declare(get_brief, title="Brief of a branch", **{"anthropic/alwaysLoad": True})
