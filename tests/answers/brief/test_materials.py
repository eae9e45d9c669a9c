"""The materials of a brief are values: none of them reads an index whose view has ended."""

import pickle

import pytest
from conftest import OpenVault

from workingset_mcp.answers.brief import BranchReader, make_brief, read_materials
from workingset_mcp.answers.brief.reading import read_branch
from workingset_mcp.settings import today

VAULT = (
    "=== cust/acme/2026-06-10-call.md\n# Call\n\n## STATUS (2026-06-10)\n\nOpen.\n\n"
    "## Actions\n\n- Ana sends the offer\n\n- [ ] oil the kiln\n\nDecision: copper it is.\n"
    "=== cust/acme/README.md\n# Acme\n\nWe meet every Tuesday at 09:00.\n"
)


def test_materials_outlive_their_view_as_values(open_vault: OpenVault) -> None:
    materials = open_vault(VAULT).materials("cust/acme")
    assert materials.status_lines == ("## STATUS (2026-06-10)", "", "Open.")
    assert pickle.loads(pickle.dumps(materials)) == materials  # noqa: S301  # made here


def test_a_brief_reads_more_only_while_its_view_is_open(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    with workspace.index.snapshot() as view:
        branch = read_branch(view, workspace, "cust/acme", today(), ())
        reader = BranchReader(view, "cust/acme")
        materials = read_materials(branch, reader)
        text = make_brief(materials, reader, 2_000).text
    assert "Open." in text
    with pytest.raises(RuntimeError, match="view has ended"):
        make_brief(read_materials(branch, reader), reader, 2_000)
    with workspace.index.snapshot() as view:  # the same state: what was read before is reused
        assert make_brief(materials, BranchReader(view, "cust/acme"), 2_000).text == text
