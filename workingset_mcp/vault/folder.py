"""The folder of notes: which files are notes, which branch each belongs to, safe paths, reading.

A path of a note is relative to the vault root, POSIX, exactly as on disk. Links are never followed:
a link inside the vault would show its note twice, and a link out of it would leak. Not here: why
something is left out (`ignoring`), what a note says (`notes`), and what is known of it (`index`).
"""

import os
import re
import stat
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from workingset_mcp.errors import NoteNotFound, PathRefused, VaultNotFound
from workingset_mcp.escaping import read_name, show_name
from workingset_mcp.settings import SETTINGS_FILE, Settings
from workingset_mcp.vault.files import Fingerprint as Fingerprint
from workingset_mcp.vault.files import (
    fingerprint_of,
    is_link,
    other_spelling,
    read_without_links,
    scan,
)
from workingset_mcp.vault.ignoring import (
    IGNORE_FILE,
    NOTE_SUFFIXES,
    IgnoreRule,
    IgnoreRules,
    Sieve,
    WhyLeftOut,
    are_plain,
    ends_like_a_note,
    is_ignored,
    printable,
    rule_from,
    rule_of_file,
    why_entry_is_odd,
    why_folder_is_out,
    why_name_is_out,
    why_note_is_out,
)
from workingset_mcp.vault.ignoring import MOST_NOTE_BYTES as MOST_NOTE_BYTES

MOST_PATH_CHARACTERS = 4_096
_LINES_BEHIND = re.compile(
    r"^(?P<path>.+?):(?P<lines>\d+(?:@\d+)?(?:-\d+)?(?:,\d+(?:-\d+)?)*)$", re.DOTALL
)
_MOST_ECHOED = 200  # characters of a path in a refusal
_DRIVE = re.compile(r"^[A-Za-z]:")


class LeftOut(NamedTuple):
    """Something in the vault that is not read as a note, and why."""

    path: str
    reason: WhyLeftOut


@dataclass(slots=True)
class Walk:
    """What one look at the disk found: every note's fingerprint, and what was left out."""

    files: dict[str, Fingerprint] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


