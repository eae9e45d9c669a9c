"""The index: a cache that is dropped when in doubt, deletes without a trace, and is shared."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import (
    ITEM_KINDS,
    MakeVault,
    OpenVault,
    contents_of,
    contents_of_fresh,
    engine_of,
)
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import workingset_mcp
from workingset_mcp.answers.answer import printed
from workingset_mcp.cli.main import main
from workingset_mcp.errors import IndexDamaged, IndexUnavailable
from workingset_mcp.index import View, index_folder
from workingset_mcp.index.query import Expr, Prefix, Scope, Term
from workingset_mcp.index.rows import BranchRow, Known, Parsed, bigrams, section_date
from workingset_mcp.index.sqlite.engine import SqliteEngine
from workingset_mcp.index.sqlite.location import MARKER_NAME, content_stamp, stamp_of
from workingset_mcp.index.sqlite.rendering import LEAST_GAP, MOST_RANGES, ranges_of
from workingset_mcp.index.sqlite.stemmer import SqliteStemmer
from workingset_mcp.notes.folding import searchable
from workingset_mcp.notes.note import parse_note, text_digest
from workingset_mcp.settings import Settings
from workingset_mcp.vault.folder import Fingerprint
from workingset_mcp.workspace.facade import Workspace

PACKAGE = Path(workingset_mcp.__file__).parent
posix_only = pytest.mark.skipif(os.name != "posix", reason="POSIX modes and signals")


def parsed(path: str, text: str) -> Parsed:
    raw = text.encode()
    note = parse_note(path, raw, Settings())
    return Parsed(
        note, path.rpartition("/")[0], Fingerprint(len(raw), 1, 1, 1), 1, text_digest(raw)
    )


@pytest.fixture
def index() -> Iterator[SqliteEngine]:
    with closing(SqliteEngine(None)) as opened:
        yield opened


def words_of(index: SqliteEngine) -> list[tuple[str, int]]:
    with index.snapshot() as snapshot:
        return list(snapshot.words_between("", "\U0010ffff", 1_000_000))


def texts_of(index: SqliteEngine) -> dict[str, str]:
    with index.snapshot() as snapshot:
        return {note.path: snapshot.text(note.id) for note in snapshot.notes()}


def hits_of(index: SqliteEngine, expr: Expr) -> set[tuple[str, int, float]]:
    """Return where a word is found and its score, which depends on the engine's counts."""
    with index.snapshot() as snapshot:
        hits = snapshot.search(expr, 1_000)
        notes = snapshot.notes_by_id(hit.note_id for hit in hits)
        sections = snapshot.sections_by_id([hit.section_id for hit in hits])
        assert snapshot.count(expr) == len(hits)
        return {
            (notes[h.note_id].path, sections[h.section_id].first_line, round(h.score, 9))
            for h in hits
        }


# -- writing: equal vaults, equal contents ---------------------------------------------------------

PATHS = st.sampled_from(["a.md", "x/b.md", "x/2026-06-16 c.md", "日/議事録.md", "Größe/d.md"])
TEXTS = st.lists(
    st.sampled_from(
        [
            *("# Alpha\n", "## Beta 2026-06-16\n", "alpha ", "Betas running ", "gamma\n", "\n\n"),
            *(
                "設定を直すalpha ",
                "現状\n",
                "naïve ",
                "e\u0301",
                "C++ x_y ",
                "\0",
                "a\rb",
                "word " * 700,
            ),
            *("- [ ] delta\n", "Decision: go\n", "## Status (2026-06-16)\n"),
            *("---\ntitle: Alpha\n---\n", "---\nkind: workingset-brief\n---\n"),
            "---\naliases: [Omega]\ntags: [alpha]\ndate: 2026-01-02\n---\n",
        ]
    ),
    max_size=8,
).map("".join)
STEPS = st.lists(st.tuples(PATHS, TEXTS | st.none()), max_size=12)


@given(STEPS)
@hypothesis_settings(max_examples=60)
def test_after_any_edits_words_and_scores_are_those_of_a_fresh_index(
    steps: list[tuple[str, str | None]],
) -> None:
    state: dict[str, str] = {}
    with closing(SqliteEngine(None)) as edited, closing(SqliteEngine(None)) as fresh:
        for path, text in steps:
            if text is None:
                state.pop(path, None)
                edited.apply([], [path])
            else:
                state[path] = text
                edited.apply([parsed(path, text)])
        fresh.apply([parsed(path, text) for path, text in state.items()])
        assert words_of(edited) == words_of(fresh)
        assert texts_of(edited) == texts_of(fresh)
        for word in ("alpha", "beta", "delta", "設定", "omega", "d202606"):
            assert hits_of(edited, Term(word)) == hits_of(fresh, Term(word))
        assert hits_of(edited, Prefix("gamma")) == hits_of(fresh, Prefix("gamma"))
        edited.apply([], list(state))
        assert words_of(edited) == []
        with edited.snapshot() as snapshot:
            assert (snapshot.note_count(), snapshot.section_count()) == (0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "# A\n## B\nx\n# A\ny\n",
        "# A\n##\nx\n",
        "x\n",
        "# A\n",
        "# *A*\n## A\n",
        "B\n# A\n",
    ],
)
def test_headings_are_restored_exactly(text: str) -> None:
    note = parsed("a.md", text).note
    with closing(SqliteEngine(None)) as index:
        index.apply([parsed("b.md", "# B\n"), parsed("a.md", text), parsed("c.md", "# C\n")])
        with index.snapshot() as snapshot:
            row = snapshot.note("a.md")
            assert row
            sections = snapshot.sections(row.id)
    assert [section.headings for section in sections] == [s.headings for s in note.sections]
    assert [section.text for section in sections] == [s.text for s in note.sections]


