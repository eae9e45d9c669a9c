"""Find compounds that contain a word: `Kündigungsfrist` for `Frist` and for `Kündigung`.

The search asks only for a word that no note contains by itself. The index also keeps long German nouns
backwards, so both ends of a compound are a range of the vocabulary.
"""

from workingset_mcp.index import View
from workingset_mcp.notes.folding import LEAST_PART, mirrored, unmirrored

MOST_COMPOUNDS = 12
_MOST_WORDS = 200  # of a beginning
_AFTER_LETTERS = "\U0010ffff"
_LOST_ENDINGS = ("", "e", "en", "s", "es")  # by a stem


def compounds_with(word: str, view: View) -> tuple[str, ...]:
    """Return compounds that end or begin with a folded word and have at least four letters more."""
    if len(word) < LEAST_PART or not (word.isascii() and word.isalpha()):
        return ()
    return view.once(("compounds", word), lambda: _compounds_with(word, view))


def _compounds_with(word: str, view: View) -> tuple[str, ...]:
    backwards = mirrored(word)
    ending = view.words_between(backwards, f"{backwards}{_AFTER_LETTERS}", MOST_COMPOUNDS)
    found = [unmirrored(compound) for compound, _ in ending]
    for stem, _ in view.words_between(word, f"{word}{_AFTER_LETTERS}", _MOST_WORDS):
        if len(found) >= MOST_COMPOUNDS:
            break
        found += [
            stem for ending in _LOST_ENDINGS if view.document_frequency(mirrored(f"{stem}{ending}"))
        ][:1]
    return tuple(dict.fromkeys(one for one in found if len(one) >= len(word) + LEAST_PART))
