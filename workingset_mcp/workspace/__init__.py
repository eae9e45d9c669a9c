"""The facade: composes an answer, checks its scope against the disk, and returns it."""
