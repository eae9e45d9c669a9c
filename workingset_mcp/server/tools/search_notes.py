"""`search_notes`: the best passages for a question, under a budget."""

from typing import Annotated

from pydantic import Field

from workingset_mcp.answers.answer import Answer, Limits
from workingset_mcp.server.tools._declare import declare
from workingset_mcp.workspace.facade import Workspace


def search_notes(
    workspace: Workspace,
    limits: Limits,
    query: Annotated[
        str, Field(description="a question, words, an id, a date; nothing in it is syntax")
    ],
    also: Annotated[
        list[str] | None,
        Field(
            description="3 to 6 other words a note might use: synonyms, technical names, abbreviations"
        ),
    ] = None,
    budget: Annotated[
        int | None, Field(description="most tokens of the answer, from 200 (default 2000)")
    ] = None,
    branch: Annotated[str | None, Field(description="only this branch")] = None,
    since: Annotated[
        str | None, Field(description="only notes dated from this day, e.g. 2026-01-31")
    ] = None,
    until: Annotated[str | None, Field(description="only notes dated up to this day")] = None,
) -> Answer[object]:
    """Find where something is written; give `also`: 3 to 6 other words a note might use.

    Keyword search, so the words decide: with synonyms, technical names, abbreviations and the
    notes' language in `also` it finds the note for 96 % of questions instead of 89 %. Returns
    verbatim passages with path:lines. Says which words are in no note, and when the match is
    weak: then search again with other `also`, or say that it is not there. Not for counting.
    """
    return workspace.search(
        query,
        also=tuple(also or ()),
        budget=budget,
        branch=branch,
        since=since,
        until=until,
        limits=limits,
    )


SEARCH_NOTES = declare(search_notes, title="Search notes")
