"""The cache of briefs: every change shows at once, and the cache stays small."""

import os
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from conftest import MakeVault, OpenVault

from workingset_mcp.answers.answer import printed
from workingset_mcp.answers.brief import Brief, SectionSpan
from workingset_mcp.answers.brief.cache import MOST_BRIEFS, MOST_BYTES, BriefCache
from workingset_mcp.answers.brief.reading import contents_of
from workingset_mcp.errors import BranchNotFound
from workingset_mcp.index.rows import Parsed
from workingset_mcp.index.sqlite.engine import SqliteEngine
from workingset_mcp.notes.note import unreadable_note
from workingset_mcp.settings import Settings
from workingset_mcp.vault.folder import Fingerprint
from workingset_mcp.workspace.facade import Workspace

ACME = "cust/acme"
VAULT = """\
=== cust/acme/2026-06-16-call.md
## STATUS (2026-06-16)

Pump ordered.

## Talk

We will call Mira by 2026-06-20 about the crane, and the survey goes on until then.
=== cust/acme/2026-06-09-call.md
Decision: buy the weir gate
- [ ] Send the offer
=== cust/acme/README.md
Meetings: every Tuesday at 10:00 UTC.
=== cust/beta/2026-06-01.md
- [ ] Not of acme
"""


def put(root: Path, name: str, text: str) -> None:
    (root / name).write_text(text, encoding="utf-8")


def same_size_and_time(root: Path) -> None:
    """Change bytes of a note, but keep its size and its modification time."""
    note = root / ACME / "2026-06-16-call.md"
    before = note.stat()
    note.write_bytes(note.read_bytes().replace(b"Pump", b"Mill"))
    os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "another byte": same_size_and_time,
    "a new note": lambda root: put(root, "cust/acme/2026-06-17.md", "- [ ] Pay the toll\n"),
    "a note deleted": lambda root: (root / ACME / "2026-06-09-call.md").unlink(),
    "a note moved": lambda root: (root / ACME / "README.md").rename(root / ACME / "index.md"),
    "two notes that change names": lambda root: (
        (root / ACME / "README.md").rename(root / ACME / "x"),
        (root / ACME / "2026-06-09-call.md").rename(root / ACME / "README.md"),
        (root / ACME / "x").rename(root / ACME / "2026-06-09-call.md"),
    ),
    "an override": lambda root: put(root, "cust/acme/override.md", "Never on Fridays.\n"),
    "an override of the root": lambda root: put(root, "override.md", "Never on Mondays.\n"),
    "a conflict copy": lambda root: put(root, "cust/acme/a (conflicted copy).md", "A.\n"),
    "a note ignored": lambda root: put(root, ".gitignore", "README.md\n"),
}


def around(
    change: Callable[[Path], object], workspace: Workspace, ask: Callable[[Workspace], str]
) -> tuple[str, str, str]:
    """Return an answer before a change (checked twice), after it, and from a fresh workspace after it."""
    first = ask(workspace)
    assert ask(workspace) == first
    change(workspace.vault.root)
    second = ask(workspace)
    with closing(Workspace(workspace.vault.root, in_memory=True)) as fresh:
        fresh.build()
        return first, second, ask(fresh)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_shows_in_the_next_brief(
    open_vault: OpenVault, change: Callable[[Path], object]
) -> None:
    first, second, fresh = around(change, open_vault(VAULT), lambda w: printed(w.brief(ACME)))
    assert second == fresh != first


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_shows_in_the_next_overview(
    open_vault: OpenVault, change: Callable[[Path], object]
) -> None:
    _, second, fresh = around(change, open_vault(VAULT), lambda w: printed(w.brief()))
    assert second == fresh


def test_another_status_shows_in_the_next_overview(
    make_vault: MakeVault, open_vault: OpenVault
) -> None:
    root = make_vault(VAULT)
    workspace = open_vault(root)
    assert '· "STATUS (2026-06-16)" ·' in printed(workspace.brief())
    put(root, "cust/acme/2026-06-18.md", "## STATUS (2026-06-18)\n\nOpen.\n")
    assert '· "STATUS (2026-06-18)" ·' in printed(workspace.brief())


