"""The content of generated notes: running text by Zipf's law, and the shapes of each kind of note.

`BODIES` is the list of kinds. One seeded random generator makes all choices in a fixed order, so the same
seed gives the same bytes. Not here: which notes there are (`make_vault`), the planted facts
(`vault_facts`).
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate

from vault_words import (
    EVERYDAY,
    FIRST_NAMES,
    FUNCTION,
    GERMAN,
    JAPANESE,
    JAPANESE_GLUE,
    LAST_NAMES,
    invented_words,
)

VOCABULARY = 40_000


@dataclass(frozen=True, slots=True)
class Planned:
    """A note before it is written."""

    path: str
    kind: str  # one of BODIES
    subject: str  # customer or project as people write it; empty if none
    day: date
    least_bytes: int
    language: str = "en"


class Prose:
    """The random generator and the words that all notes are made of."""

    def __init__(self, seed: int, spare_words: int) -> None:
        self.chance = random.Random(seed)
        everyday = list(EVERYDAY)
        self.chance.shuffle(everyday)
        invented = invented_words(self.chance, VOCABULARY + spare_words, {*FUNCTION, *EVERYDAY})
        self.spare = invented[VOCABULARY:]  # never used in running text
        mixed = [word for pair in zip(everyday, invented, strict=False) for word in pair]
        self._words = [*FUNCTION, *mixed, *invented[len(everyday) : VOCABULARY]]
        self._weights = list(accumulate((rank + 2.7) ** -1.05 for rank in range(len(self._words))))
        self._drawn: list[str] = []
        self._at = 0

    def words(self, count: int) -> list[str]:
        """Words of running text."""
        if self._at + count > len(self._drawn):
            self._drawn = self.chance.choices(self._words, cum_weights=self._weights, k=50_000)
            self._at = 0
        self._at += count
        return self._drawn[self._at - count : self._at]

    def phrase(self, fewest: int, most: int) -> str:
        """A few words in a row."""
        return " ".join(self.words(self.chance.randint(fewest, most)))

    def sentence(self) -> str:
        """A sentence; one in six says who does what, or contains a number."""
        text = self.phrase(6, 18)
        drawn = self.chance.random()
        if drawn < 0.12:
            text = f"{self.person()} will send the {text}"
        elif drawn < 0.17:
            text = f"{text} {self.chance.randint(2, 9_999)}"
        return f"{text[0].upper()}{text[1:]}."

    def paragraph(self) -> str:
        """Two to five sentences on one line."""
        return " ".join(self.sentence() for _ in range(self.chance.randint(2, 5)))

    def person(self) -> str:
        """A full name."""
        return f"{self.chance.choice(FIRST_NAMES)} {self.chance.choice(LAST_NAMES)}"

    def number(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return self.chance.randint(least, most)

    def happens(self, share: float) -> bool:
        """True in this share of cases."""
        return self.chance.random() < share

    def day_near(self, day: date, days_before: int, days_after: int) -> date:
        """A day near another one."""
        return day + timedelta(days=self.chance.randint(-days_before, days_after))

    def some(self, fewest: int, most: int, line: Callable[[], str]) -> str:
        """A block of this many lines."""
        return "\n".join(line() for _ in range(self.chance.randint(fewest, most)))


def blocks_of(prose: Prose, note: Planned) -> list[str]:
    """Blocks of a note, to be separated by blank lines, until it reaches its size."""
    blocks = list(BODIES[note.kind](prose, note))
    if note.language != "en":
        blocks += [_foreign_paragraph(prose, note.language) for _ in range(6)]
    if prose.happens(0.2):
        name = prose.words(1)[0]
        blocks.append(f"```python\n# - [ ] no task: in a fence\ndef {name}():\n    return 1\n```")
    if prose.happens(0.15):
        rows = prose.some(3, 8, lambda: f"| {prose.phrase(1, 3)} | {prose.number(1, 999)} |")
        blocks.append(f"| what | number |\n|---|---|\n{rows}")
    size = sum(len(block.encode()) + 2 for block in blocks)
    while size < note.least_bytes:
        blocks.append(_filling(prose, note))
        size += len(blocks[-1]) + 2
    return blocks


def _filling(prose: Prose, note: Planned) -> str:
    drawn = prose.chance.random()
    if drawn < 0.28:
        level = "###" if prose.happens(0.3) else "##"
        return f"{level} {prose.phrase(2, 5).capitalize()}"
    if drawn < 0.42:
        return prose.some(2, 7, lambda: f"- {prose.sentence()}")
    if drawn < 0.48:
        about = note.subject or "the wiki"
        return f"See [[{prose.words(1)[0]}]] and {about}: {prose.phrase(3, 9)}."
    return prose.paragraph()


def _foreign_paragraph(prose: Prose, language: str) -> str:
    if language == "de":
        return " ".join(prose.chance.choices(GERMAN, k=30)).capitalize() + "."
    runs = (prose.chance.choice(JAPANESE) + prose.chance.choice(JAPANESE_GLUE) for _ in range(16))
    return "".join(runs) + "。"


# -- the kinds -----------------------------------------------------------------------------------


def _index(prose: Prose, note: Planned) -> Iterator[str]:
    """Dated status blocks, newest first, then labelled lines."""
    day = note.day
    for _ in range(prose.number(2, 6)):
        clock = f"{prose.number(8, 18)}:{prose.number(0, 59):02d}"
        yield f"## 🔥 STATUS ({day.isoformat()} · {clock} CET): {prose.phrase(2, 6).upper()}"
        yield prose.some(2, 5, lambda: f"- **{prose.person()}:** {prose.sentence()}")
        day = prose.day_near(day, 20, -1)
    dated = day.isoformat()
    yield "## Decisions and owners"
    yield prose.some(2, 6, lambda: f"- **Decision ({dated}):** {prose.sentence()}")
    yield f"- **Owner:** {prose.person()}\n- **Blocker ({dated}):** {prose.sentence()}"


def _open_items(prose: Prose, note: Planned) -> Iterator[str]:
    """Open and done boxes with owners and due dates."""

    def box() -> str:
        due = prose.day_near(note.day, 40, 60).isoformat()
        text = prose.phrase(5, 12)
        if prose.happens(0.35):
            return f"- [x] ~~{text}~~ done {due}"
        mark = "**[URGENT]** " if prose.happens(0.1) else ""
        return f"- [ ] {mark}{text} (@{prose.chance.choice(FIRST_NAMES).lower()}), due: {due}"

    for title in ("Ours", "Theirs"):
        yield f"## {title}"
        yield prose.some(5, 14, box)


def _people(prose: Prose, note: Planned) -> Iterator[str]:
    """A table of people, and an address."""

    def row() -> str:
        return f"| {prose.person()} | {prose.chance.choice(EVERYDAY)} lead | {prose.phrase(2, 5)} |"

    yield f"| Name | Role | Stance |\n|---|---|---|\n{prose.some(4, 10, row)}"
    company = note.path.split("/")[1]
    yield f"Contact: {prose.chance.choice(FIRST_NAMES).lower()}@{company}.example"


def _meeting(prose: Prose, note: Planned) -> Iterator[str]:
    """Attendees, discussion, labelled lines, next steps."""
    yield f"**Attendees:** {', '.join(prose.person() for _ in range(4))}"
    yield "## Notes"
    yield prose.paragraph()
    due = prose.day_near(note.day, 0, 30).isoformat()
    yield "## Decisions"
    yield (
        f"Decision: {prose.sentence()}\n**Owner:** {prose.person()}\nDue: {due}\n"
        f"Blocker: {prose.sentence()}"
    )
    yield "## Next steps"
    yield prose.some(2, 5, lambda: f"- {prose.person()} sends the {prose.phrase(3, 8)}")


def _wiki(prose: Prose, note: Planned) -> Iterator[str]:
    """Running text and some standing rules."""
    yield prose.paragraph()
    if prose.happens(0.3):
        yield prose.some(
            2, 4, lambda: f"- Every {prose.words(1)[0]} must have {prose.phrase(2, 6)}"
        )


def _log(prose: Prose, note: Planned) -> Iterator[str]:
    """Times of a day with one line each."""
    yield prose.some(4, 12, lambda: f"- {prose.number(8, 18):02d}:15 {prose.sentence()}")


def _plain(prose: Prose, note: Planned) -> Iterator[str]:
    """No special blocks."""
    yield prose.paragraph()


BODIES: dict[str, Callable[[Prose, Planned], Iterator[str]]] = {
    "index": _index,
    "open-items": _open_items,
    "people": _people,
    "architecture": _plain,
    "meeting": _meeting,
    "project": _plain,
    "wiki": _wiki,
    "log": _log,
}
