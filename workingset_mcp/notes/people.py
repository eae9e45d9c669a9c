"""Who is named in a note, and which words at the head of a line are a person. Pure.

A capitalised word and a colon may be a person or a subject (`Mira: …`, `Budget: …`): a word counts as a
name where the note gives a reason for it. Not here: which items people own (`fields`).
"""

import re
from functools import cached_property

_PART = r"[A-ZÀ-ÖØ-ÞŁŚŻŹĆ][\w'’-]{1,20}"
_PARTICLE = r"(?:von|van|de|der|den|da|di|du|la|le|bin|al)"
_FULL_NAME = rf"{_PART}(?:[ ]{_PARTICLE}){{0,2}}(?:[ ](?:{_PART}|[A-Z]\.)){{1,2}}"
NAME = rf"(?:{_FULL_NAME}|{_PART})"
_SAID_FULL_NAME = re.compile(rf"(?<![\w.]){_FULL_NAME}")
_HANDLES = re.compile(r"@(?<![\w@/.`]@)([A-Za-z][\w-]{1,38})")
_BARE_NAME = re.compile(
    rf"^(?:\*\*|__)?(?:@(?P<handle>[A-Za-z][\w-]{{1,38}})|@?(?P<name>{NAME}|[一-鿿]{{2,4}}|[가-힣]{{2,4}}))"
    r"(?:\*\*|__)?[:：]?(?:\*\*|__)?$"
)
_NO_NAME_ENDING = re.compile(
    r"(?:tions?|ional|ety|nomy|sions?|ments?|ness|it(?:y|ies)|ics|ances?|ences?|ables?|ibles?|ures?|sheets?|ings|ages|ship|ware|ung|keit|heit)$"
)

# Words that begin lines and are no people: what a line is about, what is to be done, when.
_NO_NAME = frozenset(
    """
    a about absent access action actions add agenda all also an and another any api apologies app approval approved april area areas
    ask asset assets attendees august author backend background backlog bad before blocked blocker blockers blog
    board both branch breaking budget bug bugs build but call change changelog changes check checklist chore ci cleanup
    client closed code comment comments commit community concern conclusion confirm consider contact content context
    continue contract cost create critical customer customers dashboard data date day deadline debug december decide
    decided decision decisions default delete deliverable demo deploy deployment design detail details dev development
    discuss discussion do doc docs document documentation done draft due each edit email english error errors everybody
    everyone event events example examples experiment fact facts feature features february feedback file files finance
    first fix fixed fixes focus follow for format friday from frontend full future general german get goal goals good
    great guide help here high hint home how i idea ideas if impact implement implementation important improve in
    incident info infra infrastructure input install internal introduction investigate issue issues it item items
    january july june keep key last later launch lead learn legal lesson lessons let link links list location log low
    main maintenance make march marketing may meeting meetings members metric metrics migration milestone minor minutes
    misc missing mobile module monday month more motion move must name need needs new next nice no nobody none not note
    notes november now objective october ok old on once one only open operations option options or other others our
    outcome output overview owner owners page pages part participants people performance person phase plan planning
    please point points policy poll post present pr priority pro problem process product production progress project
    proposal prs publish purpose qa question questions quick read readme ready reason recording reference refactor
    regarding regrets release releases reminder remove rename repo report request requirements research resolution resolved
    resource resources result results review reviews risk risks roadmap role roles root rule rules run saturday schedule
    scope second section security see send september server service session set setup share ship should since site small
    social solution some someone source spec sprint staff stage start state status step steps story strategy style
    subject subtask suggestion summary sunday support sync system table tag task tasks team teams tech technical
    template test testing tests text thanks that the their them then there these they thing things third this those
    thursday time timeline tip title to today todo tomorrow tool tools topic topics total track training translation
    try tuesday tutorial type ui update updated updates upgrade url usage use user users using ux version video view
    vote wait waiting warning we web website wednesday week weekly welcome what when where which who why wiki will wip
    with work workflow workshop write year yes yesterday you
    aktion aktionen alle anmerkung antrag aufgabe aufgaben beispiel beschluss bericht budget datum ende entscheidung
    ergebnis frage fragen hinweis info kosten nächste notiz offen ort problem protokoll stand termin thema themen vorstand
    vorschlag zeit ziel date décision exemple lieu ordre prochaine question réunion sujet suivi tâche tous
    acción acciones decisión ejemplo fecha lugar nota próximo pregunta reunión tarea tema todos azione decisione domanda
    esempio luogo prossimo riunione tutti ação decisão exemplo pergunta próxima tarefa actie besluit volgende vraag
    zadanie decyzja pytanie następny
    adobe alibaba amazon android anthropic apple azure baidu canonical chrome cisco cloudflare confluence dell docker
    facebook fastly firefox github gitlab google huawei intel java jira kubernetes lenovo linkedin linux meta microsoft
    mozilla netflix node nvidia openai oracle postgres python react salesforce samsung slack tencent twitter vmware
    windows zoom
    """.split()
)  # fmt: skip


class People:
    """The people that the text of one note names; looked for when asked."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._knows: dict[str, bool] = {}

    @cached_property
    def _handles(self) -> frozenset[str]:
        return frozenset(handle.casefold() for handle in _HANDLES.findall(self._text))

    def knows(self, word: str) -> bool:
        """Whether a single word begins a full name of this note, or is a handle in it."""
        if word not in self._knows:
            named = any(map(self._begins_name, {word, word.capitalize()}))
            self._knows[word] = named or word.casefold() in self._handles
        return self._knows[word]

    def _begins_name(self, word: str) -> bool:
        at = self._text.find(word)
        while at >= 0:
            name = _SAID_FULL_NAME.match(self._text, at)
            parts = name[0].split() if name else [""]
            if parts[0] == word and not any(map(self._is_no_name, parts)):
                return True
            at = self._text.find(word, at + len(word))
        return False

    def _is_written_small(self, word: str) -> bool:
        """Return whether the note also writes a word in lower case; then it is not a name."""
        at = self._text.find(word)
        while at >= 0:
            end = at + len(word)
            if not self._text[at - 1 : at].isalnum() and not self._text[end : end + 1].isalnum():
                return True
            at = self._text.find(word, end)
        return False

    def has(self, name: str) -> bool:
        """Whether a capitalised word, or several, names a person."""
        parts = name.split()
        if any(self._is_no_name(part) for part in parts):
            return False
        if len(parts) > 1:
            return not all(part.isupper() for part in parts)
        word = parts[0]
        if word[1:].islower() and len(word) <= 12 and not self._is_written_small(word.casefold()):
            return True
        return self.knows(word)

    def _is_no_name(self, part: str) -> bool:
        word = part.casefold().strip(".'’")
        return word in _NO_NAME or bool(_NO_NAME_ENDING.search(word))

    def bare_name(self, text: str, *, alone: bool) -> str:
        """The person that a line or heading names and nothing else; empty for any other text.

        `alone`: nothing beside it says that it is a person, so the note must name the person again.
        """
        found = _BARE_NAME.match(text.strip())
        if not found:
            return ""
        name = found["handle"] or found["name"]
        if found["handle"] or not name[0].isascii():
            return name
        return name if self.has(name) and (not alone or self._is_said_again(name)) else ""

    def _is_said_again(self, name: str) -> bool:
        """Return whether the note names this person elsewhere too; a heading on its own is a topic."""
        first, *others = name.split()
        if not others and not self.knows(first):
            return False  # one word that no full name holds: `Safety`, `Optional`
        return self._text.count(first) > 1 or first.casefold() in self._handles
