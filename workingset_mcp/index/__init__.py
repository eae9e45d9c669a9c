"""The index of a vault: rows and the engine that keeps them."""

from workingset_mcp.index.known import KnownFiles
from workingset_mcp.index.sqlite.engine import Index
from workingset_mcp.index.sqlite.location import index_folder
from workingset_mcp.index.sqlite.snapshot import Snapshot
from workingset_mcp.index.sqlite.stemmer import Stemmer
from workingset_mcp.index.sqlite.within import Within

__all__ = ["Index", "KnownFiles", "Snapshot", "Stemmer", "Within", "index_folder"]
