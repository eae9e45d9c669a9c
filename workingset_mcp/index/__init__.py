"""The index of a vault: rows and the engine that keeps them."""

from workingset_mcp.index.snapshot import Snapshot
from workingset_mcp.index.sqlite import Index, Stemmer, index_folder

__all__ = ["Index", "Snapshot", "Stemmer", "index_folder"]
