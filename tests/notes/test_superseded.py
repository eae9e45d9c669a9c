"""Notes that say of themselves that they no longer hold."""

import pytest
from conftest import OpenVault

from workingset_mcp.answers.answer import printed
from workingset_mcp.notes.note import parse_note
from workingset_mcp.settings import Settings

RECORD = "# 7. Keep sheep in the barn\n\n## Context\n\nWolves.\n\n"


def said(text: str) -> str:
    return parse_note("adr/0007-barn.md", text.encode(), Settings()).not_current


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Status\n\nSuperseded by [ADR 12](0012-meadow.md)\n", "Superseded by ADR 12"),
        (
            "## Status\n\nAccepted\n\nSuperseded by [[0012-meadow|ADR 12]].\n",
            "Superseded by 0012-meadow",
        ),
        ("## Status\n\n**Deprecated** since 2025\n", "Deprecated since 2025"),
        ("### Status:\nrejected\n", "rejected"),
        ("## Status\n\n❌ Rejected\n", "Rejected"),
        ("## Statut\n\nRemplacé par ADR 12\n", "Remplacé par ADR 12"),
        ("## Status\n\nErsetzt durch ADR 12\n", "Ersetzt durch ADR 12"),
        ("## 状态\n\n已废弃\n", "已废弃"),
    ],
)
def test_a_record_says_so_below_its_status(text: str, expected: str) -> None:
    assert said(RECORD + text) == expected


@pytest.mark.parametrize(
    "line",
    ["Status: superseded by ADR 12", "**Status:** Superseded by ADR 12", "- Status: Superseded by ADR 12",
     "* Status: ⛔ superseded by [ADR 12](0012.md)", "| Status | superseded by ADR 12 |",
     "> **Status**: superseded by ADR 12"],
)  # fmt: skip
def test_a_line_near_the_top_says_so(line: str) -> None:
    assert said(f"# Sheep\n\n{line}\n\nText.\n").casefold() == "superseded by adr 12"
    assert said("# Sheep\n\n" + "Text.\n\n" * 20 + line) == ""


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("status: superseded\nsuperseded_by: ADR 12", "superseded by ADR 12"),
        ("status: Done", "Done"), ("status: '✅ closed'", "closed"), ("status: erledigt", "erledigt"),
        ("status: cancelled", "cancelled"), ("status: 已完成", "已完成"), ("status: Terminé", "Terminé"),
        ("status: active", ""), ("status: in progress", ""), ("status: blocked", ""), ("status: proposed", ""),
        ("status: open\nstatus: closed", ""),
        ("status: accepted", ""), ("status: undone", ""), ("status: not done", ""), ("status: 3", ""),
    ],
)  # fmt: skip
def test_front_matter_says_so(block: str, expected: str) -> None:
    assert said(f"---\n{block}\n---\n# Sheep\n") == expected


@pytest.mark.parametrize(
    "text",
    [
        "## Status\n\nAccepted\n", "## Status\n\nProposed | Accepted | Superseded\n",
        "## Status\n\n- rejected the offer of Odo\n", "## Status (2026-06-12)\n\nRejected twice, now accepted.\n",
        "## Status\n\nThe pilot is live.\n\nRejected: the old barn.\n\nThe wolf is back.\n\nThe door is shut.\n",
        "## Status\n\nComplete\n", "Status: done\n", "Status: ✅ COMPLETE\n", "Superseded ideas are below.\n",
        "## Status report\n\nRejected\n", "```\nStatus: superseded by x\n```\n",
    ],
)  # fmt: skip
def test_what_holds_or_tells_news_is_current(text: str) -> None:
    assert said(f"# Sheep\n\n{text}") == ""


def test_a_note_that_no_longer_holds_is_in_no_brief_and_marked_in_a_search(
    open_vault: OpenVault,
) -> None:
    old = "## Status\n\nSuperseded by [12](0012.md)\n\n## Decision\n\nSheep stay in the barn.\n\n- [ ] buy a barn\n"
    workspace = open_vault(
        f"=== adr/0007.md\n# 7. Barn\n\nDate: 2026-06-10\n\n{old}"
        "=== adr/0012.md\n# 12. Meadow\n\nDate: 2026-06-01\n\n"
        "## Status\n\nAccepted\n\n## Decision\n\nSheep stay on the meadow.\n"
    )
    brief = printed(workspace.brief("adr"))
    assert "barn" not in brief.casefold().replace("7. barn", "")
    assert "meadow" in brief
    found = printed(workspace.search("sheep barn"))
    assert "7. Barn · Decision · Superseded by 12" in found
    assert "buy a barn" in printed(workspace.items("open"))
