"""What cannot be read is not gone: rows are kept, answers name it, and no count calls itself exact.

Root may read everything, so a test that needs permissions takes that right from its own thread.
"""

import ctypes
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import MakeVault, OpenVault, contents_of, contents_of_fresh, write_vault

from workingset_mcp.answers.answer import printed
from workingset_mcp.cli.main import main
from workingset_mcp.errors import VaultNotFound, WorkingsetError
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

VAULT = """\
=== cust/acme/a.md
# A

- [ ] walrus
=== cust/acme/private/p.md
# P

- [ ] narwhal
=== wiki/b.md
# B

heron
"""
CALLS: dict[str, Callable[[Workspace], str]] = {
    "brief": lambda workspace: printed(workspace.brief("cust/acme")),
    "overview": lambda workspace: printed(workspace.brief()),
    "search": lambda workspace: printed(workspace.search("narwhal walrus")),
    "items": lambda workspace: printed(workspace.items("open", branch="cust/acme")),
    "notes": lambda workspace: printed(workspace.items("note")),
    "full": lambda workspace: printed(workspace.full("cust/acme")),
    "open": lambda workspace: printed(workspace.open("cust/acme/a.md")),
    "note": lambda workspace: workspace.note_part("cust/acme/a.md", workspace.limits(), 0)[0],
    "resource": lambda workspace: workspace.brief_text("cust/acme", workspace.limits()),
    "status": lambda workspace: str(workspace.status()),
    "branches": lambda workspace: str(workspace.branches()),
}
_RIGHTS_TO_READ_ALL = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """Within the block, permissions hold for this thread even when root runs the test."""
    if os.geteuid():
        yield
        return
    if not sys.platform.startswith("linux"):
        pytest.skip("root reads everything here")
    system = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert system.capget(header, sets) == 0
    before = sets[0]
    sets[0] = before & ~_RIGHTS_TO_READ_ALL
    assert system.capset(header, sets) == 0
    try:
        yield
    finally:
        sets[0] = before
        assert system.capset(header, sets) == 0


@contextmanager
def without_rights(place: Path) -> Iterator[None]:
    """Within the block, nobody may read a file or a folder."""
    mode = place.stat().st_mode
    place.chmod(0)
    try:
        with bound_by_permissions():
            yield
    finally:
        place.chmod(mode)


@contextmanager
def open_files_left(number: int) -> Iterator[None]:
    """Within the block, this process can open only so many more files."""
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def known_notes(workspace: Workspace) -> int:
    """How many notes the index has."""
    with workspace.index.snapshot() as view:
        return view.note_count()


def take_away(root: Path) -> None:
    """Nothing stands at the path of the vault."""


def replace_by_link(root: Path) -> None:
    """A link to another folder of notes stands there."""
    write_vault(root.parent / "elsewhere", "=== x/secret.md\nsecret\n")
    root.symlink_to(root.parent / "elsewhere")


def replace_by_mount_point(root: Path) -> None:
    """An empty folder stands there, as when what was mounted is not."""
    root.mkdir()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("replace", [take_away, replace_by_link, replace_by_mount_point])
def test_a_missing_vault_is_an_error_of_every_call_and_comes_back_by_itself(
    open_vault: OpenVault, replace: Callable[[Path], None], call: str
) -> None:
    workspace = open_vault(VAULT)
    before, root = CALLS[call](workspace), workspace.vault.root
    kept = root.rename(root.with_name("put away"))
    replace(root)
    for _ in range(2):
        with pytest.raises(VaultNotFound, match=r"vault folder '.*' is "):
            CALLS[call](workspace)
        with pytest.raises(VaultNotFound):
            workspace.build()
    assert known_notes(workspace) == 3
    if root.is_symlink():
        root.unlink()
    kept.rename(root)
    assert CALLS[call](workspace) == before


def test_a_new_process_over_an_empty_mount_point_keeps_what_is_known(
    open_vault: OpenVault, tmp_path: Path
) -> None:
    workspace = open_vault(VAULT)
    root = workspace.vault.root
    workspace.close()
    kept = root.rename(root.with_name("put away"))
    root.mkdir()
    options = ["--vault", str(root), "--index-dir", str(tmp_path / "index")]
    for command in (
        ["search", "walrus"],
        ["items"],
        ["index"],
        ["check"],
        ["measure"],
        ["brief", "cust/acme"],
        ["status"],
    ):
        ran = CliRunner().invoke(main, [*command, *options])
        assert (ran.exit_code, "empty" in ran.stderr) == (2, True), (command, ran.output)
    for hook in (["hook", "session-start"], ["hook", "session-start", "--branch", "cust/acme"]):
        ran = CliRunner().invoke(main, [*hook, *options])
        assert (ran.exit_code, ran.stdout, "empty" in ran.stderr) == (0, "", True)
    root.rmdir()
    kept.rename(root)
    ran = CliRunner().invoke(main, ["search", "walrus", *options])
    assert "index current" in ran.stdout
    assert "- [ ] walrus" in ran.stdout


