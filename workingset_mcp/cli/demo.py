"""Run a real client against the example vault, to show what an agent sees, with token counts."""

import shutil
import sys
import tempfile
from pathlib import Path

import anyio
import click
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.cli.terminal import say

CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("get_brief", {}),
    ("get_brief", {"branch": "acme", "budget": 2_000}),
    (
        "search_notes",
        {"query": "What is the customer ID of Acme?", "also": ["account number"], "budget": 400},
    ),
    ("open_source_file", {"path": "cust/acme/context/index.md", "heading": "STATUS (2026-06-16)"}),
    ("query_full_context", {"branch": "acme", "budget": 700}),
)
_SHOWN_LINES = 45


def run_demo() -> None:
    """Serve a temporary copy of the example vault, call every tool, and print the answers."""
    with tempfile.TemporaryDirectory(prefix="workingset-demo-") as folder:
        vault = Path(folder) / "vault"
        shutil.copytree(example_vault(), vault)
        anyio.run(_call_everything, vault, Path(folder) / "index")


def example_vault() -> Path:
    """Return the folder of the example vault: beside the package in a checkout, inside it in a wheel."""
    package = Path(__file__).parents[1]
    inside = package / "example_vault"
    return inside if inside.is_dir() else package.parent / "fixtures" / "vault"


def _tokens_of(vault: Path) -> int:
    return sum(count_tokens(note.read_text(encoding="utf-8")) for note in vault.rglob("*.md"))


async def _call_everything(vault: Path, index_dir: Path) -> None:
    whole = await anyio.to_thread.run_sync(_tokens_of, vault)
    say(f"A vault of {whole:,} tokens, served over stdio by `workingset-mcp serve`.\n")
    server = StdioServerParameters(
        command=sys.executable,
        args=[
            "-m",
            "workingset_mcp",
            "serve",
            "--vault",
            str(vault),
            "--index-dir",
            str(index_dir),
        ],
    )
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        say(f"Tools: {', '.join(tool.name for tool in tools)}\n")
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            text = "".join(getattr(block, "text", "") for block in result.content)
            call = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            click.secho(f">>> {name}({call})", bold=True)
            lines = text.rstrip().split("\n")
            say("\n".join(lines[:_SHOWN_LINES]))
            if len(lines) > _SHOWN_LINES:
                say(f"    … {len(lines) - _SHOWN_LINES} more lines")
            say(f"--- {count_tokens(text):,} tokens\n")
