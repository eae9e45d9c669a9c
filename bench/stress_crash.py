"""Kill the indexer at random moments and damage the index in every way: the next answer is correct.

    python bench/stress_crash.py [--kills 200] [--notes 1000] [--parts kills damage …] [--seed 1]

A kill hits `workingset-mcp index` while the index is missing, complete or behind some edits, or with
`--full`. The next start must find every note by its word, count exactly and give the brief of a fresh
index. A damaged index or page, an index that user 65534 cannot write, a full disk (a small tmpfs, if
mounting is allowed), and damage under a running server must give the correct answer or one plain
sentence. Not here: killed servers (`stress_servers`).
"""

import argparse
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

from asking import head
from damage import DAMAGES, PAGE_BYTES, RIGHTS, fill, fill_up, index_file, make_readable, small_disk
from doors import COMMANDS, NOBODY, Asked, Report, fresh_brief
from planted import Planted, words_in
from raw_client import Server, command

from workingset_mcp.answers.answer import printed
from workingset_mcp.index.query import Term
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

KINDS = ("missing", "complete", "behind", "full")
LARGE_DISK_KILOBYTES = 60_000


# -- kills -----------------------------------------------------------------------------------------


def kills(planted: Planted, work: Path, chosen: argparse.Namespace, report: Report) -> None:
    """Kill the indexer repeatedly and check what the next start says."""
    index_dir = work / "killed"
    start = command(planted.root, index_dir, "index")
    spans = {}
    for kind in KINDS:  # how long each takes undisturbed
        prepare(planted, index_dir, kind)
        process = begun(start, kind, index_dir)
        began = time.perf_counter()
        process.wait()
        spans[kind] = time.perf_counter() - began
    landed: Counter[str] = Counter()
    for at in range(chosen.kills):
        kind = KINDS[at % len(KINDS)]
        prepare(planted, index_dir, kind)
        process = begun(start, kind, index_dir)
        time.sleep(planted.chance.uniform(0.0, 1.0) * spans[kind])
        landed["ended before" if process.poll() is not None else "killed at work"] += 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        landed[state_of(index_dir)] += 1
        wrong = after_kill(planted, index_dir)
        report.note(f"index {kind}", "wrong" if wrong else "right", "; ".join(wrong))
    print(", ".join(f"{what} {count}" for what, count in landed.most_common()))
    print(
        "let be, from opening the index on: "
        + ", ".join(f"{kind} {seconds:.1f} s" for kind, seconds in spans.items())
    )


