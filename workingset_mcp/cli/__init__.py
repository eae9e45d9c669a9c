"""The command line: commands for people and scripts, hooks, and the linter."""
