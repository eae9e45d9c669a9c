"""The tool reference as it must stand in the documents; run as a script it writes it."""

import json
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
FILE = PROJECT / "docs/tools.md"
SNAPSHOT = PROJECT / "tests/snapshots/tools.json"
HEAD = """\
# Tools

What `tools/list` tells a client: the same words, generated from the code. Every argument that is not marked
as needed may be left out. Answers are plain text; their first line is the server's and counts the whole answer.
"""


def reference() -> str:
    """The page, from the snapshot that a test holds equal to what the server lists."""
    tools: list[dict[str, Any]] = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    return HEAD + "".join(map(_tool, tools))


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
