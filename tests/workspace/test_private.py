"""Notes that their front matter calls private are in no answer, by no way of asking."""

import pytest
from conftest import OpenVault

from workingset_mcp.answers.answer import Limits, printed
from workingset_mcp.errors import PathRefused, VaultError
from workingset_mcp.workspace.facade import Workspace

BLOCKS = [
    "private: true", "private: yes", "Private: True", "tags: [private]", "tags: diary, private",
    "tags:\n  - '#Private/health'", "tag: private", "private: true\nkind: workingset-brief",
]  # fmt: skip


def vault_with(block: str, name: str = "walrusdiary.md") -> str:
    secret = (
        f"---\n{block}\n---\n# Walrustitle 2026-06-12\n\n- [ ] walrustask\n\nDecision: walrusword\n"
    )
    return f"=== cust/acme/a.md\n# A\n\n- [ ] call\n=== cust/acme/{name}\n{secret}"


def answers(workspace: Workspace) -> dict[str, str]:
    made = {
        "brief": workspace.brief("cust/acme"),
        "overview": workspace.brief(),
        "search": workspace.search("walrusword walrustitle walrusdiary"),
        "near": workspace.search("walruswort"),
        "full": workspace.full("cust/acme", budget=4_000),
        "full search": workspace.full("cust/acme", query="walrusword"),
        **{
            kind: workspace.items(kind) for kind in ("open", "decision", "note", "remark", "status")
        },
    }
    return {name: printed(answer) for name, answer in made.items()}


@pytest.mark.parametrize("block", BLOCKS)
def test_a_private_note_is_in_no_answer(open_vault: OpenVault, block: str) -> None:
    workspace = open_vault(vault_with(block))
    for name, said in answers(workspace).items():
        if name in ("search", "near", "full search"):  # they repeat the words of the question
            assert not any(word in said for word in ("walrustask", "walrusdiary.md", "near")), name
        else:
            assert "walrus" not in said, name
    assert workspace.known_paths() == ["cust/acme/a.md"]
    for ask in (
        lambda: workspace.open("cust/acme/walrusdiary.md"),
        lambda: workspace.open("cust/acme/walrusdiary.md:7"),
        lambda: workspace.note_part("cust/acme/walrusdiary.md", Limits(), 0),
    ):
        with pytest.raises(PathRefused, match="is private") as refused:
            ask()
        assert "walrusword" not in str(refused.value)


@pytest.mark.parametrize("name", ["override.md", "brief.md"])
def test_a_private_note_of_any_name_is_in_no_answer(open_vault: OpenVault, name: str) -> None:
    workspace = open_vault(vault_with("private: true", name))
    assert "walrus" not in printed(workspace.brief("cust/acme"))


@pytest.mark.parametrize(
    "block",
    ["private: false", "private: soon", "tags: [privateer]", "title: private", "date: 2026-06-12"],
)
def test_what_only_sounds_private_is_read(open_vault: OpenVault, block: str) -> None:
    workspace = open_vault(vault_with(block))
    assert "walrustask" in printed(workspace.brief("cust/acme"))
    assert "walrusword" in printed(workspace.open("cust/acme/walrusdiary.md"))


def test_a_note_that_becomes_private_is_gone_at_once_and_comes_back(open_vault: OpenVault) -> None:
    workspace = open_vault(vault_with("title: x"))
    file = workspace.vault.root / "cust/acme/walrusdiary.md"
    text = file.read_text(encoding="utf-8")
    assert "walrusword" in printed(workspace.search("walrusword"))
    file.write_text(text.replace("title: x", "private: true"), encoding="utf-8")
    assert "walrustask" not in printed(workspace.brief("cust/acme"))
    with pytest.raises(VaultError):
        workspace.open("cust/acme/walrusdiary.md")
    file.write_text(text, encoding="utf-8")
    assert "walrustask" in printed(workspace.brief("cust/acme"))


def test_the_tags_that_make_a_note_private_can_be_chosen(open_vault: OpenVault) -> None:
    workspace = open_vault(vault_with("tags: [private]"), private_tags=("Diary",))
    assert "walrustask" in printed(workspace.items("open"))
    workspace = open_vault(vault_with("tags: [diary]"), private_tags=("Diary",))
    assert "walrustask" not in printed(workspace.items("open"))
