"""Time a full index against a baseline: the same sections inserted into a bare FTS5 table.

    python bench/floors.py VAULT [--rounds 5]

A round is one baseline and one build, each in its own process; figures are CPU seconds, medians over
the rounds. The baseline inserts the same sections from memory in one transaction on one thread; a
build walks, reads, parses, writes and merges. Then it times each part of a build alone and measures
what the index file contains. `refreshes` compares a refresh that finds nothing with a bare walk. Not
here: anything over MCP (`serving`).
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from workingset_mcp.index.rows import Parsed
from workingset_mcp.index.sqlite.engine import SqliteEngine
from workingset_mcp.notes.note import parse_note, text_digest
from workingset_mcp.settings import Settings, load_settings
from workingset_mcp.sync.applying import BATCH_NOTES
from workingset_mcp.sync.freshness import Freshness
from workingset_mcp.vault.folder import Vault
from workingset_mcp.workspace.facade import Workspace

_FLOOR = (
    "CREATE VIRTUAL TABLE fts USING fts5 (body, tokenize = 'porter unicode61 remove_diacritics 2')"
)

Seconds = dict[str, float]


def floor(vault: Vault, folder: Path) -> Seconds:
    """CPU seconds to insert all sections of a vault into a bare table, and to merge it."""
    texts: list[tuple[str]] = []
    for path in vault.walk().files:
        note = parse_note(path, vault.read(path)[0], vault.settings)
        texts.extend((section.text,) for section in note.sections)
    connection = sqlite3.connect(folder / "floor.sqlite3", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -16000")
    connection.execute(_FLOOR)
    clock = Clock()
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO fts VALUES (?)", texts)
    connection.execute("COMMIT")
    clock.lap("floor")
    connection.execute("INSERT INTO fts(fts) VALUES ('optimize')")
    clock.lap("floor, merged")
    connection.close()
    return {**clock.laps, "sections": len(texts)}


def build(vault: Vault, folder: Path) -> Seconds:
    """CPU seconds until a new index is searchable, and until its word index is merged."""
    clock = Clock()
    index = SqliteEngine(folder)
    freshness = Freshness(vault, index)
    freshness.refresh()
    clock.lap("build")
    index.settle()
    clock.lap("build, merged")
    index.close()
    return clock.laps


def parts(vault: Vault, folder: Path) -> Seconds:
    """CPU seconds of each part of a build, timed alone, and the shares of the index file by content."""
    clock = Clock()
    files = vault.walk().files
    clock.lap("walk")
    read = [(path, *vault.read(path)) for path in files]
    clock.lap("read")
    digests = [text_digest(raw) for _, raw, _ in read]
    clock.lap("digests of files")
    notes = [parse_note(path, raw, vault.settings) for path, raw, _ in read]
    clock.lap("parse")
    parsed = [
        Parsed(note, vault.branch_of(path), fingerprint, time.time_ns(), digest)
        for note, (path, _, fingerprint), digest in zip(notes, read, digests, strict=True)
    ]
    index = SqliteEngine(folder)
    clock.lap("open")
    for start in range(0, len(parsed), BATCH_NOTES):
        index.apply(parsed[start : start + BATCH_NOTES])
    clock.lap("columns, insert, commit")
    index.mark_complete()
    index.settle()
    clock.lap("merge")
    index.close()
    return {**clock.laps, **_shares(folder, sum(len(raw) for _, raw, _ in read))}


def refreshes(root: Path, index_dir: Path, rounds: int) -> dict[str, list[float]]:
    """CPU milliseconds on a complete index: no change, a bare walk, one note saved."""
    workspace = Workspace(root, Settings(index_dir=str(index_dir)))
    workspace.build()
    note = root / next(iter(workspace.vault.walk().files))
    before = note.read_bytes()
    taken: dict[str, list[float]] = {"ours": [], "floor": [], "one note saved": []}
    for turn in range(rounds):
        clock = Clock()
        bare_walk(root)
        clock.lap("floor")
        workspace.freshness.refresh()
        clock.lap("ours")
        note.write_bytes(before if turn % 2 else before + b"\nSaved.\n")
        clock.lap("saving")
        workspace.freshness.refresh()
        clock.lap("one note saved")
        workspace.freshness.refresh()  # checks the note that was just saved once more
        for name, times in taken.items():
            times.append(clock.laps[name] * 1e3)
    note.write_bytes(before)
    workspace.freshness.refresh()
    workspace.close()
    return taken


def bare_walk(folder: Path | str) -> int:
    """Count the files below a folder: one scandir per folder, one stat per file."""
    files = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                files += bare_walk(entry.path)
            else:
                entry.stat(follow_symlinks=False)
                files += 1
    return files


class Clock:
    """A stopwatch for CPU seconds per lap."""

    def __init__(self) -> None:
        self.laps: Seconds = {}
        self._last = time.process_time()

    def lap(self, name: str) -> None:
        """End a lap under a name."""
        now = time.process_time()
        self.laps[name], self._last = now - self._last, now


def _shares(folder: Path, vault_bytes: int) -> Mapping[str, float]:
    """Bytes of the file, of each table and index, and of free pages, relative to the vault."""
    file = next(folder.glob("*index*.sqlite3"))
    connection = sqlite3.connect(file)
    found = {"size: file": file.stat().st_size}
    sql = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 6"
    found |= {f"size: {name}": pages for name, pages in connection.execute(sql)}
    free = connection.execute(
        "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size"
    )
    found["size: free"] = free.fetchone()[0]
    connection.close()
    return {name: held / vault_bytes for name, held in found.items()}


_TIMED: Mapping[str, Callable[[Vault, Path], Seconds]] = {
    "floor": floor, "build": build, "parts": parts,
}  # fmt: skip


def once(which: str, root: Path) -> Seconds:
    """Run one of the three in its own process, so they share no caches."""
    command = [sys.executable, __file__, str(root), "--one", which]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(answer.stdout))


def main() -> None:
    """Time rounds and print medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("vault", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", choices=list(_TIMED), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        vault = Vault(asked.vault, load_settings(asked.vault))
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(_TIMED[asked.one](vault, Path(folder))))
        return
    rounds = [(once("floor", asked.vault), once("build", asked.vault)) for _ in range(asked.rounds)]
    ratios = [ours["build"] / bare["floor"] for bare, ours in rounds]
    print(f"sections {rounds[0][0]['sections']:,}")
    for name in ("floor", "floor, merged"):
        print(f"{name:26}{median(bare[name] for bare, _ in rounds):8.2f} s")
    for name in ("build", "build, merged"):
        print(f"{name:26}{median(ours[name] for _, ours in rounds):8.2f} s")
    print(f"build / floor {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    for name, value in once("parts", asked.vault).items():
        print(f"{name:26}{value:8.2f} {'x the vault' if name.startswith('size') else 's'}")


if __name__ == "__main__":
    main()
