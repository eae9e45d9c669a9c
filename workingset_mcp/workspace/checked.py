"""Compose an answer from one snapshot, and check its scope against the disk.

If something differs, it is refreshed and the answer is composed again. If the vault keeps changing,
the answer says so after three rounds. Not here: what an answer says (`answers`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from workingset_mcp.answers.answer import (
    Answer,
    Limits,
    checked_budget,
    fit_answer,
    put_together,
    shown_warnings,
)
from workingset_mcp.index import View
from workingset_mcp.vault.folder import LeftOut
from workingset_mcp.workspace.indexed import IndexedVault

ROUNDS = 3
SMALL_VAULT_FILES = 1_000  # takes about 5 ms to walk: every search checks such a vault completely
HEAD_TOKENS = 45
_TIGHT_ROOM_TOKENS = 1_500

Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an answer may cost: the effective budget, a warning if it was lowered, the client's limits."""

    budget: int
    lowered: str
    limits: Limits

    @classmethod
    def of(cls, requested: int | None, usual: int, least: int, limits: Limits) -> "Allowance":
        """Make the allowance of a call. Raises ArgumentError for a budget below `least`."""
        return cls(*checked_budget(requested, usual, least, limits.most_tokens), limits)

    @property
    def max_bytes(self) -> int | None:
        """The bytes that the warning leaves for the answer."""
        if self.limits.max_bytes is None or not self.lowered:
            return self.limits.max_bytes
        return self.limits.max_bytes - len(f"warning: {self.lowered}".encode())


def checked_answer(
    vault: IndexedVault,
    scope: str | None,
    compose: Callable[[View, int], Answer[Content]],
    allowance: Allowance,
    *,
    quoted_only: bool = False,
) -> Answer[Content]:
    """Compose an answer, and return it when disk and snapshot agree over its scope.

    `scope`: a branch, or None for the whole vault. `quoted_only`: in a large vault that has been walked
    once, check only the notes that the answer quotes, if it found something.
    """
    freshness = vault.freshness
    freshness.ensure_there()
    finished = scope is not None or freshness.wait_until_built()
    quoted_only &= freshness.walked_files > SMALL_VAULT_FILES
    state = ""
    for attempt in range(ROUNDS + 1):
        checks_all = finished and not state and not quoted_only
        shown = "index current" if checks_all and freshness.state.is_held else state
        missing = freshness.missing(scope)
        with vault.index.snapshot() as snapshot:

            def composed(
                room: int,
                snapshot: View = snapshot,
                state: str = shown,
                missing: tuple[LeftOut, ...] = missing,
            ) -> Answer[Content]:
                made = compose(snapshot, room - HEAD_TOKENS)
                return _with_header(vault, _naming(made, missing), allowance, room, state)

            answer = _fitted(vault, composed, allowance)
            quoted = answer.notes if quoted_only and answer.found else None
            if not finished or state:
                return answer
            known = freshness.known_in(snapshot, scope, quoted)
        if freshness.is_current(scope, quoted, known):
            if freshness.missing(scope) == missing:
                return answer
            continue  # it names what could not be read
        if quoted is None:
            finished = vault.refresh_scope(scope)
        else:
            freshness.refresh_paths(quoted)
        if freshness.state.is_held:
            state = str(freshness.state)
        elif not finished and freshness.state.name != "building":
            state = "index behind: changes are still being read"
        elif attempt == ROUNDS - 1:
            state = "index behind: the vault keeps changing"
    return answer


def fitted_answer(
    vault: IndexedVault, compose: Callable[[int], Answer[Content]], allowance: Allowance
) -> Answer[Content]:
    """Compose the fullest answer within its allowance, unchecked because it was read from the disk."""

    def composed(room: int) -> Answer[Content]:
        return _with_header(vault, compose(room - HEAD_TOKENS), allowance, room, "")

    return _fitted(vault, composed, allowance)


def _naming(answer: Answer[Content], missing: Sequence[LeftOut]) -> Answer[Content]:
    """The answer with a warning for each part of its scope that could not be read."""
    unread = [f"{left.name} {left.said}" for left in missing if left.reason.is_unread]
    more = [line for line in unread if line not in answer.warnings]
    return replace(answer, warnings=(*answer.warnings, *more)) if more else answer


def _with_header(
    vault: IndexedVault, answer: Answer[Content], allowance: Allowance, room: int, state: str
) -> Answer[Content]:
    warnings = shown_warnings(answer.warnings, tight=room < _TIGHT_ROOM_TOKENS)
    if allowance.lowered:
        warnings.insert(0, allowance.lowered)
    return put_together(
        replace(answer, warnings=tuple(warnings)),
        budget=allowance.budget,
        state=state or str(vault.freshness.state),
        margin=vault.settings.token_margin,
    )


def _fitted(
    vault: IndexedVault, compose: Callable[[int], Answer[Content]], allowance: Allowance
) -> Answer[Content]:
    return fit_answer(
        compose,
        budget=allowance.budget,
        max_bytes=allowance.limits.max_bytes,
        margin=vault.settings.token_margin,
    )
