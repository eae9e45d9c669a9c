"""Many agents on one server over HTTP: calls, errors, latency, and the server's memory.

    python bench/many_agents.py --vault DIR [--clients 200] [--seconds 60] [--pause 5]

Each agent has its own connection; every second one uses the older protocol era. It calls the five tools
in turn, with `--pause` seconds between calls (0: as fast as possible), and reconnects after
`CALLS_A_SESSION` calls, so that anything a session leaks would show. Agents write the protocol by hand,
because 200 SDK clients would use more CPU than the server. Memory is the server's resident set, sampled
ten times during the run. Linux only.
"""

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
from driver import spread

SHARED = "a long random text"  # shared by this server and its clients
CALLS_A_SESSION = 20
ERAS = ("2025-11-25", "2026-07-28")
CLIENT = {"name": "many agents", "version": "1"}
META = {"protocolVersion": ERAS[1], "clientInfo": CLIENT, "clientCapabilities": {}}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_brief", {"budget": 800}),
    ("search_notes", {"query": "contract renewal", "also": ["prolongation"]}),
    ("list_items", {"kind": "open", "group_by": "branch", "budget": 600}),
    ("query_full_context", {"since": "2026-06-01", "budget": 1_000}),
    ("open_source_file", {}),
)


@dataclass
class Run:
    """Results of all agents."""

    port: int
    note: str
    pause: float
    ends: float
    milliseconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    sessions: int = 0


async def agent(run: Run, number: int) -> None:
    """Run one agent after another until the run ends."""
    await anyio.sleep(random.random() * run.pause)
    while time.monotonic() < run.ends:
        try:
            await session(run, number)
        except Exception as error:  # noqa: BLE001  # the next agent starts whatever ends a session; each kind is counted
            run.errors[f"session: {type(error).__name__} {error}"] += 1


async def session(run: Run, number: int) -> None:
    """Connect, make the calls, disconnect."""
    reading, writing = await asyncio.open_connection("127.0.0.1", run.port)
    line = Line(reading, writing, ERAS[number % 2])
    try:
        await line.meet()
        run.sessions += 1
        for at in range(CALLS_A_SESSION):
            if time.monotonic() >= run.ends:
                break
            tool, arguments = CALLS[(number + at) % len(CALLS)]
            arguments = arguments or {"path": run.note}
            started = time.perf_counter()
            said = await line.call("tools/call", {"name": tool, "arguments": arguments}, tool)
            run.milliseconds.append((time.perf_counter() - started) * 1e3)
            if b"[workingset] " not in said or b'"isError":true' in said:
                run.errors[f"{tool}: {said[:80]!r}"] += 1
            await anyio.sleep(run.pause)
        await line.part()
    finally:
        writing.close()


