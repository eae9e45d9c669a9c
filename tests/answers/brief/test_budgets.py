"""A brief keeps its budget in tokens and bytes, and its counts cover what it shows and leaves out."""

import re
import shutil
from pathlib import Path

import pytest
from conftest import MakeVault, OpenVault

from answers.brief.reading import (
    ACME,
    FACTS,
    ITEMS,
    LABELS,
    LEFT,
    SHORT_LOG,
    appendix,
    brief,
    read_brief,
)
from workingset_mcp.answers.answer import Limits, printed
from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.errors import ArgumentError, WorkingsetError

_BUSY = (
    "=== cust/acme/2026-06-10.md\n# Busy\n\n## STATUS (2026-06-10)\n\nkeep weekly calls\n\n"
    "## Topic one\n\n"
    + "".join(f"- [ ] item number {n} of the long list at the lock\n" for n in range(60))
    + "".join(f"\nDecision: number {n} of the settled ones at the lock\n" for n in range(40))
    + "".join(f"\nFact: number {n} of the counted ones at the lock\n" for n in range(30))
    + "\n## Next steps\n\n"
    + "".join(f"- Tom does the job number {n} at the lock house\n" for n in range(30))
)
BUDGETS = [400, 450, 500, 600, 800, 1_000, 1_500, 2_000, 3_000, 8_000, 16_000, 24_000]


@pytest.mark.parametrize("budget", BUDGETS)
def test_counts_are_what_is_shown_plus_what_is_left_out(open_vault: OpenVault, budget: int) -> None:
    shown = brief(open_vault(_BUSY), budget=budget)
    assert count_tokens(shown.text) <= budget
    assert shown.header.endswith(
        f" · {count_tokens(shown.text):,}/{budget:,} tokens · index current"
    )
    assert "keep weekly calls" in shown.text
    told = "\n".join(shown.section(LEFT).lines)
    totals = {
        ITEMS: (len(shown.items), 60, r"(\d+) more open items?"),
        LABELS: (len(shown.section(LABELS).marked), 40, r"(\d+) more labelled lines?"),
        FACTS: (len(shown.section(FACTS).marked), 30, r"(\d+) more facts?"),
    }
    for title, (count, total, left) in totals.items():
        section = shown.section(title)
        if title in shown.sections:
            assert (section.shown, section.total) == (count, total)
        missing = re.search(left, told)
        assert count + (int(missing[1]) if missing else 0) == total, (title, told)
    bullets = re.search(r"(\d+) more action bullets?", told)
    assert len(shown.actions) + (int(bullets[1]) if bullets else 0) == 30, told


@pytest.mark.parametrize("budget", [400, 420, 450, 500, 600, 800])
@pytest.mark.parametrize(("boxes", "decisions", "facts"), [(0, 20, 1), (12, 1, 1), (1, 1, 12)])
def test_no_list_disappears_without_notice(
    open_vault: OpenVault, boxes: int, decisions: int, facts: int, budget: int
) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-06-10.md\n# Call\n\n## STATUS (2026-06-10)\n\nThe weir is open.\n\n"
            "## Work\n\n"
            + "".join(f"- [ ] job {n} at the lock house\n" for n in range(boxes))
            + "".join(f"\nDecision: keep {n}\n" for n in range(decisions))
            + "".join(f"\nFact: {n} pumps\n" for n in range(facts))
        ),
        budget=budget,
    )
    told = "\n".join(shown.section(LEFT).lines)
    for title, noun, total in (
        (ITEMS, "open item", boxes),
        (LABELS, "labelled line", decisions),
        (FACTS, "fact", facts),
    ):
        more = re.search(rf"^- (\d+) more {noun}s?\b", told, re.MULTILINE)
        count = len(shown.section(title).marked)
        assert count + (int(more[1]) if more else 0) == total, (title, told)


def test_every_brief_says_what_was_left_out(open_vault: OpenVault) -> None:
    for text in ("=== cust/acme/a.md\n", SHORT_LOG, _BUSY, appendix()):
        workspace = open_vault(text)
        for budget in (400, 8_000):
            shown = brief(workspace, budget=budget)
            assert list(shown.sections)[-1] == LEFT
            last = shown.section(LEFT).lines[-1]
            notes, tokens = shown.fields["source_notes"], shown.fields["source_tokens"]
            plural = "" if notes == 1 else "s"
            assert last.startswith(
                f"- All {tokens:,} tokens of {notes} note{plural}: search_notes("
            )


