"""What the index knows of its files, kept in memory until what is indexed changes.

After another process wrote, it is read again, one branch at a time where no more is asked for. Any
thread may ask. The lock here is held for moments only and nothing else is waited for under it, so it
may be taken while a view of the index is open. Not here: how the disk differs (`sync`).
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from workingset_mcp.index.engine import View
from workingset_mcp.index.rows import Known


class KnownFiles:
    """Path -> what is known of that file, of all files or of those of one branch."""

    def __init__(self, branch_of: Callable[[str], str]) -> None:
        self._branch_of = branch_of
        self._lock = threading.Lock()
        self._write_turn = threading.Lock()
        self._writing = False
        self._all: dict[str, Known] | None = None
        self._parts: dict[str, dict[str, Known]] = {}
        self._version: tuple[int, int] | None = None
        self._before: dict[str, dict[str, Known]] = {}  # branches as they were before others wrote
        self._whole_before = False
        self._news: set[str] = set()

    def of(self, branch: str | None, view: View) -> dict[str, Known]:
        """What the index knew of a branch, or of everything, in a view of it. Raises IndexDamaged."""
        return self._of(branch, view)

    def about(self, paths: Iterable[str], view: View) -> dict[str, Known]:
        """What the index knew, in a view of it, of those of these paths that it has."""
        by_branch: dict[str, list[str]] = {}
        for path in paths:
            by_branch.setdefault(self._branch_of(path), []).append(path)
        found: dict[str, Known] = {}
        for branch, asked in by_branch.items():
            found.update(self._of(branch, view, asked))
        return found

    def news(self) -> set[str]:
        """Paths of notes that another process wrote or dropped since this was asked, as far as seen."""
        with self._lock:
            told, self._news = self._news, set()
        return told

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The one turn to change the index, so that what is known follows each change (`took`).

        Its holder waits for the engine: never ask for it while a view of the index is open.
        """
        with self._write_turn:
            with self._lock:
                self._writing = True
            try:
                yield
            finally:
                with self._lock:
                    self._writing = False

    def took(
        self, generation: int, before: Mapping[str, Known], after: Mapping[str, Known | None]
    ) -> None:
        """Keep up with a change of our own, which gave the index this generation.

        `before`: what the index had to have of a file for the change to be made. None: dropped.
        """
        with self._lock:
            if self._version is None or self._version[1] + 1 != generation:
                self._version = None  # another process wrote in between: read everything anew
                return
            for path, known in after.items():
                for part in self._parts_with(path):
                    if part.get(path) != before.get(path):  # left alone by the engine too
                        continue
                    if known is None:
                        part.pop(path, None)
                    else:
                        part[path] = known
            self._version = (self._version[0], generation)

    def _of(
        self, branch: str | None, view: View, paths: Iterable[str] | None = None
    ) -> dict[str, Known]:
        version = view.version()
        with self._lock:
            kept = self._part(branch) if self._is_at(version) else None
            if kept is not None:
                return _among(kept, paths)
        found = view.known(branch)  # without the lock: a large vault takes a while
        with self._lock:
            if self._version == version and self._part(branch) is None:
                self._keep(branch, dict(found))
        return _among(found, paths)

    def _is_at(self, version: tuple[int, int]) -> bool:
        """Whether what is kept is of this version; what is older makes room for it first.

        While a change of our own is written, nothing newer is kept: `took` is about to follow it.
        """
        if not self._writing and (self._version is None or version > self._version):
            self._before = {**self._parts, **self._before}
            self._whole_before |= self._all is not None
            self._all, self._parts, self._version = None, {}, version
        return self._version == version

    def _part(self, branch: str | None) -> dict[str, Known] | None:
        if branch is None:
            return self._all
        return self._parts.get(branch) if self._all is None else self._parts.get(branch, {})

    def _keep(self, branch: str | None, found: dict[str, Known]) -> None:
        if branch is not None:
            self._parts[branch] = found
            self._compare(branch)
            return
        self._all, self._parts = found, {}
        for path, known in found.items():
            self._parts.setdefault(self._branch_of(path), {})[path] = known
        for name in {*self._parts, *self._before}:
            self._compare(name)
        self._whole_before = False

    def _compare(self, branch: str) -> None:
        before = self._before.pop(branch, {} if self._whole_before else None)
        if before is not None:
            now = {path: known.digest for path, known in self._parts.get(branch, {}).items()}
            then = {path: known.digest for path, known in before.items()}
            self._news |= {path for path, _ in now.items() ^ then.items()}

    def _parts_with(self, path: str) -> list[dict[str, Known]]:
        branch = self._branch_of(path)
        if self._all is not None:
            return [self._all, self._parts.setdefault(branch, {})]
        return [self._parts[branch]] if branch in self._parts else []


def _among(known: Mapping[str, Known], paths: Iterable[str] | None) -> dict[str, Known]:
    """What is known of these paths; of all when none are given. Always a copy."""
    if paths is None:
        return dict(known)
    return {path: known[path] for path in paths if path in known}
