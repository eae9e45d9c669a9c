"""A working set of your notes for agents, served over MCP.

The packages, from the edge down (imports point down only):

    cli/                  commands for people and scripts, and the hooks of clients
    server/               tools, resources and prompts over MCP; only this and `cli/demo.py` import `mcp`
    workspace/            an open vault and its index: composes every answer and checks it
    answers/              briefs, searches, lists, source text and full context, each within a budget
    sync/                 keeps the index in step with the disk: plan, refresh, follow
    index/                the protocols `Engine` and `View`, and the SQLite FTS5 engine behind them
    vault/                the folder: walk, ignore rules, branches, safe paths, git history
    notes/                the text of one file, parsed: markdown, items, dates, front matter
    settings.py           every choice a person can make, as one value
    errors.py, caller.py  the error tree; whether the caller still waits
"""

from workingset_mcp.errors import WorkingsetError
from workingset_mcp.settings import Settings, load_settings

__version__ = "0.1.0"
__all__ = ["Settings", "WorkingsetError", "load_settings"]
