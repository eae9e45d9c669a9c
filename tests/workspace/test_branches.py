"""One rule resolves branch names, in a workspace with an index and in a hook that may have none."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import MakeVault

from workingset_mcp.cli.commands.payload import Payload, branch_for
from workingset_mcp.errors import BranchNotFound, WorkingsetError
from workingset_mcp.settings import Settings
from workingset_mcp.vault.folder import Vault
from workingset_mcp.workspace.facade import Workspace

VAULT = """\
=== README.md
# Notes
=== cust/acme/2026-06-01.md
# Call
=== cust/acme/deep/er/plan.md
# Plan
=== cust/Beta/n.md
# Beta
=== cust/weir/n.md
# Weir of a customer
=== projects/weir/n.md
# Weir of a project
=== wiki/terms.md
# Terms
=== wiki/Deep/more.md
# More
=== empty/folder/
"""
NAMED = {
    "exact": ("cust/acme", "cust/acme"),
    "blanks around": ("  cust/acme ", "cust/acme"),
    "slashes around": ("/cust/acme/", "cust/acme"),
    "backslashes": ("cust\\acme", "cust/acme"),
    "another case": ("CUST/Acme", "cust/acme"),
    "last part": ("acme", "cust/acme"),
    "last part in another case": ("beta", "cust/Beta"),
    "a top folder": ("wiki", "wiki"),
    "a top folder in another case": ("Wiki", "wiki"),
    "the root": (".", "."),
    "the root by a slash": ("/", "."),
}
REFUSED = {
    "a near name": ("cust/acmee", ["cust/acme"]),
    "two with that last part": ("weir", ["cust/weir", "projects/weir"]),
    "a folder inside a branch": ("cust/acme/deep", ["cust/acme"]),
    "a folder inside a top folder": ("wiki/Deep", ["wiki"]),
    "a folder without notes": ("empty", []),
    "a note": ("wiki/terms.md", ["wiki"]),
    "a folder above": ("../vault/cust/acme", ["cust/acme"]),
    "a folder of the machine": ("/etc", []),
    "a NUL": ("x\0y", []),
    "longer than a disk allows": ("z" * 600, []),
    "half a character": ("\ud800", []),
}
Door = Callable[[Path, str], str | None]


def by_workspace(root: Path, given: str) -> str:
    workspace = Workspace(root, Settings(), in_memory=True)
    try:
        workspace.build()
        return workspace.branch_named(given)
    finally:
        workspace.close()


def by_unbuilt_workspace(root: Path, given: str) -> str:
    workspace = Workspace(root, Settings(), in_memory=True)
    try:
        workspace.start_building()
        return workspace.branch_named(given)
    finally:
        workspace.close()


def by_hook(root: Path, given: str) -> str | None:
    return branch_for(Vault(root), given, Payload())


DOORS: dict[str, Door] = {
    "workspace": by_workspace,
    "workspace, index not built": by_unbuilt_workspace,
    "hook": by_hook,
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize(("given", "name"), NAMED.values(), ids=NAMED)
def test_a_branch_is_found_by_its_name(
    make_vault: MakeVault, door: Door, given: str, name: str
) -> None:
    assert door(make_vault(VAULT), given) == name


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize(("given", "near"), REFUSED.values(), ids=REFUSED)
def test_a_name_without_a_branch_is_refused_with_near_matches(
    make_vault: MakeVault, door: Door, given: str, near: list[str]
) -> None:
    root = make_vault(VAULT)
    with pytest.raises(BranchNotFound) as refused:
        door(root, given)
    assert all(name in refused.value.hint for name in near)
    assert refused.value.hint
    assert str(root) not in str(refused.value)


@pytest.mark.parametrize("given", [given for given, _ in REFUSED.values()], ids=REFUSED)
def test_every_caller_gets_the_same_refusal(make_vault: MakeVault, given: str) -> None:
    root = make_vault(VAULT)
    said = set()
    for door in DOORS.values():
        with pytest.raises(WorkingsetError) as refused:
            door(root, given)
        said.add(str(refused.value))
    assert len(said) == 1


def test_a_branch_made_meanwhile_is_found_and_one_removed_is_not(make_vault: MakeVault) -> None:
    root = make_vault(VAULT)
    workspace = Workspace(root, Settings(), in_memory=True)
    workspace.build()
    (root / "cust/gamma").mkdir()
    (root / "cust/gamma/n.md").write_text("# Gamma\n", encoding="utf-8")
    (root / "cust/Beta/n.md").unlink()
    assert workspace.branch_named("gamma") == by_hook(root, "gamma") == "cust/gamma"
    with pytest.raises(BranchNotFound):
        workspace.branch_named("beta")
    with pytest.raises(BranchNotFound):
        by_hook(root, "beta")
    workspace.close()
