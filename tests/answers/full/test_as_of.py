"""The state at a day: as committed in a git work tree, else by the dates in the notes.

Every repository here is made by the test, with its own dates. The hostile ones hold a trap that
touches a marker file; each trap is sprung once by an ordinary git command, to show that it works.
"""

import os
import shutil
import subprocess
import tempfile
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import OpenVault, write_vault
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from answers.full.test_full_context import (
    GoneError,
    gone_after,
    joined,
    pages_of,
    read_page,
    stretches,
)
from workingset_mcp.answers.answer import printed
from workingset_mcp.answers.full.committed import committed_notes
from workingset_mcp.caller import asking
from workingset_mcp.errors import ArgumentError, BranchNotFound
from workingset_mcp.settings import Settings
from workingset_mcp.vault.folder import Vault
from workingset_mcp.vault.git import Blobs, files_at
from workingset_mcp.workspace.facade import Workspace

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(60),
    pytest.mark.skipif(os.name != "posix", reason="Windows runs no shell traps"),
]


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def git(folder: Path, *arguments: str, day: str = "2026-01-01", check: bool = True) -> str:
    """Run git without a user's configuration, at noon of a day."""
    stamp = f"{day}T12:00:00+0000" if len(day) == 10 else day
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_DATE": stamp,
        "GIT_COMMITTER_DATE": stamp,
        "GIT_TERMINAL_PROMPT": "0",
    }
    done = subprocess.run(
        ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.com", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def commit(folder: Path, day: str, *, text: str = "") -> str:
    """Write files, commit every change, and return the commit's name."""
    if text:
        write_vault(folder, text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--no-verify", "--allow-empty", "--message", day, day=day)
    return git(folder, "rev-parse", "HEAD").strip()


def begun(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


# -- twelve commits over four months ---------------------------------------------------------------

DAYS = (
    *("2026-02-03", "2026-02-11", "2026-02-20", "2026-03-04", "2026-03-12", "2026-03-25"),
    *("2026-04-02", "2026-04-09", "2026-04-21", "2026-05-06", "2026-05-14", "2026-05-28"),
)
STAGES = (
    *("inventory begun", "inventory 40 %", "inventory done", "mapping begun", "mapping blocked"),
    *(
        "mapping done",
        "shadow run begun",
        "shadow run: 3 defects",
        "shadow run clean",
        "cutover set",
    ),
    *("cutover moved", "cutover done"),
)


def status_text(number: int) -> str:
    """Return the text of the index after a commit; each commit overwrites it."""
    return (
        f"# Acme\n\nWhat stands.\n\n## Status ({DAYS[number]})\n\nMigration: {STAGES[number]}.\n\n"
        f"- step {number + 1} of 12\n\n## People\n\nMira.\n"
    )


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a vault, and the names of its twelve commits."""

    root: Path
    commits: tuple[str, ...]


def make_history(root: Path, vault: Path) -> Repository:
    """Make twelve commits: a status each, one note deleted, one added, two folders renamed."""
    commits = []
    (vault / "cust").mkdir(parents=True, exist_ok=True)
    for number, day in enumerate(DAYS):
        write_vault(vault, f"=== cust/acme/index.md\n{status_text(number)}")
        if number == 0:
            write_vault(
                vault,
                "=== cust/acme/pilot.md\n# Pilot\n\nThe pilot is small.\n"
                "=== cust/old-harbour/index.md\n# Harbour\n\nThe crane is old.\n"
                "=== workshop/index.md\n# Workshop\n\nThe bench is new.\n"
                "=== readme.md\nHome.\n",
            )
        if number == 5:
            (vault / "cust/old-harbour").rename(vault / "cust/new-harbour")
        if number == 7:
            (vault / "cust/acme/pilot.md").unlink()
        if number == 8:
            write_vault(vault, "=== cust/acme/audit.md\n# Audit\n\nThe audit is long.\n")
        if number == 9:
            (vault / "workshop").rename(vault / "academy")
        commits.append(commit(root, day))
    return Repository(root, tuple(commits))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    root = begun(tmp_path_factory.mktemp("history") / "vault")
    return make_history(root, root)


@pytest.fixture
def repository(template: Repository, tmp_path: Path) -> Repository:
    return Repository(Path(shutil.copytree(template.root, tmp_path / "vault")), template.commits)


@pytest.fixture
def workspace(repository: Repository, open_vault: OpenVault) -> Workspace:
    return open_vault(repository.root)


ASKED = {  # a day -> the newest commit up to that day
    "the day of the first commit": ("2026-02-03", 0),
    "six days later": ("2026-02-17", 1),
    "the day before the next": ("2026-03-24", 4),
    "the day of a commit": ("2026-04-09", 7),
    "the end of a month": ("2026-04", 8),
    "today": ("2026-06-16", 11),
}


@pytest.mark.parametrize(("day", "number"), ASKED.values(), ids=ASKED)
def test_a_day_shows_the_status_as_it_was_committed(
    workspace: Workspace, template: Repository, day: str, number: int
) -> None:
    pages = pages_of(workspace, 5_000, branch="cust/acme", as_of=day)
    assert joined(pages)["cust/acme/index.md"] == status_text(number)
    assert pages[0].subject == f"cust/acme as of {day}"
    assert f"as committed on {DAYS[number]} ({template.commits[number][:10]})" in pages[0].notices
    assert (
        f'newest status then: "Status ({DAYS[number]})" · cust/acme/index.md:5-9'
        in pages[0].notices
    )
    shown = "".join(page.text for page in pages)
    assert [stage for stage in STAGES if f"Migration: {stage}." in shown] == [STAGES[number]]


def test_the_whole_vault_is_shown_as_committed(
    workspace: Workspace, repository: Repository
) -> None:
    for day, number in ASKED.values():
        names = git(repository.root, "ls-tree", "-r", "--name-only", repository.commits[number])
        shown = joined(pages_of(workspace, 5_000, as_of=day))
        assert sorted(shown) == sorted(names.splitlines())
        for name, text in shown.items():
            assert text == git(repository.root, "show", f"{repository.commits[number]}:{name}")


def test_a_note_deleted_later_is_there_and_one_added_later_is_not(workspace: Workspace) -> None:
    then = joined(pages_of(workspace, 5_000, branch="cust/acme", as_of="2026-03-31"))
    now = joined(pages_of(workspace, 5_000, branch="cust/acme", as_of="2026-05-31"))
    assert then["cust/acme/pilot.md"] == "# Pilot\n\nThe pilot is small.\n"
    assert sorted(then) == ["cust/acme/index.md", "cust/acme/pilot.md"]
    assert sorted(now) == ["cust/acme/audit.md", "cust/acme/index.md"]


@pytest.mark.parametrize(
    ("old", "new", "before", "after", "text"),
    [
        ("cust/old-harbour", "cust/new-harbour", "2026-03-24", "2026-03-25", "The crane is old."),
        ("workshop", "academy", "2026-05-05", "2026-05-06", "The bench is new."),
    ],
    ids=["below a carrier folder", "a top folder"],
)
def test_a_renamed_branch_can_be_asked_under_its_old_name(
    workspace: Workspace, old: str, new: str, before: str, after: str, text: str
) -> None:
    then = pages_of(workspace, 5_000, branch=old, as_of=before)
    assert list(joined(then)) == [f"{old}/index.md"]
    assert text in then[0].text
    assert list(joined(pages_of(workspace, 5_000, branch=new, as_of=after))) == [f"{new}/index.md"]
    assert read_page(printed(workspace.full(new, as_of=before))).blocks == ()
    assert read_page(printed(workspace.full("cust/old-harbour", as_of="2026-05-31"))).blocks == ()


def test_an_old_branch_name_is_unknown_without_a_day(workspace: Workspace) -> None:
    with pytest.raises(BranchNotFound):
        printed(workspace.full("cust/old-harbour"))
    with pytest.raises(BranchNotFound):
        printed(workspace.full("workshop"))


def test_a_name_that_never_was_a_branch_shows_nothing(workspace: Workspace) -> None:
    try:
        page = read_page(printed(workspace.full("cust/nowhere", as_of="2026-03-31")))
    except BranchNotFound:
        return
    assert page.blocks == ()


def test_before_the_first_commit_the_dates_in_the_notes_decide(workspace: Workspace) -> None:
    page = read_page(printed(workspace.full("cust/acme", as_of="2026-02-02")))
    assert page.blocks == ()
    assert page.notices[0].startswith("by the dates in the notes (no commit is that old)")


def test_uncommitted_edits_do_not_show(workspace: Workspace, repository: Repository) -> None:
    before = printed(workspace.full("cust/acme", as_of="2026-06-16"))
    root = repository.root
    write_vault(
        root,
        "=== cust/acme/index.md\n# Acme\n\n## Status (2026-06-16)\n\nNot committed.\n"
        "=== cust/acme/new.md\nUntracked.\n=== cust/acme/staged.md\nStaged.\n",
    )
    git(root, "add", "cust/acme/staged.md")
    (root / "cust/acme/audit.md").unlink()
    after = printed(workspace.full("cust/acme", as_of="2026-06-16"))
    assert after == before
    for text in ("Not committed", "Untracked", "Staged"):
        assert text not in after
        assert text in printed(workspace.full("cust/acme"))


def test_later_edits_do_not_change_the_pages_of_a_day(
    repository: Repository, open_vault: OpenVault
) -> None:
    write_vault(
        repository.root,
        "".join(
            f"=== cust/acme/2026-05-{day:02}.md\n" + f"Line of {day}.\n" * 80 for day in range(1, 5)
        ),
    )
    commit(repository.root, "2026-05-29")
    workspace = open_vault(repository.root)
    first = read_page(printed(workspace.full("cust/acme", as_of="2026-05-30", budget=600)))
    assert first.following
    untouched = printed(workspace.full(**first.following, budget=600))
    write_vault(repository.root, "=== cust/acme/2026-05-01.md\nAnother text.\n")
    assert printed(workspace.full(**first.following, budget=600)) == untouched
    commit(repository.root, "2026-06-10")
    assert printed(workspace.full(**first.following, budget=600)) == untouched
    commit(repository.root, "2026-05-30", text="=== cust/acme/2026-05-02.md\nOf that very day.\n")
    page = read_page(printed(workspace.full(**first.following, budget=600)))
    assert page.state == "changed since page 1"
    assert page.blocks == ()


def test_a_vault_in_a_subfolder_of_the_repository(tmp_path: Path, open_vault: OpenVault) -> None:
    root = begun(tmp_path / "repository")
    vault = root / "docs & more/[notes]"
    write_vault(root, "=== README.md\nOf the code.\n=== docs/cust/acme/other.md\nNot ours.\n")
    repository = make_history(root, vault)
    workspace = open_vault(vault)
    for day, number in ASKED.values():
        shown = joined(pages_of(workspace, 5_000, branch="cust/acme", as_of=day))
        assert shown["cust/acme/index.md"] == status_text(number)
    everything = joined(pages_of(workspace, 5_000, as_of="2026-05-31"))
    names = git(vault, "ls-tree", "-r", "--name-only", repository.commits[-1], ".").splitlines()
    assert sorted(everything) == sorted(names)
    assert "README.md" not in everything


def test_names_and_bytes_of_any_kind_come_through(tmp_path: Path, open_vault: OpenVault) -> None:
    root = begun(tmp_path / "vault")
    notes = {
        "cust/acme/müsli — 倉庫.md": "\ufeffBOM\r\nCRLF\r\nno end",
        'cust/acme/"quoted" \\ back.md': "# Quoted\n",
        "cust/acme/empty.md": "",
        "cust/acme/fence.md": "````\n```\n````\n",
    }
    for name, text in notes.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    commit(root, "2026-03-01")
    for name in notes:
        (root / name).unlink()
    shown = joined(pages_of(open_vault(root), 5_000, branch="cust/acme", as_of="2026-03-01"))
    assert shown == {name: text.removeprefix("\ufeff") for name, text in notes.items()}


def test_a_file_that_is_not_a_note_today_was_not_one_then(
    tmp_path: Path, open_vault: OpenVault
) -> None:
    root = begun(tmp_path / "vault")
    text = (
        "=== cust/acme/index.md\nShown.\n=== cust/acme/list.txt\nNo note.\n"
        "=== cust/acme/.trash/gone.md\nHidden.\n=== .obsidian/plugin.md\nHidden.\n"
        "=== node_modules/pack/readme.md\nOf a program.\n=== cust/acme/private/pay.md\nIgnored.\n"
        "=== cust/acme/brief.md\n---\nkind: workingset-brief\n---\nGenerated.\n"
    )
    write_vault(root, text)
    (root / "cust/acme/link.md").symlink_to("index.md")
    commit(root, "2026-03-01")
    workspace = open_vault(root, ignore=("private/",))
    assert list(joined(pages_of(workspace, 5_000, as_of="2026-03-01"))) == ["cust/acme/index.md"]
    of_branch = joined(pages_of(workspace, 5_000, branch="cust/acme", as_of="2026-03-01"))
    assert list(of_branch) == ["cust/acme/index.md"]


def test_todays_ignore_files_apply_to_a_commit(tmp_path: Path, open_vault: OpenVault) -> None:
    root = begun(tmp_path / "vault")
    write_vault(
        root,
        "=== cust/acme/index.md\nShown.\n=== cust/acme/draft.md\nA draft.\n"
        "=== cust/acme/deep/draft.md\nKept.\n=== cust/acme/out/a.md\nOut.\n"
        "=== cust/acme/a (conflicted copy 2026-03-01).md\nA copy.\n"
        "=== cust/acme/a.sync-conflict-20260301-1.md\nA copy.\n",
    )
    commit(root, "2026-03-01")
    write_vault(root, "=== .gitignore\ndraft.md\nout/\n=== cust/acme/deep/.gitignore\n!draft.md\n")
    shown = joined(pages_of(open_vault(root), 5_000, branch="acme", as_of="2026-03-01"))
    assert sorted(shown) == ["cust/acme/deep/draft.md", "cust/acme/index.md"]


IN_FOLDERS = ("", "x/", "x/y/", "cust/acme/", "node_modules/", "x/dist/", ".hidden/", "x/.deep/")
NAMED = (
    *("a.md", "b.MD", "c.markdown", "d.mdx", "e.txt", "größe.md", ".f.md", "~$g.md", "h.tmp.md"),
    *("#i#.md", "j (conflicted copy).md", "k.sync-conflict-20260301.md", "l\x85.md"),
)
PATTERNS = (
    "*.md",
    "!a.md",
    "x/",
    "!x/y/",
    "/b.MD",
    "y",
    "**/c*",
    "cust/*",
    "!cust/acme/",
    "größe.*",
)
SOME_PATTERNS = st.lists(st.sampled_from(PATTERNS), max_size=3)


@given(
    paths=st.sets(st.builds(str.__add__, st.sampled_from(IN_FOLDERS), st.sampled_from(NAMED))),
    ignore_files=st.dictionaries(st.sampled_from(IN_FOLDERS), SOME_PATTERNS, max_size=3),
    ignore=SOME_PATTERNS,
    respect_gitignore=st.booleans(),
)
@example(
    paths={"x/y/a.md", "x/y/b.MD", "a.md"},
    ignore_files={"": ["*.md"], "x/y/": ["!a.md"]},
    ignore=["!b.MD"],
    respect_gitignore=True,
)
@hypothesis_settings(max_examples=12)
def test_a_commit_of_the_current_files_has_the_same_notes(
    paths: set[str],
    ignore_files: dict[str, list[str]],
    ignore: list[str],
    *,
    respect_gitignore: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = begun(Path(folder) / "vault")
        files = dict.fromkeys(paths, "text\n")
        files |= {f"{at}.gitignore": "\n".join(lines) for at, lines in ignore_files.items()}
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        git(root, "add", "--all", "--force")
        git(root, "commit", "--quiet", "--allow-empty", "--message", "all", day="2026-03-01")
        vault = Vault(root, Settings(ignore=tuple(ignore), respect_gitignore=respect_gitignore))
        committed = files_at(vault.root, "2026-03-01")
        assert len(committed.files) == len(files)
        shown = [file.path for file in committed_notes(vault, committed, None)]
        assert sorted(shown) == sorted(vault.walk().files)
        assert sorted(vault.fingerprints(files)) == sorted(shown)


def test_work_on_a_side_branch_counts_from_its_merge(tmp_path: Path, open_vault: OpenVault) -> None:
    root = begun(tmp_path / "vault")
    commit(root, "2026-03-01", text="=== cust/acme/index.md\nFirst.\n")
    git(root, "checkout", "--quiet", "-b", "side")
    commit(root, "2026-03-10", text="=== cust/acme/side.md\nOf the side.\n")
    git(root, "checkout", "--quiet", "main")
    commit(root, "2026-03-08", text="=== cust/acme/main.md\nOf the main line.\n")
    git(root, "merge", "--quiet", "--no-ff", "--no-verify", "-m", "merge", "side", day="2026-03-20")
    workspace = open_vault(root)

    def names(day: str) -> list[str]:
        return sorted(joined(pages_of(workspace, 5_000, branch="cust/acme", as_of=day)))

    assert names("2026-03-15") == ["cust/acme/index.md", "cust/acme/main.md"]
    assert names("2026-03-20") == ["cust/acme/index.md", "cust/acme/main.md", "cust/acme/side.md"]


def test_the_last_minute_of_a_day_belongs_to_it(tmp_path: Path, open_vault: OpenVault) -> None:
    root = begun(tmp_path / "vault")
    for stamp in ("2026-03-01T23:59:59+0000", "2026-03-02T00:00:00+0000"):
        write_vault(root, f"=== cust/acme/index.md\nWritten {stamp}.\n")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", stamp, day=stamp)
    workspace = open_vault(root)
    for day, seconds in (("2026-03-01", "23:59:59"), ("2026-03-02", "00:00:00")):
        assert f"T{seconds}" in printed(workspace.full("cust/acme", as_of=day))


def test_a_query_narrows_the_notes_of_a_commit(tmp_path: Path, open_vault: OpenVault) -> None:
    """`as_of` and `query` work together; neither is silently ignored."""
    root = begun(tmp_path / "vault")
    commit(
        root,
        "2026-03-01",
        text="=== cust/acme/a.md\nThe kiln is cold.\n=== cust/acme/b.md\nThe crane is old.\n",
    )
    page = read_page(printed(open_vault(root).full("cust/acme", query="kiln", as_of="2026-03-01")))
    assert [block.path for block in page.blocks] == ["cust/acme/a.md"]


FOUND_NOW_AND_THEN = """\
=== cust/acme/2026-01-05-yard.md
---
tags: [harbour]
---
# The kiln and the yard

## Plans of 2026-02-10

A new crane.

### Costs

The kiln is dear.
=== cust/acme/2026-02-01-call.md
# Call

## Kiln

### Heat

Too much.
"""


@pytest.mark.parametrize("query", ["kiln", "heat", "kiln heat", "yard", "crane", "harbour"])
def test_a_query_finds_the_same_in_a_commit_as_in_the_same_files(
    tmp_path: Path, open_vault: OpenVault, query: str
) -> None:
    root = begun(tmp_path / "vault")
    commit(root, "2026-03-01", text=FOUND_NOW_AND_THEN)
    workspace = open_vault(root)
    then = read_page(printed(workspace.full("acme", query=query, as_of="2026-03-01"))).blocks
    assert then
    assert then == read_page(printed(workspace.full("acme", query=query))).blocks


LOG = (
    "# Log\n\nThe yard.\n\n## 2026-01-10\n\nThe kiln is cold.\n\n"
    "## 2026-02-10\n\nThe kiln\nis hot.\n\n## 2026-02-20\n\nThe crane is old.\n"
)


@pytest.mark.parametrize("committed", [True, False], ids=["in git", "by dates"])
@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ({"query": "kiln"}, [5, 9]),
        ({"query": '"kiln is"'}, [5, 9]),
        ({"query": "kilns", "since": "2026-02"}, [9]),
        ({"since": "2026-02"}, [9, 14]),
        ({"until": "2026-01"}, [5]),
        ({"query": "kiln", "until": "2026-01-09"}, []),
        ({"query": "zeppelin"}, []),
    ],
    ids=str,
)
def test_every_filter_narrows_the_notes_of_a_commit(
    tmp_path: Path,
    open_vault: OpenVault,
    asked: dict[str, Any],
    lines: list[int],
    *,
    committed: bool,
) -> None:
    root = write_vault(tmp_path / "vault", f"=== cust/acme/log.md\n{LOG}")
    if committed:
        commit(begun(root), "2026-03-01")
        write_vault(root, "=== cust/acme/log.md\nWritten anew.\n")
    page = read_page(printed(open_vault(root).full("cust/acme", as_of="2026-03-01", **asked)))
    assert page.notices[0].startswith("as committed" if committed else "by the dates")
    assert [block.first for block in page.blocks] == lines


@pytest.mark.parametrize("name", ["../outside", "cust/../../outside", "cust/./acme", "x" * 5_000])
def test_an_impossible_folder_name_is_refused(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    write_vault(tmp_path / "outside", "=== 2026-01-01.md\nA secret.\n")
    with pytest.raises(BranchNotFound):
        printed(workspace.full(name, as_of="2026-03-31"))


@pytest.mark.parametrize("day", ["soon", "2026-02-31", "--all", "$(touch x)", "2026"])
def test_a_day_is_a_date_or_refused(workspace: Workspace, day: str) -> None:
    if day == "2026":
        assert read_page(printed(workspace.full("cust/acme", as_of=day))).blocks
    else:
        with pytest.raises(ArgumentError, match="is no date"):
            printed(workspace.full("cust/acme", as_of=day))


def test_git_environment_variables_change_nothing(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = printed(workspace.full("cust/acme", as_of="2026-03-31"))
    other = begun(tmp_path / "other")
    commit(other, "2026-03-01", text="=== cust/acme/index.md\nAnother repository.\n")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.worktree")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(other))
    assert printed(workspace.full("cust/acme", as_of="2026-03-31")) == expected
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("times", [0, 1, 4])
def test_reading_a_commit_stops_when_the_caller_is_gone(workspace: Workspace, times: int) -> None:
    with pytest.raises(GoneError), asking(gone_after(times)):
        printed(workspace.full(as_of="2026-03-24"))
    assert joined(pages_of(workspace, 5_000, as_of="2026-03-24"))["cust/acme/index.md"]


def test_a_request_leaves_the_repository_unchanged(
    workspace: Workspace, repository: Repository
) -> None:
    def state() -> dict[str, tuple[int, int]]:
        files = (file for file in repository.root.rglob("*") if file.is_file())
        return {str(file): (file.stat().st_mtime_ns, file.stat().st_size) for file in files}

    before = state()
    for day, _ in ASKED.values():
        printed(workspace.full("cust/acme", as_of=day))
    assert state() == before


# -- without git -----------------------------------------------------------------------------------

PLAIN = """\
=== cust/acme/index.md
---
date: 2026-06-15
---
# Acme

What stands now.

## Status (2026-05-20)

The kiln is hot.

### Risks

None.

## Status (2026-03-10)

The kiln is cold.

## People

Mira.
=== cust/acme/2026-02-01-call.md
# Call

We began.
=== cust/acme/2026-05-21-call.md
# Call

We went on.
=== cust/acme/2026-04.md
All of April.
=== cust/acme/people.md
Mira and Tom.
=== cust/acme/terms.md
Net 30.
=== cust/acme/diary.md
# Diary

## 2026-01-10

Frost.

## 2026-03-01

Thaw.

## 2026-06-01

Sun.
=== cust/acme-labs/2026-02-01-call.md
Of the others.
"""
STATUS_OF_MARCH = ("cust/acme/index.md", 16, "## Status (2026-03-10)\n\nThe kiln is cold.\n")
STATUS_OF_MAY = (
    "cust/acme/index.md",
    8,
    "## Status (2026-05-20)\n\nThe kiln is hot.\n\n### Risks\n\nNone.\n",
)
DIARY_OF_JANUARY = ("cust/acme/diary.md", 3, "## 2026-01-10\n\nFrost.\n\n")
DIARY_OF_MARCH = ("cust/acme/diary.md", 7, "## 2026-03-01\n\nThaw.\n\n")
CALL_OF_FEBRUARY = ("cust/acme/2026-02-01-call.md", 1, "# Call\n\nWe began.\n")
APRIL = ("cust/acme/2026-04.md", 1, "All of April.\n")
BY_DATE = {
    "before all": ("2026-01-09", [], ""),
    "a section of a diary": ("2026-01-10", [DIARY_OF_JANUARY], ""),
    "a note of the day": ("2026-02-01", [DIARY_OF_JANUARY, CALL_OF_FEBRUARY], ""),
    "a status block of a later note": (
        "2026-03-31",
        [DIARY_OF_JANUARY, CALL_OF_FEBRUARY, DIARY_OF_MARCH, STATUS_OF_MARCH],
        '"Status (2026-03-10)" · cust/acme/index.md:16-18',
    ),
    "a month counts when it is over": (
        "2026-04",
        [DIARY_OF_JANUARY, CALL_OF_FEBRUARY, DIARY_OF_MARCH, STATUS_OF_MARCH, APRIL],
        '"Status (2026-03-10)" · cust/acme/index.md:16-18',
    ),
    "two statuses": (
        "2026-05-20",
        [DIARY_OF_JANUARY, CALL_OF_FEBRUARY, DIARY_OF_MARCH, STATUS_OF_MARCH, APRIL, STATUS_OF_MAY],
        '"Status (2026-05-20)" · cust/acme/index.md:8-14',
    ),
}


@pytest.mark.parametrize("there", [True, False], ids=["no repository", "no git"])
@pytest.mark.parametrize(("day", "expected", "newest"), BY_DATE.values(), ids=BY_DATE)
def test_without_git_the_dates_in_the_notes_decide(
    open_vault: OpenVault,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    day: str,
    expected: list[tuple[str, int, str]],
    newest: str,
    *,
    there: bool,
) -> None:
    workspace = open_vault(PLAIN)
    if not there:
        begun(workspace.vault.root)
        commit(workspace.vault.root, "2026-01-01")
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    page = read_page(printed(workspace.full("cust/acme", as_of=day)))
    end = "2026-04-30" if day == "2026-04" else day
    reason = "the vault is not in a git work tree" if there else "git is not installed"
    assert page.notices[0] == (
        f"by the dates in the notes ({reason}): notes and status blocks dated up to {end}"
    )
    assert ("2 undated notes left out" in page.notices) is True
    assert [line for line in page.notices if line.startswith("newest")] == (
        [f"newest status then: {newest}"] if newest else []
    )
    assert stretches([page]) == expected


@pytest.mark.parametrize("head", ["**{}**", "## {}"], ids=["bold lines", "headings"])
def test_without_git_a_diary_shows_its_days_up_to_the_day(open_vault: OpenVault, head: str) -> None:
    days = ("2026-01-10", "2026-02-10", "2026-03-10")
    parts = [f"{head.format(day)}\n\nWritten on {day}.\n\n" for day in days]
    workspace = open_vault("=== cust/acme/diary.md\n" + "".join(parts))
    page = read_page(printed(workspace.full("cust/acme", as_of="2026-02-28")))
    assert page.text == "".join(parts[:2])


def test_without_git_a_query_shows_no_later_day_of_a_section(open_vault: OpenVault) -> None:
    days = ("2026-01-10", "2026-02-10", "2026-03-10")
    text = "".join(f"**{day}**\n\nThe kiln on {day}.\n\n" for day in days)
    workspace = open_vault(f"=== cust/acme/diary.md\n{text}")
    page = read_page(printed(workspace.full("cust/acme", query="kiln", as_of="2026-02-28")))
    assert page.text == text[: text.index("**2026-03-10")]


def test_without_git_a_status_of_a_month_counts_when_it_is_over(open_vault: OpenVault) -> None:
    workspace = open_vault("=== cust/acme/index.md\n# Acme\n\n## Status (April 2026)\n\nCold.\n")
    before = read_page(printed(workspace.full("cust/acme", as_of="2026-04-10")))
    after = read_page(printed(workspace.full("cust/acme", as_of="2026-04-30")))
    assert not any(line.startswith("newest") for line in before.notices)
    assert before.text == ""
    assert after.text.endswith("## Status (April 2026)\n\nCold.\n")
    assert 'newest status then: "Status (April 2026)" · cust/acme/index.md:3-5' in after.notices


def test_without_git_a_status_inside_a_day_of_a_diary_is_shown_once(
    open_vault: OpenVault,
) -> None:
    text = (
        "# Diary\n\n## 2026-01-10\n\nFrost.\n\n"
        "## 2026-03-01\n\n### Status (2026-03-01)\n\nThaw.\n\n"
        "## 2026-06-01\n\nSun.\n"
    )
    workspace = open_vault(f"=== cust/acme/diary.md\n{text}")
    page = read_page(printed(workspace.full("cust/acme", as_of="2026-03-31")))
    assert page.text == text[text.index("## 2026-01") : text.index("## 2026-06")]


def test_a_work_tree_without_a_commit_says_so(open_vault: OpenVault) -> None:
    workspace = open_vault(PLAIN)
    begun(workspace.vault.root)
    page = read_page(printed(workspace.full("cust/acme", as_of="2026-02-28")))
    assert "no commit is that old" in page.notices[0]
    assert CALL_OF_FEBRUARY in stretches([page])


def test_a_branch_that_was_not_committed_then_uses_its_dates(
    repository: Repository, open_vault: OpenVault
) -> None:
    write_vault(repository.root, "=== cust/fresh/2026-03-01-call.md\nNever committed.\n")
    workspace = open_vault(repository.root)
    page = read_page(printed(workspace.full("cust/fresh", as_of="2026-03-31")))
    assert "no note of this branch was committed then" in page.notices[0]
    assert page.text == "Never committed.\n"


# -- clones ----------------------------------------------------------------------------------------


def test_a_shallow_clone_says_what_it_cannot_know(
    template: Repository, tmp_path: Path, open_vault: OpenVault
) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=3", f"file://{template.root}", "clone")
    workspace = open_vault(tmp_path / "clone")
    page = read_page(printed(workspace.full("cust/acme", as_of="2026-03-31")))
    assert "(the clone is too shallow for that day)" in page.notices[0]
    known = joined(pages_of(workspace, 5_000, branch="cust/acme", as_of="2026-05-20"))
    assert known["cust/acme/index.md"] == status_text(10)


def partial_clone(template: Repository, folder: Path) -> Path:
    """A clone whose old blobs are missing."""
    source = folder / "source"
    shutil.copytree(template.root, source)
    git(source, "config", "uploadpack.allowFilter", "true")
    git(folder, "clone", "--quiet", "--filter=blob:none", f"file://{source}", "vault")
    return folder / "vault"


def test_a_partial_clone_shows_what_it_holds_and_counts_the_rest(
    template: Repository, tmp_path: Path, open_vault: OpenVault
) -> None:
    workspace = open_vault(partial_clone(template, tmp_path))
    now = joined(pages_of(workspace, 5_000, branch="cust/acme", as_of="2026-06-01"))
    assert now["cust/acme/index.md"] == status_text(11)
    page = read_page(printed(workspace.full("cust/acme", as_of="2026-05-01")))
    assert page.notices[0] == f"as committed on 2026-04-21 ({template.commits[8][:10]})"
    assert "1 note not in this partial clone: left out" in page.notices
    assert [block.path for block in page.blocks] == ["cust/acme/audit.md"]
    git(workspace.vault.root, "checkout", "--quiet", template.commits[8])  # brings what is missing
    git(workspace.vault.root, "checkout", "--quiet", "main")
    page = read_page(printed(workspace.full("cust/acme", as_of="2026-05-01")))
    assert [block.path for block in page.blocks] == ["cust/acme/audit.md", "cust/acme/index.md"]


def test_a_clone_without_trees_uses_the_dates(
    template: Repository, tmp_path: Path, open_vault: OpenVault
) -> None:
    source = Path(shutil.copytree(template.root, tmp_path / "source"))
    git(source, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=tree:0", f"file://{source}", "vault")
    workspace = open_vault(tmp_path / "vault")
    page = read_page(printed(workspace.full("cust/acme", as_of="2026-05-01")))
    assert "(the clone does not hold the files of that day)" in page.notices[0]


# -- hostile repositories --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trap:
    """A configuration that makes git run a script, the files it needs, and a command that triggers it."""

    configured: Mapping[str, str]  # `TRAP` is the script, `HOOKS` a folder of hooks
    attributes: str = ""
    sprung_by: Sequence[str] = ()
    partial: bool = False


TRAPS = {
    "fsmonitor": Trap({"core.fsmonitor": "TRAP"}, sprung_by=("status",)),
    "textconv": Trap(
        {"diff.trap.textconv": "TRAP", "diff.trap.cachetextconv": "true"},
        "*.md diff=trap\n",
        ("log", "--patch", "-1"),
    ),
    "diff command": Trap(
        {"diff.trap.command": "TRAP"}, "*.md diff=trap\n", ("diff", "HEAD~1", "HEAD")
    ),
    "external diff": Trap({"diff.external": "TRAP"}, sprung_by=("diff", "HEAD~1", "HEAD")),
    "smudge and clean": Trap(
        {"filter.trap.smudge": "TRAP", "filter.trap.clean": "TRAP", "filter.trap.required": "true"},
        "*.md filter=trap\n",
        ("cat-file", "--filters", "HEAD:cust/acme/index.md"),
    ),
    "filter process": Trap(
        {"filter.trap.process": "TRAP", "filter.trap.required": "true"},
        "*.md filter=trap\n",
        ("cat-file", "--filters", "HEAD:cust/acme/index.md"),
    ),
    "hooks": Trap({"core.hooksPath": "HOOKS"}, sprung_by=("commit", "--allow-empty", "-m", "x")),
    "ssh": Trap(
        {"core.sshCommand": "TRAP", "remote.origin.url": "ssh://nowhere.example/x"},
        sprung_by=("fetch", "origin"),
    ),
    "git proxy": Trap(
        {"core.gitProxy": "TRAP", "remote.origin.url": "git://nowhere.example/x"},
        sprung_by=("fetch", "origin"),
    ),
    "alias": Trap(
        dict.fromkeys(
            [f"alias.{name}" for name in ("rev-parse", "rev-list", "ls-tree", "cat-file", "trap")],
            "!TRAP",
        ),
        sprung_by=("trap",),
    ),
    "pagers": Trap(
        {
            "core.pager": "TRAP",
            "pager.rev-list": "TRAP",
            "pager.ls-tree": "TRAP",
            "pager.cat-file": "TRAP",
            "pager.log": "TRAP",
            "core.editor": "TRAP",
            "core.askPass": "TRAP",
            "credential.helper": "!TRAP",
        }
    ),
    "signatures": Trap(
        {"log.showSignature": "true", "gpg.program": "TRAP", "gpg.ssh.program": "TRAP"}
    ),
    "an included file": Trap({"include.path": "INCLUDED"}, sprung_by=("status",)),
    "partial, upload-pack": Trap(
        {"remote.origin.uploadpack": "TRAP"}, sprung_by=("show", "HEAD~3"), partial=True
    ),
    "partial, ssh": Trap(
        {"core.sshCommand": "TRAP", "remote.origin.url": "ssh://nowhere.example/x"},
        sprung_by=("show", "HEAD~3"),
        partial=True,
    ),
    "partial, an address that is a command": Trap(
        {
            "protocol.ext.allow": "always",
            "protocol.allow": "always",
            "remote.origin.url": "ext::TRAP",
        },
        sprung_by=("show", "HEAD~3"),
        partial=True,
    ),
    "partial, an address instead of another": Trap(
        {
            "protocol.ext.allow": "always",
            "url.ext::TRAP .insteadOf": "file://",
        },
        sprung_by=("show", "HEAD~3"),
        partial=True,
    ),
    "partial, another remote": Trap(
        {
            "extensions.partialClone": "evil",
            "remote.evil.promisor": "true",
            "remote.evil.url": "SOURCE",
            "remote.evil.uploadpack": "TRAP",
            "remote.origin.url": "file:///nowhere",
        },
        sprung_by=("show", "HEAD~3"),
        partial=True,
    ),
}


def set_trap(vault: Path, folder: Path, trap: Trap) -> Path:
    """Set a trap in a repository; return the marker that its script touches."""
    marker, script, hooks = folder / "marker", folder / "trap.sh", folder / "hooks"
    script.write_text(f"#!/bin/sh\ntouch '{marker}'\nexit 1\n", encoding="utf-8")
    script.chmod(0o755)
    hooks.mkdir()
    for name in (
        *("pre-commit", "post-checkout", "post-index-change", "reference-transaction"),
        *("pre-auto-gc", "post-rewrite", "fsmonitor-watchman", "sendemail-validate"),
    ):
        shutil.copy(script, hooks / name)
    included = folder / "included"
    included.write_text(f"[core]\n\tfsmonitor = {script}\n", encoding="utf-8")
    if trap.attributes:
        (vault / ".git/info").mkdir(exist_ok=True)
        (vault / ".git/info/attributes").write_text(trap.attributes, encoding="utf-8")
        (vault / ".gitattributes").write_text(trap.attributes, encoding="utf-8")
    names = {
        "TRAP": str(script),
        "HOOKS": str(hooks),
        "INCLUDED": str(included),
        "SOURCE": f"file://{folder / 'source'}",
    }
    for key, value in trap.configured.items():
        for name, path in names.items():
            key, value = key.replace(name, path), value.replace(name, path)
        git(vault, "config", key, value)
    return marker


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS)
def test_a_hostile_repository_runs_nothing(
    template: Repository, tmp_path: Path, open_vault: OpenVault, trap: Trap
) -> None:
    if trap.partial:
        vault = partial_clone(template, tmp_path)
    else:
        vault = Path(shutil.copytree(template.root, tmp_path / "vault"))
    marker = set_trap(vault, tmp_path, trap)
    workspace = open_vault(vault)
    answers = [printed(workspace.full("cust/acme", as_of=day)) for day, _ in ASKED.values()]
    printed(workspace.full(as_of="2026-03-31"))
    printed(workspace.full("cust/old-harbour", as_of="2026-03-24"))
    printed(workspace.brief("cust/acme"))
    printed(workspace.search("migration", branch="cust/acme"))
    assert not marker.exists()
    for answer, (_, number) in zip(answers, ASKED.values(), strict=True):
        page = read_page(answer)
        assert page.notices[0] == (
            f"as committed on {DAYS[number]} ({template.commits[number][:10]})"
        )
        if not trap.partial or number == 11:
            assert status_text(number) in page.text
        else:
            assert any("not in this partial clone" in line for line in page.notices)
    if trap.sprung_by:
        git(vault, *trap.sprung_by, check=False)
        assert marker.exists(), "the trap of this test does not work"


def test_all_traps_together_run_nothing(
    template: Repository, tmp_path: Path, open_vault: OpenVault
) -> None:
    vault = partial_clone(template, tmp_path)
    together: dict[str, str] = {}
    for trap in TRAPS.values():
        together |= trap.configured
    marker = set_trap(vault, tmp_path, Trap(together, "*.md diff=trap filter=trap\n"))
    workspace = open_vault(vault)
    for day, _ in ASKED.values():
        printed(workspace.full("cust/acme", as_of=day))
    assert not marker.exists()


BARS = {
    *("GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_PROTOCOL_FROM_USER=0"),
    *("GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat"),
    *("GIT_SSH_COMMAND=false", "GIT_EXTERNAL_DIFF=", "GIT_ASKPASS="),
    *("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "--no-pager"),
    *("core.sshCommand=false", "core.askPass=", "credential.helper=", "protocol.allow=never"),
    *("diff.external=", "log.showSignature=false", "core.alternateRefsCommand="),
}


def test_each_safeguard_applies_to_every_git_command(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several safeguards stop most traps, so each is checked on its own: a wrapper records git's calls."""
    real, heard = shutil.which("git"), tmp_path / "heard"
    heard.mkdir()
    script = tmp_path / "bin/git"
    script.parent.mkdir()
    script.write_text(
        f"#!/bin/sh\n(env; for word; do echo \"$word\"; done) > '{heard}'/$$\nexec '{real}' \"$@\"\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    assert "as committed on" in printed(workspace.full(as_of="2026-03-24"))
    runs = [set(file.read_text(encoding="utf-8").splitlines()) for file in heard.iterdir()]
    assert len(runs) >= 4
    assert all(run >= BARS for run in runs)
    assert {"rev-parse", "rev-list", "ls-tree", "cat-file"} <= set().union(*runs)


def test_a_work_tree_that_points_elsewhere_shows_nothing_of_it(
    repository: Repository, tmp_path: Path, open_vault: OpenVault
) -> None:
    elsewhere = begun(tmp_path / "elsewhere")
    commit(elsewhere, "2026-03-01", text="=== cust/acme/secret.md\nA secret.\n")
    shutil.rmtree(repository.root / ".git")
    (repository.root / ".git").mkdir()
    git(elsewhere, "config", "core.worktree", str(tmp_path / "nowhere"))
    shutil.copytree(elsewhere / ".git", repository.root / ".git", dirs_exist_ok=True)
    workspace = open_vault(repository.root)
    text = printed(workspace.full("cust/acme", as_of="2026-06-16"))
    assert "by the dates in the notes" in text
    assert "secret" not in text


HIDDEN = "The code word is hunter walrus."


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Make somebody else's repository, which only their own vault may show."""
    folder = begun(tmp_path / "private")
    commit(folder, "2026-02-01", text=f"=== cust/acme/secret.md\n# Secret\n\n{HIDDEN}\n")
    return folder


def points_by_a_file(vault: Path, private: Path) -> None:
    (vault / ".git").write_text(f"gitdir: {private}/.git\n", encoding="utf-8")


def points_by_a_link(vault: Path, private: Path) -> None:
    (vault / ".git").symlink_to(private / ".git")


def takes_the_common_folder(vault: Path, private: Path) -> None:
    begun(vault)
    (vault / ".git" / "commondir").write_text(f"{private}/.git\n", encoding="utf-8")


def borrows_objects(vault: Path, private: Path) -> None:
    name = git(private, "rev-parse", "HEAD").strip()
    begun(vault)
    alternates = vault / ".git" / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{private}/.git/objects\n", encoding="utf-8")
    git(vault, "update-ref", "HEAD", name)


def links_objects(vault: Path, private: Path) -> None:
    name = git(private, "rev-parse", "HEAD").strip()
    begun(vault)
    shutil.rmtree(vault / ".git" / "objects")
    (vault / ".git" / "objects").symlink_to(private / ".git" / "objects")
    git(vault, "update-ref", "HEAD", name)


def links_folders_of_objects(vault: Path, private: Path) -> None:
    name = git(private, "rev-parse", "HEAD").strip()
    begun(vault)
    for folder in (private / ".git" / "objects").iterdir():
        if len(folder.name) == 2:
            (vault / ".git" / "objects" / folder.name).symlink_to(folder)
    git(vault, "update-ref", "HEAD", name)


def pretends_to_be_a_linked_work_tree(vault: Path, private: Path) -> None:
    own = vault / "own"
    own.mkdir()
    (own / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (own / "commondir").write_text(f"{private}/.git\n", encoding="utf-8")
    (own / "gitdir").write_text(f"{vault}/.git\n", encoding="utf-8")
    (vault / ".git").write_text("gitdir: own\n", encoding="utf-8")


@pytest.mark.parametrize(
    "lead",
    [
        points_by_a_file, points_by_a_link, takes_the_common_folder, borrows_objects, links_objects,
        links_folders_of_objects, pretends_to_be_a_linked_work_tree,
    ],
)  # fmt: skip
def test_a_vault_shows_nothing_of_a_repository_that_is_not_its_own(
    tmp_path: Path, private: Path, open_vault: OpenVault, lead: Callable[[Path, Path], None]
) -> None:
    vault = write_vault(tmp_path / "vault", "=== cust/acme/now.md\n# Now\n\nText.\n")
    lead(vault, private)
    assert "secret" in git(vault, "ls-tree", "-r", "--name-only", "HEAD", check=False)
    page = printed(open_vault(vault).full(as_of="2026-05-31"))
    assert HIDDEN not in page
    assert "secret.md" not in page
    assert "does not belong to this folder" in page


def test_a_setting_of_a_work_tree_elsewhere_shows_nothing_of_it(
    tmp_path: Path, private: Path, open_vault: OpenVault
) -> None:
    vault = write_vault(tmp_path / "vault", "=== cust/acme/now.md\n# Now\n\nText.\n")
    points_by_a_file(vault, private)
    git(private, "config", "core.worktree", str(private))
    assert HIDDEN not in printed(open_vault(vault).full(as_of="2026-05-31"))


def test_a_linked_work_tree_and_a_submodule_show_their_own_commits(
    tmp_path: Path, private: Path, open_vault: OpenVault
) -> None:
    linked = tmp_path / "linked"
    git(private, "worktree", "add", "--quiet", "--detach", str(linked))
    assert HIDDEN in printed(open_vault(linked).full(as_of="2026-05-31"))
    above = begun(tmp_path / "above")
    allowed = ("-c", "protocol.file.allow=always")
    git(above, *allowed, "submodule", "--quiet", "add", str(private), "notes")
    assert (above / "notes" / ".git").is_file()
    assert HIDDEN in printed(open_vault(above / "notes").full(as_of="2026-05-31"))


def test_large_notes_of_a_commit_are_read_one_by_one(tmp_path: Path) -> None:
    vault = begun(tmp_path / "vault")
    (vault / "n").mkdir()
    for at in range(20):
        (vault / "n" / f"{at}.md").write_bytes(b"a" * 9_000_000 + b"%d\n" % at)
    commit(vault, "2026-02-01")
    listed = files_at(vault, "2026-05-31")
    blobs = Blobs(vault, listed.name, 9_000_002)  # those with a two-digit number are too large
    tracemalloc.start()
    try:
        sizes = [len(raw or b"") for raw in blobs.each([file.blob for file in listed.files])]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (sizes.count(9_000_002), sizes.count(0), blobs.too_large) == (10, 10, 10)
    assert most < 60_000_000
