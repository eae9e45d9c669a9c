"""Eight servers on one vault and one index, with edits, calls and kills; then eight started at once.

    python bench/stress_servers.py [--seconds 60] [--servers 8] [--kills 5] [--notes 300]
                                   [--first-notes 2000] [--seed 1]

Every call is judged. A note that is never edited must always be found, once, and counted. An edited note
must be found by its newest words within 10 s, and by every server at the end. The generations of a first
index show how many servers built it, compared with a single builder. Not here: kills while indexing
(`stress_crash`), ends of servers (`stress_life`).
"""

import argparse
import contextlib
import random
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from asking import head, number
from planted import Planted, words_in
from raw_client import Answer, Server, command, processor_seconds

from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

EDITS_A_SECOND = 20.0
MOST_EXAMPLES = 3
_ITEMS = re.compile(r"items · \w+: ([\d,]+) in ")


class Report:
    """Counts of calls and faults, from all threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}
        self.longest: tuple[float, str] = (0.0, "")

    def took(self, answer: Answer, tool: str) -> None:
        """Count a call."""
        with self.lock:
            self.calls[tool] += 1
            self.longest = max(self.longest, (answer.seconds, tool))

    def note(self, what: str, example: str) -> None:
        """Count a fault."""
        with self.lock:
            self.wrong[what] += 1
            if len(kept := self.examples.setdefault(what, [])) < MOST_EXAMPLES:
                kept.append(example[:400])

    def show(self) -> None:
        """Print the report."""
        calls = sum(self.calls.values())
        print(f"calls {calls:,} ({', '.join(f'{k} {n:,}' for k, n in sorted(self.calls.items()))})")
        print(f"longest call {self.longest[0]:.2f} s ({self.longest[1]})")
        for what in ("errors", "lost notes", "duplicate notes", "wrong counts", "old words"):
            self.wrong.setdefault(what, 0)
        for what, count in sorted(self.wrong.items()):
            print(f"{what:<44} {count:>6,}")
            for example in self.examples.get(what, []):
                print(f"      e.g. {example}")


class Client(threading.Thread):
    """Calls one server without pause and restarts it after a kill."""

    def __init__(self, at: int, start: list[str], planted: Planted, report: Report) -> None:
        super().__init__(daemon=True)
        self.start_command = start
        self.report = report
        self.chance = random.Random(at)
        self.still = list(planted.still.items())
        self.stop = threading.Event()
        self.server = self._new_server()

    def run(self) -> None:
        """Call until told to stop."""
        while not self.stop.is_set():
            try:
                self._call()
            except (EOFError, ValueError, OSError) as error:
                if not self.stop.is_set():
                    if (code := self.server.process.wait(30)) != -signal.SIGKILL:
                        self.report.note("errors", f"the server ended by itself, {code}: {error}")
                    self.server = self._new_server()
            except TimeoutError as error:
                self.report.note("errors", str(error))

    def _new_server(self) -> Server:
        server = Server(self.start_command)
        with contextlib.suppress(EOFError, OSError):
            server.initialize()
        return server

    def _call(self) -> None:
        path, text = self.chance.choice(self.still)
        word = self.chance.choice(list(words_in(text)))
        tool, arguments = self.chance.choice(
            [
                ("search_notes", {"query": word}),
                ("search_notes", {"query": word}),
                ("get_brief", {"branch": "archive"}),
                ("get_brief", {}),
                ("list_items", {"kind": "note", "branch": "archive"}),
                ("open_source_file", {"path": path}),
                ("query_full_context", {"query": word}),
            ]
        )
        answer = self.server.call(tool, arguments)
        self.report.took(answer, tool)
        if answer.is_error:
            self.report.note("errors", f"{tool}: {answer.text}")
            return
        self._judge(tool, answer.text, path, word)

    def _judge(self, tool: str, text: str, path: str, word: str) -> None:
        if tool == "list_items":
            found = _ITEMS.search(text)
            if not found or number(found[1]) != len(self.still):
                self.report.note("wrong counts", head(text))
        elif tool in ("search_notes", "query_full_context"):
            places = set(re.findall(r"^### (.+?):\d", text, re.MULTILINE))
            if path not in places:
                self.report.note("lost notes", f"{tool} {word} of {path}: {head(text)}")
            elif len(places) > 1:
                self.report.note("duplicate notes", f"{word} of {path} in {sorted(places)}")
        elif tool == "open_source_file" and word not in text:
            self.report.note("lost notes", f"open {path}: {head(text)}")


def eight_at_work(chosen: argparse.Namespace, work: Path) -> int:
    """Run edits and calls for a while, killing and restarting servers; return the number of faults."""
    planted = Planted(work / "vault", seed=chosen.seed, beside=chosen.notes)
    for _ in range(100):
        planted.edit()
    report = Report()
    start = command(planted.root, work / "index", "serve")
    clients = [Client(at, start, planted, report) for at in range(chosen.servers)]
    for client in clients:
        client.start()
    began = time.monotonic()
    kills = sorted(planted.chance.uniform(2, chosen.seconds - 2) for _ in range(chosen.kills))
    edits = 0
    while time.monotonic() < began + chosen.seconds:
        planted.edit()
        edits += 1
        if kills and time.monotonic() > began + kills[0]:
            kills.pop(0)
            planted.chance.choice(clients).server.process.kill()
        time.sleep(planted.chance.uniform(0, 2 / EDITS_A_SECOND))
    for client in clients:
        client.stop.set()
    for client in clients:
        client.join(90)
    print(
        f"\n## {chosen.servers} servers, {chosen.seconds} s: {edits:,} edits, {chosen.kills} kills"
    )
    time.sleep(0.5)
    for client in clients:
        at_the_end(client.server, planted, report)
    in_the_index(planted, work / "index", report)
    for client in clients:
        client.server.kill()
        if b"Traceback" in b"".join(client.server.errors):
            report.note("tracebacks on stderr", last_lines(client.server.errors))
    report.show()
    return sum(report.wrong.values())


def at_the_end(server: Server, planted: Planted, report: Report) -> None:
    """Check what a server says about the idle vault: counts, and the newest words of edited notes."""
    visible = planted.visible()
    answer = server.call("list_items", {"kind": "note"})
    found = _ITEMS.search(answer.text)
    if not found or number(found[1]) != len(visible):
        report.note("wrong counts", f"{head(answer.text)}, files say {len(visible)}")
    for path, text in visible.items():
        if path in planted.still:
            continue
        for word in list(words_in(text))[:1]:
            answer = server.call("search_notes", {"query": word})
            if answer.is_error or f"### {path}:" not in answer.text:
                report.note("lost notes", f"at rest, {word} of {path}: {head(answer.text)}")
    for word in list(planted.gone)[-60:]:
        answer = server.call("search_notes", {"query": word})
        if not planted.holders(word) and "nothing found" not in head(answer.text):
            report.note("old words", f"at rest, {word}: {head(answer.text)}")


def in_the_index(planted: Planted, index_dir: Path, report: Report) -> None:
    """Compare the final index with a freshly built one."""
    shared = Workspace(planted.root, Settings(index_dir=str(index_dir)))
    fresh = Workspace(planted.root, Settings(), in_memory=True)
    fresh.build()
    with shared.index.snapshot() as one, fresh.index.snapshot() as other:
        if one.paths() != other.paths():
            report.note("lost notes", f"index: {set(one.paths()) ^ set(other.paths())}")
        if one.section_count() != other.section_count():
            report.note("wrong counts", f"{one.section_count()} sections, {other.section_count()}")
        words, right = (
            sorted(view.words_between("", "\U0010ffff", 10**6)) for view in (one, other)
        )
        if words != right:
            report.note("old words", f"in the word index: {sorted(set(words) ^ set(right))[:4]}")
    shared.close()
    fresh.close()


def eight_at_once(chosen: argparse.Namespace, work: Path) -> int:
    """Start servers together without an index: check who builds it and whether all answer."""
    planted = Planted(work / "large", seed=chosen.seed, beside=chosen.first_notes)
    started = time.perf_counter()
    alone = command(planted.root, work / "index-alone", "index")
    subprocess.run(alone, check=True, stdout=subprocess.DEVNULL)
    alone_seconds = time.perf_counter() - started
    one, index_dir = generation(planted.root, work / "index-alone"), work / "index-eight"
    report = Report()
    started = time.perf_counter()
    servers = [Server(command(planted.root, index_dir, "serve")) for _ in range(chosen.servers)]
    waits: list[float] = []
    threads = [
        threading.Thread(target=first_answer, args=(server, planted, report, started, waits))
        for server in servers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = [processor_seconds(server.process.pid) for server in servers]
    for server in servers:
        server.kill()
        if b"Traceback" in b"".join(server.errors):
            report.note("tracebacks on stderr", last_lines(server.errors))
    eight = generation(planted.root, index_dir)
    print(f"\n## {chosen.servers} servers at once, {chosen.first_notes:,} notes, no index")
    print(f"one builder alone: {alone_seconds:.1f} s, {one} generations")
    print(
        f"all answered rightly after {max(waits, default=0):.1f} s;"
        f" {eight} generations: {eight / one:.1f} builders"
    )
    print(f"CPU seconds: {', '.join(f'{seconds:.1f}' for seconds in sorted(spent))}")
    report.show()
    return sum(report.wrong.values())


def first_answer(
    server: Server, planted: Planted, report: Report, started: float, waits: list[float]
) -> None:
    """Ask until the answer is complete; every earlier answer must say that it is not."""
    path, text = list(planted.still.items())[-1]
    word = next(words_in(text))
    try:
        server.initialize()
        while True:
            answer = server.call("search_notes", {"query": word})
            report.took(answer, "search_notes")
            if answer.is_error:
                report.note("errors", answer.text)
            elif f"### {path}:" in answer.text:
                break
            elif " · indexing " not in head(answer.text):
                report.note("lost notes", f"{word} of {path}: {head(answer.text)}")
        waits.append(time.perf_counter() - started)
        answer = server.call("list_items", {"kind": "note"})
        found = _ITEMS.search(answer.text)
        if " · indexing " in head(answer.text):
            return
        if not found or number(found[1]) != len(planted.still):
            report.note("wrong counts", head(answer.text))
    except (EOFError, TimeoutError) as error:
        report.note("errors", f"{error}: {last_lines(server.errors)}")


def generation(vault: Path, index_dir: Path) -> int:
    """The generation of an index that nobody is using."""
    workspace = Workspace(vault, Settings(index_dir=str(index_dir)))
    with workspace.index.snapshot() as snapshot:
        found = snapshot.generation()
    workspace.close()
    return found


def last_lines(errors: list[bytes]) -> str:
    """The last lines of a server's stderr."""
    return b"".join(errors[-3:]).decode("utf-8", "replace").strip().replace("\n", " | ")


def main() -> None:
    """Stress several servers; exit with 1 on any fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--notes", type=int, default=300, help="notes that never change (300)")
    parser.add_argument("--first-notes", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stress-") as folder:
        wrong = eight_at_once(chosen, Path(folder))
        wrong += eight_at_work(chosen, Path(folder))
    print(f"\n{wrong:,} faults")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
