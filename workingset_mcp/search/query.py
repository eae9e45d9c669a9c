"""What a person typed, as concepts: words, phrases, CJK pairs, dates. Pure.

No character of a query is ever syntax: each concept is rendered here into a quoted MATCH term. Not
here: how often a concept occurs and which sections hold it (`rank`).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from workingset_mcp.dates import find_dates
from workingset_mcp.index.rows import CJK_RUN

MOST_CONCEPTS = 64
ALSO_WEIGHT = 0.8
MOST_QUERY_CHARACTERS = 10_000

STOP_WORDS = frozenset(
    [
        "a",
        "about",
        "all",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "being",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "each",
        "for",
        "from",
        "get",
        "gets",
        "got",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "it's",
        "its",
        "many",
        "me",
        "more",
        "most",
        "much",
        "must",
        "my",
        "no",
        "not",
        "of",
        "off",
        "on",
        "or",
        "our",
        "out",
        "over",
        "per",
        "shall",
        "she",
        "should",
        "so",
        "some",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "under",
        "until",
        "up",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "before",
        "after",
        "may",
        "might",
        "aber",
        "alle",
        "als",
        "am",
        "an",
        "auch",
        "auf",
        "aus",
        "bei",
        "bin",
        "bis",
        "da",
        "das",
        "dass",
        "dein",
        "dem",
        "den",
        "der",
        "des",
        "die",
        "dies",
        "diese",
        "doch",
        "durch",
        "ein",
        "eine",
        "einem",
        "einen",
        "einer",
        "eines",
        "er",
        "es",
        "euch",
        "für",
        "gab",
        "gibt",
        "hat",
        "haben",
        "hatte",
        "hier",
        "ich",
        "ihr",
        "im",
        "in",
        "ist",
        "ja",
        "kein",
        "man",
        "mein",
        "mit",
        "nach",
        "nicht",
        "noch",
        "nur",
        "ob",
        "oder",
        "seit",
        "sein",
        "sich",
        "sie",
        "sind",
        "über",
        "um",
        "und",
        "uns",
        "unser",
        "viel",
        "viele",
        "vom",
        "von",
        "vor",
        "wann",
        "war",
        "waren",
        "warum",
        "was",
        "welche",
        "welchem",
        "welchen",
        "welcher",
        "welches",
        "wem",
        "wen",
        "wer",
        "werden",
        "wie",
        "wieder",
        "wir",
        "wird",
        "wo",
        "wurde",
        "wurden",
        "zu",
        "zum",
        "zur",
        "au",
        "aux",
        "avec",
        "ce",
        "ces",
        "cette",
        "combien",
        "comment",
        "dans",
        "de",
        "des",
        "du",
        "elle",
        "est",
        "et",
        "il",
        "ils",
        "je",
        "la",
        "le",
        "les",
        "leur",
        "mais",
        "nous",
        "on",
        "ou",
        "où",
        "par",
        "pas",
        "pour",
        "pourquoi",
        "quand",
        "que",
        "quel",
        "quelle",
        "quelles",
        "quels",
        "qui",
        "sa",
        "se",
        "ses",
        "son",
        "sont",
        "sur",
        "un",
        "une",
        "vous",
        "y",
        "à",
        "été",
        "como",
        "con",
        "cual",
        "cuando",
        "cuándo",
        "cuanto",
        "cuántos",
        "de",
        "del",
        "donde",
        "dónde",
        "el",
        "ella",
        "en",
        "es",
        "esta",
        "este",
        "fue",
        "ha",
        "han",
        "hay",
        "la",
        "las",
        "lo",
        "los",
        "más",
        "no",
        "o",
        "para",
        "pero",
        "por",
        "porque",
        "qué",
        "que",
        "quién",
        "quien",
        "se",
        "ser",
        "si",
        "sin",
        "sobre",
        "su",
        "sus",
        "un",
        "una",
        "y",
        "ya",
        "ao",
        "aos",
        "as",
        "até",
        "com",
        "da",
        "das",
        "de",
        "do",
        "dos",
        "e",
        "ela",
        "ele",
        "em",
        "entre",
        "essa",
        "esse",
        "esta",
        "este",
        "foi",
        "mais",
        "mas",
        "na",
        "não",
        "nas",
        "no",
        "nos",
        "o",
        "os",
        "ou",
        "para",
        "pela",
        "pelo",
        "por",
        "qual",
        "quando",
        "quem",
        "que",
        "se",
        "sem",
        "ser",
        "seu",
        "sua",
        "são",
        "também",
        "um",
        "uma",
        "a",
        "ai",
        "al",
        "che",
        "chi",
        "ci",
        "come",
        "con",
        "cosa",
        "da",
        "dal",
        "dalla",
        "de",
        "dei",
        "del",
        "della",
        "delle",
        "di",
        "dove",
        "e",
        "ed",
        "è",
        "gli",
        "ha",
        "hanno",
        "ho",
        "i",
        "il",
        "in",
        "io",
        "la",
        "le",
        "lo",
        "ma",
        "nel",
        "nella",
        "non",
        "o",
        "per",
        "perché",
        "più",
        "qual",
        "quale",
        "quali",
        "quando",
        "quanti",
        "quanto",
        "se",
        "si",
        "sono",
        "su",
        "sul",
        "tra",
        "un",
        "una",
        "uno",
        "aan",
        "bij",
        "dat",
        "de",
        "deze",
        "die",
        "dit",
        "door",
        "een",
        "en",
        "er",
        "had",
        "heb",
        "heeft",
        "het",
        "hij",
        "hoe",
        "hoeveel",
        "ik",
        "in",
        "is",
        "je",
        "kan",
        "maar",
        "met",
        "mijn",
        "naar",
        "niet",
        "nog",
        "of",
        "om",
        "ook",
        "op",
        "over",
        "te",
        "tot",
        "uit",
        "van",
        "veel",
        "voor",
        "waar",
        "waarom",
        "wanneer",
        "was",
        "wat",
        "we",
        "welke",
        "werd",
        "wie",
        "wij",
        "worden",
        "zijn",
        "zo",
    ]
)
_CJK_FUNCTION = frozenset(
    "的了是在吗呢和与什么哪谁这那个多少如何怎はがをにのでとへもやかってしいなられるたすま를을가이은는에의로과와도"
)
_WORD = re.compile(r"[^\W_]+")
_SPACE = re.compile(r"\s+")
_OUTER = " \t\"“”„«»‹›「」『』（）()[]{}<>,;:!?¿¡…*~`|=^'’‘.。、，！？；：-–—/\\&_"
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
_ELISION = re.compile(r"^(?:[ldjmnstc]|qu)['’](?=\w{2})", re.IGNORECASE)
_HANGUL = re.compile(r"[\uac00-\ud7af]+")
_SYMBOLS = re.compile(r"[+#%$€@&]|^\.")
_ACCENT = re.compile(r"[\u00c0-\u024f\u0300-\u036f\u0370-\u03ff\u0400-\u045f\u1e00-\u1fff]")
_QUOTED = re.compile(r'["“”„]([^"“”„]{2,200})["“”]')

Kind = Literal["word", "phrase", "cjk", "date"]


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing a question asks for. `match` is a rendered term; `words` are what to look for."""

    text: str  # as a person reads it
    kind: Kind
    match: str
    words: tuple[str, ...]  # folded
    literal: str = ""  # folded, with symbols the tokenizer drops (`c++`)
    weight: float = 1.0
    own: bool = True  # of the question itself, not of `also` or the glossary


