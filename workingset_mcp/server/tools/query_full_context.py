"""`query_full_context`: the deliberately heavy one, lossless, in pages."""

from typing import Annotated

from pydantic import Field

from workingset_mcp.answers.answer import Answer, Limits
from workingset_mcp.server.tools._declare import declare
from workingset_mcp.workspace.facade import Workspace


def query_full_context(
    workspace: Workspace,
    limits: Limits,
    branch: Annotated[str | None, Field(description="without it the whole vault")] = None,
    query: Annotated[
        str | None, Field(description="only sections that hold all these words: every one")
    ] = None,
    since: Annotated[str | None, Field(description="notes dated from")] = None,
    until: Annotated[str | None, Field(description="notes dated up to")] = None,
    as_of: Annotated[
        str | None, Field(description="the state at that day: as committed in git, else by dates")
    ] = None,
    budget: Annotated[int | None, Field(description="tokens a page (default 20000)")] = None,
    cursor: Annotated[str | None, Field(description="from `next:` of the page before")] = None,
) -> Answer[object]:
    """Heavy, expensive, last resort: verbatim history of a branch in date order, in pages.

    Do not call it to look something up (search_notes) or to get up to date (get_brief); call it
    when the complete record is asked for, or what stood at a day ("six weeks ago": as_of). The
    first line tells the whole cost. Over 100,000 tokens it answers with a plan of shards.
    """
    return workspace.full(
        branch,
        query=query,
        since=since,
        until=until,
        as_of=as_of,
        budget=budget,
        cursor=cursor,
        limits=limits,
    )


QUERY_FULL_CONTEXT = declare(
    query_full_context, title="Full context (heavy)", **{"anthropic/maxResultSizeChars": 120_000}
)
