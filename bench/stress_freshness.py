"""Edit a vault at random and ask two clients: every answer must agree with the files.

    python bench/stress_freshness.py [--operations 10000] [--beside 600] [--seed 1] [--clock-step-ms 4]

Two workspaces share one index folder; the first one has a live follower. Every line of a note holds
a word of its own (`planted`), so that an old line in an answer is known by its word. Four parts: one
edit after the other with calls between (a save may be half done); calls while a thread edits; an
edit in the middle of an answer that the other client indexes first; and the wait until a search
shows a save. `--beside` notes that never change make the vault too large to be walked for every
search. `--clock-step-ms` lets stamps advance in steps, as Linux before 6.13 does. Not here: real
servers (`stress_servers`).
"""

import argparse
import random
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from planted import FOLDERS, SHARED_WORDS, WORD, Planted, branch_of, words_in

from workingset_mcp import vault as vault_module
from workingset_mcp.errors import BranchNotFound, WorkingsetError
from workingset_mcp.freshness import Follower
from workingset_mcp.settings import Settings
from workingset_mcp.vault import Fingerprint
from workingset_mcp.workspace import Workspace

LATE_SECONDS = 0.4
SETTLED_SECONDS = 0.06  # a stamp this old is not doubted any more
SHOWN_EXAMPLES = 3
ROUND = 40  # edits between two looks at a vault at rest
_FOUND = re.compile(r"· search · [\d,]+ passages? from ([\d,]+) notes?|^\[workingset\] search · [\d,]+"
                    r" passages? from ([\d,]+) notes?")  # fmt: skip
_MORE = re.compile(r"^([\d,]+) more notes? match", re.MULTILINE)
_ITEMS = re.compile(r"items · \w+: ([\d,]+) in ")
_SOURCES = re.compile(r"^source_notes: (\d+)$", re.MULTILINE)
_OVERVIEW = re.compile(
    r"^- \*\*(.+?)\*\* · ([\d,]+) open items?.* · ([\d,]+) notes?, about", re.MULTILINE
)


class Tally:
    """What was asked and what was wrong, with the first examples of each."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}
        self.longest = 0.0

    def note(self, what: str, example: str) -> None:
        """Count something that must not be."""
        self.wrong[what] += 1
        if len(kept := self.examples.setdefault(what, [])) < SHOWN_EXAMPLES:
            kept.append(example[:300])

    def show(self, title: str) -> None:
        """Print the tally."""
        asked = sum(self.asked.values())
        print(f"\n## {title}: {asked:,} answers, longest {self.longest * 1e3:.0f} ms")
        print("   " + ", ".join(f"{name} {count:,}" for name, count in sorted(self.asked.items())))
        for what in ("quotes what is in no file", "contradicts the files", "missing after 400 ms"):
            self.wrong.setdefault(what, 0)
        for what, count in sorted(self.wrong.items()):
            print(f"{what:<44} {count:>6,}")
            for example in self.examples.get(what, []):
                print(f"      e.g. {example!r}")


class Lag(threading.Thread):
    """How late this machine wakes a thread that asked for 10 ms: what a deadline must allow."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._late: list[tuple[float, float]] = []

    def run(self) -> None:
        """Measure, for ever."""
        while True:
            started = time.perf_counter()
            time.sleep(0.01)
            now = time.perf_counter()
            self._late = [*self._late[-200:], (now, now - started - 0.01)]

    def lately(self) -> float:
        """The longest delay of the last second, in seconds."""
        since = time.perf_counter() - 1.0
        return max((late for when, late in self._late if when > since), default=0.0)