@dataclass(frozen=True, slots=True)
class Query:
    """A question as concepts; `also` counts the ones a caller added; `named` says what else is searched."""

    text: str
    concepts: tuple[Concept, ...]
    dates: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    named: tuple[str, ...] = field(default=())
    cjk_words: tuple[str, ...] = ()  # CJK stretches of the question that read as words


def parse_query(
    text: str, *, also: Sequence[str] = (), glossary: Mapping[str, Sequence[str]] | None = None,
    also_weight: float = ALSO_WEIGHT, glossary_weight: float = 0.6,
) -> Query:  # fmt: skip
    """Concepts of a question, of the words a caller added, and of the glossary's."""
    text = _clean(text)
    found: dict[str, Concept] = {}
    dates: list[str] = []
    _collect(text, 1.0, found, dates)
    own = len(found)
    for other in also:
        _collect(_clean(other), also_weight, found, dates)
    named = []
    lowered = f" {fold(text)} "
    for key, others in (glossary or {}).items():
        if re.search(rf"(?<!\w){re.escape(fold(key))}(?!\w)", lowered):
            for other in others:
                named.append(other)
                _collect(_clean(other), glossary_weight, found, dates)
    concepts = tuple(
        concept if at < own else replace(concept, own=False)
        for at, concept in enumerate(found.values())
        if at < MOST_CONCEPTS
    )
    return Query(
        text,
        concepts,
        tuple(dict.fromkeys(dates)),
        tuple(also),
        tuple(named),
        tuple(dict.fromkeys(_cjk_words(text))),
    )


