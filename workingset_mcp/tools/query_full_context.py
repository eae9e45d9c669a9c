"""`query_full_context`: the deliberately heavy one, lossless, in pages."""

from typing import Annotated

from pydantic import Field

from workingset_mcp.answer import Limits
from workingset_mcp.tools._declare import declare
from workingset_mcp.workspace import Workspace


def query_full_context(
    workspace: Workspace,
    limits: Limits,
    branch: Annotated[
        str | None, Field(description="the branch; without it the whole vault")
    ] = None,
    budget: Annotated[
        int | None, Field(description="most tokens a page, from 200 (default 20000)")
    ] = None,
    cursor: Annotated[
        str | None, Field(description="from the line `next:` of the page before")
    ] = None,
) -> str:
    """Heavy, expensive, last resort, verbatim history: every note of a branch in date order, in pages.

    Do not call it to look something up (search_notes) or to get up to date (get_brief); call it
    when the complete record is asked for. The first line tells the whole cost.
    """
    return workspace.full(branch, budget=budget, cursor=cursor, limits=limits)


QUERY_FULL_CONTEXT = declare(
    query_full_context, title="Full context (heavy)", **{"anthropic/maxResultSizeChars": 120_000}
)
