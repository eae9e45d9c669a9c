"""Serve briefs and notes as MCP resources, complete their names, and announce their changes.

Clients of both protocol eras are notified of a saved note: 2026 clients through their listen stream,
older ones through the session they subscribed in. Not here: the texts themselves (`workspace`).
"""

import logging
from collections.abc import AsyncIterable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

import anyio
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Annotations,
    Completion,
    EmptyResult,
    ListResourcesResult,
    NotificationParams,
    PaginatedRequestParams,
    Resource,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from workingset_mcp.answers.answer import fit_refusal
from workingset_mcp.errors import WorkingsetError
from workingset_mcp.escaping import show_name
from workingset_mcp.server import sdk
from workingset_mcp.server.tools._declare import limits_of, time_limited
from workingset_mcp.workspace.facade import Workspace

BRIEF_URI = "workingset://brief/"
NOTE_URI = "workingset://note/"
PAGE = 50
NEXT_LINE_BYTES = 60  # of the line that names the next part, beside the path in it
ROOT = "."  # clients that normalise URIs drop it, so its brief is listed without a name
MOST_COMPLETIONS = 100
COMPLETION_WAIT_SECONDS = 3.0  # for the first build
MOST_NOTES_TOLD = 500  # per change
SLOW_CLIENT_SECONDS = 1.0
_RESERVED = ":/?#[]@!$&'()*+,;="  # characters that `{+name}` in a template does not escape
_log = logging.getLogger(__name__)

Server = MCPServer[Workspace]


def add_resources(server: Server, workspace: Workspace) -> None:
    """Register the templates for briefs and notes, and a paged list of the branches' briefs."""

    @server.resource(
        f"{BRIEF_URI}{{+branch}}", name="brief", title="Brief of a branch", mime_type="text/markdown",
        description="The current state of a branch in about 2,000 tokens",
        annotations=Annotations(audience=["assistant"], priority=0.9),
    )  # fmt: skip
    def brief(branch: str, ctx: Context[Any]) -> str:
        limits = limits_of(ctx, workspace)
        try:
            with time_limited():
                return workspace.brief_text(workspace.branch_named(branch or ROOT), limits)
        except WorkingsetError as error:
            raise ResourceNotFoundError(fit_refusal(error, None, limits)) from error

    @server.resource(
        f"{NOTE_URI}{{+path}}", name="note", title="A note, verbatim", mime_type="text/markdown",
        description="The exact text of a note, a long one in parts: its last line names the next",
        annotations=Annotations(audience=["assistant"], priority=0.5),
    )  # fmt: skip
    def note(path: str, ctx: Context[Any]) -> str:
        limits = limits_of(ctx, workspace)
        try:
            reserved = len(_encoded(f"{NOTE_URI}{path}")) * 3 // 2 + NEXT_LINE_BYTES
            with time_limited():
                text, following = workspace.note_part(path, limits, reserved)
        except WorkingsetError as error:
            raise ResourceNotFoundError(fit_refusal(error, None, limits)) from error
        if not following:
            return text
        end = "" if text.endswith(("\n", "\r")) else "\n"
        return f"{text}{end}next: {_encoded(f'{NOTE_URI}{following}')}\n"

    def branch_times() -> list[tuple[str, int]]:
        with time_limited():
            return workspace.branch_times()

    async def listed(_: Any, parameters: PaginatedRequestParams) -> ListResourcesResult:
        try:
            branches = await anyio.to_thread.run_sync(branch_times)
        except WorkingsetError as error:
            raise MCPError(INTERNAL_ERROR, str(error)) from error
        cursor = parameters.cursor or ""
        if cursor and not (cursor.isdecimal() and int(cursor) < len(branches)):
            raise MCPError(INVALID_PARAMS, f"{cursor[:40]!r} is not a cursor of this list.")
        start = int(cursor or 0)
        page = branches[start : start + PAGE]
        following = str(start + PAGE) if start + PAGE < len(branches) else None
        return ListResourcesResult(
            resources=[_listed_brief(name, changed_ns) for name, changed_ns in page],
            next_cursor=following,
        )

    sdk.low_level(server).add_request_handler("resources/list", PaginatedRequestParams, listed)


