"""A brief uses only the notes of its branch: no other brief, no conflict copy, no editor file."""

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import MakeVault, OpenVault

from answers.brief.reading import (
    ACME,
    SHORT_LOG,
    brief,
)
from workingset_mcp.answers.answer import printed
from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.errors import BranchNotFound, PathRefused

# -- a brief is no source of a brief ----------------------------------------------------------------

BRIEF_NAMES = [
    "brief.md",
    "BRIEF.MD",
    "summary of june.md",
    "sub/deep/x.markdown",
    "2026-06-15.mdx",
]


@pytest.mark.parametrize("name", BRIEF_NAMES)
def test_a_generated_brief_is_not_a_source_under_any_name(open_vault: OpenVault, name: str) -> None:
    workspace = open_vault(SHORT_LOG)
    before = workspace.brief(ACME)
    file = workspace.vault.root / ACME / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(before.body, encoding="utf-8")
    assert workspace.brief(ACME) == before


@pytest.mark.parametrize(
    "head",
    [
        "---\nkind: workingset-brief\n---\n",
        '---\nversion: 2\nkind: "workingset-brief"\n---\n',
        "---\nbranch: cust/old\nkind: 'workingset-brief'\nextra: [1, 2]\n---\n",
        "\ufeff---\nkind: workingset-brief\n---\n",
        "---\r\nkind: workingset-brief\r\n---\r\n",
        "---\nbranch: a: b\nkind: workingset-brief\n---\n",
    ],
)
def test_an_older_brief_gives_no_items_statuses_or_topics(open_vault: OpenVault, head: str) -> None:
    stale = "# Brief\n\n## STATUS (2026-06-15)\n\nSTALE COPY\n\n- [ ] it is gone\n\nFact: gone\n"
    shown = brief(open_vault(f"{SHORT_LOG}=== cust/acme/old.md\n{head}{stale}"))
    assert [text for _, text, _ in shown.items] == ["order badges"]
    assert shown.status == "cust/acme/log.md:1-3"
    assert not re.search("STALE COPY|it is gone|Fact: gone|old\\.md", shown.text)
    assert shown.fields["source_notes"] == 1


# -- what the vault holds beside notes --------------------------------------------------------------


@pytest.mark.parametrize(
    "copy",
    [
        "plan (conflicted copy 2026-06-12).md",
        "plan (Mira's conflicted copy 2026-06-12).md",
        "plan (In Konflikt stehende Kopie von Tom).md",
        "plan.sync-conflict-20260612-101500-ABCDEF1.md",
    ],
)
def test_a_conflict_copy_is_left_out_and_named(open_vault: OpenVault, copy: str) -> None:
    shown = brief(
        open_vault(
            f"=== cust/acme/plan.md\n- [ ] ship the report\n=== cust/acme/{copy}\n"
            "- [ ] ship the report\n"
            "- [ ] only in the copy\n=== cust/acme/plan-OFFICE-PC.md\n- [ ] office item\n"
            "=== cust/beta/n.md\nB.\n"
        )
    )
    assert sorted(text for _, text, _ in shown.items) == ["office item", "ship the report"]
    assert "only in the copy" not in shown.text
    assert [line for line in shown.warnings if f"cust/acme/{copy}" in line] == shown.warnings
    assert len(shown.warnings) == 1


def test_a_conflict_copy_of_another_branch_is_not_named(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== cust/acme/a.md\nA.\n=== cust/acme-labs/a.md\nA.\n"
        "=== cust/acme-labs/a (conflicted copy).md\nA.\n"
    )
    assert brief(workspace).warnings == []
    assert len(brief(workspace, "cust/acme-labs").warnings) == 1


def test_files_of_editors_are_not_sources(open_vault: OpenVault) -> None:
    names = [
        ".real.md.swp",
        ".#real.md",
        "#real.md#",
        "real.md~",
        "real.md.bak",
        "~$real.md",
        "real.tmp.md",
    ]
    shown = brief(
        open_vault(
            "=== cust/acme/real.md\n- [ ] real\n"
            + "".join(f"=== cust/acme/{name}\n- [ ] stale\n" for name in names)
        )
    )
    assert [text for _, text, _ in shown.items] == ["real"]
    assert shown.fields["source_notes"] == 1


