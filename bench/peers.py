"""Compare other tools with this one on one vault: same driver, isolated, never trusted.

Each tool gets a copy of the vault (some write into it) and its own home folder below `--work`. Each
phase has a time limit; a phase that exceeds it keeps its results so far, and the page says so. If a tool
fails to install or run, the page gives the reason. Offline keyword search only, no models. Not here: the
questions (the needles of `make_vault`), driving each tool (`adapters`), showing figures (`page`).
"""

import json
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from adapters import BEST, PEERS, Peer, any_word, run
from driver import read_needles, spread
from make_vault import needles_file
from processes import resident_megabytes
from raw_client import Server
from serving import files_below, saved

from workingset_mcp.answers.budget import count_tokens

INDEX_SECONDS = 300.0
INDEX_ALL_SECONDS = 25.0  # no further build starts after this
PHASE_SECONDS = 40.0  # per form of question
ROUNDS = 5
SAVES = 12
SAVE_SECONDS = 8.0
MISSES = 3
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+")

Figures = dict[str, Any]


class Keeper(Protocol):
    """Stores figures and reports progress."""

    figures: Figures

    def say(self, what: str) -> None:
        """Print one line of progress."""

    def write(self) -> None:
        """Write the figures so far."""


def measure_peers(work: Path, vault: Path, kept: Keeper, only: list[str] | None) -> None:
    """Measure every peer in turn; record its figures, or why it did not run."""
    needles = read_needles(needles_file(vault))
    random.Random(1).shuffle(needles)
    for peer in PEERS:
        if only and peer.name not in only:
            continue
        one = Run(peer, work / "peers" / peer.name, needles)
        made: Figures = {"package": peer.package, "remark": peer.remark}
        kept.figures["peers"][peer.name] = made
        try:
            one.prepare(vault, made)
            one.measure(made)
        except (RuntimeError, OSError, EOFError, TimeoutError, KeyError) as error:
            made["failed"] = f"{type(error).__name__}: {error}"
        except subprocess.TimeoutExpired as error:
            made["failed"] = f"{Path(error.cmd[0]).name} did not end in {error.timeout:.0f} s"
        kept.write()
        kept.say(f"peer {peer.name}: {made.get('failed', 'measured')}")


