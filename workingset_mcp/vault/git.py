"""Read notes as they were committed on a given day, through the `git` program.

The repository is somebody's data, so nothing in its configuration may run. Hooks, fsmonitor, filters,
textconv, pagers and aliases are off or never reached (`rev-list`, `ls-tree` and `cat-file` use none
of them), and a partial clone may not fetch. If git, a work tree or a commit is missing, `files_at`
raises nothing and gives the reason. Not here: which of the files are notes (`committed`).
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from workingset_mcp.caller import stop_if_gone
from workingset_mcp.errors import NoteNotFound
from workingset_mcp.notes.note import decode
from workingset_mcp.vault.files import read_without_links

_SECONDS = 20
_ASK_EVERY = 0.2  # seconds between checks that the caller still waits
_AT_ONCE = 200  # blobs that one process reads, at most `_BYTES_AT_ONCE` together unless one alone is larger
_BYTES_AT_ONCE = 16_000_000
_MOST_NAME_BYTES = 16_384  # of a git file that names a folder
_AHEAD_CHARACTERS = 400_000  # read ahead: more than one page holds
_OFF = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.sshCommand=false",
    "core.askPass=", "credential.helper=", "protocol.allow=never", "diff.external=",
    "safe.directory=*", "core.alternateRefsCommand=", "gc.auto=0", "maintenance.auto=false",
    "log.showSignature=false",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "",
    "GIT_SSH_COMMAND": "false",
    "GIT_EXTERNAL_DIFF": "",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class Committed:
    """A file's blob in a commit."""

    path: str  # relative to the vault root
    blob: str


@dataclass(frozen=True, slots=True)
class Commit:
    """The last commit up to a day and its files, or the reason why there is none."""

    name: str = ""
    day: str = ""
    files: tuple[Committed, ...] = ()
    reason: str = ""


def files_at(root: Path, day: str) -> Commit:
    """Return the files below `root` in the newest first-parent commit up to the end of an ISO day.

    Work on a side branch counts from its merge.
    """
    if shutil.which("git") is None:
        return Commit(reason="git is not installed")
    place = _run(root, "rev-parse", "--is-inside-work-tree", "--show-prefix") or b""
    inside, _, prefix_line = place.decode("utf-8", "surrogateescape").partition("\n")
    if inside != "true":
        return Commit(reason="the vault is not in a git work tree")
    if not _is_owned(root):
        return Commit(reason="the git repository does not belong to this folder")
    until = f"--before={day}T23:59:59"
    found = _stdout(root, "rev-list", "-1", "--first-parent", "--format=%cs", until, "HEAD").split()
    if len(found) != 3:  # commit, its name, its day
        shallow = _stdout(root, "rev-parse", "--is-shallow-repository") == "true"
        return Commit(
            reason="the clone is too shallow for that day" if shallow else "no commit is that old"
        )
    prefix = prefix_line.removesuffix("\n")
    below = [prefix] if prefix else []
    listing = _run(root, "ls-tree", "-r", "-z", "--full-tree", found[1], *below)
    if listing is None:
        return Commit(reason="the clone does not hold the files of that day")
    return Commit(found[1], found[2], tuple(_blobs(listing, prefix)))


def _is_owned(root: Path) -> bool:
    """Return whether the repository that git finds belongs to this folder or one above it.

    A vault may come from anybody, and its `.git` may point to a private repository of the person who
    opens it. So `.git` must be a real folder, or the repository must name this folder in turn, as a
    linked worktree and a submodule do. Objects stored elsewhere are not read.
    """
    options = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    output = _run(root, "rev-parse", *options) or b""
    lines = output.decode("utf-8", "surrogateescape").split("\n")
    if len(lines) != len(options) + 1:
        return False
    top, own, common = (Path(os.path.realpath(root / line)) for line in lines[:-1])
    if not root.is_relative_to(top) or _borrows(common / "objects"):
        return False
    if common == own:
        return own == top / ".git" or _named(own, _own_setting(own, "core.worktree")) == top
    return own.parent == common / "worktrees" and _named(own, _text(own, "gitdir")) == top / ".git"


