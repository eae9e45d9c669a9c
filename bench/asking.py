"""Questions to a workspace over a planted vault, each answer compared with the files.

`QUESTIONS` is the list. A question asks one client and counts every fault in a `Tally`. Each line has
a unique word, which identifies an outdated line in an answer (`planted`). Not here: the edits
(`planted`), and the order of edits and questions (`stress_freshness`).
"""

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping

from planted import FOLDERS, SHARED_WORDS, Planted, branch_of, words_in

from workingset_mcp.answers.answer import printed
from workingset_mcp.errors import WorkingsetError
from workingset_mcp.workspace.facade import Workspace

LATE_SECONDS = 0.4
OLD = "quotes what is in no file"
CONTRADICTS = "contradicts the files"
MISSING = "missing after 400 ms"
_SHOWN_EXAMPLES = 3
_FOUND = re.compile(r"search · [\d,]+ passages? from ([\d,]+) notes?")
_MORE = re.compile(r"^([\d,]+) more notes? match", re.MULTILINE)
_ITEMS = re.compile(r"items · \w+: ([\d,]+) in ")
_SOURCES = re.compile(r"^source_notes: (\d+)$", re.MULTILINE)
_OVERVIEW = re.compile(
    r"^- \*\*(.+?)\*\* · ([\d,]+) open items?.* · ([\d,]+) notes?, about", re.MULTILINE
)


class Tally:
    """Counts of questions and of faults, with the first examples of each."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter({OLD: 0, CONTRADICTS: 0, MISSING: 0})
        self.examples: dict[str, list[str]] = {}
        self.longest = 0.0

    def note(self, what: str, example: str) -> None:
        """Count a fault."""
        self.wrong[what] += 1
        if len(kept := self.examples.setdefault(what, [])) < _SHOWN_EXAMPLES:
            kept.append(example[:300])

    def show(self, title: str) -> None:
        """Print the tally."""
        asked = sum(self.asked.values())
        print(f"\n## {title}: {asked:,} answers, longest {self.longest * 1e3:,.0f} ms")
        print("   " + ", ".join(f"{name} {count:,}" for name, count in sorted(self.asked.items())))
        for what, count in sorted(self.wrong.items()):
            print(f"{what:<44} {count:>6,}")
            for example in self.examples.get(what, []):
                print(f"      e.g. {example}")


class Lag(threading.Thread):
    """How late this machine wakes a thread after a sleep of 10 ms; deadlines must allow for it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._late: list[tuple[float, float]] = []

    def run(self) -> None:
        """Measure forever."""
        while True:
            started = time.perf_counter()
            time.sleep(0.01)
            now = time.perf_counter()
            self._late = [*self._late[-200:], (now, now - started - 0.01)]

    def lately(self) -> float:
        """Sum the delays of the last second, in seconds."""
        since = time.perf_counter() - 1.0
        return sum(late for when, late in self._late if when > since and late > 0.005)


