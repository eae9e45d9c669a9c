"""How fast a vault is served over MCP: the first build, a warm start, calls, and saves.

    python bench/serving.py --notes 10000 --work DIR [--rounds 3] [--builds 1]

Everything runs over stdio with the official SDK's client. Each timed call is followed by one of the
empty server (`empty_server`) that returns as many bytes, so that differences and ratios hold on a
machine that does other work too. DIR gets a vault (made once, by `make_vault`) and an index that is
removed at the end. Not here: timing one server alone (`driver`), judging the numbers.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import anyio
from driver import (
    ERAS,
    WARM_UP_CALLS,
    Arguments,
    Call,
    Start,
    call,
    connected,
    read_needles,
    spread,
    start_once,
)
from make_vault import needles_file, write_vault
from mcp.client import Client

SEED = 1
NEEDLES = 200
SEARCHES = 200
ABSENT_SEARCHES = 50
BRIEFS = 50
OPENS = 50
HEAVY_BRIEFS = 10
SAVES = 50
STARTS = 5
POLL_SECONDS = 0.005
SAVE_DEADLINE_SECONDS = 20.0
BRANCH_NOTES = 50  # briefs are asked of the branches nearest to this size
EMPTY_SERVER = [sys.executable, str(Path(__file__).with_name("empty_server.py"))]
_WORD = re.compile(r"(?<!\w)[a-zäöüß]{4,}(?!\w)")

Asked = tuple[str, Arguments]  # a tool and its arguments


class Bench:
    """One vault, the questions asked of it, and the command that serves it."""

    def __init__(self, vault: Path, index_dir: Path) -> None:
        self.vault = vault
        self.index_dir = index_dir
        self.notes = sorted(path.relative_to(vault).as_posix() for path in vault.rglob("*.md"))
        self.needles = read_needles(needles_file(vault))
        self.chance = random.Random(SEED)

    def command(self, *words: str) -> list[str]:
        """A command of ours over this vault and index."""
        places = ["--vault", str(self.vault), "--index-dir", str(self.index_dir)]
        return [sys.executable, "-m", "workingset_mcp", *words, *places]

    def searches(self, count: int) -> list[Asked]:
        """Different questions: needles by their terms and as questions, and words of some note."""
        needles = self.chance.sample(self.needles, min(len(self.needles), count // 2))
        texts = [needle[("query", "question")[at % 2]] for at, needle in enumerate(needles)]
        while len(texts) < count:
            path = self.vault / self.chance.choice(self.notes)
            words = sorted(set(_WORD.findall(path.read_text(encoding="utf-8-sig"))))
            if len(words) >= 4:
                texts.append(" ".join(self.chance.sample(words, self.chance.randint(2, 4))))
        self.chance.shuffle(texts)
        return [("search_notes", {"query": text}) for text in texts]

    def absent_searches(self, count: int) -> list[Asked]:
        """Words that stand in no note: such an answer checks the whole vault."""
        return [("search_notes", {"query": self.new_word()}) for _ in range(count)]

    def briefs(self, count: int) -> tuple[list[Asked], float]:
        """Branches nearest to a size, in turn, and the notes that the median of them holds."""
        sizes = Counter("/".join(path.split("/")[:2]) for path in self.notes)
        branches = [name for name in sizes if name.startswith(("cust/", "projects/"))]
        branches.sort(key=lambda name: (abs(sizes[name] - BRANCH_NOTES), name))
        chosen = list(islice(cycle(branches), count))
        return (
            [("get_brief", {"branch": name}) for name in chosen],
            median(sizes[name] for name in chosen),
        )

    def opens(self, count: int) -> list[Asked]:
        """Different notes."""
        paths = self.chance.sample(self.notes, min(count, len(self.notes)))
        return [("open_source_file", {"path": path}) for path in paths]

    def new_word(self) -> str:
        """A word that no note holds."""
        return "zq" + "".join(self.chance.choice("bcdfghjklmnp") for _ in range(12))


# -- what is measured ------------------------------------------------------------------------------


async def build(bench: Bench, era: str) -> None:
    """Start without an index: what is answered when, until the whole vault is searchable."""
    started = time.perf_counter()

    def seconds() -> float:
        return time.perf_counter() - started

    async with connected(bench.command("serve"), era) as client:
        show("no index: handshake answered", f"{seconds() * 1e3:,.0f} ms")
        await client.list_tools()
        show("no index: tools listed", f"{seconds() * 1e3:,.0f} ms")
        asked = bench.searches(SEARCHES)
        first = await call(client, *asked[0])
        marked = "marked as indexing" if is_building(first) else "index already complete"
        show("no index: first search answered", f"{seconds():.2f} s, {marked}: {head(first)}")
        while is_building(await call(client, *asked[0])):
            pass  # each call waits for the build, up to a limit of the server
        show("no index: whole vault searchable", f"{seconds():.2f} s")
        made = [await call(client, *one) for one in asked]
        found = spread([one.milliseconds for one in made])
        show("searches just after the build", f"p50 {found.p50:.1f}, p99 {found.p99:.1f} ms")
    size = sum(path.stat().st_size for path in files_below(bench.index_dir))
    vault = sum(path.stat().st_size for path in files_below(bench.vault))
    show("index size", f"{size / 1e6:.1f} MB, {size / vault:.2f} x the vault")


async def starts(bench: Bench, era: str, rounds: int) -> None:
    """Start with a warm index, in turn with the empty server."""
    ours: list[Start] = []
    floor: list[Start] = []
    asked = bench.searches(STARTS * rounds)
    for tool, arguments in asked:
        ours.append(await start_once(bench.command("serve"), era, tool, arguments))
        floor.append(await start_once(EMPTY_SERVER, era, "answer", {"query": "?"}))
    for name, at in (("handshake", 0), ("first answer", 2)):
        took = median(start[at] for start in ours)
        least = median(start[at] for start in floor)
        show(
            f"warm start to {name}, {era}",
            f"{took:,.0f} ms, empty {least:,.0f} ms, ratio {took / least:.2f} (n={len(ours)})",
        )


async def calls(bench: Bench, era: str, rounds: int) -> None:
    """Searches, briefs and opens, each beside an answer of the empty server of the same size."""
    briefs, notes = bench.briefs(BRIEFS)
    heavy: list[Asked] = [("get_brief", {"branch": "wiki"})] * HEAVY_BRIEFS
    overviews: list[Asked] = [("get_brief", {})] * HEAVY_BRIEFS
    groups: dict[str, list[Asked]] = {
        "search": bench.searches(SEARCHES),
        "search, nothing found": bench.absent_searches(ABSENT_SEARCHES),
        f"brief ({notes:.0f} notes)": briefs,
        "brief of wiki (20 % of the vault)": heavy,
        "overview": overviews,
        "open": bench.opens(OPENS),
    }
    async with (
        connected(bench.command("serve"), era) as client,
        connected(EMPTY_SERVER, era) as empty,
    ):
        for one in bench.searches(WARM_UP_CALLS):
            await beside(client, empty, one)
        for name, asked in groups.items():
            pairs = [await beside(client, empty, one) for _ in range(rounds) for one in asked]
            show_pairs(f"{name}, {era}", pairs)


async def beside(client: Client, empty: Client, asked: Asked) -> tuple[Call, Call]:
    """One call of ours and one of the empty server that returns as many bytes."""
    ours = await call(client, *asked)
    size = {"query": "?", "answer_bytes": len(ours.text.encode())}
    return ours, await call(empty, "answer", size)


async def found_needles(bench: Bench, era: str) -> None:
    """Whether the searches that are timed find anything: the planted answers."""
    async with connected(bench.command("serve"), era) as client:
        for form in ("query", "question"):
            found = 0
            for needle in bench.needles:
                answer = await call(client, "search_notes", {"query": needle[form]})
                found += needle["answer"] in answer.text and needle["path"] in answer.text
            show(f"needles found by {form}", f"{found} of {len(bench.needles)}")


async def saves(bench: Bench, era: str) -> None:
    """From the rename of a saved note to a search that shows its new word."""
    took: list[float] = []
    async with connected(bench.command("serve"), era) as client:
        await call(client, *bench.searches(2)[0])
        for path in bench.chance.sample(bench.notes, min(SAVES, len(bench.notes))):
            word = bench.new_word()
            with saved(bench.vault / path, f"\nSaved mark {word}.\n") as renamed_at:
                await until_shown(client, word, renamed_at + SAVE_DEADLINE_SECONDS)
                took.append((time.perf_counter() - renamed_at) * 1e3)
            await anyio.sleep(bench.chance.uniform(0.05, 0.4))
    found = spread(took)
    show(
        "save to searchable",
        f"p50 {found.p50:.0f} ms, p99 {found.p99:.0f} ms, longest {found.most:.0f} ms"
        f" (n={found.calls})",
    )


async def until_shown(client: Client, word: str, deadline: float) -> None:
    """Search for a word, again and again, until a passage holds it. Raises TimeoutError."""
    while time.perf_counter() < deadline:
        answer = await call(client, "search_notes", {"query": word})
        if f"Saved mark {word}." in answer.text:
            return
        await anyio.sleep(POLL_SECONDS)
    raise TimeoutError(f"{word} was saved, and no search showed it in {SAVE_DEADLINE_SECONDS} s")


# -- small parts -----------------------------------------------------------------------------------


@contextmanager
def saved(path: Path, addition: str) -> Iterator[float]:
    """A note with some text added, by a file beside it and a rename; put back at the end."""
    before = path.read_bytes()
    beside_it = path.with_name(f".{path.name}.saving")
    try:
        beside_it.write_bytes(before + addition.encode())
        renamed_at = time.perf_counter()
        beside_it.replace(path)
        yield renamed_at
    finally:
        beside_it.write_bytes(before)
        beside_it.replace(path)


def head(answer: Call) -> str:
    """The header line of an answer."""
    return answer.text.partition("\n")[0]


def is_building(answer: Call) -> bool:
    """Whether an answer says that the index is not complete yet."""
    return "· indexing " in head(answer)


def files_below(folder: Path) -> list[Path]:
    """All files of a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def show(name: str, text: str) -> None:
    """One line of the report."""
    print(f"{name:<50} {text}", flush=True)