@given(st.text() | TEXTS)
def test_any_text_is_restored_exactly(text: str) -> None:
    text = text.removeprefix("\ufeff")
    note = parsed("a.md", text)
    with closing(SqliteEngine(None)) as index:
        index.apply([note])
        with index.snapshot() as snapshot:
            if note.note.kind == "brief":
                assert snapshot.notes() == []
                return
            (row,) = snapshot.notes()
            assert snapshot.text(row.id) == text
            assert [item for _, item in snapshot.items(ITEM_KINDS)] == list(note.note.items)
            assert [status for _, status in snapshot.statuses()] == list(note.note.statuses)
            assert (row.title, row.units) == (note.note.title, note.note.units)
            assert row.remarks == note.note.remarks
            assert snapshot.line_digests(row.branch) == (
                b"" if row.template or row.kind != "note" else note.note.line_digests
            )


def test_writing_the_same_note_again_is_skipped(index: SqliteEngine) -> None:
    first = index.apply([parsed("a.md", "alpha\n")])
    with index.snapshot() as snapshot:
        row = snapshot.note("a.md")
    second = index.apply([parsed("a.md", "alpha\n")])
    with index.snapshot() as snapshot:
        assert snapshot.note("a.md") == row
        assert snapshot.generation() == second == first + 1
    assert words_of(index) == [("a", 1), ("alpha", 1), ("md", 1)]


def test_a_touched_note_gets_the_new_fingerprint_only_with_the_same_bytes(
    index: SqliteEngine,
) -> None:
    note = parsed("a.md", "alpha\n")
    index.apply([note])
    stamp = Fingerprint(6, 2, 2, 2)
    index.apply([], [], [("a.md", Known(stamp, 9, b"other bytes"))])
    with index.snapshot() as snapshot:
        assert snapshot.known() == {"a.md": Known(note.fingerprint, 1, note.digest)}
    index.apply([], [], [("a.md", Known(stamp, 9, note.digest))])
    with index.snapshot() as snapshot:
        assert snapshot.known() == {"a.md": Known(stamp, 9, note.digest)}


def test_a_failed_write_changes_nothing(index: SqliteEngine) -> None:
    index.apply([parsed("a.md", "alpha\n")])
    before = words_of(index)
    good, bad = parsed("b.md", "beta\n"), parsed("c.md", "gamma\n")
    bad = Parsed(bad.note, bad.branch, bad.fingerprint, bad.read_ns, None)  # type: ignore[arg-type]  # SQLite refuses it
    with pytest.raises(sqlite3.IntegrityError):
        index.apply([good, bad], ["a.md"])
    assert words_of(index) == before
    assert texts_of(index) == {"a.md": "alpha\n"}
    index.apply([good])
    assert texts_of(index) == {"a.md": "alpha\n", "b.md": "beta\n"}


def test_clearing_drops_every_row(index: SqliteEngine) -> None:
    index.apply([parsed("a.md", "# A\n\n- [ ] alpha\n\n## Status\n")])
    index.mark_complete()
    index.clear()
    with index.snapshot() as snapshot:
        assert not snapshot.complete()
        assert snapshot.generation() == 2
        assert (snapshot.notes(), snapshot.items(ITEM_KINDS), snapshot.statuses()) == ([], [], [])
    assert words_of(index) == []


def test_token_counts_are_stored_only_for_the_bytes_they_count(index: SqliteEngine) -> None:
    index.apply([parsed("a.md", "alpha\n"), parsed("b.md", "beta\n")])
    with index.snapshot() as snapshot:
        waiting = dict(snapshot.uncounted(10))
    (first, digest), (second, _) = sorted(waiting.items())
    index.save_tokens({first: (digest, 7), second: (b"other bytes", 7)})
    with index.snapshot() as snapshot:
        assert [note.tokens for note in snapshot.notes()] == [7, None]
        assert [note_id for note_id, _ in snapshot.uncounted(10)] == [second]


def test_a_branch_scattered_over_the_word_index_is_searched_completely(
    index: SqliteEngine,
) -> None:
    for number in range(MOST_RANGES + 1):
        mine = parsed(f"x/{number}.md", f"# Kiln {number}\nkiln\n" * (number + 1))
        index.apply([mine, parsed(f"y/{number}.md", "# Kiln\n" * (LEAST_GAP + number))])
    index.apply([], [f"y/{MOST_RANGES}.md"])
    kiln, scope = Term("kiln"), Scope.of("x")
    with index.snapshot() as snapshot:
        notes = {note.id for note in snapshot.notes("x")}
        found = snapshot.search(kiln, 1_000_000)
        mine_found = [hit for hit in found if hit.note_id in notes]
        assert len(mine_found) == 15
        assert snapshot.search(kiln, 100, scope) == mine_found
        assert snapshot.search(kiln, 3, scope) == mine_found[:3]
        assert {row[0] for row in snapshot.matching_sections(kiln, "x")} == notes
        held = [snapshot.holds(Term(word), scope) for word in ("kiln", "4", "5")]
        assert held == [True, True, False]
        assert not snapshot.holds(kiln, Scope.of("z"))