def test_folders_and_endings_that_only_look_like_notes(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== cust/acme/folder.md/inner.md\n- [ ] inner\n=== cust/acme/UPPER.MD\n- [ ] upper\n"
        "=== cust/acme/long.markdown\n- [ ] long\n=== cust/acme/text.txt\n- [ ] text\n"
    )
    assert {text for _, text, _ in brief(workspace).items} == {"inner", "upper", "long"}
    with pytest.raises(PathRefused, match="folder"):
        printed(workspace.open("cust/acme/folder.md"))


@pytest.mark.skipif(os.name != "posix", reason="Windows lets only some users make links")
def test_links_show_nothing_twice_and_nothing_from_elsewhere(
    open_vault: OpenVault, make_vault: MakeVault, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("- [ ] outside\n", encoding="utf-8")
    root = make_vault("=== cust/acme/a.md\n- [ ] loop item\n")
    for name, target in (("up", ".."), ("self", "self"), ("gone.md", "no.md"), ("b.md", "a.md")):
        (root / ACME / name).symlink_to(target)
    (root / ACME / "out.md").symlink_to(outside)
    shown = brief(open_vault(root))
    assert shown.items == [(" ", "loop item", "cust/acme/a.md:1")]
    assert "outside" not in shown.text


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root and Windows read it all")
def test_what_cannot_be_read_is_named_and_the_rest_is_shown(
    open_vault: OpenVault, make_vault: MakeVault
) -> None:
    root = make_vault(
        "=== cust/acme/ok.md\n- [ ] good\n=== cust/acme/locked.md\n- [ ] locked\n"
        "=== cust/acme/p/n.md\nX.\n"
    )
    (root / ACME / "locked.md").chmod(0)
    (root / ACME / "p").chmod(0)
    try:
        shown = brief(open_vault(root))
    finally:
        (root / ACME / "p").chmod(0o755)
    assert [text for _, text, _ in shown.items] == ["good"]
    assert any("cust/acme/locked.md" in line for line in shown.warnings)
    assert any("cust/acme/p" in line for line in shown.warnings)


def test_a_note_that_was_emptied_and_written_again_is_back_at_the_next_call(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(SHORT_LOG)
    before = printed(workspace.brief(ACME))
    file = workspace.vault.root / "cust/acme/log.md"
    text = file.read_text(encoding="utf-8")
    file.write_text("", encoding="utf-8")
    assert brief(workspace).items == []
    file.write_text(text, encoding="utf-8")
    assert printed(workspace.brief(ACME)) == before


def test_a_branch_that_was_renamed_or_removed_is_refused_at_the_next_call(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault("=== cust/acme/a.md\n- [ ] item\n=== cust/old/a.md\n- [ ] ghost\n")
    root = workspace.vault.root
    (root / ACME).rename(root / "cust/acme-group")
    shutil.rmtree(root / "cust/old")
    with pytest.raises(BranchNotFound) as refused:
        printed(workspace.brief(ACME))
    assert "cust/acme-group" in refused.value.hint
    with pytest.raises(BranchNotFound):
        printed(workspace.brief("cust/old"))
    assert brief(workspace, "cust/acme-group").items == [(" ", "item", "cust/acme-group/a.md:1")]


@pytest.mark.timeout(60)
def test_a_note_of_three_megabytes_makes_a_small_brief(open_vault: OpenVault) -> None:
    lines = "10:01 tower: the quick line of the day, nothing settled yet\n" * 50_000
    shown = brief(
        open_vault(f"=== cust/acme/chat.md\n# Export\n\n{lines}\n- [ ] last item of the log\n"),
        budget=2_000,
    )
    assert count_tokens(shown.text) <= 2_000
    assert shown.items == [(" ", "last item of the log", "cust/acme/chat.md:50004")]
