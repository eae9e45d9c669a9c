"""The contract of every engine: one suite over `Engine` and `View`.

Add an engine by one entry in `ENGINES`. Not here: what is specific to SQLite (`test_index`,
`test_merging`), what a date window means (`test_scope`).
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from workingset_mcp.index import Engine, Scope, View, open_engine
from workingset_mcp.index.query import WHOLE_VAULT, And, Expr, Or, Phrase, Prefix, Term
from workingset_mcp.index.rows import Known, Parsed
from workingset_mcp.notes.note import parse_note, text_digest
from workingset_mcp.settings import Settings
from workingset_mcp.vault.folder import Fingerprint

ENGINES: dict[str, Callable[[Path], Engine]] = {
    "sqlite on disk": lambda folder: open_engine(folder / "index"),
    "sqlite in memory": lambda _: open_engine(None),
}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    opened = ENGINES[request.param](tmp_path)
    yield opened
    opened.close()


def parsed(path: str, text: str, stamp: int = 1) -> Parsed:
    raw = text.encode()
    note = parse_note(path, raw, Settings())
    fingerprint = Fingerprint(len(raw), stamp, stamp, stamp)
    return Parsed(note, path.partition("/")[0], fingerprint, stamp, text_digest(raw))


def texts(view: View) -> dict[str, str]:
    return {note.path: view.text(note.id) for note in view.notes()}


def texts_now(engine: Engine) -> dict[str, str]:
    with engine.snapshot() as view:
        return texts(view)


# -- writing ---------------------------------------------------------------------------------------


def test_notes_are_added_changed_and_removed(engine: Engine) -> None:
    engine.apply([parsed("a.md", "alpha\n"), parsed("b.md", "beta\n")])
    engine.apply([parsed("a.md", "gamma\n")], ["b.md", "never there.md"])
    assert texts_now(engine) == {"a.md": "gamma\n"}
    with engine.snapshot() as view:
        assert [view.count(Term(word)) for word in ("alpha", "beta", "gamma")] == [0, 0, 1]
        assert view.section_count() == view.note_count() == 1


def test_the_same_note_again_changes_nothing_but_the_generation(engine: Engine) -> None:
    first = engine.apply([parsed("a.md", "# A\n\n- [ ] alpha\n")])
    with engine.snapshot() as view:
        before = view.notes(), view.items(["task"]), view.known()
    second = engine.apply([parsed("a.md", "# A\n\n- [ ] alpha\n")])
    with engine.snapshot() as view:
        assert (view.notes(), view.items(["task"]), view.known()) == before
        assert view.generation() == second == first + 1


def test_a_touched_note_keeps_its_text_and_gets_the_new_fingerprint(engine: Engine) -> None:
    note = parsed("a.md", "alpha\n")
    engine.apply([note])
    now = Fingerprint(6, 2, 2, 2)
    engine.apply([], (), [("a.md", Known(now, 9, note.digest)), ("b.md", Known(now, 9, b"x"))])
    with engine.snapshot() as view:
        assert view.known() == {"a.md": Known(now, 9, note.digest)}
        assert texts(view) == {"a.md": "alpha\n"}
    engine.apply([], (), [("a.md", Known(note.fingerprint, 1, b"of other bytes"))])
    with engine.snapshot() as view:
        assert view.known() == {"a.md": Known(now, 9, note.digest)}


def test_each_change_is_a_new_generation_and_a_new_version_of_the_data(engine: Engine) -> None:
    versions = [engine.data_version()]
    for change in (
        lambda: engine.apply([parsed("a.md", "alpha\n")]),
        lambda: engine.apply([], ["a.md"]),
        engine.clear,
    ):
        change()
        versions.append(engine.data_version())
        with engine.snapshot() as view:
            assert view.version() == versions[-1]
            assert view.generation() == versions[-1][1]
    assert versions == sorted(set(versions))


def test_an_index_stays_complete_until_it_is_cleared(engine: Engine) -> None:
    engine.apply([parsed("a.md", "# A\n\nalpha\n\n## Status (2026-06-16)\n\n- [ ] do\n")])
    with engine.snapshot() as view:
        assert not view.complete()
    engine.mark_complete()
    with engine.snapshot() as view:
        assert view.complete()
    engine.settle()
    with engine.snapshot() as view:
        assert (view.complete(), view.unmerged()) == (True, False)
    engine.clear()
    with engine.snapshot() as view:
        assert not view.complete()
        assert (view.notes(), view.items(["task"]), view.statuses()) == ([], [], [])
        assert (view.known(), view.section_count(), view.count(Term("alpha"))) == ({}, 0, 0)


def test_token_counts_are_stored_for_the_bytes_they_count(engine: Engine) -> None:
    engine.apply([parsed("a.md", "alpha\n"), parsed("b.md", "beta\n")])
    with engine.snapshot() as view:
        (first, digest), (second, _) = sorted(view.uncounted(10))
        assert len(view.uncounted(1)) == 1
    assert engine.save_tokens({first: (digest, 7), second: (b"of other bytes", 7)})
    with engine.snapshot() as view:
        assert {note.id: note.tokens for note in view.notes()} == {first: 7, second: None}
        assert [note_id for note_id, _ in view.uncounted(10)] == [second]
    engine.apply([parsed("a.md", "gamma\n")])
    with engine.snapshot() as view:
        assert len(view.uncounted(10)) == 2


def test_a_whole_index_passes_its_verification_and_may_be_replaced_once(engine: Engine) -> None:
    engine.apply([parsed("a.md", "alpha\n")])
    engine.verify()
    epoch = engine.data_version()[0]
    assert engine.replace_damaged(epoch)
    assert not engine.replace_damaged(epoch)
    assert texts_now(engine) == {}
    assert engine.data_version()[0] > epoch


def test_a_view_does_not_change_when_another_thread_writes(engine: Engine) -> None:
    engine.apply([parsed("a.md", "alpha\n")])
    written = threading.Event()

    def write() -> None:
        engine.apply([parsed("b.md", "beta\n")], ["a.md"])
        written.set()

    writer = threading.Thread(target=write)
    with engine.snapshot() as view:
        writer.start()
        written.wait(0.2)  # an engine may block it until the view is closed
        assert texts(view) == {"a.md": "alpha\n"}
        assert [view.count(Term(word)) for word in ("alpha", "beta")] == [1, 0]
    writer.join(20)
    assert written.is_set()
    assert texts_now(engine) == {"b.md": "beta\n"}


def test_an_ended_view_cannot_be_read(engine: Engine) -> None:
    engine.apply([parsed("a.md", "alpha\n")])
    with engine.snapshot() as view:
        assert texts(view) == {"a.md": "alpha\n"}
    with pytest.raises(RuntimeError, match="view has ended"):
        texts(view)


def test_a_small_value_is_computed_once_per_version(engine: Engine) -> None:
    asked: list[int] = []

    def find() -> int:
        asked.append(len(asked))
        return asked[-1]

    for _ in range(2):
        with engine.snapshot() as view:
            assert view.once("number", find) == 0
    engine.apply([parsed("a.md", "alpha\n")])
    with engine.snapshot() as view:
        assert [view.once("number", find), view.once("number", find)] == [1, 1]


def test_small_values_read_by_many_threads_belong_to_their_version(engine: Engine) -> None:
    wrong: list[tuple[int, int]] = []

    def ask() -> None:
        for _ in range(150):
            with engine.snapshot() as view:
                state = view.generation()
                found = view.once("generation", lambda view=view: view.generation())  # type: ignore[misc]  # bound now
                if found != state or view.count(Term("alpha")) != view.note_count():
                    wrong.append((found, state))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(40):
        engine.apply([parsed(f"{number}.md", "alpha\n")])
    for thread in threads:
        thread.join(60)
    assert wrong == []


def test_only_one_holder_has_the_build_turn(engine: Engine) -> None:
    with engine.build_turn() as mine:
        assert mine
    with engine.build_turn() as mine:
        assert mine


# -- words: expressions and scopes -----------------------------------------------------------------

NOTES = {
    "x/a.md": "# Alpha\n\nKilns running hot.\n",
    "x/b.md": "# Beta\n\n## 2026-06-16\n\nkiln and oven\n\n## 2026-05-02\n\noven alone\n",
    "y/2026/c.md": "The oven is hot; the kiln was run. 設定を直す\n",
    "y/2026-06 d.md": "- [ ] C++ x_y kilns\n",
    "z/e.md": "nothing of that\n",
}
EXPRESSIONS: dict[str, tuple[Expr, set[str]]] = {
    "term": (Term("oven"), {"x/b.md", "y/2026/c.md"}),
    "stem": (Term("run"), {"x/a.md", "y/2026/c.md"}),
    "form of a stem": (Term("Kilns"), {"x/a.md", "x/b.md", "y/2026/c.md", "y/2026-06 d.md"}),
    "of several words": (Term("x_y"), {"y/2026-06 d.md"}),
    "no word": (Term("..."), set()),
    "term in a column": (Term("Beta", "title"), {"x/b.md"}),
    "term not in that column": (Term("Beta", "dt"), set()),
    "date": (Term("d20260616", "dt"), {"x/b.md"}),
    "year": (Term("d2026", "dt"), {"y/2026/c.md"}),
    "phrase": (Phrase(("oven", "is", "hot")), {"y/2026/c.md"}),
    "phrase in another order": (Phrase(("hot", "is", "oven")), set()),
    "CJK pairs": (Phrase(("設定", "定を"), "cjk"), {"y/2026/c.md"}),
    "prefix": (Prefix("ki"), {"x/a.md", "x/b.md", "y/2026/c.md", "y/2026-06 d.md"}),
    "prefix in a column": (Prefix("設", "cjk"), {"y/2026/c.md"}),
    "and": (And((Term("kiln"), Term("oven"))), {"x/b.md", "y/2026/c.md"}),
    "or": (Or((Term("nothing"), Term("hot"))), {"x/a.md", "y/2026/c.md", "z/e.md"}),
    "nested": (
        And((Or((Term("d202606", "dt"), Phrase(("was", "run")))), Term("kiln"))),
        {"x/b.md", "y/2026/c.md", "y/2026-06 d.md"},
    ),
    "syntax is words": (Term('oven" OR "nothing'), set()),
    "a NUL and a half character": (Term("oven\0\ud800"), {"x/b.md", "y/2026/c.md"}),
}


@pytest.fixture
def filled(engine: Engine) -> Engine:
    engine.apply([parsed(path, text) for path, text in NOTES.items()])
    return engine


def paths_found(view: View, expr: Expr, scope: Scope = WHOLE_VAULT) -> set[str]:
    notes = view.notes_by_id({hit.note_id for hit in view.search(expr, 100, scope)})
    return {note.path for note in notes.values()}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_every_kind_of_expression_finds_its_sections(filled: Engine, name: str) -> None:
    expr, expected = EXPRESSIONS[name]
    with filled.snapshot() as view:
        assert paths_found(view, expr) == expected
        hits = view.search(expr, 100)
        assert view.count(expr) == len(hits)
        assert view.holds(expr, WHOLE_VAULT) == bool(expected)
        assert hits == sorted(hits, key=lambda hit: -hit.score)
        assert view.search(expr, 1) == hits[:1]


def test_matching_sections_ignores_the_title_and_path_of_a_note(
    filled: Engine,
) -> None:
    with filled.snapshot() as view:
        assert view.count(Term("md", "path")) == view.section_count()
        assert view.matching_sections(Term("md"), None) == []
        assert len(view.matching_sections(Term("oven"), None)) == 3
        assert len(view.matching_sections(Term("oven"), "x")) == 2


def test_stems_are_counted_and_listed_in_order(filled: Engine) -> None:
    with filled.snapshot() as view:
        assert view.document_frequency("oven") == view.count(Term("oven")) == 3
        assert view.document_frequency("absent") == 0
        listed = view.words_between("a", "l", 1_000)
        assert [word for word, _ in listed] == sorted(word for word, _ in listed)
        assert dict(listed)["kiln"] == view.count(Term("kiln"))
        assert view.words_between("kiln", "kilo", 1) == [("kiln", view.count(Term("kiln")))]


BRANCHES = st.none() | st.frozensets(st.sampled_from(["x", "y", "z", "nowhere"]))
DATES = st.sampled_from(
    ["", "2025", "2026", "2026-05", "2026-06", "2026-05-02", "2026-06-16", "2027-01-01"]
)
SCOPES = st.builds(Scope, BRANCHES, DATES, DATES, st.booleans())


@given(SCOPES)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
def test_a_search_in_any_scope_finds_the_sections_that_the_scope_may_hold(
    filled: Engine, scope: Scope
) -> None:
    """Only `Scope` defines the rule; an engine must agree with it."""
    expr = Or(tuple(Term(word) for word in ("kiln", "oven", "nothing")))
    with filled.snapshot() as view:
        notes = {note.id: note for note in view.notes()}
        everywhere = view.search(expr, 100)
        sections = view.sections_by_id([hit.section_id for hit in everywhere])
        expected = [
            hit
            for hit in everywhere
            if scope.branches is None or notes[hit.note_id].branch in scope.branches
            if scope.may_hold(sections[hit.section_id].date or notes[hit.note_id].date)
        ]
        assert view.search(expr, 100, scope) == expected
        assert view.holds(expr, scope) == bool(expected)
        first = [path for _, path in view.first_notes(scope, 100)]
        assert first == [
            note.path
            for note in view.notes()
            if scope.branches is None or note.branch in scope.branches
            if scope.may_hold(note.date)
        ]
        assert [path for _, path in view.first_notes(scope, 2)] == first[:2]


# -- rows ------------------------------------------------------------------------------------------

ROWS = {
    "x/a.md": "# 2026-06-16\n- [ ] alpha @Ana due 2026-07-01\n- [x] done\n## Status\nDecision: go\n",
    "x/b.md": "# B\n\nWe meet every Tuesday at 09:00.\n",
    "x/long.md": "# Long\n\n" + "word " * 4_000,
    "y/c.md": "---\naliases: [Omega]\n---\n# C\n## One\n## Status (2026-05-01)\nx\n",
    "y/brief.md": "---\nkind: workingset-brief\n---\n- [ ] not mine\n",
}


@pytest.fixture
def rows(engine: Engine) -> Iterator[View]:
    engine.apply([parsed(path, text) for path, text in ROWS.items()])
    with engine.snapshot() as view:
        yield view


def test_generated_briefs_are_known_but_have_no_rows(rows: View) -> None:
    assert sorted(rows.known()) == sorted(ROWS)
    assert rows.paths() == [path for path in sorted(ROWS) if path != "y/brief.md"]
    assert rows.note_count() == 4
    assert rows.branch_names() == ["x", "y"]
    assert [row.branch for row in rows.branches()] == ["x", "y"]
    assert [name for name, _ in rows.branch_times()] == ["x", "y"]
    assert (rows.has_branch("y"), rows.has_branch("Y")) == (True, False)
    assert (rows.has_below("y"), rows.has_below("z")) == (True, False)


def test_lists_contain_every_row_of_their_kind(rows: View) -> None:
    tasks = [(row.path, row.line, row.mark, row.kind) for row in rows.listed_items("task", None)]
    assert sorted(tasks) == [("x/a.md", 2, " ", "task"), ("x/a.md", 3, "x", "task")]
    (done,) = rows.listed_items("task", "x", states=("x", "X"), label="done")
    assert (done.kind, done.text, done.date) == ("done", "done", "2026-06-16")
    (decision,) = rows.listed_items("decision", None)
    assert (decision.kind, decision.text) == ("decision", "Decision: go")
    assert rows.listed_items("task", "y") == []
    assert {row.text for row in rows.listed_statuses(None)} == {"Status", "Status (2026-05-01)"}
    assert {row.path for row in rows.listed_notes("x")} == {"x/a.md", "x/b.md", "x/long.md"}


def test_standing_lines_of_undated_notes_come_by_branch(rows: View) -> None:
    (line,) = rows.standing_lines("x")
    note = rows.note("x/b.md")
    assert note
    assert line == (note.id, 3, "rhythm", "We meet every Tuesday at 09:00.")
    assert rows.standing_lines("y") == []


def test_the_newest_status_of_each_branch_is_returned(rows: View) -> None:
    assert rows.newest_statuses() == {
        "x": ("", "Status"),
        "y": ("2026-05-01", "Status (2026-05-01)"),
    }
    assert set(rows.dated_names()) >= {"Status", "Status (2026-05-01)", "B", "C"}


def test_digests_of_a_branch_come_with_those_of_one_more_note(rows: View) -> None:
    known = rows.known()
    assert rows.note_digests("y", "x/a.md") == [
        (path, known[path].digest) for path in ("x/a.md", "y/c.md")
    ]


def test_a_long_section_is_read_whole_from_any_of_its_pieces(rows: View) -> None:
    note = rows.note("x/long.md")
    assert note
    later = rows.later_pieces("x")
    assert later
    assert rows.later_pieces(None) == later
    assert rows.later_pieces("y") == []
    for note_id, ordinal in later:
        start = rows.section_start(note_id, ordinal)
        whole = rows.whole_section(note_id, start)
        assert "".join(row.text for row in whole) == ROWS["x/long.md"]


def test_front_matter_is_returned_separately(rows: View) -> None:
    note = rows.note("y/c.md")
    assert note
    (front,) = rows.front_matters("y")
    assert front == (note.id, 0, "---\naliases: [Omega]\n---\n")
    assert rows.front_matters("x") == []
    assert rows.aliases() == ["Omega"]


def test_unknown_ids_are_left_out(rows: View) -> None:
    assert rows.text(10**9) == ""
    assert rows.sections(10**9) == []
    assert rows.notes_by_id([10**9]) == {}
    assert rows.sections_by_id([10**9]) == {}
    assert rows.note("no.md") is None
