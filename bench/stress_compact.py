"""Kill `compact` at random moments: no byte is lost, and a rerun finishes the job.

    python bench/stress_compact.py [--kills 400] [--seed 1]

Every fourth kill hits the whole command; the others hit a process that only writes the two files, because
the command spends most of its time before that. Notes use every kind of line end, with a byte order mark
or without a final line end. Exits with 1 if a byte is missing.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

from workingset_mcp.cli.compact import apply_compaction, archive_of, parts_of, plan_compaction
from workingset_mcp.settings import Settings

BLOCKS = 1_500
POINTER = re.compile(rb"_Older status: \[index\.archive\.md\]\(.+?\), part (\d+)_(?:\r\n|\n)")
NOTES = {
    "LF": ("\n", b"", True),
    "CRLF": ("\r\n", b"", True),
    "BOM": ("\n", b"\xef\xbb\xbf", True),
    "no last line end": ("\r\n", b"\xef\xbb\xbf", False),
}


def note_of(kind: str) -> bytes:
    """A note with many dated statuses, newest first."""
    end, mark, closed = NOTES[kind]
    days = [f"20{year:02}-{month:02}-11" for year in range(99, 0, -1) for month in range(12, 0, -1)]
    text = f"# Lock{end}{end}" + f"{end}{end}".join(
        f"## STATUS ({days[at % len(days)]} {at % 24:02}:{at % 60:02}){end}{end}"
        f"Gate {at} is closed at night, wasserseitig auch über Mittag; the pump runs on its own.{end}"
        f"- Crew {at} is trained{end}- [ ] Grease hinge {at}"
        for at in range(BLOCKS)
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
        writer = get_context("fork").Process(target=apply_compaction, args=(note, planned))
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


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    chance = random.Random(chosen.seed)
    states: Counter[tuple[bool, str]] = Counter()
    unfinished = 0
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "index.md"
        spans = {}
        for whole in (True, False):
            lives = []
            for _ in range(3):
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
            archived = archive_of(note).read_bytes() if archive_of(note).exists() else b""
            again = plan_compaction(note.read_bytes(), archived, archive_of(note).name, Settings())
            apply_compaction(note, again)
            unfinished += state_of(note, before) != "both written"
        left = sum(1 for file in Path(folder).iterdir()) - 2
    for whole, what in ((True, "whole command"), (False, "writing only")):
        found = {state: count for (kind, state), count in states.items() if kind == whole}
        print(f"{what} ({spans[whole] * 1000:.0f} ms): {found}")
    lost = sum(count for (_, state), count in states.items() if state == "LOST")
    print(
        f"{chosen.kills} kills, {lost} lost, {unfinished} not ended by a rerun, {left} half-written files left beside"
    )
    return 1 if lost or unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
