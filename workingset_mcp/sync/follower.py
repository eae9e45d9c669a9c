"""Follow a vault: refresh on file events, sweep periodically, and poll where no events arrive.

Events are collected only briefly, so a vault that is edited without a pause is still refreshed. If a
sweep finds a change that no event reported, events are not trusted any more. The event source is an
argument: any async iterable of change sets. Not here: what a refresh does (`freshness`).
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
from watchfiles import Change, awatch

from workingset_mcp.errors import IndexDamaged, VaultNotFound, WorkingsetError
from workingset_mcp.sync.freshness import Freshness
from workingset_mcp.vault.files import Fingerprint
from workingset_mcp.vault.ignoring import LEFT_OUT_FOLDERS

QUIET_MILLISECONDS = 25
MOST_GATHERED_MILLISECONDS = 100  # longest time to collect events without a pause between them
HEARTBEAT_MILLISECONDS = 500
SWEEP_SECONDS = 60.0
POLL_SECONDS = 2.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Follower:
    """Follows a vault: refreshes on events, sweeps periodically, polls where no events arrive."""

    freshness: Freshness
    source: AsyncIterable[set[tuple[Change, str]]] | None = None
    sweep_seconds: float = SWEEP_SECONDS
    poll_seconds: float = POLL_SECONDS
    watching: anyio.Event = field(default_factory=anyio.Event)  # set once the watch is active
    _stop: anyio.Event = field(default_factory=anyio.Event)

    async def run(self) -> None:
        """Follow until cancelled. A failed refresh is recorded, logged and retried."""
        self.freshness.watcher = "starting"
        async with anyio.create_task_group() as group:
            group.start_soon(self._follow)
            group.start_soon(self._sweep)

    async def _follow(self) -> None:
        """Watch the root; another one that takes its place is watched anew."""
        freshness = self.freshness
        try:
            while True:
                root = self._root()
                if root is None:
                    await anyio.sleep(self.poll_seconds)
                elif not await self._watch(root):
                    break
        except anyio.get_cancelled_exc_class():
            self._stop.set()
            raise
        except Exception as error:  # noqa: BLE001  # a failing watcher must not stop the server
            _log.warning("no file events (%s): polling every %s s", error, self.poll_seconds)
        freshness.watcher = "polling"

    def _root(self) -> tuple[int, int] | None:
        try:
            return self.freshness.vault.identity()
        except VaultNotFound:
            return None

    async def _watch(self, root: tuple[int, int]) -> bool:
        """Refresh on events; True once the root is gone or another one, False when no more come."""
        freshness = self.freshness
        source = self.source or awatch(
            freshness.vault.root,
            watch_filter=None,
            debounce=MOST_GATHERED_MILLISECONDS,
            step=QUIET_MILLISECONDS,
            rust_timeout=HEARTBEAT_MILLISECONDS,
            yield_on_timeout=True,
            stop_event=self._stop,
            ignore_permission_denied=True,
        )
        is_first = True
        async for changed in source:
            if self._root() != root:
                if isinstance(source, AsyncGenerator):
                    await source.aclose()
                await self._refresh({None})
                return True
            if is_first:
                freshness.watcher = "events"
                await self._refresh({None})  # for changes before the watch began
                self.watching.set()
                is_first = False
            if changed:
                paths = {Path(path) for _, path in changed}
                await self._refresh(await anyio.to_thread.run_sync(self._scopes, paths))
        return False

    async def _sweep(self) -> None:
        freshness = self.freshness
        while True:
            polling = freshness.watcher == "polling"
            await anyio.sleep(self.poll_seconds if polling else self.sweep_seconds)
            if await self._missed_something():
                _log.warning("files changed without events: polling every %s s", self.poll_seconds)
                freshness.watcher = "polling"
            await self._refresh({None})

    async def _missed_something(self) -> bool:
        """Return whether a file still differs in the same way after its event should have arrived."""
        freshness, found = self.freshness, list[dict[str, Fingerprint | None]]()
        with suppress(WorkingsetError):
            while freshness.watcher == "events":
                found.append(await anyio.to_thread.run_sync(freshness.differing))
                if not found[-1] or len(found) == 2:
                    break
                await anyio.sleep(self.poll_seconds)
        return len(found) == 2 and bool(found[0].items() & found[1].items())

    async def _refresh(self, scopes: set[str | None]) -> None:
        """Refresh these; the whole vault first of all, where it was never indexed whole.

        While another process holds the index, or the vault is not there, the whole vault is tried again
        and again.
        """
        while not await self._is_done(scopes):
            await anyio.sleep(self.poll_seconds)
            scopes = {None}

    async def _is_done(self, scopes: set[str | None]) -> bool:
        """Refresh these; False to try again soon."""
        freshness = self.freshness
        for scope in sorted(scopes, key=str) if None not in scopes else [None]:
            try:
                await anyio.to_thread.run_sync(self._refresh_now, scope)
            except Exception as error:  # noqa: BLE001  # the supervised loop logs and retries
                freshness.note_failure(error)
                if isinstance(error, WorkingsetError):
                    _log.warning("refresh failed (%s): it is tried again", error.message)
                    return False
                _log.exception("refresh failed; the next event or sweep tries again")
        return not freshness.state.is_held

    def _refresh_now(self, scope: str | None) -> None:
        freshness = self.freshness
        try:
            if freshness.built.is_set():
                freshness.refresh(scope)
            else:
                freshness.build()
        except IndexDamaged as error:
            freshness.start_anew(error.epoch)
            freshness.build()

    def _scopes(self, changed: set[Path]) -> set[str | None]:
        """Return the branches whose notes may differ; the whole vault (None) in doubt."""
        vault = self.freshness.vault
        scopes: set[str | None] = set()
        for path in changed:
            try:
                relative = path.relative_to(vault.root).as_posix()
            except ValueError:
                return {None}
            if vault.shapes_the_walk(relative):
                return {None}
            if any(
                part.startswith(".") or part in LEFT_OUT_FOLDERS for part in relative.split("/")
            ):
                continue
            if vault.is_note_name(path.name) and not path.is_dir():
                scopes.add(vault.branch_of(relative))
            elif path.is_dir() or self.freshness.knows_below(relative):
                return {None}
        return scopes
