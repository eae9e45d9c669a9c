"""Generate a vault of any size with planted facts; the same seed gives the same bytes.

    python bench/make_vault.py DIR --notes 10000 --seed 1 [--needles 200]

The notes look like customer and project notes: `cust/<name>/context` and `meetings`, `projects`,
`wiki`, `log`. A few are very long, German, Japanese, or odd (CRLF, a byte order mark, invalid YAML
front matter). The facts go to `needles.jsonl` beside DIR, one JSON object per line: kind, query (exact
terms), question, answer, path, line. Not here: what a note contains (`vault_shapes`).
"""

import argparse
import json
import time
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path

from vault_facts import LONG_NOTE_BYTES, Fact, plan_facts
from vault_shapes import Planned, Prose, blocks_of
from vault_words import EVERYDAY, MEETINGS, TRADES, WIKI_TOPICS

NEWEST_DAY = date(2026, 6, 20)
SHARES = {"wiki": 0.20, "projects": 0.14, "log": 0.06}  # customers get the rest
CONTEXT = ("index", "open-items", "people", "architecture")
NOTES_A_CUSTOMER = 40
NOTES_A_PROJECT = 20
LONG_NOTE_EVERY = 250
LONGEST_NOTE_BYTES = 150_000
FOREIGN_NOTE_EVERY = 40
ODD_NOTE_EVERY = 200
FRONT_MATTER_SHARE = 0.55
BROKEN_FRONT_MATTER_SHARE = 0.003


