from workingset_mcp.cli.main import main

main()
