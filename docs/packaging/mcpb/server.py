"""Start the server that the bundle's pyproject.toml installs."""

from workingset_mcp.cli.main import main

main()
