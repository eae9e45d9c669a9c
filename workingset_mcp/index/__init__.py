"""The index of a vault: rows and the engine that keeps them."""

from workingset_mcp.index.known import KnownFiles
from workingset_mcp.index.location import index_folder
from workingset_mcp.index.snapshot import Snapshot
from workingset_mcp.index.sqlite import Index
from workingset_mcp.index.stemmer import Stemmer
from workingset_mcp.index.within import Within

__all__ = ["Index", "KnownFiles", "Snapshot", "Stemmer", "Within", "index_folder"]