def _listed_brief(branch: str, changed_ns: int) -> Resource:
    changed = datetime.fromtimestamp(changed_ns // 1_000_000_000, UTC).isoformat()
    return Resource(
        uri=_encoded(f"{BRIEF_URI}{'' if branch == ROOT else branch}"),
        name=branch,
        title=f"Brief: {show_name(branch)}",
        mime_type="text/markdown",
        annotations=Annotations(audience=["assistant"], priority=0.9, last_modified=changed),
    )


def add_completions(server: Server, workspace: Workspace) -> None:
    """Register completions of branch names and note paths, for templates and prompts."""

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
    """Notifies clients of changed briefs and notes. Changes come from any thread; it sends on the loop."""

    def __init__(self, server: Server, bus: InMemorySubscriptionBus, workspace: Workspace) -> None:
        self._bus, self._workspace = bus, workspace
        self._sessions: dict[int, Any] = {}  # of older clients, by connection id id
        self._subscribed: dict[str, dict[int, str]] = {}  # decoded URI -> connection id -> URI
        low = sdk.low_level(server)
        low.add_notification_handler("notifications/initialized", NotificationParams, self._meet)
        low.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        low.add_request_handler(
            "resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe
        )

    async def run(self, changes: AsyncIterable[frozenset[str]]) -> None:
        """Announce each set of changed paths, until cancelled; an empty set means that the index is built."""
        built = self._workspace.freshness.built.is_set()
        known = await self._branches() if built else None
        async for paths in changes:
            briefs = {f"{BRIEF_URI}{self._workspace.vault.branch_of(path)}" for path in paths}
            if f"{BRIEF_URI}{ROOT}" in briefs:
                briefs.add(BRIEF_URI)
            notes = [f"{NOTE_URI}{path}" for path in sorted(paths)[:MOST_NOTES_TOLD]]
            for uri in [*sorted(briefs), *notes]:
                await self._tell(uri)
            now = await self._branches()
            if known is not None and now not in (None, known):
                await self._tell_list()
            known = now or known

    async def _branches(self) -> list[str] | None:
        """Return the branches; None if the index fails, and then the next change asks again."""
        try:
            return await anyio.to_thread.run_sync(self._workspace.known_branches)
        except Exception:  # noqa: BLE001  # a failed notification must not stop the server
            _log.warning("the branches cannot be listed", exc_info=True)
            return None

    async def _tell_list(self) -> None:
        await self._bus.publish(ResourcesListChanged())
        for connection, session in list(self._sessions.items()):
            await self._try(connection, session.send_resource_list_changed)

    async def _tell(self, uri: str) -> None:
        for form in {uri, _encoded(uri)}:
            await self._bus.publish(ResourceUpdated(form))
        for connection, given in list(self._subscribed.get(uri, {}).items()):
            session = self._sessions[connection]
            await self._try(connection, session.send_resource_updated, given)

    async def _try(self, connection: int, send: Callable[..., Any], *arguments: object) -> None:
        """Send; forget a client that has gone or does not receive within a second."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            with anyio.move_on_after(SLOW_CLIENT_SECONDS):
                await send(*arguments)
                return
        self._forget(connection)

    async def _meet(self, ctx: Any, _: NotificationParams) -> None:
        connection = sdk.connection_of(ctx.session)
        if id(connection) not in self._sessions:
            self._sessions[id(connection)] = ctx.session
            connection.exit_stack.callback(self._forget, id(connection))

    def _forget(self, connection: int) -> None:
        self._sessions.pop(connection, None)
        for uri in [uri for uri, given in self._subscribed.items() if connection in given]:
            self._leave(uri, connection)

    def _leave(self, uri: str, connection: int) -> None:
        given = self._subscribed.get(uri, {})
        given.pop(connection, None)
        if not given:
            self._subscribed.pop(uri, None)

    async def _subscribe(self, ctx: Any, parameters: SubscribeRequestParams) -> EmptyResult:
        await self._meet(ctx, NotificationParams())
        given = self._subscribed.setdefault(unquote(parameters.uri), {})
        given[id(sdk.connection_of(ctx.session))] = parameters.uri
        return EmptyResult()

    async def _unsubscribe(self, ctx: Any, parameters: UnsubscribeRequestParams) -> EmptyResult:
        self._leave(unquote(parameters.uri), id(sdk.connection_of(ctx.session)))
        return EmptyResult()


def _encoded(uri: str) -> str:
    """Return a URI as clients expand our templates: only characters invalid in a URI are escaped."""
    return quote(uri, safe=_RESERVED)


__all__ = ["Announcer", "add_completions", "add_resources"]
