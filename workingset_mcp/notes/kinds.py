"""Find out what kind of note a note is, by its name, its folders, its headings and its lines. Pure.

`NOTE_KINDS` is the ordered list: the first kind with a sign wins, and the sign is told to people. Not
here: whether a note still holds (`superseded`), what its lines say (`items`, `statuses`, `standing`).
"""

import re
from collections import Counter
from collections.abc import Callable, Collection
from functools import cached_property
from typing import NamedTuple

from workingset_mcp.notes.front_matter import FrontMatter
from workingset_mcp.notes.outline import LineKind, Outline
from workingset_mcp.notes.words import ATTENDANCE, LIVING_NAME, TEMPLATE

_LEAST_SPOKEN = 20  # lines
_SPOKEN_SHARE = 0.3  # of the lines of text
_MOST_SPOKEN_LINES = 400  # looked through
_LEAST_TURNS = 3  # of a speaker, on average
_LEAST_DAYS = 3  # dated stretches of a log
_TOP_LINES = 25

_I = re.IGNORECASE
_ARCHIVE_FOLDER = re.compile(
    r"^[\W_\d]*(?:archived?|archives|attic|old|deprecated|obsolete|legacy|trash|archiv|alt|archivo|arquivo"
    r"|archivio|archief|archiwum|归档|存档|過去|アーカイブ|보관)[\W_]*$",
    _I,
)
_LIVING_HEADING = re.compile(
    r"^\W*(?:current (?:status|state|focus|work|priorities|sprint)|(?:project )?status|where we (?:are|stand)"
    r"|now|what's next|aktueller stand|stand|état actuel|estado actual|stato attuale|estado atual|huidige status"
    r"|当前状态|現在の状況|현재 상태)\b",
    _I,
)
_RECORD_FOLDER = re.compile(
    r"^(?:adrs?|decisions?|decision[ _-]records?|architecture[ _-]decision[ _-]records?|rfcs?|proposals?"
    r"|entscheidungen|décisions|decisiones|decisioni|decisões|besluiten|decyzje|决策|決定)$",
    _I,
)
_RECORD_NAME = re.compile(r"^(?:(?:adr|rfc|dr|madr)[ _-]?\d+|\d{3,5}[ _-]\D)", _I)
_RECORD_HEADINGS = re.compile(
    r"^\W*(?:status|context(?: and problem statement)?|decision(?: outcome| drivers)?|consequences|alternatives"
    r"(?: considered)?|considered options|rationale|kontext|entscheidung|folgen|konsequenzen|contexte|décision"
    r"|conséquences|contexto|decisión|consecuencias|decisão|consequências|contesto|decisione|conseguenze|gevolgen"
    r"|besluit|背景|决定|決定|后果|影響|결정|배경)\W*$",
    _I,
)
DECISION_HEADING = re.compile(
    r"^\W*(?:decision(?: outcome)?|entscheidung|décision|decisión|decisão|decisione|besluit|decyzja|决定|決定"
    r"|결정)\W*$",
    _I,
)
_INCIDENT_NAME = re.compile(
    r"(?:^|[\W_])(?:post[ _-]?mortems?|incidents?(?:[ _-]reports?)?|outages?|rca|root[ _-]cause|retro(?:spective)?s?"
    r"|störung|vorfall|incidencia|incidente|事故|障害|장애)(?:$|[\W_])",
    _I,
)
_INCIDENT_HEADING = re.compile(
    r"^\W*(?:timeline|root[ -]?causes?|impact|lessons?(?: learned)?|what went (?:well|wrong)|where we got lucky"
    r"|detection|mitigation|trigger|follow-?up actions|ursache|auswirkung|chronologie|causes?|leçons|causa raíz"
    r"|impacto|原因|影响|影響|教训|教訓|再発防止策?|원인|영향|재발 방지)\b",
    _I,
)
_MINUTES_NAME = re.compile(
    r"(?:^|[\W_])(?:minutes|meetings?|standups?|sync|protokolle?|sitzung(?:en)?|besprechung(?:en)?|réunions?"
    r"|compte[ _-]rendu|actas?|reuni(?:ón|ones|ão|ões)|atas?|verbal[ei]|riunion[ei]|notulen|vergadering(?:en)?"
    r"|spotkani[ae]|telcons?|calls?|会议|会議|議事録|纪要|회의)(?:$|[\W_])",
    _I,
)
_AGENDA_NAME = re.compile(
    r"(?:^|[\W_])(?:agendas?|tagesordnung|ordre[ _-]du[ _-]jour|orden[ _-]del[ _-]día)(?:$|[\W_])",
    _I,
)
_AGENDA_HEADING = re.compile(
    r"^\W*(?:agenda|tagesordnung|ordre du jour|orden del día|ordine del giorno|议程|議題|의제)\b",
    _I,
)
_LOG_NAME = re.compile(
    r"^(?:\w+[ _-])?(?:log|journal|diary|changelog|history|devlog|worklog|logbook|tagebuch|logbuch|diario|日志|日誌"
    r"|일지)s?$",
    _I,
)
_RUNBOOK_NAME = re.compile(
    r"(?:^|[\W_])(?:run[ _-]?books?|play[ _-]?books?|sops?|how[ _-]?tos?|operations?[ _-]guides?|troubleshooting"
    r"|procedures?|checklists?|anleitung(?:en)?|guía|guida|handleiding|手順|操作手册|절차)(?:$|[\W_])",
    _I,
)
SPEAKER = re.compile(
    r"^[ \t>*-]{0,6}\*{0,2}(?P<name>[A-Z][\w.'’-]{0,20}(?: [A-Z][\w.'’-]{0,20}){0,2})\*{0,2}[:：]\*{0,2}[ \t]\S"
)
FIELD_LINE = re.compile(
    r"^[ \t>*_|-]{0,6}(?P<name>status|priority|assigned(?: to)?|assignee|owner|type|severity|state|estimate"
    r"|priorität|zuständig|priorité|prioridad|prioriteit|优先级|状态)[*_]{0,2}[ \t]?[:：|]",
    _I,
)
_TRACKER_FIELDS = {
    "priority", "assignee", "assigned", "assigned_to", "assigned-to", "labels", "milestone", "ticket",
    "severity", "estimate", "ordinal",
}  # fmt: skip


