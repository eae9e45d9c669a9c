"""The folder of notes: which files are notes, which branch each belongs to, safe paths, reading.

A path of a note is relative to the vault root, POSIX, exactly as on disk. Links are never followed:
a link inside the vault would show its note twice, one out of it would leak. Not here: what a note
says (`note`), and what is known of it (`index`).
"""

import os
import re
import stat
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias


from workingset_mcp.errors import NoteNotFound, PathRefused, VaultNotFound
from workingset_mcp.settings import SETTINGS_FILE, Settings

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NOTE_SUFFIXES = (".md", ".markdown", ".mdx")
LEFT_OUT_FOLDERS = frozenset({"node_modules", "venv", "__pycache__", "dist", "build"})
MOST_NOTE_BYTES = 64_000_000
MOST_PATH_CHARACTERS = 1_000
CONFLICT_COPY = re.compile(
    r"\(.*?(?:conflicted copy|conflict(?:ing)? copy|in konflikt stehende kopie|copie en conflit"
    r"|copia en conflicto).*?\)|\.sync-conflict-\d{8}|_conflict-\d{8}",
    re.IGNORECASE,
)
EDITOR_TEMPORARY = re.compile(r"^~\$|^#.*#$|~$|\.tmp\.(?:md|markdown|mdx)$", re.IGNORECASE)
Rules: TypeAlias = "tuple[tuple[str, GitIgnoreSpec], ...]"  # folder with a slash, its rules
_IGNORE_FILE = ".gitignore"
_LINES_BEHIND = re.compile(r"^(?P<path>.+?):(?P<lines>\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)$")
_CONTROL = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")
_DRIVE = re.compile(r"^[A-Za-z]:")


class Fingerprint(NamedTuple):
    """What the file system says of a file: it differs whenever the file was written to."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class LeftOut(NamedTuple):
    """Something in the vault that is no source, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class Walk:
    """What one look at the disk found: every note's fingerprint, and what was left out."""

    files: dict[str, Fingerprint] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


