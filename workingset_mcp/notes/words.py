"""The words that tell what a line is about, in the languages of the stop words. Data only.

Each is a kind of line that people write (a commitment, a rule, a contact), never the words of one
vault. Patterns are compiled once; they run over single lines.
"""

import re
from collections.abc import Iterable
from functools import cached_property

_I = re.IGNORECASE
_NEVER = "(?!)"


class Phrases:
    r"""Any of some phrases, in a line made `plainly`: many times faster than a pattern for any case.

    Most begin with `\W`, the sign before a word: an engine then skips from word to word. `opening`
    is what a line begins with, `signs` what stands anywhere in a script without blanks.
    """

    def __init__(self, words: str, *, opening: str = _NEVER, signs: str = _NEVER) -> None:
        self._said = (words, opening, signs)

    @cached_property
    def _words(self) -> re.Pattern[str]:  # compiled when first asked: a hook asks a few only
        return re.compile(self._said[0])

    @cached_property
    def _opening(self) -> re.Pattern[str]:
        return re.compile(self._said[1])

    @cached_property
    def _signs(self) -> re.Pattern[str]:
        return re.compile(self._said[2])

    def stand_in(self, line: str) -> bool:
        """Whether one of them stands in a line."""
        if self._words.search(line) or self._opening.match(line):
            return True
        return self.have_signs_in(line)

    def have_signs_in(self, line: str) -> bool:
        """Whether one of them in a script without blanks stands in a line."""
        return not line.isascii() and bool(self._signs.search(line))

    def begin_at(self, line: str, place: int) -> bool:
        """Whether one of them begins at a place: with the sign before its word."""
        return bool(self._words.match(line, place))


class WordPhrases(Phrases):
    """Phrases of whole words; `more` are those that end elsewhere. Told as alternatives."""

    def __init__(self, words: str, *, more: str = "", signs: str = _NEVER) -> None:
        super().__init__(_any_phrase(words, more), signs=signs)
        self.told = words, more


class PhraseKinds:
    """Kinds of phrases that are looked for together, in one pass over a line made `plainly`."""

    def __init__(self, *kinds: WordPhrases) -> None:
        self._kinds = kinds

    @cached_property
    def _any(self) -> re.Pattern[str]:
        words, more = zip(*(kind.told for kind in self._kinds), strict=True)
        return re.compile(_any_phrase("|".join(words), "|".join(filter(None, more))))

    def that_stand_in(self, line: str) -> list[WordPhrases]:
        """The kinds of which a phrase stands in a line."""
        missing, place = list(self._kinds), 0
        while missing and (matched := self._any.search(line, place)):
            place = matched.start()
            missing = [kind for kind in missing if not kind.begin_at(line, place)]
            place += 1
        if not line.isascii():
            missing = [kind for kind in missing if not kind.have_signs_in(line)]
        return [kind for kind in self._kinds if kind not in missing]


