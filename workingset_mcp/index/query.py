"""What is asked of an index, as values: expressions over words, and the scope that limits an answer.

An engine renders an expression into its own query language: no character in it is ever syntax. The
meaning of a date window is decided here, in `Scope`, and nowhere else.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from workingset_mcp.notes.dates import first_day, last_day

Column: TypeAlias = Literal["", "body", "title", "heads", "path", "cjk", "dt", "written"]


@dataclass(frozen=True, slots=True)
class Term:
    """A word, compared by its stem; in any column, or in the one that is named.

    `cjk` holds pairs of CJK characters and other forms of words (`notes.folding`), `dt` the dates of a
    section (`date_words`). `written` is every column but those two.
    """

    word: str
    column: Column = ""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that follow one another."""

    words: tuple[str, ...]
    column: Column = ""


@dataclass(frozen=True, slots=True)
class Prefix:
    """Words that begin with these characters."""

    word: str
    column: Column = ""


@dataclass(frozen=True, slots=True)
class And:
    """Sections that match every part; there is at least one."""

    parts: tuple["Expr", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Sections that match any part; there is at least one."""

    parts: tuple["Expr", ...]


Expr: TypeAlias = Term | Phrase | Prefix | And | Or


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a vault that an answer covers: branches, and a window of dates.

    `branches`: exact names; None means all. `since`, `until`: ISO dates of any precision, both ends
    included, `2026-06` being the whole of June. `undated`: only what carries no date.

    The date of a note may be a month or a year (`2026`), so there are three questions:

    * `may_hold`: could the date lie in the window? Search and list ask this: a note of `2026` is
      found for June 2026, because leaving it out would hide it.
    * `holds_first_day`: does the first day of the date lie in the window? Full context asks this. Its
      windows are pages of one record: each note must be in exactly one of the windows that lie side
      by side, so that the shards of a plan neither repeat nor lose a note.
    * `holds_every_day`: does the date lie wholly in the window? A look at a past day asks this: what is
      dated `2026` may say what was not known yet in June.

    Without a window, each holds for every date and for none. With one, what carries no date is outside.
    """

    branches: frozenset[str] | None = None
    since: str = ""
    until: str = ""
    undated: bool = False

    @classmethod
    def of(cls, branch: str | None, since: str = "", until: str = "") -> "Scope":
        """The scope of one branch, or of the vault where none is named."""
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
        """Whether dates narrow it."""
        return bool(self.since or self.until or self.undated)

    def anytime(self) -> "Scope":
        """The same branches without the window."""
        return Scope(self.branches)

    def may_hold(self, date: str) -> bool:
        """Whether a date could lie in the window."""
        return self._holds(date, not_before=last_day(date), not_after=first_day(date))

    def holds_first_day(self, date: str) -> bool:
        """Whether the first day of a date lies in the window."""
        return self._holds(date, not_before=first_day(date), not_after=first_day(date))

    def holds_every_day(self, date: str) -> bool:
        """Whether a date lies wholly in the window."""
        return self._holds(date, not_before=first_day(date), not_after=last_day(date))

    def begins_within(self, date: str) -> bool:
        """Whether the window begins inside the month or year that a date names."""
        if not self.since or not date:
            return False
        return first_day(date) < first_day(self.since) <= last_day(date)

    def _holds(self, date: str, *, not_before: str, not_after: str) -> bool:
        """Whether one day of a date is not before the window, and another one not after it."""
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
    """One expression for sections that match any of these; there is at least one."""
    found = tuple(parts)
    return found[0] if len(found) == 1 else Or(found)
