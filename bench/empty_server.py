"""The floor: a server of the same SDK with one tool that returns a constant text.

    python bench/empty_server.py [--bytes 8000]

What a real server takes beyond this is its own. The tool is a plain function like ours, so that
both pay for a worker thread; `answer_bytes` lets a driver ask for as much text as the real answer
had.
"""

import argparse

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

LINE = "- a constant line of text, as long as the lines of notes often are, more or less\n"


def build_server(default_bytes: int) -> MCPServer:
    """A server whose only tool returns so many bytes of text."""
    server = MCPServer("empty", version="0", log_level="WARNING")
    text = LINE * (1_000_000 // len(LINE))

    @server.tool(
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        structured_output=False,
    )
    def answer(query: str = "", answer_bytes: int = default_bytes) -> str:
        """Return a constant text, whatever is asked."""
        return text[:answer_bytes]

    return server


def main() -> None:
    """Serve over stdin and stdout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bytes", type=int, default=8_000, help="bytes of an answer (8000)")
    build_server(parser.parse_args().bytes).run()


if __name__ == "__main__":
    main()
