"""Kill `compact` at random moments, and save both files beside it: no byte is lost.

    python bench/stress_compact.py [--kills 400] [--races 80] [--seed 1]

Every fourth kill hits the whole command, the others a process that only writes the two files (the
command spends most of its time before that). Notes end their lines in every way, with a byte order
mark and without a last line end. In a race another process saves the note or the archive all the while,
in place or by renaming, with pauses of up to 100 ms, while up to 20 runs try to compact. Exit 1 when a byte
is missing.
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
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from workingset_mcp.cli.compact import (
    apply_compaction,
    archive_of,
    parts_of,
    plan_compaction,
    read_both,
    remove_leftovers,
)
from workingset_mcp.errors import VaultError
from workingset_mcp.settings import Settings

BLOCKS = 1_500
POINTER = re.compile(rb"_Older status: \[index\.archive\.md\]\(.+?\), part (\d+)_(?:\r\n|\n)")
RACES = ("note in place", "note by renaming", "archive in place", "archive by renaming")
RACE_BLOCKS, RACE_RUNS = 120, 20  # few blocks are planned fast: most of a run is writing
NOTES = {
    "LF": ("\n", b"", True),
    "CRLF": ("\r\n", b"", True),
    "BOM": ("\n", b"\xef\xbb\xbf", True),
    "no last line end": ("\r\n", b"\xef\xbb\xbf", False),
}


def note_of(kind: str, blocks: int = BLOCKS) -> bytes:
    """A note with many dated statuses, newest first."""
    end, mark, closed = NOTES[kind]
    days = [f"20{year:02}-{month:02}-11" for year in range(99, 0, -1) for month in range(12, 0, -1)]
    text = f"# Lock{end}{end}" + f"{end}{end}".join(
        f"## STATUS ({days[at % len(days)]} {at % 24:02}:{at % 60:02}){end}{end}"
        f"Gate {at} is closed at night, wasserseitig auch über Mittag; the pump runs on its own.{end}"
        f"- Crew {at} is trained{end}- [ ] Grease hinge {at}"
        for at in range(blocks)
    )
    return mark + (text + end if closed else text).encode()


def killed(note: Path, whole: bool, seconds: float | None) -> float:
    """Compact in a child process and kill it after this many seconds; return how long it lived."""
    if whole:
        command = [sys.executable, "-m", "workingset_mcp", "compact", str(note), "--apply"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        kill: Callable[[], None] = process.kill
        wait: Callable[[], object] = process.wait
    else:
        planned = plan_compaction(note.read_bytes(), b"", archive_of(note).name, Settings())
        arguments = (note, note.read_bytes(), b"", planned)
        writer = get_context("fork").Process(target=apply_compaction, args=arguments)
        writer.start()
        kill, wait = writer.kill, writer.join
    began = time.perf_counter()
    if seconds is not None:
        time.sleep(seconds)
        kill()
    wait()
    return time.perf_counter() - began


def state_of(note: Path, before: bytes) -> str:
    """Which files a kill left and whether together they contain the note, else what is wrong."""
    archive = archive_of(note)
    rest, moved = note.read_bytes(), archive.read_bytes() if archive.exists() else b""
    parts = parts_of(moved)
    if POINTER.sub(lambda found: parts.get(int(found[1]), found[0]), rest) != before:
        return "LOST"
    if rest != before:
        return "both written"
    return "archive written" if moved else "nothing written"


def left_beside(note: Path) -> int:
    """How many hidden files the next run, two minutes later, does not remove."""
    for file in note.parent.iterdir():
        os.utime(file, (time.time() - 120, time.time() - 120))
    remove_leftovers(note)
    return sum(1 for file in note.parent.iterdir()) - 2


class Raced(NamedTuple):
    """Runs that wrote, runs that were refused, and lines or blocks that are nowhere."""

    wrote: int
    refused: int
    lost: int


def compact_once(note: Path) -> bool:
    """Plan and write; False when that was refused since something was saved meanwhile."""
    try:
        raw, before = read_both(note)
        planned = plan_compaction(raw, before, archive_of(note).name, Settings())
        if planned.moved:
            apply_compaction(note, raw, before, planned)
    except (VaultError, FileNotFoundError):
        return False
    return True


def save_all_the_while(folder: str, kind: str, seed: int, count: Any, stop: Any) -> None:
    """Another program: saves numbered lines to note or archive until it is stopped."""
    chance = random.Random(seed)
    file = Path(folder) / ("index.md" if "note" in kind else "index.archive.md")
    while not stop.is_set():
        words = b"\nsaved %d.\n" % count.value
        if "in place" in kind:
            with file.open("ab") as opened:
                opened.write(words)
        else:
            # What came between reading and renaming is overwritten by this program itself: it reads again.
            beside = file.with_name("beside.tmp")
            with suppress(FileNotFoundError):
                beside.write_bytes(b"".join((file.read_bytes(), words)))
                beside.replace(file)
        count.value += 1
        time.sleep(chance.uniform(0.0, 0.1))


def raced(folder: Path, kind: str, chance: random.Random) -> Raced:
    """Compact beside a process that saves, until a run writes."""
    for file in folder.iterdir():
        file.unlink()
    note = folder / "index.md"
    note.write_bytes(note_of("LF", RACE_BLOCKS))
    archive_of(note).write_bytes(b"# Old\n")
    context = get_context("fork")
    count, stop = context.Value("i", 0), context.Event()
    arguments = (str(folder), kind, chance.randrange(1 << 30), count, stop)
    saver = context.Process(target=save_all_the_while, args=arguments)
    saver.start()
    refused = 0
    while refused < RACE_RUNS and not compact_once(note):
        refused += 1
    stop.set()
    saver.join()
    texts = b"".join(file.read_bytes() for file in folder.iterdir())
    lost = sum(b"Gate %d is closed" % at not in texts for at in range(RACE_BLOCKS))
    lost += sum(b"\nsaved %d.\n" % at not in texts for at in range(count.value))
    return Raced(int(refused < RACE_RUNS), refused, lost)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=400)
    parser.add_argument("--races", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    chance = random.Random(chosen.seed)
    states: Counter[tuple[bool, str]] = Counter()
    unfinished = left = 0
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "index.md"
        spans = {}
        for whole in (True, False):
            lives = []
            for _ in range(3):
                archive_of(note).unlink(missing_ok=True)
                note.write_bytes(note_of("LF"))
                lives.append(killed(note, whole, None))
            spans[whole] = min(lives)
        for at in range(chosen.kills):
            before = note_of(list(NOTES)[at // 4 % len(NOTES)])
            archive_of(note).unlink(missing_ok=True)
            note.write_bytes(before)
            whole = at % 4 == 0
            killed(note, whole, chance.uniform(0.0, 1.0) * spans[whole])
            states[whole, state_of(note, before)] += 1
            compact_once(note)
            unfinished += state_of(note, before) != "both written"
            left += left_beside(note)
        races = {
            kind: [raced(Path(folder), kind, chance) for _ in range(chosen.races // len(RACES))]
            for kind in RACES
        }
    for whole, what in ((True, "whole command"), (False, "writing only")):
        found = {state: count for (kind, state), count in states.items() if kind == whole}
        print(f"{what} ({spans[whole] * 1000:.0f} ms): {found}")
    lost = sum(count for (_, state), count in states.items() if state == "LOST")
    print(
        f"{chosen.kills} kills, {lost} lost, {unfinished} not ended by a rerun, {left} hidden files left beside"
    )
    for kind, seen in races.items():
        wrote, refused, missing = map(sum, zip(*seen, strict=True)) if seen else (0, 0, 0)
        print(f"{kind}: {len(seen)} races, {wrote} compacted, {refused} refused, {missing} lost")
        lost += missing
    return 1 if lost or unfinished or left else 0


if __name__ == "__main__":
    sys.exit(main())