class Asker:
    """Asks one of the clients and compares what it says with the files."""

    def __init__(self, planted: Planted, clients: dict[str, Workspace], lag: Lag) -> None:
        self.planted = planted
        self.clients = clients
        self.lag = lag
        self.tally = Tally()
        self.chance = random.Random(planted.chance.random())
        self.doing = ""

    def ask(self) -> None:
        """One question of a random kind to a random client."""
        self.chance.choice(QUESTIONS)(self, self.chance.choice(list(self.clients)))

    def answer(self, kind: str, client: str, call: Callable[[Workspace], str]) -> str | None:
        """The answer, None when it was refused. Anything but a plain refusal is an error."""
        started = time.perf_counter()
        try:
            return call(self.clients[client])
        except WorkingsetError:
            return None
        except Exception as error:  # noqa: BLE001  # whatever it is, it is what is looked for
            self.tally.note(f"raises {type(error).__name__}", f"{kind} {error}")
            return ""
        finally:
            self.tally.asked[kind] += 1
            self.tally.longest = max(self.tally.longest, time.perf_counter() - started)

    def wrong(self, kind: str, client: str, what: str, details: object) -> None:
        """Count a wrong answer."""
        self.tally.note(what, f"{kind}, client {client}, after {self.doing}: {details}")

    def true_words(
        self, kind: str, client: str, text: str, branch: str | None = None, asked: str = ""
    ) -> None:
        """Every planted word of an answer must stand in a file of its scope now."""
        there = set(words_in("\n".join(self.planted.visible(branch).values())))
        old = [word for word in words_in(text) if word not in there and word != asked]
        if old:
            head = text.partition("\n")[0]
            self.wrong(kind, client, "quotes what is in no file", f"{old[:2]} in {head}")

    def count(self, kind: str, client: str, said: int, right: int) -> None:
        """A count must be that of the files."""
        if said != right:
            self.wrong(kind, client, "contradicts the files", f"says {said}, files say {right}")

    # -- questions ---------------------------------------------------------------------------------

    def present(self, client: str) -> None:
        """A word of a note, often of one that was just edited, must be found there."""
        visible = self.planted.visible()
        recent = [path for path in self.planted.changed if path in visible]
        use_recent = recent and self.chance.random() < 0.7
        path = self.chance.choice(recent if use_recent else list(visible)) if visible else ""
        words = list(words_in(visible.get(path, "")))
        if not words:
            return
        word = self.chance.choice(words)
        text = self.answer("search, a word that is there", client, lambda w: w.search(word)) or ""
        self.true_words("search", client, text, asked=word)
        if word not in text.partition("\n")[2] or f"### {path}:" not in text:
            self.wrong("search", client, "contradicts the files", f"{word} of {path} not found")

    def absent(self, client: str) -> None:
        """A word that stood in a note must not be found."""
        if not self.planted.gone:
            return
        word = self.chance.choice(list(self.planted.gone)[-40:])
        if self.planted.holders(word):
            return
        text = self.answer("search, a word that is gone", client, lambda w: w.search(word)) or ""
        self.true_words("search", client, text, asked=word)
        if "nothing found" not in text.partition("\n")[0]:
            self.wrong("search", client, "quotes what is in no file", f"{word}: {text[:120]}")

    def shared(self, client: str, at_rest: bool = False) -> None:
        """A word of several notes: quoted ones must be true, and be all, 400 ms later at most."""
        word = self.chance.choice(SHARED_WORDS)
        branch = branch_of(f"{self.chance.choice(FOLDERS)}/x.md".lstrip("/"))
        within = branch if self.chance.random() < 0.3 else None
        allowed = LATE_SECONDS + self.lag.lately()
        started = time.perf_counter()
        text = self.answer(
            "search, a word of several",
            client,
            lambda w: w.search(word, branch=within, budget=6_000),
        )
        if text is None:
            self.refused("search", client, branch)
            return
        self.true_words("search", client, text, within)
        head = text.partition("\n")[0]
        found, more = _FOUND.search(head), _MORE.search(text)
        said = _number(found[1] or found[2]) if found else 0
        said += _number(more[1]) if more else 0
        right = len(self.planted.holders(word, within))
        if said == right:
            return
        if within is not None or "nothing found" in head:
            self.count("search", client, said, right)
        elif said not in self.planted.counts_since(word, started - allowed):
            what = "missing after 400 ms" + (" at rest" if at_rest else "")
            self.wrong("search", client, what, f"{word} in {said}, files say {right}")

    def brief(self, client: str) -> None:
        """A brief quotes its branch as it is, and counts its notes."""
        branch = branch_of(f"{self.chance.choice(FOLDERS)}/x.md".lstrip("/"))
        text = self.answer("brief", client, lambda w: w.brief(branch, 3_000))
        if text is None:
            self.refused("brief", client, branch)
            return
        self.true_words("brief", client, text, branch)
        if found := _SOURCES.search(text):
            self.count("brief", client, int(found[1]), len(self.planted.visible(branch)))

    def refused(self, kind: str, client: str, branch: str) -> None:
        """A branch may be refused only when it has no note."""
        if notes := len(self.planted.visible(branch)):
            self.wrong(
                kind, client, "contradicts the files", f"{branch} refused, has {notes} notes"
            )

    def overview(self, client: str) -> None:
        """Every branch with its notes and open items."""
        text = self.answer("overview", client, lambda w: w.brief(budget=6_000)) or ""
        said = {name: (_number(tasks), _number(notes)) for name, tasks, notes in
                _OVERVIEW.findall(text)}  # fmt: skip
        right: dict[str, tuple[int, int]] = {}
        for path, note in self.planted.visible().items():
            tasks, notes = right.get(branch_of(path), (0, 0))
            right[branch_of(path)] = (tasks + note.count("- [ ]"), notes + 1)
        if said != right:
            differs = {name: (said.get(name), right.get(name)) for name in said | right
                       if said.get(name) != right.get(name)}  # fmt: skip
            self.wrong("overview", client, "contradicts the files", differs)

    def items(self, client: str) -> None:
        """Counts of notes and open boxes, of the vault or a branch."""
        kind = self.chance.choice(("note", "open"))
        branch = branch_of(f"{self.chance.choice(FOLDERS)}/x.md".lstrip("/"))
        within = branch if self.chance.random() < 0.5 else None
        text = self.answer("items", client, lambda w: w.items(kind, branch=within))
        notes = self.planted.visible(within)
        if text is None:
            self.refused("items", client, branch)
            return
        self.true_words("items", client, text, within)
        right = len(notes) if kind == "note" else sum(t.count("- [ ]") for t in notes.values())
        found = _ITEMS.search(text)
        self.count("items", client, _number(found[1]) if found else 0, right)

    def opened(self, client: str) -> None:
        """A note word for word; one that is gone or no source is refused."""
        path = self.chance.choice([*self.planted.changed, *self.planted.texts])
        text = self.answer("open", client, lambda w: w.open(path))
        right = self.planted.visible().get(self.planted.real(path))
        if (text is None) != (right is None):
            self.wrong("open", client, "contradicts the files", f"{path} {text and text[:80]}")
        elif text and right and f"```\n{right}```" not in text:
            self.wrong("open", client, "quotes what is in no file", path)

    def full(self, client: str) -> None:
        """All words of a branch, and no others."""
        branch = branch_of(f"{self.chance.choice(FOLDERS)}/x.md".lstrip("/"))
        text = self.answer("full context", client, lambda w: w.full(branch, budget=24_000))
        if text is None:
            self.refused("full", client, branch)
            return
        self.true_words("full", client, text, branch)
        right = set(words_in("\n".join(self.planted.visible(branch).values())))
        if "page 1 of 1" in text and (lost := right - set(words_in(text))):
            self.wrong(
                "full", client, "contradicts the files", f"{branch} lacks {sorted(lost)[:2]}"
            )


