"""Find every section that contains all words of a query: an exhaustive filter, unlike a ranked search.

The word index finds most matches. What it cannot see (front matter, a phrase across two pieces, CJK words
of a title, `C++`) is looked up in the text. Not here: ranking (`search`).
"""

from collections.abc import Sequence
from functools import cached_property

from workingset_mcp.answers.search.hits import among_forms
from workingset_mcp.answers.search.query import Concept, parse_query, words_of
from workingset_mcp.index import View, open_stemmer
from workingset_mcp.index.query import Expr, Term
from workingset_mcp.index.rows import SectionRow
from workingset_mcp.notes.dates import find_dates
from workingset_mcp.notes.folding import all_forms, fold

Start = tuple[int, int]  # note id, and ordinal of the first piece of a section


class Matcher:
    """A query to compare with texts. Close it after use."""

    def __init__(self, query: str) -> None:
        self.concepts = parse_query(query).concepts
        self._stemmer = open_stemmer()

    def close(self) -> None:
        """Close the stemmer."""
        self._stemmer.close()

    def __enter__(self) -> "Matcher":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def holds_all(self, text: str) -> bool:
        """Return whether a text contains every concept of the query; False if the query has none."""
        words = _words_in(text)
        return bool(self.concepts) and all(self._holds(c, text, words) for c in self.concepts)

    def holds(self, concept: Concept, text: str) -> bool:
        """Return whether a text contains one concept."""
        return self._holds(concept, text, _words_in(text))

    def _holds(self, concept: Concept, text: str, words: Sequence[str]) -> bool:
        if concept.kind == "cjk":
            return concept.words[0] in fold(text)
        if concept.kind == "date":
            return any(date.value == concept.text for date in find_dates(text))
        if concept.literal and concept.literal not in fold(text):
            return False
        return any(self._follow(form, words) for form in (concept.words, *concept.forms))

    def _follow(self, phrase: Sequence[str], words: Sequence[str]) -> bool:
        """Return whether the words of a phrase follow one another."""
        return any(
            all(self._same(words[at + n], word) for n, word in enumerate(phrase))
            for at in range(len(words) - len(phrase) + 1)
            if words[at][:1] == phrase[0][:1]
        )

    def _same(self, one: str, other: str) -> bool:
        return one == other or (
            one[:2] == other[:2] and self._stemmer.stem(one) == self._stemmer.stem(other)
        )


def _words_in(text: str) -> list[str]:
    """Return the words of a text, followed by their other forms."""
    return words_of(f"{fold(text)}\n{all_forms(text)}")


def sections_with(view: View, branch: str | None, query: str) -> list[Start]:
    """Return the start of every section that contains all words of a query."""
    with Matcher(query) as matcher:
        lookup = _Lookup(view, branch, matcher)
        found: set[Start] | None = None
        for concept in matcher.concepts:
            found = lookup.sections_of(concept, found)
            if not found:
                break
    return sorted(found or ())


class _Lookup:
    """The look-up of one query in the vault, or in one branch."""

    def __init__(self, view: View, branch: str | None, matcher: Matcher) -> None:
        self._view = view
        self._branch = branch
        self._matcher = matcher
        self._fronts = [
            ((note_id, ordinal), text) for note_id, ordinal, text in view.front_matters(branch)
        ]

    def sections_of(self, concept: Concept, among: set[Start] | None) -> set[Start]:
        """Return the sections that contain a concept; with `among`, only sections in it."""
        found = self._indexed(concept.expr)
        found = found if among is None else found & among
        if concept.kind == "cjk" or concept.literal:
            found = {start for start in found if self._says(start, concept)}
        elif concept.kind != "date":
            doubtful = found & self._indexed(among_forms(concept))
            found -= {start for start in doubtful if not self._says(start, concept)}
        if concept.kind == "phrase":
            found |= self._over_piece_ends(concept, found, among)
        for start, text in self._fronts:
            is_open = start not in found and (among is None or start in among)
            if is_open and self._matcher.holds(concept, text):
                found.add(start)
        return found

    def _indexed(self, expr: Expr) -> set[Start]:
        rows = self._view.matching_sections(expr, self._branch)
        return {
            (note_id, ordinal) if opens else self._start_of((note_id, ordinal))
            for note_id, ordinal, opens in rows
        }

    def _start_of(self, piece: Start) -> Start:
        return piece[0], self._view.section_start(*piece)

    def _says(self, start: Start, concept: Concept) -> bool:
        """Check a match of the index against the text of the section and the headings above it."""
        rows = self._view.whole_section(*start)
        return self._matcher.holds(concept, text_under_headings(rows))

    def _over_piece_ends(
        self, concept: Concept, found: set[Start], among: set[Start] | None
    ) -> set[Start]:
        """Find long sections with a phrase that spans the end of one piece and the start of the next."""
        candidates = self._in_pieces - found
        if among is not None:
            candidates &= among
        for word in concept.words:
            if not candidates:
                break
            candidates &= self._indexed(Term(word))
        return {start for start in candidates if self._says(start, concept)}

    @cached_property
    def _in_pieces(self) -> set[Start]:
        """Long sections: the index stores them in pieces."""
        return {self._start_of(piece) for piece in self._view.later_pieces(self._branch)}


def text_under_headings(rows: Sequence[SectionRow]) -> str:
    """Return the headings above a section, then its text."""
    above = "\n".join(rows[0].headings[:-1])
    return f"{above}\n{''.join(row.text for row in rows)}"
