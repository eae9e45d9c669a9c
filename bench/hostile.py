"""Stress a running server with a hostile vault: swapped links, pipes, a held lock, unreadable parts, idle sessions.

    python bench/hostile.py [--only swaps,lock,unreadable,sessions] [--seconds 1200]

`swaps`: threads replace a folder and a note by links to files outside, by pipes, and back, for `--seconds`,
while every tool is called: no text from outside may be shown, and no call may hang. `lock`: a stopped
process holds the write lock of the index; a new server must shake hands and answer. `unreadable`: the vault
folder and a note lose their permissions (as a user without privileges), and the folder is moved away: no
answer may call that "none" or "exact", and all is right afterwards. `sessions`: 5,000 HTTP sessions are
opened and left. Prints one line for each and exits with 1 if anything was wrong. POSIX only.
"""

import argparse
import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from many_agents import Line, resident_megabytes, started
from raw_client import Server

OUTSIDE = "quokka"  # a word of the file outside
SLOW_SECONDS = 5.0
NOBODY = 65_534
HOLDER = """
import os, signal, sqlite3, sys
lock = sqlite3.connect(sys.argv[1], isolation_level=None)
lock.execute("BEGIN IMMEDIATE")
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("open_source_file", {"path": "d/a.md"}),
    ("open_source_file", {"path": "n/b.md"}),
    ("search_notes", {"query": OUTSIDE}),
    ("get_brief", {"branch": "d"}),
    ("list_items", {"kind": "note"}),
    ("query_full_context", {}),
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(SCENES))
    parser.add_argument("--seconds", type=float, default=1_200, help="of swaps")
    chosen = parser.parse_args()
    wrong = 0
    for name in chosen.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            faults = SCENES[name](Path(folder), chosen.seconds)
        wrong += len(faults)
        for fault in faults[:10]:
            print(f"  {name}: {fault}")
    sys.exit(bool(wrong))


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def command(vault: Path, folder: Path) -> list[str]:
    """The command that serves a vault with its index below a folder."""
    return [
        sys.executable, "-m", "workingset_mcp", "serve", "--vault", str(vault),
        "--index-dir", str(folder / "index"),
    ]  # fmt: skip


# -- links and pipes swapped in while the server reads ---------------------------------------------


class Swapper:
    """Replaces a folder, a note and an ignore file of a vault all the time, each in a thread."""

    def __init__(self, vault: Path, outside: Path) -> None:
        self._vault, self._outside = vault, outside
        self._stop = threading.Event()
        self.counts = {"folder": 0, "note": 0, "ignore file": 0}
        swaps = {"folder": self._folder, "note": self._note, "ignore file": self._ignore_file}
        self._threads = [
            threading.Thread(target=self._again_and_again, args=(name, swap))
            for name, swap in swaps.items()
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads and put plain files back."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        (self._vault / "n" / "b.md").unlink()
        (self._vault / ".gitignore").unlink()

    def _again_and_again(self, name: str, swap: Callable[[], None]) -> None:
        while not self._stop.is_set():
            swap()
            self.counts[name] += 1

    def _folder(self) -> None:
        folder, aside = self._vault / "d", self._vault / ".d"
        folder.rename(aside)
        folder.symlink_to(self._outside)
        folder.unlink()
        aside.rename(folder)

    def _note(self) -> None:
        beside, note = self._vault / "n" / ".beside", self._vault / "n" / "b.md"
        beside.symlink_to(self._outside / "a.md")
        beside.replace(note)
        if self.counts["note"] % 3 == 0:
            os.mkfifo(beside)
            beside.replace(note)
        beside.write_text("# B\n\nwalrus\n", encoding="utf-8")
        beside.replace(note)

    def _ignore_file(self) -> None:
        beside, file = self._vault / ".beside", self._vault / ".gitignore"
        os.mkfifo(beside)
        beside.replace(file)
        beside.write_text(f"zzz{self.counts['ignore file']}\n", encoding="utf-8")
        beside.replace(file)


def swaps(folder: Path, seconds: float) -> list[str]:
    """Call every tool while a folder, a note and an ignore file are replaced all the time."""
    outside = write(
        folder / "outside", {"a.md": f"# S\n\n{OUTSIDE} outside\n", ".gitignore": "zzz\n"}
    )
    vault = write(
        folder / "vault",
        {"d/a.md": "# In\n\ninside\n", "n/b.md": "# B\n\nwalrus\n", ".gitignore": "zzz\n"},
    )
    server = Server(command(vault, folder))
    server.initialize()
    swapper = Swapper(vault, outside)
    faults, calls, longest = list[str](), 0, 0.0
    ends = time.monotonic() + seconds
    try:
        while time.monotonic() < ends:
            tool, arguments = CALLS[calls % len(CALLS)]
            answer = server.call(tool, arguments)
            calls, longest = calls + 1, max(longest, answer.seconds)
            said = answer.text.replace(f"not in any note: {OUTSIDE}", "")
            if OUTSIDE in said or "Traceback" in said:
                faults.append(f"{tool}: {said[:200]!r}")
            if answer.seconds > SLOW_SECONDS:
                faults.append(f"{tool} took {answer.seconds:.1f} s")
    finally:
        swapper.stop()
    write(vault, {"n/b.md": "# B\n\nwalrus again\n"})
    if "walrus again" not in server.call("search_notes", {"query": "again"}).text:
        faults.append("a note written afterwards is not found")
    server.process.kill()
    swapped = sum(swapper.counts.values())
    print(
        f"swaps: {calls:,} calls beside {swapped:,} swaps in {seconds:.0f} s, longest {longest:.2f} s,"
        f" {len(faults)} wrong"
    )
    return faults


# -- a stopped process that holds the write lock ---------------------------------------------------


def lock(folder: Path, _: float) -> list[str]:
    """Start a server and ask it while a stopped process holds the write lock."""
    notes = {f"n/a{number}.md": f"# A{number}\n\nwalrus {number}\n" for number in range(300)}
    vault = write(folder / "vault", notes)
    running = Server(command(vault, folder))
    running.initialize()
    running.call("get_brief", {"branch": "n"})
    [index] = (folder / "index").rglob("index.sqlite3")
    took: dict[str, float] = {}
    faults: list[str] = []
    with held(index):
        write(vault, {"n/a1.md": "# A1\n\nnarwhal fresh\n"})
        time.sleep(0.5)
        begun = time.monotonic()
        starting = Server(command(vault, folder))
        starting.initialize()
        took["handshake"] = time.monotonic() - begun
        for name, server in (("running", running), ("new", starting)):
            for tool, arguments in (
                ("search_notes", {"query": "narwhal"}), ("get_brief", {"branch": "n"}),
                ("list_items", {"kind": "note"}), ("open_source_file", {"path": "n/a1.md"}),
            ):  # fmt: skip
                answer = server.call(tool, arguments)
                took[f"{name} {tool}"] = answer.seconds
                first = answer.text.partition("\n")[0]
                fresh = "narwhal" in answer.text or tool == "list_items"
                if not fresh and "behind" not in first and not answer.is_error:
                    faults.append(f"{name} {tool} is stale and does not say so: {first}")
        for words in (
            ["search", "walrus"],
            ["brief", "n"],
            ["hook", "session-start", "--branch", "n"],
        ):
            begun = time.monotonic()
            options = ["--vault", str(vault), "--index-dir", str(folder / "index")]
            subprocess.run(
                [sys.executable, "-m", "workingset_mcp", *words, *options],
                stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=150,
            )  # fmt: skip
            took[f"command {words[0]}"] = time.monotonic() - begun
    time.sleep(1.5)
    for name, server in (("running", running), ("new", starting)):
        answer = server.call("search_notes", {"query": "narwhal"})
        if "narwhal fresh" not in answer.text or "current" not in answer.text.partition("\n")[0]:
            faults.append(f"{name}: not current after the lock was released")
        server.process.kill()
    limit = {"handshake": 5.0, "command": 6.0}
    for what, seconds in took.items():
        if seconds > limit.get(what.partition(" ")[0], 3.0):
            faults.append(f"{what} took {seconds:.1f} s")
    print("lock: " + ", ".join(f"{what} {seconds:.1f} s" for what, seconds in took.items()))
    return faults


@contextmanager
def held(index: Path) -> Any:
    """The write lock of an index held by a stopped process, within the block."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(index)], stdout=subprocess.PIPE)
    assert holder.stdout
    holder.stdout.readline()
    try:
        yield
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.send_signal(signal.SIGCONT)
        holder.wait()


