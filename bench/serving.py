"""Time a vault served over MCP: the first build, a start, calls, and saves.

Everything runs over stdio with the official SDK's client. Each timed call is followed by a call to the
empty server (`empty_server`) that returns as many bytes, so differences and ratios hold on a busy
machine. Each function returns figures that `json` can store; times are milliseconds unless the name says
seconds. Not here: the command (`performance`), timing one server alone (`driver`), whole processes and
memory (`processes`), judging the numbers (`page`).
"""

import random
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import anyio
from driver import WARM_UP_CALLS, Arguments, Call, call, connected, read_needles, spread, start_once
from make_vault import needles_file
from mcp.client import Client

SEED = 1
SEARCHES = 200
BRIEFS = 50
OPENS = 50
HEAVY_CALLS = 10
SAVES = 50
POLL_SECONDS = 0.005
SAVE_DEADLINE_SECONDS = 20.0
BRANCH_NOTES = 50  # briefs use the branches nearest to this size
EMPTY_SERVER = [sys.executable, str(Path(__file__).with_name("empty_server.py"))]
_WORD = re.compile(r"(?<!\w)[a-zäöüß]{4,}(?!\w)")

Asked = tuple[str, Arguments]  # a tool and its arguments
Beside = tuple[Call, Call]  # ours, and one of the empty server


class Bench:
    """One vault, the questions to ask, and the command that serves it."""

    def __init__(self, vault: Path, index_dir: Path) -> None:
        self.vault = vault
        self.index_dir = index_dir
        self.notes = sorted(path.relative_to(vault).as_posix() for path in vault.rglob("*.md"))
        self.needles = read_needles(needles_file(vault))
        self.chance = random.Random(SEED)

    def command(self, *words: str) -> list[str]:
        """The arguments of one of our commands for this vault and index."""
        places = ["--vault", str(self.vault), "--index-dir", str(self.index_dir)]
        return [sys.executable, "-m", "workingset_mcp", *words, *places]

    def searches(self, count: int) -> list[Asked]:
        """Distinct questions: needles as exact terms and as questions, and words of some notes."""
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
        """Words that no note contains; such an answer checks the whole vault."""
        return [("search_notes", {"query": self.new_word()}) for _ in range(count)]

    def briefs(self, count: int) -> tuple[list[Asked], float]:
        """The branches nearest to a size, in turn, and their median number of notes."""
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
        """A word that no note contains."""
        return "zq" + "".join(self.chance.choice("bcdfghjklmnp") for _ in range(12))


# -- what is measured ------------------------------------------------------------------------------

Figures = dict[str, Any]


async def cold(bench: Bench, era: str) -> Figures:
    """Start without an index: seconds to the first answers, and until the whole vault is searchable."""
    started = time.perf_counter()
    found: Figures = {}

    def lap(name: str) -> None:
        found[name] = time.perf_counter() - started

    async with connected(bench.command("serve"), era) as client:
        lap("handshake answered")
        await client.list_tools()
        lap("tools listed")
        asked = bench.searches(2)[0]
        first = await call(client, *asked)
        lap("first search answered")
        found["first search says"] = head(first)
        while is_building(await call(client, *asked)):
            pass  # each call waits for the build, up to a limit of the server
        lap("whole vault searchable")
    return found


async def starts(bench: Bench, era: str, rounds: int) -> Figures:
    """Start with a warm index, alternating with the empty server."""
    found: Figures = {name: {"ours": [], "floor": []} for name in ("handshake", "first answer")}
    for asked in bench.searches(rounds * 2)[:rounds]:
        ours = await start_once(bench.command("serve"), era, *asked)
        floor = await start_once(EMPTY_SERVER, era, "answer", {"query": "?"})
        for name, at in (("handshake", 0), ("first answer", 2)):
            found[name]["ours"].append(ours[at])
            found[name]["floor"].append(floor[at])
    return found


async def calls(bench: Bench, era: str, rounds: int) -> Figures:
    """Searches, overviews and opens, each next to an empty-server answer of the same size."""
    heavy = HEAVY_CALLS if rounds > 1 else 3  # their time grows with the vault
    groups: dict[str, list[Asked]] = {
        "search": bench.searches(SEARCHES),
        "search, nothing found": bench.absent_searches(heavy),
        "overview": [("get_brief", {})] * heavy,
        "open": bench.opens(OPENS),
    }
    async with _warmed_up(bench, era) as ask:
        return {
            name: _summed_up([[await ask(one) for one in asked] for _ in range(rounds)])
            for name, asked in groups.items()
        }


