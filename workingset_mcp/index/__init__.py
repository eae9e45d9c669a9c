"""The index of a vault: its two protocols, the values they take, and the default engine."""

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

open_engine = SqliteEngine  # takes a folder, or None for an index in memory
open_stemmer = SqliteStemmer