def begun(start: list[str], kind: str, index_dir: Path) -> subprocess.Popen[bytes]:
    """Start an indexer and wait until it has opened its index."""
    process = subprocess.Popen(
        [*start, *flags(kind)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not list(index_dir.rglob("index.sqlite3-wal")):
        time.sleep(0.002)
    return process


def state_of(index_dir: Path) -> str:
    """How far a killed indexer got, by the files it left."""
    found = list(index_dir.rglob("index.sqlite3"))
    if not found:
        return "no index yet"
    wal = found[0].with_name("index.sqlite3-wal")
    return "left a write-ahead log" if wal.exists() and wal.stat().st_size else "left no log"


def after_kill(planted: Planted, index_dir: Path) -> list[str]:
    """Open the index that a kill left; return its faults."""
    try:
        workspace = Workspace(planted.root, Settings(index_dir=str(index_dir)))
        try:
            if not workspace.freshness.built.is_set():
                workspace.build()
            wrong = problems_of(workspace, planted)
            if workspace.index.notice:
                wrong.append(f"notice: {workspace.index.notice}")
        finally:
            workspace.close()
    except Exception as error:  # noqa: BLE001  # any exception that a call raises is a finding, counted here
        return [f"{type(error).__name__}: {error}"]
    return wrong


def problems_of(workspace: Workspace, planted: Planted) -> list[str]:
    """The faults of an opened workspace: notes not found, counts, the brief."""
    visible, found = planted.visible(), []
    boxes = sum(text.count("- [ ]") for text in visible.values())
    for kind, count in (("note", len(visible)), ("open", boxes)):
        if f" {kind}: {count:,} in " not in (said := head(printed(workspace.items(kind)))):
            found.append(f"{said}, files say {count}")
    if printed(workspace.brief("archive")) != fresh_brief(planted):
        found.append("the brief differs from that of a fresh index")
    with workspace.index.snapshot() as snapshot:
        firsts = {path: next(words_in(text)) for path, text in visible.items()}
        lost = [path for path, word in firsts.items() if not snapshot.search(Term(word), 1)]
        ghosts = [word for word in set(planted.gone) if snapshot.search(Term(word), 1)]
    found += [f"{len(lost)} notes not searchable: {lost[:3]}"] if lost else []
    return found + ([f"old words found: {ghosts[:3]}"] if ghosts else [])


def prepare(planted: Planted, index_dir: Path, kind: str) -> None:
    """Bring an index into the state that the next indexer finds."""
    if kind == "missing":
        shutil.rmtree(index_dir, ignore_errors=True)
        return
    workspace = Workspace(planted.root, Settings(index_dir=str(index_dir)))
    workspace.build()
    workspace.freshness.refresh()
    workspace.close()
    if kind == "behind":
        edit(planted, len(planted.still) // 3)


def edit(planted: Planted, count: int) -> str:
    """Edit some notes and return the path of one."""
    paths = planted.chance.sample(list(planted.still), count)
    for path in paths:
        planted.gone.extend(words_in(planted.texts[path]))
        planted.texts[path] = planted.still[path] = planted.text()
        (planted.root / path).write_text(planted.texts[path], encoding="utf-8")
    return paths[0]


def flags(kind: str) -> list[str]:
    """Flags of the indexer."""
    return ["--full"] if kind == "full" else []


# -- damage, permissions, a full disk -------------------------------------------------------------------


def copied(work: Path) -> Path:
    """A copy of the complete index."""
    shutil.rmtree(work / "copy", ignore_errors=True)
    return shutil.copytree(work / "whole", work / "copy")


def damage(planted: Planted, work: Path, chosen: argparse.Namespace, report: Report) -> None:
    """Damage a complete index in each way, and some of its pages, one at a time."""
    prepare(planted, work / "whole", "complete")
    asked = Asked(planted, work / "copy")
    for name, does in DAMAGES.items():
        for door in (*COMMANDS, "server"):
            does(index_file(copied(work)))
            found = asked.by_server() if door == "server" else asked.by_command(door)
            report.note(name, *found)
    pages = index_file(work / "whole").stat().st_size // PAGE_BYTES
    for page in planted.chance.sample(range(1, pages), min(chosen.pages, pages - 1)):
        for name, filling in (("zeroed", bytes), ("of junk", planted.chance.randbytes)):
            for door in COMMANDS:
                fill(index_file(copied(work)), page * PAGE_BYTES, (page + 1) * PAGE_BYTES, filling)
                report.note(f"one page {name}", *asked.by_command(door))


def rights(planted: Planted, work: Path, chosen: argparse.Namespace, report: Report) -> None:
    """Ask as a user who can read the vault but cannot write the index or its folder."""
    if os.getuid() != 0:
        print("only root can switch users: skipping permissions")
        return
    make_readable(planted.root)
    asked = Asked(planted, work / "copy")
    for name, does in RIGHTS.items():
        prepare(planted, work / "whole", "complete")
        for edited in (False, True):
            for door in COMMANDS:
                does(copied(work))
                if edited:
                    asked.choose(edit(planted, 3))
                temporary = "no temporary" not in name
                found = asked.by_command(door, user=NOBODY, temporary=temporary)
                report.note(f"{name}{', notes edited since' if edited else ''}", *found)


def disk(planted: Planted, work: Path, chosen: argparse.Namespace, report: Report) -> None:
    """A full disk: from the start, during a build, and after a complete build."""
    for name, size in (
        ("full from the start", 64),
        ("full while building", chosen.tmpfs_kilobytes),
        ("full after the build", LARGE_DISK_KILOBYTES),
    ):
        for door in ("index", *COMMANDS, "server"):
            place = work / f"disk-{size}-{door}"
            with small_disk(place, size) as mounted:
                if not mounted:
                    print("mounting is not allowed: skipping the full disk")
                    return
                asked = Asked(planted, place / "index")
                if size == LARGE_DISK_KILOBYTES:
                    prepare(planted, place / "index", "complete")
                    asked.choose(edit(planted, 50))
                if size != chosen.tmpfs_kilobytes:
                    fill_up(place)
                found = asked.by_server() if door == "server" else asked.by_command(door)
                report.note(f"{name}, {door}", *found)


def serving(planted: Planted, work: Path, chosen: argparse.Namespace, report: Report) -> None:
    """Damage the index under a running server, edit notes, and ask."""

    def junk(folder: Path) -> None:
        file = index_file(folder)
        size = file.stat().st_size
        fill(file, size // 50, size, planted.chance.randbytes)

    happenings: dict[str, Callable[[Path], object]] = {
        "nothing": lambda folder: None,
        "index rebuilt by a command": lambda folder: subprocess.run(
            [*command(planted.root, folder, "index"), "--full"],
            check=True, stdout=subprocess.DEVNULL,
        ),
        "folder removed": shutil.rmtree,
        "index file removed": lambda folder: index_file(folder).unlink(),
        "index filled with junk": junk,
        "disk full": lambda folder: fill_up(folder.parent),
    }  # fmt: skip
    for number_of_round, (name, happens) in product(range(chosen.rounds), happenings.items()):
        place = work / f"serving-{number_of_round}-{name.replace(' ', '-')}"
        with small_disk(place, LARGE_DISK_KILOBYTES) as mounted:
            if not mounted and name == "disk full":
                continue
            asked = Asked(planted, place / "index")
            server = Server(command(planted.root, place / "index", "serve"))
            server.initialize()
            while " · indexing " in head(server.call("list_items", {"kind": "note"}).text):
                pass
            happens(place / "index")
            asked.choose(edit(planted, 50))
            numbers = {}
            for _ in range(3):  # at the same time, so that more than one reader is needed
                for door, tool, arguments in (
                    ("search", "search_notes", {"query": asked.word}),
                    ("brief", "get_brief", {"branch": "archive"}),
                    ("items", "list_items", {"kind": "note"}),
                ):
                    call = {"name": tool, "arguments": arguments}
                    numbers[server.begin("tools/call", call)] = door
            try:
                answers = server.answers(numbers)
            except EOFError:
                report.note(f"{name}, server", "died", f"exit {server.process.wait(30)}")
                answers = {}
            except TimeoutError as error:
                report.note(f"{name}, server", "hangs", str(error))
                answers = {}
            for number, answer in answers.items():
                text, is_error = server.text_of(answer)
                found = asked.judged(numbers[number], text, is_error=is_error)
                report.note(f"{name}, {numbers[number]}", *found)
            server.kill()


# -- the run ---------------------------------------------------------------------------------------

PARTS = {
    "damage": (damage, "a damaged index"),
    "rights": (rights, "an index that user 65534 may not write"),
    "disk": (disk, "a full disk"),
    "serving": (serving, "under a running server, then 50 notes edited"),
    "kills": (kills, "kill -9 of the indexer, next start"),
}


def main() -> None:
    """Stress the index file; exit with 1 on a wrong outcome."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--notes", type=int, default=1_000)
    parser.add_argument("--pages", type=int, default=25, help="pages damaged, one at a time (25)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds with a running server (5)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tmpfs-kilobytes", type=int, default=1_500)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    chosen = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="stress-") as folder:
        planted = Planted(Path(folder) / "vault", seed=chosen.seed, beside=chosen.notes)
        for name in chosen.parts:
            run, title = PARTS[name]
            run(planted, Path(folder), chosen, report)
            report.show(title)
    print(f"\n{report.wrong:,} outcomes wrong")
    raise SystemExit(1 if report.wrong else 0)


if __name__ == "__main__":
    main()
