"""The linter of a vault: a context file is code, so it has rules and a gate.

`RULES` is the list; a new rule is one entry and one function. Not here: output and exit codes (`cli`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from workingset_mcp.check import content, links, overrides, questions
from workingset_mcp.check.reading import Finding, Reading, read_branches
from workingset_mcp.workspace import Workspace


class Rule(NamedTuple):
    """A rule: its code, whether it fails the gate, why it is one, and how it looks at a branch."""

    code: str
    severity: str  # error, warning
    why: str
    look: Callable[[Reading], Iterable[Finding]]


RULES: tuple[Rule, ...] = (
    Rule("WS101", "error", "an override over its cap is injected nowhere", overrides.over_cap),
    Rule("WS102", "error", "a written brief that differs from its notes misleads", overrides.stale_brief),
    Rule("WS103", "warning", "an override that nobody touched while work went on", overrides.old),
    Rule("WS201", "warning", "an override holds what is true now, not what was", overrides.historical),
    Rule("WS202", "warning", "what blocks now belongs into what is always read", overrides.missing_urgent),
    Rule("WS301", "warning", "numbers that look like one another's answer", content.unlabelled_totals),
    Rule("WS302", "warning", "a status without a clear date cannot be the latest", content.status_dates),
    Rule("WS303", "warning", "an item cannot be open here and done there", content.open_and_done),
    Rule("WS401", "warning", "a link that leads nowhere", links.dead),
    Rule("WS402", "warning", "a note that could not be read whole", content.unread),
    Rule("WS501", "error", "a question that the vault must answer", questions.unanswered),
)  # fmt: skip


def check_vault(workspace: Workspace, step: Callable[[], None] = lambda: None) -> Iterator[Finding]:
    """Every finding in the vault, branch by branch, in the order of the rules."""
    for reading in read_branches(workspace):
        for rule in RULES:
            for finding in rule.look(reading):
                yield finding._replace(code=rule.code, severity=rule.severity)
        step()


__all__ = ["RULES", "Finding", "Rule", "check_vault"]
