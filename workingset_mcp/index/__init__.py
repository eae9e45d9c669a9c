"""The index of a vault: rows and the engine that keeps them."""

from workingset_mcp.index.known import KnownFiles
from workingset_mcp.index.location import index_folder
from workingset_mcp.index.snapshot import Snapshot
from workingset_mcp.index.sqlite import Index
from workingset_mcp.index.stemmer import Stemmer

__all__ = ["Index", "KnownFiles", "Snapshot", "Stemmer", "index_folder"]
