"""Score what a line is worth by the kind of its note, and by the headings above it. Pure.

What a decision record decides, what a post-mortem leaves to do, what a tracker entry says of its state: each
kind of note has its own places where it says what matters. Not here: scores of all kinds (`telling`).
"""

import re
from collections.abc import Sequence

from workingset_mcp.notes.kinds import (
    DECISION_HEADING,
    FIELD_LINE,
    LIVING,
    POST_MORTEM,
    RECORD,
    SPEAKER,
    TRACKER,
    TRANSCRIPT,
)
from workingset_mcp.notes.words import STRONG_RULE, plainly

_I = re.IGNORECASE
_STATUS = re.compile(r"^\W*(?:status|statut|estado|stato|stand|状态|状態|상태)\b", _I)
_ABOUT_RECORD = re.compile(
    r"^\W*(?:context|background|problem|references?|links?|related|see also|considered|options|alternatives"
    r"|kontext|hintergrund|contexte|contexto|contesto|背景|参考)",
    _I,
)
_TO_DO = re.compile(
    r"^\W*(?:\d+\W+)?(?:action|follow|next|to ?do|improvement|prevent|remediation|open|pending|remaining"
    r"|recommend|known (?:issues|gaps)|blocked|blockers?|outstanding|maßnahmen|nächste|actions|acciones|azioni"
    r"|再発防止|改善|待办|下一步|후속)",
    _I,
)
_LESSONS = re.compile(
    r"^\W*(?:lessons?|learn|what went wrong|erkenntnisse|leçons|教训|教訓|교훈)", _I
)
_TIMELINE = re.compile(
    r"^\W*(?:timeline|chronolog|\d{1,2}[:.]\d\d|\d{4}-\d\d-\d\d|时间线|経緯|타임라인)", _I
)
_PAST = re.compile(
    r"^\W*(?:previous|archived?|history|historical|completed|done|finished|past|old(?:er)?\b|changelog|resolved"
    r"|frühere|erledigt|précédent|anteriores|precedenti|以前|历史|完了|이전)",
    _I,
)
_CURRENT = re.compile(
    r"^\W*(?:current|now\b|active|next|open|pending|in progress|ongoing|status|focus|priorit|upcoming|remaining"
    r"|aktuell|offen|en cours|en curso|in corso|当前|現在|현재)",
    _I,
)
_WARNING = re.compile(
    r"⚠|🚨|❗|‼|\b(?:WARNING|IMPORTANT|CRITICAL|CAUTION|NEVER|ALWAYS|DO NOT|MUST NOT|BLOCKED|NOT)\b"
)
_CHANGE = re.compile(
    r"\b(?:no longer|previously|instead of|deprecated|moved (?:from|to)|migrated|replaced|not yet|still|except"
    r"|unless|nicht mehr|ne .{1,20} plus|ya no|non .{1,12} più|不再|已改为|もう)\b",
    _I,
)
_TICKED = re.compile(r"^[\s>*+-]*(?:✅|✔|☑|\[[xX]\])|\b(?:COMPLETE|DONE|100 ?%)\b")
_OPEN_BOX = re.compile(r"^[\s>]{0,20}(?:[*+-][ \t]{0,4})?\[ \]")
_RESOLVED = re.compile(r"^[\s>*-]*(?:\*[^*]|`|_[^_]|resol)", _I)


def worth_in_kind(kind: str, headings: Sequence[str], text: str) -> float:
    """Return what a line adds to its score, by the kind of its note and the path of its headings."""
    score = float(min(2, len(STRONG_RULE.findall(plainly(text)))))
    score += 1.5 * bool(_WARNING.search(text)) + bool(_CHANGE.search(text))
    if _TICKED.search(text):
        score -= 3
    own = headings[-1] if headings else ""
    if any(_PAST.match(heading) for heading in headings):
        score -= 4
    if kind == RECORD:
        score += _worth_in_record(headings, own)
    elif kind == POST_MORTEM:
        score += 5 * bool(_TO_DO.match(own)) + 1.5 * bool(_LESSONS.match(own))
        score -= 4 * bool(_TIMELINE.match(own))
    elif kind == TRACKER:
        score += 4 * bool(FIELD_LINE.match(text)) + 2 * bool(_TO_DO.match(own))
        score -= 2 * bool(_OPEN_BOX.match(text))
    elif kind == LIVING:
        score += 2 * any(_CURRENT.match(heading) for heading in headings)
    elif kind == TRANSCRIPT:
        score += -1.5 if SPEAKER.match(text) else 1 + 2 * bool(_RESOLVED.match(text))
    return score


def _worth_in_record(headings: Sequence[str], own: str) -> float:
    if any(DECISION_HEADING.match(heading) for heading in headings):
        return 4.0
    if _STATUS.match(own):
        return 1.0
    return -2.0 if any(_ABOUT_RECORD.match(heading) for heading in headings) else 0.0
