"""Find out whether a note says of itself that it no longer holds, and what replaces it. Pure.

A tracker says so in its front matter (`status: done`), a decision record below a heading `Status`, any note
in a line such as `Status: superseded by …` near its top. Not here: status blocks, which tell news
(`statuses`).
"""

import re

from workingset_mcp.notes.front_matter import FrontMatter
from workingset_mcp.notes.lines import without_comment
from workingset_mcp.notes.outline import LineKind, Outline

MOST_CHARACTERS = 80  # of what is kept of it
_TOP_LINES = 15
_MOST_STATUS_LINES = 3
_NOT_CURRENT = (
    r"superseded|replaced|obsoleted?|deprecated|rejected|declined|withdrawn|abandoned|outdated|retired"
    r"|ersetzt|abgelöst|abgelehnt|verworfen|veraltet|überholt|remplacé|rejeté|refusé|obsolète|abandonné|périmé"
    r"|reemplazad|sustituid|rechazad|obsolet|descartad|sostituit|superat|rifiutat|respint|substituíd|rejeitad"
    r"|vervangen|afgewezen|verouderd|vervallen|zastąpion|odrzucon|przestarzał|nieaktualn"
    r"|已废弃|已廢棄|已弃用|已取代|被取代|已拒绝|已过时|已替代|廃止|却下|置き換え|非推奨|대체됨|폐기|거부|사용 중단"
)
_FINISHED = (  # in front matter alone: a line that says so may be the newest news of a plan that runs on
    r"done|complete|closed|finished|resolved|cancel|archived?\b|wontfix|won't|erledigt|abgeschlossen|geschlossen"
    r"|terminé|fermé|hecho|terminad|cerrad|completad|fatto|chius|concluíd|fechad|feito|afgerond|gesloten|klaar"
    r"|zakończon|zamknięt|gotowe|已完成|完成|已关闭|完了|終了|완료|종료"
)
_MARKS = r"[\W_]{0,12}"  # an emoji, emphasis, a box
_SAYS_NOT_CURRENT = re.compile(rf"{_MARKS}(?:{_NOT_CURRENT})", re.IGNORECASE)
_SAYS_FINISHED = re.compile(rf"{_MARKS}(?:{_NOT_CURRENT}|{_FINISHED})", re.IGNORECASE)
_STATUS = r"(?:status|state|stand|statut|estado|stato|状态|狀態|ステータス|状態|상태)"
_HEADING = re.compile(rf"{_MARKS}{_STATUS}{_MARKS}$", re.IGNORECASE)
_LINE = re.compile(
    rf"{_MARKS}{_STATUS}[*_`|]{{0,3}}[ \t]{{0,3}}[:：|](?P<said>.{{3,200}})", re.IGNORECASE
)
_LINK = re.compile(r"\[\[?([^\]\[|]{1,80})(?:\|[^\]\[]{0,80})?\]?\](?:\([^()\n]{0,200}\))?")


def not_current(front: FrontMatter, outline: Outline) -> str:
    """What a note says of why it no longer holds, such as `superseded by ADR 12`; empty if it does not."""
    if _SAYS_FINISHED.match(front.status):
        by = f" by {front.replaced_by}" if front.replaced_by else ""
        return _short(f"{front.status}{by}")
    for said in (*_lines_on_top(outline), *_below_status(outline)):
        if _SAYS_NOT_CURRENT.match(said):
            return _short(said)
    return ""


def _lines_on_top(outline: Outline) -> list[str]:
    first = outline.front_matter_lines
    return [
        found["said"]
        for text, kind in zip(
            outline.lines[first : first + _TOP_LINES],
            outline.kinds[first : first + _TOP_LINES],
            strict=True,
        )
        if kind in (LineKind.TEXT, LineKind.TABLE) and (found := _LINE.match(text[:400]))
    ]


def _below_status(outline: Outline) -> list[str]:
    """The lines below each heading `Status` that has few: a record may list what it was."""
    said = []
    for mark in outline.marks:
        if not _HEADING.match(mark.text):
            continue
        following = outline.mark_after(mark.line)
        last = following.line - 1 if following else len(outline.lines)
        lines = [text for text in outline.lines[mark.last_line : last] if text.strip()]
        if len(lines) <= _MOST_STATUS_LINES:  # more are news
            said += [text for text in lines if text[:1].isalpha() or text[:1] in "*_[✅❌⛔🚫⚠"]
    return said


def _short(said: str) -> str:
    plain = (
        _LINK.sub(r"\1", without_comment(said)).replace("**", "").strip(" \t*_`|>~-–—:.✅❌⛔🚫")
    )
    plain = " ".join(plain.split())
    return f"{plain[: MOST_CHARACTERS - 1]}…" if len(plain) > MOST_CHARACTERS else plain