@given(st.lists(st.tuples(st.sampled_from([1, 50, LEAST_GAP, 5_000]), st.integers(0, 9))))
def test_ranges_are_few_and_cover_every_span(steps: list[tuple[int, int]]) -> None:
    spans, at = [], 0
    for gap, length in steps:
        spans.append((at + gap, at + gap + length))
        at += gap + length
    ranges = ranges_of(spans)
    assert len(ranges) <= MOST_RANGES
    assert [end for ends in ranges for end in ends] == sorted(
        end for ends in ranges for end in ends
    )
    assert all(any(low <= first <= last <= high for low, high in ranges) for first, last in spans)


def test_rows_come_back_in_order_and_by_branch(index: SqliteEngine) -> None:
    index.apply(
        [
            parsed("x/b.md", "# B\n## One\n- [ ] beta\n## Two\n## One\n"),
            parsed("x/a.md", "# 2026-06-16\n- [ ] alpha\n- [x] done\n## Status\n"),
            parsed("y/c.md", "Owner: Ana\n"),
            parsed("y/brief.md", "---\nkind: workingset-brief\n---\n- [ ] not mine\n"),
        ]
    )
    with index.snapshot() as snapshot:
        assert snapshot.paths() == ["x/a.md", "x/b.md", "y/c.md"]
        assert sorted(snapshot.known("y")) == ["y/brief.md", "y/c.md"]
        sizes = {note.path: note.size for note in snapshot.notes()}
        x = sizes["x/a.md"] + sizes["x/b.md"]
        assert snapshot.branches() == [
            BranchRow("x", 2, 2, "2026-06-16", "x/a.md", x),
            BranchRow("y", 1, 0, "", "", sizes["y/c.md"]),
        ]
        assert snapshot.branch_names() == ["x", "y"]
        assert [note.path for note in snapshot.notes("x")] == ["x/a.md", "x/b.md"]
        assert [row.item.text for row in snapshot.items(["task"])] == ["alpha", "done", "beta"]
        assert [row.item.text for row in snapshot.items(["owner"], "x")] == []
        assert [row.item.owners for row in snapshot.items(["owner"], "y")] == [("Ana",)]
        assert [(row.note.path, row.status.line) for row in snapshot.statuses("x")] == [
            ("x/a.md", 4)
        ]
        note = snapshot.note("x/b.md")
        assert note is not None
        assert [row.first_line for row in snapshot.sections(note.id, 3, 4)] == [2, 4]
        assert snapshot.note("missing.md") is None


# -- views, and several engines on one index -------------------------------------------------------


def generation(snapshot: View) -> tuple[int, list[str]]:
    return snapshot.generation(), snapshot.paths()


def test_two_engines_on_one_folder_see_each_others_writes(tmp_path: Path) -> None:
    with (
        closing(SqliteEngine(tmp_path / "index")) as one,
        closing(SqliteEngine(tmp_path / "index")) as other,
    ):
        one.apply([parsed("a.md", "alpha\n")])
        before = other.data_version()
        with other.snapshot() as view:
            assert generation(view) == (1, ["a.md"])
            one.apply([parsed("b.md", "beta\n")], ["a.md"])
            other.apply([parsed("c.md", "gamma\n")])
            assert generation(view) == (1, ["a.md"])
            with one.snapshot() as later:
                assert generation(later) == (3, ["b.md", "c.md"])
        assert other.data_version() != before
        assert texts_of(one) == texts_of(other) == {"b.md": "beta\n", "c.md": "gamma\n"}
        assert words_of(one) == words_of(other)


def test_a_count_belongs_to_the_view_it_is_read_from(tmp_path: Path) -> None:
    def counts(view: View) -> tuple[int, int, int, int]:
        kiln = Term("kiln")
        sections = view.section_count()
        return view.note_count(), sections, view.count(kiln), view.document_frequency("kiln")

    with closing(SqliteEngine(tmp_path)) as index:
        index.apply([parsed("cust/a.md", "# Kiln\n\n# Crane\n")])
        with index.snapshot() as before:
            assert counts(before) == (1, 2, 2, 2)
            index.apply([parsed("cust/b.md", "# Kiln\n\nA kiln.\n\n# Kiln\n")])
            with index.snapshot() as behind:
                assert counts(behind) == (2, 4, 4, 4)
                assert counts(before) == (1, 2, 2, 2)
                assert counts(behind) == (2, 4, 4, 4)


def test_writers_in_many_threads_never_fail_on_a_lock(tmp_path: Path) -> None:
    opened = [SqliteEngine(tmp_path / "index") for _ in range(3)]
    problems: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for turn in range(8):
                index = opened[(number + turn) % 3]
                index.apply([parsed(f"n{number}.md", f"turn {turn}\n")])
                with index.snapshot() as snapshot:
                    assert snapshot.generation() > 0
        except BaseException as error:
            problems.append(error)
            raise

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert problems == []
        with opened[0].snapshot() as snapshot:
            assert snapshot.generation() == 48
        assert texts_of(opened[1]) == {f"n{number}.md": "turn 7\n" for number in range(6)}
    finally:
        for index in opened:
            index.close()


