"""The SQLite FTS5 engine: all SQL, all FTS5 text, and the care of its file."""
