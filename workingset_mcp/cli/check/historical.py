"""Find lines about the past: ticked boxes, old dates, words such as "completed" and "no longer".

Words are judged in their whole sentence, across wrapped lines and with the line above a list. Plans,
conditions and quotations do not count. Not here: overrides (`overrides`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from workingset_mcp.notes.dates import find_dates
from workingset_mcp.notes.lines import LIST_MARK
from workingset_mcp.notes.outline import LineKind, Outline

_DONE_BOX = re.compile(r"^[ \t>]*(?:[-*+]|\d+[.)])[ \t]+\[[xX]\]")
# Quotations, addresses, code, and links of a table of contents: their words do not count.
_NAMES = re.compile(
    r"\"[^\"]*\"|“[^”]*”|„[^“]*“|«[^»]*»|https?://\S+|`[^`]*`"
    r"|!\[[^\]]*\]\([^)]*\)|\[[^\]]*\]\(#[^)]*\)|(?<=\])\([^)]*\)"
)
_MARK = re.compile(rf"^[ \t>]*(?:{LIST_MARK}[ \t]+|#{{1,6}}[ \t]+)?")
_STARTS_ANEW = re.compile(rf"^[ \t]*(?:{LIST_MARK}[ \t]|[#>|]|\*\*|$)")
_INSIDE_LIST = re.compile(rf"^[ \t]+\S|^{LIST_MARK}[ \t]")
# A date after such words is a start, not history; dates in examples (`_EXAMPLE`) do not count either.
_SINCE = re.compile(
    r"\b(?:since|start(?:s|ed|ing)?|begin(?:s|ning)?|began|from|effective|as of|updated|reviewed"
    r"|created|creation date|established|enacted|founded|gegründet|seit|ab|depuis|desde)"
    r"(?: on| in| from| dem)?\W*(?:\w+day\W+)?$",
    re.IGNORECASE,
)
_ONWARDS = re.compile(r"\W*(?:onwards?\b|开始|起|以来|から|以降|부터)")
_EXAMPLE = re.compile(
    r"YYYY|\\d|ISO.?8601|\be\.g\.|\b(?:example|instance|z\. ?B\.|beispiel\w*|exemple|ejemplo|esempio|exemplo"
    r"|bijvoorbeeld)\b|例如|例えば",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[[^\[\]]*\]\([^)]*\)")
_BE = r"is|are|was|were|been|ist|sind|wurden?|est|sont|está|están"
_HISTORICAL = re.compile(
    rf"(?<=[\w)*] )(?:{_BE}) (?:now |already )?(?:completed|resolved|erledigt|abgeschlossen|terminée?s?"
    r"|resuelt[oa]s?)(?=[^\w,]*$|[.;!])|^[^\w(]*completed\b(?=\W*$|\W*:(?!\W*\d)| (?:the|a|all)\b)"
    r"|[:(–—-] ?(?:completed|resolved)\)?\W*$"
    r"|\b(?:was|were) (?:done|closed|fixed|decided|moved|agreed|approved|signed|delivered)\b"
    r"|\bused to be\b|\bno longer\b(?! than)|(?:^[^\w(]*|[.;] )(?:formerly|previously)\b(?! known| called)"
    r"|\bdeferred\b.{0,60}(?<!for )\bnow\b|\bnicht mehr\b|\bn'est plus\b",
    re.IGNORECASE,
)
# Before such words in their sentence: the sentence is a plan or a condition, not history.
_STILL_OPEN = re.compile(
    r"\b(?:when|whenever|until|once|if|unless|after|before|whether|while|given|not|never|often|usually"
    r"|sometimes|should|must|can|could|may|might|will|would|who|which|that|those|where|whereby|than"
    r"|case|each|every|any|how|what|make|maybe|perhaps|possible|sure|ensur\w+|validat\w+|wenn|sobald|bis"
    r"|falls|muss|soll|kann|wird|damit|vielleicht|möglich|quand|cuando|hasta)\b"
    r"|\b(?:to|then|you(?:\W{1,2}re| are)?)\W*$",
    re.IGNORECASE,
)
_SIGNS = " *_()[]-–—:#<>.;|"
_SENTENCE_END = re.compile(r"(?<=[.;!:])\s|\?(?=\W*\s)")
# After such words: likewise.
_ON_CONDITION = re.compile(r"\b(?:if|unless|whenever|falls)\b", re.IGNORECASE)
# In a line above a list that ends in a colon: the list items are conditions, not history.
_LISTS_CONDITIONS = re.compile(
    r"\b(?:if|when|unless|once|until|before|true|criteria|conditions?|reasons?|cases?|examples?"
    r"|ensur\w+|sure|should|wenn|falls|bedingungen|gründe)\b",
    re.IGNORECASE,
)


def historical_lines(outline: Outline, limit: str) -> Iterator[tuple[int, str]]:
    """Yield lines about the past with the reason; a date before `limit` (ISO) is old."""
    for lead, lines in _statements(outline):
        worded = _past_in_words(lead, lines)
        for number, line in lines:
            reason = _box_or_date(line, limit) or worded.get(number)
            if reason:
                yield number, reason


def _statements(outline: Outline) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield lines that belong together (a paragraph, a list item), each with the line above its list."""
    lead, gathered = "", list[tuple[int, str]]()
    for number, line in [*enumerate(outline.lines, start=1), (0, "")]:
        counts = number and outline.kind(number) in (
            LineKind.TEXT,
            LineKind.HEADING,
            LineKind.TABLE,
        )
        if not counts or _STARTS_ANEW.match(line):
            if gathered:
                yield lead, gathered
                last = gathered[-1][1].rstrip("*_ ")
                lead = last if last.endswith(":") else lead
            gathered = []
        if counts and line.strip():
            if not gathered and not _INSIDE_LIST.match(line):
                lead = ""
            gathered.append((number, line))


def _box_or_date(line: str, limit: str) -> str:
    if _DONE_BOX.match(line):
        return "a ticked box"
    if _EXAMPLE.search(line):
        return ""
    bare = _NAMES.sub(" ", _LINK.sub(" ", line))
    dates = [
        date.value
        for date in find_dates(bare)
        if len(date.value) == 10
        and not _SINCE.search(bare[: date.start])
        and not _ONWARDS.match(bare, date.end)
    ]
    return "a date over six weeks old" if dates and max(dates) < limit else ""


def _past_in_words(lead: str, lines: Sequence[tuple[int, str]]) -> dict[int, str]:
    """Find the lines whose words are about the past; return line number -> the first such words."""
    reasons: dict[int, str] = {}
    if _LISTS_CONDITIONS.search(lead):
        return reasons
    whole, starts = "", list[int]()
    for _, line in lines:
        starts.append(len(whole))
        whole += _NAMES.sub(" ", _MARK.sub("", line)).strip() + " "
    for found in _HISTORICAL.finditer(whole.rstrip()):
        first = found.start() + len(found[0]) - len(found[0].lstrip(_SIGNS))
        before = _SENTENCE_END.split(whole[:first])[-1]
        behind = _SENTENCE_END.split(whole[found.end() :], maxsplit=1)[0]
        asks = whole[found.end() + len(behind) :].startswith("?")
        if not (_STILL_OPEN.search(before) or _ON_CONDITION.search(behind) or asks):
            number, _ = lines[bisect_right(starts, first) - 1]
            reasons.setdefault(number, f"the words {found[0].strip(_SIGNS)!r}")
    return reasons