class Asker:
    """Ask one of the clients and compare its answer with the files."""

    def __init__(self, planted: Planted, clients: Mapping[str, Workspace], lag: Lag) -> None:
        self.planted = planted
        self.clients = clients
        self.lag = lag
        self.tally = Tally()
        self.chance = random.Random(planted.chance.random())
        self.doing = "nothing"

    def ask(self) -> None:
        """Ask a random client a question of a random kind."""
        self.chance.choice(QUESTIONS)(self, self.client())

    def client(self) -> str:
        """The name of a random client."""
        return self.chance.choice(list(self.clients))

    def branch(self) -> str:
        """A random branch; it may have no notes now."""
        return branch_of(f"{self.chance.choice(FOLDERS)}/x.md".lstrip("/"))

    def answer(self, kind: str, client: str, call: Callable[[Workspace], str]) -> str | None:
        """Return the answer, or None if it was refused. Anything but a plain refusal is an error."""
        started = time.perf_counter()
        try:
            return call(self.clients[client])
        except WorkingsetError:
            return None
        except Exception as error:  # noqa: BLE001  # any exception that a call raises is a finding, counted here
            self.tally.note(f"raises {type(error).__name__}", f"{kind}: {error}")
            return None
        finally:
            self.tally.asked[kind] += 1
            self.tally.longest = max(self.tally.longest, time.perf_counter() - started)

    def wrong(self, what: str, kind: str, client: str, details: object) -> None:
        """Count a wrong answer."""
        self.tally.note(what, f"{kind}, {client} client, after {self.doing}: {details}")

    def true_words(
        self, kind: str, client: str, text: str, branch: str | None = None, asked: str = ""
    ) -> None:
        """Every planted word of an answer must be in a file of its scope now."""
        there = set(words_in("\n".join(self.planted.visible(branch).values())))
        old = [word for word in words_in(text) if word not in there and word != asked]
        if old:
            self.wrong(OLD, kind, client, f"{old[:2]} in {head(text)}")

    def count(self, kind: str, client: str, said: int, right: int) -> None:
        """A count must match the files."""
        if said != right:
            self.wrong(CONTRADICTS, kind, client, f"says {said}, files say {right}")

    def refused(self, kind: str, client: str, branch: str) -> None:
        """A branch may be refused only if it has no note."""
        if notes := len(self.planted.visible(branch)):
            self.wrong(CONTRADICTS, kind, client, f"{branch} refused, has {notes} notes")

    # -- questions ---------------------------------------------------------------------------------

    def present(self, client: str) -> None:
        """A word of a note, often one just edited, must be found there."""
        visible = self.planted.visible()
        recent = [path for path in self.planted.changed if path in visible]
        use_recent = recent and self.chance.random() < 0.7
        path = self.chance.choice(recent if use_recent else list(visible)) if visible else ""
        words = list(words_in(visible.get(path, "")))
        if not words:
            return
        word = self.chance.choice(words)
        text = (
            self.answer("search, a word that is there", client, lambda w: printed(w.search(word)))
            or ""
        )
        self.true_words("search", client, text, asked=word)
        if word not in text.partition("\n")[2] or f"### {path}:" not in text:
            self.wrong(CONTRADICTS, "search", client, f"{word} of {path}: {head(text)}")

    def absent(self, client: str) -> None:
        """A word that was removed from a note must not be found."""
        gone = list(self.planted.gone)[-40:]
        word = self.chance.choice(gone) if gone else ""
        if not word or self.planted.holders(word):
            return
        text = (
            self.answer("search, a word that is gone", client, lambda w: printed(w.search(word)))
            or ""
        )
        self.true_words("search", client, text, asked=word)
        if "nothing found" not in head(text):
            self.wrong(OLD, "search", client, f"{word}: {head(text)}")

    def shared(self, client: str, *, at_rest: bool = False) -> None:
        """A word of several notes: every quoted note must contain it, and within 400 ms all are quoted."""
        word, branch = self.chance.choice(SHARED_WORDS), self.branch()
        within = branch if self.chance.random() < 0.3 else None
        started = time.perf_counter()
        text = self.answer(
            "search, a word of several", client,
            lambda w: printed(w.search(word, branch=within, budget=6_000)),
        )  # fmt: skip
        if text is None:
            self.refused("search", client, branch)
            return
        self.true_words("search", client, text, within)
        said = sum(number(found[1]) for found in (_FOUND.search(text), _MORE.search(text)) if found)
        right = len(self.planted.holders(word, within))
        if said == right:
            return
        if within is not None or "nothing found" in head(text):
            self.count("search", client, said, right)
            return
        since = started - LATE_SECONDS - self.lag.lately()
        if said not in self.planted.counts_since(word, since):
            what = f"{MISSING}, at rest" if at_rest else MISSING
            self.wrong(what, "search", client, f"{word} in {said} notes, files say {right}")

    def brief(self, client: str) -> None:
        """A brief quotes its branch as it is now and counts its notes."""
        branch = self.branch()
        text = self.answer("brief", client, lambda w: printed(w.brief(branch, 3_000)))
        if text is None:
            self.refused("brief", client, branch)
            return
        self.true_words("brief", client, text, branch)
        if found := _SOURCES.search(text):
            self.count("brief", client, int(found[1]), len(self.planted.visible(branch)))

    def overview(self, client: str) -> None:
        """The overview lists every branch with its notes and open items."""
        text = self.answer("overview", client, lambda w: printed(w.brief(budget=6_000))) or ""
        said = {name: (number(boxes), number(notes)) for name, boxes, notes in
                _OVERVIEW.findall(text)}  # fmt: skip
        right: dict[str, tuple[int, int]] = {}
        for path, note in self.planted.visible().items():
            boxes, notes = right.get(branch_of(path), (0, 0))
            right[branch_of(path)] = (boxes + note.count("- [ ]"), notes + 1)
        differs = {name: (said.get(name), right.get(name)) for name in said | right
                   if said.get(name) != right.get(name)}  # fmt: skip
        if differs:
            self.wrong(CONTRADICTS, "overview", client, f"(said, right): {differs}")

    def items(self, client: str) -> None:
        """Counts of notes and open boxes, of the vault or a branch."""
        kind, branch = self.chance.choice(("note", "open")), self.branch()
        within = branch if self.chance.random() < 0.5 else None
        text = self.answer("items", client, lambda w: printed(w.items(kind, branch=within)))
        notes = self.planted.visible(within)
        if text is None:
            self.refused("items", client, branch)
            return
        self.true_words("items", client, text, within)
        right = len(notes) if kind == "note" else sum(t.count("- [ ]") for t in notes.values())
        found = _ITEMS.search(text)
        self.count("items", client, number(found[1]) if found else 0, right)

    def opened(self, client: str) -> None:
        """A note is returned word for word; a deleted or ignored one is refused."""
        path = self.chance.choice([*self.planted.changed, *self.planted.texts])
        text = self.answer("open", client, lambda w: printed(w.open(path)))
        right = self.planted.visible().get(self.planted.real(path))
        if (text is None) != (right is None):
            self.wrong(CONTRADICTS, "open", client, f"{path}: {text and head(text)}")
        elif text and right and f"```\n{right}```" not in text:
            self.wrong(OLD, "open", client, path)

    def full(self, client: str) -> None:
        """Full context has all words of a branch and no others."""
        branch = self.branch()
        text = self.answer("full context", client, lambda w: printed(w.full(branch, budget=24_000)))
        if text is None:
            self.refused("full context", client, branch)
            return
        self.true_words("full context", client, text, branch)
        right = set(words_in("\n".join(self.planted.visible(branch).values())))
        if "page 1 of 1" in text and (lost := right - set(words_in(text))):
            self.wrong(CONTRADICTS, "full context", client, f"{branch} lacks {sorted(lost)[:2]}")


QUESTIONS: tuple[Callable[[Asker, str], None], ...] = (
    Asker.present,
    Asker.present,
    Asker.absent,
    Asker.shared,
    Asker.brief,
    Asker.overview,
    Asker.items,
    Asker.opened,
    Asker.full,
)


def head(text: str) -> str:
    """The header line of an answer."""
    return text.partition("\n")[0]


def number(text: str) -> int:
    """A printed number."""
    return int(text.replace(",", ""))
