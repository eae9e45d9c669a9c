"""Briefs and notes as MCP resources, completions for their names, and word of their changes.

Clients of both protocol eras hear of a saved note: 2026 clients through their listen stream, older
ones through the session they subscribed in. Not here: the texts themselves (`workspace`).
"""

import logging
from collections.abc import AsyncIterable, Callable
from datetime import UTC, datetime
from typing import Any

import anyio
from mcp import MCPError
from mcp.server import MCPServer, NotificationOptions
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated
from mcp_types import (
    INVALID_PARAMS,
    Annotations,
    Completion,
    EmptyResult,
    ListResourcesResult,
    PaginatedRequestParams,
    Resource,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from workingset_mcp.errors import WorkingsetError
from workingset_mcp.workspace import Workspace, brief_text

BRIEF_URI = "workingset://brief/"
NOTE_URI = "workingset://note/"
PAGE = 50
MOST_COMPLETIONS = 100
COMPLETION_WAIT_SECONDS = 3.0  # for the first build
MOST_NOTES_TOLD = 500  # of one change
_log = logging.getLogger(__name__)

Server = MCPServer[Workspace]


def add_resources(server: Server, workspace: Workspace) -> None:
    """Templates for briefs and notes, and a paged list of the branches' briefs."""

    @server.resource(
        f"{BRIEF_URI}{{+branch}}", name="brief", title="Brief of a branch", mime_type="text/markdown",
        description="The current state of a branch in a few hundred tokens",
        annotations=Annotations(audience=["assistant"], priority=0.9),
    )  # fmt: skip
    def brief(branch: str) -> str:
        try:
            return brief_text(workspace.brief(branch))
        except WorkingsetError as error:
            raise ResourceNotFoundError(str(error)) from error

    @server.resource(
        f"{NOTE_URI}{{+path}}", name="note", title="A note, verbatim", mime_type="text/markdown",
        description="The exact text of a note",
        annotations=Annotations(audience=["assistant"], priority=0.5),
    )  # fmt: skip
    def note(path: str) -> str:
        try:
            return workspace.note_text(path)
        except WorkingsetError as error:
            raise ResourceNotFoundError(str(error)) from error

    async def listed(_: Any, parameters: PaginatedRequestParams) -> ListResourcesResult:
        branches = await anyio.to_thread.run_sync(workspace.branch_times)
        cursor = parameters.cursor or ""
        if cursor and not (cursor.isdecimal() and int(cursor) < len(branches)):
            raise MCPError(INVALID_PARAMS, f"{cursor[:40]!r} is no cursor of this list.")
        start = int(cursor or 0)
        page = branches[start : start + PAGE]
        following = str(start + PAGE) if start + PAGE < len(branches) else None
        return ListResourcesResult(
            resources=[_listed_brief(name, changed_ns) for name, changed_ns in page],
            next_cursor=following,
        )

    server._lowlevel_server.add_request_handler(  # the SDK has no public way
        "resources/list", PaginatedRequestParams, listed
    )


def _listed_brief(branch: str, changed_ns: int) -> Resource:
    changed = datetime.fromtimestamp(changed_ns // 1_000_000_000, UTC).isoformat()
    return Resource(
        uri=f"{BRIEF_URI}{branch}",
        name=branch,
        title=f"Brief: {branch}",
        mime_type="text/markdown",
        annotations=Annotations(audience=["assistant"], priority=0.9, last_modified=changed),
    )


def add_completions(server: Server, workspace: Workspace) -> None:
    """Branch names and note paths, for templates and prompts."""

    def known_names(kind: str) -> list[str]:
        workspace.freshness.wait_until_built(COMPLETION_WAIT_SECONDS)
        return workspace.known_branches() if kind == "branch" else workspace.known_paths()

    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator]  # untyped in the SDK
    async def complete(_: Any, argument: Any, __: Any) -> Completion | None:
        if argument.name not in ("branch", "path"):
            return None
        names = await anyio.to_thread.run_sync(known_names, argument.name)
        typed = argument.value.casefold()
        begins = [name for name in names if name.casefold().startswith(typed)]
        holds = [name for name in names if typed in name.casefold() and name not in begins]
        found = [*begins, *holds]
        return Completion(
            values=found[:MOST_COMPLETIONS],
            total=len(found),
            has_more=len(found) > MOST_COMPLETIONS,
        )


class Announcer:
    """Tells subscribers which briefs and notes changed. Changes come from any thread; telling is on the loop."""

    def __init__(self, server: Server, bus: InMemorySubscriptionBus, workspace: Workspace) -> None:
        self._bus, self._workspace = bus, workspace
        self._sessions: dict[
            str, dict[int, Any]
        ] = {}  # uri -> connection of an older client -> session
        low = server._lowlevel_server  # the SDK has no public way
        low.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        low.add_request_handler(
            "resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe
        )

    async def run(self, changes: AsyncIterable[frozenset[str]]) -> None:
        """Tell of every set of changed paths that comes in, until cancelled; an empty one says built."""
        built = self._workspace.freshness.built.is_set()
        known = self._workspace.known_branches() if built else None
        async for paths in changes:
            branches = {self._workspace.vault.branch_of(path) for path in paths}
            for branch in sorted(branches):
                await self._tell(f"{BRIEF_URI}{branch}")
            for path in sorted(paths)[:MOST_NOTES_TOLD]:
                await self._tell(f"{NOTE_URI}{path}")
            now = await anyio.to_thread.run_sync(self._workspace.known_branches)
            if known is not None and now != known:
                await self._tell_list()
            known = now

    async def _tell_list(self) -> None:
        await self._bus.publish(ResourcesListChanged())
        every = {key: one for some in self._sessions.values() for key, one in some.items()}
        for session in every.values():
            await self._try(session.send_resource_list_changed)

    async def _tell(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri))
        for key, session in list(self._sessions.get(uri, {}).items()):
            if not await self._try(session.send_resource_updated, uri):
                self._sessions[uri].pop(key, None)

    async def _try(self, send: Callable[..., Any], *arguments: object) -> bool:
        try:
            await send(*arguments)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return False
        return True

    async def _subscribe(self, ctx: Any, parameters: SubscribeRequestParams) -> EmptyResult:
        self._sessions.setdefault(parameters.uri, {})[_connection(ctx)] = ctx.session
        return EmptyResult()

    async def _unsubscribe(self, ctx: Any, parameters: UnsubscribeRequestParams) -> EmptyResult:
        self._sessions.get(parameters.uri, {}).pop(_connection(ctx), None)
        return EmptyResult()


def _connection(ctx: Any) -> int:
    """Which connection a request came by: its session object is new with every request."""
    return id(ctx.session._connection)  # the SDK has no public way


def notification_options() -> NotificationOptions:
    """What older clients are told they may hear of."""
    return NotificationOptions(resources_changed=True)


__all__ = ["Announcer", "Context", "add_completions", "add_resources", "notification_options"]