QUESTIONS: tuple[Callable[[Asker, str], None], ...] = (
    Asker.present,
    Asker.present,
    Asker.absent,
    Asker.shared,
    Asker.brief,
    Asker.overview,
    Asker.items,
    Asker.opened,
    Asker.full,
)


# -- the four parts --------------------------------------------------------------------------------


def one_after_the_other(asker: Asker, operations: int) -> None:
    """Edits with calls between them; now and then a look at the vault at rest."""
    edits: Counter[str] = Counter()
    asker.planted.between = asker.ask
    for at in range(operations):
        asker.doing = asker.planted.edit()
        edits[asker.doing] += 1
        if asker.chance.random() < 0.5:
            asker.ask()
        if at % ROUND == ROUND - 1:
            time.sleep(LATE_SECONDS + asker.lag.lately())
            for client in asker.clients:
                asker.shared(client, at_rest=True)
    asker.planted.between = lambda: None
    print("edits: " + ", ".join(f"{name} {count:,}" for name, count in edits.most_common()))


def while_a_thread_edits(asker: Asker, seconds: float) -> None:
    """Answers given while files change may hold what was true at some moment of the call."""
    planted, lives, stop = asker.planted, {}, threading.Event()
    paths = [path for path in planted.visible() if path not in planted.still][:12]

    def edit() -> None:
        while not stop.is_set():
            path = planted.chance.choice(paths)
            now, text = time.perf_counter(), planted.text()
            lives.update({word: [now, 1e18] for word in words_in(text)})
            old = planted.texts[path]
            planted.texts[path] = text
            beside = (planted.root / path).with_name(".racing.tmp")
            beside.write_text(text, encoding="utf-8")
            beside.replace(planted.root / path)
            for word in words_in(old):
                lives.setdefault(word, [0.0, 0.0])[1] = time.perf_counter()
            time.sleep(planted.chance.uniform(0.0, 0.03))

    thread = threading.Thread(target=edit, daemon=True)
    thread.start()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        client, path = asker.chance.choice(list(asker.clients)), asker.chance.choice(paths)
        calls: dict[str, Callable[[Workspace], str]] = {
            "brief": lambda w, path=path: w.brief(branch_of(path)),
            "search": lambda w: w.search(asker.chance.choice(SHARED_WORDS)),
            "items": lambda w: w.items("open"),
            "open": lambda w, path=path: w.open(path),
        }
        kind = asker.chance.choice(list(calls))
        started = time.perf_counter()
        text = asker.answer(kind, client, calls[kind]) or ""
        old = [word for word in words_in(text) if lives.get(word, [0, 1e18])[1] < started]
        if old:
            asker.wrong(kind, client, "quotes what is in no file", text.partition("\n")[0])
    stop.set()
    thread.join()


