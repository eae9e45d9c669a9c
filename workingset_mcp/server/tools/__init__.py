"""The tools that agents see, in listed order. To add a tool, add one file and one entry here."""

from workingset_mcp.server.tools._declare import Declared, declare
from workingset_mcp.server.tools.get_brief import GET_BRIEF
from workingset_mcp.server.tools.list_items import LIST_ITEMS
from workingset_mcp.server.tools.open_source_file import OPEN_SOURCE_FILE
from workingset_mcp.server.tools.query_full_context import QUERY_FULL_CONTEXT
from workingset_mcp.server.tools.search_notes import SEARCH_NOTES

TOOLS: tuple[Declared, ...] = (
    GET_BRIEF,
    SEARCH_NOTES,
    OPEN_SOURCE_FILE,
    QUERY_FULL_CONTEXT,
    LIST_ITEMS,
)

__all__ = ["TOOLS", "Declared", "declare"]
