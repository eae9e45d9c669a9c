"""An answer is returned only if the disk matches the snapshot it was composed from."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import OpenVault

from workingset_mcp.answers.answer import Answer, Limits, Source, printed
from workingset_mcp.index import View
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.checked import ROUNDS, Allowance, checked_answer
from workingset_mcp.workspace.facade import Workspace

NOTE = "cust/acme/call.md"
VAULT = f"=== {NOTE}\n# Call\n\nround 0\n=== wiki/terms.md\n# Terms\n\nzebra\n"


def answer_while(
    workspace: Workspace,
    meanwhile: Callable[[int], None],
    *,
    scope: str | None = "cust/acme",
    quoted_only: bool = False,
) -> tuple[str, int]:
    """Answer with the text of the note, run `meanwhile` after each reading, and count the readings."""
    readings = 0

    def compose(snapshot: View, _room: int) -> Answer[None]:
        nonlocal readings
        note = snapshot.note(NOTE)
        text = snapshot.text(note.id) if note else "nothing"
        meanwhile(readings)
        readings += 1
        return Answer("call", text, None, sources=(Source(NOTE),), found=note is not None)

    allowance = Allowance(400, "", Limits())
    answer = checked_answer(workspace, scope, compose, allowance, quoted_only=quoted_only)
    return printed(answer), readings


@pytest.mark.parametrize("quoted_only", [False, True])
@pytest.mark.parametrize("scope", ["cust/acme", None])
def test_an_answer_includes_what_another_client_refreshed_meanwhile(
    open_vault: OpenVault, scope: str | None, *, quoted_only: bool
) -> None:
    here = open_vault(VAULT)
    there = open_vault(here.vault.root)

    def another_client(reading: int) -> None:
        if reading == 0:
            (here.vault.root / NOTE).write_text("# Call\n\nround 1, longer\n", encoding="utf-8")
            assert there.freshness.refresh()
            assert here.freshness.refresh()  # this server's own follower saw it too

    answer, readings = answer_while(here, another_client, scope=scope, quoted_only=quoted_only)
    assert "round 1" in answer
    assert "round 0" not in answer
    assert "index current" in answer
    assert readings == 2


def test_a_write_in_another_branch_does_not_repeat_an_answer(open_vault: OpenVault) -> None:
    here = open_vault(VAULT)
    there = open_vault(here.vault.root)

    assert here.freshness.refresh("cust/acme")  # a note that was just written is read again once

    def another_branch(reading: int) -> None:
        (here.vault.root / "wiki/terms.md").write_text(
            f"# Terms\n\ngiraffe {reading}\n", encoding="utf-8"
        )
        assert there.freshness.refresh()

    answer, readings = answer_while(here, another_branch)
    assert "index current" in answer
    assert readings == 1


@pytest.mark.parametrize("quoted_only", [False, True])
def test_a_vault_that_keeps_changing_is_answered_as_behind(
    open_vault: OpenVault, *, quoted_only: bool
) -> None:
    here = open_vault(VAULT)

    def keeps_changing(reading: int) -> None:
        (here.vault.root / NOTE).write_text(
            f"# Call\n\nround {'I' * (reading + 2)}\n", encoding="utf-8"
        )

    answer, readings = answer_while(here, keeps_changing, quoted_only=quoted_only)
    assert "index behind: the vault keeps changing" in answer.partition("\n")[0]
    assert readings == ROUNDS + 1
    answer, _ = answer_while(here, lambda _reading: None)
    assert "index current" in answer


def test_one_index_in_memory_serves_several_threads(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    note = root / NOTE
    note.parent.mkdir(parents=True)
    note.write_text("# Call\n\nround 0\n", encoding="utf-8")
    workspace = Workspace(root, Settings(), in_memory=True)
    workspace.build()
    wrong: list[str] = []

    def ask() -> None:
        for _ in range(30):
            answer = printed(workspace.search("round", branch="cust/acme"))
            if "round" not in answer:
                wrong.append(answer)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(30):
        note.write_text(f"# Call\n\nround {number}\n", encoding="utf-8")
        workspace.freshness.refresh()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong
    workspace.close()
