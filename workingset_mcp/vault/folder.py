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

from workingset_mcp.caller import stop_if_gone
from workingset_mcp.errors import NoteNotFound, PathRefused, VaultNotFound
from workingset_mcp.escaping import read_name, show_name
from workingset_mcp.settings import SETTINGS_FILE, Settings
from workingset_mcp.vault.files import Fingerprint as Fingerprint
from workingset_mcp.vault.files import (
    fingerprint_of,
    is_absent,
    is_link,
    other_spelling,
    read_without_links,
    scan,
)
from workingset_mcp.vault.ignoring import (
    IGNORE_FILE,
    NOTE_SUFFIXES,
    PLACEHOLDER_SUFFIX,
    IgnoreRule,
    IgnoreRules,
    Sieve,
    WhyLeftOut,
    are_plain,
    ends_like_a_note,
    is_ignored,
    note_to_download,
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
_PUT_BACK = "Mount it, or put it back: what was read from it is kept."
_LINES_BEHIND = re.compile(
    r"^(?P<path>.+?):(?P<lines>\d+(?:@\d+)?(?:-\d+)?(?:,\d+(?:-\d+)?)*)$", re.DOTALL
)
_MOST_ECHOED = 200  # characters of a path in a refusal
_DRIVE = re.compile(r"^[A-Za-z]:")


class LeftOut(NamedTuple):
    """A file or folder in the vault that is not read as notes, and why."""

    path: str
    reason: WhyLeftOut
    detail: str = ""  # what the system says

    @property
    def name(self) -> str:
        """The path as answers print it, escaped."""
        return printable(self.path or ".")

    @property
    def said(self) -> str:
        """The reason in words; it follows the path."""
        if self.reason == WhyLeftOut.UNREADABLE_NOTE:
            return f"cannot be read: {self.detail}"
        detail = f" ({self.detail})" if self.detail else ""
        before = "" if self.reason == WhyLeftOut.OLDER_TEXT else "left out: "
        return f"{before}{self.reason}{detail}"


@dataclass(slots=True)
class Walk:
    """The result of one walk over the disk: every note's fingerprint, and what was left out."""

    files: dict[str, Fingerprint] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def unread(self) -> frozenset[str]:
        """Files and folders that could not be read: what is known of them, and below them, is not gone."""
        return frozenset(left.path for left in self.left_out if left.reason.is_unread)


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
        self._filled: tuple[int, int] | None = None  # the root when it was seen to hold something

    def identity(self) -> tuple[int, int]:
        """Device and inode of the root. Raises VaultNotFound when it is gone, replaced or refused."""
        try:
            found = os.lstat(self.root)
        except OSError as error:
            raise self._not_there(error) from None
        if not stat.S_ISDIR(found.st_mode):
            raise VaultNotFound(f"The vault folder {self.name!r} is no folder any more.", _PUT_BACK)
        return found.st_dev, found.st_ino

    def is_bare(self) -> bool:
        """Whether the root is empty, and was never seen to hold anything: it may not be mounted.

        A root that this process saw filled, and that is empty now, was emptied. Raises VaultNotFound.
        """
        identity = self.identity()
        if identity == self._filled:
            return False
        try:
            with os.scandir(self.root) as entries:
                is_empty = next(entries, None) is None
        except OSError as error:
            raise self._not_there(error) from None
        if not is_empty:
            self._filled = identity
        return is_empty

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
        """Look at the disk: every note of the vault, or of one branch, one scandir a folder.

        Raises VaultNotFound when the root itself is not there, or cannot be read.
        """
        self.identity()
        found = Walk()
        start, deep = self._start_of(branch)
        folder = f"{self.root}/{start}" if start else str(self.root)
        sieve = self._sieve()
        try:
            if not stat.S_ISDIR(Path(folder).stat().st_mode) or sieve.rules_inside(start) is None:
                return found
            above = start.rpartition("/")[0]
            rules = (sieve.rules_inside(above) or ()) if start else self._first_rules
        except ValueError:
            return found
        except OSError as error:
            if not is_absent(error):
                self._note_unreadable(found, start, error)
            return found
        waiting = [(folder, start, rules)]
        while waiting:
            stop_if_gone()
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
        return _regular(found)

    def fingerprints(self, paths: Iterable[str]) -> dict[str, Fingerprint]:
        """Return the current fingerprints of these paths, without those that a walk would leave out."""
        return self.look_at(paths).files

    def look_at(self, paths: Iterable[str]) -> Walk:
        """What a walk would find now of these paths. Raises VaultNotFound."""
        self.identity()
        found, sieve = Walk(), self._sieve()
        for path in paths:
            stop_if_gone()
            try:
                now = _regular(os.lstat(f"{self.root}/{path}"))
                if now and now.size <= MOST_NOTE_BYTES and sieve.keeps(path):
                    found.files[path] = now
            except ValueError:
                continue
            except OSError as error:
                if not is_absent(error):
                    reason = WhyLeftOut.UNREADABLE_FILE
                    found.left_out.append(LeftOut(path, reason, error.strerror or ""))
                elif self.is_to_download(path):
                    found.left_out.append(LeftOut(path, WhyLeftOut.NOT_DOWNLOADED))
        return found

    def unreadable(self, paths: Iterable[str]) -> list[LeftOut]:
        """Those of these notes whose text cannot be read now."""
        found = []
        for path in paths:
            try:
                self.read(path)
            except OSError as error:
                if not is_absent(error):
                    reason = WhyLeftOut.UNREADABLE_FILE
                    found.append(LeftOut(path, reason, error.strerror or ""))
        return found

    def is_to_download(self, path: str) -> bool:
        """Whether a placeholder of iCloud stands in the place of a note."""
        folder, slash, name = path.rpartition("/")
        place = f"{self.root}/{folder}{slash}.{name}{PLACEHOLDER_SUFFIX}"
        return bool(note_to_download(f".{name}{PLACEHOLDER_SUFFIX}")) and os.path.lexists(place)

    def sieve_of_commit(self) -> Sieve:
        """Make a sieve for the files of a commit; it uses the ignore files now on disk."""
        return Sieve(self._first_rules, self._rule_or_refusal)

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
        meant = read_name(given)
        printed = self._as_printed(meant) if meant != given else None
        if printed:
            return printed
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
        except (FileNotFoundError, NotADirectoryError):
            self.identity()
            return []  # gone since its parent was listed
        except OSError as error:
            self._note_unreadable(found, prefix, error)
            return []
        try:
            rules = self._rules_in(prefix, rules, listed, sieve, found)
            return _take_entries(listed, folder, prefix, rules, found)
        except OSError as error:  # of its ignore file
            self._note_unreadable(found, prefix, error)
            return []
        finally:
            if handle is not None:
                os.close(handle)

    def _note_unreadable(self, found: Walk, folder: str, error: OSError) -> None:
        """Keep that a folder cannot be read. Raises VaultNotFound for the root."""
        if not folder:
            raise self._not_there(error)
        reason = WhyLeftOut.UNREADABLE_FOLDER
        found.left_out.append(LeftOut(folder, reason, error.strerror or ""))

    def _not_there(self, error: OSError) -> VaultNotFound:
        what = "is not there" if is_absent(error) else f"cannot be read: {error.strerror}"
        return VaultNotFound(f"The vault folder {self.name!r} {what}.", _PUT_BACK)

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
            found.left_out.append(LeftOut(place, own.cut))
        return sieve.rules_with(rules, own)

    def _rule_of(self, folder: str) -> IgnoreRule | None:
        """Return the rule of a folder's ignore file; read it again when the file has changed."""
        if not self.settings.respect_gitignore:
            return None
        path = f"{folder}/{IGNORE_FILE}" if folder else IGNORE_FILE
        now = self.fingerprint(path)
        with self._rules_lock:
            if now is None:
                self._rules.pop(folder, None)
                return None
            known = self._rules.get(folder)
        if known and known[0] == now and known[1] >= now.unseen_until():
            return known[2]
        read_ns = time.time_ns()
        try:
            rule = rule_of_file(self.root, folder)
        except OSError:
            if known is None:
                raise
            return known[2]
        if rule:
            with self._rules_lock:
                self._rules[folder] = (now, read_ns, rule)
        return rule

    def _as_printed(self, path: str) -> tuple[str, str | None] | None:
        """The path and the lines behind it, if such a file stands there."""
        if self._is_file(path):
            return self._visible(path), None
        matched = _LINES_BEHIND.match(path)
        if matched and self._is_file(matched["path"]):
            return self._visible(matched["path"]), matched["lines"]
        return None

    def _is_file(self, path: str) -> bool:
        """Return whether a regular file has exactly this relative path."""
        if {"", ".", ".."} & set(path.split("/")):
            return False
        return self.fingerprint(path) is not None

    def _visible(self, path: str) -> str:
        """Return the real path of a note that may be shown. Raises PathRefused or NoteNotFound."""
        target, shown = self.root / path, show_name(path[:_MOST_ECHOED])
        if not os.path.lexists(target):
            path = self._as_on_disk(path)
            target = self.root / path
        try:
            real = target.resolve(strict=True)
        except PermissionError:
            raise PathRefused(f"{path} cannot be read.", "Check its permissions.") from None
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
        if name.startswith(".") or self._is_ignored(folder, path):
            raise PathRefused(
                f"{shown} is hidden or ignored.", "`status` lists what is left out, and why."
            )
        return path

    def _as_on_disk(self, path: str) -> str:
        """The path of a note in another Unicode form. Raises VaultError."""
        self.identity()
        if self.is_to_download(path):
            raise PathRefused(
                f"{show_name(path[:_MOST_ECHOED])} is not downloaded from iCloud.",
                "Download it, then ask again.",
            )
        spelled = other_spelling(self.root, path)
        if spelled is None:
            raise NoteNotFound(f"There is no note {path[:_MOST_ECHOED]!r}.")
        return spelled

    def _is_ignored(self, folder: str, path: str) -> bool:
        sieve = Sieve(
            self._first_rules, self._rule_or_refusal, lambda place: is_link(f"{self.root}/{place}")
        )
        rules = sieve.rules_inside(folder)
        return rules is None or is_ignored(path, rules)

    def _rule_or_refusal(self, folder: str) -> IgnoreRule | None:
        """The rule of a folder's ignore file. Raises PathRefused where it cannot be read."""
        try:
            return self._rule_of(folder)
        except OSError as error:
            raise PathRefused(
                f"An ignore file cannot be read: {error.strerror}.", "Ask again later."
            ) from None


def _take_entries(
    listed: "list[os.DirEntry[str]]", folder: str, prefix: str, rules: IgnoreRules, found: Walk
) -> list[tuple[str, str, IgnoreRules]]:
    """Record the notes among the entries of a folder; return its subfolders to walk."""
    names = "/".join(["", *[entry.name for entry in listed]])
    base = f"{prefix}/" if prefix else ""
    checked = rules if rules or not are_plain(f"{prefix}{names}") else None
    inner = []
    for entry in listed:
        path = base + entry.name
        try:
            is_file = entry.is_file(follow_symlinks=False)
        except OSError as error:  # the system does not list what kind it is, and refuses to say
            found.left_out.append(LeftOut(path, WhyLeftOut.UNREADABLE_FILE, error.strerror or ""))
            continue
        if is_file:
            if entry.name.endswith(".md") or ends_like_a_note(entry.name):
                _take(entry, path, checked, found)
            elif entry.name.endswith(PLACEHOLDER_SUFFIX):
                _take_placeholder(entry.name, base, rules, found)
            continue
        if entry.is_dir(follow_symlinks=False):
            reason = why_folder_is_out(entry.name, path, rules)
            if not reason:
                inner.append((f"{folder}{os.sep}{entry.name}", path, rules))
        else:
            reason = why_entry_is_odd(entry.name, is_link=entry.is_symlink())
        if reason:
            found.left_out.append(LeftOut(path, reason))
    return inner


def _regular(found: os.stat_result) -> Fingerprint | None:
    return fingerprint_of(found) if stat.S_ISREG(found.st_mode) else None


def _take_placeholder(name: str, base: str, rules: IgnoreRules, found: Walk) -> None:
    """Name the note that a placeholder stands for, unless it is left out anyway."""
    note = note_to_download(name)
    if note and not why_note_is_out(note, base + note, rules):
        found.left_out.append(LeftOut(base + note, WhyLeftOut.NOT_DOWNLOADED))


def _take(entry: "os.DirEntry[str]", path: str, rules: IgnoreRules | None, found: Walk) -> None:
    """Record the fingerprint of a file, or why it is left out. With `rules` None its name is not checked."""
    detail = ""
    reason = None if rules is None else why_note_is_out(entry.name, path, rules)
    if not reason:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return  # removed after the folder was listed
        except OSError as error:
            reason, detail = WhyLeftOut.UNREADABLE_FILE, error.strerror or ""
        else:
            if status.st_size <= MOST_NOTE_BYTES:
                found.files[path] = fingerprint_of(status)
                return
            reason = WhyLeftOut.TOO_LARGE
    found.left_out.append(LeftOut(path, reason, detail))