def test_restored_notes_give_the_same_brief_again(
    make_vault: MakeVault, open_vault: OpenVault
) -> None:
    root = make_vault(VAULT)
    workspace = open_vault(root)
    first, note = printed(workspace.brief(ACME)), root / ACME / "2026-06-16-call.md"
    text = note.read_bytes()
    note.write_bytes(text + b"\nMore.\n")
    assert printed(workspace.brief(ACME)) != first
    note.write_bytes(text)
    assert printed(workspace.brief(ACME)) == first


def test_another_day_budget_branch_or_setting_is_another_brief(
    make_vault: MakeVault, open_vault: OpenVault
) -> None:
    root = make_vault(VAULT)
    workspace = open_vault(root)
    asked: list[Callable[[], str]] = [
        lambda: printed(workspace.brief(ACME)),
        lambda: printed(workspace.brief(ACME, day=date(2026, 6, 10))),
        lambda: printed(workspace.brief(ACME, budget=400)),
        lambda: printed(workspace.brief("cust/beta")),
    ]
    first = [ask() for ask in asked]
    assert len(set(first)) == len(first)
    assert [ask() for ask in asked] == first
    other = open_vault(root, labels={**Settings().labels, "decision": ("Beschluss",)})
    assert printed(other.brief(ACME)) != first[0]


def test_a_branch_with_an_unreadable_note_has_no_digest() -> None:
    note = unreadable_note("cust/acme/locked.md", "cannot be read: Permission denied")
    with closing(SqliteEngine(None)) as index:
        index.apply([Parsed(note, ACME, Fingerprint(1, 1, 1, 1), 1, b"")])
        with index.snapshot() as snapshot:
            assert contents_of(snapshot, ACME) == b""
            assert contents_of(snapshot, "cust/beta") != b""


def brief_of(size: int) -> Brief:
    return Brief("é" * size, size, ("a warning",))


def test_a_cached_brief_comes_back_unchanged() -> None:
    kept, brief = (
        BriefCache(),
        Brief("a\ud800é", 3, ("first", "second"), (SectionSpan("Facts", 0, 2),), "cust/acme"),
    )
    kept.keep(("cust/acme", 8_000), brief)
    assert kept.get(("cust/acme", 8_000)) == brief
    assert kept.get(("cust/acme", 400)) is None


def test_the_least_recently_used_briefs_are_evicted() -> None:
    kept = BriefCache()
    for number in range(MOST_BRIEFS):
        kept.keep(number, brief_of(1))
    assert kept.get(0) == brief_of(1)
    kept.keep(MOST_BRIEFS, brief_of(1))
    assert kept.get(1) is None
    assert all(kept.get(number) for number in (0, *range(2, MOST_BRIEFS + 1)))


def test_large_briefs_are_cached_up_to_a_size() -> None:
    kept = BriefCache()
    for number in range(4):
        kept.keep(number, brief_of(MOST_BYTES // 6))
    assert [number for number in range(4) if kept.get(number)] == [1, 2, 3]
    kept.keep("too large", brief_of(MOST_BYTES))
    assert kept.get("too large") is None
    kept.keep("small", brief_of(1))
    assert kept.get("small") == brief_of(1)


def test_many_threads_may_use_the_cache() -> None:
    kept = BriefCache()
    wrong: list[int] = []

    def work(first: int) -> None:
        for number in range(first, first + 400):
            kept.keep(number % 100, brief_of(number % 100))
            found = kept.get(number % 100)
            if found is not None and found != brief_of(number % 100):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 80, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(kept.get(number) is not None for number in range(100)) <= MOST_BRIEFS


@pytest.mark.parametrize("name", ["cust//acme", "cust/./acme", "./cust/acme", "cust/acme/."])
def test_another_spelling_of_a_folder_is_not_a_branch_and_leaves_no_trace(
    open_vault: OpenVault, name: str
) -> None:
    workspace = open_vault(VAULT)
    before = workspace.index.data_version()
    with pytest.raises(BranchNotFound, match="Near: cust/acme"):
        printed(workspace.brief(name))
    assert workspace.index.data_version() == before
    assert name not in workspace.freshness.left_out
