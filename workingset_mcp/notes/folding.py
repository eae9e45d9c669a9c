"""Fold what people take for the same word: make a text searchable, and find other forms of its words. Pure.

Only the search reads folded text; answers print a text as it is written. Folding changes the length of
a text but keeps its line ends, so a line and its folded line have the same number.

`searchable` is the text that the index and every comparison read. `other_forms` returns further words
for a column of their own: `email` for `e-mail`, `max retry count` for `maxRetryCount`, `mueller` for
`Müller`. `written_forms` and `kindred_forms` do the same for one word that a person typed. Not here:
stems (the index has them).
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from string import ascii_lowercase, ascii_uppercase

# Scripts without blanks between words, as they stand between the brackets of a pattern. Their words are
# overlapping pairs of characters: Han, Kana, Hangul; Thai, Lao, Myanmar and Khmer with their marks.
CJK = (
    r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\uff66-\uff9f"
    r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u109d\u1780-\u17d3"
    r"\U00013200-\U0001342e\U00020000-\U0003ffff"
)
CJK_RUN = re.compile(f"[{CJK}]+")


def _combining(first: int, last: int) -> list[int]:
    return [at for at in range(first, last) if unicodedata.category(chr(at)) in ("Mn", "Mc")]


@cache
def _marks() -> dict[str, str]:
    """Map combining marks, at which tokenizers split a word, to letters: the vowels of many scripts.

    Each is a hieroglyph, which no note has; those of the scripts of `CJK` are in its last range but one.
    """
    spaced = [*_combining(0x900, 0xE00), *_combining(0xF00, 0x1000)]
    unspaced = [*_combining(0xE00, 0xF00), *_combining(0x1000, 0x10A0), *_combining(0x1780, 0x17D4)]
    return {
        chr(mark): chr(first + n)
        for first, marks in ((0x13000, spaced), (0x13200, unspaced))
        for n, mark in enumerate(marks)
    }


@cache
def _marks_back() -> dict[int, str]:
    return {ord(letter): mark for mark, letter in _marks().items()}


_ALIKE = {
    **dict(zip("øØłŁđĐðÐħĦıŧŦёЁςأإآٱىیةک", "oOlLdDdDhHitTеЕσااااييهك", strict=True)),
    "ß": "ss",
    "ẞ": "SS",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "Œ": "OE",
    "þ": "th",
    "Þ": "TH",
    "\u2010": "-",
    "\u2011": "-",
}
_UNSEEN = (  # soft hyphen, zero-width signs, directions, variants; points and marks of Hebrew and Arabic
    r"\u00ad\u034f\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
    r"\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u061c\u0640\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\U000e0100-\U000e01ef"
)
_ACCENTED = (  # Latin and Greek
    r"\u00c0-\u0233\u0300-\u036f\u0386-\u0390\u03aa-\u03b0\u03ca-\u03ce\u1e00-\u1fff"
)
_COMPATIBLE = (  # wide, half-wide, joined and enclosed forms, of letters that have a plain form
    r"\u2160-\u217f\u2f00-\u2fd5\u3200-\u33ff\uf900-\ufaff\ufb00-\ufdff\ufe70-\ufefc\uff03-\uff06\uff0b\uff10-\uff19\uff20-\uff3a\uff41-\uff5a"
    r"\uffa0-\uffef\U0001d400-\U0001d7ff\U0002f800-\U0002fa1f"
)
_FOLDED = re.compile(
    rf"[\uff66-\uff9f{_UNSEEN}{_ACCENTED}{_COMPATIBLE}{''.join(_ALIKE)}"
    r"\u0660-\u0669\u06f0-\u06f9\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983"
    r"\u09bc-\u09cd\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0a70-\u0a75\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03"
    r"\u0b3c-\u0b57\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03"
    r"\u0d3b-\u0d57\u0d81-\u0d83\u0dca-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc"
    r"\u0ec8-\u0ece\u0f18-\u0f39\u0f71-\u0fbc\u102b-\u103e\u1056-\u1059\u105e-\u1074\u1082-\u109d"
    r"\u17b4-\u17d3]"
)
_SEMITIC = re.compile(r"[\u05d0-\u064a]")
_INNER_QUOTE = re.compile(r"[\"'\u05f3\u05f4](?<=[\u05d0-\u05ea].)(?=[\u05d0-\u05ea])")  # `צה"ל`

# The shape of a text: one byte per character, `a` for a letter and `A` for a capital of ASCII. To find
# the few words with other forms in it is much faster than to match a pattern against the text.
_SHAPES = bytes.maketrans(
    f"{ascii_lowercase}?{ascii_uppercase}\n\t".encode(), b"a" * 27 + b"A" * 26 + b"  "
)  # `?` stands for any character beyond ASCII
_PLACES = (b"aA", b"a-", b"A-")
_ADDRESS = re.compile(r"https?://[^\s)>\]]*")
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORD = re.compile(r"[^\W_]+")
_HYPHENATED = re.compile(r"/[^\W_]+(?:-[^\W_]+)*|([^\W_]+(?:-[^\W_]+)*)")
_MOST_PARTS = 6
_MOST_WORDS, _LONGEST_STRETCH = 1 << 14, 40
_GROUPED = re.compile(
    r"(?<![\w.,])[0-9]{1,3}(?:(?:,[0-9]{3})+(?!\w|,\w)|(?:\.[0-9]{3})+(?!\w|\.\w)"
    r"|(?:['’\u00a0\u2009\u202f][0-9]{3})+(?!\w)|(?: [0-9]{3}){2,9}(?! ?[0-9]|\w))"
)
_UNGROUPED = re.compile(r"[1-9][0-9]{3,14}")
_NO_DIGIT = re.compile(r"[^0-9]")
_TWO_LETTER = re.compile("[äöüøåÄÖÜØÅ\u0308\u030a]")
_TWO_LETTERS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "Ä": "ae", "Ö": "oe", "Ü": "ue", "Ø": "oe", "Å": "aa"}
)  # fmt: skip
_PREFIXED = re.compile(  # the article of Arabic and what joins it; letters before a Hebrew word
    r"(?:(?<!\w)|(?<=_))(?:[وفبك]?ال|لل|[הובכלמש])(?=[\u05d0-\u05ea\u0621-\u064a]{3})"
)
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_EMOJI = re.compile(r"[\u2600-\u27bf\u2b05-\u2b55\U0001f300-\U0001faff]")
_PERCENT = re.compile(r"%(?:(?<=[0-9]%)|(?<=[0-9] %))")
_SAME_WORDS = {
    "prozent": "percent",
    "procent": "percent",
    "euros": "euro",
    "€": "euro",
    "%": "percent",
}
# Long German nouns are kept backwards too, in letters of no other word: what they end with is found.
_NOUN = re.compile(r"[A-Z](?<!\w[A-Z])[a-z]{9,39}(?!\w)")
_MIRROR = {chr(97 + n): chr(0x561 + n) for n in range(26)}
_MIRRORED = str.maketrans(_MIRROR)
_UNMIRRORED = str.maketrans({mirrored: letter for letter, mirrored in _MIRROR.items()})
LEAST_PART = 4  # letters of a compound's part


def fold(text: str) -> str:
    """Fold a text for comparison: searchable, in lower case."""
    text = text.lower()
    return text if text.isascii() else _searchable(text, _lowered)


def searchable(text: str) -> str:
    """Make a text searchable: no invisible signs, no accents, plain forms; the case stays."""
    return text if text.isascii() else _searchable(text, _folded)


def other_forms(text: str, plain: str) -> str:
    """Return the other forms of the words of a text: words for the index, each once.

    `plain` is the same text, made `searchable`.
    """
    found = list(filter(None, map(_FORMS.__getitem__, _words_with_forms(plain))))
    if "%" in plain and _PERCENT.search(plain):
        found.append("percent")
    if not text.isascii():
        found.extend(_forms_beyond_ascii(text, plain))
    if nouns := _mirrored_nouns(plain):
        found.append(nouns)
    return " ".join(dict.fromkeys(found)) if found else ""


def all_forms(text: str) -> str:
    """Return the other forms of the words of a text that is not yet searchable."""
    return other_forms(text, searchable(text))


def written_forms(word: str) -> tuple[tuple[str, ...], ...]:
    """Return other spellings of a word that a person typed, each as one word or several.

    The index finds the typed form in every such note: to look for these in what is written is enough.
    """
    plain = searchable(word)
    one_word = [*_joined(plain), *_spelled_out(word)]
    parted = [tuple(words.split()) for words in _parted(plain)]
    found = [*((one,) for one in one_word), *parted, *_number_forms(plain)]
    return tuple(dict.fromkeys(found))


def kindred_forms(word: str) -> tuple[tuple[str, ...], ...]:
    """Return words that stand for a typed one: without its prefixes, or for a sign."""
    same = _SAME_WORDS.get(word.lower())
    one_word = [same] if same else [] if word.isascii() else _without_prefixes(searchable(word))
    return tuple((one,) for one in one_word)


def joined_numbers(text: str) -> str:
    """Join the digits of numbers such as `1 250 000` to one word."""
    return _GROUPED.sub(
        lambda found: found[0].replace(" ", "") if " " in found[0] else found[0], text
    )


def emoji_in(text: str) -> list[str]:
    """Return the emoji of a text."""
    return _EMOJI.findall(text)


def word_of_emoji(emoji: str) -> str:
    """Return the word that stands for an emoji in the index."""
    return f"u{ord(emoji):x}"


def mirrored(word: str) -> str:
    """Write words backwards, in letters of no other word."""
    return word[::-1].translate(_MIRRORED)


def unmirrored(word: str) -> str:
    """Return the compound that the index keeps backwards."""
    return word.translate(_UNMIRRORED)[::-1]


def as_read(word: str) -> str:
    """Return a folded word with its vowel marks, for people."""
    return word if word.isascii() else word.translate(_marks_back())


def _searchable(text: str, folded: Callable[[str], str]) -> str:
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    if _FOLDED.search(text):
        text = _FOLDED.sub(lambda found: folded(found[0]), text)
        if "\u3099" in text or "\u309a" in text:  # the marks of half-width Katakana
            text = unicodedata.normalize("NFC", text)
    if _SEMITIC.search(text):
        text = _INNER_QUOTE.sub("", text)
    return text


@lru_cache(maxsize=4096)
def _folded(signs: str) -> str:
    plain = "".join(map(_without_accent, unicodedata.normalize("NFKC", signs)))
    return "".join(map(_plain, plain))


def _plain(sign: str) -> str:
    letter = _ALIKE.get(sign) or (sign >= "\u0900" and _marks().get(sign))
    if letter:
        return letter
    is_unseen = sign == "\u0640" or unicodedata.category(sign) in ("Cf", "Mn")
    return "" if is_unseen and sign not in "\u3099\u309a" else sign


@lru_cache(maxsize=4096)
def _lowered(signs: str) -> str:
    return _folded(signs).lower()


def _without_accent(letter: str) -> str:
    if "\u0660" <= letter <= "\u06f9" and letter.isdecimal():
        return str(unicodedata.decimal(letter))
    if "\u0400" <= letter < "\u1e00" or letter > "\u1fff":
        return letter
    decomposed = unicodedata.normalize("NFD", letter)
    return "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")


def _words_with_forms(text: str) -> dict[str, None]:
    """Return the words of a text that may have other forms, and words between the same blanks; none of an address."""
    if "://" in text:
        text = _ADDRESS.sub(" ", text)
    shape = text.encode("ascii", "replace").translate(_SHAPES)
    stretches: list[str] = []
    for place in _PLACES:
        at = shape.find(place)
        while at >= 0:
            least, most = max(0, at - _LONGEST_STRETCH), at + _LONGEST_STRETCH
            first, end = shape.rfind(b" ", least, at) + 1, shape.find(b" ", at, most)
            if not first and end < 0 and most < len(shape) and text[least:most].isascii():
                end = shape.find(b" ", most)  # in no word but a key, an image in base64, a path
                if end < 0:
                    break
            else:
                end = end if end > 0 else most
                stretches.append(text[first or least : end])
            at = shape.find(place, end)
    return dict.fromkeys(_HYPHENATED.findall(" ".join(stretches)))


class _Forms(dict[str, str]):
    """The parted and joined forms of words; the same few stand everywhere in a vault."""

    def __missing__(self, word: str) -> str:
        forms = " ".join((*_parted(word), *_joined(word)))
        if len(self) >= _MOST_WORDS:
            self.clear()
        self[word] = forms
        return forms


_FORMS = _Forms()


def _joined(word: str) -> tuple[str, ...]:
    """Return `email` for `e-mail`."""
    parts = word.split("-")
    if not 2 <= len(parts) <= 3 or not all(map(str.isalnum, parts)) or not word[0].isalpha():
        return ()
    return ("".join(parts).lower(),)


def _parted(word: str) -> tuple[str, ...]:
    """Return `max retry count` for `maxRetryCount`, but not `num py` or `git hub`: those are names."""
    found = []
    for part in word.split("-"):
        parts = _CAMEL_PART.findall(part)
        if not 2 <= len(parts) <= _MOST_PARTS or "".join(parts) != part:
            continue
        least = 4 if part[0].isupper() and len(parts) == 2 else 2
        if min(map(len, parts)) >= least:
            found.append(" ".join(parts).lower())
    return tuple(found)


def _number_forms(word: str) -> Iterator[tuple[str, ...]]:
    """Yield `1250000` for `1,250,000`, and `1 250 000` for `1250000`."""
    if _GROUPED.fullmatch(word):
        yield (_NO_DIGIT.sub("", word),)
    elif _UNGROUPED.fullmatch(word):
        first = len(word) % 3 or 3
        yield (word[:first], *(word[at : at + 3] for at in range(first, len(word), 3)))


def _forms_beyond_ascii(text: str, plain: str) -> Iterator[str]:
    beyond = "".join(_BEYOND_ASCII.findall(text))
    if _TWO_LETTER.search(beyond):
        yield _spelled_out_in(text)
    if "€" in beyond:
        yield "euro"
    yield from map(word_of_emoji, _EMOJI.findall(beyond))
    if _SEMITIC.search(plain):
        for prefix in _PREFIXED.finditer(plain):
            if prefixed := _WORD.match(plain, prefix.start()):
                yield from _without_prefixes(prefixed[0])


def _spelled_out(word: str) -> tuple[str, ...]:
    """Return `mueller` for `Müller`."""
    forms = _spelled_out_in(word)
    return (forms,) if forms else ()


def _spelled_out_in(text: str) -> str:
    """Spell out all words with a letter such as `ü` at once: far cheaper than one by one."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    stretches = [one for one in dict.fromkeys(text.split()) if not one.isascii()]
    words = [word for word in _WORD.findall(" ".join(stretches)) if _TWO_LETTER.search(word)]
    return fold(" ".join(words).translate(_TWO_LETTERS))


@lru_cache(maxsize=4096)
def _without_prefixes(word: str) -> tuple[str, ...]:
    """Return a Hebrew or Arabic word without the article or the letters before it."""
    found: list[str] = []
    for _ in range(2):
        prefix = _PREFIXED.match(word)
        if not prefix:
            break
        word = word[prefix.end() :]
        found.append(word)
    return tuple(found)


def _mirrored_nouns(text: str) -> str:
    if " und " in text or " der " in text:  # German
        return mirrored(" ".join(dict.fromkeys(_NOUN.findall(text))).lower())
    return ""
