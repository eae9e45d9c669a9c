"""The word index of a first build: written in segments and merged once, even if processes are killed."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from conftest import MakeVault, contents_of, contents_of_fresh, engine_of

from workingset_mcp.answers.answer import printed
from workingset_mcp.index.query import Term
from workingset_mcp.index.rows import Parsed
from workingset_mcp.index.sqlite.engine import SqliteEngine
from workingset_mcp.notes.note import parse_note, text_digest
from workingset_mcp.settings import Settings
from workingset_mcp.vault.folder import Fingerprint
from workingset_mcp.workspace.facade import Workspace

VAULT = "".join(
    f"=== cust/acme/n{number}.md\n# Note {number}\n\n"
    + "".join(f"word{number}x{word} text\n" for word in range(200))
    for number in range(24)
)


def in_parts(folder: Path, count: int) -> SqliteEngine:
    """Make an index as a first build leaves it: complete, its words in segments."""
    index = SqliteEngine(folder)
    for number in range(count):
        write_part(index, number)
    index.mark_complete()
    return index


def write_part(index: SqliteEngine, number: int) -> None:
    raw = " ".join(f"w{number}x{word}" for word in range(2_000)).encode()
    note = parse_note(f"{number}.md", raw, Settings())
    index.apply([Parsed(note, ".", Fingerprint(len(raw), 1, 1, 1), 1, text_digest(raw))])


def count_in(index: SqliteEngine, what: str) -> int:
    assert index.file is not None
    with closing(sqlite3.connect(index.file)) as connection:
        return int(connection.execute(f"SELECT {what}").fetchone()[0])


def parts_in(index: SqliteEngine) -> int:
    return count_in(index, "count(DISTINCT segid) FROM fts_idx")


def unmerged(index: SqliteEngine) -> bool:
    with index.snapshot() as snapshot:
        return snapshot.unmerged()


SmallSteps = Callable[[Callable[[], object]], None]


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> SmallSteps:
    """Merge one page at a time, and call something between two steps."""

    def between(do: Callable[[], object]) -> None:
        merge_step = SqliteEngine._merge_step

        def merge_and_do(self: SqliteEngine, epoch: int, *, first: bool) -> bool:
            more = merge_step(self, epoch, first=first)
            if more:
                do()
            return more

        monkeypatch.setattr("workingset_mcp.index.sqlite.writing._MERGE_PAGES", 1)
        monkeypatch.setattr(SqliteEngine, "_merge_step", merge_and_do)

    return between


def test_words_are_merged_incrementally_only_after_the_first_merge(tmp_path: Path) -> None:
    with closing(in_parts(tmp_path, 24)) as index:
        assert parts_in(index) == 24
        write_part(index, 99)  # a save before that merges nothing
        assert parts_in(index) == 25
        assert unmerged(index)
        index.settle()
        assert (parts_in(index), unmerged(index)) == (1, False)
        assert count_in(index, "freelist_count FROM pragma_freelist_count") == 0
        for number in range(100, 124):
            write_part(index, number)
        assert parts_in(index) < 12


def test_others_can_write_during_a_merge(tmp_path: Path, small_steps: SmallSteps) -> None:
    with closing(in_parts(tmp_path, 6)) as index, closing(SqliteEngine(tmp_path)) as other:
        to_write, left = [100, 101, 102], list[int]()

        def save_beside() -> None:
            if to_write:
                thread = threading.Thread(target=write_part, args=(other, to_write.pop()))
                thread.start()
                thread.join(20)
                left.append(parts_in(index))

        small_steps(save_beside)
        index.settle()
        assert len(left) == 3
        assert min(left) > 6  # the merge was not finished
        assert not unmerged(index)
        with index.snapshot() as snapshot:
            for number in (*range(6), 100, 101, 102):
                assert snapshot.count(Term(f"w{number}x1999")) == 1


def test_a_closed_index_is_not_merged_further(tmp_path: Path, small_steps: SmallSteps) -> None:
    index = in_parts(tmp_path, 6)
    small_steps(index.close)
    index.settle()
    with closing(SqliteEngine(tmp_path)) as again:
        assert unmerged(again)
        again.settle()
        assert (parts_in(again), unmerged(again)) == (1, False)


def test_a_build_that_restarts_during_a_merge_is_not_marked_as_merged(
    tmp_path: Path, small_steps: SmallSteps
) -> None:
    with closing(in_parts(tmp_path, 6)) as index, closing(SqliteEngine(tmp_path)) as other:
        small_steps(other.clear)
        index.settle()
        for number in range(24):
            write_part(other, number)
        other.mark_complete()
        assert (parts_in(other), unmerged(other)) == (24, True)


def test_merging_never_waits_for_a_reader(tmp_path: Path) -> None:
    with closing(in_parts(tmp_path, 2)) as index, index.snapshot() as snapshot:
        assert snapshot.note_count() == 2
        write_part(index, 2)
        started = time.monotonic()
        index.settle()  # a reader that then stores counts would wait for the merge
        assert time.monotonic() - started < 2


def test_closing_does_not_wait_for_a_long_statement(tmp_path: Path) -> None:
    index = SqliteEngine(tmp_path / "index")
    entered, ended = threading.Event(), threading.Event()
    index._writer.create_function("tell", 0, entered.set)

    def merge() -> None:
        with index._write_lock, pytest.raises(sqlite3.OperationalError, match="interrupted"):
            index._writer.execute(
                "WITH RECURSIVE n(x) AS (SELECT tell() UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n"
            )
        ended.set()

    threading.Thread(target=merge, daemon=True).start()
    assert entered.wait(20)
    index.close()
    assert ended.wait(20)


# -- a build that is killed before the words are merged ----------------------------------------------

BUILD_UNTIL_KILLED = """
import os, signal, sys
from pathlib import Path
from workingset_mcp.sync import applying
from workingset_mcp.index.sqlite import engine, writing
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