class Run:
    """One peer on its copy of the vault."""

    def __init__(self, peer: Peer, folder: Path, needles: list[dict[str, Any]]) -> None:
        self.peer, self.folder, self.needles = peer, folder, needles
        self.vault = folder / "vault"
        self.home = folder / "home"
        places = {"HOME": self.home, "XDG_CACHE_HOME": self.home, "XDG_CONFIG_HOME": self.home}
        self.environment = {
            **os.environ, **{name: str(path) for name, path in places.items()}, **peer.environment,
        }  # fmt: skip
        self._notes: dict[str, str] = {}

    def prepare(self, vault: Path, made: Figures) -> None:
        """Install the peer if needed, and copy the vault."""
        self.folder.mkdir(parents=True, exist_ok=True)
        installed = self.folder / "installed"
        if not installed.exists():
            self.peer.install(self.folder)
            installed.touch()
        made["version"] = self.peer.version(self.folder)
        shutil.rmtree(self.vault, ignore_errors=True)
        shutil.copytree(vault, self.vault)
        paths = [path.relative_to(vault).as_posix() for path in vault.rglob("*.md")]
        self._notes = {path.removesuffix(".md").lower(): path for path in paths}

    def measure(self, made: Figures) -> None:
        """Take all measurements."""
        self._build(made)
        if self.peer.by_command:
            self._questions(made, self._ask_command)
            return
        made["start"] = [self._start() for _ in range(ROUNDS)]
        server = self._server()
        try:
            listed = server.request("tools/list", {})["result"]["tools"]
            made["tools"] = len(listed)
            made["tools tokens"] = count_tokens(
                json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
            )

            def ask(query: str) -> str:
                return server.call(self.peer.tool, self.peer.arguments(query, self.vault)).text

            ask(self.needles[0]["query"])
            self._questions(made, ask)
            made["saves"] = self._saves(ask)
            made["memory"] = resident_megabytes(server.process.pid)
        finally:
            server.kill()

    def _build(self, made: Figures) -> None:
        if self.peer.index is None:
            return
        made["index"] = []
        began = time.monotonic()
        while len(made["index"]) < ROUNDS and (
            not made["index"] or time.monotonic() - began < INDEX_ALL_SECONDS
        ):
            shutil.rmtree(self.home, ignore_errors=True)
            self.home.mkdir()
            *before, last = self.peer.index(self.folder, self.vault)
            for command in before:
                run(command, INDEX_SECONDS, self.environment)
            try:
                made["index"].append(self._seconds(last))
            except subprocess.TimeoutExpired as error:  # queried on the part it indexed
                made["index cut"] = error.timeout
                return
        made["index bytes"] = sum(path.stat().st_size for path in files_below(self.home))
        if self.peer.refresh is not None:
            made["refresh"] = []
            note = next(self.vault.rglob("*.md"))
            rounds = ROUNDS if made["index"][-1] < INDEX_ALL_SECONDS else 1
            for turn in range(rounds):
                note.write_bytes(note.read_bytes() + f"\nTurn {turn}.\n".encode())
                made["refresh"].append(self._seconds(self.peer.refresh(self.folder, self.vault)))

    def _seconds(self, command: list[str]) -> float:
        began = time.perf_counter()
        run(command, INDEX_SECONDS, self.environment)
        return time.perf_counter() - began

    def _server(self) -> Server:
        self.home.mkdir(exist_ok=True)
        command = self.peer.serve(self.folder, self.vault)
        server = Server(command, environment=self.environment)
        try:
            server.initialize()
        except (TimeoutError, EOFError):
            server.kill()
            raise
        return server

    def _start(self) -> float:
        began = time.perf_counter()
        server = self._server()
        try:
            server.call(self.peer.tool, self.peer.arguments(self.needles[0]["query"], self.vault))
            return (time.perf_counter() - began) * 1e3
        finally:
            server.kill()

    def _ask_command(self, query: str) -> str:
        command = self.peer.serve(self.folder, self.vault)
        at = command.index("{query}")
        command[at : at + 1] = any_word(query)
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        counted = [line.rpartition(":") for line in told.splitlines()]
        counted.sort(key=lambda line: -int(line[2]))
        return "\n".join(path for path, _, _ in counted)

    def _questions(self, made: Figures, ask: Callable[[str], str]) -> None:
        for form in ("query", "question"):
            until = time.monotonic() + PHASE_SECONDS
            took, sizes, first, among, shown = [], [], 0, 0, 0
            for needle in self.needles:
                if time.monotonic() > until:
                    break
                began = time.perf_counter()
                text = ask(needle[form])
                took.append((time.perf_counter() - began) * 1e3)
                sizes.append(count_tokens(text))
                named = self._named(text)[:BEST]
                first += named[:1] == [needle["path"]]
                among += needle["path"] in named
                shown += needle["answer"] in text
            found = spread(took)
            made[form] = {
                "asked": len(took), "p50": found.p50, "p99": found.p99,
                "tokens": sorted(sizes)[len(sizes) // 2], "first": first / len(took),
                "among": among / len(took), "shown": shown / len(took),
            }  # fmt: skip

    def _named(self, text: str) -> list[str]:
        """The notes that an answer names, in order; paths may lack the root or the suffix."""
        named: dict[str, None] = {}
        for spelled in _PATH.findall(text):
            parts = spelled.strip("./").lower().removesuffix(".md").split("/")
            tails = ("/".join(parts[at:]) for at in range(len(parts)))
            known = next((self._notes[tail] for tail in tails if tail in self._notes), None)
            if known:
                named[known] = None
        return list(named)

    def _saves(self, ask: Callable[[str], str]) -> Figures:
        """Milliseconds from a save to the first answer that names the note, and how many were never found."""
        chance, took, missed = random.Random(), [], 0
        paths = sorted(self._notes.values())
        for path in chance.sample(paths, SAVES):
            word = "zq" + "".join(chance.choice("bcdfghjklmnp") for _ in range(12))
            if path in self._named(ask(word)):
                continue
            with saved(self.vault / path, f"\nSaved mark {word}.\n") as renamed_at:
                while (waited := time.perf_counter() - renamed_at) < SAVE_SECONDS:
                    if path in self._named(ask(word)):
                        took.append((time.perf_counter() - renamed_at) * 1e3)
                        break
                    time.sleep(0.005)
            missed += waited >= SAVE_SECONDS
            if missed == MISSES:
                break
            time.sleep(chance.uniform(0.05, 0.4))
        return {"milliseconds": took, "missed": missed}