def fold(text: str) -> str:
    """Text as it is compared: lower case, accents off."""
    text = text.lower()
    if text.isascii() or not _ACCENT.search(text):
        return text
    return _ACCENT.sub(_without_accent, text)


def words_of(text: str) -> list[str]:
    """The words of a text as the index splits them (not CJK)."""
    return _WORD.findall(text)


def _without_accent(matched: re.Match[str]) -> str:
    decomposed = unicodedata.normalize("NFD", matched[0])
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def _clean(text: str) -> str:
    text = text[:MOST_QUERY_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", _SPACE.sub(" ", text.replace("\0", " "))).strip()


def _collect(text: str, weight: float, found: dict[str, Concept], dates: list[str]) -> None:
    """Add the concepts of one text; stop words only when nothing else is left."""
    rest = []
    at = 0
    for date in find_dates(text):
        if date.value:
            dates.append(date.value)
            concept = _date_concept(text[date.start : date.end], date.value, weight)
            found.setdefault(concept.match, concept)
            rest.append(text[at : date.start])
            at = date.end
    rest.append(text[at:])
    text = " ".join(rest)
    had = len(found)
    for concept in _concepts(text, weight, keep_stop_words=False):
        found.setdefault(concept.match, concept)
    if len(found) == had and not dates:
        for concept in _concepts(text, weight, keep_stop_words=True):
            found.setdefault(concept.match, concept)


def _concepts(text: str, weight: float, *, keep_stop_words: bool) -> Iterator[Concept]:
    for quoted in _QUOTED.findall(text):
        words = words_of(fold(quoted))
        if len(words) > 1 and not CJK_RUN.search(quoted):
            yield _phrase(quoted.strip(), words, weight)
    for token in text.split(" "):
        if CJK_RUN.search(token):
            yield from _cjk_concepts(token, weight, keep_stop_words=keep_stop_words)
            token = CJK_RUN.sub(" ", token)
        for part in token.split():
            yield from _token_concepts(part, weight, keep_stop_words=keep_stop_words)


def _token_concepts(token: str, weight: float, *, keep_stop_words: bool) -> Iterator[Concept]:
    bare = token.strip(_OUTER)
    if _SYMBOLS.search(token):  # `C++`, `.NET`: the symbols are part of the name
        literal = fold(token.strip("\"“”'’(),;:!?[]{}").rstrip("."))
    else:
        literal = ""
    bare = _ELISION.sub("", _POSSESSIVE.sub("", bare)) or bare
    words = words_of(fold(bare))
    if not words:
        return
    if len(words) == 1:
        if keep_stop_words or words[0] not in STOP_WORDS or literal not in ("", words[0]):
            literal = literal if literal != words[0] else ""
            yield Concept(literal or bare, "word", f'"{words[0]}"', (words[0],), literal, weight)
        return
    yield _phrase(bare, words[:12], weight)
    for word in words[:12]:
        if (len(word) > 2 or (len(word) == 2 and not word.isdecimal())) and word not in STOP_WORDS:
            yield Concept(word, "word", f'"{word}"', (word,), "", weight)


def _phrase(text: str, words: Sequence[str], weight: float) -> Concept:
    return Concept(text, "phrase", f'"{" ".join(words)}"', tuple(words), "", weight)


def _cjk_concepts(token: str, weight: float, *, keep_stop_words: bool) -> Iterator[Concept]:
    runs = CJK_RUN.findall(token)
    pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
    kept = [pair for pair in pairs if not _CJK_FUNCTION.intersection(pair)]
    for pair in dict.fromkeys(kept or pairs):
        yield Concept(pair, "cjk", f'cjk : "{pair}"', (pair,), "", weight)
    for run in runs:
        if len(run) == 1 and (keep_stop_words or run not in _CJK_FUNCTION):
            yield Concept(run, "cjk", f'cjk : "{run}" *', (run,), "", weight)


def _cjk_words(text: str) -> Iterator[str]:
    """Runs of Hangul as they stand; runs of Han and Kana cut at their function characters."""
    for run in CJK_RUN.findall(text):
        if len(run) > 1 and _HANGUL.fullmatch(run):
            yield run
        elif len(run) > 1:
            parts = "".join(" " if c in _CJK_FUNCTION else c for c in run).split()
            yield from (part for part in parts if len(part) > 1)


def _date_concept(text: str, value: str, weight: float) -> Concept:
    token = f"d{value.replace('-', '')}"
    written = words_of(fold(text))
    spelled = f' OR "{" ".join(written)}"' if written and not CJK_RUN.search(text) else ""
    return Concept(value, "date", f'(dt : "{token}"{spelled})', tuple(written), "", weight)
