"""A search whose order a person bends: a branch that weighs more, only the best sections.

Not a tool for agents: they narrow by `branch`. Not here: ranking itself (`search`).
"""

from collections.abc import Sequence
from dataclasses import replace

from workingset_mcp import search
from workingset_mcp.answer import checked_budget, fit_answer, put_together
from workingset_mcp.budget import LEAST_BUDGET
from workingset_mcp.errors import ArgumentError
from workingset_mcp.index import Stemmer
from workingset_mcp.opened import HEAD_TOKENS
from workingset_mcp.search.answer import search_draft
from workingset_mcp.search.rank import Ranked
from workingset_mcp.workspace import Workspace, day_argument

BOOST = 1.5


def search_in_order(
    workspace: Workspace, query: str, *, boost: str | None, top: int | None,
    also: Sequence[str] = (), budget: int | None = None, branch: str | None = None,
    since: str | None = None, until: str | None = None,
) -> str:  # fmt: skip
    """The answer of a search, `boost` weighed 1.5 times, of the `top` sections only.

    Raises ArgumentError, BranchNotFound.
    """
    if not query.strip():
        raise ArgumentError("The query is empty.", "Give a question or a few words.")
    limits, settings = workspace.limits(), workspace.settings
    budget, lowered = checked_budget(
        budget, settings.search_budget, LEAST_BUDGET, limits.most_tokens
    )
    weighed = workspace.branch_named(boost) if boost else None
    within = search.Filter(
        workspace.branch_named(branch) if branch else None,
        day_argument("since", since),
        day_argument("until", until),
    )
    parsed = search.parse_query(query, also=also, glossary=settings.glossary)
    workspace.branches()  # brings the whole index up to date
    stemmer = Stemmer()
    try:
        with workspace.index.snapshot() as snapshot:
            ranking = search.rank(parsed, snapshot, stemmer, within)
            ranking = replace(ranking, ranked=_in_order(ranking.ranked, weighed, top))

            def compose(room: int) -> str:
                draft = search_draft(parsed, ranking, snapshot, within, room - HEAD_TOKENS)
                return put_together(
                    draft.subject, draft.body, budget=budget, state=str(workspace.freshness.state),
                    margin=settings.token_margin, warnings=[lowered] if lowered else [],
                )  # fmt: skip

            return fit_answer(
                compose, budget=budget, max_bytes=limits.max_bytes, margin=settings.token_margin
            )
    finally:
        stemmer.close()


def _in_order(ranked: Sequence[Ranked], weighed: str | None, top: int | None) -> tuple[Ranked, ...]:
    """The ranked sections, those of the weighed branch moved up, cut to the best `top`."""
    bent = [
        replace(one, score=one.score * BOOST) if one.note.branch == weighed else one
        for one in ranked
    ]
    bent.sort(key=lambda one: -one.score)  # stable: ties keep their order
    return tuple(bent[:top])
