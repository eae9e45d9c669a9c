"""Where the time goes: self time by part, for calls in one process and for a start.

`cProfile` slows down small functions, so the shares are only a guide; the time of a call without it is
given too. Not here: the parts of a build, each timed alone (`floors`).
"""

import cProfile
import pstats
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from processes import TELL_IMPORTS, imported
from raw_client import Server, processor_seconds
from serving import Bench, Figures

from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

SHOWN = 6
_PACKAGE = "workingset_mcp"
_BUILT_IN = {
    "sqlite3": "SQLite",
    "posix": "the disk",
    "re.Pattern": "regular expressions",
}


def shares(bench: Bench, rounds: int) -> Figures:
    """For each kind of work: milliseconds (median), and the share of each part."""
    queries = [one["query"] for _, one in bench.searches(100)]
    branches = [one["branch"] for _, one in bench.briefs(25)[0]]
    return {
        "search, in process": _profiled(bench, Workspace.search, queries),
        "brief, in process": _profiled(bench, Workspace.brief, branches),
        "refresh, in process": _profiled(bench, _refreshed, [""] * 9),
        "start to first answer, CPU": _start(bench, rounds),
    }


def _refreshed(workspace: Workspace, _: str) -> None:
    workspace.freshness.refresh()


def _start(bench: Bench, rounds: int) -> Figures:
    """Split a start into SDK imports, our modules, other libraries, and the work after them."""
    laps = [_started(bench) for _ in range(rounds)]
    whole = median(map(sum, laps))
    shares = (median(lap) / whole for lap in zip(*laps, strict=True))
    return {"milliseconds": whole * 1e3, "shares": dict(zip(_LAPS, shares, strict=True))}


_LAPS = ("the SDK", "our modules", "other libraries", "opening, set-up, refresh, first search")


def _started(bench: Bench) -> tuple[float, ...]:
    server = Server(bench.command("serve"), environment=TELL_IMPORTS)
    try:
        server.initialize()
        server.call(*bench.searches(2)[0])
        spent = processor_seconds(server.process.pid)
    finally:
        server.kill()
    modules = imported(b"".join(server.errors))
    sdk = modules["mcp"][1]
    ours = sum(own for name, (own, _) in modules.items() if name.startswith(_PACKAGE))
    every = sum(own for own, _ in modules.values())
    return sdk, ours, every - sdk - ours, spent - every


def _profiled(bench: Bench, ask: Callable[[Workspace, str], object], asked: list[str]) -> Figures:
    took: list[float] = []
    with _opened(bench) as workspace:
        for one in asked:
            started = time.perf_counter()
            ask(workspace, one)
            took.append((time.perf_counter() - started) * 1e3)
    profile = cProfile.Profile()
    with _opened(bench) as workspace, profile:  # a new workspace, with no kept answers
        for one in asked:
            ask(workspace, one)
    own: Counter[str] = Counter()
    stats: Any = pstats.Stats(profile)  # its stub lacks `stats`
    for (file, _, function), row in stats.stats.items():
        own[_part(file, function)] += row[2]
    whole = sum(own.values())
    return {
        "milliseconds": median(took),
        "shares": {name: seconds / whole for name, seconds in own.most_common(SHOWN)},
    }


@contextmanager
def _opened(bench: Bench) -> Iterator[Workspace]:
    with closing(Workspace(bench.vault, Settings(index_dir=str(bench.index_dir)))) as workspace:
        workspace.build()
        yield workspace


def _part(file: str, function: str) -> str:
    """The part that a function belongs to."""
    if file == "~":
        return next((name for word, name in _BUILT_IN.items() if word in function), "built-ins")
    parts = Path(file).parts
    if _PACKAGE in parts:
        return "/".join(parts[len(parts) - parts[::-1].index(_PACKAGE) :]).removesuffix(".py")
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1]
    return "Python's library"
