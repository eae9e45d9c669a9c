"""From a function over a workspace to an MCP tool: schema, limits of the client, errors a model can
act on.

Our errors are translated here and nowhere else; everything else that is raised is a bug, which the
SDK masks and logs.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.from_thread import check_cancelled
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import ValidationError

from workingset_mcp.answers.answer import Answer, Limits, printed
from workingset_mcp.caller import asking
from workingset_mcp.errors import WorkingsetError
from workingset_mcp.sync.freshness import Freshness
from workingset_mcp.workspace.facade import Workspace

PROGRESS_SECONDS = 0.2
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

# What clients let through of one answer, by a part of the name they give themselves.
CLIENT_LIMITS: tuple[tuple[str, Limits], ...] = (
    ("copilot", Limits(max_bytes=9_500)),
    ("codex", Limits(most_tokens=9_000)),
    ("gemini", Limits(max_bytes=40_000)),
)


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
    """The tool for a server whose requests find their workspace through `workspace_of`."""

    @functools.wraps(declared.run)
    def call(ctx: Context[Any], **arguments: Any) -> str:
        workspace = workspace_of(ctx)
        try:
            with asking(check_cancelled):  # the SDK runs this in a thread of anyio
                return printed(declared.run(workspace, limits_of(ctx, workspace), **arguments))
        except WorkingsetError as error:
            raise ToolError(str(error)) from error

    signature = inspect.signature(declared.run)
    arguments = [
        p for name, p in signature.parameters.items() if name not in ("workspace", "limits")
    ]
    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Context[Any]
    )
    call.__dict__["__signature__"] = signature.replace(parameters=[context, *arguments])
    call.__annotations__ = {
        "ctx": Context[Any],
        **{p.name: p.annotation for p in arguments},
        "return": str,
    }
    del call.__wrapped__  # the SDK would look at the unbound function
    tool = _StrictTool.from_function(
        call, name=declared.name, title=declared.title, description=declared.description,
        annotations=READ_ONLY, meta=declared.meta or None, structured_output=False,
        context_kwarg="ctx",
    )  # fmt: skip
    tool.parameters = _without_titles(tool.parameters)
    return tool


def limits_of(ctx: Context[Any], workspace: Workspace) -> Limits:
    """What the client of this request lets through; settings and flags win."""
    own = workspace.limits()
    if own.max_bytes is not None:
        return own
    name = client_name(ctx).casefold()
    return next((limits for part, limits in CLIENT_LIMITS if part in name), own)


def client_name(ctx: Context[Any]) -> str:
    """The name a client gave itself, in either protocol era; empty when it gave none."""
    parameters = ctx.session.client_params
    return parameters.client_info.name if parameters and parameters.client_info else ""


class _StrictTool(Tool):
    """A tool whose refusals are one plain sentence."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any], convert_result: bool = False
    ) -> Any:
        names = list(self.parameters["properties"])
        unknown = next((name for name in arguments if name not in names), None)
        if unknown is not None:
            raise ToolError(_unknown(unknown, names))
        try:
            return await self._run_told(arguments, context, convert_result)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(_sentence(cause)) from cause
            if isinstance(cause, ToolError):
                raise ToolError(str(cause)) from cause.__cause__
            raise

    async def _run_told(
        self, arguments: dict[str, Any], context: Context[Any], convert: bool
    ) -> Any:
        """Run; while the first index is built, tell a caller who gave a token how far it is."""
        freshness: Freshness = context.request_context.lifespan_context.freshness
        if freshness.built.is_set():
            return await super().run(arguments, context, convert)
        refused: ToolError | None = None
        answer: Any = None
        async with anyio.create_task_group() as group:  # would wrap what is raised inside
            group.start_soon(_tell_progress, context, freshness)
            try:
                answer = await super().run(arguments, context, convert)
            except ToolError as error:
                refused = error
            group.cancel_scope.cancel()
        if refused:
            raise refused
        return answer


async def _tell_progress(context: Context[Any], freshness: Freshness) -> None:
    told = -1
    while not freshness.built.is_set():
        state = freshness.state
        if state.done > told:
            told = state.done
            await context.report_progress(told, state.total or None, str(state))
        await anyio.sleep(PROGRESS_SECONDS)


def _unknown(name: str, names: list[str]) -> str:
    from rapidfuzz import process  # 12 ms, for a mistake

    near = process.extractOne(name, names, score_cutoff=60)
    meant = f"Did you mean {near[0]!r}?" if near else f"It takes {', '.join(names)}."
    return f"Unknown argument {name[:60]!r}. {meant}"


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:60]
    if first["type"] == "missing":
        return f"Argument {where!r} is missing."
    return f"Argument {where!r} is wrong: {first['msg'][:160]}."


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the titles pydantic adds, and `anyOf` with null folded: fewer tokens."""
    properties = {}
    for name, described in schema.get("properties", {}).items():
        described = {key: value for key, value in described.items() if key != "title"}
        options = described.pop("anyOf", None)
        if options:
            kept = [option for option in options if option.get("type") != "null"]
            described = {**kept[0], **described}
        if described.get("default", ...) is None:
            del described["default"]
        properties[name] = described
    return {
        "type": "object",
        "properties": properties,
        **({"required": schema["required"]} if schema.get("required") else {}),
        "additionalProperties": False,
    }
