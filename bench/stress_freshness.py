"""Edit a vault at random and ask two clients: every answer must match the files.

    python bench/stress_freshness.py [--operations 10000] [--beside 600] [--clock-step-ms 4]

Two workspaces share one index folder; the first has a live follower. There are six parts: edits with
calls between them (a save may be half done); calls while a thread edits; the time until a search shows
a save; an edit in the middle of an answer, which the other client indexes before the answer is returned;
an edit in the middle of every attempt, which the answer must report as `behind`; quick edits of one note
that keep its size and time. `--beside` adds notes that never change, so the vault is too large to walk
for every search. `--clock-step-ms` makes timestamps advance in steps, as on Linux before 6.13. Not here:
the edits (`planted`), the questions (`asking`), real servers (`stress_servers`).
"""

import argparse
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
from asking import LATE_SECONDS, OLD, Asker, Lag, Tally, head
from planted import SHARED_WORDS, Planted, branch_of, words_in

from workingset_mcp.answers.answer import printed
from workingset_mcp.settings import Settings
from workingset_mcp.sync.follower import Follower
from workingset_mcp.vault import folder as vault_module
from workingset_mcp.vault.folder import Fingerprint
from workingset_mcp.workspace import checked
from workingset_mcp.workspace.facade import Workspace

ROUND = 40  # edits between two checks of the idle vault
FIRST_EDITS = 150
SETTLED_SECONDS = 0.06  # a timestamp this old is no longer in doubt
EDITED_NOTES = 12
GIVE_UP_SECONDS = 10.0

Call = Callable[[Workspace], str]


def one_after_the_other(asker: Asker, operations: int) -> None:
    """Make edits with calls between them; now and then check the idle vault."""
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
    print("\nedits: " + ", ".join(f"{name} {count:,}" for name, count in edits.most_common()))


def calls_on_a_note(path: str, word: str) -> dict[str, Call]:
    """A call of each kind whose answer may contain this note."""
    return {
        "brief": lambda w: printed(w.brief(branch_of(path))),
        "search": lambda w: printed(w.search(word)),
        "items": lambda w: printed(w.items("open")),
        "open": lambda w: printed(w.open(path)),
    }


def calls_on_a_branch(branch: str, word: str) -> dict[str, Call]:
    """A call of each kind with this branch as scope, and a search of everything."""
    return {
        "brief": lambda w: printed(w.brief(branch)),
        "search": lambda w: printed(w.search(word)),
        "search in a branch": lambda w: printed(w.search(word, branch=branch)),
        "items": lambda w: printed(w.items("open", branch=branch)),
        "full context": lambda w: printed(w.full(branch)),
    }


def while_a_thread_edits(asker: Asker, seconds: float) -> None:
    """An answer given while files change must be true at some moment of the call."""
    writer = Writer(asker.planted, edited_notes(asker.planted)[:EDITED_NOTES])
    writer.start()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        path, word = asker.chance.choice(writer.paths), asker.chance.choice(SHARED_WORDS)
        calls = calls_on_a_note(path, word)
        kind, client = asker.chance.choice(list(calls)), asker.client()
        started = time.perf_counter()
        text = asker.answer(kind, client, calls[kind]) or ""
        if any(writer.died.get(word, started) < started for word in words_in(text)):
            asker.wrong(OLD, kind, client, head(text))
    writer.stop.set()
    writer.join()


class Writer(threading.Thread):
    """Saves notes repeatedly and records when each word disappeared from the disk."""

    def __init__(self, planted: Planted, paths: list[str]) -> None:
        super().__init__(daemon=True)
        self.planted = planted
        self.paths = paths
        self.died: dict[str, float] = {}
        self.stop = threading.Event()

    def run(self) -> None:
        """Save until told to stop."""
        planted = self.planted
        while not self.stop.wait(planted.chance.uniform(0.0, 0.03)):
            path = planted.chance.choice(self.paths)
            old, text = planted.texts[path], planted.text()
            beside = (planted.root / path).with_name(".writer.tmp")
            beside.write_text(text, encoding="utf-8")
            beside.replace(planted.root / path)
            planted.texts[path] = text
            self.died.update(dict.fromkeys(words_in(old), time.perf_counter()))


