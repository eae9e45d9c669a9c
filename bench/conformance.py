"""Run the protocol's conformance suite against this server over HTTP, scenario by scenario.

    python bench/conformance.py --suite "node .../conformance/dist/index.js" --vault DIR

`--suite` is the command of the npm package `@modelcontextprotocol/conformance` (0.2, which covers both
revisions). Each scenario runs against `workingset-mcp serve --http`. If it fails, it runs again on a
server from the same factory that also has the tools and prompts the suite asks for by name. The
remaining failures use parts of the protocol that this server does not offer, listed in `NOT_OFFERED`.
Exits with 1 if anything else fails.
"""

import argparse
import base64
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import uvicorn
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    ClientCapabilities,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    SamplingCapability,
    TextContent,
    TextResourceContents,
)

from workingset_mcp.server.http import http_app
from workingset_mcp.server.server import build_server
from workingset_mcp.workspace.facade import Workspace

REVISIONS = ("2025-11-25", "2026-07-28")
PLAIN_PORT, FURNISHED_PORT = 18_421, 18_422
NOT_OFFERED = (  # part of a scenario's name: why it does not apply
    ("input-required", "asks the user or their model in the middle of a call; no tool of ours does"),
    ("elicitation", "asks the user in the middle of a call; no tool of ours does"),
    ("sampling", "asks the client's model; no model is called"),
    ("logging", "protocol logging is deprecated; logs go to stderr"),
    ("sse-polling", "closes a stream in the middle of a call; ours answer at once"),
    ("http-custom-header", "mirrors arguments into headers; no tool of ours asks for it"),
    ("json-schema", "a schema of the suite, kept by the SDK as any tool gives it"),
    ("tasks-", "an extension"), ("sep-2640", "an extension"),
)  # fmt: skip
SUMMARY = re.compile(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
IMAGE = ImageContent(type="image", data=PIXEL, mime_type="image/png")


def furnish(server: MCPServer[Workspace]) -> None:
    """Add the fixtures that the suite calls by name, if this server offers their kind."""
    _furnish_tools(server)
    _furnish_resources(server)
    _furnish_prompts(server)


def _embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    held = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=held)


def _furnish_tools(server: MCPServer[Workspace]) -> None:
    mixed = _embedded("test://mixed-content-resource", '{"test":"data"}', "application/json")
    contents: dict[str, list[ContentBlock]] = {
        "test_simple_text": [_text("This is a simple text response for testing.")],
        "test_image_content": [IMAGE],
        "test_audio_content": [AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")],
        "test_embedded_resource": [
            _embedded("test://embedded-resource", "This is an embedded resource content.")
        ],
        "test_multiple_content_types": [_text("Multiple content types test:"), IMAGE, mixed],
    }
    for name, content in contents.items():
        server.add_tool(_always(content), name=name, description="A fixture of the suite")

    @server.tool()
    def test_error_handling() -> str:
        """A fixture of the suite."""
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool()
    async def test_tool_with_progress(ctx: Context[Workspace]) -> str:
        """A fixture of the suite."""
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100)
            await anyio.sleep(0.05)
        return "done"

    @server.tool()
    def test_missing_capability(ctx: Context[Workspace]) -> str:
        """A fixture of the suite."""
        needed = ClientCapabilities(sampling=SamplingCapability())
        if not ctx.session.check_client_capability(needed):
            data = {"requiredCapabilities": needed.model_dump(by_alias=True, exclude_none=True)}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed", data)
        return "fine"


def _furnish_resources(server: MCPServer[Workspace]) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PIXEL)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def from_template(id: str) -> str:
        return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


def _furnish_prompts(server: MCPServer[Workspace]) -> None:
    @server.prompt()
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
        held = _embedded(resourceUri, "Embedded resource content for testing.")
        return [UserMessage(held), UserMessage("Please process the embedded resource above.")]

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(IMAGE), UserMessage("Please analyze the image above.")]


def _always(content: list[ContentBlock]) -> Callable[[], CallToolResult]:
    def fixed() -> CallToolResult:
        return CallToolResult(content=content)

    return fixed


def _text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def serve_furnished(vault: Path) -> None:
    """Serve the factory's server with the fixtures until it is stopped."""
    server = build_server(Workspace(vault, in_memory=True))
    furnish(server)
    app = http_app(server, "127.0.0.1", None)
    uvicorn.run(app, host="127.0.0.1", port=FURNISHED_PORT, log_level="warning", access_log=False)


@contextmanager
def running(command: list[str], port: int) -> Iterator[str]:
    """Start a server process, wait until it answers, and return its address."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        while True:
            try:
                httpx2.get(f"http://127.0.0.1:{port}/health").raise_for_status()
                break
            except httpx2.TransportError:
                if process.poll() is not None:
                    sys.exit("the server does not start")
                time.sleep(0.1)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def outcomes(suite: list[str], url: str, revision: str) -> dict[str, tuple[int, int]]:
    """Count passed and failed checks by scenario."""
    words = [*suite, "server", "--url", url, "--suite", "all", "--spec-version", revision]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=600, check=False)
    found = SUMMARY.findall(done.stdout)
    return {name: (int(passed), int(failed)) for name, passed, failed in found}


def judged(name: str, plain: tuple[int, int], furnished: tuple[int, int]) -> str:
    """The verdict on a scenario, and why it does not apply."""
    if not plain[1]:
        return f"pass ({plain[0]} checks)"
    if not furnished[1]:
        return f"pass with the suite's fixtures ({furnished[0]} checks)"
    reason = next((why for part, why in NOT_OFFERED if part in name), "")
    return f"not applicable: {reason}" if reason else f"FAIL ({furnished[1]} checks)"


def main() -> None:
    """Run the suite in both revisions and print one line per scenario."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vault", type=Path, required=True)
    parser.add_argument("--suite", help="the suite's command")
    given = parser.parse_args()
    if not given.suite:
        serve_furnished(given.vault)
        return
    suite = shlex.split(given.suite)
    at = ["--vault", str(given.vault)]
    serve = [sys.executable, "-m", "workingset_mcp", "serve", *at]
    plain_command = [*serve, "--http", f"127.0.0.1:{PLAIN_PORT}"]
    furnished_command = [sys.executable, __file__, *at]
    failed = False
    with (
        running(plain_command, PLAIN_PORT) as plain_url,
        running(furnished_command, FURNISHED_PORT) as furnished_url,
    ):
        for revision in REVISIONS:
            plain = outcomes(suite, plain_url, revision)
            furnished = outcomes(suite, furnished_url, revision)
            print(f"\n{revision}: {len(plain)} scenarios")
            for name, found in plain.items():
                said = judged(name, found, furnished[name])
                failed |= said.startswith("FAIL")
                print(f"  {name:<48}{said}", flush=True)
            failed |= not plain
    sys.exit(failed)


if __name__ == "__main__":
    main()
