"""What a vault leaves out: hidden files, folders of programs, `.gitignore` and the settings' patterns.

Each rule keeps what it said of a path, so that a walk of an unchanged vault asks no pattern twice.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NOTE_SUFFIXES = (".md", ".markdown", ".mdx")
IGNORE_FILE = ".gitignore"
LEFT_OUT_FOLDERS = frozenset({"node_modules", "venv", "__pycache__", "dist", "build"})

CONFLICT_COPY = re.compile(
    r"\(.*?(?:conflicted copy|conflict(?:ing)? copy|in konflikt stehende kopie|copie en conflit"
    r"|copia en conflicto).*?\)|\.sync-conflict-\d{8}|_conflict-\d{8}",
    re.IGNORECASE,
)
EDITOR_TEMPORARY = re.compile(r"^~\$|^#.*#$|~$|\.tmp\.(?:md|markdown|mdx)$", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(slots=True)
class Rule:
    """The patterns of one ignore file: for paths below `base` (empty, or ending in a slash)."""

    base: str
    spec: "GitIgnoreSpec"
    said: dict[str, bool | None] = field(default_factory=dict)

    def says(self, path: str) -> bool | None:
        """True: out, False: in after all, None: nothing."""
        if path not in self.said:
            self.said[path] = self.spec.check_file(path[len(self.base) :]).include
        return self.said[path]


Rules = tuple[Rule, ...]


def rule_from(lines: Iterable[str], base: str = "") -> Rule:
    """A rule from lines of patterns."""
    from pathspec import GitIgnoreSpec  # 30 ms, for vaults that have ignore rules

    return Rule(base, GitIgnoreSpec.from_lines(lines))


def rule_of_file(file: Path, folder: str) -> Rule | None:
    """The rule of the ignore file in a folder; None when it is no readable file of its own."""
    try:
        if file.is_symlink():
            return None
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return None
    return rule_from(lines, f"{folder}/" if folder else "")


def is_ignored(path: str, rules: Rules) -> bool:
    """Whether the deepest rule that speaks of a path (a folder ends in a slash) keeps it out."""
    for rule in reversed(rules):
        said = rule.says(path)
        if said is not None:
            return said
    return False


def folders_above(path: str) -> Iterator[str]:
    """Every folder above a path, from the root (`""`) down."""
    yield ""
    parts = path.split("/")[:-1]
    for depth in range(len(parts)):
        yield "/".join(parts[: depth + 1])


def why_folder_is_out(name: str, path: str, rules: Rules) -> str:
    """Why a folder is not walked; empty when it is."""
    if name.startswith("."):
        return "hidden"
    if name in LEFT_OUT_FOLDERS:
        return "left out by default"
    return "ignored" if rules and is_ignored(f"{path}/", rules) else ""


def why_entry_is_odd(name: str, *, is_link: bool) -> str:
    """Why what is neither a file nor a folder is worth a word; empty when it is not."""
    if is_link:
        return "" if name.startswith(".") or name in LEFT_OUT_FOLDERS else "link"
    return "not a regular file" if name.lower().endswith(NOTE_SUFFIXES) else ""


def are_plain(paths: str) -> bool:
    """Whether no name among these, each behind a slash, is out for what it is called.

    Asked of a whole folder at once: `why_note_is_out` is needed for few.
    """
    if not (paths.isascii() and paths.isprintable()) or "/." in paths or "~" in paths:
        return False
    lowered = paths.lower()
    return not ("(" in paths or "#" in paths or "conflict" in lowered or ".tmp." in lowered)


def why_note_is_out(name: str, path: str, rules: Rules) -> str:
    """Why a file with a note's ending is no note; empty when it is one."""
    if name.startswith("."):
        return "hidden"
    if EDITOR_TEMPORARY.search(name):
        return "temporary file of an editor"
    if CONFLICT_COPY.search(name):
        return "conflict copy of a sync program"
    if rules and is_ignored(path, rules):
        return "ignored"
    if _CONTROL.search(path) or (not path.isascii() and printable(path) != path):
        return "name is not valid text"
    return ""


def printable(path: str) -> str:
    """The path with bytes that are no text, and control characters, shown as escapes."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda matched: f"\\x{ord(matched[0]):02x}", text)
