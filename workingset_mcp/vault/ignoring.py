"""What a vault leaves out, and why: hidden files, folders of programs, `.gitignore`, the settings' patterns.

`Sieve` is the one place that says which folders are entered and which files are notes: the walk of a
disk and the files of a commit both ask it. Each ignore rule keeps what it said of a path, so that a
walk of an unchanged vault matches no pattern twice.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from workingset_mcp.escaping import show_name
from workingset_mcp.vault.files import is_absent, read_without_links

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NOTE_SUFFIXES = (".md", ".markdown", ".mdx")
IGNORE_FILE = ".gitignore"
PLACEHOLDER_SUFFIX = ".icloud"
MOST_NOTE_BYTES = 64_000_000
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


class WhyLeftOut(StrEnum):
    """Why something in a vault is no source, as it is printed."""

    HIDDEN = "hidden"
    BY_DEFAULT = "left out by default"
    IGNORED = "ignored"
    LINK = "link"
    NOT_REGULAR = "not a regular file"
    TEMPORARY = "temporary file of an editor"
    CONFLICT_COPY = "conflict copy of a sync program"
    INVALID_NAME = "name is not valid text"
    UNREADABLE_FOLDER = "folder cannot be read"
    UNREADABLE_FILE = "cannot be read"
    UNREADABLE_NOTE = "note cannot be read"  # a remark of the note says so too
    OLDER_TEXT = "cannot be read now; what was read before is used"
    NOT_DOWNLOADED = "not downloaded from iCloud"
    TOO_LARGE = f"over {MOST_NOTE_BYTES // 1_000_000} MB"
    MANY_PATTERNS = f"over {MOST_PATTERNS:,} patterns: the rest is not used"
    LONG_PATTERN = f"a pattern over {MOST_PATTERN_CHARACTERS:,} characters is not used"
    LARGE_IGNORE_FILE = f"over {MOST_IGNORE_BYTES // 1_000_000} MB: the rest is not used"

    @property
    def is_intended(self) -> bool:
        """Whether a rule or a name keeps it out, as somebody meant."""
        return self in (WhyLeftOut.HIDDEN, WhyLeftOut.IGNORED, WhyLeftOut.BY_DEFAULT)

    @property
    def is_warned_of(self) -> bool:
        """Whether text that belongs to the vault may be missing from every answer."""
        return self in (
            WhyLeftOut.CONFLICT_COPY,
            WhyLeftOut.INVALID_NAME,
            WhyLeftOut.TOO_LARGE,
        ) or (self.is_unread and self != WhyLeftOut.UNREADABLE_NOTE)

    @property
    def is_missing(self) -> bool:
        """Whether it would be a source if it could be read: no count without it is exact."""
        return self.is_unread or self == WhyLeftOut.TOO_LARGE

    @property
    def is_unread(self) -> bool:
        """Whether it could not be read: it is not gone, and what is known of it is kept."""
        return self in (
            WhyLeftOut.UNREADABLE_FOLDER,
            WhyLeftOut.UNREADABLE_FILE,
            WhyLeftOut.UNREADABLE_NOTE,
            WhyLeftOut.OLDER_TEXT,
            WhyLeftOut.NOT_DOWNLOADED,
        )


@dataclass(slots=True)
class IgnoreRule:
    """The patterns of one ignore file: for paths below `base` (empty, or ending in a slash)."""

    base: str
    spec: "GitIgnoreSpec"
    cut: WhyLeftOut | None = None  # why a part of the file is not used
    said: dict[str, bool | None] = field(default_factory=dict)

    def says(self, path: str) -> bool | None:
        """True: out, False: in after all, None: nothing."""
        if path not in self.said:
            self.said[path] = self.spec.check_file(path[len(self.base) :]).include
        return self.said[path]


IgnoreRules = tuple[IgnoreRule, ...]


class Sieve:
    """Which folders are entered and which files are notes, by the ignore rules along their paths.

    `rule_of` gives the rule of the ignore file in a folder; `is_link` tells folders that are links. Both
    are asked once for each folder: a sieve serves one look at a vault, in one thread.
    """

    def __init__(
        self, first: IgnoreRules, rule_of: Callable[[str], IgnoreRule | None],
        is_link: Callable[[str], bool] = lambda _: False,
    ) -> None:  # fmt: skip
        self._first, self._rule_of, self._is_link = first, rule_of, is_link
        self._inside: dict[str, IgnoreRules | None] = {}

    def keeps(self, path: str) -> bool:
        """Whether a file with this path is a note."""
        folder, _, name = path.rpartition("/")
        if not ends_like_a_note(name):
            return False
        rules = self.rules_inside(folder)
        return rules is not None and not why_note_is_out(name, path, rules)

    def rules_inside(self, folder: str) -> IgnoreRules | None:
        """The rules for what lies in a folder; None when the folder is not entered."""
        rules: IgnoreRules | None = self._first
        for place in folders_above(f"{folder}/" if folder else ""):
            if place not in self._inside:
                self._inside[place] = self._enter(place, rules or ())
            rules = self._inside[place]
            if rules is None:
                break
        return rules

    def rules_with(self, rules: IgnoreRules, own: IgnoreRule | None) -> IgnoreRules:
        """The rules inside a folder: those above it, and its own. Deeper files win, the settings always."""
        if own is None:
            return rules
        if self._first and rules[-1:] == self._first:
            return (*rules[:-1], own, *self._first)
        return (*rules, own)

    def _enter(self, folder: str, rules: IgnoreRules) -> IgnoreRules | None:
        name = folder.rpartition("/")[2]
        if folder and (why_folder_is_out(name, folder, rules) or self._is_link(folder)):
            return None
        return self.rules_with(rules, self._rule_of(folder))


def rule_from(lines: Iterable[str], base: str = "") -> IgnoreRule:
    """An ignore rule from lines of patterns."""
    patterns = [line for line in lines if line.strip() and not line.startswith("#")]
    short = [line for line in patterns if len(line) <= MOST_PATTERN_CHARACTERS]
    cut = None
    if len(short) > MOST_PATTERNS:
        cut = WhyLeftOut.MANY_PATTERNS
    elif len(short) < len(patterns):
        cut = WhyLeftOut.LONG_PATTERN
    return IgnoreRule(base, _compiled(tuple(short[:MOST_PATTERNS])), cut)


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


def rule_of_file(root: Path, folder: str) -> IgnoreRule | None:
    """The rule of the ignore file in a folder; None when it is no readable file of its own.

    Raises OSError when it cannot be read for now, as when no file can be opened any more: without its
    patterns too much would be read.
    """
    path = f"{folder}/{IGNORE_FILE}" if folder else IGNORE_FILE
    try:
        raw, _ = read_without_links(root, path, MOST_IGNORE_BYTES + 1)
    except OSError as error:
        if is_absent(error) or isinstance(error, PermissionError):
            return None
        raise
    except ValueError:
        return None
    lines = raw[:MOST_IGNORE_BYTES].decode("utf-8", "replace").splitlines()
    if len(raw) > MOST_IGNORE_BYTES:
        lines.pop()  # it is cut
    rule = rule_from(lines, f"{folder}/" if folder else "")
    if len(raw) > MOST_IGNORE_BYTES:
        rule.cut = WhyLeftOut.LARGE_IGNORE_FILE
    return rule


def is_ignored(path: str, rules: IgnoreRules) -> bool:
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


def ends_like_a_note(name: str) -> bool:
    """Whether a name has a note's ending, in any case."""
    return name.lower().endswith(NOTE_SUFFIXES)


