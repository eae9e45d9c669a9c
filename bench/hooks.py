"""Time a hook from start to end against minimal imports, in one run.

    python bench/hooks.py VAULT BRANCH [VAULT BRANCH …] [--runs 9]

Each branch is asked for with and without an index, alternating with a bare interpreter and one that
imports `sqlite3` and `json`. Prints median wall and CPU time, and their ratios.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARE, IMPORTS = "python -c pass", "import sqlite3, json"


def spent(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a process."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=True, env=environment
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def commands(asked: list[str], folder: Path) -> dict[str, list[str]]:
    """The commands to time, by name; builds the indexes."""
    found = {BARE: [sys.executable, "-c", "pass"], IMPORTS: [sys.executable, "-c", IMPORTS]}
    own = [sys.executable, "-m", "workingset_mcp"]
    for vault, branch in zip(asked[::2], asked[1::2], strict=True):
        where = ["--vault", vault, "--index-dir"]
        subprocess.run([*own, "index", *where, str(folder / "index")], check=True)
        for kind in ("index", "none"):
            hook = [*own, "hook", "session-start", *where, str(folder / kind), "--branch", branch]
            found[f"{Path(vault).name} {branch} · {kind}"] = hook
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("asked", nargs="+", metavar="VAULT BRANCH")
    parser.add_argument("--runs", type=int, default=9)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        timed = commands(chosen.asked, Path(folder))
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in timed}
        for turn in range(chosen.runs + 1):
            for name, command in timed.items():
                one = spent(command)
                if turn:  # the first run of each only warms the disk cache
                    times[name].append(one)
    middle = {
        name: tuple(statistics.median(one[at] for one in runs) for at in (0, 1))
        for name, runs in times.items()
    }
    print(f"{'':44} wall ms   cpu ms   × bare   × imports (cpu)")
    for name, (wall, cpu) in middle.items():
        print(
            f"{name:44} {wall * 1000:7.0f} {cpu * 1000:8.0f}"
            f" {cpu / middle[BARE][1]:8.1f} {cpu / middle[IMPORTS][1]:8.1f}"
        )


if __name__ == "__main__":
    main()