class Vault:
    """An open folder of notes. Any thread may use it. Raises VaultNotFound."""

    def __init__(self, root: Path, settings: Settings | None = None) -> None:
        try:
            self.root = root.expanduser().resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise VaultNotFound(
                f"The vault folder {root.name or 'given'!r} does not exist.",
                "Give the folder that holds your notes: --vault PATH.",
            ) from None
        if not self.root.is_dir():
            raise VaultNotFound(
                f"{root.name!r} is a file, not a folder.", "Give its folder: --vault PATH."
            )
        self.settings = settings or Settings()
        self.name = self.root.name or "vault"
        own = self.settings.ignore
        self._first_rules: IgnoreRules = (rule_from(own),) if own else ()
        self._rules_lock = threading.Lock()
        self._rules: dict[str, tuple[Fingerprint, int, IgnoreRule]] = {}

    def branch_of(self, path: str) -> str:
        """The branch of a note: two levels under a carrier, else the top folder, else `.`."""
        first, slash, rest = path.partition("/")
        if not slash:
            return "."
        if first in self.settings.carriers:
            second, slash, _ = rest.partition("/")
            if slash:
                return f"{first}/{second}"
        return first

    def walk(self, branch: str | None = None) -> Walk:
        """Look at the disk: every note of the vault, or of one branch, one scandir a folder."""
        found = Walk()
        start, deep = self._start_of(branch)
        folder = self.root / start if start else self.root
        sieve = self._sieve()
        if not folder.is_dir() or sieve.rules_inside(start) is None:
            return found
        above = start.rpartition("/")[0]
        rules = (sieve.rules_inside(above) or ()) if start else self._first_rules
        waiting = [(str(folder), start, rules)]
        while waiting:
            inner = self._walk_folder(*waiting.pop(), sieve, found)
            if deep:
                waiting.extend(inner)
        return found

    def read(self, path: str) -> tuple[bytes, Fingerprint]:
        """The bytes of a note and their fingerprint, never through a link. Raises OSError."""
        return read_without_links(self.root, path, MOST_NOTE_BYTES)

    def fingerprint(self, path: str) -> Fingerprint | None:
        """The fingerprint of a file as it is now; None when it is gone or no file."""
        try:
            found = os.lstat(f"{self.root}/{path}")  # a `Path` takes longer than the disk
        except (OSError, ValueError):
            return None
        return fingerprint_of(found) if stat.S_ISREG(found.st_mode) else None

    def fingerprints(self, paths: Iterable[str]) -> dict[str, Fingerprint]:
        """The fingerprints of those of these paths that a walk would find now."""
        found: dict[str, Fingerprint] = {}
        sieve = self._sieve()
        for path in paths:
            now = self.fingerprint(path)
            if now is not None and now.size <= MOST_NOTE_BYTES and sieve.keeps(path):
                found[path] = now
        return found

    def sieve_of_commit(self) -> Sieve:
        """Tells which files of a commit are notes, by the ignore files of today."""
        return Sieve(self._first_rules, self._rule_of)

    def _sieve(self) -> Sieve:
        return Sieve(
            self._first_rules, self._rule_of, lambda folder: is_link(f"{self.root}/{folder}")
        )

    def checked_path(self, given: str) -> tuple[str, str | None]:
        """A safe path of a note from what a caller typed, and the lines after it (`a.md:12-40`).

        Raises PathRefused with a plain reason, or NoteNotFound.
        """
        if not given.strip() or len(given) > MOST_PATH_CHARACTERS or "\0" in given:
            raise PathRefused(
                "That is not a path of a note.", "Give one as search_notes prints it."
            )
        if any(0xD800 <= ord(character) <= 0xDFFF for character in given):
            raise PathRefused("That path is not valid text.", "Give one as search_notes prints it.")
        meant = read_name(given)
        printed = self._as_printed(meant) if meant != given else None
        if printed:
            return printed
        if self._stands_there(given):  # as printed, whatever is in it
            return self._visible(given), None
        path, lines = given.strip(), None
        matched = _LINES_BEHIND.match(given.rstrip())
        if matched and not self._stands_there(path):
            path, lines = matched["path"], matched["lines"]
            if self._stands_there(path):
                return self._visible(path), lines
            path = path.strip()
        path = path.replace("\\", "/")
        if path.startswith(("/", "~/")) or _DRIVE.match(path) or ".." in path.split("/"):
            raise PathRefused(
                "That path leads outside the vault.", "Paths are relative to the vault root."
            )
        path = "/".join(part for part in path.split("/") if part not in ("", "."))
        if not path:
            raise PathRefused(
                "That is the vault itself, not a note.", "get_brief() lists its branches."
            )
        return self._visible(path), lines

    def is_note_name(self, name: str) -> bool:
        """Whether a file of this name is a note (its folder decides too)."""
        return ends_like_a_note(name) and not why_name_is_out(name)

    def shapes_the_walk(self, path: str) -> bool:
        """Whether a change of this file changes which files are notes."""
        return path.rpartition("/")[2] in (IGNORE_FILE, SETTINGS_FILE)

    def _start_of(self, branch: str | None) -> tuple[str, bool]:
        """Folder where the notes of a branch begin, and whether they may lie deeper."""
        if branch is None:
            return "", True
        if branch == ".":
            return "", False
        return branch, "/" in branch or branch not in self.settings.carriers

    def _walk_folder(
        self, folder: str, prefix: str, rules: IgnoreRules, sieve: Sieve, found: Walk
    ) -> list[tuple[str, str, IgnoreRules]]:
        """Take the notes of one folder; returns the folders in it that are to be walked."""
        try:
            listed, handle = scan(folder)
        except OSError:
            found.left_out.append(LeftOut(prefix or ".", WhyLeftOut.UNREADABLE_FOLDER))
            return []
        try:
            rules = self._rules_in(prefix, rules, listed, sieve, found)
            return _take_entries(listed, folder, prefix, rules, found)
        finally:
            if handle is not None:
                os.close(handle)

    def _rules_in(
        self, prefix: str, rules: IgnoreRules, listed: "list[os.DirEntry[str]]", sieve: Sieve,
        found: Walk,
    ) -> IgnoreRules:  # fmt: skip
        """The rules inside a folder that was listed: most have no ignore file to look for."""
        if not any(entry.name == IGNORE_FILE for entry in listed):
            with self._rules_lock:
                self._rules.pop(prefix, None)
            return rules
        own = self._rule_of(prefix)
        if own and own.cut:
            place = f"{prefix}/{IGNORE_FILE}" if prefix else IGNORE_FILE
            found.left_out.append(LeftOut(printable(place), own.cut))
        return sieve.rules_with(rules, own)

    def _rule_of(self, folder: str) -> IgnoreRule | None:
        """The rule of a folder's ignore file, read again when the file differs."""
        if not self.settings.respect_gitignore:
            return None
        path = f"{folder}/{IGNORE_FILE}" if folder else IGNORE_FILE
        seen = self.fingerprint(path)
        with self._rules_lock:
            if seen is None:
                self._rules.pop(folder, None)
                return None
            known = self._rules.get(folder)
        if known and known[0] == seen and known[1] >= seen.unseen_until():
            return known[2]
        read_ns = time.time_ns()
        rule = rule_of_file(self.root, folder)
        if rule:
            with self._rules_lock:
                self._rules[folder] = (seen, read_ns, rule)
        return rule

    def _as_printed(self, path: str) -> tuple[str, str | None] | None:
        """The path and the lines behind it, if such a file stands there."""
        if self._stands_there(path):
            return self._visible(path), None
        matched = _LINES_BEHIND.match(path)
        if matched and self._stands_there(matched["path"]):
            return self._visible(matched["path"]), matched["lines"]
        return None

    def _stands_there(self, path: str) -> bool:
        """Whether a regular file has exactly this relative path."""
        if {"", ".", ".."} & set(path.split("/")):
            return False
        return self.fingerprint(path) is not None

    def _visible(self, path: str) -> str:
        """The real path of a note that may be shown. Raises PathRefused or NoteNotFound."""
        target, shown = self.root / path, show_name(path[:_MOST_ECHOED])
        if not os.path.lexists(target):
            spelled = other_spelling(self.root, path)
            if spelled is None:
                raise NoteNotFound(f"There is no note {path[:_MOST_ECHOED]!r}.")
            path, target = spelled, self.root / spelled
        try:
            real = target.resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise PathRefused(
                f"{shown} is a link that leads nowhere.", "Open the note itself."
            ) from None
        if not real.is_relative_to(self.root):
            raise PathRefused(
                "That path leads outside the vault.", "Links out of the vault are not followed."
            )
        if real != target:
            path = real.relative_to(self.root).as_posix()
        if real.is_dir():
            raise PathRefused(
                f"{shown} is a folder, not a note.", "get_brief takes branches; open takes notes."
            )
        folder, _, name = path.rpartition("/")
        if not ends_like_a_note(name) or not real.is_file():
            raise PathRefused(
                f"{shown} is not a note.", f"Notes end in {', '.join(NOTE_SUFFIXES)}."
            )
        rules = self._sieve().rules_inside(folder)
        if rules is None or name.startswith(".") or is_ignored(path, rules):
            raise PathRefused(
                f"{shown} is hidden or ignored.", "`status` lists what is left out, and why."
            )
        return path


