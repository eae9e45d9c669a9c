"""Parse a query into concepts: words, phrases, CJK pairs, dates. Pure.

Each concept carries its query expression for the index. Not here: how often a concept occurs, and in which
sections (`hits`).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from workingset_mcp.answers.search.stop_words import TEXT as _STOP_TEXT
from workingset_mcp.index.query import Expr, Or, Phrase, Prefix, Term, any_of
from workingset_mcp.notes.dates import find_dates
from workingset_mcp.notes.folding import (
    CJK_RUN,
    emoji_in,
    fold,
    joined_numbers,
    kindred_forms,
    searchable,
    word_of_emoji,
    written_forms,
)

MOST_CONCEPTS = 64
ALSO_WEIGHT = 0.8
GLOSSARY_WEIGHT = 0.6
MOST_QUERY_CHARACTERS = 10_000

_CJK_FUNCTION = frozenset(
    "的了是在吗呢和与什么哪谁这那个多少如何怎はがをにのでとへもやかってしいなられるたすま를을가이은는에의로과와도"
)
LETTER = r"[^\W_]"  # a letter of a word as the index splits words (not CJK)
_WORD = re.compile(f"{LETTER}+")
_SPACE = re.compile(r"\s+")
_OUTER = " \t\"“”„«»‹›「」『』（）()[]{}<>,;:!?¿¡…*~`|=^'’‘.。、，！？；：-–—/\\&_"
_CLITIC = re.compile(r"['’](?:s|ll|re|ve|d|m)$", re.IGNORECASE)
_ELISION = re.compile(r"^(?:[ldjmnstc]|qu)['’](?=\w{2})", re.IGNORECASE)
_HANGUL = re.compile(r"[\uac00-\ud7af]+")
_SYMBOLS = re.compile(r"[+#%$€@&]|^\.")
_NEGATION = re.compile(r"^(?:[a-z]{2,6}n|ca|wo)['’]t$", re.IGNORECASE)
_QUOTED = re.compile(r'["“”„«»]([^"“”„«»]{2,200})["“”«»]')

_Key: TypeAlias = tuple[str, tuple[str, ...], str]  # the kind, words and literal of a concept
ConceptKind = Literal["word", "phrase", "cjk", "date"]


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing that a query asks for: `expr` finds it in the index, `words` in a text."""

    text: str  # for people
    kind: ConceptKind
    expr: Expr
    words: tuple[str, ...]  # folded
    literal: str = ""  # folded, with symbols the tokenizer drops (`c++`)
    weight: float = 1.0
    own: bool = True  # from the question itself, not from `also` or the glossary
    forms: tuple[tuple[str, ...], ...] = ()  # words that stand for the same, folded


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query; `also` are the words a caller added, `named` the words the glossary added."""

    text: str
    concepts: tuple[Concept, ...]
    dates: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    named: tuple[str, ...] = field(default=())
    cjk_words: tuple[str, ...] = ()  # CJK words of the question


def parse_query(
    text: str, *, also: Sequence[str] = (), glossary: Mapping[str, Sequence[str]] | None = None
) -> Query:
    """Parse a question, the words a caller added, and those of the glossary into concepts."""
    text = _clean(text)
    found: dict[_Key, Concept] = {}
    dates: list[str] = []
    _collect(text, 1.0, found, dates)
    own = len(found)
    for other in list(dict.fromkeys(also))[:MOST_CONCEPTS]:
        _collect(_clean(other), ALSO_WEIGHT, found, dates)
    named = []
    lowered = f" {fold(text)} "
    for key, others in (glossary or {}).items():
        if re.search(rf"(?<!\w){re.escape(fold(key))}(?!\w)", lowered):
            for other in others:
                named.append(other)
                _collect(_clean(other), GLOSSARY_WEIGHT, found, dates)
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


def words_of(text: str) -> list[str]:
    """Split a text into words as the index does (not CJK)."""
    return _WORD.findall(text)


def cjk_phrase(word: str) -> Phrase:
    """Return the phrase of a CJK word of two or more characters: its overlapping character pairs."""
    return Phrase(tuple(word[at : at + 2] for at in range(len(word) - 1)), "cjk")


def _clean(text: str) -> str:
    text = text[:MOST_QUERY_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
    text = unicodedata.normalize("NFC", _SPACE.sub(" ", text.replace("\0", " "))).strip()
    return joined_numbers(text)


def _collect(text: str, weight: float, found: dict[_Key, Concept], dates: list[str]) -> None:
    """Add the concepts of one text; keep stop words only if it has nothing else."""
    rest = []
    at = 0
    for date in find_dates(text):
        if date.value:
            dates.append(date.value)
            concept = _date_concept(text[date.start : date.end], date.value, weight)
            found.setdefault(("date", (date.value,), ""), concept)
            rest.append(text[at : date.start])
            at = date.end
    rest.append(text[at:])
    text = " ".join(rest)
    concepts = list(_concepts(text, weight, keep_stop_words=False))
    if not concepts and not dates:
        concepts = list(_concepts(text, weight, keep_stop_words=True))
    for concept in concepts:
        found.setdefault((concept.kind, concept.words, concept.literal), concept)


def _concepts(text: str, weight: float, *, keep_stop_words: bool) -> Iterator[Concept]:
    for quoted in _QUOTED.findall(text):
        words = words_of(fold(quoted))
        if len(words) > 1 and not CJK_RUN.search(quoted):
            yield _phrase(quoted.strip(), words, weight, _Forms())
    for token in text.split(" "):
        if not token.isascii() and CJK_RUN.search(searchable(token)):
            token = searchable(token)
            yield from _cjk_concepts(token, weight, keep_stop_words=keep_stop_words)
            token = CJK_RUN.sub(" ", token)
        for part in token.split():
            yield from _token_concepts(part, weight, keep_stop_words=keep_stop_words)


def _token_concepts(token: str, weight: float, *, keep_stop_words: bool) -> Iterator[Concept]:
    bare = token.strip(_OUTER)
    literal = ""
    if _SYMBOLS.search(token):  # `C++`, `.NET`: the symbols are part of the name
        literal = fold(token.strip("\"“”'’(),;:!?[]{}").rstrip("."))
    bare = _ELISION.sub("", _CLITIC.sub("", bare)) or bare
    words = words_of(fold(bare))
    if not words:
        yield from _sign_concepts(token, weight)
        return
    if _NEGATION.match(bare) and not keep_stop_words:
        return
    forms = _Forms(written_forms(bare), kindred_forms(bare))
    if len(words) == 1:
        if keep_stop_words or words[0] not in STOP_WORDS or literal not in ("", words[0]):
            literal = literal if literal != words[0] else ""
            expr = forms.or_else(Term(words[0]))
            yield Concept(
                literal or bare, "word", expr, (words[0],), literal, weight, forms=forms.all
            )
        return
    yield _phrase(bare, words[:12], weight, forms)
    for word in words[:12]:
        if (len(word) > 2 or (len(word) == 2 and not word.isdecimal())) and word not in STOP_WORDS:
            yield Concept(word, "word", Term(word), (word,), "", weight)


def _sign_concepts(token: str, weight: float) -> Iterator[Concept]:
    """Yield the emoji of a token, and the words that its signs stand for."""
    for emoji in emoji_in(searchable(token)):
        word = word_of_emoji(emoji)
        yield Concept(emoji, "word", Term(word), (word,), emoji, weight)
    for (word,) in kindred_forms(token):
        yield Concept(token, "word", Term(word), (word,), "", weight)


class _Forms(NamedTuple):
    """Other forms of a token: its other spellings, and words that stand for it."""

    written: tuple[tuple[str, ...], ...] = ()
    kindred: tuple[tuple[str, ...], ...] = ()

    @property
    def all(self) -> tuple[tuple[str, ...], ...]:
        return self.written + self.kindred

    def or_else(self, expr: Expr) -> Expr:
        """Extend an expression to the other forms of its token; nothing is counted twice."""
        written = [Phrase(words, "written") for words in self.written]
        return any_of([expr, *written, *map(Phrase, self.kindred)])


def _phrase(text: str, words: Sequence[str], weight: float, forms: _Forms) -> Concept:
    expr = forms.or_else(Phrase(tuple(words)))
    return Concept(text, "phrase", expr, tuple(words), "", weight, forms=forms.all)


def _cjk_concepts(token: str, weight: float, *, keep_stop_words: bool) -> Iterator[Concept]:
    runs = CJK_RUN.findall(token)
    pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
    kept = [pair for pair in pairs if not _CJK_FUNCTION.intersection(pair)]
    for pair in dict.fromkeys(kept or pairs):
        yield Concept(pair, "cjk", cjk_phrase(pair), (pair,), "", weight)
    for run in runs:
        if len(run) == 1 and (keep_stop_words or run not in _CJK_FUNCTION):
            yield Concept(run, "cjk", Prefix(run, "cjk"), (run,), "", weight)


def _cjk_words(text: str) -> Iterator[str]:
    """Yield whole runs of Hangul; split runs of Han and Kana at function characters."""
    for run in CJK_RUN.findall(searchable(text)):
        if len(run) > 1 and _HANGUL.fullmatch(run):
            yield run
        elif len(run) > 1:
            parts = "".join(" " if c in _CJK_FUNCTION else c for c in run).split()
            yield from (part for part in parts if len(part) > 1)


def _date_concept(text: str, value: str, weight: float) -> Concept:
    written = words_of(fold(text))
    spellings = [value.split("-"), *([written] if written and not CJK_RUN.search(text) else [])]
    spelled = [Phrase(tuple(words)) for words in spellings if len(words) > 1]
    expr = Or((Term(f"d{value.replace('-', '')}", "dt"), *spelled))
    return Concept(value, "date", expr, tuple(written), "", weight)


STOP_WORDS = frozenset(fold(_STOP_TEXT).split())
