"""Time any MCP server over stdio with the official SDK's client, in a chosen protocol era.

    python bench/driver.py --tool search_notes --arguments '{"query": "renewal"}' \
        --era both --calls 200 --starts 5 -- python -m workingset_mcp serve --vault DIR

With `--needles FILE`, `{query}`, `{question}` and `{path}` in the arguments take the values of one
needle after another. Prints milliseconds from the start to the handshake, to the tool list and to the
first answer (medians over `--starts`), and p50, p99 and the maximum of `--calls` calls. Not here: the
comparisons (`serving`).
"""

import argparse
import json
import math
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import anyio
from mcp.client import Client
from mcp.client.client import ConnectMode
from mcp.client.stdio import StdioServerParameters

ERAS: dict[str, ConnectMode] = {"handshake": "legacy", "sessionless": "auto"}
WARM_UP_CALLS = 20

Arguments = Mapping[str, Any]


class Call(NamedTuple):
    """An answer and how long it took."""

    milliseconds: float
    text: str


class Start(NamedTuple):
    """Milliseconds from the start of a process to its first answers."""

    connected: float
    listed: float
    answered: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles of call times, in milliseconds."""

    calls: int
    p50: float
    p99: float
    most: float


@asynccontextmanager
async def connected(command: Sequence[str], era: str) -> AsyncIterator[Client]:
    """A client of a server started for it; the server stops at the end of the block."""
    server = StdioServerParameters(command=command[0], args=list(command[1:]))
    async with Client(server, mode=ERAS[era]) as client:
        yield client


async def call(client: Client, tool: str, arguments: Arguments) -> Call:
    """Call a tool and time it. Raises RuntimeError if the tool refuses."""
    started = time.perf_counter()
    result = await client.call_tool(tool, dict(arguments))
    took = (time.perf_counter() - started) * 1e3
    text = "".join(getattr(block, "text", "") for block in result.content)
    if result.is_error:
        raise RuntimeError(f"{tool}({json.dumps(dict(arguments), ensure_ascii=False)}): {text}")
    return Call(took, text)


async def start_once(command: Sequence[str], era: str, tool: str, arguments: Arguments) -> Start:
    """Start a server and wait for its first answers."""
    started = time.perf_counter()
    async with connected(command, era) as client:
        at_connected = time.perf_counter()
        await client.list_tools()
        at_listed = time.perf_counter()
        await call(client, tool, arguments)
        at_answered = time.perf_counter()
    return Start(*((at - started) * 1e3 for at in (at_connected, at_listed, at_answered)))


def spread(milliseconds: Sequence[float]) -> Spread:
    """Percentiles by nearest rank."""
    ordered = sorted(milliseconds)

    def at(share: float) -> float:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    return Spread(len(ordered), at(0.5), at(0.99), ordered[-1])


def read_needles(path: Path) -> list[dict[str, Any]]:
    """The facts that `make_vault` planted."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def filled(arguments: Arguments, needles: Sequence[Mapping[str, Any]]) -> Iterator[Arguments]:
    """Yield arguments for one call after another, forever."""
    for needle in cycle(needles or [{}]):
        values = {f"{{{name}}}": str(value) for name, value in needle.items()}
        yield {
            key: values.get(value, value) if isinstance(value, str) else value
            for key, value in arguments.items()
        }


async def measure(
    command: Sequence[str], era: str, tool: str, asked: Iterator[Arguments], *,
    calls: int, starts: int,
) -> None:  # fmt: skip
    """Print the times a server takes to start and to answer."""
    runs = [await start_once(command, era, tool, next(asked)) for _ in range(starts)]
    if runs:
        names = ("connected", "tools listed", "first answer")
        medians = (median(times) for times in zip(*runs, strict=True))
        told = ", ".join(f"{name} {ms:.0f} ms" for name, ms in zip(names, medians, strict=True))
        print(f"{era}: start to {told} (median of {starts})")
    async with connected(command, era) as client:
        for _ in range(WARM_UP_CALLS):
            await call(client, tool, next(asked))
        made = [await call(client, tool, next(asked)) for _ in range(calls)]
        found = spread([one.milliseconds for one in made])
        print(
            f"{era} ({client.protocol_version}): {found.calls} calls, p50 {found.p50:.2f} ms,"
            f" p99 {found.p99:.2f} ms, longest {found.most:.2f} ms,"
            f" {median(len(one.text.encode()) for one in made):,.0f} bytes an answer"
        )


def main() -> None:
    """Time a server."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--era", choices=(*ERAS, "both"), default="both")
    parser.add_argument("--tool", required=True)
    parser.add_argument("--arguments", type=json.loads, default={}, metavar="JSON")
    parser.add_argument("--needles", type=Path, help="fills {query}, {question}, {path}")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("command", nargs="+", help="the server's command, after --")
    chosen = parser.parse_args()
    needles = read_needles(chosen.needles) if chosen.needles else []
    for era in ERAS if chosen.era == "both" else (chosen.era,):
        asked = filled(chosen.arguments, needles)

        async def run(era: str = era, asked: Iterator[Arguments] = asked) -> None:
            await measure(
                chosen.command, era, chosen.tool, asked, calls=chosen.calls, starts=chosen.starts
            )

        anyio.run(run)


if __name__ == "__main__":
    main()