def time_to_shown(asker: Asker, saves: int) -> None:
    """Time from a save in an idle vault to a search that shows it."""
    planted, took, late = asker.planted, [], 0
    paths = edited_notes(planted)
    for at in range(saves):
        path, word = paths[at % len(paths)], SHARED_WORDS[at % len(SHARED_WORDS)]
        text = f"# {word}\n\n{word} {word} {planted.word()}\n"
        (planted.root / path).write_text(text, encoding="utf-8")
        saved = time.perf_counter()
        planted.texts[path] = text
        client = asker.clients[asker.client()]
        while f"### {path}:" not in printed(client.search(word, budget=12_000)):
            if time.perf_counter() > saved + GIVE_UP_SECONDS:
                break
            time.sleep(0.005)
        took.append(time.perf_counter() - saved)
        late += took[-1] > LATE_SECONDS + asker.lag.lately()
        time.sleep(0.1)
    took.sort()
    print("\n## from a save to a search that shows it, for a word of several notes")
    print(
        f"p50 {took[len(took) // 2] * 1e3:.0f} ms, longest {took[-1] * 1e3:.0f} ms (n={len(took)});"
        f" over 400 ms and the machine's own delay: {late}"
    )


def edited_in_the_middle(asker: Asker, times: int) -> None:
    """Save a note while an answer is composed; the other client indexes it at once."""
    planted, (name, first), (_, other) = asker.planted, *asker.clients.items()
    paths = [path for path in edited_notes(planted) if "/" in path]
    for at in range(times):
        path = paths[at % len(paths)]
        branch = branch_of(path)
        for kind in ("brief", "search", "search in a branch", "items", "full context"):
            planted._write(path, planted.text())  # whatever the previous round left there
            before = (planted.root / path).read_text(encoding="utf-8")
            word = next(words_in(before.partition("send ")[2]))
            calls = calls_on_a_branch(branch, word)
            after = planted.text()
            with in_the_middle(first, partial(save, planted, other, path, after)):
                text = asker.answer(kind, name, calls[kind]) or ""
            planted.texts[path] = after
            if (set(words_in(before)) - {word}) & set(words_in(text)):
                asker.wrong(OLD, kind, name, head(text))


def edited_in_every_try(asker: Asker, times: int) -> None:
    """Keep changing the vault during a call: the answer must not say that it is current."""
    planted, (name, client) = asker.planted, next(iter(asker.clients.items()))
    path = next(path for path in edited_notes(planted) if "/" in path)
    branch = branch_of(path)

    def edit() -> None:
        planted._write(path, planted.text())

    calls: dict[str, Call] = {
        "brief": lambda w: printed(w.brief(branch)),
        "items": lambda w: printed(w.items("open", branch=branch)),
        "full context": lambda w: printed(w.full(branch)),
    }
    for kind, call in calls.items():
        for _ in range(times):
            with in_the_middle(client, edit, every_time=True):
                text = asker.answer(kind, name, call) or ""
            if "behind" not in head(text):
                asker.wrong("calls itself current, and is not", kind, name, head(text))
    planted.texts[path] = (planted.root / path).read_text(encoding="utf-8")


def quick_edits(asker: Asker, times: int) -> None:
    """Edit one note repeatedly, keep its size and time, and check it in between."""
    planted, (name, client) = asker.planted, next(iter(asker.clients.items()))
    path = edited_notes(planted)[0]
    file = planted.root / path
    planted._write(path, planted.text(tasks=1))
    for at in range(times):
        before, text = file.stat(), planted.text(tasks=1)
        with file.open("r+b") as opened:
            opened.write(text.encode())
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        planted.texts[path] = text
        for _ in range(at % 3):
            client.freshness.refresh(branch_of(path))
        asker.doing = "a quick edit"
        found = (
            asker.answer("brief", name, lambda w: printed(w.brief(branch_of(path), 24_000))) or ""
        )
        asker.true_words("brief", name, found, branch_of(path))


