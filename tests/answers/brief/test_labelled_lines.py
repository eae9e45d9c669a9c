"""Decisions, owners, blockers, facts and standing lines of a brief."""

import pytest
from conftest import OpenVault

from answers.brief.reading import FACTS, LABELS, LEFT, appendix, brief

# -- labelled lines ---------------------------------------------------------------------------------

LABELLED = [
    "Decision: the weir stays open",
    "Decided: the weir stays open",
    "RESOLVED: the weir stays open",
    "**Decision:** the weir stays open",
    "**Decision**: the weir stays open",
    "_Decision:_ the weir stays open",
    "Decision (2026-05-04): the weir stays open",
    "Decision - the weir stays open",
    "Decision — the weir stays open",
    "[DECIDED] the weir stays open",
    "Verdict: keep it",
    "Owner: Mira Holt",
    "DRI: Mira Holt",
    "Due: 2026-06-30",
    "Deadline: end of June",
    "Blocker: no steel before July",
    "Blocked by: the mill",
    "Risk: high water",
    "Action: call the mill",
    "AI: call the mill",
    "TODO: call the mill",
    "Next step: call the mill",
    "Beschluss: das Wehr bleibt offen",
    "決定：堰は開けておく",
]
WRAPS = [("paragraph", "{}"), ("bullet", "- {}"), ("numbered", "1. {}"), ("quoted", "> {}")]


@pytest.mark.parametrize("wrap", [wrap[1] for wrap in WRAPS], ids=[wrap[0] for wrap in WRAPS])
@pytest.mark.parametrize("line", LABELLED)
def test_a_labelled_line_is_shown_verbatim(open_vault: OpenVault, line: str, wrap: str) -> None:
    shown = brief(open_vault(f"=== cust/acme/2026-06-10.md\n# Call\n\n{wrap.format(line)}\n"))
    assert shown.section(LABELS).marked == [(f"- {line}", ("cust/acme/2026-06-10.md:3",))]
    assert (shown.section(LABELS).shown, shown.section(LABELS).total) == (1, 1)


@pytest.mark.parametrize(
    "line",
    [
        "Due to rain the weir stays open",
        "We decided to keep it open",
        "Decided to keep it open",
        "Due diligence is done",
        "Decisional power: none",
        "An owner: of a mill",
        "Ai: call the mill",
        "| Decision: | in a table |",
        "    Decision: in code",
        "<!-- Decision: hidden -->",
        "`Decision`",
    ],
)
def test_prose_and_code_are_not_labelled_lines(open_vault: OpenVault, line: str) -> None:
    shown = brief(open_vault(f"=== cust/acme/2026-06-10.md\n# Call\n\n{line}\n"))
    assert shown.section(LABELS).marked == []


@pytest.mark.parametrize("label", ["Fact", "Key fact", "**Total**", "FACT"])
def test_facts_have_their_own_section(open_vault: OpenVault, label: str) -> None:
    shown = brief(
        open_vault(f"=== cust/acme/x.md\nText.\n\n{label}: 12 pumps\n\nOwner: Mira Holt\n")
    )
    assert shown.section(FACTS).texts == [f"{label}: 12 pumps"]
    assert shown.section(LABELS).texts == ["Owner: Mira Holt"]


def test_labelled_lines_come_newest_first_and_once(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-06-01.md\nDecision: keep it open\n\nOwner: Tom\n"
            "=== cust/acme/2026-06-09.md\n**decision:** Keep it open\n\nRisk: high water\n"
        )
    )
    assert shown.section(LABELS).marked == [
        ("- **decision:** Keep it open", ("cust/acme/2026-06-09.md:1",)),
        ("- Risk: high water", ("cust/acme/2026-06-09.md:3",)),
        ("- Owner: Tom", ("cust/acme/2026-06-01.md:3",)),
    ]


def test_labelled_lines_over_a_year_before_the_newest_note_are_counted_not_shown(
    open_vault: OpenVault,
) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-06-10.md\nDecision: fresh\n"
            "=== cust/acme/2025-06-10.md\nDecision: 365 days\n"
            "=== cust/acme/2025-06-09.md\nDecision: 366 days\n\nFact: 366 days\n"
        )
    )
    assert shown.section(LABELS).texts == ["Decision: fresh", "Decision: 365 days"]
    assert shown.section(FACTS).texts == []
    (line,) = [line for line in shown.section(LEFT).lines if "over a year" in line]
    assert line.startswith("- 2 labelled lines")


