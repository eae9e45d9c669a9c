"""Record all answers over whole vaults, and compare two recordings.

    python bench/record_answers.py record OUT.json VAULT... [--python PYTHON]
    python bench/record_answers.py compare BEFORE.json AFTER.json [--show 5]

A recording contains the answers of all five tools over stdio, the prompts, resources and tool list, the
output of every command that prints an answer, and the hooks of every client. Calls are derived from the
vault alone, so two versions of the product get the same calls. The day is fixed and each vault is copied,
so only the product's own output can differ. `--python` is the interpreter that runs the product.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

import anyio
from driver import ERAS
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

TODAY = "2026-06-16"
KINDS = (
    "open", "in_progress", "done", "cancelled", "decision", "owner", "due", "blocker", "action", "fact",
    "status", "note", "remark",
)  # fmt: skip
GROUPS = ("branch", "folder", "owner", "kind", "year", "month", "path")
HOOK_CLIENTS = ("claude", "codex", "gemini", "copilot", "cursor", "vscode")
CURSOR = re.compile(r'cursor="([^"]+)"')


def main() -> None:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    record = verbs.add_parser("record")
    record.add_argument("out", type=Path)
    record.add_argument("vaults", type=Path, nargs="+")
    record.add_argument("--python", default=sys.executable)
    compare = verbs.add_parser("compare")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.add_argument("--show", type=int, default=5, help="differing answers to print in full")
    chosen = parser.parse_args()
    if chosen.verb == "compare":
        sys.exit(print_differences(chosen.before, chosen.after, chosen.show))
    answers: dict[str, str] = {}
    for vault in chosen.vaults:
        answers |= answers_of(vault.resolve(), chosen.python)
        print(f"{vault.name}: {len(answers):,} answers so far", flush=True)
    chosen.out.write_text(json.dumps(answers, ensure_ascii=False, indent=0), encoding="utf-8")


def answers_of(source: Path, python: str) -> dict[str, str]:
    """Return every answer over a copy of one vault, by call."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        vault = place / source.name
        shutil.copytree(source, vault)
        commit(vault)
        command = [python, "-m", "workingset_mcp"]
        environment = {
            "PATH": os.environ["PATH"], "HOME": folder, "WORKINGSET_TODAY": TODAY,
            "WORKINGSET_INDEX_DIR": str(place / "index"), "WORKINGSET_VAULT": str(vault),
        }  # fmt: skip
        subprocess.run([*command, "index"], env=environment, check=True, capture_output=True)
        paths = sorted(p.relative_to(vault).as_posix() for p in vault.rglob("*.md"))
        paths = [
            path for path in paths if not any(part.startswith(".") for part in path.split("/"))
        ]
        branches = spread([name for name in branches_of(command, environment) if name], 10)
        made = {
            **printed_by_commands(command, environment, vault, branches, paths),
            **anyio.run(said_over_stdio, command, environment, vault, branches, paths),
        }
        programs = str(Path(python).parent)
        return {
            f"{source.name}: {call}": text.replace(folder, "<folder>").replace(
                programs, "<programs>"
            )
            for call, text in made.items()
        }


def commit(vault: Path) -> None:
    """Make the copy a git repository with one commit on a fixed day, for `as_of`."""
    day = {"GIT_AUTHOR_DATE": "2026-06-01T12:00:00Z", "GIT_COMMITTER_DATE": "2026-06-01T12:00:00Z"}
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for arguments in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "all"]):
        environment = {**os.environ, **day}
        subprocess.run(["git", *who, *arguments], cwd=vault, env=environment, check=True)


def branches_of(command: list[str], environment: Mapping[str, str]) -> list[str]:
    """Return every branch that `measure --json` lists."""
    done = subprocess.run(
        [*command, "measure", "--json"], env=environment, check=True, capture_output=True
    )
    return [row["branch"] for row in json.loads(done.stdout)["data"]["branches"]]


