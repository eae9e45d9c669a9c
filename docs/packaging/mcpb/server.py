"""Start the server that the bundle's pyproject.toml installs."""

from workingset_mcp.cli import main

main()
