"""Facts to plant in generated notes, each with its exact terms, a question, and the answer.

`FACTS` lists the kinds and the notes they go into. The words that make a fact findable occur nowhere
else, except in `subject` facts, where only the pair is rare.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vault_shapes import Planned, Prose
from vault_words import ATTRIBUTES, INFLECTED, KANJI

LONG_NOTE_BYTES = 40_000


@dataclass(frozen=True, slots=True)
class Fact:
    """A planted fact: its sentence, and the questions for its answer."""

    kind: str
    query: str
    question: str
    answer: str
    sentence: str


def plan_facts(prose: Prose, planned: Sequence[Planned], count: int) -> dict[int, list[Fact]]:
    """Facts by the position of their note in the plan, all kinds in turn."""
    homes: dict[str, list[int]] = {}
    for at, note in enumerate(planned):
        length = "long" if note.least_bytes >= LONG_NOTE_BYTES else "any"
        for home in (note.kind, note.language, length):
            homes.setdefault(home, []).append(at)
    facts: dict[int, list[Fact]] = {}
    asked: set[str] = set()
    while len(asked) < count:
        home, make = FACTS[len(asked) % len(FACTS)]
        at = prose.chance.choice(homes.get(home) or homes["any"])
        fact = make(prose, planned[at])
        if fact.query not in asked:
            asked.add(fact.query)
            facts.setdefault(at, []).append(fact)
    return facts


def _codename(prose: Prose, note: Planned) -> Fact:
    """One word that occurs nowhere else."""
    name, attribute, answer = _name(prose), prose.chance.choice(ATTRIBUTES), _answer(prose)
    return Fact(
        "codename",
        f"{name} {attribute}",
        f"What is the {attribute} for {name}?",
        answer,
        f"For {name} the {attribute} was set to {answer}.",
    )


def _subject(prose: Prose, note: Planned) -> Fact:
    """Every word also occurs elsewhere; only here they occur together."""
    subject, attribute = note.subject or "the wiki", prose.chance.choice(ATTRIBUTES)
    answer = _answer(prose)
    return Fact(
        "subject",
        f"{subject} {attribute}",
        f"Which {attribute} did we agree on with {subject}?",
        answer,
        f"Agreed with {subject}: the {attribute} is {answer}.",
    )


def _identifier(prose: Prose, note: Planned) -> Fact:
    """A ticket, a setting, a network or a version."""
    made = prose.chance.choice(
        (
            f"TKT-{prose.number(10_000, 99_999)}",
            f"cfg_{_name(prose).lower()}_retry_max",
            f"10.{prose.number(1, 250)}.{prose.number(1, 250)}.0/22",
            f"v{prose.number(2, 90)}.14.{prose.number(1, 99)}-rc2",
        )
    )
    answer = _answer(prose)
    question = f"What do we know about {made}?"
    return Fact("identifier", made, question, answer, f"About {made}: settled with {answer}.")


def _inflected(prose: Prose, note: Planned) -> Fact:
    """The note has another form of the words than the query."""
    name, (written, asked), answer = _name(prose), prose.chance.choice(INFLECTED), _answer(prose)
    return Fact(
        "inflected",
        f"{asked} {name} baseline",
        f"How long does {asked} the {name} baseline take?",
        answer,
        f"The {name} baselines {written} within {answer}.",
    )


def _german(prose: Prose, note: Planned) -> Fact:
    """Written with diacritics, asked without them."""
    name, answer = _name(prose), f"{prose.number(10, 990)} Tage"
    return Fact(
        "german",
        f"Kundigungsfrist {name}",
        f"Wie lang ist die Kündigungsfrist für {name}?",
        answer,
        f"Die Kündigungsfrist für {name} beträgt {answer}.",
    )


def _japanese(prose: Prose, note: Planned) -> Fact:
    """A name inside a run of text without spaces."""
    name = "".join(prose.chance.choices(KANJI, k=3)) + "計画"
    answer = f"{prose.number(10, 990)}万円"
    return Fact(
        "japanese",
        name,
        f"{name}の更新価格はいくらですか",
        answer,
        f"今回の{name}の更新価格は{answer}に決まりました。",
    )


def _name(prose: Prose) -> str:
    return prose.spare.pop().capitalize()


def _answer(prose: Prose) -> str:
    number = prose.number(7, 980)
    kinds = (f"{number} days", f"{number} thousand euros", f"{number}.5 percent", prose.person())
    return prose.chance.choice(kinds)


FACTS: tuple[tuple[str, Callable[[Prose, Planned], Fact]], ...] = (  # its notes, its maker
    ("any", _codename),
    ("meeting", _subject),
    ("meeting", _identifier),
    ("wiki", _inflected),
    ("long", _codename),
    ("meeting", _subject),
    ("project", _codename),
    ("de", _german),
    ("ja", _japanese),
    ("any", _identifier),
)
