"""What an index knows of its files, kept in memory while nobody changes what is indexed.

Read again once another process wrote: of one branch where only that is asked for. Not here: how the
disk differs (`freshness`). Its user sees to it that one thread asks at a time.
"""

from collections.abc import Callable, Iterable, Mapping

from workingset_mcp.index.engine import Engine, View
from workingset_mcp.index.rows import Known


class KnownFiles:
    """Path -> what is known of that file, of all files or of those of one branch."""

    def __init__(self, index: Engine, branch_of: Callable[[str], str]) -> None:
        self._index = index
        self._branch_of = branch_of
        self._all: dict[str, Known] | None = None
        self._parts: dict[str, dict[str, Known]] = {}
        self._version: tuple[int, int] | None = None
        self._before: dict[str, dict[str, Known]] = {}  # branches as they were before others wrote
        self._whole_before = False
        self._news: set[str] = set()

    def of(self, branch: str | None, view: View | None = None) -> Mapping[str, Known]:
        """What the index knows now, or knew in a view of it. Raises IndexDamaged."""
        if view is None:
            with self._index.snapshot() as newest:
                return self.of(branch, newest)
        version = view.version()
        if self._version is None or version > self._version:
            self._before = {**self._parts, **self._before}
            self._whole_before |= self._all is not None
            self._all, self._parts, self._version = None, {}, version
        elif version < self._version:
            return view.known(branch)
        if branch is None and self._all is None:
            self._all, self._parts = view.known(), {}
            for path, known in self._all.items():
                self._parts.setdefault(self._branch_of(path), {})[path] = known
            for name in {*self._parts, *self._before}:
                self._compare(name)
            self._whole_before = False
        if branch is None:
            return self._all or {}
        if branch not in self._parts:
            self._parts[branch] = view.known(branch) if self._all is None else {}
            self._compare(branch)
        return self._parts[branch]

    def about(self, paths: Iterable[str], view: View | None = None) -> dict[str, Known]:
        """What the index knows, or knew in a view of it, of those of these paths that it has."""
        if view is None:
            with self._index.snapshot() as newest:
                return self.about(paths, newest)
        found = ((path, self.of(self._branch_of(path), view).get(path)) for path in paths)
        return {path: known for path, known in found if known}

    def news(self) -> set[str]:
        """Paths of notes that another process wrote or dropped since this was asked, as far as seen."""
        told, self._news = self._news, set()
        return told

    def took(
        self, generation: int, gone: Iterable[str], known: Iterable[tuple[str, Known]]
    ) -> None:
        """Keep up with a change of our own, that gave the index this generation."""
        if self._version is None or self._version[1] + 1 != generation:
            self.forget()
            return
        for path in gone:
            for part in self._parts_with(path):
                part.pop(path, None)
        for path, seen in known:
            for part in self._parts_with(path):
                part[path] = seen
        self._version = (self._version[0], generation)

    def forget(self) -> None:
        """Read everything anew."""
        self._version = None

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
