"""The baseline: a server on the same SDK with one tool that returns a constant text.

    python bench/empty_server.py [--bytes 8000]

Whatever a real server takes beyond this is its own cost. The tool is a plain function like ours, so
both pay for a worker thread. `answer_bytes` lets a driver ask for as much text as the real answer
has.
"""

import argparse

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

LINE = "- a constant line of text, as long as the lines of notes often are, more or less\n"


def build_server(default_bytes: int) -> MCPServer:
    """Build a server whose only tool returns this many bytes of text."""
    server = MCPServer("empty", version="0", log_level="WARNING")
    text = LINE * (1_000_000 // len(LINE))

    @server.tool(
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        structured_output=False,
    )
    def answer(query: str = "", answer_bytes: int = default_bytes) -> str:
        """Return a constant text."""
        return text[:answer_bytes]

    return server


def main() -> None:
    """Serve over stdin and stdout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bytes", type=int, default=8_000, help="bytes of an answer (8000)")
    build_server(parser.parse_args().bytes).run()


if __name__ == "__main__":
    main()
