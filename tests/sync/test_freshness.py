"""The index matches the disk after every kind of edit, whichever events arrive."""

import itertools
import os
import random
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from conftest import OpenVault, contents_of, contents_of_fresh, engine_of, write_vault
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from watchfiles import Change

from workingset_mcp.answers.answer import printed
from workingset_mcp.caller import asking
from workingset_mcp.errors import BranchNotFound, IndexUnavailable, VaultNotFound
from workingset_mcp.index.rows import Known
from workingset_mcp.settings import Settings
from workingset_mcp.sync.applying import BATCH_NOTES
from workingset_mcp.sync.changes import Changes, Doubts, plan_changes
from workingset_mcp.sync.follower import Follower
from workingset_mcp.sync.freshness import Freshness, State
from workingset_mcp.vault.files import fingerprint_of
from workingset_mcp.vault.folder import Fingerprint
from workingset_mcp.workspace.checked import SMALL_VAULT_FILES
from workingset_mcp.workspace.facade import Workspace

posix_only = pytest.mark.skipif(os.name != "posix", reason="POSIX stamps, links and modes")

VAULT = (
    "=== README.md\n# Home\n\nWe meet every Tuesday at 16:00 UTC.\n"
    "=== cust/acme/index.md\n# Acme\n\n## Status (2026-06-16)\n\nthe pilot is live\n"
    "=== cust/acme/2026-06-09 call.md\n# Call\n\n- [ ] send the offer\n\nDecision: go ahead\n"
    "=== cust/acme/deep/er/2026-06-02 call.md\n# Call\n\nalpha beta gamma\n"
    "=== cust/acme-labs/index.md\n# Labs\n\nthe other house\n"
    "=== wiki/terms.md\n---\ntitle: Terms\ntags: [x]\n---\n\nzebra giraffe\n"
)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def replace_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    write(temporary, text)
    temporary.replace(path)


def keeping_stamps(path: Path, edit: Callable[[], None]) -> None:
    """Edit a file and keep its size and mtime."""
    before = path.stat()
    edit()
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def assert_current(workspace: Workspace, branch: str | None = None) -> None:
    """Check that the index is current once doubts about just written files are settled."""
    assert workspace.freshness.refresh(branch)
    assert workspace.freshness.is_current(branch)


# -- what differs: a pure plan ---------------------------------------------------------------------

SECOND = 1_000_000_000
STAMP = 1_750_000_000 * SECOND + 123_456_789  # a file system with fine timestamps
COARSE = 1_750_000_000 * SECOND  # one with whole seconds


def seen(size: int = 5, stamp: int = STAMP, inode: int = 7) -> Fingerprint:
    return Fingerprint(size, stamp, stamp, inode)


def known(fingerprint: Fingerprint, read_after: int = 10 * SECOND) -> Known:
    return Known(fingerprint, fingerprint.ctime_ns + read_after, b"digest")