# -- parts that cannot be read ---------------------------------------------------------------------


def unreadable(folder: Path, _: float) -> list[str]:
    """Take permissions away, move the vault away, and bring everything back."""
    vault = write(
        folder / "vault",
        {"n/a.md": "# A\n\n- [ ] walrus\n", "m/b.md": "# B\n\n- [ ] narwhal\n"},
    )
    words = command(vault, folder)
    if os.geteuid() == 0 and shutil.which("setpriv"):
        for path in (folder, vault, *vault.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words]
    server = Server(words, environment={"HOME": str(folder)})
    server.initialize()
    faults: list[str] = []

    def ask(state: str, *, is_fine: Callable[[str], bool]) -> None:
        for tool, arguments in (
            ("search_notes", {"query": "walrus"}), ("list_items", {}), ("get_brief", {"branch": "n"}),
            ("get_brief", {}),
        ):  # fmt: skip
            text = server.call(tool, arguments).text
            if not is_fine(text):
                faults.append(f"{state}, {tool}: {text[:160]!r}")

    def is_honest(text: str) -> bool:
        lied = "Nothing found" in text or "this is exact" in text or "open: 0" in text
        return not lied or "cannot be read" in text or "is missing" in text

    def is_whole(text: str) -> bool:
        return "index current" in text and "cannot be read" not in text

    ask("at first", is_fine=is_whole)
    for state, change, back in (
        ("folder without rights", lambda: (vault / "n").chmod(0), lambda: (vault / "n").chmod(0o755)),
        ("note without rights", lambda: (vault / "n/a.md").chmod(0), lambda: (vault / "n/a.md").chmod(0o644)),
        ("vault without rights", lambda: vault.chmod(0), lambda: vault.chmod(0o755)),
        ("vault gone", lambda: vault.rename(folder / "away"), lambda: (folder / "away").rename(vault)),
    ):  # fmt: skip
        change()
        ask(state, is_fine=is_honest)
        back()
        ask(f"after {state}", is_fine=is_whole)
    server.process.kill()
    print(
        f"unreadable: 4 kinds, 5 times 4 calls whole, 4 times 4 calls without, {len(faults)} wrong"
    )
    return faults


