"""The linter of a vault: notes that agents read need checks, as code does.

A new rule is one entry in `RULES` and one function. Not here: output, exit codes (`commands/upkeep`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from workingset_mcp.cli.check import briefs, content, links, overrides, questions
from workingset_mcp.cli.check.reading import Finding, Reading, read_branches
from workingset_mcp.workspace.facade import Workspace


class Rule(NamedTuple):
    """A rule: its code, its severity, the reason for it, and the function that checks a branch."""

    code: str
    severity: str  # error or warning
    why: str
    look: Callable[[Reading], Iterable[Finding]]


def _error(code: str, why: str, look: Callable[[Reading], Iterable[Finding]]) -> Rule:
    return Rule(code, "error", why, look)


def _warning(code: str, why: str, look: Callable[[Reading], Iterable[Finding]]) -> Rule:
    return Rule(code, "warning", why, look)


RULES: tuple[Rule, ...] = (
    _error("WS101", "an override over its cap is never injected", overrides.over_cap),
    _error("WS102", "a written brief that differs from its notes misleads", briefs.stale_brief),
    _warning("WS103", "the work went on and the override may be out of date", overrides.old),
    _warning("WS201", "an override states what is true now, not history", overrides.historical),
    _warning("WS202", "a current blocker belongs in the override", overrides.missing_urgent),
    _warning("WS301", "similar figures are mistaken for one another", content.unlabelled_totals),
    _warning("WS302", "a status without a clear date cannot be the latest", content.status_dates),
    _warning("WS303", "an item cannot be open here and done there", content.open_and_done),
    _warning("WS401", "a link must lead to an existing note", links.dead),
    _warning("WS402", "text that was not read is missing from answers", content.unread),
    _error("WS501", "the vault must answer its questions", questions.unanswered),
)


def check_vault(workspace: Workspace, step: Callable[[], None] = lambda: None) -> Iterator[Finding]:
    """Yield every finding in the vault, branch by branch, in the order of the rules."""
    for reading in read_branches(workspace):
        for rule in RULES:
            for finding in rule.look(reading):
                yield finding._replace(rule=rule.code, severity=rule.severity)
        step()


__all__ = ["RULES", "Finding", "Rule", "check_vault"]