def edited_in_the_middle(asker: Asker, times: int) -> None:
    """A note is saved while an answer is composed, and the other client indexes it at once."""
    planted, (first, other) = asker.planted, asker.clients.values()
    paths = [path for path in planted.visible() if path not in planted.still and "/" in path]
    kinds: dict[str, Callable[[str, str], str]] = {
        "brief": lambda path, _: first.brief(branch_of(path)),
        "search": lambda _, word: first.search(word),
        "search in a branch": lambda path, word: first.search(word, branch=branch_of(path)),
        "items": lambda path, _: first.items("open", branch=branch_of(path)),
        "full context": lambda path, _: first.full(branch_of(path)),
    }
    for at in range(times):
        for kind, call in kinds.items():
            path = paths[at % len(paths)]
            word = next(words_in(planted.texts[path].partition("send ")[2]), "zq")
            before, after = planted.texts[path], planted.text()
            with _in_the_middle(first, lambda p=path, t=after: _save(planted, other, p, t)) as done:
                text = asker.answer(
                    f"{kind}, edited in the middle", "first", lambda _: call(path, word)
                )
            planted.texts[path] = after
            if done and text and set(words_in(before)) & set(words_in(text)) - {word}:
                asker.wrong(kind, "first", "quotes what is in no file", text.partition("\n")[0])


@contextmanager
def _in_the_middle(workspace: Workspace, edit: Callable[[], None]) -> Iterator[list[bool]]:
    """Let something happen once, when an answer has been composed and not yet been given."""
    done: list[bool] = []
    put = workspace._put

    def edited(*arguments: object) -> str:
        text: str = put(*arguments)  # type: ignore[arg-type]
        if not done:
            done.append(True)
            edit()
        return text

    workspace._put = edited  # type: ignore[method-assign,assignment]
    try:
        yield done
    finally:
        del workspace._put


def _save(planted: Planted, other: Workspace, path: str, text: str) -> None:
    (planted.root / path).write_text(text, encoding="utf-8")
    time.sleep(SETTLED_SECONDS)
    other.freshness.refresh()