@contextmanager
def in_the_middle(
    workspace: Workspace, edit: Callable[[], None], *, every_time: bool = False
) -> Iterator[None]:
    """Run something after an answer is composed and before it is returned."""
    edits: list[Callable[[], None]] = [edit]
    patched: Any = checked
    compose = patched._with_header

    def edited(vault: object, *arguments: object) -> object:
        answer = compose(vault, *arguments)
        if edits and vault is workspace:
            (edits[0] if every_time else edits.pop())()
        return answer

    patched._with_header = edited
    try:
        yield
    finally:
        patched._with_header = compose


def save(planted: Planted, other: Workspace, path: str, text: str) -> None:
    """Save a note and let the other client index it."""
    (planted.root / path).write_text(text, encoding="utf-8")
    time.sleep(SETTLED_SECONDS)
    other.freshness.refresh()


def edited_notes(planted: Planted) -> list[str]:
    """The sources that are edited."""
    return [path for path in planted.visible() if path not in planted.still]


# -- the run ---------------------------------------------------------------------------------------


def step_clock(milliseconds: float) -> None:
    """Let the stamps of files advance in steps only."""
    step, patched = int(milliseconds * 1e6), cast("Any", vault_module)
    real: Callable[[os.stat_result], Fingerprint] = patched.fingerprint_of

    def stepped(found: os.stat_result) -> Fingerprint:
        seen = real(found)
        return seen._replace(
            mtime_ns=seen.mtime_ns // step * step + 123_457,
            ctime_ns=seen.ctime_ns // step * step + 123_457,
        )

    patched.fingerprint_of = stepped


@contextmanager
def followed(workspace: Workspace) -> Iterator[None]:
    """Run a live follower in a thread with its own event loop."""
    ready, stop = threading.Event(), threading.Event()

    async def follow() -> None:
        follower = Follower(workspace.freshness)
        async with anyio.create_task_group() as group:
            group.start_soon(follower.run)
            await follower.watching.wait()
            ready.set()
            await anyio.to_thread.run_sync(stop.wait)
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
    """Run all parts on one vault; return the number of wrong answers."""
    planted = Planted(work / "vault", seed=chosen.seed, beside=chosen.beside)
    for _ in range(FIRST_EDITS):
        planted.edit()
    settings = Settings(index_dir=str(work / "index"))
    clients = {name: Workspace(planted.root, settings) for name in ("first", "second")}
    lag = Lag()
    lag.start()
    asker = Asker(planted, clients, lag)
    for client in clients.values():
        client.build()
        client.freshness.refresh()
    print(f"seed {chosen.seed}; {len(planted.texts):,} notes")
    with followed(clients["first"]):
        wrong = part(asker, "edits, one after the other", one_after_the_other, chosen.operations)
        wrong += part(asker, "calls while a thread edits", while_a_thread_edits, chosen.racing)
        time_to_shown(asker, chosen.saves)
    wrong += part(asker, "edited in the middle of an answer", edited_in_the_middle, chosen.middle)
    wrong += part(asker, "edited in every try", edited_in_every_try, 3)
    wrong += part(asker, "quick edits of one note", quick_edits, chosen.quick)
    for client in clients.values():
        client.close()
    return wrong


def part(asker: Asker, title: str, run_it: Callable[[Asker, int], None], size: int) -> int:
    """Run one part and show its tally; return the number of wrong answers."""
    asker.tally = Tally()
    run_it(asker, size)
    asker.tally.show(title)
    return sum(asker.tally.wrong.values())


def main() -> None:
    """Stress freshness; exit with 1 on a wrong answer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--beside", type=int, default=600, help="notes that never change (600)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--racing", type=int, default=20, help="seconds of edits in a thread (20)")
    parser.add_argument("--saves", type=int, default=50)
    parser.add_argument(
        "--middle", type=int, default=20, help="edits within answers, per kind (20)"
    )
    parser.add_argument("--quick", type=int, default=500, help="quick edits of one note (500)")
    parser.add_argument("--clock-step-ms", type=float, default=0.0)
    chosen = parser.parse_args()
    if chosen.clock_step_ms:
        step_clock(chosen.clock_step_ms)
    with tempfile.TemporaryDirectory(prefix="stress-") as folder:
        started = time.perf_counter()
        wrong = run(chosen, Path(folder))
    print(f"\n{wrong:,} wrong answers in {time.perf_counter() - started:.0f} s")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
