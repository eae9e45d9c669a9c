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
            settings.blocker_headings,
        )
    )


# A number or an emoji before a word that names something: `7. Action items`, `✅ Decision: …`.
_NUMBER = r"(?:(?:\d{1,3}(?:\.\d{1,3}){0,3}[.):]?|[IVX]{1,4}[.)]|[A-Z][.)])[ \t]+)?"
_EMOJI = r"(?:[^\w\s!-/:-@\[-`{-~“”„«»‘’–—…•◦‣▪●☐-☒]{1,8}[ \t]{0,3})?"
_OTHER_WORD = r"[^\W\d_](?:[\w'’-]{0,24})[ \t]{1,3}"
# What makes a heading say the opposite, or speak of the thing and not list it.
_NOT_OPEN = (
    r"completed?|closed|done|finished|past|previous|prior|old(?:er)?|last|former|resolved|archived?|cancel\w*"
    r"|erledigte?n?|abgeschlossene?|frühere|termin\w+|passées?|hech[ao]s?|completad\w+|anteriores|completat\w+"
    r"|precedenti|concluíd\w+|voltooide?|vorige|zakończone|poprzednie"
)
_ABOUT = (
    r"the|no|how|what|why|when|who|where|about|using|writing|creating|making|example|sample|template"
    r"|sans|ohne|sin|senza"
)
# Behind words such as `Follow-up` and `Actions`: what was, or what is talked about.
_NOT_TO_DO = (
    r"[^.]{0,12}\b(?:(?:from|since) (?:the )?(?:last|previous|prior)|discussions?|considerations?"
    r"|taken|performed)\b"
)
_STILL_TO_DECIDE = (
    r"open|pending|upcoming|unresolved|future|proposed|offene|ausstehende|pendientes|ouvertes"
)


class Patterns:
    """Patterns built from the words in the settings."""

    def __init__(
        self,
        status_words: tuple[str, ...],
        labels: tuple[tuple[str, tuple[str, ...]], ...],
        action_headings: tuple[str, ...],
        decision_headings: tuple[str, ...],
        blocker_headings: tuple[str, ...],
    ) -> None:
        self.kind_of_label = {plain(word): kind for kind, words in labels for word in words}
        keys = any_of([word for _, words in labels for word in words])
        self.label = re.compile(
            rf"\n[ \t>]*(?:{LIST_MARK}[ \t]+)?{_EMOJI}[*_`]{{0,3}}(?:"
            rf"\[(?P<boxed>{keys})\][*_]{{0,3}}(?:[:：](?![ \t]*(?:https?:|/|<)))?[ \t]+"
            rf"|(?P<key>{keys})(?:[ \t]?[-#]?[ \t]?\d{{1,6}})?[*_`]{{0,3}}(?:[ \t]*\([^()\n]{{1,60}}\))?"
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
        self._headings = {
            "action": _heading(action_headings, _NOT_OPEN, rf"(?!{_NOT_TO_DO})[^.]{{0,40}}"),
            "decision": _heading(
                decision_headings,
                _STILL_TO_DECIDE,
                r"(?![ -](?:making|makers?|process|guide|template|records?|criteria|matrix|framework|tree"
                r"|needed|required|pending|to be))[^.]{0,30}",
            ),
            "blocker": _heading(
                blocker_headings,
                _NOT_OPEN,
                r"(?:\W{0,9}|[ \t]*(?:[&/(,:]|and|und|et|y|e)[^.]{0,24})",
            ),
        }
        phrases = (*action_headings, *decision_headings, *blocker_headings)
        self._first_words = {word for phrase in phrases for word in _words_of(phrase)[:1] or [""]}
        self.kind_under = lru_cache(maxsize=4096)(self._kind_under)

    def _kind_under(self, heading: str) -> str:
        """What a heading makes of the lines below it: an action, a decision, a blocker, or nothing."""
        if "" not in self._first_words and self._first_words.isdisjoint(_words_of(heading)):
            return ""  # a look that costs a fifth of the patterns
        text = without_link_targets(heading)[:200]
        return next((kind for kind, pattern in self._headings.items() if pattern.match(text)), "")


_WORD = re.compile(r"[^\W\d_]+")
# Words that stand alone as a heading, and before which few others leave them what they are: the others make
# them a thing of their own (`GitHub Actions`, `Conflict resolution`).
_ALONE = re.compile(
    r"^(?:actions?|tasks?|todos?|agreed|resolutions?|conclusions?|consensus|risks?|acciones|azioni|ações)$"
)
_PLAIN_BEFORE = (
    r"(?:open|agreed|new|key|main|next|our|my|team|outstanding|remaining|pending|required|recommended|immediate"
    r"|urgent|current|upcoming|further|final|summary of|list of|offene|neue|weitere|nuevas|nuove|novas|nouvelles)[ \t]+"
)


def _words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _heading(words: tuple[str, ...], never_before: str, behind: str) -> re.Pattern[str]:
    """A heading of these words, with a number or an emoji and at most two other words before them."""
    never = rf"(?!(?:{never_before}|{_ABOUT})\b)"
    alone = any_of([word for word in words if _ALONE.match(plain(word))])
    others = any_of([word for word in words if not _ALONE.match(plain(word))])
    return re.compile(
        rf"^\W{{0,12}}{_NUMBER}\W{{0,12}}(?:{never}{_PLAIN_BEFORE}(?:{alone})|(?:{alone})"
        rf"|(?:{never}{_OTHER_WORD}){{0,2}}(?:{others}))(?!\w){behind}$",
        re.IGNORECASE,
    )
