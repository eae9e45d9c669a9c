"""The index of a vault: two protocols, what is asked of them, and the engine that is opened by default."""

from workingset_mcp.index.engine import Engine, Stemmer, View
from workingset_mcp.index.known import KnownFiles
from workingset_mcp.index.query import Scope
from workingset_mcp.index.sqlite.engine import SqliteEngine
from workingset_mcp.index.sqlite.location import index_folder, is_index
from workingset_mcp.index.sqlite.stemmer import SqliteStemmer

__all__ = [
    "Engine", "KnownFiles", "Scope", "Stemmer", "View", "index_folder", "is_index", "open_engine",
    "open_stemmer",
]  # fmt: skip

open_engine = SqliteEngine  # of a folder; None: in memory
open_stemmer = SqliteStemmer
