"""A vault in which every line has a unique word, and what must be found in it.

`Planted` edits files the way people and programs do, and keeps the expected text of each note in a plain
dict, the reference for comparing answers. The reference uses none of the package's code. Not here:
asking (`stress_freshness`, `stress_servers`, `stress_crash`).
"""

import os
import random
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path

WORD = re.compile(r"zq[b-z]{10}")
SHARED_WORDS = tuple(f"zwk{a}{b}xq" for a in "bcdf" for b in "ghj")
FOLDERS = (
    "cust/acme",
    "cust/acme/meetings",
    "cust/acme-labs",
    "cust/brunnfeld/deep/er",
    "projects/pump",
    "wiki",
    "log",
    "",
)
_LETTERS = "bcdfghjkmpqvwxz"  # no vowel, s, l or y: the stemmer leaves such words unchanged
_CARRIERS = ("cust", "projects")
_REMEMBERED = 400


class Planted:
    """A vault on disk; `texts` has the content of every note file in it, including ignored ones."""

    def __init__(self, root: Path, *, seed: int, beside: int = 0) -> None:
        self.root = root
        self.outside = root.with_name(f"{root.name}-outside")
        self.chance = random.Random(seed)
        self.texts: dict[str, str] = {}
        self.still: dict[str, str] = {}  # notes that are never edited
        self.ignored: dict[str, tuple[str, ...]] = {}  # folder of an ignore file -> its lines
        self.gone: deque[str] = deque(maxlen=_REMEMBERED)  # words that were in a note
        self.changed: deque[str] = deque(maxlen=20)  # notes, latest last
        self.changed_at: dict[str, float] = {}
        self.links: dict[str, Path] = {}  # folders that are links: their real place
        self.between: Callable[[], None] = lambda: None  # called in the middle of a save
        self.shared_counts: dict[str, list[tuple[float, int]]] = {w: [] for w in SHARED_WORDS}
        self._names = 0
        root.mkdir(parents=True)
        self.outside.mkdir()
        (self.outside / "secret.md").write_text(f"# {self.word()}\n", encoding="utf-8")
        for at in range(beside):
            path = f"archive/{at % 40:02}/n{at:05}.md"
            self.still[path] = self.texts[path] = self.text()
            self._write(path, self.texts[path])
        self._log_shared()

    # -- what must be true -------------------------------------------------------------------------

    def visible(self, branch: str | None = None) -> dict[str, str]:
        """The notes that count as sources now, in the vault or in one branch."""
        return {
            path: text
            for path, text in self.texts.items()
            if (branch is None or branch_of(path) == branch) and not self.is_ignored(path)
        }

    def is_ignored(self, path: str) -> bool:
        """Whether an ignore file excludes a note with `/folder/`, `/name.md` or `name.md`."""
        for base, lines in self.ignored.items():
            if base and not path.startswith(f"{base}/"):
                continue
            inner = path[len(base) + 1 :] if base else path
            for line in lines:
                if line.endswith("/"):
                    out = inner.startswith(line[1:])
                elif line.startswith("/"):
                    out = inner == line[1:]
                else:
                    out = inner.rpartition("/")[2] == line
                if out:
                    return True
        return False

    def holders(self, word: str, branch: str | None = None) -> list[str]:
        """The visible notes that contain a word."""
        return [path for path, text in self.visible(branch).items() if word in text]

    def real(self, path: str) -> str:
        """Where a path of the vault leads, through links too; a path out of the vault is not a note."""
        file = self.root / path
        if not file.is_symlink():
            return path
        target = file.readlink()
        return target.relative_to(self.root).as_posix() if self.root in target.parents else ""

    def counts_since(self, word: str, moment: float) -> set[int]:
        """How many visible notes have contained a shared word at any time since a moment."""
        log = self.shared_counts[word]
        first = max((at for at, (when, _) in enumerate(log) if when <= moment), default=0)
        return {count for _, count in log[first:]}

    # -- words and texts ---------------------------------------------------------------------------

    def word(self) -> str:
        """Return a word that was never written before."""
        return "zq" + "".join(self.chance.choice(_LETTERS) for _ in range(10))

    def text(self, tasks: int | None = None) -> str:
        """Return a note of new words; notes with equally many tasks have the same size."""
        word = self.word
        boxes = range(self.chance.randint(1, 3) if tasks is None else tasks)
        return (
            f"# Note {word()}\n\n## 2026-06-{self.chance.randint(10, 28)}\n\n"
            f"plain {word()} and {self.chance.choice(SHARED_WORDS)}\n\n"
            + "".join(f"- [ ] send {word()}\n" for _ in boxes)
            + f"- [x] sent {word()}\n\nDecision: {word()}\n"
        )

    # -- edits, each as some program makes it -------------------------------------------------------

    def edit(self) -> str:
        """Make one random edit and return its name."""
        few = len(self.texts) - len(self.still) < 40
        kind = self.chance.choices(EDITS, weights=_WHEN_FEW if few else _WHEN_MANY)[0]
        kind(self)
        self._log_shared()
        return kind.__name__

    def create(self) -> None:
        """Create a note, possibly in a new folder."""
        self._names += 1
        folder = self.chance.choice(FOLDERS)
        if self._free(folder):
            name = f"n{self._names % 60:02}.md" if self.chance.random() < 0.5 else self._odd_name()
            path = f"{folder}/{name}" if folder else name
            self._write(path, self._keep(path, self.text()))

    def save(self) -> None:
        """Rewrite a note in place."""
        if path := self._any():
            self._write(path, self._keep(path, self.text()))

    def save_unseen(self) -> None:
        """Edit a note in place: same size, same inode, modification time restored."""
        if path := self._any():
            file, before = self.root / path, (self.root / path).stat()
            text = self._keep(path, self.text(self.texts[path].count("- [ ]")))
            with file.open("r+b") as opened:
                opened.write(text.encode())
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def replace(self) -> None:
        """Write a file beside the note and rename it over the note; half the time keep the old times."""
        if path := self._any():
            file, before = self.root / path, (self.root / path).stat()
            beside = file.with_name(f".{file.name}.{self.chance.randint(1, 9)}.tmp")
            beside.write_text(
                self._keep(path, self.text(self.texts[path].count("- [ ]"))), encoding="utf-8"
            )
            if self.chance.random() < 0.5:
                os.utime(beside, ns=(before.st_atime_ns, before.st_mtime_ns))
            beside.replace(file)

    def empty_then_write(self) -> None:
        """Truncate a note and write it a moment later."""
        if path := self._any():
            with (self.root / path).open("wb") as opened:
                self._keep(path, "")
                self._log_shared()
                if self.chance.random() < 0.3:
                    self.between()
                opened.write(self._keep(path, self.text()).encode())

    def rename(self) -> None:
        """Rename a note, possibly over another note."""
        path, folder = self._any(), self.chance.choice(FOLDERS)
        if path and self._free(folder):
            name = self.chance.choice(
                (path.rpartition("/")[2], f"n{self.chance.randint(0, 59):02}.md")
            )
            target = f"{folder}/{name}" if folder else name
            if target != path and not (self.root / target).is_symlink():
                (self.root / folder).mkdir(parents=True, exist_ok=True)
                (self.root / path).rename(self.root / target)
                text = self._drop(path)
                self._keep(target, text)

    def rename_folder(self) -> None:
        """Rename a folder so that the vault no longer sees it, or back."""
        folder = self.chance.choice([name for name in FOLDERS if name])
        hidden = self.root / ".trash" / folder.replace("/", "-")
        if self._free(folder) and (self.root / folder).is_dir() and not hidden.exists():
            hidden.parent.mkdir(exist_ok=True)
            (self.root / folder).rename(hidden)
            for path in self._below(folder):
                self._drop(path)
            self._forget_rules(folder)
        elif hidden.exists() and self._free(folder) and not (self.root / folder).exists():
            (self.root / folder).parent.mkdir(parents=True, exist_ok=True)
            hidden.rename(self.root / folder)
            self._found_again(folder)

    def delete(self) -> None:
        """Delete a note."""
        if path := self._any():
            (self.root / path).unlink()
            self._drop(path)

    def link(self) -> None:
        """Replace a note by a link: to another note, out of the vault, or to nothing."""
        path = self._any()
        target = self.chance.choice(
            (self.outside / "secret.md", self.root / (self._any() or "x.md"))
        )
        if path and target != self.root / path:
            beside = (self.root / path).with_name(".link.tmp")
            beside.unlink(missing_ok=True)
            beside.symlink_to(target)
            beside.replace(self.root / path)
            self._drop(path)

    def link_folder(self) -> None:
        """Move a folder out of the vault and link to it from its old place, or move it back."""
        if self.links and self.chance.random() < 0.7:
            folder, real = self.links.popitem()
            (self.root / folder).unlink()
            real.rename(self.root / folder)
            self._found_again(folder)
            return
        folder = self.chance.choice(("cust/acme-labs", "wiki", "projects/pump"))
        real = self.outside / folder.replace("/", "-")
        if self._free(folder) and (self.root / folder).is_dir() and not real.exists():
            (self.root / folder).rename(real)
            (self.root / folder).symlink_to(real)
            self.links[folder] = real
            for path in self._below(folder):
                self._drop(path)
            self._forget_rules(folder)

    def ignore(self) -> None:
        """Write, change or delete an ignore file, in the vault's root or below."""
        base = self.chance.choice(("", "", "cust/acme", "wiki"))
        file = self.root / base / ".gitignore"
        if not self._free(base) or not file.parent.is_dir():
            return
        if self.chance.random() < 0.3:
            file.unlink(missing_ok=True)
            self.ignored.pop(base, None)
        else:
            names = [f"n{self.chance.randint(0, 59):02}.md" for _ in range(3)]
            lines = self.chance.choice(
                ((names[0],), (names[1], names[2]), ("/log/",), ("/wiki/", names[0]), ("/n01.md",))
            )
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            self.ignored[base] = lines

    # -- small parts -------------------------------------------------------------------------------

    def _any(self) -> str | None:
        mine = [path for path in self.texts if path not in self.still]
        return self.chance.choice(mine) if mine else None

    def _odd_name(self) -> str:
        return self.chance.choice(
            ("größe.md", "2026-06-12 call.md", "a b c.MD", "漢字.md", "x.y.md")
        )

    def _write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink():
            file.unlink()
        file.write_text(text, encoding="utf-8")
        self.changed_at[path] = time.perf_counter()

    def _keep(self, path: str, text: str) -> str:
        """Record the new content of a note; its old words are gone."""
        self.gone.extend(WORD.findall(self.texts.get(path, "")))
        self.texts[path] = text
        self.changed.append(path)
        self.changed_at[path] = time.perf_counter()
        return text

    def _drop(self, path: str) -> str:
        text = self.texts.pop(path)
        self.gone.extend(WORD.findall(text))
        return text

    def _below(self, folder: str) -> list[str]:
        return [path for path in self.texts if path.startswith(f"{folder}/")]

    def _free(self, folder: str) -> bool:
        """Whether no folder at, above or below the path is a link."""
        return not any(
            f"{folder}/".startswith(f"{one}/") or one.startswith(f"{folder}/") for one in self.links
        )

    def _found_again(self, folder: str) -> None:
        """Read the content of a folder that came back."""
        for file in (self.root / folder).rglob("*"):
            path = file.relative_to(self.root).as_posix()
            if file.name == ".gitignore":
                base = path.rpartition("/")[0]
                self.ignored[base] = tuple(file.read_text(encoding="utf-8").splitlines())
            elif not file.is_symlink() and not file.name.startswith(".") and file.is_file():
                text = file.read_text(encoding="utf-8")
                self._keep(path, text)
                for word in WORD.findall(text):
                    while word in self.gone:
                        self.gone.remove(word)

    def _forget_rules(self, folder: str) -> None:
        for base in [b for b in self.ignored if f"{b}/".startswith(f"{folder}/")]:
            del self.ignored[base]

    def _log_shared(self) -> None:
        found: Counter[str] = Counter()
        for text in self.visible().values():
            found.update(word for word in SHARED_WORDS if word in text)
        now = time.perf_counter()
        for word, log in self.shared_counts.items():
            if not log or log[-1][1] != found[word]:
                log.append((now, found[word]))


EDITS: tuple[Callable[[Planted], None], ...] = (
    Planted.create,
    Planted.save,
    Planted.save_unseen,
    Planted.replace,
    Planted.empty_then_write,
    Planted.rename,
    Planted.rename_folder,
    Planted.delete,
    Planted.link,
    Planted.link_folder,
    Planted.ignore,
)
_WHEN_FEW = (20, 3, 4, 4, 3, 1, 0.2, 0.2, 0.3, 0.2, 0.5)
_WHEN_MANY = (2, 3, 4, 4, 3, 1.5, 0.5, 1, 0.7, 0.4, 0.7)


def branch_of(path: str) -> str:
    """The branch of a note as documented: two levels below a carrier, else the top folder."""
    folders = path.split("/")[:-1]
    if not folders:
        return "."
    return "/".join(folders[:2]) if folders[0] in _CARRIERS else folders[0]


def words_in(text: str) -> Iterator[str]:
    """The planted words of a text."""
    return (found[0] for found in WORD.finditer(text))
