"""Decide what a vault leaves out, and why: hidden files, build folders, `.gitignore`, the settings' patterns.

`Sieve` alone decides which folders are entered and which files are notes, for a walk of the disk and
for the files of a commit. Each ignore rule caches its result per path, so another walk of an unchanged
vault matches no pattern again.
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
MOST_PATTERNS = 2_000  # each is matched against each path once
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
    """The printed reason why something in a vault is left out."""

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
        """Whether somebody left it out on purpose, by a rule or by its name."""
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
    """The patterns of one ignore file, for paths below `base` (empty, or ending in a slash)."""

    base: str
    spec: "GitIgnoreSpec"
    cut: WhyLeftOut | None = None  # why a part of the file is not used
    results: dict[str, bool | None] = field(default_factory=dict)

    def says(self, path: str) -> bool | None:
        """Return True if the rule ignores a path, False if it includes it again, None if it does not match."""
        if path not in self.results:
            self.results[path] = self.spec.check_file(path[len(self.base) :]).include
        return self.results[path]


IgnoreRules = tuple[IgnoreRule, ...]


class Sieve:
    """Decides which folders are entered and which files are notes, by the ignore rules along their paths.

    `rule_of` returns the rule of a folder's ignore file; `is_link` returns whether a folder is a link. Each
    is called once per folder: a sieve serves one walk, in one thread.
    """

    def __init__(
        self, first: IgnoreRules, rule_of: Callable[[str], IgnoreRule | None],
        is_link: Callable[[str], bool] = lambda _: False,
    ) -> None:  # fmt: skip
        self._first, self._rule_of, self._is_link = first, rule_of, is_link
        self._inside: dict[str, IgnoreRules | None] = {}

    def keeps(self, path: str) -> bool:
        """Return whether the file at this path is a note."""
        folder, _, name = path.rpartition("/")
        if not ends_like_a_note(name):
            return False
        rules = self.rules_inside(folder)
        return rules is not None and not why_note_is_out(name, path, rules)

    def rules_inside(self, folder: str) -> IgnoreRules | None:
        """Return the rules that apply inside a folder; None if the folder is not entered."""
        rules: IgnoreRules | None = self._first
        for place in folders_above(f"{folder}/" if folder else ""):
            if place not in self._inside:
                self._inside[place] = self._enter(place, rules or ())
            rules = self._inside[place]
            if rules is None:
                break
        return rules

    def rules_with(self, rules: IgnoreRules, own: IgnoreRule | None) -> IgnoreRules:
        """Add a folder's own rule to those above it. Deeper files win over higher ones, the settings over all."""
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
    """Make an ignore rule from the lines of an ignore file."""
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
    """Compile patterns whose cost is linear in the length of a path; cached by their lines."""
    from pathspec import GitIgnoreSpec  # takes 30 ms, and only vaults with ignore rules need it
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    class LinearPattern(GitIgnoreSpecPattern):
        @classmethod
        def pattern_to_regex(cls, pattern):  # type: ignore[no-untyped-def]  # generic in str and bytes
            regex, include = super().pattern_to_regex(pattern)
            return (linear(within_names(regex)) if regex else regex), include

    return GitIgnoreSpec.from_lines(lines, LinearPattern)


_STARS, _FOLDERS_BEFORE, _FOLDERS_BETWEEN = "[^/]*", "^(?:.+/)?", "(?:/.+)?"


def within_names(regex: str) -> str:
    """Change a regex of pathspec so that no character class matches a slash, as in git."""
    return _CLASSES.sub(
        lambda m: m[0] if m[0][0] == "\\" or m[0] == "[^/]" else f"(?!/){m[0]}", regex
    )


def linear(regex: str) -> str:
    """Rewrite the regex that pathspec makes from a pattern so that it does not backtrack.

    The first match of the text between two stars is as good as any later one, so an atomic group may
    commit to it; the same holds for the folders between two `**`. Only the last star and the last `**`
    may backtrack.
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
        lines.pop()  # the last line may be incomplete
    rule = rule_from(lines, f"{folder}/" if folder else "")
    if len(raw) > MOST_IGNORE_BYTES:
        rule.cut = WhyLeftOut.LARGE_IGNORE_FILE
    return rule


def is_ignored(path: str, rules: IgnoreRules) -> bool:
    """Return whether the deepest rule that matches a path ignores it; a folder's path ends in a slash."""
    for rule in reversed(rules):
        ignored = rule.says(path)
        if ignored is not None:
            return ignored
    return False


def folders_above(path: str) -> Iterator[str]:
    """Yield every folder above a path, from the root (`""`) down."""
    yield ""
    parts = path.split("/")[:-1]
    for depth in range(len(parts)):
        yield "/".join(parts[: depth + 1])


def ends_like_a_note(name: str) -> bool:
    """Return whether a name has a note's suffix, in upper or lower case."""
    return name.lower().endswith(NOTE_SUFFIXES)


def why_folder_is_out(name: str, path: str, rules: IgnoreRules) -> WhyLeftOut | None:
    """Return why a folder is not walked; None if it is."""
    if name.startswith("."):
        return WhyLeftOut.HIDDEN
    if name in LEFT_OUT_FOLDERS:
        return WhyLeftOut.BY_DEFAULT
    return WhyLeftOut.IGNORED if rules and is_ignored(f"{path}/", rules) else None


def why_entry_is_odd(name: str, *, is_link: bool) -> WhyLeftOut | None:
    """Return why an entry that is neither file nor folder is reported as left out; None if it is not."""
    if is_link:
        return None if name.startswith(".") or name in LEFT_OUT_FOLDERS else WhyLeftOut.LINK
    return WhyLeftOut.NOT_REGULAR if ends_like_a_note(name) else None


def are_plain(paths: str) -> bool:
    """Return whether none of these names, each after a slash, can be left out by its name.

    One call per folder: `why_note_is_out` is then needed for few names.
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
    """Return why a file with a note's suffix is not a note by its name alone; None if its name is fine."""
    if name.startswith("."):
        return WhyLeftOut.HIDDEN
    if EDITOR_TEMPORARY.search(name):
        return WhyLeftOut.TEMPORARY
    return WhyLeftOut.CONFLICT_COPY if CONFLICT_COPY.search(name) else None


def why_note_is_out(name: str, path: str, rules: IgnoreRules) -> WhyLeftOut | None:
    """Return why a file with a note's suffix is not a note; None if it is one."""
    reason = why_name_is_out(name)
    if reason:
        return reason
    if rules and is_ignored(path, rules):
        return WhyLeftOut.IGNORED
    if _CONTROL.search(path) or not (path.isascii() or _is_text(path)):
        return WhyLeftOut.INVALID_NAME
    return None


def printable(path: str) -> str:
    """Return the path as answers print it; bytes that are not UTF-8 become escapes."""
    return show_name(path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