def show_pairs(name: str, pairs: Sequence[tuple[Call, Call]]) -> None:
    """One line: ours, the empty server, and how far apart."""
    ours = spread([pair[0].milliseconds for pair in pairs])
    floor = spread([pair[1].milliseconds for pair in pairs])
    size = median(len(pair[0].text.encode()) for pair in pairs)
    show(
        name,
        f"p50 {ours.p50:7.2f} ms, p99 {ours.p99:7.2f} | empty {floor.p50:5.2f}, {floor.p99:5.2f}"
        f" | above {ours.p50 - floor.p50:7.2f}, {ours.p99 - floor.p99:7.2f}"
        f" | x {ours.p50 / floor.p50:5.1f} | {size:,.0f} bytes (n={ours.calls})",
    )


async def measure(bench: Bench, *, rounds: int, eras: Sequence[str]) -> None:
    """Everything that needs a complete index."""
    await found_needles(bench, eras[0])
    for era in eras:
        await starts(bench, era, rounds)
    for era in eras:
        await calls(bench, era, rounds)
    await saves(bench, eras[0])


def run(work: Path, notes: int, *, rounds: int, builds: int, eras: Sequence[str]) -> None:
    """Make the vault when it is not there, then build, measure and report."""
    vault = work / "vault"
    if not vault.exists():
        write_vault(vault, notes=notes, seed=SEED, needles=NEEDLES)
    for at in range(builds):
        with tempfile.TemporaryDirectory(prefix="index-", dir=work) as folder:
            bench = Bench(vault, Path(folder))
            if at == 0:
                show("vault", f"{len(bench.notes):,} notes; {os.cpu_count()} processors")
            anyio.run(build, bench, eras[0])
            if at < builds - 1:
                continue
            started = time.perf_counter()
            subprocess.run(bench.command("index"), check=True, stdout=subprocess.DEVNULL)
            show("the rest of the token counts", f"{time.perf_counter() - started:.1f} s")

            async def all_of_it(bench: Bench = bench) -> None:
                await measure(bench, rounds=rounds, eras=eras)

            anyio.run(all_of_it)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--work", type=Path, required=True, help="folder for vault and index")
    parser.add_argument("--rounds", type=int, default=3, help="how often the calls are made (3)")
    parser.add_argument("--builds", type=int, default=1, help="how often it is built anew (1)")
    parser.add_argument("--era", choices=(*ERAS, "both"), default="both")
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    eras = tuple(ERAS) if chosen.era == "both" else (chosen.era,)
    run(chosen.work, chosen.notes, rounds=chosen.rounds, builds=chosen.builds, eras=eras)


if __name__ == "__main__":
    main()
