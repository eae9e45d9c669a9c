"""MCP: the tools, resources and prompts that clients see, over stdio and HTTP."""
