"""The override comes first and verbatim, or is left out with a warning."""

import re

import pytest
from conftest import OpenVault

from answers.brief.reading import ACME, LABELS, SHORT_LOG, brief
from workingset_mcp.answers.answer import printed
from workingset_mcp.answers.budget import count_tokens

_RULES = (
    "# House rules\n\nNever ship on a Friday.\n\n- [ ] not an item\n\nDecision: not a decision\n"
)


@pytest.mark.parametrize("path", ["cust/acme/override.md", "override.md", "cust/acme/OVERRIDE.md"])
def test_the_override_comes_first_verbatim_and_is_not_a_source(
    open_vault: OpenVault, path: str
) -> None:
    shown = brief(open_vault(f"{SHORT_LOG}=== {path}\n{_RULES}"))
    assert next(iter(shown.sections)) == "Override (verbatim)"
    (quote,) = shown.section("Override (verbatim)").quotes
    assert quote.path == path
    assert "\n".join(quote.lines) + "\n" == _RULES
    assert [text for _, text, _ in shown.items] == ["order badges"]
    assert shown.section(LABELS).lines == []
    assert shown.warnings == []
    assert shown.fields["source_notes"] == 1


def test_the_override_of_the_branch_wins_over_that_of_the_root(open_vault: OpenVault) -> None:
    workspace = open_vault(
        f"{SHORT_LOG}=== override.md\nOf the root.\n=== cust/acme/override.md\nOf acme.\n"
        "=== cust/beta/n.md\nB.\n"
        "=== cust/acme/sub/override.md\nOf a folder below.\n"
    )
    assert brief(workspace).section("Override (verbatim)").quotes[0].lines == ("Of acme.",)
    beta = brief(workspace, "cust/beta").section("Override (verbatim)").quotes[0]
    assert (beta.path, beta.lines) == ("override.md", ("Of the root.",))


def test_a_changed_override_of_the_root_is_in_the_next_brief(open_vault: OpenVault) -> None:
    workspace = open_vault(f"{SHORT_LOG}=== override.md\nOld rule.\n")
    assert "Old rule." in printed(workspace.brief(ACME))
    (workspace.vault.root / "override.md").write_text("New rule.\n", encoding="utf-8")
    answer = printed(workspace.brief(ACME))
    assert "New rule." in answer
    assert "Old rule." not in answer


@pytest.mark.parametrize(
    "text", ["é" * 4_500 + "\n", "rule 1\n" * 1_300], ids=["letters of two bytes", "many lines"]
)
@pytest.mark.parametrize("budget", [None, 2_000, 500])
def test_an_override_over_its_cap_is_left_out_and_the_first_warning_says_both_sizes(
    open_vault: OpenVault, text: str, budget: int | None
) -> None:
    size = len(text.encode())
    shown = brief(open_vault(f"{SHORT_LOG}=== cust/acme/override.md\n{text}"), budget=budget)
    assert "Override (verbatim)" not in shown.sections
    assert text[:40] not in shown.text
    first = shown.warnings[0]
    assert "cust/acme/override.md" in first
    assert f"{size:,}" in first
    assert "9,000" in first


def test_an_override_of_exactly_the_cap_is_shown(open_vault: OpenVault) -> None:
    text = "rule 123\n" * 1_000
    shown = brief(open_vault(f"{SHORT_LOG}=== cust/acme/override.md\n{text}"))
    assert "\n".join(shown.section("Override (verbatim)").quotes[0].lines) + "\n" == text
    capped = open_vault(f"{SHORT_LOG}=== cust/acme/override.md\n{text}", override_max_bytes=8_999)
    assert "8,999" in brief(capped).warnings[0]


@pytest.mark.parametrize("budget", [500, 1_000, 1_400, 2_000])
def test_an_override_over_the_budget_is_left_out_and_the_first_warning_says_both_sizes(
    open_vault: OpenVault, budget: int
) -> None:
    text = "Never ship on a Friday, says the house.\n" * 220
    workspace = open_vault(f"{SHORT_LOG}=== cust/acme/override.md\n{text}")
    shown = brief(workspace, budget=budget)
    assert count_tokens(shown.text) <= budget
    assert "Override (verbatim)" not in shown.sections
    first = shown.warnings[0]
    assert "cust/acme/override.md" in first
    assert f"{count_tokens(text):,}" in first
    asked = re.search(r"budget=([\d,]+)", first)
    assert asked
    again = brief(workspace, budget=int(asked[1].replace(",", "")))
    assert "\n".join(again.section("Override (verbatim)").quotes[0].lines) + "\n" == text