def time_to_shown(asker: Asker, saves: int) -> None:
    """From a save to a positive search that shows it, at rest before: what events bring."""
    planted, took = asker.planted, []
    paths = [path for path in planted.visible() if path not in planted.still]
    for at in range(saves):
        path, word = paths[at % len(paths)], SHARED_WORDS[at % len(SHARED_WORDS)]
        text = planted.text().replace(next(w for w in SHARED_WORDS if True), word)
        text = f"{text}\nmore {word}\n"
        new = next(words_in(text.partition("plain ")[2]))
        (planted.root / path).write_text(text, encoding="utf-8")
        saved = time.perf_counter()
        planted.texts[path] = text
        client = asker.chance.choice(list(asker.clients.values()))
        while new not in client.search(word, budget=12_000) and time.perf_counter() < saved + 10:
            time.sleep(0.005)
        took.append(time.perf_counter() - saved)
        time.sleep(0.1)
    took.sort()
    late = sum(one > LATE_SECONDS + asker.lag.lately() for one in took)
    print(
        f"\n## save to shown by a search for a word of several notes: p50 {took[len(took) // 2] * 1e3:.0f}"
        f" ms, longest {took[-1] * 1e3:.0f} ms, over 400 ms {late} (n={len(took)})"
    )


# -- the run ---------------------------------------------------------------------------------------


def step_clock(milliseconds: float) -> None:
    """Let the stamps of files advance in steps only."""
    step, real = int(milliseconds * 1e6), vault_module.fingerprint_of

    def coarse(found: object) -> Fingerprint:
        seen = real(found)  # type: ignore[arg-type]
        return seen._replace(
            mtime_ns=seen.mtime_ns // step * step + 123_457,
            ctime_ns=seen.ctime_ns // step * step + 123_457,
        )

    vault_module.fingerprint_of = coarse


@contextmanager
def followed(workspace: Workspace) -> Iterator[None]:
    """A live follower in a thread with its own event loop."""
    ready, stop = threading.Event(), threading.Event()

    async def follow() -> None:
        follower = Follower(workspace.freshness)
        async with anyio.create_task_group() as group:
            group.start_soon(follower.run)
            await follower.watching.wait()
            ready.set()
            while not stop.is_set():
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()

    thread = threading.Thread(target=anyio.run, args=(follow,), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def run(chosen: argparse.Namespace, work: Path) -> int:
    """All four parts on one vault; how many answers were wrong."""
    planted = Planted(work / "vault", seed=chosen.seed, beside=chosen.beside)
    for _ in range(120):
        planted.edit()
    settings = Settings(index_dir=str(work / "index"))
    clients = {name: Workspace(planted.root, settings) for name in ("first", "second")}
    lag = Lag()
    lag.start()
    asker = Asker(planted, clients, lag)
    for client in clients.values():
        client.build()
    print(f"seed {chosen.seed}; {len(planted.texts):,} notes; a walk takes"
          f" {clients['first'].freshness.walk_seconds * 1e3:.1f} ms")  # fmt: skip
    wrong = 0
    with followed(clients["first"]):
        for title, part in (
            ("edits, one after the other", lambda: one_after_the_other(asker, chosen.operations)),
            ("calls while a thread edits", lambda: while_a_thread_edits(asker, chosen.racing)),
        ):
            asker.tally = Tally()
            part()
            asker.tally.show(title)
            wrong += sum(asker.tally.wrong.values())
        time_to_shown(asker, chosen.saves)
    asker.tally = Tally()
    edited_in_the_middle(asker, chosen.middle)
    asker.tally.show("edited in the middle of an answer")
    for client in clients.values():
        client.close()
    return wrong + sum(asker.tally.wrong.values())


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def main() -> None:
    """Stress freshness as the command line says; exit 1 when an answer was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--beside", type=int, default=600, help="notes that never change (600)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--racing", type=float, default=20.0, help="seconds of concurrent edits (20)"
    )
    parser.add_argument("--saves", type=int, default=50)
    parser.add_argument(
        "--middle", type=int, default=20, help="edits within answers, per kind (20)"
    )
    parser.add_argument("--clock-step-ms", type=float, default=0.0)
    chosen = parser.parse_args()
    if chosen.clock_step_ms:
        step_clock(chosen.clock_step_ms)
    with tempfile.TemporaryDirectory(prefix="stress-") as folder:
        started = time.perf_counter()
        wrong = run(chosen, Path(folder))
    print(f"\n{wrong} wrong answers in {time.perf_counter() - started:.0f} s")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