class Plan:
    """The notes to generate, in writing order."""

    def __init__(self, prose: Prose, notes: int) -> None:
        self.prose = prose
        self.notes: list[Planned] = []
        self._names: set[str] = set()
        self._add_projects(int(notes * SHARES["projects"]))
        self._add_wiki(int(notes * SHARES["wiki"]))
        self._add_log(int(notes * SHARES["log"]))
        self._add_customers(max(2, notes // NOTES_A_CUSTOMER), notes)
        del self.notes[notes:]

    def _add(self, path: str, kind: str, subject: str, day: date) -> None:
        at, language = len(self.notes), "en"
        least_bytes = int(min(14_000, max(600, self.prose.chance.lognormvariate(8.16, 0.55))))
        if kind in ("project", "wiki", "meeting"):
            if at % LONG_NOTE_EVERY == LONG_NOTE_EVERY - 1:
                least_bytes = self.prose.number(LONG_NOTE_BYTES, LONGEST_NOTE_BYTES)
            if at % FOREIGN_NOTE_EVERY == 0:
                language = self.prose.chance.choice(("de", "ja"))
        self.notes.append(Planned(path, kind, subject, day, least_bytes, language))

    def _add_customers(self, customers: int, notes: int) -> None:
        names = [
            f"{self.prose.spare.pop().capitalize()} {self.prose.chance.choice(TRADES)}"
            for _ in range(customers)
        ]
        folders = [f"cust/{name.lower().replace(' ', '-')}" for name in names]
        for name, folder in zip(names, folders, strict=True):
            for kind in CONTEXT:
                day = self.prose.day_near(NEWEST_DAY, 25, 0)
                self._add(f"{folder}/context/{kind}.md", kind, name, day)
        weights = list(accumulate((rank + 4) ** -0.7 for rank in range(customers)))
        taken: set[str] = set()
        while len(self.notes) < notes:
            (at,) = self.prose.chance.choices(range(customers), cum_weights=weights)
            day = self.prose.day_near(NEWEST_DAY, 900, 0)
            topic = self.prose.chance.choice(MEETINGS)
            path = f"{folders[at]}/meetings/{day.isoformat()}-{topic}.md"
            if path not in taken:
                taken.add(path)
                self._add(path, "meeting", names[at], day)

    def _add_projects(self, count: int) -> None:
        name = folder = ""
        for number in range(count):
            day = self.prose.day_near(NEWEST_DAY, 700, 0)
            if number % NOTES_A_PROJECT == 0:
                thing = self.prose.chance.choice(EVERYDAY)
                name = f"{self.prose.spare.pop().capitalize()} {thing}"
                folder = f"projects/{name.lower().replace(' ', '-')}"
                self._add(f"{folder}/index.md", "index", name, day)
            elif number % 3 == 0:
                path = f"{folder}/{day.isoformat()}-{self._name()}.md"
                self._add(path, "meeting", name, day)
            else:
                self._add(f"{folder}/{self._name()}.md", "project", name, day)

    def _name(self) -> str:
        """A unique name of a few words, without numbers, which could be read as a year."""
        name = "-".join(self.prose.words(2))
        while name in self._names:
            name += f"-{self.prose.words(1)[0]}"
        self._names.add(name)
        return name

    def _add_wiki(self, count: int) -> None:
        for number in range(count):
            topic = WIKI_TOPICS[number % len(WIKI_TOPICS)]
            self._add(f"wiki/{topic}/{self._name()}.md", "wiki", "", NEWEST_DAY)

    def _add_log(self, count: int) -> None:
        for number in range(count):
            day = NEWEST_DAY - timedelta(days=number)
            self._add(f"log/{day.isoformat()}.md", "log", "", day)


def text_of(prose: Prose, note: Planned, facts: Sequence[Fact]) -> str:
    """The text of a note, with each fact as a paragraph in the second half."""
    blocks = blocks_of(prose, note)
    for fact in facts:
        blocks.insert(prose.number(len(blocks) // 2, len(blocks)), fact.sentence)
    stem = note.path.rpartition("/")[2].removesuffix(".md")
    title = f"{note.subject} {stem}".strip().replace("-", " ").capitalize()
    head = ""
    if note.kind != "log" and prose.happens(FRONT_MATTER_SHARE):
        tags = ", ".join(prose.chance.sample(EVERYDAY, 3))
        broken = ": [" if prose.happens(BROKEN_FRONT_MATTER_SHARE) else ""
        dated = f"date: {note.day.isoformat()}\n" if note.kind != "wiki" else ""
        head = f'---\ntitle: "{title}"{broken}\n{dated}tags: [{tags}]\n---\n'
    return f"{head}# {title}\n\n" + "\n\n".join(blocks) + "\n"


def write_vault(folder: Path, *, notes: int, seed: int, needles: int) -> int:
    """Write the notes and `needles.jsonl`; return the total bytes of the notes."""
    prose = Prose(seed, spare_words=notes // 10 + 2 * needles + 100)
    planned = Plan(prose, notes).notes
    facts = plan_facts(prose, planned, needles)
    told: list[str] = []
    total_bytes = 0
    for at, note in enumerate(planned):
        text = text_of(prose, note, facts.get(at, ()))
        told.extend(_needle(fact, note.path, text) for fact in facts.get(at, ()))
        if at % ODD_NOTE_EVERY == 7:
            text = text.replace("\n", "\r\n")
        elif at % ODD_NOTE_EVERY == 8:
            text = f"\ufeff{text}"
        path = folder / note.path
        path.parent.mkdir(parents=True, exist_ok=True)
        total_bytes += path.write_bytes(text.encode())
    needles_file(folder).write_bytes("".join(told).encode())
    return total_bytes


def needles_file(vault: Path) -> Path:
    """The path of the file that lists the facts planted in a vault."""
    return vault.parent / "needles.jsonl"


def _needle(fact: Fact, path: str, text: str) -> str:
    line = text[: text.index(fact.sentence)].count("\n") + 1
    shown = {
        "kind": fact.kind, "query": fact.query, "question": fact.question, "answer": fact.answer,
        "path": path, "line": line,
    }  # fmt: skip
    return f"{json.dumps(shown, ensure_ascii=False)}\n"


def main() -> None:
    """Generate a vault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new or empty folder")
    parser.add_argument("--notes", type=int, default=1_300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--needles", type=int, default=200, help="how many facts (default 200)")
    chosen = parser.parse_args()
    folder: Path = chosen.folder
    if folder.exists() and any(folder.iterdir()):
        parser.error(f"{folder} is not empty: give a new folder, or remove what it holds")
    started = time.perf_counter()
    total = write_vault(folder, notes=chosen.notes, seed=chosen.seed, needles=chosen.needles)
    print(
        f"{chosen.notes:,} notes, {total / 1e6:.1f} MB"
        f" ({total / max(1, chosen.notes) / 1e3:.2f} KB a note), {chosen.needles} needles,"
        f" in {time.perf_counter() - started:.1f} s"
    )


if __name__ == "__main__":
    main()