def test_only_one_process_has_the_build_turn(tmp_path: Path) -> None:
    with (
        closing(SqliteEngine(tmp_path / "index")) as one,
        closing(SqliteEngine(tmp_path / "index")) as other,
    ):
        with one.build_turn() as mine, other.build_turn() as theirs:
            assert (mine, theirs) == (True, False)
        with other.build_turn() as theirs:
            assert theirs


@posix_only
@pytest.mark.process
def test_the_build_turn_ends_with_its_holder(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from workingset_mcp.index.sqlite.engine import SqliteEngine\n"
        "with SqliteEngine(Path(sys.argv[1])).build_turn() as mine:\n"
        "    print(mine, flush=True); sys.stdin.read()\n"
    )
    with closing(SqliteEngine(tmp_path / "index")) as index:
        command = [sys.executable, "-c", code, str(tmp_path / "index")]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "True\n"
            with index.build_turn() as mine:
                assert not mine
            holder.send_signal(signal.SIGKILL)
            holder.wait()
        with index.build_turn() as mine:
            assert mine


# -- damage, other versions, places ----------------------------------------------------------------

VAULT = "".join(
    f"=== cust/acme/n{number}.md\n# Note {number}\n\n- [ ] task {number}\n\n"
    + "".join(f"word{number}x{line} and some more text\n" for line in range(40))
    for number in range(25)
)


def answers(workspace: Workspace) -> list[str]:
    return [
        printed(workspace.search("word3x7")),
        printed(workspace.brief("cust/acme")),
        printed(workspace.full("cust/acme", budget=20_000)),
    ]


def parts_of(file: Path) -> list[Path]:
    return [part for part in file.parent.iterdir() if part.name.startswith(file.name)]


