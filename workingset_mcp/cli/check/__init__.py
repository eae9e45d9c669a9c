"""The linter of a vault: a context file is code, so it has rules and a gate.

`RULES` is the list; a new rule is one entry and one function. Not here: output, exit codes (`cli`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from workingset_mcp.cli.check import briefs, content, links, overrides, questions
from workingset_mcp.cli.check.reading import Finding, Reading, read_branches
from workingset_mcp.workspace.facade import Workspace


class Rule(NamedTuple):
    """A rule: its code, whether it fails the gate, why it is one, and how it looks at a branch."""

    code: str
    severity: str  # error, warning
    why: str
    look: Callable[[Reading], Iterable[Finding]]


def _error(code: str, why: str, look: Callable[[Reading], Iterable[Finding]]) -> Rule:
    return Rule(code, "error", why, look)


def _warning(code: str, why: str, look: Callable[[Reading], Iterable[Finding]]) -> Rule:
    return Rule(code, "warning", why, look)


RULES: tuple[Rule, ...] = (
    _error("WS101", "an override over its cap is injected nowhere", overrides.over_cap),
    _error("WS102", "a written brief that differs from its notes misleads", briefs.stale_brief),
    _warning("WS103", "an override that nobody touched while work went on", overrides.old),
    _warning("WS201", "an override holds what is true now, not what was", overrides.historical),
    _warning("WS202", "what blocks now belongs into what is always read", overrides.missing_urgent),
    _warning("WS301", "numbers that look like one another's answer", content.unlabelled_totals),
    _warning("WS302", "a status without a clear date cannot be the latest", content.status_dates),
    _warning("WS303", "an item cannot be open here and done there", content.open_and_done),
    _warning("WS401", "a link that leads nowhere", links.dead),
    _warning("WS402", "a note that could not be read whole", content.unread),
    _error("WS501", "a question that the vault must answer", questions.unanswered),
)


def check_vault(workspace: Workspace, step: Callable[[], None] = lambda: None) -> Iterator[Finding]:
    """Every finding in the vault, branch by branch, in the order of the rules."""
    for reading in read_branches(workspace):
        for rule in RULES:
            for finding in rule.look(reading):
                yield finding._replace(rule=rule.code, severity=rule.severity)
        step()


__all__ = ["RULES", "Finding", "Rule", "check_vault"]
