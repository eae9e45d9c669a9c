"""Make the tool reference and the tool lists of the client pages; as a script, write them."""

import json
import re
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
FILE = PROJECT / "docs/tools.md"
SNAPSHOT = PROJECT / "tests/snapshots/tools.json"
PAGES_WITH_TITLES = tuple(
    PROJECT / f"docs/clients/{client}.md" for client in ("claude-desktop", "cursor", "vscode")
)
HEAD = """\
# Tools

This is what `tools/list` tells a client, generated from the code. Arguments are optional unless marked as needed.
Answers are plain text. The first line is the server's and states the cost of the whole answer.
"""


def reference() -> str:
    """Make the page from the snapshot, which a test compares with the server's list."""
    return HEAD + "".join(map(_tool, _tools()))


def with_titles(page: str) -> str:
    """Put the names and titles of the tools into the list of a client page."""
    listed = "".join(f"{tool['name']:<21}{tool['title']}\n" for tool in _tools())
    return re.sub(r"(?<=^```text\n)get_brief .*?(?=^```$)", listed, page, flags=re.M | re.S)


def _tools() -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    return tools


def _tool(tool: dict[str, Any]) -> str:
    schema = tool["inputSchema"]
    needed = schema.get("required", [])
    rows = [
        f"| `{name}`{' (needed)' if name in needed else ''} | {_type(field)} |"
        f" {field.get('description', '').replace('|', chr(92) + '|')} |\n"
        for name, field in schema["properties"].items()
    ]
    table = "| argument | type | meaning |\n|---|---|---|\n" + "".join(rows)
    return f"\n## {tool['name']}\n\n{tool['description']}\n\n{table}"


def _type(field: dict[str, Any]) -> str:
    if "enum" in field:
        return "one of " + ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {field['items'].get('type', 'any')}"
    return str(field.get("type", "any"))


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
    for file in PAGES_WITH_TITLES:
        file.write_text(with_titles(file.read_text(encoding="utf-8")), encoding="utf-8")
