"""Notes as they were committed at a day, through the `git` program, read-only.

The repository is somebody's data: nothing of its configuration may run. Hooks, fsmonitor, filters,
textconv, pagers and aliases are off or never reached (`rev-list`, `ls-tree`, `cat-file` apply none),
and a partial clone may not fetch. Raises nothing: no git, no work tree, no commit give a reason.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 20
_OFF = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.sshCommand=false",
    "core.askPass=", "credential.helper=", "protocol.allow=never", "diff.external=", "safe.directory=*",
    "core.alternateRefsCommand=", "gc.auto=0", "maintenance.auto=false", "log.showSignature=false",
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
    """A note's blob in a commit."""

    path: str  # from the vault root
    blob: str
    size: int


@dataclass(frozen=True, slots=True)
class Commit:
    """The last commit of a day or before it, and the notes in it; or why there is none."""

    name: str = ""
    day: str = ""
    notes: tuple[Committed, ...] = ()
    reason: str = ""


def notes_at(root: Path, day: str) -> Commit:
    """The files below `root` in the newest commit up to the end of an ISO day."""
    if shutil.which("git") is None:
        return Commit(reason="git is not installed")
    if _run(root, "rev-parse", "--is-inside-work-tree").strip() != b"true":
        return Commit(reason="the vault is not in a git work tree")
    found = _run(root, "rev-list", "-1", "--date-order", f"--before={day}T23:59:59", "HEAD").strip()
    if not found:
        shallow = _run(root, "rev-parse", "--is-shallow-repository").strip() == b"true"
        return Commit(
            reason="the clone is too shallow for that day" if shallow else "no commit is that old"
        )
    commit = found.decode("ascii", "replace")
    prefix = (
        _run(root, "rev-parse", "--show-prefix").decode("utf-8", "surrogateescape").rstrip("\n")
    )
    listing = _run(
        root, "ls-tree", "-r", "-l", "-z", "--full-tree", commit, *([prefix] if prefix else [])
    )
    day_of_commit = _run(
        root, "rev-list", "-1", "--format=%cs", "--no-commit-header", commit
    ).strip()
    return Commit(commit, day_of_commit.decode("ascii", "replace"), tuple(_blobs(listing, prefix)))


def texts_of(root: Path, blobs: Sequence[str]) -> list[bytes | None]:
    """The bytes of blobs, in order; None for one that a partial clone does not hold."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    output = _run(root, "cat-file", "--batch", given=asked)
    texts: list[bytes | None] = []
    at = 0
    for _ in blobs:
        end = output.find(b"\n", at)
        if end < 0:
            texts.append(None)
            continue
        head = output[at:end].split()
        if len(head) < 3 or head[1] != b"blob":
            texts.append(None)
            at = end + 1
            continue
        size = int(head[2])
        texts.append(output[end + 1 : end + 1 + size])
        at = end + 1 + size + 1
    return texts


def _blobs(listing: bytes, prefix: str) -> Iterator[Committed]:
    for entry in listing.split(b"\0"):
        about, _, raw_path = entry.partition(b"\t")
        fields = about.split()
        if len(fields) != 4 or fields[1] != b"blob" or fields[0] == b"120000":
            continue
        path = raw_path.decode("utf-8", "surrogateescape")
        if path.startswith(prefix):
            size = int(fields[3]) if fields[3].isdigit() else 0
            yield Committed(path[len(prefix) :], fields[2].decode("ascii"), size)


def _run(root: Path, *arguments: str, given: bytes | None = None) -> bytes:
    """Output of a git command; empty when it fails. Never shares our standard input."""
    options = [part for setting in _OFF for part in ("-c", setting)]
    kept = {
        k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "SYSTEMROOT", "TMPDIR", "TZ")
    }
    try:
        done = subprocess.run(  # noqa: S603  # fixed program; a day and object names only
            ["git", "--no-pager", *options, "-C", str(root), *arguments],  # noqa: S607  # the user's git
            input=given or b"",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            env={**kept, **_ENVIRONMENT},
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""
