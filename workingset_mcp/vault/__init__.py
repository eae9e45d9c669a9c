"""The folder of notes on disk: what it leaves out, safe file access, and its git history."""
