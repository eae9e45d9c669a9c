"""`list_items`: exact counts and lists, which search cannot give."""

from typing import Annotated

from pydantic import Field

from workingset_mcp.answers.answer import Answer, Limits
from workingset_mcp.answers.listing import GroupBy, ListedKind
from workingset_mcp.server.tools._declare import declare
from workingset_mcp.workspace.facade import Workspace


def list_items(
    workspace: Workspace,
    limits: Limits,
    kind: Annotated[ListedKind, Field(description="what to list or count")] = "open",
    branch: Annotated[str | None, Field(description="only this branch")] = None,
    owner: Annotated[str | None, Field(description="a name, team or @handle")] = None,
    text: Annotated[str | None, Field(description="only lines with this text")] = None,
    since: Annotated[str | None, Field(description="notes dated from, e.g. 2025-01-01")] = None,
    until: Annotated[str | None, Field(description="notes dated up to")] = None,
    due_before: Annotated[str | None, Field(description="due before this day")] = None,
    group_by: Annotated[GroupBy | None, Field(description="count by this, largest first")] = None,
    budget: Annotated[int | None, Field(description="tokens, from 200 (default 3000)")] = None,
) -> Answer[object]:
    """Count or list exactly, over every note: open items, decisions, notes by date or folder.

    For "how many", "which has most", "all of": search only shows the best passages. "Which customer
    has most open items?" is group_by="branch"; "how many meetings in 2025?" is kind="note" with
    since and until. The first line is the total over all, whatever fits below.
    """
    return workspace.items(
        kind,
        branch=branch,
        owner=owner,
        text=text,
        since=since,
        until=until,
        due_before=due_before,
        group_by=group_by,
        budget=budget,
        limits=limits,
    )


LIST_ITEMS = declare(list_items, title="Count and list items")
