"""The command line: commands for people and scripts, hooks, the linter."""