def _named(folder: Path, named: str) -> Path | None:
    """Resolve a path that a file in a git folder names, relative to that folder."""
    return Path(os.path.realpath(folder / named)) if named else None


def _text(folder: Path, name: str) -> str:
    try:
        return read_without_links(folder, name, _MOST_NAME_BYTES)[0].decode().strip()
    except (OSError, ValueError):
        return ""


def _own_setting(folder: Path, name: str) -> str:
    file = str(folder / "config")
    output = _run(folder, "config", "--file", file, "--no-includes", "--get", name) or b""
    return output.decode("utf-8", "surrogateescape").removesuffix("\n")


def _borrows(objects: Path) -> bool:
    """Return whether a repository keeps objects elsewhere: as alternates, or behind links."""
    if objects.is_symlink() or os.path.lexists(objects / "info" / "alternates"):
        return True
    try:
        entries = [*os.scandir(objects), *os.scandir(objects / "pack")]
    except OSError:
        return True
    return any(entry.is_symlink() for entry in entries)


class Blobs:
    """Texts of a commit's files, read in batches: not all at once, and not one process per file.

    `too_large` counts the blobs over `most_bytes`, which are never read.
    """

    def __init__(self, root: Path, commit: str, most_bytes: int) -> None:
        self._root, self._commit, self._most_bytes = root, commit, most_bytes
        self._order: list[tuple[str, int]] = []
        self._places: dict[str, int] = {}
        self._held: dict[str, str] = {}
        self.too_large = 0

    def each(self, blobs: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the bytes of blobs in order; None if one is too large or missing from a partial clone."""
        sizes = self._sizes(blobs)
        at = 0
        while at < len(blobs):
            end, read = at, 0
            wanted: list[str] = []
            while end < len(blobs) and len(wanted) < _AT_ONCE:
                size = sizes.get(blobs[end])
                if size is not None and size <= self._most_bytes:
                    if wanted and read + size > _BYTES_AT_ONCE:
                        break
                    wanted.append(blobs[end])
                    read += size
                end += 1
            found = dict(zip(wanted, _bytes_of(self._root, self._commit, wanted), strict=True))
            for blob in blobs[at:end]:
                self.too_large += (sizes.get(blob) or 0) > self._most_bytes
                yield found.get(blob)
            at = end

    def _sizes(self, blobs: Sequence[str]) -> dict[str, int]:
        """Return the size in bytes of each blob that is present."""
        wanted = list(dict.fromkeys(blobs))
        output = _run(self._root, "cat-file", "--batch-check", given=_lines(wanted))
        if output is None:
            missing = _missing(self._root, self._commit)
            wanted = [blob for blob in wanted if blob not in missing]
            output = _run(self._root, "cat-file", "--batch-check", given=_lines(wanted))
        heads = [line.split() for line in (output or b"").decode("ascii", "replace").split("\n")]
        return {head[0]: int(head[2]) for head in heads if len(head) == 3 and head[1] == "blob"}

    def expect(self, order: Sequence[tuple[str, int]]) -> None:
        """Set the (blob, characters) pairs in the order in which `text` will read them."""
        self._order = list(order)
        self._places = {blob: at for at, (blob, _) in reversed(list(enumerate(order)))}

    def text(self, blob: str, begin: int, end: int) -> str:
        """Return characters of an expected blob. Raises NoteNotFound if git has dropped it."""
        held = self._held
        if blob not in held:
            ahead: list[str] = []
            characters = 0
            for name, size in self._order[self._places[blob] :]:
                characters += size
                if ahead and (characters > _AHEAD_CHARACTERS or len(ahead) == _AT_ONCE):
                    break
                ahead.append(name)
            raws = _bytes_of(self._root, self._commit, ahead)
            read = zip(ahead, raws, strict=True)
            self._held = held = {name: decode(raw)[0] for name, raw in read if raw is not None}
        if blob not in held:
            raise NoteNotFound(f"Git no longer has {blob[:10]} of that commit.", "Call again.")
        return held[blob][begin:end]


def _bytes_of(root: Path, commit: str, blobs: Sequence[str]) -> list[bytes | None]:
    """Return the bytes of a commit's blobs in order; None for one missing from a partial clone."""
    output = _batch(root, blobs)
    if output is not None:
        return _contents(output, len(blobs))
    missing = _missing(root, commit)  # git stops at the first blob that it would have to fetch
    held = [blob for blob in blobs if blob not in missing]
    found = dict(zip(held, _contents(_batch(root, held) or b"", len(held)), strict=True))
    return [found.get(blob) for blob in blobs]


def _batch(root: Path, blobs: Sequence[str]) -> bytes | None:
    return _run(root, "cat-file", "--batch", given=_lines(blobs)) if blobs else b""


def _lines(blobs: Sequence[str]) -> bytes:
    return "".join(f"{blob}\n" for blob in blobs).encode()


def _missing(root: Path, commit: str) -> set[str]:
    """Return the objects of a commit that a partial clone has not fetched."""
    listed = _stdout(root, "rev-list", "--objects", "--no-walk", "--missing=print", commit)
    return {line[1:] for line in listed.split("\n") if line.startswith("?")}


def _contents(output: bytes, count: int) -> list[bytes | None]:
    """Split the output of `cat-file --batch` into objects."""
    texts: list[bytes | None] = []
    at = 0
    for _ in range(count):
        end = output.find(b"\n", at)
        head = output[at:end].split() if end >= 0 else []
        if len(head) < 3 or head[1] != b"blob":
            texts.append(None)
            at = end + 1 if end >= 0 else len(output)
            continue
        size = int(head[2])
        texts.append(output[end + 1 : end + 1 + size])
        at = end + 1 + size + 1
    return texts


def _blobs(listing: bytes, prefix: str) -> Iterator[Committed]:
    for entry in listing.split(b"\0"):
        about, _, raw_path = entry.partition(b"\t")
        fields = about.split()
        if len(fields) != 3 or fields[1] != b"blob" or fields[0] == b"120000":
            continue
        path = raw_path.decode("utf-8", "surrogateescape")
        if path.startswith(prefix):
            yield Committed(path[len(prefix) :], fields[2].decode("ascii"))


def _stdout(root: Path, *arguments: str) -> str:
    """Return what a git command printed; empty if it fails."""
    return (_run(root, *arguments) or b"").decode("ascii", "replace").strip()


def _run(root: Path, *arguments: str, given: bytes | None = None) -> bytes | None:
    """Run a git command and return its output; None if it fails. It never shares our stdin."""
    options = [part for setting in _OFF for part in ("-c", setting)]
    inherited = {
        k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "SYSTEMROOT", "TMPDIR", "TZ")
    }
    try:
        process = subprocess.Popen(  # noqa: S603  # fixed program; a day and object names only
            ["git", "--no-pager", *options, "-C", str(root), *arguments],  # noqa: S607  # the user's git
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**inherited, **_ENVIRONMENT},
        )
    except OSError:
        return None
    with process:
        try:
            output = _output(process, given)
        finally:
            process.kill()  # no effect if it has ended
    return output if process.returncode == 0 else None


def _output(process: "subprocess.Popen[bytes]", given: bytes | None) -> bytes | None:
    """Return what a process prints; None if it takes too long."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        try:
            return process.communicate(given, timeout=_ASK_EVERY)[0]
        except subprocess.TimeoutExpired:
            given = None  # `communicate` keeps the input of its first call
            stop_if_gone()
    return None