class _Looks:
    """What a note shows of itself, read when it is asked for."""

    def __init__(self, path: str, front: FrontMatter, outline: Outline, days: int) -> None:
        *self.folders, name = path.split("/")
        self.stem = name.rpartition(".")[0] or name
        self.front, self.outline = front, outline
        self.path = path
        self.days = days  # different days of its dated stretches

    @cached_property
    def headings(self) -> list[str]:
        return [mark.text for mark in self.outline.headings]

    def folder_like(self, pattern: re.Pattern[str]) -> str:
        found = next((name for name in reversed(self.folders) if pattern.search(name)), "")
        return f"folder {found}" if found else ""

    def name_like(self, pattern: re.Pattern[str]) -> str:
        return f"name {self.stem}" if pattern.search(self.stem) else ""

    def heading_like(self, pattern: re.Pattern[str]) -> str:
        found = next((text for text in self.headings if pattern.match(text)), "")
        return f"heading {found}" if found else ""

    def headings_like(self, pattern: re.Pattern[str], least: int) -> str:
        found = dict.fromkeys(
            text.strip().casefold() for text in self.headings if pattern.match(text)
        )
        return f"headings {', '.join(list(found)[:3])}" if len(found) >= least else ""

    def lines_on_top(self) -> list[str]:
        first = self.outline.front_matter_lines
        return self.outline.lines[first : first + _TOP_LINES]


def _template(looks: _Looks) -> str:
    return "name or folder of a template" if TEMPLATE.search(looks.path) else ""


def _archive(looks: _Looks) -> str:
    return looks.folder_like(_ARCHIVE_FOLDER)


def _living(looks: _Looks) -> str:
    if LIVING_NAME.match(looks.stem):
        return f"name {looks.stem}"
    if looks.stem.casefold() == "readme":
        return looks.heading_like(_LIVING_HEADING)
    return ""