# -- HTTP sessions that are left -------------------------------------------------------------------


def sessions(folder: Path, _: float) -> list[str]:
    """Open 5,000 sessions and leave them; the server goes on answering."""
    vault = write(folder / "vault", {"n/a.md": "# A\n\nwalrus\n"})
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = started(vault, str(folder / "index"), port)
    before = resident_megabytes(process.pid)
    faults: list[str] = []

    async def leave(count: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(count):
            line = Line(reader, writer, "2025-11-25")
            with suppress(ConnectionError):
                await line.meet()
        line = Line(reader, writer, "2026-07-28")
        said = await line.call(
            "tools/call", {"name": "search_notes", "arguments": {"query": "walrus"}}, "search_notes"
        )
        if b"walrus" not in said:
            faults.append(f"no answer after {count} sessions: {said[:100]!r}")
        writer.close()

    try:
        anyio.run(leave, 5_000)
        after = resident_megabytes(process.pid)
    finally:
        process.terminate()
        process.wait()
    print(
        f"sessions: 5,000 left, {before:.0f} MB before, {after:.0f} MB after, {len(faults)} wrong"
    )
    return faults


SCENES: Mapping[str, Callable[[Path, float], list[str]]] = {
    "swaps": swaps, "lock": lock, "unreadable": unreadable, "sessions": sessions,
}  # fmt: skip

if __name__ == "__main__":
    main()