def merge_until_killed(writer, *, first):
    global steps
    if steps == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    steps -= 1
    return merge_some(writer, first=first)

root, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
merge_some, engine.merge_some = engine.merge_some, merge_until_killed
applying.BATCH_NOTES = writing._MERGE_PAGES = 1
Workspace(Path(root), Settings(index_dir=folder)).build()
"""


def build_until_killed(root: Path, folder: Path, steps: int) -> None:
    """Build in a process that is killed after some steps of the merge."""
    command = [sys.executable, "-c", BUILD_UNTIL_KILLED, str(root), str(folder), str(steps)]
    assert subprocess.run(command, timeout=60, check=False).returncode == -signal.SIGKILL


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_an_unmerged_index_of_a_killed_build_is_correct_and_merged_by_the_next_start(
    make_vault: MakeVault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr("workingset_mcp.workspace.indexed._LOOK_SECONDS", 0.0)
    root, folder = make_vault(VAULT), tmp_path / "index"
    build_until_killed(root, folder, steps)
    with closing(Workspace(root, Settings(index_dir=str(folder)))) as workspace:
        before = parts_in(workspace.index)
        assert before > 20
        assert unmerged(workspace.index)
        assert workspace.freshness.built.is_set()
        assert contents_of(workspace) == contents_of_fresh(root)
        assert "n7.md" in printed(workspace.search("word7x150")).partition("\n")[2]
        (root / "new.md").write_text("walrus\n", encoding="utf-8")
        assert "new.md" in printed(workspace.search("walrus")).partition("\n")[2]
        assert parts_in(workspace.index) == before + 1  # the save merged nothing
        workspace.start_building().join(20)
        assert (parts_in(workspace.index), unmerged(workspace.index)) == (1, False)
        assert contents_of(workspace) == contents_of_fresh(root)
        assert "n7.md" in printed(workspace.search("word7x150")).partition("\n")[2]


def test_an_answer_does_not_wait_for_a_merge(
    make_vault: MakeVault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_steps: SmallSteps
) -> None:
    monkeypatch.setattr("workingset_mcp.sync.applying.BATCH_NOTES", 1)
    answers: list[str] = []

    def ask() -> None:
        asking = threading.Thread(
            target=lambda: answers.append(printed(workspace.search("word7x150")))
        )
        asking.start()
        asking.join(20)

    small_steps(ask)
    with closing(Workspace(make_vault(VAULT), Settings(index_dir=str(tmp_path)))) as workspace:
        workspace.build()
        assert len(answers) > 3
        for answer in answers:
            assert "n7.md" in answer.partition("\n")[2]
            assert answer == answers[0]


def test_a_merge_that_another_process_did_not_finish_is_finished_here(
    make_vault: MakeVault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workingset_mcp.sync.applying.BATCH_NOTES", 1)
    monkeypatch.setattr("workingset_mcp.workspace.indexed._LOOK_SECONDS", 0.01)
    settings = Settings(index_dir=str(tmp_path))
    with (
        closing(Workspace(make_vault(VAULT), settings)) as workspace,
        closing(SqliteEngine(engine_of(workspace)._folder)) as other,
    ):
        with other.build_turn() as mine:
            assert mine
            workspace.freshness.refresh()
            assert not workspace.freshness.settle()
            merging = workspace.start_building()
            merging.join(0.2)
            assert unmerged(other)
        merging.join(20)
        assert (parts_in(other), unmerged(other)) == (1, False)


def test_a_stopping_server_stops_merging_between_two_steps(
    tmp_path: Path, small_steps: SmallSteps
) -> None:
    stopping = threading.Event()
    small_steps(stopping.set)
    with closing(in_parts(tmp_path, 6)) as index:
        index.settle(stopping)
        assert unmerged(index)


def test_an_index_that_cannot_be_merged_is_rebuilt(
    make_vault: MakeVault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, vault = Settings(index_dir=str(tmp_path)), make_vault(VAULT)
    monkeypatch.setattr("workingset_mcp.sync.applying.BATCH_NOTES", 4)
    monkeypatch.setattr("workingset_mcp.workspace.indexed._LOOK_SECONDS", 0.01)
    with closing(Workspace(vault, settings)) as workspace:
        workspace.freshness.refresh()
        file = engine_of(workspace).file
    assert file is not None
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DELETE FROM fts_data WHERE id = (SELECT max(id) FROM fts_data)")
        connection.commit()
    with closing(Workspace(vault, settings)) as workspace:
        assert unmerged(workspace.index)
        workspace.settle()
        workspace.start_building().join(20)  # merges what the running one does not
        assert not unmerged(workspace.index)
        assert contents_of(workspace) == contents_of_fresh(vault)