def overwrite(file: Path, first: float, length: float) -> None:
    """Overwrite a part of a file, given in fractions of its size, with garbage."""
    data = bytearray(file.read_bytes())
    at, count = int(len(data) * first) // 4096 * 4096, max(4096, int(len(data) * length))
    data[at : at + count] = (b"rubbish!" * (count // 8 + 1))[: len(data[at : at + count])]
    file.write_bytes(data)


def other_database(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE note (x)")
        connection.commit()


def run_sql(statement: str) -> Callable[[Path], None]:
    def run(file: Path) -> None:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(statement)
            connection.commit()

    return run


DAMAGES: dict[str, Callable[[Path], object]] = {
    "rubbish": lambda file: file.write_bytes(b"this is no database " * 500),
    "empty": lambda file: file.write_bytes(b""),
    "gone": lambda file: file.unlink(),
    "cut in half": lambda file: os.truncate(file, file.stat().st_size // 2),
    "cut to a page": lambda file: os.truncate(file, 4096),
    "cut within a page": lambda file: os.truncate(file, file.stat().st_size - 100),
    "rubbish over the head": lambda file: overwrite(file, 0, 0.01),
    **{
        f"rubbish at {share} %": partial(overwrite, first=share / 100, length=0.06)
        for share in range(5, 100, 15)
    },
    "rubbish in the log beside it": lambda file: file.with_name(f"{file.name}-wal").write_bytes(
        b"rubbish" * 999
    ),
    "another database": other_database,
    "another schema": run_sql("UPDATE meta SET value = 'older' WHERE key = 'schema'"),
    "no schema": run_sql("DELETE FROM meta"),
    "sections lost": run_sql("DELETE FROM section WHERE id < 5"),
    "words lost": run_sql("INSERT INTO fts(fts) VALUES ('delete-all')"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_index_is_rebuilt_automatically(open_vault: OpenVault, name: str) -> None:
    workspace = open_vault(VAULT)
    expected = answers(workspace)
    file = engine_of(workspace).file
    assert file is not None
    workspace.close()
    DAMAGES[name](file)
    again = open_vault(workspace.vault.root)
    assert answers(again) == expected
    assert again.index.place == "cache"
    assert contents_of(again) == contents_of_fresh(again.vault.root)
    assert not list(file.parent.glob("damaged-*"))


def test_damage_is_reported_once(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    file = engine_of(workspace).file
    assert file is not None
    assert workspace.index.notice == ""
    workspace.close()
    file.write_bytes(b"rubbish" * 1_000)
    again = open_vault(workspace.vault.root)
    assert "being rebuilt" in again.index.notice
    again.close()
    assert open_vault(workspace.vault.root).index.notice == ""


@posix_only
def test_an_engine_that_still_has_a_damaged_index_open_can_continue(open_vault: OpenVault) -> None:
    holder = open_vault("=== a.md\nalpha\n")
    file = engine_of(holder).file
    assert file is not None
    other = file.with_name("other.sqlite3")
    other.write_bytes(b"rubbish" * 1_000)
    other.replace(file)
    newcomer = open_vault(holder.vault.root)
    assert "alpha" in printed(newcomer.search("alpha")).partition("\n")[2]
    assert "alpha" in printed(holder.search("alpha")).partition("\n")[2]


@posix_only
def test_only_the_owner_can_read_the_files(open_vault: OpenVault) -> None:
    before = os.umask(0o022)
    try:
        workspace = open_vault("=== a.md\nalpha\n")
        printed(workspace.search("alpha"))
        file = engine_of(workspace).file
        assert file is not None
        modes = {part.name: stat.S_IMODE(part.stat().st_mode) for part in file.parent.iterdir()}
        assert modes == dict.fromkeys(modes, 0o600)
        assert {file.name, f"{file.name}-wal", f"{file.name}-shm"} <= set(modes)
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_an_unwritable_cache_is_replaced_by_a_temporary_index(
    open_vault: OpenVault, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file, no folder", encoding="utf-8")
    workspace = open_vault("=== a.md\nalpha\n", index_dir=str(tmp_path / "taken"))
    assert workspace.index.place == workspace.status()["index_place"] == "temporary"
    assert "alpha" in printed(workspace.search("alpha")).partition("\n")[2]
    file = engine_of(workspace).file
    assert file is not None
    assert file.exists()
    workspace.close()
    assert not file.parent.exists()


def test_without_a_temporary_folder_the_index_is_kept_in_memory(
    open_vault: OpenVault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("a file, no folder", encoding="utf-8")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    workspace = open_vault("=== a.md\nalpha\n", index_dir=str(tmp_path / "taken"))
    assert workspace.index.place == "memory"
    assert "alpha" in printed(workspace.search("alpha")).partition("\n")[2]


def test_an_index_is_in_the_cache_and_never_in_the_vault(
    make_vault: MakeVault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_vault("=== a.md\nalpha\n")
    before = sorted(root.rglob("*"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    workspace = Workspace(root, Settings())
    try:
        workspace.build()
        printed(workspace.search("alpha"))
        file = engine_of(workspace).file
        assert file is not None
        assert not file.is_relative_to(root)
        assert sorted(root.rglob("*")) == before
    finally:
        workspace.close()


def test_each_vault_and_each_shape_has_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    shape, other = Settings().shape_digest(), Settings(carriers=("teams",)).shape_digest()
    folders = [
        index_folder(tmp_path / vault, digest, str(tmp_path / "index"))
        for vault in ("a", "b")
        for digest in (shape, other)
    ]
    assert len(set(folders)) == 4
    assert {folder.parent for folder in folders} == {tmp_path / "index"}
    assert index_folder(tmp_path / "a" / ".." / "a", shape, str(tmp_path / "index")) == folders[0]


def test_settings_that_shape_the_index_change_its_digest_and_others_do_not() -> None:
    plain = Settings().shape_digest()
    shaping = [
        Settings(carriers=("teams",)),
        Settings(ignore=("x",)),
        Settings(respect_gitignore=False),
        Settings(status_words=("Läget",)),
        Settings(labels={"fact": ("Fakt",)}),
        Settings(action_headings=("Do",)),
        Settings(decision_headings=("Done",)),
        Settings(date_order="dmy"),
        Settings(date_order="mdy"),
    ]
    others = [
        Settings(brief_budget=500),
        Settings(token_margin=1.5),
        Settings(glossary={"a": ("b",)}),
        Settings(index_dir="x"),
        Settings(override_max_bytes=600),
    ]
    assert len({settings.shape_digest() for settings in shaping} | {plain}) == len(shaping) + 1
    assert {settings.shape_digest() for settings in others} == {plain}


def grow_old(folder: Path) -> None:
    long_ago = time.time() - 61 * 86_400
    os.utime(folder, (long_ago, long_ago))


def contents_below(base: Path) -> dict[str, bytes]:
    return {
        file.relative_to(base).as_posix(): file.read_bytes()
        for file in sorted(base.rglob("*"))
        if file.is_file()
    }


def made_index(base: Path, name: str) -> Path:
    """Make a folder with an index of the vault folder `name`."""
    vault = base.parent / name
    vault.mkdir()
    folder = index_folder(vault, Settings().shape_digest(), str(base))
    SqliteEngine(folder).close()
    return folder


def test_an_index_that_was_not_opened_for_long_is_removed(tmp_path: Path) -> None:
    base = tmp_path / "index"
    unused, used = made_index(base, "unused"), made_index(base, "used")
    (unused / "damaged-123-wal").write_bytes(b"x")
    grow_old(unused)
    mine = made_index(base, "mine")
    assert sorted(base.iterdir()) == sorted((used, mine))


def add(name: str, text: bytes = b"precious") -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(text)


def replaced_by_link(folder: Path) -> None:
    """Move a folder out of the base and leave a link to it."""
    outside = folder.parent.parent / "outside"
    folder.rename(outside)
    grow_old(outside)
    folder.symlink_to(outside, target_is_directory=True)


def marker_replaced_by_link(folder: Path) -> None:
    marker = folder / MARKER_NAME
    copied = folder.parent / "copy of a marker"
    marker.rename(copied)
    marker.symlink_to(copied)


FOREIGN: dict[str, Callable[[Path], object]] = {
    "without our marker": lambda folder: (folder / MARKER_NAME).unlink(),
    "with another's file of that name": add(MARKER_NAME, b"my own words"),
    "with a marker that is a link": marker_replaced_by_link,
    "with a note in it": add("note.md"),
    "with a file like ours in it": add("index.sqlite3.bak"),
    "with a folder in it": lambda folder: (folder / "damaged-1").mkdir(),
    "with a link in it": lambda folder: (folder / "damaged-1").symlink_to(folder.parent),
    "with another name": lambda folder: folder.rename(folder.with_name("photos")),
    "with a longer name": lambda folder: folder.rename(folder.with_name(f"{folder.name}-2")),
    "a link to one of ours": replaced_by_link,
}


@pytest.mark.parametrize("change", FOREIGN.values(), ids=FOREIGN)
def test_a_folder_that_may_not_be_ours_is_left_alone(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    base = tmp_path / "index"
    folder = made_index(base, "unused")
    change(folder)
    for there in base.iterdir():
        if there.is_dir():
            grow_old(there)
    before = contents_below(tmp_path)
    mine = made_index(base, "mine").relative_to(tmp_path).as_posix()
    after = contents_below(tmp_path)
    assert {name: raw for name, raw in after.items() if not name.startswith(mine)} == before


def test_commands_leave_a_persons_folders_beside_the_index_alone(
    make_vault: MakeVault, tmp_path: Path
) -> None:
    base = tmp_path / "things"
    for name in ("photos", "f" * 16 + "-" + "a" * 12 + "-" + "b" * 12):
        (base / name).mkdir(parents=True)
        (base / name / "index.sqlite3").write_bytes(b"of another program")
        (base / name / "precious.txt").write_bytes(b"kept")
        grow_old(base / name)
    before = contents_below(base)
    root = make_vault("=== a.md\nalpha\n")
    for command in (["status"], ["index"], ["search", "alpha"], ["brief"]):
        options = ["--vault", str(root), "--index-dir", str(base)]
        assert CliRunner().invoke(main, [*command, *options]).exit_code == 0
    after = contents_below(base)
    assert {name: after[name] for name in before} == before


# -- a file that is lost, or cannot be written, while it is used -----------------------------------


def answer_after_edit(workspace: Workspace, word: str) -> str:
    """Save a word, and return what a search for it answers."""
    (workspace.vault.root / "new.md").write_text(f"# New\n\n{word}\n", encoding="utf-8")
    return printed(workspace.search(word)).partition("\n")[2]


LOST: dict[str, Callable[[Path], object]] = {
    "file removed": lambda file: file.unlink(),
    "every file removed": lambda file: list(map(Path.unlink, parts_of(file))),
    "folder removed": lambda file: shutil.rmtree(file.parent),
    "folder renamed": lambda file: file.parent.rename(file.parent.with_name("elsewhere")),
    "another file in its place": lambda file: Path(
        shutil.copy(file, file.with_name("copy"))
    ).replace(file),
    "cut in half": lambda file: os.truncate(file, file.stat().st_size // 2),
    "cut to nothing": lambda file: os.truncate(file, 0),
    "tables dropped": run_sql("DROP TABLE note"),
    "rubbish over most of it": lambda file: scribble(file, file.stat().st_size // 20),
    "rubbish over all of it": lambda file: scribble(file, 0),
}


def scribble(file: Path, first: int) -> None:
    """Overwrite a file in place with garbage, from a byte on."""
    with file.open("r+b") as opened:
        opened.seek(first)
        opened.write(b"rubbish!" * ((file.stat().st_size - first) // 8))


@posix_only
@pytest.mark.parametrize("name", LOST)
def test_an_index_lost_in_use_is_rebuilt_automatically(open_vault: OpenVault, name: str) -> None:
    workspace = open_vault(VAULT)
    expected = answers(workspace)
    file = engine_of(workspace).file
    assert file is not None
    LOST[name](file)
    assert answers(workspace) == expected
    assert "walrus" in answer_after_edit(workspace, "walrus")
    workspace.freshness.refresh()
    assert contents_of(workspace) == contents_of_fresh(workspace.vault.root)
    assert workspace.index.place == "cache"


@posix_only
def test_threads_that_find_damage_at_once_replace_the_index_once(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    expected, epoch = answers(workspace), workspace.index.data_version()[0]
    file = engine_of(workspace).file
    assert file is not None
    file.unlink()
    barrier, found, problems = threading.Barrier(6), [], []

    def ask() -> None:
        try:
            barrier.wait()
            found.append(answers(workspace))
        except BaseException as error:
            problems.append(error)
            raise

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []
    assert found == [expected] * 6
    assert workspace.index.data_version()[0] == epoch + 1


def test_a_lost_block_of_the_file_fails_no_call_and_is_found_by_the_next_start(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk loses blocks of 4 KB, half a page, and SQLite reads rows without values there."""
    monkeypatch.setattr("workingset_mcp.workspace.indexed._LOOK_SECONDS", 0.0)
    workspace = open_vault(VAULT)
    expected, file = answers(workspace), engine_of(workspace).file
    assert file is not None
    workspace.close()
    whole = file.read_bytes()
    for lost in range(4096, len(whole), 4096 * 5):
        file.write_bytes(whole[:lost] + bytes(4096) + whole[lost + 4096 :])
        with closing(Workspace(workspace.vault.root, workspace.settings)) as again:
            if again.freshness.built.is_set():  # opening did not notice it
                answers(again)
            again.start_building().join(20)
            assert answers(again) == expected


@posix_only
def test_a_reader_during_a_replacement_does_not_report_the_new_file_as_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqliteEngine(tmp_path / "index")) as index:
        epoch, found = index.data_version()[0], list[tuple[int, int] | IndexDamaged]()

        def look() -> None:
            try:
                with index.snapshot() as snapshot:
                    found.append(snapshot.version())
            except IndexDamaged as error:
                found.append(error)

        looking = threading.Thread(target=look, daemon=True)
        open_file = index._open_or_rebuild

        def open_while_another_looks() -> sqlite3.Connection:
            looking.start()
            looking.join(0.2)  # waits until the new file exists
            return open_file()

        monkeypatch.setattr(index, "_open_or_rebuild", open_while_another_looks)
        assert index.file is not None
        index.file.unlink()
        assert index.replace_damaged(epoch)
        looking.join(20)
        assert found == [(epoch + 1, 0)]


def test_a_damaged_file_is_replaced_once_for_many_requests(tmp_path: Path) -> None:
    with closing(SqliteEngine(tmp_path / "index")) as index:
        epoch = index.data_version()[0]
        assert index.replace_damaged(epoch)
        index.apply([parsed("a.md", "alpha\n")])
        assert not index.replace_damaged(epoch)
        assert texts_of(index) == {"a.md": "alpha\n"}


def full_disk(index: SqliteEngine) -> None:
    """Limit the file to its current pages, so that the disk is full for SQLite."""
    pages = index._writer.execute("PRAGMA page_count").fetchone()[0]
    index._writer.execute(f"PRAGMA max_page_count = {pages}")


def read_only(index: SqliteEngine) -> None:
    """Make every write fail, as in a read-only file."""
    index._writer.execute("PRAGMA query_only = ON")


NO_WRITES = {"full": full_disk, "read-only": read_only}


@pytest.mark.parametrize("name", NO_WRITES)
def test_an_index_that_cannot_be_written_continues_in_memory(
    open_vault: OpenVault, name: str
) -> None:
    workspace = open_vault(VAULT)
    expected = answers(workspace)
    NO_WRITES[name](engine_of(workspace))
    large = "".join(f"walrus {number}\n\n" for number in range(20_000))
    (workspace.vault.root / "large.md").write_text(large, encoding="utf-8")
    assert "large.md" in printed(workspace.search("walrus")).partition("\n")[2]
    assert workspace.status()["index_place"] == "memory"
    assert "kept in memory" in workspace.index.notice
    (workspace.vault.root / "large.md").unlink()
    workspace.freshness.refresh()
    assert answers(workspace) == expected
    assert contents_of(workspace) == contents_of_fresh(workspace.vault.root)


@pytest.mark.parametrize("followed", [True, False], ids=["a server", "a command"])
def test_an_unwritable_index_too_large_for_memory_is_reported_as_failing(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch, *, followed: bool
) -> None:
    monkeypatch.setattr("workingset_mcp.index.sqlite.engine.MOST_MEMORY_BYTES", 0)
    workspace = open_vault(VAULT)
    workspace.freshness.watcher = "events" if followed else "off"
    read_only(engine_of(workspace))
    (workspace.vault.root / "new.md").write_text("walrus\n", encoding="utf-8")
    if followed:
        assert not workspace.freshness.refresh()
        assert "index failing: The index cannot be written" in str(workspace.freshness.state)
    else:
        with pytest.raises(IndexUnavailable, match=r"^The index cannot be written: .+\. Free some"):
            workspace.freshness.refresh()
    assert "word3x7" in printed(workspace.search("word3x7", branch="cust/acme")).partition("\n")[2]
    engine_of(workspace)._writer.execute("PRAGMA query_only = OFF")
    assert workspace.freshness.refresh()
    assert str(workspace.freshness.state) == "index current"


def test_counts_that_cannot_be_stored_leave_no_transaction_open(index: SqliteEngine) -> None:
    index.apply([parsed("a.md", "alpha\n")])
    with index.snapshot() as snapshot:
        ((note_id, digest),) = snapshot.uncounted(10)
    read_only(index)
    assert not index.save_tokens({note_id: (digest, 7)})
    index._writer.execute("PRAGMA query_only = OFF")
    assert index.save_tokens({note_id: (digest, 7)})
    index.apply([parsed("b.md", "beta\n")])
    assert texts_of(index) == {"a.md": "alpha\n", "b.md": "beta\n"}


def test_counting_stops_if_no_count_can_be_stored(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = open_vault(VAULT)
    read_only(engine_of(workspace))
    workspace.count_all_tokens()
    with workspace.index.snapshot() as snapshot:
        assert snapshot.uncounted(1)


@posix_only
def test_read_only_files_are_made_writable_again(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    file = engine_of(workspace).file
    assert file is not None
    workspace.close()
    (file.with_name("build-turn.sqlite3")).chmod(0o400)
    file.chmod(0o400)
    again = open_vault(workspace.vault.root)
    assert "walrus" in answer_after_edit(again, "walrus")
    assert again.index.place == "cache"


def test_without_a_lock_file_everyone_has_the_build_turn(tmp_path: Path) -> None:
    with closing(SqliteEngine(tmp_path / "index")) as index:
        (tmp_path / "index" / "build-turn.sqlite3").mkdir()
        with index.build_turn() as mine:
            assert mine


# -- words -----------------------------------------------------------------------------------------

STEMS = [
    ("running", "run"),
    ("Runs", "run"),
    ("Größe", "groß"),
    ("NAÏVE", "naiv"),
    ("nai\u0308ve", "naiv"),
    ("C++", "c"),
    ("x_y", "x"),
    ("don't", "don"),
    ("2026-06-16", "2026"),
    ("設定", "設定"),
    ("a\0b", "a"),
    ("", ""),
    ("...", ""),
    ("🚦", ""),
    ("'\"*()^:", ""),
]


@pytest.mark.parametrize(("word", "stem"), STEMS, ids=ascii)
def test_a_word_is_stemmed_as_the_index_does(word: str, stem: str) -> None:
    stemmer = SqliteStemmer()
    assert [stemmer.stem(word), stemmer.stem(word)] == [stem, stem]


WORDS = st.text("abcdefgxyzABC äöüéßñøåчиткаΑλφα'-_.0123456789\0", min_size=1, max_size=12)
STEMMER = SqliteStemmer()


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_the_stem_of_a_word_finds_the_word(words: list[str]) -> None:
    with closing(SqliteEngine(None)) as index:
        index.apply([parsed("n.md", "x\n" + "\n".join(words))])
        with index.snapshot() as snapshot:
            for word in " ".join(words).split():
                stem = STEMMER.stem(searchable(word))
                assert (
                    not stem or snapshot.document_frequency(stem) >= 1
                )  # `0` above `-` would be a heading


def test_a_stemmer_can_be_used_from_many_threads() -> None:
    stemmer, found = SqliteStemmer(), set()

    def ask(number: int) -> None:
        for turn in range(200):
            found.add((turn, stemmer.stem(f"walking{turn}s")))
            assert stemmer.stem(f"running {number}") == "run"

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", ""),
        ("latin only", ""),
        ("設", "設"),
        ("設定", "設定 定"),
        ("設定を直す", "設定 定を を直 直す す"),
        ("API設定v2直す", "設定 定 直す す"),
        ("한국어 회의", "한국 국어 어 회의 의"),
    ],
)
def test_han_kana_and_hangul_are_indexed_as_pairs(text: str, pairs: str) -> None:
    assert bigrams(text) == pairs


@pytest.mark.parametrize(
    ("headings", "date"),
    [
        ((), ""),
        (("Notes",), ""),
        (("2026-06-16", "Notes"), "2026-06-16"),
        (("2026-06-16", "Review of 2026-06-09"), "2026-06-09"),
        (("2026-06-16", "June 2026"), "2026-06-16"),
        (("June 2026",), "2026-06"),
    ],
)
def test_a_section_is_dated_by_the_deepest_full_date_of_its_headings_else_a_month(
    headings: tuple[str, ...], date: str
) -> None:
    assert section_date(headings) == date


ROW_SOURCES = [
    *(f"notes/{file.name}" for file in sorted((PACKAGE / "notes").glob("*.py"))),
    "index/rows.py",
    "index/sqlite/writing.py",
    "index/sqlite/schema.sql",
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy all sources that decide what an index contains."""
    for name in ROW_SOURCES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PACKAGE / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("name", ROW_SOURCES)
def test_a_change_of_any_source_of_the_rows_changes_the_stamp(checkout: Path, name: str) -> None:
    assert stamp_of(checkout) == content_stamp()
    source = checkout / name
    source.write_bytes(source.read_bytes() + b"\n")
    assert stamp_of(checkout) != content_stamp()


def test_a_new_renamed_or_removed_source_changes_the_stamp(checkout: Path) -> None:
    stamps = [stamp_of(checkout)]
    (checkout / "notes" / "new.py").write_bytes(b"")
    stamps.append(stamp_of(checkout))
    (checkout / "notes" / "new.py").rename(checkout / "notes" / "other.py")
    stamps.append(stamp_of(checkout))
    (checkout / "notes" / "other.py").unlink()
    assert stamp_of(checkout) == stamps[0]
    assert len(set(stamps)) == 3


def test_neither_line_ends_times_nor_the_order_of_files_on_the_disk_change_the_stamp(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("wheel")
    for name in reversed(ROW_SOURCES):
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_bytes((checkout / name).read_bytes().replace(b"\n", b"\r\n"))
        os.utime(other / name, (1, 1))
    (other / "notes" / "notes.txt").write_text("no source", encoding="utf-8")
    assert stamp_of(other) == stamp_of(checkout)


def test_an_index_of_other_sources_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = index_folder(tmp_path, "shape")
    with closing(SqliteEngine(tmp_path / "index")) as index:
        index.apply([parsed("a.md", "alpha\n")])
    monkeypatch.setattr("workingset_mcp.index.sqlite.location.content_stamp", lambda: "another")
    monkeypatch.setattr("workingset_mcp.index.sqlite.opening.content_stamp", lambda: "another")
    assert index_folder(tmp_path, "shape") != before
    with closing(SqliteEngine(tmp_path / "index")) as index:
        assert texts_of(index) == {}
        assert "another version" in index.notice


def test_a_closed_index_leaves_no_log_file(tmp_path: Path) -> None:
    with closing(SqliteEngine(tmp_path)) as index:
        index.apply([parsed("a.md", "# A\n\nword\n")])
    assert [path.name for path in parts_of(tmp_path / "index.sqlite3")] == ["index.sqlite3"]


def test_more_notes_can_be_looked_up_than_a_statement_has_parameters(index: SqliteEngine) -> None:
    index.apply([parsed("a.md", "# A\n")])
    with index.snapshot() as snapshot:
        connection = snapshot._connection
        assert isinstance(connection, sqlite3.Connection)
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)  # the usual limit
        assert [note.path for note in snapshot.notes_by_id(range(40_000)).values()] == ["a.md"]
