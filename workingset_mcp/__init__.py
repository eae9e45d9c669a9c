"""A working set of your notes for agents, served over MCP.

Which file answers which question, from the edge down (imports point down only):

    cli, demo        commands for people and scripts
    server, tools/   the MCP edge: what agents see; the only code that imports `mcp`
    workspace        the one door: an opened vault with its index; every answer starts here
    freshness        index against disk: plan, refresh, follow
    search/          words into a query, ranking, packing under a budget
    brief/           what a branch's brief holds, and fitting it
    history          full context in lossless pages
    index/           the SQLite FTS5 engine and the values it hands out
    vault            the folder: walk, ignore rules, branches, safe paths
    note             one file, read: built on markdown, items, front_matter
    answer, budget   headers, boundaries, tokens
    dates, words     date forms; word lists
    settings, errors
"""

from workingset_mcp.errors import WorkingsetError
from workingset_mcp.settings import Settings, load_settings

__version__ = "0.1.0"
__all__ = ["Settings", "WorkingsetError", "load_settings"]
