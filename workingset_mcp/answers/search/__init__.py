"""Search: parse a query (`query`), find sections (`hits`), rank them (`rank`), pack passages (`pack`)."""

from workingset_mcp.answers.search.pack import Passage, pack
from workingset_mcp.answers.search.query import Concept, Query, parse_query
from workingset_mcp.answers.search.rank import Ranking, boost_and_cut, rank

__all__ = [
    "Concept", "Passage", "Query", "Ranking", "boost_and_cut", "pack", "parse_query", "rank",
]  # fmt: skip
