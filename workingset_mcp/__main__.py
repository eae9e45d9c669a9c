from workingset_mcp.cli import main

main()