def test_labelled_lines_of_the_status_block_are_not_repeated(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/log.md\n## STATUS (2026-06-11)\n\nDecision: inside\n\n## After\n\n"
            "Decision: outside\n"
        )
    )
    assert shown.section(LABELS).texts == ["Decision: outside"]


@pytest.mark.parametrize(
    "heading", ["Decision", "Decisions", "Conclusion", "Resolution", "Beschlüsse", "结论"]
)
def test_bullets_under_a_decision_heading_are_decisions(
    open_vault: OpenVault, heading: str
) -> None:
    shown = brief(
        open_vault(
            f"=== cust/acme/2026-06-10.md\n# Call\n\n## {heading}\n\n- Keep the weir open\n"
            "- Buy two pumps\n\n"
            "## After\n\n- Not this\n"
        )
    )
    assert shown.section(LABELS).texts == ["Keep the weir open", "Buy two pumps"]


def test_the_first_paragraph_under_a_decision_heading_is_one(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-06-10.md\n# Call\n\n## Conclusion\n\nWe keep the weir open.\n\n"
            "Later talk.\n"
        )
    )
    assert shown.section(LABELS).texts == ["We keep the weir open."]


@pytest.mark.parametrize(
    "note",
    [
        "Decisions:\n- keep the weir open\n- buy two pumps\n",
        "- Decision:\n  - keep the weir open\n  - buy two pumps\n",
        "**Agreed:**\n\n- keep the weir open\n- buy two pumps\n",
        "1. Resolution:\n   - keep the weir open\n   - buy two pumps\n2. Tea\n",
    ],
)
def test_an_empty_label_takes_its_nested_bullets(open_vault: OpenVault, note: str) -> None:
    shown = brief(open_vault(f"=== cust/acme/2026-06-10.md\n# Call\n\n{note}"))
    assert shown.section(LABELS).texts == ["keep the weir open", "buy two pumps"]


def test_an_empty_label_without_bullets_is_ignored(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-06-10.md\n# Call\n\nDecision:\n\nTea was served.\n\nOwner: none\n"
        )
    )
    assert not any("Decision:" in text for text in shown.section(LABELS).texts)


# -- standing lines of undated notes ----------------------------------------------------------------

STANDING_LINES = [
    "We meet every Tuesday at 09:00 in the tower.",
    "The board meets monthly, on the first Thursday at 17:00 UTC.",
    "**Chair**: Mira Holt of the river board",
    "Meeting owner: Tom Ahrens, deputy Ana Ruiz",
    "Questions go to weir@example.org at any time.",
    "Please contact the tower before you open the weir.",
    "Nobody may open the weir alone, there must be two people.",
    "A key is never lent for more than 24 hours.",
    "A travel over €500 requires approval of the board.",
    "Das Wehr darf niemals allein geöffnet werden.",
    "見積もりは二週間以内に送る必要です。",
]


@pytest.mark.parametrize("line", STANDING_LINES)
def test_what_always_holds_in_an_undated_note_is_standing(open_vault: OpenVault, line: str) -> None:
    text = f"=== cust/acme/handbook.md\n# Handbook\n\nIntro.\n\n{line}\n\nThe wall is grey.\n"
    shown = brief(open_vault(text + appendix()))
    assert shown.standing == [line]
    dated = text.replace("handbook.md", "2026-06-01-handbook.md")
    assert brief(open_vault(dated + appendix())).standing == []


def test_standing_lines_of_readme_and_index_go_first(open_vault: OpenVault) -> None:
    rule = "The key {} must be returned within 24 hours."
    shown = brief(
        open_vault(
            "=== cust/acme/aaa.md\n# A\n\n- We meet every Monday at 10:00 in the shed.\n"
            "=== cust/acme/README.md\n# R\n\n- We meet every Tuesday at 09:00 in the tower.\n"
            f"=== cust/acme/rules.md\n# Rules\n\n{rule.format('a')}\n\n{rule.format('b')}\n"
            + appendix()
        )
    )
    assert shown.standing[0] == "We meet every Tuesday at 09:00 in the tower."
    assert set(shown.standing) == {
        "We meet every Tuesday at 09:00 in the tower.",
        "We meet every Monday at 10:00 in the shed.",
        rule.format("a"),
        rule.format("b"),
    }


def test_former_officers_are_not_standing(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/team.md\n# Team\n\n## Chairs\n\n- Mira Holt, since spring\n\n"
            "## Former chairs\n\n- Tom Ahrens, weir@example.org, must rest\n" + appendix()
        )
    )
    assert shown.standing == ["Mira Holt, since spring"]