class Vault:
    """A folder of notes, opened. Raises VaultNotFound."""

    def __init__(self, root: Path, settings: Settings | None = None) -> None:
        try:
            self.root = root.expanduser().resolve(strict=True)
        except (OSError, RuntimeError):
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
        self._own_rules = _ignore_spec(self.settings.ignore) if self.settings.ignore else None
        self._rules: dict[str, tuple[Fingerprint, GitIgnoreSpec]] = {}
        self._ignored: dict[str, bool] = {}

    def branch_of(self, path: str) -> str:
        """The branch of a note: two levels under a carrier folder, else the top folder, else `.`."""
        first, slash, rest = path.partition("/")
        if not slash:
            return "."
        if first in self.settings.carriers:
            second, slash, _ = rest.partition("/")
            if slash:
                return f"{first}/{second}"
        return first

    def walk(self, branch: str | None = None) -> Walk:
        """Look at the disk: every note of the vault, or of one branch, with one scandir a folder."""
        found = Walk()
        start, deep = self._start_of(branch)
        folder = self.root / start if start else self.root
        rules = self._rules_above(start)
        if folder.is_dir() and (not start or self._no_link_above(start)):
            if not start or not self._hidden_or_ignored(start):
                self._walk_folder(str(folder), start, rules, found, deep=deep, branch=branch)
        return found

    def read(self, path: str) -> tuple[bytes, Fingerprint]:
        """The bytes of a note and their fingerprint, never through a link. Raises OSError."""
        handle = self._open(path)
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                raise IsADirectoryError(path)
            with os.fdopen(handle, "rb", closefd=False) as file:
                raw = file.read(MOST_NOTE_BYTES)
            return raw, fingerprint_of(os.fstat(handle))
        finally:
            os.close(handle)

    def fingerprint(self, path: str) -> Fingerprint | None:
        """The fingerprint of a file as it is now; None when it is gone or no file."""
        try:
            found = os.lstat(self.root / path)
        except (OSError, ValueError):
            return None
        return fingerprint_of(found) if stat.S_ISREG(found.st_mode) else None

    def checked_path(self, given: str) -> tuple[str, str | None]:
        """A safe path of a note from what a caller typed, and the lines behind it (`a.md:12-40`).

        Raises PathRefused with a plain reason, or NoteNotFound.
        """
        path = given.strip()
        if not path or len(path) > MOST_PATH_CHARACTERS or "\0" in path:
            raise PathRefused(
                "That is not a path of a note.", "Give one as search_notes prints it."
            )
        if any(0xD800 <= ord(character) <= 0xDFFF for character in path):
            raise PathRefused("That path is not valid text.", "Give one as search_notes prints it.")
        lines = None
        matched = _LINES_BEHIND.match(path)
        if matched and self.fingerprint(path) is None:
            path, lines = matched["path"], matched["lines"]
        if "\\" in path and self.fingerprint(path) is None:
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
        return (
            name.lower().endswith(NOTE_SUFFIXES)
            and not name.startswith(".")
            and not EDITOR_TEMPORARY.search(name)
            and not CONFLICT_COPY.search(name)
        )

    def shapes_the_walk(self, path: str) -> bool:
        """Whether a change of this file changes which files are notes."""
        return path.rpartition("/")[2] in (_IGNORE_FILE, SETTINGS_FILE)

    def _start_of(self, branch: str | None) -> tuple[str, bool]:
        """Folder where the notes of a branch begin, and whether they may lie deeper."""
        if branch is None:
            return "", True
        if branch == ".":
            return "", False
        return branch, "/" in branch or branch not in self.settings.carriers

    def _walk_folder(
        self, folder: str, prefix: str, rules: Rules, found: Walk,
        *, deep: bool, branch: str | None,
    ) -> None:  # fmt: skip
        try:
            with os.scandir(folder) as entries:
                listed = list(entries)
        except OSError:
            found.left_out.append(LeftOut(prefix or ".", "folder cannot be read"))
            return
        rules = self._rules_in(folder, prefix, rules, listed)
        base = f"{prefix}/" if prefix else ""
        for entry in listed:
            name = entry.name
            path = base + name
            if entry.is_symlink():
                self._note_link(name, path, found)
            elif entry.is_dir(follow_symlinks=False):
                reason = self._why_folder_is_out(name, path, rules)
                if reason:
                    found.left_out.append(LeftOut(_printable(path), reason))
                elif deep:
                    self._walk_folder(entry.path, path, rules, found, deep=True, branch=branch)
            elif name.lower().endswith(NOTE_SUFFIXES):
                self._take(entry, name, path, rules, found)

    def _take(
        self, entry: "os.DirEntry[str]", name: str, path: str,
        rules: Rules, found: Walk,
    ) -> None:  # fmt: skip
        if name.startswith(".") or EDITOR_TEMPORARY.search(name):
            return
        if CONFLICT_COPY.search(name):
            found.left_out.append(LeftOut(_printable(path), "conflict copy of a sync program"))
            return
        if rules and self._is_ignored(path, rules):
            found.left_out.append(LeftOut(_printable(path), "ignored"))
            return
        if _CONTROL.search(path) or (not path.isascii() and _printable(path) != path):
            found.left_out.append(LeftOut(_printable(path), "name is not valid text"))
            return
        try:
            seen = entry.stat(follow_symlinks=False)
        except OSError:
            return  # gone between listing and looking
        if not stat.S_ISREG(seen.st_mode):
            found.left_out.append(LeftOut(path, "not a regular file"))
        elif seen.st_size > MOST_NOTE_BYTES:
            found.left_out.append(LeftOut(path, f"over {MOST_NOTE_BYTES // 1_000_000} MB"))
        else:
            found.files[path] = fingerprint_of(seen)

    def _note_link(self, name: str, path: str, found: Walk) -> None:
        if not name.startswith(".") and name not in LEFT_OUT_FOLDERS:
            found.left_out.append(LeftOut(_printable(path), "link"))

    def _why_folder_is_out(self, name: str, path: str, rules: Rules) -> str:
        if name.startswith("."):
            return "hidden"
        if name in LEFT_OUT_FOLDERS:
            return "left out by default"
        if rules and self._is_ignored(f"{path}/", rules):
            return "ignored"
        return ""

    def _rules_in(
        self, folder: str, prefix: str, rules: Rules,
        listed: "list[os.DirEntry[str]]",
    ) -> Rules:  # fmt: skip
        """The ignore rules that hold inside a folder: those above it, and its own file's."""
        if not self.settings.respect_gitignore:
            return rules
        own = next((e for e in listed if e.name == _IGNORE_FILE and not e.is_symlink()), None)
        if own is None:
            if self._rules.pop(prefix, None):
                self._ignored.clear()
            return rules
        spec = self._spec_of(Path(own.path), prefix)
        return (*rules, (f"{prefix}/" if prefix else "", spec)) if spec else rules

    def _spec_of(self, file: Path, prefix: str) -> "GitIgnoreSpec | None":
        try:
            seen = fingerprint_of(file.lstat())
            known = self._rules.get(prefix)
            if known and known[0] == seen:
                return known[1]
            spec = _ignore_spec(file.read_text(encoding="utf-8", errors="replace").splitlines())
        except (OSError, ValueError):
            return None
        self._rules[prefix] = (seen, spec)
        self._ignored.clear()
        return spec

    def _rules_above(self, start: str) -> Rules:
        rules: Rules = ()
        if self._own_rules:
            rules = (("", self._own_rules),)
        if start and self.settings.respect_gitignore:
            for above in _folders_above(start):
                file = self.root / above / _IGNORE_FILE
                if file.is_file() and (spec := self._spec_of(file, above)):
                    rules = (*rules, (f"{above}/" if above else "", spec))
        return rules

    def _is_ignored(self, path: str, rules: Rules) -> bool:
        """Whether the deepest rule that speaks of this path says no; own settings always win."""
        known = self._ignored.get(path)
        if known is None:
            known = self._own_rules is not None and self._own_rules.match_file(path)
            for base, spec in reversed(rules) if not known else ():
                included = spec.check_file(path[len(base) :]).include
                if included is not None:
                    known = included
                    break
            self._ignored[path] = known
        return known

    def _hidden_or_ignored(self, path: str) -> bool:
        """Whether a rule for folders keeps this path (a folder) or one above it out."""
        parts = path.split("/")
        rules = self._rules_above(path)
        for depth, name in enumerate(parts):
            if self._why_folder_is_out(name, "/".join(parts[: depth + 1]), rules):
                return True
        return False

    def _no_link_above(self, path: str) -> bool:
        return not any(
            (self.root / above).is_symlink() for above in (*_folders_above(path), path) if above
        )

    def _visible(self, path: str) -> str:
        """The real path of a note that may be shown. Raises PathRefused or NoteNotFound."""
        target = self.root / path
        try:
            found = target.lstat()
            real = target.resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            path, target = self._other_spelling(path), self.root / self._other_spelling(path)
            found, real = target.lstat(), target.resolve(strict=True)
        if not real.is_relative_to(self.root):
            raise PathRefused(
                "That path leads outside the vault.", "Links out of the vault are not followed."
            )
        if stat.S_ISLNK(found.st_mode) or real != target:
            path = real.relative_to(self.root).as_posix()
        if real.is_dir():
            raise PathRefused(
                f"{path} is a folder, not a note.", "get_brief takes branches; open takes notes."
            )
        folder, _, name = path.rpartition("/")
        if not name.lower().endswith(NOTE_SUFFIXES):
            raise PathRefused(f"{path} is not a note.", f"Notes end in {', '.join(NOTE_SUFFIXES)}.")
        hidden = name.startswith(".") or (folder and self._hidden_or_ignored(folder))
        if hidden or self._is_ignored(path, self._rules_above(f"{folder}/" if folder else "x")):
            raise PathRefused(
                f"{path} is hidden or ignored.", "`status` lists what is left out, and why."
            )
        return path

    def _other_spelling(self, path: str) -> str:
        """The path on disk that differs from `path` only in Unicode form. Raises NoteNotFound."""
        folder, spelled = self.root, []
        for part in path.split("/"):
            wanted = unicodedata.normalize("NFC", part)
            try:
                names = os.listdir(folder)
            except (OSError, ValueError):
                names = []
            same = [n for n in names if unicodedata.normalize("NFC", n) == wanted]
            if not same:
                raise NoteNotFound(f"There is no note {path!r}.")
            spelled.append(part if part in same else same[0])
            folder = folder / spelled[-1]
        return "/".join(spelled)

    def _open(self, path: str) -> int:
        """Open for reading without following a link at any level."""
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        nofollow = getattr(os, "O_NOFOLLOW", 0)
        if not nofollow or os.open not in os.supports_dir_fd:
            handle = os.open(self.root / path, flags)
            if (self.root / path).resolve() != self.root / path:
                os.close(handle)
                raise PermissionError(path)
            return handle
        parts = path.split("/")
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts[:-1]:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | nofollow, dir_fd=folder)
                os.close(folder)
                folder = inner
            return os.open(parts[-1], flags | nofollow | os.O_NONBLOCK, dir_fd=folder)
        finally:
            os.close(folder)


def write_atomically(file: Path, text: str) -> None:
    """Write a text so that a reader sees the old file or the new one, never a part."""
    write_bytes_atomically(file, text.encode("utf-8"))


def write_bytes_atomically(file: Path, content: bytes) -> None:
    """Write bytes to a temporary file beside the target, sync it, rename it over the target."""
    handle, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o644
        Path(temporary).chmod(mode)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _ignore_spec(lines: Iterable[str]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # 30 ms, for vaults that have ignore rules

    return GitIgnoreSpec.from_lines(lines)


def fingerprint_of(found: os.stat_result) -> Fingerprint:
    """Fingerprint from a stat result; the inode folded to what SQLite can hold."""
    return Fingerprint(
        found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino & 0x7FFF_FFFF_FFFF_FFFF
    )


def _folders_above(path: str) -> Iterator[str]:
    """Every folder above a path, from the root (`""`) down."""
    yield ""
    parts = path.split("/")[:-1]
    for depth in range(len(parts)):
        yield "/".join(parts[: depth + 1])


def _printable(path: str) -> str:
    """The path with bytes that are no text, and control characters, shown as escapes."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda matched: f"\\x{ord(matched[0]):02x}", text)
