"""Generate vaults, measure baselines, this server and other tools, and write the page and the plot.

    python bench/performance.py --work DIR [--notes 1300,10000,100000] [--peers] [--only start,search]
    python bench/performance.py --work DIR --render

DIR gets one folder per size (vault, needles, index), the files of the peers, and `figures.json`. Each
part writes its figures there as soon as it is measured, so you can stop a run, or measure part by part
while the machine is quiet. The page is always rendered from that file. Parts: index, refresh, cold,
start, search, save, memory, cli, profile. Not here: how each is measured (`floors`, `serving`,
`processes`, `profiles`, `peers`) and shown (`page`, `plot`).
"""

import argparse
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import floors
import processes
import profiles
import serving
from driver import ERAS
from make_vault import write_vault
from page import LARGEST_OFTEN, page
from plot import growth

SEED = 1
NEEDLES = 200
PEER_NOTES = 1_300
DOCS = Path(__file__).parents[1] / "docs"

Figures = dict[str, Any]


def index(bench: serving.Bench, rounds: int) -> Figures:
    """Alternate the baseline and a build; with more than one round, also time the parts of a build."""
    made: Figures = {"floor": [], "ours": []}
    for _ in range(rounds):
        bare, ours = (floors.once(which, bench.vault) for which in ("floor", "build"))
        made["sections"] = bare["sections"]
        made["floor"].append(bare["floor"])
        made["ours"].append(ours["build"])
    if rounds > 1:
        made["parts"] = floors.once("parts", bench.vault)
    return made


def refresh(bench: serving.Bench, rounds: int) -> Figures:
    """Time a refresh that finds nothing, a bare walk, and a refresh that finds one note."""
    return dict(floors.refreshes(bench.vault, bench.index_dir, max(9, rounds)))


def cold(bench: serving.Bench, rounds: int) -> Figures:
    """Start a server without an index."""
    shutil.rmtree(bench.index_dir, ignore_errors=True)
    return anyio.run(serving.cold, bench, "handshake")


def start(bench: serving.Bench, rounds: int) -> Figures:
    """Time starts in both protocol eras."""
    return {era: anyio.run(serving.starts, bench, era, max(5, rounds)) for era in ERAS}


def search(bench: serving.Bench, rounds: int) -> Figures:
    """Time all calls in both protocol eras (one era for large vaults), and check that they find the facts."""
    eras = list(ERAS) if rounds > 1 else ["handshake"]
    made: Figures = {
        era: {
            **anyio.run(serving.calls, bench, era, rounds),
            **anyio.run(serving.briefs, bench, era, rounds),
        }
        for era in eras
    }
    return {**made, "found": anyio.run(serving.found_needles, bench, "handshake")}


def save(bench: serving.Bench, rounds: int) -> Figures:
    """Time a save until an answer shows it."""
    return {"milliseconds": anyio.run(serving.saves, bench, "handshake")}


def profile(bench: serving.Bench, rounds: int) -> Figures:
    """Profile where the time goes."""
    return profiles.shares(bench, rounds)


PARTS: dict[str, Callable[[serving.Bench, int], Figures]] = {
    "cold": cold, "index": index, "refresh": refresh, "start": start, "search": search,
    "save": save, "memory": processes.memory, "cli": processes.commands, "profile": profile,
}  # fmt: skip
NEEDS_NO_INDEX = ("cold", "index")
ONCE = ("index", "refresh", "search", "save", "memory")  # the parts measured on larger vaults


def vault_of(work: Path, notes: int) -> Path:
    """Return the vault of a size; generate it if it is missing."""
    folder = work / str(notes)
    made = folder / "needles.jsonl"
    if not made.exists():
        shutil.rmtree(folder, ignore_errors=True)
        write_vault(folder / "vault", notes=notes, seed=SEED, needles=NEEDLES)
    return folder / "vault"


def measure(work: Path, notes: int, only: list[str], kept: "Kept") -> None:
    """Measure the chosen parts at one size."""
    kept.say(f"{notes:,} notes")
    vault = vault_of(work, notes)
    bench = serving.Bench(vault, work / str(notes) / "index")
    rounds = 5 if notes <= LARGEST_OFTEN else 1
    complete = False
    for name in only:
        if notes > LARGEST_OFTEN and name not in ONCE:
            continue
        if name not in NEEDS_NO_INDEX and not complete:
            kept.keep(notes, "size", processes.complete_index(bench))
            complete = True
        kept.keep(notes, name, PARTS[name](bench, rounds))


class Kept:
    """The figures on disk, and the clock of this run."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.figures: Figures = {"sizes": {}, "peers": {}}
        if file.exists():
            self.figures = json.loads(file.read_text(encoding="utf-8"))
        self._started = time.monotonic()

    def say(self, what: str) -> None:
        """Print one line of progress."""
        print(f"{time.monotonic() - self._started:6.0f} s  {what}", flush=True)

    def keep(self, notes: int, name: str, made: Figures) -> None:
        """Store the figures of one part at one size."""
        self.figures["sizes"].setdefault(str(notes), {})[name] = made
        self.write()
        self.say(f"{notes:,} notes: {name}")

    def write(self) -> None:
        """Write the figures so far."""
        self.file.write_text(json.dumps(self.figures, indent=1), encoding="utf-8")


def main() -> None:
    """Measure, then write the page and the plot."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for vaults and figures")
    parser.add_argument("--notes", default="1300,10000", help="vault sizes (1300,10000)")
    parser.add_argument("--only", help=f"of {','.join(PARTS)}, or none")
    parser.add_argument("--peers", action="store_true", help="also install and measure other tools")
    parser.add_argument("--peer", action="append", help="only this peer")
    parser.add_argument("--render", action="store_true", help="only write the page")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for the page and the plot")
    chosen = parser.parse_args()
    work: Path = chosen.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    kept = Kept(work / "figures.json")
    only = [name for name in PARTS if chosen.only is None or name in chosen.only.split(",")]
    if not chosen.render:
        kept.figures["versions"] = processes.versions()
        for notes in map(int, chosen.notes.split(",")) if only else ():
            measure(work, notes, only, kept)
        if chosen.peers or chosen.peer:
            from peers import measure_peers  # imported late: only `--peers` needs it

            measure_peers(work, vault_of(work, PEER_NOTES), kept, chosen.peer)
    chosen.docs.mkdir(exist_ok=True)
    (chosen.docs / "performance.svg").write_text(growth(kept.figures), encoding="utf-8")
    (chosen.docs / "performance.md").write_text(page(kept.figures), encoding="utf-8")
    kept.say(f"written: {chosen.docs / 'performance.md'}")


if __name__ == "__main__":
    main()
