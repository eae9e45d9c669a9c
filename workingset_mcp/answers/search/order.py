"""A ranking whose order a person bends: a branch that weighs more, only the best sections."""

from dataclasses import replace

from workingset_mcp.answers.search.rank import Ranking

BOOST = 1.5


def bent(ranking: Ranking, branch: str | None, top: int | None) -> Ranking:
    """The ranking with sections of `branch` weighed 1.5 times, cut to the best `top`."""
    ranked = list(ranking.ranked)
    if branch is not None:
        ranked = [
            one._replace(score=one.score * BOOST) if one.note.branch == branch else one
            for one in ranked
        ]
        ranked.sort(key=lambda one: -one.score)  # stable: ties keep their order
    return replace(ranking, ranked=tuple(ranked[:top]))
