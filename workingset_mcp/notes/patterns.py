"""Patterns built from the words in the settings, compiled once for each choice of words."""

import re
from functools import lru_cache

from workingset_mcp.notes.lines import LIST_MARK, any_of, plain, without_link_targets
from workingset_mcp.settings import Settings


@lru_cache(maxsize=8)
def patterns_of(settings_key: tuple[object, ...]) -> "Patterns":
    """The patterns that the settings shape, compiled once."""
    return Patterns(*settings_key)  # type: ignore[arg-type]  # the key is built by patterns_for


def patterns_for(settings: Settings) -> "Patterns":
    """The patterns for these settings."""
    return patterns_of(
        (
            settings.status_words,
            tuple(settings.labels.items()),
            settings.action_headings,
            settings.decision_headings,
        )
    )


class Patterns:
    """Patterns built from the words in the settings."""

    def __init__(
        self,
        status_words: tuple[str, ...],
        labels: tuple[tuple[str, tuple[str, ...]], ...],
        action_headings: tuple[str, ...],
        decision_headings: tuple[str, ...],
    ) -> None:
        self.kind_of_label = {plain(word): kind for kind, words in labels for word in words}
        keys = any_of([word for _, words in labels for word in words])
        self.label = re.compile(
            rf"\n[ \t>]*(?:{LIST_MARK}[ \t]+)?[*_`]{{0,3}}(?:"
            rf"\[(?P<boxed>{keys})\][*_]{{0,3}}[:：]?[ \t]+"
            rf"|(?P<key>{keys})[*_`]{{0,3}}(?:[ \t]*\([^()\n]{{1,60}}\))?"
            r"(?:[*_`]{0,3}[ \t]{0,9}[:：][*_`]{0,3}|[*_`]{0,3}[ \t]{1,9}[-–—][ \t]+)"
            r")(?P<text>[^\n]*)",
            re.IGNORECASE,
        )
        self.status = re.compile(
            rf"^(?:\d\ufe0f?\u20e3|[\W_ℹ])*"
            r"(?:(?:current|latest|weekly|monthly|aktueller|derzeitiger)[ \t]+)?"
            rf"(?:{any_of(status_words)})(?P<rest>(?![^\W\d_])(?![-'’]\w).*)$",
            re.IGNORECASE | re.DOTALL,
        )
        self._action_heading = re.compile(
            rf"^\W*(?:{any_of(action_headings)})(?!\w)[^.]{{0,40}}$", re.IGNORECASE
        )
        self._decision_heading = re.compile(
            rf"^\W*(?:{any_of(decision_headings)})(?!\w)(?![ -](?:making|process|guide|template))"
            r".{0,20}$",
            re.IGNORECASE,
        )
        self.kind_under = lru_cache(maxsize=4096)(self._kind_under)

    def _kind_under(self, heading: str) -> str:
        """What a heading makes of the lines below it: an action, a decision, or nothing."""
        text = without_link_targets(heading)
        if self._action_heading.match(text):
            return "action"
        return "decision" if self._decision_heading.match(text) else ""