def spread(values: list[str], most: int) -> list[str]:
    """Pick at most this many values, evenly spread."""
    step = max(1, len(values) // most)
    return values[::step][:most]


def words_of(vault: Path, path: str) -> str:
    """Make a query from words in the first lines of a note."""
    text = (vault / path).read_text(encoding="utf-8", errors="replace")
    words = re.findall(r"\w{4,}", text[:4_000])
    return " ".join(words[5:60:9][:6]) or Path(path).stem


def calls_for(
    vault: Path, branches: list[str], paths: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the calls of all five tools."""
    yield "get_brief", {}
    for branch in branches:
        yield "get_brief", {"branch": branch}
        yield "get_brief", {"branch": branch, "budget": 1500}
    yield "get_brief", {"branch": branches[0], "budget": 400}
    yield "get_brief", {"branch": "no/such"}
    for path in spread(paths, 12):
        query = words_of(vault, path)
        yield "search_notes", {"query": query}
        yield "search_notes", {"query": query, "budget": 600, "also": ["budget", "meeting"]}
        yield "open_source_file", {"path": path, "budget": 1500}
    some = words_of(vault, paths[len(paths) // 2])
    yield "search_notes", {"query": some, "branch": branches[-1]}
    yield "search_notes", {"query": some, "since": "2023", "until": "2025-06"}
    yield "search_notes", {"query": "quinquennial xylophone"}
    yield "open_source_file", {"path": paths[0], "lines": "1-5"}
    yield "open_source_file", {"path": f"{paths[-1]}:1-3,5"}
    yield "open_source_file", {"path": paths[0], "heading": "no such heading"}
    yield "open_source_file", {"path": "no/such.md"}
    for kind in KINDS:
        yield "list_items", {"kind": kind, "budget": 1000}
    for group in GROUPS:
        yield "list_items", {"kind": "open", "group_by": group}
        yield "list_items", {"kind": "note", "group_by": group, "branch": branches[0]}
    yield "list_items", {"kind": "note", "since": "2024-03", "until": "2024"}
    yield "list_items", {"kind": "open", "text": "review", "owner": "mira"}
    yield "list_items", {"kind": "open", "due_before": "2026-07-01"}
    yield "query_full_context", {}
    for branch in spread(branches, 4):
        yield "query_full_context", {"branch": branch, "budget": 3000}
        yield "query_full_context", {"branch": branch, "query": "meeting", "budget": 3000}
        yield "query_full_context", {"branch": branch, "since": "2024-01", "until": "2025-02"}
    yield "query_full_context", {"branch": branches[0], "as_of": "2026-06-02", "budget": 3000}
    yield "query_full_context", {"branch": branches[0], "as_of": "2020-01-01"}
    yield "query_full_context", {"branch": branches[0], "since": "undated"}


async def said_over_stdio(
    command: list[str], environment: dict[str, str], vault: Path, branches: list[str],
    paths: list[str],
) -> dict[str, str]:  # fmt: skip
    """Return what a client sees: tools, their answers and second pages, prompts, resources."""
    found: dict[str, str] = {}
    server = StdioServerParameters(
        command=command[0], args=[*command[1:], "serve"], env=environment
    )
    async with Client(server, mode=ERAS["sessionless"]) as client:
        listed = await client.list_tools()
        found["tools/list"] = json.dumps([tool.model_dump(mode="json") for tool in listed.tools])
        for tool, arguments in calls_for(vault, branches, paths):
            text = await answer(client, tool, arguments)
            found[f"{tool} {json.dumps(arguments, ensure_ascii=False)}"] = text
            following = CURSOR.search(text)
            if tool == "query_full_context" and following:
                arguments = {**arguments, "cursor": following[1]}
                found[f"{tool} {json.dumps(arguments, ensure_ascii=False)}"] = await answer(
                    client, tool, arguments
                )
        resources = await client.list_resources()
        found["resources/list"] = json.dumps([str(one.uri) for one in resources.resources])
        for branch in branches[:3]:
            read = await client.read_resource(f"workingset://brief/{branch}")
            found[f"resource brief {branch}"] = str(getattr(read.contents[0], "text", ""))
            prompt = await client.get_prompt("load_branch", {"branch": branch})
            found[f"prompt load_branch {branch}"] = prompt.model_dump_json()
            asked = {"branch": branch, "question": words_of(vault, paths[0])}
            prompt = await client.get_prompt("ask", asked)
            found[f"prompt ask {branch}"] = prompt.model_dump_json()
    return found


async def answer(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    """Return the text of one answer, or of the refusal."""
    result = await client.call_tool(tool, arguments)
    text = "".join(getattr(block, "text", "") for block in result.content)
    return f"refused: {text}" if result.is_error else text


def printed_by_commands(
    command: list[str], environment: dict[str, str], vault: Path, branches: list[str],
    paths: list[str],
) -> dict[str, str]:  # fmt: skip
    """Return what commands and hooks print to both streams, with their exit codes."""
    query, branch = words_of(vault, paths[0]), branches[0]
    calls = [
        ["brief"], ["brief", branch], ["brief", branch, "--json"], ["brief", "no/such"],
        ["brief", branch, "--budget", "800"], ["search", query], ["search", query, "--json"],
        ["search", query, "--boost", branch, "--top", "3"], ["search", "quinquennial xylophone"],
        ["open", paths[0], "--lines", "1-4"], ["open", paths[0], "--json"], ["open", "no/such.md"],
        ["full", branch, "--budget", "2000"], ["full", branch, "--since", "2090"],
        ["items", "--kind", "open"], ["items", "--kind", "open", "--json"],
        ["items", "--kind", "due", "--owner", "nobody at all"], ["items", "--kind", "nonsense"],
        ["status"], ["status", "--json"], ["check"], ["check", "--json"], ["measure"],
        ["measure", "--json", "--overhead-tokens", "9000"], ["install", "codex", "--hooks"],
    ]  # fmt: skip
    found = {}
    for arguments in calls:
        found[" ".join(arguments)] = printed([*command, *arguments], environment, "")
    for client in HOOK_CLIENTS:
        for name in (branch, ""):
            payload = json.dumps({"cwd": str(vault / name), "source": "startup"})
            line = ["hook", "session-start", "--client", client]
            key = f"{' '.join(line)} in {name or 'the root'}"
            found[key] = printed([*command, *line], environment, payload)
    line = ["hook", "pre-compact", "--branch", branch]
    found[" ".join(line)] = printed([*command, *line], environment, "{}")
    return found


def printed(line: list[str], environment: dict[str, str], given: str) -> str:
    """Return both streams and the exit code of one command."""
    done = subprocess.run(
        line, env=environment, check=False, capture_output=True, text=True, input=given,
        encoding="utf-8",
    )  # fmt: skip
    return f"exit {done.returncode}\n{done.stdout}\n--- stderr\n{done.stderr}"


def print_differences(before: Path, after: Path, most: int) -> int:
    """Print which answers differ, some of them in full; return 1 if any does."""
    old = json.loads(before.read_text(encoding="utf-8"))
    new = json.loads(after.read_text(encoding="utf-8"))
    differing = [call for call in old if old[call] != new.get(call)]
    print(f"{len(old):,} answers, {len(differing):,} differ, {len(new.keys() - old.keys()):,} new")
    for number, call in enumerate(differing):
        print(f"- {call}")
        if number < most:
            lines = unified_diff(
                old[call].split("\n"), new.get(call, "").split("\n"), lineterm="", n=1
            )
            print("\n".join(f"    {line[:300]}" for line in list(lines)[:30]))
    return int(bool(differing))


if __name__ == "__main__":
    main()
