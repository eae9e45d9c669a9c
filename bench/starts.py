"""What a start of `serve` costs, and how much more without each measure that makes it cheaper.

    python bench/starts.py VAULT BRANCH [--rounds 15]

A start lasts until `get_brief` of the branch is answered, over a warm index. Each round starts one
server as it is and one without each measure of `workingset_mcp.server.sdk`, in changing order. Printed:
medians of wall and CPU time, and the median of the differences within the rounds.
"""

import argparse
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from raw_client import Server, command

AS_IT_IS = "as it is"
MEASURES = ("collect_rarely", "defer_models", "log_plainly")
_WITHOUT = """\
import sys
from workingset_mcp.server import sdk
if sys.argv[1] in vars(sdk):
    vars(sdk)[sys.argv.pop(1)] = lambda: None
else:
    del sys.argv[1]
from workingset_mcp.cli.main import main
main()
"""


def started(serve: list[str], without: str, branch: str) -> tuple[float, float]:
    """Wall and CPU milliseconds of one start."""
    python, _, _, *words = serve
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    server = Server([python, "-c", _WITHOUT, without, *words])
    try:
        server.initialize()
        answer = server.call("get_brief", {"branch": branch})
        wall = time.perf_counter() - began
    finally:
        server.kill()
    if answer.is_error:
        raise ValueError(answer.text)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return wall * 1000, spent * 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("vault", type=Path)
    parser.add_argument("branch")
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    ways = [AS_IT_IS, *MEASURES]
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command(chosen.vault, Path(folder), "index"), check=True)
        serve = command(chosen.vault, Path(folder), "serve")
        for turn in range(chosen.rounds + 1):
            for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                one = started(serve, way, chosen.branch)
                if turn:  # the first start of each only warms the disk
                    times[way].append(one)
    print(f"{'without':16} wall ms   CPU ms   more wall   more CPU   of a start (CPU)")
    base = times[AS_IT_IS]
    for way, found in times.items():
        wall, cpu = (median(one[at] for one in found) for at in (0, 1))
        more = [median(a[at] - b[at] for a, b in zip(found, base, strict=True)) for at in (0, 1)]
        share = more[1] / median(one[1] for one in base)
        print(f"{way:16} {wall:7.0f} {cpu:8.0f} {more[0]:11.0f} {more[1]:10.0f} {share:12.1%}")


if __name__ == "__main__":
    main()