@pytest.mark.parametrize("budget", [0, -1, 1, 399, -(10**9)])
def test_a_budget_too_small_is_refused_with_the_range(open_vault: OpenVault, budget: int) -> None:
    with pytest.raises(ArgumentError, match="budget") as refused:
        printed(open_vault(_BUSY).brief(ACME, budget))
    assert "400" in refused.value.hint
    assert "24,000" in refused.value.hint


@pytest.mark.parametrize("budget", [24_001, 10**9])
def test_a_budget_too_large_is_lowered_with_a_warning(open_vault: OpenVault, budget: int) -> None:
    shown = brief(open_vault(_BUSY), budget=budget)
    assert count_tokens(shown.text) <= 24_000
    assert shown.warnings == [f"warning: budget lowered from {budget:,} to 24,000, the most here"]


@pytest.mark.parametrize("budget", [500, 600, 700, 800, 1_000, 1_200, 1_500, 2_000])
def test_unused_room_goes_to_lists_that_were_cut(open_vault: OpenVault, budget: int) -> None:
    shown = brief(open_vault(_BUSY), budget=budget)
    assert len(shown.items) < 60
    assert count_tokens(shown.text) >= budget * 4 // 5


def test_no_budget_means_the_default_one(open_vault: OpenVault) -> None:
    workspace = open_vault(_BUSY)
    assert printed(workspace.brief(ACME)) == printed(workspace.brief(ACME, 8_000))
    small = open_vault(_BUSY, brief_budget=700)
    assert count_tokens(printed(small.brief(ACME))) <= 700


@pytest.mark.parametrize("most", [1_500, 2_000, 4_000, 9_500, 100_000])
def test_a_byte_limit_applies_to_the_whole_answer(open_vault: OpenVault, most: int) -> None:
    busy = _BUSY.replace("lock", "水門")
    answer = printed(open_vault(busy).brief(ACME, 8_000, Limits(max_bytes=most)))
    assert len(answer.encode()) <= most
    shown = read_brief(answer)
    assert "keep weekly calls" in answer[:2_000]
    assert shown.fields["branch"] == ACME


@pytest.mark.parametrize("budget", [1_000, 2_000, 8_000])
@pytest.mark.parametrize("less", [1, 10, 50, 200])
def test_a_brief_just_over_a_byte_limit_shrinks_only_a_little(
    open_vault: OpenVault, budget: int, less: int
) -> None:
    boxes = "".join(f"- [ ] item number {n} of the long list at the lock\n" for n in range(20))
    workspace = open_vault(f"=== cust/acme/2026-06-10.md\n# Busy\n\n{boxes}")
    size = len(printed(workspace.brief(ACME, budget)).encode())
    answer = printed(workspace.brief(ACME, budget, Limits(max_bytes=size - less)))
    assert size - less - 400 < len(answer.encode()) <= size - less


def test_too_small_a_byte_limit_is_refused(open_vault: OpenVault) -> None:
    workspace = open_vault(_BUSY)
    with pytest.raises(WorkingsetError, match="bytes"):
        printed(workspace.brief(ACME, 8_000, Limits(max_bytes=100)))


def test_the_margin_of_the_settings_counts_for_the_budget(open_vault: OpenVault) -> None:
    answer = printed(open_vault(_BUSY, token_margin=1.25).brief(ACME, 1_000))
    assert count_tokens(answer) * 1.25 <= 1_000


def test_many_remarks_are_counted_and_all_can_be_fetched(open_vault: OpenVault) -> None:
    broken = "".join(f"=== cust/acme/n{n}.md\n```\nnever closed\n" for n in range(9))
    shown = brief(open_vault(SHORT_LOG + broken))
    assert 1 < len(shown.warnings) <= 5
    shown_ones = sum("never closed" in line for line in shown.warnings)
    more = re.search(r"(\d+) more remarks", shown.warnings[-1])
    assert more
    assert shown_ones + int(more[1]) == 9


def test_two_calls_and_two_opened_vaults_give_the_same_bytes(
    open_vault: OpenVault, make_vault: MakeVault, tmp_path: Path
) -> None:
    root = make_vault(_BUSY + SHORT_LOG + appendix())
    workspace = open_vault(root)
    first = printed(workspace.brief(ACME, 2_000))
    assert printed(workspace.brief(ACME, 2_000)) == first
    clone = Path(shutil.copytree(root, tmp_path / "elsewhere" / root.name))
    assert (
        printed(open_vault(clone, index_dir=str(tmp_path / "another")).brief(ACME, 2_000)) == first
    )