def why_folder_is_out(name: str, path: str, rules: IgnoreRules) -> WhyLeftOut | None:
    """Why a folder is not walked; None when it is."""
    if name.startswith("."):
        return WhyLeftOut.HIDDEN
    if name in LEFT_OUT_FOLDERS:
        return WhyLeftOut.BY_DEFAULT
    return WhyLeftOut.IGNORED if rules and is_ignored(f"{path}/", rules) else None


def why_entry_is_odd(name: str, *, is_link: bool) -> WhyLeftOut | None:
    """Why something that is neither a file nor a folder is worth naming; None when it is not."""
    if is_link:
        return None if name.startswith(".") or name in LEFT_OUT_FOLDERS else WhyLeftOut.LINK
    return WhyLeftOut.NOT_REGULAR if ends_like_a_note(name) else None


def are_plain(paths: str) -> bool:
    """Whether none of these names, each after a slash, is out for what it is called.

    Asked once for a whole folder: few names then need `why_note_is_out`.
    """
    if not (paths.isascii() and paths.isprintable()) or "/." in paths or "~" in paths:
        return False
    lowered = paths.lower()
    return not ("(" in paths or "#" in paths or "conflict" in lowered or ".tmp." in lowered)


def note_to_download(name: str) -> str:
    """The name of the note that a placeholder of iCloud (`.name.md.icloud`) stands for; else empty."""
    note = name[1:].removesuffix(PLACEHOLDER_SUFFIX)
    is_one = name.startswith(".") and name.endswith(PLACEHOLDER_SUFFIX) and ends_like_a_note(note)
    return note if is_one and not why_name_is_out(note) else ""


def why_name_is_out(name: str) -> WhyLeftOut | None:
    """Why a file with a note's ending is no note, whatever its folder; None when its name is fine."""
    if name.startswith("."):
        return WhyLeftOut.HIDDEN
    if EDITOR_TEMPORARY.search(name):
        return WhyLeftOut.TEMPORARY
    return WhyLeftOut.CONFLICT_COPY if CONFLICT_COPY.search(name) else None


def why_note_is_out(name: str, path: str, rules: IgnoreRules) -> WhyLeftOut | None:
    """Why a file with a note's ending is no note; None when it is one."""
    reason = why_name_is_out(name)
    if reason:
        return reason
    if rules and is_ignored(path, rules):
        return WhyLeftOut.IGNORED
    if _CONTROL.search(path) or not (path.isascii() or _is_text(path)):
        return WhyLeftOut.INVALID_NAME
    return None


def printable(path: str) -> str:
    """The path as answers print it, with bytes that are no text shown as escapes."""
    return show_name(path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
