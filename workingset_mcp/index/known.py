"""Cache in memory what the index knows of its files, until the index changes.

After another process has written, the cache is read again, one branch at a time if no more is needed.
It may be used from any thread. Its lock is held briefly and nothing blocks under it, so a thread may
take it while a view of the index is open. Not here: how the disk differs (`sync`).
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from workingset_mcp.index.engine import View
from workingset_mcp.index.rows import Known


class KnownFiles:
    """What the index knows of each file, by path, for the vault or for one branch."""

    def __init__(self, branch_of: Callable[[str], str]) -> None:
        self._branch_of = branch_of
        self._lock = threading.Lock()
        self._write_turn = threading.Lock()
        self._writing = False
        self._all: dict[str, Known] | None = None
        self._parts: dict[str, dict[str, Known]] = {}
        self._version: tuple[int, int] | None = None
        self._before: dict[str, dict[str, Known]] = {}  # branches before another process wrote
        self._whole_before = False
        self._news: set[str] = set()

    def of(self, branch: str | None, view: View) -> dict[str, Known]:
        """Return what a view of the index knows of a branch, or of the vault. Raises IndexDamaged."""
        return self._of(branch, view)

    def about(self, paths: Iterable[str], view: View) -> dict[str, Known]:
        """Return what a view of the index knows of these paths; unknown paths are left out."""
        by_branch: dict[str, list[str]] = {}
        for path in paths:
            by_branch.setdefault(self._branch_of(path), []).append(path)
        found: dict[str, Known] = {}
        for branch, own_paths in by_branch.items():
            found.update(self._of(branch, view, own_paths))
        return found

    def news(self) -> set[str]:
        """Return, once, the paths of notes that this cache has seen another process write or remove."""
        with self._lock:
            changed, self._news = self._news, set()
        return changed

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Take the only turn to change the index, so that `took` can follow each change.

        The holder waits for the engine, so never call this while a view of the index is open.
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
        """Follow a change of this process, which gave the index this generation.

        `before`: what the index had to know of a file for the change to apply. `after`: what it knows
        of the file now; None if it was removed.
        """
        with self._lock:
            if self._version is None or self._version[1] + 1 != generation:
                self._version = None  # another process wrote in between: read everything again
                return
            for path, known in after.items():
                for part in self._parts_with(path):
                    if part.get(path) != before.get(path):  # the engine skipped it too
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
            cached = self._part(branch) if self._is_at(version) else None
            if cached is not None:
                return _among(cached, paths)
        found = view.known(branch)  # outside the lock: a large vault takes a while
        with self._lock:
            if self._version == version and self._part(branch) is None:
                self._keep(branch, dict(found))
        return _among(found, paths)

    def _is_at(self, version: tuple[int, int]) -> bool:
        """Return whether the cache has this version; an older cache is emptied for a newer version.

        While this process writes a change, the cache is not emptied: `took` will follow the change.
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
    """Return a copy of what is known of these paths, or of all if `paths` is None."""
    if paths is None:
        return dict(known)
    return {path: known[path] for path in paths if path in known}
