"""Walk and read the folder of notes: which files are notes, their branches, safe paths.

A note's path is relative to the vault root, in POSIX form, exactly as on disk. Links are never followed:
a link inside the vault would show its note twice, and a link out of it would leak. Not here: why
something is left out (`ignoring`), what a note says (`notes`), and what the index knows (`index`).
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
_LINES_BEHIND = re.compile(r"^(?P<path>.+?):(?P<lines>\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)$")
_DRIVE = re.compile(r"^[A-Za-z]:")


class LeftOut(NamedTuple):
    """A file or folder in the vault that is not read as notes, and why."""

    path: str
    reason: WhyLeftOut


@dataclass(slots=True)
class Walk:
    """The result of one walk over the disk: every note's fingerprint, and what was left out."""

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
        """Return a note's branch: two levels for a carrier, else the top folder, else `.`."""
        first, slash, rest = path.partition("/")
        if not slash:
            return "."
        if first in self.settings.carriers:
            second, slash, _ = rest.partition("/")
            if slash:
                return f"{first}/{second}"
        return first

    def walk(self, branch: str | None = None) -> Walk:
        """Find every note of the vault, or of one branch, with one scandir per folder."""
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
        """Read a note and its fingerprint, never through a link. Raises OSError."""
        return read_without_links(self.root, path, MOST_NOTE_BYTES)

    def fingerprint(self, path: str) -> Fingerprint | None:
        """Return the current fingerprint of a file; None if it is gone or not a regular file."""
        try:
            found = os.lstat(f"{self.root}/{path}")  # building a `Path` takes longer than the stat
        except (OSError, ValueError):
            return None
        return fingerprint_of(found) if stat.S_ISREG(found.st_mode) else None

    def fingerprints(self, paths: Iterable[str]) -> dict[str, Fingerprint]:
        """Return the current fingerprints of these paths, without those that a walk would leave out."""
        found: dict[str, Fingerprint] = {}
        sieve = self._sieve()
        for path in paths:
            now = self.fingerprint(path)
            if now is not None and now.size <= MOST_NOTE_BYTES and sieve.keeps(path):
                found[path] = now
        return found

    def sieve_of_commit(self) -> Sieve:
        """Make a sieve for the files of a commit; it uses the ignore files now on disk."""
        return Sieve(self._first_rules, self._rule_of)

    def _sieve(self) -> Sieve:
        return Sieve(
            self._first_rules, self._rule_of, lambda folder: is_link(f"{self.root}/{folder}")
        )

    def checked_path(self, given: str) -> tuple[str, str | None]:
        """Turn what a caller typed into a safe note path and the lines after it (`a.md:12-40`).

        Raises PathRefused with the reason, or NoteNotFound.
        """
        if not given.strip() or len(given) > MOST_PATH_CHARACTERS or "\0" in given:
            raise PathRefused(
                "That is not the path of a note.", "Give one as search_notes prints it."
            )
        if any(0xD800 <= ord(character) <= 0xDFFF for character in given):
            raise PathRefused("That path is not valid text.", "Give one as search_notes prints it.")
        if self._is_file(given):  # as printed, even if it contains a colon
            return self._visible(given), None
        path, lines = given.strip(), None
        matched = _LINES_BEHIND.match(given.rstrip())
        if matched and not self._is_file(path):
            path, lines = matched["path"], matched["lines"]
            if self._is_file(path):
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
        """Return whether a file with this name can be a note; its folder decides too."""
        return ends_like_a_note(name) and not why_name_is_out(name)

    def shapes_the_walk(self, path: str) -> bool:
        """Return whether a change to this file can change which files are notes."""
        return path.rpartition("/")[2] in (IGNORE_FILE, SETTINGS_FILE)

    def _start_of(self, branch: str | None) -> tuple[str, bool]:
        """Return the folder where a branch starts, and whether its subfolders belong to it."""
        if branch is None:
            return "", True
        if branch == ".":
            return "", False
        return branch, "/" in branch or branch not in self.settings.carriers

    def _walk_folder(
        self, folder: str, prefix: str, rules: IgnoreRules, sieve: Sieve, found: Walk
    ) -> list[tuple[str, str, IgnoreRules]]:
        """Record the notes of one folder; return its subfolders to walk."""
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
        """Return the rules inside a folder, given its entries: most folders have no ignore file."""
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
        """Return the rule of a folder's ignore file; read it again when the file has changed."""
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

    def _is_file(self, path: str) -> bool:
        """Return whether a regular file has exactly this relative path."""
        if {"", ".", ".."} & set(path.split("/")):
            return False
        return self.fingerprint(path) is not None

    def _visible(self, path: str) -> str:
        """Return the real path of a note that may be shown. Raises PathRefused or NoteNotFound."""
        target = self.root / path
        if not os.path.lexists(target):
            spelled = other_spelling(self.root, path)
            if spelled is None:
                raise NoteNotFound(f"There is no note {path!r}.")
            path, target = spelled, self.root / spelled
        try:
            real = target.resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise PathRefused(
                f"{path} is a link that leads nowhere.", "Open the note itself."
            ) from None
        if not real.is_relative_to(self.root):
            raise PathRefused(
                "That path leads outside the vault.", "Links out of the vault are not followed."
            )
        if real != target:
            path = real.relative_to(self.root).as_posix()
        if real.is_dir():
            raise PathRefused(
                f"{path} is a folder, not a note.", "get_brief takes branches; open takes notes."
            )
        folder, _, name = path.rpartition("/")
        if not ends_like_a_note(name) or not real.is_file():
            raise PathRefused(f"{path} is not a note.", f"Notes end in {', '.join(NOTE_SUFFIXES)}.")
        rules = self._sieve().rules_inside(folder)
        if rules is None or name.startswith(".") or is_ignored(path, rules):
            raise PathRefused(
                f"{path} is hidden or ignored.", "`status` lists what is left out, and why."
            )
        return path


def _take_entries(
    listed: "list[os.DirEntry[str]]", folder: str, prefix: str, rules: IgnoreRules, found: Walk
) -> list[tuple[str, str, IgnoreRules]]:
    """Record the notes among the entries of a folder; return its subfolders to walk."""
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
    """Record the fingerprint of a file, or why it is left out. With `rules` None its name is not checked."""
    path = base + entry.name
    reason = None if rules is None else why_note_is_out(entry.name, path, rules)
    if not reason:
        try:
            seen = entry.stat(follow_symlinks=False)
        except OSError:
            return  # removed after the folder was listed
        if seen.st_size <= MOST_NOTE_BYTES:
            found.files[path] = fingerprint_of(seen)
            return
        reason = WhyLeftOut.TOO_LARGE
    found.left_out.append(LeftOut(printable(path), reason))