async def briefs(bench: Bench, era: str, rounds: int) -> Figures:
    """First and repeated briefs; each round starts a new server."""
    asked, notes = bench.briefs(BRIEFS)
    kinds: dict[str, list[Asked]] = {
        "brief": asked,
        "brief of a fifth of the vault": [("get_brief", {"branch": "wiki"})],
    }
    made: dict[str, list[list[Beside]]] = {}
    for _ in range(rounds):
        async with _warmed_up(bench, era) as ask:
            for again in ("", ", repeated"):
                for name, group in kinds.items():
                    made.setdefault(name + again, []).append([await ask(one) for one in group])
    return {"notes of a brief": notes, **{name: _summed_up(one) for name, one in made.items()}}


@asynccontextmanager
async def _warmed_up(bench: Bench, era: str) -> AsyncIterator[Callable[[Asked], Awaitable[Beside]]]:
    """Alternates calls to our server and the empty one, after warming up both."""
    async with (
        connected(bench.command("serve"), era) as client,
        connected(EMPTY_SERVER, era) as empty,
    ):

        async def ask(one: Asked) -> Beside:
            return await beside(client, empty, one)

        for one in bench.searches(WARM_UP_CALLS):
            await ask(one)
        yield ask


def _summed_up(rounds: Sequence[Sequence[Beside]]) -> Figures:
    return {
        "calls": len(rounds[0]),
        "bytes": median(len(ours.text.encode()) for one in rounds for ours, _ in one),
        **{whose: _spreads(rounds, at) for at, whose in enumerate(("ours", "floor"))},
    }


def _spreads(rounds: Sequence[Sequence[Beside]], at: int) -> Figures:
    """p50 and p99 of each round, for ours (0) or the empty server (1)."""
    spreads = [spread([pair[at].milliseconds for pair in pairs]) for pairs in rounds]
    return {"p50": [one.p50 for one in spreads], "p99": [one.p99 for one in spreads]}


async def beside(client: Client, empty: Client, asked: Asked) -> Beside:
    """Make one call to ours and one to the empty server that returns as many bytes."""
    ours = await call(client, *asked)
    size = {"query": "?", "answer_bytes": len(ours.text.encode())}
    return ours, await call(empty, "answer", size)


async def found_needles(bench: Bench, era: str) -> Figures:
    """Count the planted answers shown, to prove that the timed searches find something."""
    found: Figures = {"planted": len(bench.needles)}
    async with connected(bench.command("serve"), era) as client:
        for form in ("query", "question"):
            found[form] = 0
            for needle in bench.needles:
                answer = await call(client, "search_notes", {"query": needle[form]})
                found[form] += needle["answer"] in answer.text and needle["path"] in answer.text
    return found


async def saves(bench: Bench, era: str) -> list[float]:
    """Time from the rename of a saved note to a search that shows its new word."""
    took: list[float] = []
    async with connected(bench.command("serve"), era) as client:
        await call(client, *bench.searches(2)[0])
        for path in bench.chance.sample(bench.notes, min(SAVES, len(bench.notes))):
            word = bench.new_word()
            with saved(bench.vault / path, f"\nSaved mark {word}.\n") as renamed_at:
                await until_shown(client, word, renamed_at + SAVE_DEADLINE_SECONDS)
                took.append((time.perf_counter() - renamed_at) * 1e3)
            await anyio.sleep(bench.chance.uniform(0.05, 0.4))
    return took


async def until_shown(client: Client, word: str, deadline: float) -> None:
    """Search for a word repeatedly until a passage contains it. Raises TimeoutError."""
    while time.perf_counter() < deadline:
        answer = await call(client, "search_notes", {"query": word})
        if f"Saved mark {word}." in answer.text:
            return
        await anyio.sleep(POLL_SECONDS)
    raise TimeoutError(f"{word} was saved, and no search showed it in {SAVE_DEADLINE_SECONDS} s")


# -- small parts -----------------------------------------------------------------------------------


@contextmanager
def saved(path: Path, addition: str) -> Iterator[float]:
    """Add text to a note through a file beside it and a rename; restore the note at the end."""
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
    """Return the header line of an answer."""
    return answer.text.partition("\n")[0]


def is_building(answer: Call) -> bool:
    """Whether an answer says that the index is not complete yet."""
    return "· indexing " in head(answer)


def files_below(folder: Path) -> list[Path]:
    """All files of a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]
