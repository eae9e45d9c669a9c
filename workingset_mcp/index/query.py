"""Queries of an index as values: expressions over words, and the scope that limits an answer.

An engine renders an expression into its own query language; no character of a word becomes syntax.
Only `Scope` defines what a date window means.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from workingset_mcp.notes.dates import first_day, last_day

Column: TypeAlias = Literal["", "body", "title", "heads", "path", "cjk", "dt", "written"]


@dataclass(frozen=True, slots=True)
class Term:
    """A word, compared by its stem, in any column or in the given one.

    Column `cjk` contains pairs of CJK characters and other forms of words (`notes.folding`), `dt` the
    dates of a section (`date_words`). `written` is every column but those two.
    """

    word: str
    column: Column = ""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Consecutive words."""

    words: tuple[str, ...]
    column: Column = ""


@dataclass(frozen=True, slots=True)
class Prefix:
    """Words that begin with these characters."""

    word: str
    column: Column = ""


@dataclass(frozen=True, slots=True)
class And:
    """Sections that match every part; `parts` is not empty."""

    parts: tuple["Expr", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Sections that match any part; `parts` is not empty."""

    parts: tuple["Expr", ...]


Expr: TypeAlias = Term | Phrase | Prefix | And | Or


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a vault that an answer covers: branches, and a window of dates.

    `branches`: exact names; None means all. `since`, `until`: ISO dates of any precision, both ends
    included; `2026-06` is the whole of June. `undated`: only what has no date.

    The date of a note may be a month or a year (`2026`), so there are three tests:

    * `may_hold`: could the date be in the window? Search and list use this: a note of `2026` is found
      for June 2026, because leaving it out would hide it.
    * `holds_first_day`: is the first day of the date in the window? Full context uses this. Its windows
      are shards of one record: each note must be in exactly one of several adjacent windows, so that
      no shard repeats or loses a note.
    * `holds_every_day`: is the whole date in the window? `as_of` uses this: a note dated `2026` may say
      what was not known yet in June.

    Without a window, all three are true for every date and for no date. With one, no date is outside.
    """

    branches: frozenset[str] | None = None
    since: str = ""
    until: str = ""
    undated: bool = False

    @classmethod
    def of(cls, branch: str | None, since: str = "", until: str = "") -> "Scope":
        """Make the scope of one branch, or of the whole vault if `branch` is None."""
        return cls(None if branch is None else frozenset({branch}), since, until)

    @property
    def branch(self) -> str | None:
        """The only branch; None for all. Raises ValueError for any other number of branches."""
        if self.branches is None:
            return None
        (branch,) = self.branches
        return branch

    @property
    def has_window(self) -> bool:
        """Whether the scope is limited by dates."""
        return bool(self.since or self.until or self.undated)

    def anytime(self) -> "Scope":
        """Return a scope of the same branches without the window."""
        return Scope(self.branches)

    def may_hold(self, date: str) -> bool:
        """Return whether a date could be in the window."""
        return self._holds(date, not_before=last_day(date), not_after=first_day(date))

    def holds_first_day(self, date: str) -> bool:
        """Return whether the first day of a date is in the window."""
        return self._holds(date, not_before=first_day(date), not_after=first_day(date))

    def holds_every_day(self, date: str) -> bool:
        """Return whether a date is wholly in the window."""
        return self._holds(date, not_before=first_day(date), not_after=last_day(date))

    def begins_within(self, date: str) -> bool:
        """Return whether the window begins within the month or year that a date names."""
        if not self.since or not date:
            return False
        return first_day(date) < first_day(self.since) <= last_day(date)

    def _holds(self, date: str, *, not_before: str, not_after: str) -> bool:
        """Return whether one day of a date is not before the window and another is not after it."""
        if self.undated:
            return not date
        if not (self.since or self.until):
            return True
        if not date:
            return False
        if self.since and not_before < first_day(self.since):
            return False
        return not self.until or not_after <= last_day(self.until)


WHOLE_VAULT = Scope()


def any_of(parts: Iterable[Expr]) -> Expr:
    """Combine one or more expressions into one that any of them satisfies."""
    found = tuple(parts)
    return found[0] if len(found) == 1 else Or(found)
