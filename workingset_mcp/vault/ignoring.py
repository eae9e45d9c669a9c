"""What a vault leaves out: hidden files, folders of programs, `.gitignore` and the settings' patterns.

Each rule keeps what it said of a path, so that a walk of an unchanged vault asks no pattern twice.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from workingset_mcp.vault.files import read_without_links

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NOTE_SUFFIXES = (".md", ".markdown", ".mdx")
IGNORE_FILE = ".gitignore"
MOST_IGNORE_BYTES = 1_000_000
MOST_PATTERNS = 2_000  # each is asked of each path once
MOST_PATTERN_CHARACTERS = 1_000
LEFT_OUT_FOLDERS = frozenset({"node_modules", "venv", "__pycache__", "dist", "build"})

CONFLICT_COPY = re.compile(
    r"^[^(]*+\((?>.*?(?:conflicted copy|conflict(?:ing)? copy|in konflikt stehende kopie|copie en conflit"
    r"|copia en conflicto)).*?\)|\.sync-conflict-\d{8}|_conflict-\d{8}",
    re.IGNORECASE,
)
EDITOR_TEMPORARY = re.compile(r"^~\$|^#.*#$|~$|\.tmp\.(?:md|markdown|mdx)$", re.IGNORECASE)
_SEGMENT_ENDS = re.compile(r"((?<![\^!])/(?!\.))")
_CLASSES = re.compile(r"\\.|\[\^/\]|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_CONTROL = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(slots=True)
class Rule:
    """The patterns of one ignore file: for paths below `base` (empty, or ending in a slash)."""

    base: str
    spec: "GitIgnoreSpec"
    remark: str = ""  # what of the file is not used, and why
    said: dict[str, bool | None] = field(default_factory=dict)

    def says(self, path: str) -> bool | None:
        """True: out, False: in after all, None: nothing."""
        if path not in self.said:
            self.said[path] = self.spec.check_file(path[len(self.base) :]).include
        return self.said[path]


Rules = tuple[Rule, ...]


def rule_from(lines: Iterable[str], base: str = "") -> Rule:
    """A rule from lines of patterns."""
    patterns = [line for line in lines if line.strip() and not line.startswith("#")]
    short = [line for line in patterns if len(line) <= MOST_PATTERN_CHARACTERS]
    remark = ""
    if len(short) > MOST_PATTERNS:
        remark = f"over {MOST_PATTERNS:,} patterns: the rest is not used"
    elif len(short) < len(patterns):
        remark = f"a pattern over {MOST_PATTERN_CHARACTERS:,} characters is not used"
    return Rule(base, _compiled(tuple(short[:MOST_PATTERNS])), remark)


@lru_cache(maxsize=64)
def _compiled(lines: tuple[str, ...]) -> "GitIgnoreSpec":
    """The patterns compiled, once for equal lines: their cost in a path is linear."""
    from pathspec import GitIgnoreSpec  # 30 ms, for vaults that have ignore rules
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    class LinearPattern(GitIgnoreSpecPattern):
        @classmethod
        def pattern_to_regex(cls, pattern):  # type: ignore[no-untyped-def]  # generic in str and bytes
            regex, include = super().pattern_to_regex(pattern)
            return (linear(within_names(regex)) if regex else regex), include

    return GitIgnoreSpec.from_lines(lines, LinearPattern)


_STARS, _FOLDERS_BEFORE, _FOLDERS_BETWEEN = "[^/]*", "^(?:.+/)?", "(?:/.+)?"


def within_names(regex: str) -> str:
    """A regular expression of pathspec whose classes, as git has them, never stand for a slash."""
    return _CLASSES.sub(
        lambda m: m[0] if m[0][0] == "\\" or m[0] == "[^/]" else f"(?!/){m[0]}", regex
    )


def linear(regex: str) -> str:
    """The regular expression that pathspec makes of a pattern, without its backtracking.

    Between two stars the first place that fits is as good as any other, and so it is for the folders
    between two `**`: an atomic group keeps it. Only the last star and the last `**` may give way.
    """
    first = regex.startswith(_FOLDERS_BEFORE)
    *parts, last = regex.removeprefix(_FOLDERS_BEFORE).split(_FOLDERS_BETWEEN)
    made = []
    for at, part in enumerate(parts):
        skipped = ("(?:.+?/)??" if first else "^") if at == 0 else "(?:/.+?)??"
        made.append(f"(?>{skipped}{_with_atomic_stars(part.removeprefix('^'))}(?=/))")
    if parts:
        before = "^" if first else ""
        return f"{before}{''.join(made)}{_FOLDERS_BETWEEN}{_with_atomic_stars(last)}"
    return f"{_FOLDERS_BEFORE if first else ''}{_with_atomic_stars(last)}"


def _with_atomic_stars(regex: str) -> str:
    return "".join(map(_segment_with_atomic_stars, _SEGMENT_ENDS.split(regex)))


def _segment_with_atomic_stars(segment: str) -> str:
    first, *others = segment.split(_STARS)
    if len(others) < 2:
        return segment
    between = [f"(?>[^/]*?{part})" for part in others[:-1] if part]
    return f"{first}{''.join(between)}{_STARS}{others[-1]}"


def rule_of_file(root: Path, folder: str) -> Rule | None:
    """The rule of the ignore file in a folder; None when it is no readable file of its own."""
    path = f"{folder}/{IGNORE_FILE}" if folder else IGNORE_FILE
    try:
        raw, _ = read_without_links(root, path, MOST_IGNORE_BYTES + 1)
    except (OSError, ValueError):
        return None
    lines = raw[:MOST_IGNORE_BYTES].decode("utf-8", "replace").splitlines()
    if len(raw) > MOST_IGNORE_BYTES:
        lines.pop()  # it is cut
    rule = rule_from(lines, f"{folder}/" if folder else "")
    if len(raw) > MOST_IGNORE_BYTES and not rule.remark:
        rule.remark = f"over {MOST_IGNORE_BYTES // 1_000_000} MB: the rest is not used"
    return rule


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
