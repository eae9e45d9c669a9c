"""Whole processes: time of commands, memory of a server, size of an index.

Times are wall seconds with a warm index. Memory is the resident set of a server that has answered and is
idle, next to the empty server's. Not here: calls over MCP (`serving`), the baseline of a build
(`floors`).
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from hooks import spent
from raw_client import Server, processor_seconds
from serving import EMPTY_SERVER, Asked, Bench, Figures, files_below

QUIET_SECONDS = 0.5
QUIET_WITHIN_SECONDS = 30.0
ALL_BRIEFS_MOST_NOTES = 1_300
TELL_IMPORTS = {"PYTHONPROFILEIMPORTTIME": "1"}


def commands(bench: Bench, rounds: int) -> Figures:
    """Wall seconds of each command, and which of them import the SDK."""
    branch = bench.briefs(1)[0][0][1]["branch"]
    asked = {
        "hook": bench.command("hook", "session-start", "--branch", branch),
        "status": bench.command("status"),
        "brief": bench.command("brief", branch),
        "search": bench.command("search", bench.needles[0]["question"]),
    }
    if len(bench.notes) <= ALL_BRIEFS_MOST_NOTES:
        asked["all briefs"] = bench.command("brief", "--all")
    found: Figures = {name: [] for name in asked}
    for turn in range(rounds + 1):
        for name, command in asked.items():
            seconds = spent(command)[0]
            if turn:  # the first run of each only warms the disk cache
                found[name].append(seconds)
    imports = {name: imported(_told_of_imports(command)) for name, command in asked.items()}
    found["import mcp"] = [name for name, modules in imports.items() if "mcp" in modules]
    found["imports"] = {
        name: sum(own for own, _ in modules.values()) for name, modules in imports.items()
    }
    return found


def _told_of_imports(command: list[str]) -> bytes:
    return subprocess.run(
        command, check=True, capture_output=True, stdin=subprocess.DEVNULL,
        env={**os.environ, **TELL_IMPORTS},
    ).stderr  # fmt: skip


def imported(told: bytes) -> dict[str, tuple[float, float]]:
    """Seconds per module, own and including its imports, from the output of `-X importtime`."""
    rows = [line.removeprefix(b"import time:").split(b"|") for line in told.splitlines()]
    return {
        name.decode().strip(): (int(own) / 1e6, int(whole) / 1e6)
        for own, whole, name in (row for row in rows if len(row) == 3)
        if own.strip().isdigit()
    }


def memory(bench: Bench, rounds: int) -> Figures:
    """Resident MB of a server after a search and a brief, and of the empty server."""
    found: Figures = {"ours": [], "floor": []}
    for _ in range(rounds):
        asked = [*bench.searches(2), *bench.briefs(1)[0]]
        found["ours"].append(_resident(bench.command("serve"), asked))
        found["floor"].append(_resident(EMPTY_SERVER, [("answer", {"query": "?"})]))
    return found


def _resident(command: list[str], asked: list[Asked]) -> float:
    server = Server(command)
    try:
        server.initialize()
        for tool, arguments in asked:
            server.call(tool, arguments)
        _quiet(server.process.pid)
        return resident_megabytes(server.process.pid)
    finally:
        server.kill()


def _quiet(process_id: int) -> None:
    """Wait until a process is idle, at most for a bounded time."""
    deadline, before = time.monotonic() + QUIET_WITHIN_SECONDS, -1.0
    while time.monotonic() < deadline:
        now = processor_seconds(process_id)
        if now - before < 0.03:
            return
        before = now
        time.sleep(QUIET_SECONDS)


def resident_megabytes(process_id: int, name: str = "VmRSS") -> float:
    """Resident memory of a process (Linux)."""
    status = Path(f"/proc/{process_id}/status").read_text(encoding="ascii")
    return int(status.partition(f"{name}:")[2].split()[0]) / 1024


def complete_index(bench: Bench) -> Figures:
    """Build or complete the index, with token counts; return seconds and the bytes of index and vault."""
    from_nothing = not bench.index_dir.exists()
    wall, processor = spent(bench.command("index"))
    return {
        "from nothing": from_nothing,
        "seconds": wall,
        "processor seconds": processor,
        "index bytes": sum(path.stat().st_size for path in files_below(bench.index_dir)),
        "vault bytes": sum(path.stat().st_size for path in files_below(bench.vault)),
    }


def versions() -> Figures:
    """The versions used for the figures."""
    told = subprocess.run(
        [sys.executable, "-c", _VERSIONS], check=True, capture_output=True, text=True
    )
    return dict(line.split("=", 1) for line in told.stdout.splitlines())


_VERSIONS = """
import os, platform, sqlite3
from importlib.metadata import version
print(f"Python={platform.python_version()}")
print(f"SQLite={sqlite3.sqlite_version}")
print(f"mcp={version('mcp')}")
print(f"workingset-mcp={version('workingset-mcp')}")
print(f"{platform.system()}=on {os.cpu_count()} processors, load {os.getloadavg()[1]:.1f} at the start")
"""