def by_first_letter(parted: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Patterns in two parts, put together by their first one: those of a letter stand behind it."""
    rests: dict[str, list[str]] = {}
    for first, rest in parted:
        rests.setdefault(first, []).append(rest)
    return {first: f"{first}(?:{'|'.join(some)})" for first, some in rests.items()}


def _any_phrase(words: str, more: str = "") -> str:
    """A pattern for phrases of which those of one first letter stand together: few are tried."""
    parted = []
    for phrase in _alternatives(words):
        first = phrase[0] if phrase[0].isalpha() else ""
        parted.append((first, phrase[len(first) :]))
    grouped = "|".join(by_first_letter(parted).values())
    return rf"\W(?:(?:{grouped})\b|{more})" if more else rf"\W(?:{grouped})\b"


def _alternatives(pattern: str) -> list[str]:
    """The parts of a pattern between those of its bars that stand in no bracket."""
    parts, depth = [""], 0
    for sign in pattern:
        depth += (sign in "([") - (sign in ")]")
        if sign == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


class StandingPhrases(Phrases):
    """Phrases that are looked for in whole texts first (`hints_of`).

    `words` begin and end as words, each with `then` behind it; each of `marked` begins with a sign or
    a fixed word, which an engine finds fast.
    """

    def __init__(
        self, words: str = "", *, then: str = "", marked: tuple[str, ...] = (),
        opening: str = "", signs: str = "",
    ) -> None:  # fmt: skip
        own = [f"{_any_phrase(words)}{then}"] if words else []
        super().__init__(
            "|".join((*own, *marked)), opening=rf"\W*(?:{opening or _NEVER})", signs=signs or _NEVER
        )
        self.words, self.marked, self.opening, self.signs = words, marked, opening, signs


def hints_of(kinds: Iterable[StandingPhrases], *, in_ascii: bool) -> list[re.Pattern[str]]:
    r"""Patterns for lines made `plainly` and joined, a `\n` before each: who holds a phrase fits one.

    `in_ascii`: for texts of ASCII signs alone, where an engine sees sooner where a word ends.
    """
    words = "|".join(kind.words for kind in kinds if kind.words)
    openings = "|".join(kind.opening for kind in kinds if kind.opening)
    signs = "|".join(kind.signs for kind in kinds if kind.signs)
    marked = [pattern for kind in kinds for pattern in kind.marked]
    patterns = [_any_phrase(words), *marked, rf"\n[^\w\n]*(?:{openings})"]
    if in_ascii:
        return [re.compile(pattern, re.ASCII) for pattern in patterns if pattern[0].isascii()]
    return [re.compile(pattern) for pattern in (*patterns, signs)]


def plainly(line: str) -> str:
    """A line as phrases are looked for: lower case, a blank before its first word."""
    if not line.isascii():  # letters that only a pattern for any case takes for an i and an s
        line = line.replace("\u0130", "i").replace("\u017f", "s")
    return f" {line.lower()}"


# -- who does what, what was settled, what lies ahead: these lines of a new note go first ----------
_NAME = r"(?:@[\w-]+|[A-ZÄÖÜ][\w-]+(?: [A-ZÄÖÜ][\w-]+)?|I|we|We|they|They)"
COMMITMENT = re.compile(  # in a line with a blank before its first word
    rf"[\s(*\]]{_NAME}(?:'ll| will| to| needs? to| should| asks?| takes?| plans?| is going to"
    r"| fragt| meldet| macht| übernimmt| kümmert)\s"
)
COMMITMENT_WORDS = WordPhrases(
    r"i'll|we'll|will (?:be|send|do|take|try|look|open|ask|write|work|start|need)|need(?:s|ed)? to"
    r"|to-?do|next steps?|follow[- ]?up|action\b|let's|must be|reach(?:ing)? out|waiting|wait (?:on|for)"
    r"|pending|blocked|blocker|priorit\w+|deadline|resched\w+|postpon\w+|assigned|volunteer\w*"
    r"|soll(?:en|te)?|muss|müssen|vorschlag|beantrag\w+|kümmert|übernimmt|verschoben|steht noch aus"
    r"|doit|devons|à faire|debe|hay que|pendiente|deve|precisa|bisogna|moet",
    more=r"(?<=\()@[\w-]+\)|(?<=->) ?[a-z]\w+",
)
SETTLEMENT = WordPhrases(
    r"decided|decision|agree[ds]?|agreement|consensus|resolution|resolved|approved|approves?"
    r"|accept(?:ed)?|rejected|go ahead|move forward|closing|closed|merged|landed|shipped|released"
    r"|launched|is out\b|no longer|superseded|deprecated|removed|dropped|we should|leave it to"
    r"|should (?:not )?be|satisfied|beschlossen|entschieden|entlastet|einstimmig|genehmigt|décidé"
    r"|approuvé|acordado|aprobado|decidido|aprovado|deciso|approvato|besloten",
    signs="結論|決定|決める|了承|决定|结论|通过|결정|결론",
)
AHEAD = WordPhrases(
    r"next (?:meeting|week|month|quarter|release|board|session|call|version)|deadline|due"
    r"|by (?:the )?end of|until|upcoming|tomorrow|later this|early|target(?:ing|ed)?|planned|aoe"
    r"|nächste[rsn]?|ab dem|bis (?:mindestens|ende|zum)|prochaine?|próxim[oa]|prossim[oa]",
    signs="次回|まで|予定|下次|将于|请于|다음|예정|까지",
)
NEXT_TIME = WordPhrases(
    r"next (?:meeting|week|time|session|call|sync)|nächste[rsn]? (?:sitzung|woche|mal|treffen)"
    r"|prochaine (?:réunion|fois)|próxima (?:reunión|vez|reunião)",
    signs="次回|下次|다음",
)
STATE = WordPhrases(
    r"currently|right now|still|now|since|seit|ready|in progress|not yet|works?|working|done"
    r"|new|added|support(?:s|ed)?|fixed|latest|running|freeze|runs out|gap|blocked|missing|changed"
    r"|aktuell|derzeit|noch|actuellement|actualmente|atualmente",
    signs="現在|目前|현재|追加|新增|추가",
)
TELLING = PhraseKinds(COMMITMENT_WORDS, SETTLEMENT, AHEAD, STATE, NEXT_TIME)

# -- what undated notes say that always holds --------------------------------------------------------
_AT_A_TIME = r"days?\b.{0,30}\d{1,2}[:.]?\d{0,2}\s*(?:am|pm|[pecm]s?t|utc|gmt|ces?t|uhr)"
RHYTHM = StandingPhrases(
    r"every|each|weekly|bi-?weekly|monthly|fortnightly|alternat\w+|jeden|jede|monatlich|wöchentlich"
    r"|chaque|cada|ogni|elke|"
    + "|".join(
        f"{weekday}{_AT_A_TIME}"
        for weekday in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
    ),
    then=r".{0,120}?(?:\d|@|utc|week|month|day|uhr)",
    marked=(r"\*(?<=\W\*)(?:when|where|time)\*\*",),
    opening="(?:when|time|where|meetings?|termin|ort|quand|cuándo):",
    signs="毎週|毎月|每周|每月|매주",
)
ROLE = StandingPhrases(
    r"liaison|meeting owner|election officers?|points? of contact|is maintained by"
    r"|are maintained by|led by|chaired by|verantwortlich für|responsable de",
    marked=(
        r"\*(?<=\W\*)(?:co-?)?chairs?\*\*",
        r"\|\s*\*{0,2}(?:chair|co-?chair|lead|tech(?:nical)? lead|owner)\*{0,2}\s*\|",
    ),
)
ROLE_HEADING = re.compile(
    r"^\W*(?:(?:co-?)?chairs?|leadership|technical leads?|officers?|leads?|maintainers|organi[sz]ation"
    r" owners|owners|current members|steering committee|vorstand|responsables?)\b",
    _I,
)
FORMER = re.compile(
    r"^\W*(?:emeritus|former|past|previous|alumni|archived?|ehemalige|anciens?|antiguos)\b", _I
)
UPDATED = StandingPhrases(
    marked=("last (?:updated|reviewed|changed)", "zuletzt (?:geändert|aktualisiert)"),
    opening="stand:",
)
CONTACT = StandingPhrases(
    r"please (?:contact|e-?mail|reach out)|reach out (?:to|via|on|in)|contact\b.{0,40}(?:at|via|us)"
    r"|mailing list|questions (?:via|to)|ask in|get in touch|ansprechpartner\w*|kontakt\b|contactez"
    r"|contacto",
    marked=(
        r"@(?<=[\w.+-]@)[\w-]+\.[a-z]{2,}", r"slack(?<=\Wslack)\b.{0,24}#", r"\[`?#[\w-]+`?\]", r"`#[\w-]+`",
    ),
    signs="お問い合わせ|联系|문의",
)  # fmt: skip
RULE = StandingPhrases(
    r"must|should|shall|may not|not allowed|not permitted|never|only|always"
    r"|at least|at most|do not|don't|required?|requires|minimum|maximum|max\.?|cannot|can only"
    r"|need(?:s)? approval|approval|within \d+|no more than"
    r"|per (?:year|month|person|seat)|quorum|vote|muss|müssen|darf|dürfen|nur|niemals|mindestens"
    r"|höchstens|doit|doivent|jamais|uniquement|debe|deben|nunca|deve|devono|sempre",
    marked=(
        r"\$\s?\d", r"€\s?\d", r"£\s?\d", r"¥\s?\d",
        r"%(?<=\d%)", r"%(?<=\d %)", r"€\b(?<=\d€)", r"€\b(?<=\d €)",
    ),
    signs="必要です|必須|できません|しないでください|以内|最大|制限|必须|不得|禁止|해야|금지|최대",
)  # fmt: skip
STRONG_RULE = re.compile(  # in a line made `plainly`; one look at a sign spares most places the words
    r"(?=[*$€£\dmnawudcr必でし以不禁해금])(?:"
    r"\b(?:must(?: not)?\b|never\b|not (?:allowed|permitted)\b|no (?:human|one|person)\b|do not\b|don't\b"
    r"|(?:at least|at most|within|no more than|minimum|maximum|up to) (?:\w+ )?\d|cannot\b|required?\b"
    r"|\d+ (?:days|weeks|months|hours|%)|without\b|approval of\b|muss|müssen\b|darf\b|nur\b|niemals\b"
    r"|mindestens\b)|\*\*(?:must|should|may|not|never|only|no)\b|[$€£]\s?\d|\d ?€"
    r"|必要です|必須|できません|しないでください|以内|必须|不得|禁止|해야|금지)"
)

# -- parts of minutes that tell nothing later ---------------------------------------------------------
NOISE_HEADING = re.compile(
    r"^\W*(?:attend|present\b|members? present|regrets|apologies|participants?|visitors|guests"
    r"|others? present|anwesen|teilnehm|gäste|entschuldigt|参会|出席|參加|参加者|참석|check-?in"
    r"|ice ?breaker|links?\b|useful links|目录|目次|table of contents|contents\b|toc\b"
    r"|members$|mitglieder$|code of conduct|anhänge|emeritus|former|archive|resources?$|recording|vidéo|présents)",
    _I,
)
NOISE_LINE = re.compile(
    r"^\W*(?:date|time|place|location|recording|minutes|video|zoom|github issue|attendees|attending"
    r"|present|regrets|notes taken by|note ?taker|scribe|moderator|facilitator|chair|datum|zeit|ort"
    r"|beginn|ende|protokoll\w*|anwesend\w*|teilnehmer\w*|日時|場所|記録|出席者?|时间|地点|参会人员|일시|장소)"
    r"\b.{0,4}?[::]",
    _I,
)
TEMPLATE = re.compile(
    r"(?:^|[/_. -])(?:templates?|vorlagen?|checklists?|checkliste|boilerplate|modèles?|plantillas?"
    r"|模板|テンプレート|템플릿)(?:[/_. -]|$)",
    _I,
)
URGENT = re.compile(
    r"\b(?:urgent|asap|blocker|blocking|blocked|critical|dringend|urgente)\b|🔥|‼|🔺|⏫|🚨|緊急|至急|紧急|긴급",
    _I,
)
FIRST_NOTES = re.compile(r"^(?:readme|index|overview|welcome|home|about|start)\b", _I)

# -- forms of items -------------------------------------------------------------------------------------
NOTHING = re.compile(  # what a label or a cell says that says there is none
    r"^\W*(?:none|n/?a|nil|nothing(?: to report| new)?|nobody"
    r"|no(?:ne)? (?:new|open|known|current|action items?|actions?|blockers?|risks?|decisions?|updates?)(?: \w+)?"
    r"|(?:none|nothing)(?: so far| yet| at (?:the|this) moment| currently| identified| known)?"
    r"|keine?r?|keine? \w+|nichts|entfällt|aucune?|aucune? \w+|néant|rien|ningun[oa]|ningún \w+|nada|ninguém"
    r"|nessun[oa]?|nessun[oa]? \w+|niente|nenhum[a]?|nenhum[a]? \w+|geen|geen \w+|niets|brak|nic"
    r"|なし|特になし|無し|无|暂无|没有|無|없음|해당 ?없음|특이사항 ?없음|[-–—]+)?\W*$",
    _I,
)
ATTENDANCE = re.compile(  # `Attendees`, `Present: …`; not `Attendance features`
    r"^\W*(?:(?:(?:voting|non-voting|tsc|committee|board|other|core|members?)[ \t]+(?:members?[ \t]+)?){0,2}"
    r"(?:attend\w*|present\b|members? present|absent\w*|apolog\w+|regrets|participants?\b|guests?\b|visitors?\b"
    r"|observers?\b|invit(?:ed|ees)\b|roll[ -]?call|who(?:'s| is) here|quorum"
    r"|anwesen\w*|abwesen\w*|teilnehm\w*|teilnahme|entschuldigt\w*|gäste\b|présents?\b|absents?\b|excusés?\b"
    r"|participants?\b|asistent\w*|presentes?\b|ausentes?\b|partecipant\w*|presenti\b|assenti\b|participantes?\b"
    r"|aanwezig\w*|afwezig\w*|deelnemers?\b|obecni\b|nieobecni\b|uczestnicy\b)"
    r"(?=[*:/_·]in(?:nen)?\b|\W*$|[*_]{0,3}[ \t]*[:：(（\[–—-]"
    r"|[*_]{0,3}[ \t]+(?:list|and|und|et|y|e|en|were|online|remote|\d))"
    r"|出席|欠席|参加|參加|与会|参会|缺席|列席|참석|불참)",
    _I,
)
GROUP_HEADING = re.compile(  # headings that part a list of actions and say nothing else
    r"^\W*(?:(?:high|medium|low|top|p\d)\b|priorit\w+|urgent\b|immediate\w*|critical\b|short[ -]?term|mid[ -]?term"
    r"|medium[ -]?term|long[ -]?term|this (?:week|month|quarter|sprint)|next (?:week|month|quarter|sprint)|today\b"
    r"|tomorrow\b|soon\b|later\b|now\b|must\b|should\b|could\b|nice to have|optional\b|phase \d|step \d"
    r"|hoch\b|mittel\b|niedrig\b|sofort\b|kurzfristig\w*|langfristig\w*|diese woche|nächste woche)\W*(?:\w+\W*){0,2}$",
    _I,
)
OWNER_COLUMN = re.compile(
    r"^(?:who|owner\w*|assign\w*|responsib\w*|person|people|lead|champion|dri|poc|by whom|wer|zuständig\w*"
    r"|verantwortlich\w*|qui|responsable\w*|porteur|quién|encargad[oa]|chi|responsabile|incaricat[oa]|quem|responsável"
    r"|wie|eigenaar|verantwoordelijke?|kto|odpowiedzialn\w+|担当\w*|责任人|负责人|담당\w*)$",
    _I,
)
DUE_COLUMN = re.compile(
    r"^(?:due\w*|due (?:date|by|on)|deadline|when|by when|by|eta|target(?: date)?|date due|target completion"
    r"|bis(?: wann)?|frist|fällig\w*|wann|échéance|quand|date limite|cuándo|fecha(?: límite)?|plazo|vencimiento"
    r"|scadenza|entro|quando|prazo|wanneer|termin|期限|締切|截止\w*|기한|마감\w*)$",
    _I,
)
STATE_COLUMN = re.compile(
    r"^(?:status|state|done\??|complete[d]?\??|progress|erledigt\??|stand|statut|état|fait|estado|hecho|stato|fatto"
    r"|feito|gereed|stan|状態|状态|진행 ?상황|상태)$",
    _I,
)
TEXT_COLUMN = re.compile(
    r"^(?:task|item|description|what|to ?do|topic|details?|subject|activity|actions? (?:required|needed|item)"
    r"|was|beschreibung|thema|quoi|description|tâche|qué|descripción|cosa|descrizione|o quê|descrição|wat|omschrijving"
    r"|co|opis|内容|事项|任务|内容|내용|항목|title|name|risk|blocker|issue)$",
    _I,
)
DONE_CELL = re.compile(
    r"^\W*(?:done|closed?|complete[d]?|finished|resolved|cancel\w*|dropped|yes|x|erledigt|fertig|abgeschlossen"
    r"|fait|terminée?|hecho|completad[oa]|fatto|completat[oa]|feito|concluíd[oa]|gereed|klaar|gotowe|zrobione"
    r"|完了|済|完成|已完成|완료)\b|^\W{0,2}[✅✔☑✓]",
    _I,
)

# A line near the top that says of which day a note is: `Date: …`, `**Last updated:** …`, `*Status: planned (…)*`.
DATE_LINE = re.compile(
    r"^[\s>*_`|+-]{0,6}(?:\W{0,3})(?:(?P<status>status|stand|statut|estado|stato)"
    r"|(?:(?:meeting|decision|review|created|creation)[ ])?date|dated|datum|fecha|data|日期|日付|날짜|일자|会议时间|時間|时间|日時"
    r"|(?:last[ _-])?(?:updated?|modified|reviewed|changed|revised)(?:[ ](?:on|at))?|as of|created"
    r"|(?:zuletzt[ ])?(?:aktualisiert|geändert)(?:[ ]am)?|(?:mis|mise)[ ]à[ ]jour(?:[ ]le)?|actualizad[oa]|aggiornat[oa]"
    r"|atualizad[oa]|(?:laatst[ ])?bijgewerkt|zaktualizowano|ostatnia aktualizacja|更新日?|更新时间|更新日期|最終更新"
    r"|最后更新|업데이트|최종 수정)[*_`|]{0,3}[ \t]{0,3}[:：|][*_`]{0,3}[ \t]{0,3}(?P<said>[^\n]{4,120})",
    re.IGNORECASE,
)
# File names of notes that people, and their agents, keep current: what they say holds now.
LIVING_NAME = re.compile(
    r"^(?:(?:active|current|session)[ _-]?(?:context|state|status|focus|work|task|plan|sprint|tasks)?"
    r"|progress|status|state|hand[ _-]?off|to[ _-]?dos?|now|next(?:[ _-]?steps)?|current[ _-]\w.{0,40}"
    r"|roadmap|tasks|open[ _-](?:items|questions|tasks)|action[ _-]items|stand|aufgaben|stato|estado|statut)$",
    re.IGNORECASE,
)
