"""The SQLite FTS5 engine: all SQL and FTS5 text, and the management of its file."""