def _record(looks: _Looks) -> str:
    numbered = looks.name_like(_RECORD_NAME)
    if numbered and (looks.folder_like(_RECORD_FOLDER) or looks.heading_like(DECISION_HEADING)):
        return numbered
    if looks.heading_like(DECISION_HEADING):
        return looks.headings_like(_RECORD_HEADINGS, 3)
    return ""


def _post_mortem(looks: _Looks) -> str:
    named = looks.name_like(_INCIDENT_NAME) or looks.folder_like(_INCIDENT_NAME)
    least = 1 if named else 3
    return looks.headings_like(_INCIDENT_HEADING, least)


def _transcript(looks: _Looks) -> str:
    lines = [
        text
        for text, kind in zip(looks.outline.lines, looks.outline.kinds, strict=True)
        if kind == LineKind.TEXT and text.strip()
    ][:_MOST_SPOKEN_LINES]
    speakers = Counter(found["name"] for text in lines if (found := SPEAKER.match(text)))
    spoken = speakers.total()
    is_talk = spoken >= max(_LEAST_SPOKEN, len(lines) * _SPOKEN_SHARE)
    returns = spoken >= _LEAST_TURNS * len(speakers)  # labels are many and stand once
    return f"{spoken} lines of {len(speakers)} speakers" if is_talk and returns else ""


def _minutes(looks: _Looks) -> str:
    present = looks.heading_like(ATTENDANCE)
    return present or looks.name_like(_MINUTES_NAME) or looks.folder_like(_MINUTES_NAME)


def _agenda(looks: _Looks) -> str:
    if looks.heading_like(ATTENDANCE):
        return ""
    return looks.name_like(_AGENDA_NAME) or (
        looks.heading_like(_AGENDA_HEADING) if len(looks.headings) <= 2 else ""
    )


def _tracker(looks: _Looks) -> str:
    if looks.front.status and (fields := _TRACKER_FIELDS & looks.front.names):
        return f"front matter status, {min(fields)}"
    named = {
        found["name"].casefold()
        for text in looks.lines_on_top()
        if (found := FIELD_LINE.match(text))
    }
    return f"lines {', '.join(sorted(named)[:3])}" if len(named) >= 2 else ""


def _log(looks: _Looks) -> str:
    if looks.name_like(_LOG_NAME):
        return f"name {looks.stem}"
    return f"{looks.days} dated headings" if looks.days >= _LEAST_DAYS else ""


def _runbook(looks: _Looks) -> str:
    return looks.name_like(_RUNBOOK_NAME) or looks.folder_like(_RUNBOOK_NAME)


class NoteKind(NamedTuple):
    """A kind of note, and what finds its sign; the sign is empty for another kind of note."""

    name: str
    sign_of: Callable[[_Looks], str]


LIVING, RECORD, POST_MORTEM, TRACKER = (
    "living status",
    "decision record",
    "post-mortem",
    "tracker entry",
)
TRANSCRIPT, AGENDA, MINUTES, LOG, RUNBOOK = "transcript", "agenda", "minutes", "log", "runbook"
TEMPLATE_NOTE, ARCHIVE = "template", "archive"
PAGE, DATED = "page", "dated note"  # of no kind with a sign: without a date, and with one

NOTE_KINDS: tuple[NoteKind, ...] = (  # the first with a sign wins
    NoteKind(TEMPLATE_NOTE, _template),
    NoteKind(ARCHIVE, _archive),
    NoteKind(LIVING, _living),
    NoteKind(RECORD, _record),
    NoteKind(POST_MORTEM, _post_mortem),
    NoteKind(TRACKER, _tracker),
    NoteKind(TRANSCRIPT, _transcript),
    NoteKind(AGENDA, _agenda),
    NoteKind(MINUTES, _minutes),
    NoteKind(LOG, _log),
    NoteKind(RUNBOOK, _runbook),
)


def kind_of_note(
    path: str, front: FrontMatter, outline: Outline, *, dated: bool, days: Collection[str]
) -> tuple[str, str]:
    """The kind of a note and the sign of it. `days`: those that its dated stretches name."""
    looks = _Looks(path, front, outline, len(days))
    for kind in NOTE_KINDS:
        sign = kind.sign_of(looks)
        if sign:
            return kind.name, sign[:60]
    return (DATED, "a date") if dated else (PAGE, "no date")