def _take_entries(
    listed: "list[os.DirEntry[str]]", folder: str, prefix: str, rules: IgnoreRules, found: Walk
) -> list[tuple[str, str, IgnoreRules]]:
    """Take the notes among what a folder holds; returns the folders in it that are to be walked."""
    names = "/".join(["", *[entry.name for entry in listed]])
    base = f"{prefix}/" if prefix else ""
    checked = rules if rules or not are_plain(f"{prefix}{names}") else None
    inner = []
    for entry in listed:
        if entry.is_file(follow_symlinks=False):
            if entry.name.endswith(".md") or ends_like_a_note(entry.name):
                _take(entry, base, checked, found)
            continue
        path = base + entry.name
        if entry.is_dir(follow_symlinks=False):
            reason = why_folder_is_out(entry.name, path, rules)
            if not reason:
                inner.append((f"{folder}{os.sep}{entry.name}", path, rules))
        else:
            reason = why_entry_is_odd(entry.name, is_link=entry.is_symlink())
        if reason:
            found.left_out.append(LeftOut(printable(path), reason))
    return inner


def _take(entry: "os.DirEntry[str]", base: str, rules: IgnoreRules | None, found: Walk) -> None:
    """Record the fingerprint of a file, or why it is left out. No rules: its name needs no check."""
    path = base + entry.name
    reason = None if rules is None else why_note_is_out(entry.name, path, rules)
    if not reason:
        try:
            seen = entry.stat(follow_symlinks=False)
        except OSError:
            return  # gone between listing and looking
        if seen.st_size <= MOST_NOTE_BYTES:
            found.files[path] = fingerprint_of(seen)
            return
        reason = WhyLeftOut.TOO_LARGE
    found.left_out.append(LeftOut(printable(path), reason))