def test_a_vault_that_was_emptied_under_our_eyes_holds_nothing(open_vault: OpenVault) -> None:
    workspace = open_vault("=== a.md\nwalrus\n")
    (workspace.vault.root / "a.md").unlink()
    assert "(0 notes)" in printed(workspace.search("walrus"))


@pytest.mark.parametrize(
    "place", ["cust/acme/private", "cust/acme/private/p.md", "cust", "cust/acme"]
)
def test_what_may_not_be_read_is_kept_named_and_makes_no_count_exact(
    open_vault: OpenVault, place: str
) -> None:
    workspace = open_vault(VAULT)
    root, before = workspace.vault.root, contents_of(workspace)
    current = {name: call(workspace) for name, call in CALLS.items()}
    with without_rights(root / place):
        for name in ("brief", "search", "items", "full"):
            told = CALLS[name](workspace)
            assert f"warning: {place}" in told, name
            assert "(Permission denied)" in told
            assert "index current" in told  # there is nothing that could be read and was not
            assert "narwhal" in told or name == "search"
        assert place in CALLS["resource"](workspace)
        assert place in CALLS["status"](workspace)
        assert place in printed(workspace.items("remark"))
        nothing = printed(workspace.items("blocker", branch="cust/acme"))
        assert "exact" not in nothing
        assert "say that it is not there" not in printed(workspace.search("zebra"))
        assert contents_of(workspace) == before
    after = {name: call(workspace) for name, call in CALLS.items()}
    assert {**after, "status": ""} == {**current, "status": ""}  # its generation may be another one


def test_a_note_that_changed_and_may_not_be_read_shows_its_older_text_until_it_may(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(VAULT)
    note = workspace.vault.root / "cust/acme/a.md"
    note.write_text("# A\n\n- [ ] puffin\n", encoding="utf-8")
    with without_rights(note):
        told = CALLS["items"](workspace)
        assert "walrus" in told
        assert "cust/acme/a.md cannot be read now; what was read before is used" in told
        with pytest.raises(WorkingsetError, match="cannot be read"):
            CALLS["open"](workspace)
    told = CALLS["items"](workspace)
    assert "puffin" in told
    assert "warning" not in told


def test_a_note_that_never_could_be_read_is_named_and_read_once_it_can(
    make_vault: MakeVault, tmp_path: Path
) -> None:
    root = make_vault(VAULT)
    workspace = Workspace(root, Settings(index_dir=str(tmp_path / "index")))
    with without_rights(root / "cust/acme/a.md"):
        workspace.build()
        told = printed(workspace.items("blocker", branch="cust/acme"))
        assert "exact" not in told
        assert told.count("cust/acme/a.md cannot be read: Permission denied") == 1
    assert "walrus" in CALLS["items"](workspace)
    workspace.close()


@pytest.mark.parametrize("number", range(8))
def test_where_no_file_can_be_opened_nothing_is_taken_for_gone(
    open_vault: OpenVault, number: int
) -> None:
    workspace = open_vault(f"=== .gitignore\nhidden/\n=== hidden/h.md\nsecret\n{VAULT}")
    current = {name: call(workspace) for name, call in CALLS.items()}
    workspace.vault._rules.clear()
    (workspace.vault.root / "wiki/b.md").write_text("# B\n\nheron, stork\n", encoding="utf-8")
    with open_files_left(number):
        for name, call in CALLS.items():
            try:
                told = call(workspace)
            except WorkingsetError:
                continue
            assert "Nothing found" not in told, name
            assert "exact" not in told
            assert "secret" not in told
    for name in ("brief", "items", "full", "open", "note", "resource"):
        assert CALLS[name](workspace) == current[name]
    assert "stork" in printed(workspace.search("stork"))
    assert contents_of(workspace) == contents_of_fresh(workspace.vault.root)


def test_a_note_that_icloud_keeps_elsewhere_is_named_and_its_text_kept(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(VAULT)
    folder = workspace.vault.root / "cust/acme"
    kept = (folder / "a.md").read_bytes()
    (folder / "a.md").rename(folder / ".a.md.icloud")
    (folder / ".never.md.icloud").write_bytes(b"bplist")
    for name in ("brief", "search", "items", "full"):
        told = CALLS[name](workspace)
        assert "cust/acme/a.md left out: not downloaded from iCloud" in told, name
        assert "walrus" in told
    assert "cust/acme/never.md left out: not downloaded" in printed(workspace.items("remark"))
    assert "exact" not in printed(workspace.items("blocker"))
    with pytest.raises(WorkingsetError, match="not downloaded from iCloud"):
        CALLS["open"](workspace)
    (folder / ".a.md.icloud").unlink()
    (folder / ".never.md.icloud").unlink()
    (folder / "a.md").write_bytes(kept)
    assert "warning" not in CALLS["items"](workspace)


def test_a_note_over_the_limit_of_size_makes_no_count_exact(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    with (workspace.vault.root / "wiki/huge.md").open("wb") as huge:
        huge.truncate(64_000_001)
    assert "exact" not in printed(workspace.items("blocker"))
    assert "exact" in printed(workspace.items("blocker", branch="cust/acme"))
