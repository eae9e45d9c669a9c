"""The commands, one module for each purpose."""