@dataclass
class Line:
    """A keep-alive HTTP connection that speaks one protocol era."""

    reading: asyncio.StreamReader
    writing: asyncio.StreamWriter
    era: str
    session: str = ""
    calls: int = 0

    async def meet(self) -> None:
        """Do the handshake, if the era has one."""
        if self.era == ERAS[0]:
            client = {"protocolVersion": self.era, "capabilities": {}, "clientInfo": CLIENT}
            await self.call("initialize", client)
            await self.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def part(self) -> None:
        """End the session, if there is one."""
        if self.session:
            await self.send("DELETE")

    async def call(self, method: str, parameters: dict[str, Any], name: str = "") -> bytes:
        """Send one request and return the whole response body."""
        self.calls += 1
        modern = self.era == ERAS[1]
        more = {"Mcp-Method": method, "Mcp-Name": name} if modern else {}
        meta = {f"io.modelcontextprotocol/{key}": value for key, value in META.items()}
        parameters = {**parameters, **({"_meta": meta} if modern else {})}
        request = {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": parameters}
        return await self.send("POST", request, **more)

    async def send(self, verb: str, body: object = None, **headers: str) -> bytes:
        """Do one HTTP exchange. Raises ConnectionError for any status but 200 and 202."""
        sent = json.dumps(body).encode() if body else b""
        headers |= {"Mcp-Session-Id": self.session} if self.session else {}
        headers |= {
            "Host": "127.0.0.1",
            "Authorization": f"Bearer {SHARED}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": self.era,
            "Content-Length": str(len(sent)),
        }
        head = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        self.writing.write(f"{verb} /mcp HTTP/1.1\r\n{head}\r\n".encode() + sent)
        status = (await self.reading.readline()).split()[1]
        told: dict[bytes, bytes] = {}
        while (line := await self.reading.readline()).strip():
            key, _, value = line.partition(b":")
            told[key.lower()] = value.strip()
        self.session = told.get(b"mcp-session-id", self.session.encode()).decode()
        if b"content-length" in told:
            answer = await self.reading.readexactly(int(told[b"content-length"]))
        else:
            answer = b""
            while size := int(await self.reading.readline(), 16):
                answer += await self.reading.readexactly(size)
                await self.reading.readline()
            await self.reading.readline()
        if status not in (b"200", b"202"):
            raise ConnectionError(f"{status!r}: {answer[:80]!r}")
        return answer


def resident_megabytes(process: int) -> float:
    """The resident set of a process."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024


def processor_seconds(process: int) -> float:
    """CPU seconds a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(run: Run, clients: int, seconds: float, process: int) -> list[float]:
    """Run the agents; sample the server's memory before, ten times during, and after the run."""
    memory = [resident_megabytes(process)]
    async with anyio.create_task_group() as group:
        for number in range(clients):
            group.start_soon(agent, run, number)
        for _ in range(10):
            await anyio.sleep(seconds / 10)
            memory.append(resident_megabytes(process))
    return memory


def started(vault: Path, index_dir: str, port: int) -> subprocess.Popen[bytes]:
    """Start a server and wait until it has indexed the vault."""
    words = ["serve", "--vault", str(vault), "--index-dir", index_dir]
    process = subprocess.Popen(
        [sys.executable, "-m", "workingset_mcp", *words, "--http", f"127.0.0.1:{port}"],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "WORKINGSET_TOKEN": SHARED},
    )
    while True:
        try:
            httpx2.get(f"http://127.0.0.1:{port}/health").raise_for_status()
        except httpx2.TransportError:
            if process.poll() is not None:
                sys.exit("the server does not start")
            time.sleep(0.1)
        else:
            return process


def main() -> None:
    """Print the measurements; exit with 1 on any error."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vault", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between calls (5)")
    given = parser.parse_args()
    notes = (path.relative_to(given.vault).as_posix() for path in given.vault.rglob("*.md"))
    note = min(path for path in notes if not any(part.startswith(".") for part in path.split("/")))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as index_dir:
        process = started(given.vault, index_dir, port)
        try:
            warm = Run(port, note, 0, time.monotonic() + 5)
            anyio.run(measure, warm, 10, 5, process.pid)
            run = Run(port, note, given.pause, time.monotonic() + given.seconds)
            before = processor_seconds(process.pid)
            memory = anyio.run(measure, run, given.clients, given.seconds, process.pid)
            used = processor_seconds(process.pid) - before
        finally:
            process.terminate()
            process.wait()
    took = spread(run.milliseconds)
    errors = run.errors + warm.errors
    print(f"{given.clients} clients, {given.seconds:.0f} s, pause {given.pause:g} s")
    print(f"calls {took.calls:,} in {run.sessions:,} sessions, errors {errors.total()}")
    print(f"ms per call: p50 {took.p50:.0f}, p99 {took.p99:.0f}, longest {took.most:.0f}")
    print(f"server: {used / took.calls * 1e3:.1f} ms of CPU per call, {used:.0f} s in total")
    print(
        f"server MB, before and ten times during the run: {' '.join(f'{size:.0f}' for size in memory)}"
    )
    for kind, count in errors.most_common(5):
        print(f"  {count} x {kind}")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
