"""What a section of a brief may use, and what it gives back. Values."""

from typing import NamedTuple

from workingset_mcp.answers.brief.materials import Materials


class Mosts(NamedTuple):
    """The most a section shows, whatever the budget up to 8,000 tokens allows."""

    open_items: int = 25
    actions: int = 6
    decisions: int = 10
    facts: int = 12
    rhythm: int = 10
    contact: int = 6
    rule: int = 20
    lead: int = 6
    standing_tokens: int = 550
    standing_tokens_beside_status: int = 300
    topics: int = 20
    topics_tokens: int = 80
    recent: int = 8
    recent_tokens: int = 100
    undated_status_tokens: int = 300
    newest_tokens: int = 620
    newest_tokens_without_status: int = 1_400
    newest_tokens_beside_long_status: int = 400

    def for_budget(self, budget_tokens: int) -> "Mosts":
        """Above 8,000 tokens everything grows in proportion."""
        if budget_tokens <= 8_000:
            return self
        return Mosts(*(most * budget_tokens // 8_000 for most in self))


class Room(NamedTuple):
    """What a section may use."""

    materials: Materials
    mosts: Mosts
    tokens: int
    shown: set[tuple[str, int]]  # (path, line) already in the brief
    used: dict[str, int]  # tokens of sections that leave room to others


class Rendered(NamedTuple):
    """A section as printed: its text (empty when it has nothing), and what it left out, as lines.

    `tokens`: of the text, where it stands below its title and is counted already.
    """

    text: str
    left_out: tuple[str, ...] = ()
    tokens: int | None = None


def mark_shown(room: Room, path: str, first: int, last: int) -> None:
    """Note that lines stand in the brief already."""
    room.shown.update((path, line) for line in range(first, min(last, first + 2_000) + 1))