PLANS = [
    ("both empty", {}, {}, Changes()),
    ("nothing differs", {"a": seen()}, {"a": known(seen())}, Changes()),
    ("a new file", {"a": seen()}, {}, Changes(added=("a",))),
    ("a file gone", {}, {"a": known(seen())}, Changes(removed=("a",))),
    ("another size", {"a": seen(6)}, {"a": known(seen())}, Changes(modified=("a",))),
    ("another inode", {"a": seen(inode=8)}, {"a": known(seen())}, Changes(modified=("a",))),
    ("a later stamp", {"a": seen(stamp=STAMP + 1)}, {"a": known(seen())}, Changes(modified=("a",))),
    ("an earlier stamp", {"a": seen(stamp=1)}, {"a": known(seen())}, Changes(modified=("a",))),
    (
        "a restored mtime",
        {"a": Fingerprint(5, STAMP, STAMP + 9, 7)},
        {"a": known(seen())},
        Changes(modified=("a",)),
    ),
    (
        "as many gone as new",
        {"b": seen(), "c": seen()},
        {"a": known(seen()), "c": known(seen())},
        Changes(added=("b",), removed=("a",)),
    ),
    (
        "read at once",
        {"a": seen()},
        {"a": known(seen(), SECOND // 1_000)},
        Changes(doubtful=("a",)),
    ),
    (
        "read before its stamp",
        {"a": seen()},
        {"a": known(seen(), -SECOND)},
        Changes(doubtful=("a",)),
    ),
    ("read a while later", {"a": seen()}, {"a": known(seen(), SECOND)}, Changes()),
    (
        "read at once by a coarse clock",
        {"a": seen(stamp=COARSE)},
        {"a": known(seen(stamp=COARSE), SECOND)},
        Changes(doubtful=("a",)),
    ),
    (
        "read later by a coarse clock",
        {"a": seen(stamp=COARSE)},
        {"a": known(seen(stamp=COARSE), 3 * SECOND)},
        Changes(),
    ),
]


@posix_only
@pytest.mark.parametrize(
    ("disk", "index", "plan"), [pytest.param(*case[1:], id=case[0]) for case in PLANS]
)
def test_the_plan_names_what_differs_and_nothing_else(
    disk: dict[str, Fingerprint], index: dict[str, Known], plan: Changes
) -> None:
    assert plan_changes(disk, index) == plan
    assert bool(plan) == (plan != Changes())


def test_a_reading_settles_a_doubt_only_for_that_fingerprint() -> None:
    disk, index = {"a": seen()}, {"a": known(seen(), 0)}
    doubts = Doubts()
    doubts.note_reading("a", known(seen(), SECOND))
    assert plan_changes(disk, index, doubts) == Changes()
    other = {"a": seen(6)}
    assert plan_changes(other, {"a": known(seen(6), 0)}, doubts) == Changes(doubtful=("a",))
    doubts.clear()
    assert plan_changes(disk, index, doubts) == Changes(doubtful=("a",))


NAMES = st.sampled_from(["a.md", "b.md", "x/a.md", "x/b.md", "y/c.md"])
PRINTS = st.builds(seen, st.integers(0, 2), st.sampled_from([STAMP, STAMP + 1, COARSE]))


@given(
    st.dictionaries(NAMES, PRINTS),
    st.dictionaries(NAMES, st.builds(known, PRINTS, st.sampled_from([0, 10 * SECOND]))),
)
def test_applying_a_plan_makes_the_index_match_the_disk(
    disk: dict[str, Fingerprint], index: dict[str, Known]
) -> None:
    plan = plan_changes(disk, index)
    named = [*plan.added, *plan.modified, *plan.removed, *plan.doubtful]
    assert len(named) == len(set(named))
    applied = {path: entry for path, entry in index.items() if path not in plan.removed}
    for path in (*plan.added, *plan.modified, *plan.doubtful):
        applied[path] = known(disk[path])
    assert {path: entry.fingerprint for path, entry in applied.items()} == disk
    assert plan_changes(disk, applied) == Changes()


# -- every kind of edit ----------------------------------------------------------------------------

Edit = Callable[[Path], object]
CALL = "cust/acme/2026-06-09 call.md"


def in_order(*several: Edit) -> Edit:
    def run(root: Path) -> None:
        for edit in several:
            edit(root)

    return run


def edits() -> dict[str, Edit]:
    return {
        "a note created": lambda v: write(v / "cust/acme/new.md", "# New\n\n- [ ] walrus\n"),
        "a branch created": lambda v: write(v / "cust/brunnfeld/x.md", "# Neu\n\nwalrus\n"),
        "a note at the root": lambda v: write(v / "root.md", "walrus\n"),
        "a note that grows": lambda v: write(v / CALL, "# Call\n\n- [x] send the offer\n\nmore\n"),
        "a note emptied": lambda v: write(v / CALL, ""),
        "a note of the same size": lambda v: write(
            v / CALL, (v / CALL).read_text(encoding="utf-8").replace("offer", "other")
        ),
        "the same size and stamp": lambda v: keeping_stamps(
            v / CALL,
            lambda: write(v / CALL, (v / CALL).read_text(encoding="utf-8").replace("go", "no")),
        ),
        "replaced at once": lambda v: replace_atomically(v / CALL, "# Call\n\nreplaced\n"),
        "replaced at once, the same size and stamp": lambda v: keeping_stamps(
            v / CALL,
            lambda: replace_atomically(
                v / CALL, (v / CALL).read_text(encoding="utf-8").replace("send", "mend")
            ),
        ),
        "touched": lambda v: os.utime(v / CALL),
        "stamped long ago": lambda v: os.utime(v / CALL, (1, 1)),
        "stamped in the future": lambda v: os.utime(v / CALL, (4e9, 4e9)),
        "another mode": lambda v: (v / CALL).chmod(0o640),
        "a note deleted": lambda v: (v / CALL).unlink(),
        "a note renamed": lambda v: (v / CALL).rename(v / "cust/acme/2026-06-10 call.md"),
        "a note in another case": lambda v: (v / CALL).rename(v / "cust/acme/2026-06-09 CALL.md"),
        "a note moved to another branch": lambda v: (v / CALL).rename(v / "wiki/call.md"),
        "two notes swapped": in_order(
            lambda v: (v / CALL).rename(v / "x.tmp"),
            lambda v: (v / "cust/acme/index.md").rename(v / CALL),
            lambda v: (v / "x.tmp").rename(v / "cust/acme/index.md"),
        ),
        "a folder renamed": lambda v: (v / "cust/acme/deep").rename(v / "cust/acme/low"),
        "a branch renamed": lambda v: (v / "cust/acme").rename(v / "cust/brunnfeld"),
        "two branches swapped": in_order(
            lambda v: (v / "cust/acme").rename(v / "cust/x"),
            lambda v: (v / "cust/acme-labs").rename(v / "cust/acme"),
            lambda v: (v / "cust/x").rename(v / "cust/acme-labs"),
        ),
        "a carrier renamed": lambda v: (v / "cust").rename(v / "former"),
        "a folder hidden": lambda v: (v / "cust/acme/deep").rename(v / "cust/acme/.deep"),
        "a note hidden": lambda v: (v / CALL).rename(v / "cust/acme/.call.md"),
        "a note that is none any more": lambda v: (v / CALL).rename(v / "cust/acme/call.txt"),
        "a conflict copy": lambda v: write(v / "cust/acme/index (conflicted copy).md", "other\n"),
        "a folder in the place of a note": in_order(
            lambda v: (v / CALL).unlink(),
            lambda v: write(v / CALL / "inner.md", "walrus\n"),
        ),
        "an ignore file": lambda v: write(v / ".gitignore", "*call.md\n"),
        "a nested ignore file": lambda v: write(v / "cust/acme/.gitignore", "index.md\ndeep/\n"),
        "a note made a brief": lambda v: write(
            v / CALL, "---\nkind: workingset-brief\n---\n- [ ] not mine\n"
        ),
        "a note of other bytes": lambda v: (v / CALL).write_bytes("größer\n".encode("cp1252")),
        "a note of no text": lambda v: (v / CALL).write_bytes(bytes(range(256)) * 20),
        "a note with broken front matter": lambda v: write(v / CALL, "---\ntitle: [\n---\nx\n"),
        "a huge note": lambda v: write(v / CALL, "# Call\n\n" + "walrus and tusk\n" * 20_000),
        "nothing": lambda _: None,
    }


if os.name == "posix":
    LINKED: dict[str, Edit] = {
        "a link in the place of a note": in_order(
            lambda v: (v / CALL).unlink(),
            lambda v: (v / CALL).symlink_to(v / "README.md"),
        ),
        "a link in the place of a branch": in_order(
            lambda v: (v / "cust/acme").rename(v / "wiki/acme"),
            lambda v: (v / "cust/acme").symlink_to(v / "wiki/acme"),
        ),
        "a second name of the file": lambda v: os.link(v / CALL, v / "wiki/call.md"),
    }
else:
    LINKED = {}

EDITS = edits() | LINKED


@pytest.mark.parametrize("name", EDITS)
def test_after_a_refresh_the_index_equals_a_rebuilt_one(open_vault: OpenVault, name: str) -> None:
    workspace = open_vault(VAULT)
    EDITS[name](workspace.vault.root)
    assert workspace.freshness.refresh()
    assert contents_of(workspace) == contents_of_fresh(workspace.vault.root)
    assert_current(workspace)


@pytest.mark.parametrize("name", EDITS)
def test_every_answer_shows_the_edit(open_vault: OpenVault, name: str) -> None:
    workspace = open_vault(VAULT)
    EDITS[name](workspace.vault.root)
    fresh = Workspace(workspace.vault.root, Settings(), in_memory=True)
    try:
        fresh.build()
        branches = set(fresh.branches()) | {"cust/acme"}
        # first an answer over one branch, then over all
        for branch in sorted(branches):
            answers = []
            for opened in (workspace, fresh):
                try:
                    answers.append(
                        printed(opened.brief(branch)) + printed(opened.full(branch, budget=20_000))
                    )
                except BranchNotFound as error:
                    answers.append(error.message)
            assert answers[0] == answers[1]
        for query in ("walrus", "offer", "other", "pilot", "replaced", "zebra"):
            assert printed(workspace.search(query)) == printed(fresh.search(query))
        assert printed(workspace.full(budget=20_000)) == printed(fresh.full(budget=20_000))
    finally:
        fresh.close()


def test_an_edited_ignore_file_applies_and_can_be_reverted(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    root = workspace.vault.root
    for text in ("index.md\n", "*call.md\n!2026-06-09 call.md\n", "cust/\n", ""):
        write(root / ".gitignore", text)
        workspace.freshness.refresh()
        assert contents_of(workspace) == contents_of_fresh(root)
    (root / ".gitignore").unlink()
    workspace.freshness.refresh()
    assert contents_of(workspace) == contents_of_fresh(root)


def test_a_vault_that_is_away_is_an_error_and_comes_back_whole(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    root, away = workspace.vault.root, workspace.vault.root.with_name("away")
    whole = contents_of(workspace)
    root.rename(away)
    with pytest.raises(VaultNotFound):
        workspace.freshness.refresh()
    assert contents_of(workspace) == whole
    away.rename(root)
    workspace.freshness.refresh()
    assert contents_of(workspace) == whole


def stepped(milliseconds: int) -> Callable[[os.stat_result], Fingerprint]:
    """Return fingerprints of a file system whose clock advances in steps."""
    step = milliseconds * 1_000_000

    def fingerprint(found: os.stat_result) -> Fingerprint:
        seen = fingerprint_of(found)
        ctime_ns = seen.ctime_ns // step * step + 123_457
        return seen._replace(mtime_ns=seen.mtime_ns // step * step + 123_457, ctime_ns=ctime_ns)

    return fingerprint


@pytest.mark.parametrize("clock_step", [0, 4, 40], ids=["fine stamps", "4 ms", "40 ms"])
def test_quick_edits_of_one_size_are_all_seen(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch, clock_step: int
) -> None:
    if clock_step:
        monkeypatch.setattr("workingset_mcp.vault.folder.fingerprint_of", stepped(clock_step))
    workspace = open_vault(VAULT)
    file = workspace.vault.root / CALL
    stamp = file.stat().st_mtime_ns
    for number in range(150):
        text = f"number {number:05}\n"
        file.write_bytes(text.encode())
        os.utime(file, ns=(stamp, stamp))
        workspace.freshness.refresh("cust/acme" if number % 2 else None)
        if number % 3 == 0:  # a second check may settle doubts but never hide a later edit
            workspace.freshness.refresh()
        with workspace.index.snapshot() as snapshot:
            note = snapshot.note(CALL)
            assert note is not None
            assert snapshot.text(note.id) == text


def test_unchanged_files_are_not_read_again(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)

    def rows() -> dict[str, int]:
        with workspace.index.snapshot() as snapshot:
            return {note.path: note.id for note in snapshot.notes()}

    before = rows()
    os.utime(workspace.vault.root / CALL)
    write(workspace.vault.root / "README.md", "# Home\n\nother\n")
    workspace.freshness.refresh()
    after = rows()
    assert after.pop("README.md") != before.pop("README.md")
    assert after == before


def test_a_refresh_without_changes_keeps_the_generation(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    workspace.freshness.refresh()
    before = workspace.status()["generation"]
    for branch in (None, "cust/acme", ".", "wiki", "cust/acme/deep", "missing"):
        assert workspace.freshness.refresh(branch)
    assert not workspace.freshness.refresh_paths([CALL, "README.md", "missing.md"])
    assert workspace.status()["generation"] == before


def test_a_refresh_of_a_branch_leaves_other_branches_alone(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    root, freshness = workspace.vault.root, workspace.freshness
    assert_current(workspace)
    write(root / "cust/acme/new.md", "walrus\n")
    write(root / "cust/acme-labs/new.md", "walrus\n")
    write(root / "new.md", "walrus\n")
    assert freshness.refresh("cust/acme")
    assert_current(workspace, "cust/acme")
    scopes = ("cust/acme", "cust/acme-labs", ".", "wiki", None)
    assert [freshness.is_current(scope) for scope in scopes] == [True, False, False, True, False]
    assert freshness.refresh()
    assert contents_of(workspace) == contents_of_fresh(root)


def test_a_refresh_of_paths_touches_only_these(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    root, freshness = workspace.vault.root, workspace.freshness
    write(root / CALL, "walrus\n")
    write(root / "README.md", "walrus\n")
    (root / "wiki/terms.md").unlink()
    assert freshness.refresh_paths([CALL, "wiki/terms.md"])
    assert_current(workspace, "wiki")
    assert not freshness.refresh_paths([CALL, "wiki/terms.md"])
    assert not freshness.is_current(".")
    assert freshness.is_current("wiki")
    assert freshness.refresh_paths(["README.md"])
    assert contents_of(workspace) == contents_of_fresh(root)


OUT_OF_SIGHT: dict[str, Edit] = {
    "an ignore file": lambda v: write(v / ".gitignore", "/wiki/\n"),
    "an ignore file beside it": lambda v: write(v / "wiki/.gitignore", "terms.md\n"),
    "an ignore file that names all": lambda v: write(v / ".gitignore", "*.md\n"),
}
if os.name == "posix":
    OUT_OF_SIGHT["its folder behind a link"] = in_order(
        lambda v: (v / "wiki").rename(v.with_name("elsewhere")),
        lambda v: (v / "wiki").symlink_to(v.with_name("elsewhere")),
    )


@pytest.mark.parametrize("name", OUT_OF_SIGHT)
def test_a_search_of_a_large_vault_quotes_no_note_that_became_ignored(
    open_vault: OpenVault, name: str
) -> None:
    workspace = open_vault(VAULT)
    root, freshness = workspace.vault.root, workspace.freshness
    freshness.walked_files = 10_000  # too large to be walked for each search
    assert "zebra" in printed(workspace.search("zebra")).partition("\n")[2]
    OUT_OF_SIGHT[name](root)
    assert not freshness.is_current(paths=["wiki/terms.md"])
    freshness.walked_files = 10_000
    assert "giraffe" not in printed(workspace.search("zebra"))
    assert contents_of(workspace) == contents_of_fresh(root)


def test_the_first_search_of_a_large_vault_knows_what_was_saved_while_no_server_ran(
    open_vault: OpenVault, tmp_path: Path
) -> None:
    vault = tmp_path / "large"
    for at in range(SMALL_VAULT_FILES + 1):
        write(vault / f"notes/{at}.md", f"# Note {at}\n\nThe zebra of day {at}.\n")
    first = open_vault(vault)
    assert first.freshness.walked_files > SMALL_VAULT_FILES
    write(vault / "notes/new.md", "# Zebra\n\nThe zebra is a giraffe now.\n")
    again = Workspace(first.vault.root, first.settings)
    try:
        assert "giraffe" in printed(again.search("zebra"))
    finally:
        again.close()


def test_a_note_that_is_no_longer_ignored_is_quoted_and_current(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    root, freshness = workspace.vault.root, workspace.freshness
    write(root / ".gitignore", "/wiki/\n")
    freshness.refresh()
    write(root / ".gitignore", "/nowhere/\n")
    assert freshness.refresh_paths(["wiki/terms.md"])
    assert freshness.is_current(paths=["wiki/terms.md", "missing.md"])


def test_a_refresh_past_its_deadline_returns_false_and_continues_later(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(VAULT)
    write(workspace.vault.root / CALL, "walrus\n")
    assert not workspace.freshness.refresh(deadline=time.monotonic() - 1)
    assert not workspace.freshness.is_current()
    assert workspace.freshness.refresh(deadline=time.monotonic() + 60)
    assert_current(workspace)


# -- random edits ----------------------------------------------------------------------------------

PATHS = ["a.md", "b.md", "cust/acme/a.md", "cust/acme/x/b.md", "cust/labs/a.md", "wiki/a.md"]
FOLDERS = ["cust", "cust/acme", "cust/acme/x", "cust/labs", "wiki"]
TEXTS = [
    "",
    "# A\n\nalpha beta\n",
    "# A\n\nalpha gamma alpha\n",
    "# B\n\n- [ ] alpha\n- [x] beta\n\n## 2026-06-16\n\nDecision: gamma\n",
    "---\ntitle: T\ntags: [delta]\naliases: [alpha]\ndate: 2026-06-16\n---\n# T\n\nbeta\n",
    "---\nkind: workingset-brief\n---\n- [ ] alpha\n",
    "## 現状（2026-04-27時点）\n\n設定を直す alpha\n",
    "# Größe\n\nÄpfel naïve café\r\n",
    "alpha beta gamma\n\n" * 300,
]


def random_edit(root: Path, dice: random.Random) -> None:
    path, folder = root / dice.choice(PATHS), root / dice.choice(FOLDERS)
    kind = dice.randrange(8)
    if kind <= 3 and not any(above.is_file() for above in path.parents):
        write(path, dice.choice(TEXTS))
    elif kind == 4:
        path.unlink(missing_ok=True)
    elif kind == 5 and folder.is_dir() and not (root / "moved").exists():
        folder.rename(root / "moved")
    elif kind == 6 and (root / "moved").is_dir() and not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        (root / "moved").rename(folder)
    elif kind == 7 and path.is_file():
        os.utime(path, ns=(dice.randrange(10**18), dice.randrange(10**18)))


@given(st.integers(0, 10**9))
@hypothesis_settings(max_examples=12)
def test_after_any_edits_and_partial_refreshes_the_index_equals_a_rebuilt_one(seed: int) -> None:
    dice = random.Random(seed)  # edits, no secrets
    with tempfile.TemporaryDirectory() as folder:
        root = write_vault(Path(folder) / "vault", VAULT)
        workspace = Workspace(root, Settings(index_dir=f"{folder}/index"))
        try:
            workspace.build()
            for _ in range(25):
                random_edit(root, dice)
                match dice.randrange(5):
                    case 0:
                        workspace.freshness.refresh()
                    case 1:
                        workspace.freshness.refresh(dice.choice(FOLDERS))
                    case 2:
                        workspace.freshness.refresh_paths(dice.sample(PATHS, 2))
                    case 3:
                        printed(workspace.search(dice.choice(["alpha", "beta", "nowhere"])))
            workspace.freshness.refresh()
            assert contents_of(workspace) == contents_of_fresh(root)
        finally:
            workspace.close()


# -- building, several at once ---------------------------------------------------------------------


def test_the_first_build_reports_its_progress_and_its_end(
    make_vault: Callable[[str], Path], tmp_path: Path
) -> None:
    root = make_vault("".join(f"=== n{number}.md\nnote {number}\n" for number in range(450)))
    workspace = Workspace(root, Settings(index_dir=str(tmp_path / "index")))
    try:
        told: list[tuple[int, int]] = []
        assert str(workspace.freshness.state) == "indexing 0 of 0 notes (0 %)"
        assert not workspace.freshness.wait_until_built(0)
        workspace.build(lambda done, total: told.append((done, total)))
        assert told[-1] == (450, 450)
        assert len(told) > 1
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert workspace.freshness.wait_until_built(0)
        assert str(workspace.freshness.state) == "index current"
    finally:
        workspace.close()


class Gone(Exception):
    """Raised in a call whose caller has gone."""


def gone() -> None:
    raise Gone


def test_work_stops_for_a_caller_that_is_gone(
    make_vault: Callable[[str], Path], tmp_path: Path
) -> None:
    workspace = Workspace(make_vault(VAULT), Settings(index_dir=str(tmp_path / "index")))
    try:
        with asking(gone):
            with pytest.raises(Gone):
                workspace.freshness.wait_until_built(60)
            with pytest.raises(Gone):
                workspace.freshness.refresh()
        assert contents_of(workspace)["paths"] == []
        workspace.build()
        assert contents_of(workspace) == contents_of_fresh(workspace.vault.root)
    finally:
        workspace.close()


def test_a_file_that_takes_over_during_a_build_is_built_completely(
    make_vault: Callable[[str], Path], tmp_path: Path
) -> None:
    root = make_vault(
        "".join(f"=== n{number}.md\nnote {number}\n" for number in range(BATCH_NOTES + 50))
    )
    workspace = Workspace(root, Settings(index_dir=str(tmp_path / "index")))
    try:
        epochs = [workspace.index.data_version()[0]]

        def damaged_once(done: int, _: int) -> None:
            if done == BATCH_NOTES and len(epochs) == 1:
                workspace.freshness.start_anew(epochs[0])
                workspace.freshness.start_anew(epochs[0])  # another thread that noticed the same
                epochs.append(workspace.index.data_version()[0])

        workspace.build(damaged_once)
        assert epochs == [0, 1]
        assert contents_of(workspace) == contents_of_fresh(root)
        assert workspace.freshness.built.is_set()
    finally:
        workspace.close()


def test_an_index_that_another_process_rebuilt_is_used(open_vault: OpenVault) -> None:
    one = open_vault(VAULT)
    other = open_vault(one.vault.root)
    file = engine_of(one).file
    assert file is not None
    epoch = one.index.data_version()[0]
    other.freshness.start_anew()
    other.build()
    generation = other.status()["generation"]
    one.freshness.start_anew(epoch)
    assert one.freshness.built.is_set()
    assert one.index.notice == ""
    assert contents_of(one) == contents_of_fresh(one.vault.root)
    assert one.status()["generation"] == generation


def test_a_warm_index_is_ready_at_once(open_vault: OpenVault) -> None:
    first = open_vault(VAULT)
    again = Workspace(first.vault.root, first.settings)
    try:
        assert again.freshness.wait_until_built(0)
        assert contents_of(again) == contents_of(first)
    finally:
        again.close()


@pytest.mark.parametrize(
    ("state", "printed"),
    [
        (State(), "indexing 0 of 0 notes (0 %)"),
        (State("building", 1_500, 6_000), "indexing 1,500 of 6,000 notes (25 %)"),
        (State("current"), "index current"),
        (State("behind"), "index behind"),
        (State("failing", problem="OSError"), "index failing: OSError"),
    ],
)
def test_a_state_is_printed_in_plain_words(state: State, printed: str) -> None:
    assert str(state) == printed


def test_the_state_is_failing_until_a_refresh_succeeds(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    workspace.freshness.note_failure(OSError("disk"))
    assert str(workspace.freshness.state) == "index failing: OSError"
    workspace.freshness.note_failure(IndexUnavailable("The disk is full.", "Free some space."))
    assert str(workspace.freshness.state) == "index failing: The disk is full"
    workspace.freshness.refresh()
    assert str(workspace.freshness.state) == "index current"


def test_several_processes_that_start_at_once_on_one_vault_all_get_a_correct_index(
    make_vault: Callable[[str], Path], tmp_path: Path
) -> None:
    notes = "".join(f"=== n{number}.md\n# N{number}\n\n- [ ] task\n" for number in range(120))
    root = make_vault(VAULT + notes)
    settings = Settings(index_dir=str(tmp_path / "index"))
    barrier = threading.Barrier(4)
    problems: list[BaseException] = []
    found: list[dict[str, object]] = []

    def serve() -> None:
        try:
            barrier.wait()
            workspace = Workspace(root, settings)
            try:
                workspace.build()
                found.append(contents_of(workspace))
            finally:
                workspace.close()
        except BaseException as error:
            problems.append(error)
            raise

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 8
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads)
    assert problems == []
    assert found == [contents_of_fresh(root)] * 4


def test_what_one_server_indexed_another_uses_without_repeating_it(
    open_vault: OpenVault,
) -> None:
    one = open_vault(VAULT)
    other = open_vault(one.vault.root)
    write(one.vault.root / CALL, "walrus\n")
    (one.vault.root / "wiki/terms.md").unlink()
    one.freshness.refresh()
    generation = one.status()["generation"]
    assert contents_of(other) == contents_of(one)
    assert other.freshness.refresh()
    assert other.status()["generation"] == generation
    assert "walrus" in printed(other.search("walrus")).partition("\n")[2]


# -- the follower, fed with change sets ------------------------------------------------------------

ChangeSet = set[tuple[Change, str]]


def changed(root: Path, *paths: str, change: Change = Change.modified) -> ChangeSet:
    return {(change, str(root / path)) for path in paths}


class Feed:
    """A source of change sets that sends the next one when the last one is handled."""

    def __init__(self, steps: Iterable[Callable[[], ChangeSet]]) -> None:
        self.steps = list(steps)
        self.after_each: list[Any] = []
        self.done = anyio.Event()

    async def __call__(self, look: Callable[[], object]) -> AsyncIterator[ChangeSet]:
        yield set()  # as watchfiles does when the watch is active
        for step in self.steps:
            yield step()
            self.after_each.append(look())
        self.done.set()
        await anyio.sleep_forever()


def sweeping(freshness: Freshness, source: AsyncIterator[ChangeSet]) -> Follower:
    """Make a follower that sweeps or polls constantly."""
    return Follower(freshness, source=source, sweep_seconds=0.001, poll_seconds=0.001)


async def follow(workspace: Workspace, *steps: Callable[[], ChangeSet]) -> list[Any]:
    """Feed a follower, and return the contents of the index after each change set."""
    feed = Feed(steps)
    follower = Follower(workspace.freshness, source=feed(lambda: contents_of(workspace)))
    async with anyio.create_task_group() as group:
        group.start_soon(follower.run)
        with anyio.fail_after(20):
            await feed.done.wait()
        group.cancel_scope.cancel()
    return feed.after_each


FOLLOWED: dict[str, tuple[Edit, tuple[str, ...]]] = {
    "a note edited": (lambda v: write(v / CALL, "walrus\n"), (CALL,)),
    "a note created": (lambda v: write(v / "cust/acme/new.md", "x\n"), ("cust/acme/new.md",)),
    "a note deleted": (lambda v: (v / CALL).unlink(), (CALL,)),
    "a note renamed": (
        lambda v: (v / CALL).rename(v / "wiki/call.md"),
        (CALL, "wiki/call.md"),
    ),
    "a branch renamed, told by its folder": (
        lambda v: (v / "cust/acme").rename(v / "cust/brunnfeld"),
        ("cust/acme", "cust/brunnfeld"),
    ),
    "a folder deeper renamed, told by its folder": (
        lambda v: (v / "cust/acme/deep").rename(v / "cust/acme/low"),
        ("cust/acme/deep", "cust/acme/low"),
    ),
    "a folder gone, told by its folder": (
        lambda v: (v / "cust/acme").rename(v.with_name("elsewhere")),
        ("cust/acme",),
    ),
    "a folder that came, told by its folder": (
        lambda v: write(v / "cust/brunnfeld/deep/x.md", "x\n"),
        ("cust/brunnfeld",),
    ),
    "a folder in the place of a note": (
        in_order(
            lambda v: (v / CALL).unlink(),
            lambda v: write(v / CALL / "inner.md", "x\n"),
        ),
        (CALL,),
    ),
    "an ignore file written": (lambda v: write(v / ".gitignore", "*call.md\n"), (".gitignore",)),
    "a nested ignore file written": (
        lambda v: write(v / "cust/acme/.gitignore", "index.md\n"),
        ("cust/acme/.gitignore",),
    ),
    "replaced by way of a temporary file": (
        lambda v: replace_atomically(v / CALL, "walrus\n"),
        (f"cust/acme/.{Path(CALL).name}.tmp", CALL),
    ),
    "many at once": (
        in_order(*(lambda v, n=number: write(v / f"wiki/n{n}.md", "x\n") for number in range(30))),
        tuple(f"wiki/n{number}.md" for number in range(30)),
    ),
    "told by a path outside": (lambda v: write(v / CALL, "walrus\n"), ("/elsewhere.md",)),
}


@pytest.mark.anyio
@pytest.mark.parametrize("name", FOLLOWED)
async def test_the_index_matches_the_disk_after_each_change_set(
    open_vault: OpenVault, name: str
) -> None:
    workspace = open_vault(VAULT)
    root = workspace.vault.root
    edit, told = FOLLOWED[name]

    def step() -> ChangeSet:
        edit(root)
        return changed(root, *told)

    assert await follow(workspace, step) == [contents_of_fresh(root)]


@pytest.mark.anyio
async def test_a_follower_catches_up_with_what_changed_before_its_watch_began(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(VAULT)
    write(workspace.vault.root / CALL, "walrus\n")
    after = await follow(workspace, set)
    assert after == [contents_of_fresh(workspace.vault.root)]


@pytest.mark.anyio
async def test_events_of_other_files_change_nothing(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    root = workspace.vault.root
    workspace.freshness.refresh()
    before = workspace.status()["generation"]
    told = (".git/index", ".obsidian/workspace.md", "node_modules/x/a.md", "image.png", "a.md~")
    await follow(workspace, lambda: changed(root, *told), lambda: changed(root, CALL), set)
    assert workspace.status()["generation"] == before


@pytest.mark.anyio
async def test_several_change_sets_in_a_row_are_all_handled(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    root = workspace.vault.root
    texts = [f"# Call {number}\n\nwalrus {number}\n" for number in range(8)]

    def step(text: str) -> Callable[[], ChangeSet]:
        def edit() -> ChangeSet:
            write(root / CALL, text)
            return changed(root, CALL)

        return edit

    after = await follow(workspace, *map(step, texts))
    assert [seen_then["texts"][CALL] for seen_then in after] == texts


@pytest.mark.anyio
async def test_a_failing_refresh_is_recorded_and_does_not_stop_the_follower(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(VAULT)
    root = workspace.vault.root
    feed = Feed([lambda: changed(root, CALL), lambda: changed(root, "README.md")])
    states: list[str] = []
    workspace.index.close()
    source = feed(lambda: states.append(str(workspace.freshness.state)))
    async with anyio.create_task_group() as group:
        group.start_soon(Follower(workspace.freshness, source=source).run)
        with anyio.fail_after(20):
            await feed.done.wait()
        group.cancel_scope.cancel()
    assert states == ["index failing: ProgrammingError"] * 2


@pytest.mark.anyio
async def test_an_index_lost_again_while_it_is_replaced_does_not_stop_the_follower(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = open_vault(VAULT)
    freshness, start_anew, lost = workspace.freshness, workspace.freshness.start_anew, [1, 2]

    def lose() -> None:
        file = engine_of(workspace).file
        if lost and file is not None:
            file.unlink()
            lost.pop()

    def start_anew_and_lose(epoch: int | None = None) -> None:
        start_anew(epoch)
        lose()

    monkeypatch.setattr(freshness, "start_anew", start_anew_and_lose)
    feed = Feed([])
    follower = sweeping(freshness, feed(lambda: None))
    async with anyio.create_task_group() as group:
        group.start_soon(follower.run)
        await until(follower.watching.is_set)
        lose()
        await until(lambda: not lost and freshness.built.is_set() and not freshness.building)
        group.cancel_scope.cancel()
    assert contents_of(workspace) == contents_of_fresh(workspace.vault.root)


@pytest.mark.anyio
async def test_a_follower_leaves_the_first_build_to_the_holder_of_the_turn(
    make_vault: Callable[[str], Path], tmp_path: Path
) -> None:
    root = make_vault(VAULT)
    settings = Settings(index_dir=str(tmp_path / "index"))
    workspace, builder = Workspace(root, settings), Workspace(root, settings)
    freshness = workspace.freshness
    feed = Feed([lambda: changed(root, CALL)])
    try:
        async with anyio.create_task_group() as group:
            with builder.index.build_turn() as mine:
                assert mine
                group.start_soon(Follower(freshness, source=feed(lambda: None)).run)
                await until(lambda: freshness.building)
                for _ in range(200):
                    await anyio.lowlevel.checkpoint()
                assert contents_of(workspace)["paths"] == []
            await until(freshness.built.is_set)
            with anyio.fail_after(20):
                await feed.done.wait()
            group.cancel_scope.cancel()
        assert contents_of(workspace) == contents_of_fresh(root)
    finally:
        workspace.close()
        builder.close()


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not condition():
            await anyio.lowlevel.checkpoint()


@pytest.mark.anyio
@pytest.mark.parametrize("breaks", [True, False], ids=["raises", "ends"])
async def test_without_events_the_follower_polls(open_vault: OpenVault, *, breaks: bool) -> None:
    workspace = open_vault(VAULT)
    root, freshness = workspace.vault.root, workspace.freshness

    async def broken() -> AsyncIterator[ChangeSet]:
        yield set()
        if breaks:
            raise OSError("inotify watch limit reached")

    follower = sweeping(freshness, broken())
    async with anyio.create_task_group() as group:
        group.start_soon(follower.run)
        await until(lambda: freshness.watcher == "polling")
        before = workspace.status()["generation"]
        write(root / CALL, "walrus\n")
        await until(lambda: workspace.status()["generation"] > before)
        group.cancel_scope.cancel()
    assert contents_of(workspace) == contents_of_fresh(root)


@pytest.mark.anyio
async def test_a_sweep_finds_an_edit_without_an_event_and_starts_polling(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(VAULT)
    root, numbers = workspace.vault.root, itertools.count()
    feed = Feed([])
    follower = sweeping(workspace.freshness, feed(lambda: None))
    async with anyio.create_task_group() as group:
        group.start_soon(follower.run)
        await feed.done.wait()
        await until(lambda: workspace.freshness.watcher == "events")

        def edited_until_polling() -> bool:
            write(root / f"n{next(numbers)}.md", "walrus\n")  # a sweep may be running
            return workspace.freshness.watcher == "polling"

        await until(edited_until_polling)
        before = workspace.status()["generation"]
        write(root / CALL, "the last walrus\n")
        await until(lambda: workspace.status()["generation"] > before)
        group.cancel_scope.cancel()
    workspace.freshness.refresh()
    assert contents_of(workspace) == contents_of_fresh(root)


@pytest.mark.anyio
async def test_a_vault_with_constant_edits_is_not_mistaken_for_one_without_events(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = open_vault(VAULT)
    root, freshness, numbers = workspace.vault.root, workspace.freshness, itertools.count(1)
    differing = freshness.differing
    looks: list[dict[str, Fingerprint | None]] = []

    def edited_before_each_look() -> dict[str, Fingerprint | None]:
        if not follower.watching.is_set():  # else it may index an edit
            return differing()
        write(root / CALL, "walrus\n" * next(numbers))
        looks.append(differing())
        return looks[-1]

    monkeypatch.setattr(freshness, "differing", edited_before_each_look)
    feed = Feed([])
    follower = sweeping(freshness, feed(lambda: None))
    async with anyio.create_task_group() as group:
        group.start_soon(follower.run)
        await until(lambda: len(looks) >= 6)
        assert all(looks)
        assert freshness.watcher == "events"
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_a_save_is_seen_through_real_events(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    root, freshness = workspace.vault.root, workspace.freshness
    follower = Follower(freshness)
    async with anyio.create_task_group() as group:
        group.start_soon(follower.run)
        with anyio.fail_after(20):
            await follower.watching.wait()
        before = workspace.status()["generation"]
        write(root / CALL, "walrus\n")
        await until(lambda: workspace.status()["generation"] > before)
        assert freshness.watcher == "events"
        group.cancel_scope.cancel()
    assert contents_of(workspace) == contents_of_fresh(root)


@pytest.mark.anyio
async def test_a_vault_that_was_away_is_watched_again(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    root, freshness, whole = workspace.vault.root, workspace.freshness, contents_of(workspace)
    async with anyio.create_task_group() as group:
        group.start_soon(Follower(freshness, poll_seconds=0.05).run)
        await until(lambda: freshness.watcher == "events")
        away = root.rename(root.with_name("away"))
        await until(lambda: "is not there" in str(freshness.state))
        assert contents_of(workspace) == whole
        shutil.copytree(away, root)  # another folder in its place
        await until(lambda: str(freshness.state) == "index current")
        write(root / CALL, "walrus\n")
        await until(lambda: contents_of(workspace) == contents_of_fresh(root))
        assert freshness.watcher == "events"
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_while_another_process_holds_the_index_the_follower_tries_again(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(VAULT)
    root, freshness = workspace.vault.root, workspace.freshness
    file = engine_of(workspace).file
    assert file is not None
    holder = sqlite3.connect(file, isolation_level=None)
    async with anyio.create_task_group() as group:
        group.start_soon(Follower(freshness, poll_seconds=0.05).run)
        await until(lambda: freshness.watcher == "events")
        holder.execute("BEGIN IMMEDIATE")
        write(root / CALL, "walrus\n")
        await until(lambda: freshness.state.is_held)
        assert str(freshness.state) == "index behind: another process holds the index"
        holder.execute("ROLLBACK")
        await until(lambda: str(freshness.state) == "index current")
        group.cancel_scope.cancel()
    holder.close()
    assert contents_of(workspace) == contents_of_fresh(root)


# -- threads at once -------------------------------------------------------------------------------

JOIN_SECONDS = 25.0  # far longer than any of these takes; only a deadlock takes more


def run_at_once(*works: Callable[[], object]) -> None:
    """Run each in its own thread; raise the exception of any, and fail if one hangs."""
    problems: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            problems.append(error)
            raise

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + JOIN_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads)
    assert problems == []


@contextmanager
def paused_reading(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[threading.Event, threading.Event, list[str]]]:
    """Make a reader of the call set one event and wait for the other; also yield the paths read."""
    reading, go_on, read = threading.Event(), threading.Event(), list[str]()
    read_file = workspace.vault.read

    def read_slowly(path: str) -> tuple[bytes, Fingerprint]:
        found = read_file(path)
        read.append(path)
        if path == CALL:
            reading.set()
            assert go_on.wait(JOIN_SECONDS)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(workspace.vault, "read", read_slowly)
        try:
            yield reading, go_on, read
        finally:
            go_on.set()


@pytest.fixture(params=[False, True], ids=["on disk", "in memory"])
def either(
    request: pytest.FixtureRequest, make_vault: Callable[[str], Path], tmp_path: Path
) -> Iterator[Workspace]:
    """Make a built workspace with its index on disk or in memory."""
    settings = Settings(index_dir=str(tmp_path / "index"))
    workspace = Workspace(make_vault(VAULT), settings, in_memory=request.param)
    workspace.build()
    while _doubtful(workspace):  # for 50 ms: a doubtful file would be read again
        workspace.freshness.refresh()
    yield workspace
    workspace.close()


def _doubtful(workspace: Workspace) -> Changes:
    with workspace.index.snapshot() as snapshot:
        known = snapshot.known()
    return plan_changes(workspace.vault.walk().files, known, workspace.freshness._applier.doubts)


def test_while_a_file_is_read_other_threads_read_and_write(
    either: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness, index, root = either.freshness, either.index, either.vault.root
    write(root / CALL, "walrus\n")
    with paused_reading(either, monkeypatch) as (reading, go_on, _):

        def others() -> None:
            assert reading.wait(JOIN_SECONDS)
            assert index.save_tokens({})
            assert index.apply([]) > 0
            assert freshness.is_current("wiki")
            assert not freshness.is_current("cust/acme")
            assert not freshness.is_current(paths=[CALL])
            write(root / "wiki/terms.md", "giraffe\n")
            assert freshness.refresh("wiki")  # not the file that is being read
            assert "giraffe" in printed(either.search("giraffe", branch="wiki"))
            go_on.set()

        run_at_once(freshness.refresh, others)
    assert contents_of(either) == contents_of_fresh(root)


def test_two_concurrent_refreshes_read_each_file_once(
    either: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness, root = either.freshness, either.vault.root
    for path in (CALL, "README.md", "wiki/terms.md"):
        write(root / path, f"walrus of {path}\n")
    waiting, wait_until_free = threading.Event(), freshness._applier.claims.wait_until_free

    def tell_and_wait(paths: Collection[str], seconds: float) -> bool:
        if paths:
            waiting.set()
        return wait_until_free(paths, seconds)

    monkeypatch.setattr(freshness._applier.claims, "wait_until_free", tell_and_wait)
    with paused_reading(either, monkeypatch) as (reading, go_on, read):

        def second() -> None:
            assert reading.wait(JOIN_SECONDS)
            assert freshness.refresh()
            assert contents_of(either) == contents_of_fresh(root)

        def release() -> None:
            assert waiting.wait(JOIN_SECONDS)
            assert read.count(CALL) == 1
            go_on.set()

        run_at_once(freshness.refresh, second, release)
        parsed_twice = [
            path for path in read if read.count(path) > 2
        ]  # a doubt costs one more reading
    assert parsed_twice == []


def test_an_older_reading_never_replaces_a_newer_one(
    either: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness, root = either.freshness, either.vault.root
    write(root / CALL, "the older walrus\n")
    with paused_reading(either, monkeypatch) as (reading, go_on, _):

        def later() -> None:
            assert reading.wait(JOIN_SECONDS)
            write(root / CALL, "the newer walrus of another size\n")
            threading.Timer(0.05, go_on.set).start()
            freshness.refresh_paths([CALL])

        run_at_once(lambda: freshness.refresh("cust/acme"), later)
    with either.index.snapshot() as snapshot:
        note = snapshot.note(CALL)
        assert note is not None
        assert snapshot.text(note.id) == "the newer walrus of another size\n"


def test_what_another_process_wrote_while_a_file_was_read_is_not_replaced_by_an_older_reading(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = open_vault(VAULT)
    other = open_vault(one.vault.root)
    file = one.vault.root / CALL
    write(file, "the older walrus\n")
    with paused_reading(one, monkeypatch) as (reading, go_on, _):

        def later() -> None:
            assert reading.wait(JOIN_SECONDS)
            write(file, "the newer walrus of another size\n")
            assert other.freshness.refresh()
            go_on.set()

        seen: list[str] = []
        one.freshness.listeners.append(lambda _: seen.append(contents_of(one)["texts"][CALL]))  # type: ignore[index]  # a dict
        run_at_once(one.freshness.refresh, later)
    assert set(seen) == {"the newer walrus of another size\n"}
    assert contents_of(one) == contents_of_fresh(one.vault.root)
    assert_current(one)


def test_threads_that_edit_refresh_and_read_at_once_end_with_a_correct_index(
    either: Workspace,
) -> None:
    freshness, root = either.freshness, either.vault.root
    over = threading.Event()
    for number in range(60):
        write(root / f"cust/acme/n{number}.md", f"# N{number}\n\n- [ ] alpha\n")

    def edit() -> None:
        dice = random.Random(1)  # edits, no secrets
        try:
            for _ in range(150):
                random_edit(root, dice)
        finally:
            over.set()

    def until_over(work: Callable[[random.Random], object], seed: int) -> Callable[[], None]:
        def run() -> None:
            dice = random.Random(seed)  # choices, no secrets
            while not over.is_set():
                work(dice)

        return run

    def ask(dice: random.Random) -> None:
        with suppress(BranchNotFound):
            either.brief(dice.choice(["cust/acme", "wiki"]))
        either.search(dice.choice(["alpha", "beta", "zebra"]))

    run_at_once(
        edit,
        until_over(lambda _: freshness.refresh(), 2),
        until_over(lambda dice: freshness.refresh(dice.choice(FOLDERS)), 3),
        until_over(lambda dice: freshness.refresh_paths(dice.sample(PATHS, 3)), 4),
        until_over(ask, 5),
        until_over(lambda dice: freshness.is_current(dice.choice([None, *FOLDERS])), 6),
        until_over(lambda _: either.count_all_tokens(), 7),
    )
    freshness.refresh()
    assert contents_of(either) == contents_of_fresh(root)
    assert_current(either)


def test_a_wait_for_a_build_ends_when_the_build_or_the_server_stops(
    make_vault: Callable[[str], Path], tmp_path: Path
) -> None:
    root, settings = make_vault(VAULT), Settings(index_dir=str(tmp_path / "index"))
    workspace, builder = Workspace(root, settings), Workspace(root, settings)
    found: list[bool] = []

    def wait(freshness: Freshness) -> Callable[[], None]:
        return lambda: found.append(freshness.wait_until_built(10 * JOIN_SECONDS))

    try:
        run_at_once(wait(workspace.freshness), workspace.freshness.stop)
        run_at_once(
            wait(builder.freshness), lambda: builder.freshness.note_failure(OSError("disk"))
        )
        assert found == [False, False]
        workspace.freshness.stopping.clear()
        run_at_once(wait(workspace.freshness), workspace.build)
        assert found == [False, False, True]
    finally:
        workspace.close()
        builder.close()
