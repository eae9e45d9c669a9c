"""Turn a function over a workspace into an MCP tool: schema, client limits, errors a model can act on.

Only this module translates our errors; any other exception is a bug, which the SDK masks and logs. Not
here: how the SDK words its own errors (`sdk`).
"""

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

import anyio
from anyio.from_thread import check_cancelled
from anyio.lowlevel import RunVar
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations

from workingset_mcp.answers.answer import Answer, Limits, fit_refusal, printed
from workingset_mcp.caller import asking
from workingset_mcp.errors import TookTooLong, WorkingsetError
from workingset_mcp.server import sdk
from workingset_mcp.sync.freshness import Freshness
from workingset_mcp.workspace.facade import Workspace

PROGRESS_SECONDS = 0.2
# Calls at once. More only wait for each other: each look at a file gives up the interpreter's lock. With 200
# clients of 1,300 notes, 40 calls at once took a median of 14.4 s, 4 took 2.3 s, 2 took 0.4 s.
MOST_AT_ONCE = 2
SLOW_SECONDS = 1.0  # a call that takes longer lets the others pass
MOST_SECONDS = 30.0  # of a call: clients give up after 60, some after 30
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

# How much of one answer clients let through, by a part of the client's name.
CLIENT_LIMITS: tuple[tuple[str, Limits], ...] = (
    ("copilot", Limits(max_bytes=9_500)),
    ("codex", Limits(most_tokens=9_000)),
    ("gemini", Limits(max_bytes=40_000)),
)


_turns: RunVar[anyio.CapacityLimiter] = RunVar("turns")


async def _in_turn(answer: Callable[[], str]) -> str:
    """Answer in a thread, `MOST_AT_ONCE` at a time but for slow ones."""
    try:
        turns = _turns.get()
    except LookupError:
        _turns.set(turns := anyio.CapacityLimiter(MOST_AT_ONCE))
    call = object()
    await turns.acquire_on_behalf_of(call)
    passing = asyncio.get_running_loop().call_later(SLOW_SECONDS, turns.release_on_behalf_of, call)
    try:
        return await anyio.to_thread.run_sync(answer)
    finally:
        passing.cancel()
        if call in turns.statistics().borrowers:
            turns.release_on_behalf_of(call)


@contextmanager
def time_limited() -> Iterator[None]:
    """Within the block, long work ends between two parts once its caller is gone or its time is up.

    For a thread of a request. Raises TookTooLong.
    """
    deadline = time.monotonic() + MOST_SECONDS

    def ask() -> None:
        check_cancelled()
        if time.monotonic() > deadline:
            raise TookTooLong(
                f"The call took over {MOST_SECONDS:g} s and was ended.",
                "Narrow it: name a branch or dates, or ask for less.",
            )

    with asking(ask):
        yield


@dataclass(frozen=True, slots=True)
class Declared:
    """A tool before it is bound to a workspace."""

    name: str
    title: str
    description: str
    run: Callable[..., Answer[object]]  # (workspace, limits, **arguments)
    meta: dict[str, Any]


def declare(run: Callable[..., Answer[object]], *, title: str, **meta: Any) -> Declared:
    """Declare a tool: its name is the function's, its description the docstring."""
    return Declared(run.__name__, title, inspect.cleandoc(run.__doc__ or ""), run, meta)


def bound(declared: Declared, workspace_of: Callable[[Context[Any]], Workspace]) -> Tool:
    """Make the tool for a server; `workspace_of` returns the workspace of a request."""

    async def call(ctx: Context[Any], **arguments: Any) -> str:
        workspace = workspace_of(ctx)

        def answer() -> str:
            with time_limited():
                return answer_of(declared, workspace, limits_of(ctx, workspace), arguments)

        return await _answer_with_progress(answer, ctx, workspace.freshness)

    context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=Context[Any])
    own = inspect.signature(declared.run).parameters
    arguments = [own[name] for name in own if name not in ("workspace", "limits")]
    sdk.give_signature(call, [context, *arguments])
    tool = Tool.from_function(
        call, name=declared.name, title=declared.title, description=declared.description,
        annotations=READ_ONLY, meta=declared.meta or None, structured_output=False,
        context_kwarg="ctx",
    )  # fmt: skip
    tool.parameters = _without_titles(tool.parameters)
    sdk.take_texts_as_given(tool)
    return tool


def answer_of(
    declared: Declared, workspace: Workspace, limits: Limits, arguments: dict[str, Any]
) -> str:
    """The answer to a call as text. Raises ToolError with a refusal that keeps the budget too."""
    try:
        return printed(declared.run(workspace, limits, **arguments))
    except WorkingsetError as error:
        margin = workspace.settings.token_margin
        text = fit_refusal(error, arguments.get("budget"), limits, margin)
        raise ToolError(text) from error


def limits_of(ctx: Context[Any], workspace: Workspace) -> Limits:
    """Return what the client of this request lets through; settings and flags win."""
    own = workspace.limits()
    if own.max_bytes is not None:
        return own
    name = client_name(ctx).casefold()
    return next((limits for part, limits in CLIENT_LIMITS if part in name), own)


def client_name(ctx: Context[Any]) -> str:
    """Return the name that a client sent, in either protocol era; empty if it sent none."""
    parameters = ctx.session.client_params
    return parameters.client_info.name if parameters and parameters.client_info else ""


async def _answer_with_progress(
    answer: Callable[[], str], ctx: Context[Any], freshness: Freshness
) -> str:
    """Answer in a thread; during the first build, report progress to a caller that sent a progress token."""
    if freshness.built.is_set():
        return await _in_turn(answer)
    refused: ToolError | None = None
    text = ""
    async with anyio.create_task_group() as group:  # it would wrap an exception
        group.start_soon(_tell_progress, ctx, freshness)
        try:
            text = await _in_turn(answer)
        except ToolError as error:
            refused = error
        group.cancel_scope.cancel()
    if refused:
        raise refused
    return text


async def _tell_progress(context: Context[Any], freshness: Freshness) -> None:
    reported = -1
    while not freshness.built.is_set():
        state = freshness.state
        if state.done > reported:
            reported = state.done
            await context.report_progress(reported, state.total or None, str(state))
        await anyio.sleep(PROGRESS_SECONDS)


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop the titles that pydantic adds, and unwrap `anyOf` with null, to save tokens."""
    properties = {}
    for name, described in schema.get("properties", {}).items():
        described = {key: value for key, value in described.items() if key != "title"}
        options = described.pop("anyOf", None)
        if options:
            types = [option for option in options if option.get("type") != "null"]
            described = {**types[0], **described}
        if described.get("default", ...) is None:
            del described["default"]
        properties[name] = described
    return {
        "type": "object",
        "properties": properties,
        **({"required": schema["required"]} if schema.get("required") else {}),
        "additionalProperties": False,
    }
