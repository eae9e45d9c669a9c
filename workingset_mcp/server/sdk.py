"""All patches of the MCP SDK, pydantic and the garbage collector.

Each function says why it exists, what it saves and what to watch upstream, so that it can be removed
once upstream makes it unnecessary. `bench/starts.py` measures a start without each of them. Call them
as `sdk.NAME`, so that the script can turn one off. Importing this module loads neither `mcp` nor
pydantic, because `collect_rarely` and `defer_models` must run before either is loaded.
"""

import gc
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.lowlevel import Server
    from mcp.server.mcpserver.tools import Tool
    from mcp.server.session import ServerSession
    from pydantic import ValidationError

_NEW_OBJECTS = 50_000  # generation-0 threshold of the garbage collector; the default is 700


# -- faster start ----------------------------------------------------------------------------------


def collect_rarely() -> None:
    """Run the garbage collector less often; call this first.

    Why: imports create classes and functions that all stay, and with the default threshold the
    collector scans them hundreds of times. Saves: 2 and 11 % of a start (CPU, two runs on a busy machine).
    Watch: CPython, `gc.set_threshold`; "Improving GC collections: dynamic thresholds, single generation gc and time
    barriers".
    """
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])


def defer_models() -> None:
    """Build pydantic's validators on first use; call this before `mcp` is imported.

    Why: the SDK has about 500 message models, and a server uses few of them. Saves: 8 % of a start in
    one run, nothing in another (CPU, on a busy machine). Watch: python-sdk, "Cut import and startup
    cost with deferred model builds and lazy imports". A first use in two threads at once is not safe
    in every pydantic version; the SDK validates only in its event loop.
    """
    from pydantic import BaseModel

    BaseModel.model_config["defer_build"] = True


def log_plainly() -> None:
    """Log warnings to stderr as plain lines, and stop the SDK from setting up its own logging.

    Why: `MCPServer` sets up logging through rich, which splits one message into several lines.
    Saves: 2 and 5 % of a start (CPU, two runs on a busy machine). Watch: python-sdk,
    `configure_logging`; "FastMCP configures logging on init, which messes up application-level logging".
    """
    import logging

    from mcp.server.mcpserver import server

    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s", force=True
    )
    vars(server)["configure_logging"] = lambda level: None


# -- private parts of the SDK ----------------------------------------------------------------------


def low_level(server: "MCPServer[Any]") -> "Server[Any]":
    """Return the low-level server below an `MCPServer`; it accepts handlers for any method.

    Why: `MCPServer` has no public way to page `resources/list` or to serve `resources/subscribe`.
    Watch: python-sdk, `MCPServer._lowlevel_server`; "Public API for runtime handler
    registration/deregistration on low-level Server".
    """
    return server._lowlevel_server


def connection_of(session: "ServerSession") -> Any:
    """Return the connection of a request's session, which stays the same while the client is connected.

    Why: a session lives for one request, but a subscribed client is notified later. Watch:
    python-sdk, `ServerSession._connection`; "how to broadcast notifications/tools/list_changed to
    all client".
    """
    return session._connection


def advertise_changes(server: "MCPServer[Any]") -> None:
    """Tell clients of the older protocol era, over stdio and HTTP, that the list of resources may change.

    Why: `MCPServer` never passes these options. Watch: python-sdk,
    `create_initialization_options`; "feat: Add support for specifying NotificationOptions".
    """
    from mcp.server import NotificationOptions

    low = low_level(server)
    plain = low.create_initialization_options
    changing = partial(plain, NotificationOptions(resources_changed=True))
    low.create_initialization_options = changing  # type: ignore[method-assign]  # no public API


def give_signature(function: Callable[..., Any], parameters: Sequence[Parameter]) -> None:
    """Set the signature that the SDK reads from a function with `**arguments`.

    Why: every tool is called through one function, and the SDK makes a tool's schema from the
    signature and annotations of that function. Watch: python-sdk, `func_metadata`.
    """
    signature = Signature(parameters, return_annotation=str)
    function.__dict__["__signature__"] = signature
    function.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": str}


# -- arguments and error messages ------------------------------------------------------------------


def take_texts_as_given(tool: "Tool") -> None:
    """Keep string arguments of a tool as the client sent them.

    Why: the SDK parses JSON in every string argument that has a default, so `branch="null"` meant every
    branch. A string stays a string; for a list, a JSON list is parsed and any other string is one word.
    Watch: python-sdk, `FuncMetadata.pre_parse_json`.
    """
    from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata

    types = {name: about["type"] for name, about in tool.parameters["properties"].items()}

    class AsGiven(FuncMetadata):
        """The metadata of a tool's arguments; it parses JSON only for arguments that are not strings."""

        def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
            read = super().pre_parse_json(data)
            for name, given in data.items():
                if isinstance(given, str) and types.get(name) == "string":
                    read[name] = given
                elif isinstance(given, str) and types.get(name) == "array":
                    read[name] = read[name] if isinstance(read[name], list) else [given]
            return read

    tool.fn_metadata = AsGiven(arg_model=tool.fn_metadata.arg_model)


def refuse_calls_plainly(server: "MCPServer[Any]", tools: Iterable["Tool"]) -> None:
    """Reject a bad tool call with one sentence that says what is wrong.

    Why: the SDK ignores arguments that a tool does not have, prefixes each error with "Error executing
    tool NAME:", and prints pydantic's report over several lines, with a URL. Watch:
    python-sdk, `Tool.run`; "FastMCP tool argument models silently ignore unknown/misspelled
    arguments (extra=ignore default)".
    """
    from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
    from pydantic import ValidationError

    call = server.call_tool
    names_of = {tool.name: list(tool.parameters["properties"]) for tool in tools}

    async def called(name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        names = names_of.get(name, list(arguments))
        unknown = next((argument for argument in arguments if argument not in names), None)
        if unknown is not None:
            raise ToolError(_unknown(unknown, names))
        try:
            return await call(name, arguments, context)
        except UnexpectedToolError:
            raise  # a bug: the SDK masks and logs it
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(_sentence(cause)) from cause
            if isinstance(cause, ToolError):
                raise ToolError(str(cause)) from cause.__cause__
            raise

    server.call_tool = called  # type: ignore[method-assign]  # the SDK has no hook around a call


def refuse_prompts_plainly(server: "MCPServer[Any]") -> None:
    """Reject a bad prompt request with a message that says what is wrong.

    Why: every exception of a prompt reaches the client as "Internal server error". Watch: python-sdk,
    `MCPServer.get_prompt`.
    """
    from mcp import MCPError
    from mcp_types import INVALID_PARAMS

    get = server.get_prompt

    async def got(name: str, arguments: dict[str, Any] | None = None, context: Any = None) -> Any:
        try:
            return await get(name, arguments, context)
        except ValueError as error:
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            raise MCPError(INVALID_PARAMS, f"{name}: {cause}") from None

    server.get_prompt = got  # type: ignore[method-assign]  # the SDK has no hook around a prompt


def _unknown(name: str, names: list[str]) -> str:
    from rapidfuzz import process  # takes 12 ms, and only a mistake needs it

    near = process.extractOne(name, names, score_cutoff=60)
    hint = f"Did you mean {near[0]!r}?" if near else f"It takes {', '.join(names)}."
    return f"Unknown argument {name[:24]!r}. {hint}"


def _sentence(error: "ValidationError") -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:24]
    if first["type"] == "missing":
        return f"Argument {where!r} is missing."
    return f"Argument {where!r} is wrong: {first['msg'][:160]}."
