"""The tools and resources that an MCP client is offered, on one open ledger."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial, wraps
from typing import Annotated, Any, ParamSpec, cast

from anyio.to_thread import run_sync
from mcp.server.mcpserver import MCPServer, ResourceSecurity
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import Field, create_model, model_validator

import langledger
from langledger import Ledger
from langledger.cli.output import encodable
from langledger.errors import LangLedgerError
from langledger.repository.tools import (
    READ_DESCRIPTION,
    RELATED_DESCRIPTION,
    SEARCH_DESCRIPTION,
)
from langledger.state.tool import UPDATE_DESCRIPTION, StateItem
from langledger_mcp import reading
from langledger_mcp.code import Code
from langledger_mcp.noting import note

__all__ = ["build_server"]

P = ParamSpec("P")

_INSTRUCTIONS = (
    "langledger keeps the whole history of agent sessions and their working state. After a "
    "compaction, or when something earlier matters, call state for what was done and decided, "
    "recall to search, entries to read in full. Call update_state for what must not be forgotten. "
    "search_code finds code of an indexed repository."
)
_RECALL = (
    "Search what was recorded: the exact name, value, path or error you look for, or a question. "
    "Each hit names its entry as #n, which entries reads in full."
)
_STATE = (
    "The working state of a thread: files already changed, the last action, steps, decisions with "
    "reasons, standing orders, open questions, definitions."
)
_ENTRIES = (
    "Read recorded messages: those with these numbers in full, a long one in parts; or, without "
    "numbers, an overview of those that follow entry `after`."
)

# A thread's name may look like a path; it never becomes one.
_ANY_NAME = ResourceSecurity(exempt_params={"thread_id"})

Thread = Annotated[
    str, Field(description="a thread's name; leave it empty for the thread of this server")
]
Folder = Annotated[
    str, Field(description="an indexed folder; leave it empty for the folder of this server")
]


def build_server(
    ledger: Ledger,
    *,
    thread_id: str | None = None,
    folder: str | None = None,
    repository: str | None = None,
) -> MCPServer[Any]:
    """Return an MCP server on a ledger.

    Its tools are ``recall``, ``state``, ``update_state``, ``entries``, ``threads``,
    ``search_code``, ``read_symbol`` and ``related_code``; its resources
    ``langledger://threads``, ``langledger://threads/{thread_id}/state`` and ``.../compactions``,
    all JSON.

    Args:
        ledger: An open ledger; it must stay open while the server runs.
        thread_id: The thread that tools mean where they are given none.
        folder: Instead of a thread: the one last written to of an agent that works there.
        repository: The folder whose code the tools mean where they are given none; its index is
            brought up to date before they answer.
    """

    def default() -> str:
        return thread_id or (reading.latest_in(ledger, folder) if folder else "")

    server: MCPServer[Any] = MCPServer(
        "langledger",
        version=langledger.__version__,
        instructions=_INSTRUCTIONS,
        tools=[*_tools(ledger, default), *_code_tools(Code(ledger, repository))],
        log_level="WARNING",
    )
    _add_resources(server, ledger)
    return server


def _tools(ledger: Ledger, default: Callable[[], str]) -> list[Tool]:
    def recall(
        query: str, thread_id: Thread = "", k: Annotated[int, Field(ge=1, le=20)] = 5
    ) -> str:
        return reading.hits(ledger, query, thread_id or default() or None, k)

    def state(thread_id: Thread = "") -> str:
        return reading.state(ledger, _named(thread_id, default))

    def update_state(items: Sequence[StateItem], thread_id: Thread = "") -> str:
        return note(ledger, _named(thread_id, default), items)

    def entries(
        numbers: Annotated[Sequence[int], Field(max_length=5)] = (),
        part: Annotated[int, Field(ge=1)] = 1,
        after: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
        thread_id: Thread = "",
    ) -> str:
        chosen = _named(thread_id, default)
        if numbers:
            return reading.entries(ledger, chosen, numbers, part)
        return reading.overview(ledger, chosen, after, limit)

    def threads(limit: Annotated[int, Field(ge=1, le=200)] = 20) -> str:
        return reading.threads(ledger, limit)

    return [
        _tool(recall, _RECALL),
        _tool(state, _STATE),
        _tool(update_state, UPDATE_DESCRIPTION),
        _tool(entries, _ENTRIES),
        _tool(threads, "The threads there are, the latest first."),
    ]


def _code_tools(code: Code) -> list[Tool]:
    def search_code(
        query: str, budget: Annotated[int, Field(ge=1, le=20_000)] = 3200, folder: Folder = ""
    ) -> str:
        return code.ask("search_code", folder, query=query, budget=budget)

    def read_symbol(symbol: str, folder: Folder = "") -> str:
        return code.ask("read_symbol", folder, symbol=symbol)

    def related_code(
        symbol: str, hops: Annotated[int, Field(ge=1, le=3)] = 1, folder: Folder = ""
    ) -> str:
        return code.ask("related_code", folder, symbol=symbol, hops=hops)

    return [
        _tool(search_code, SEARCH_DESCRIPTION),
        _tool(read_symbol, READ_DESCRIPTION),
        _tool(related_code, RELATED_DESCRIPTION),
    ]


def _add_resources(server: MCPServer[Any], ledger: Ledger) -> None:
    def threads() -> str:
        return _json({"threads": ledger.threads(limit=1000)})

    def state(thread_id: str) -> str:
        reading.require(ledger, thread_id)
        return _json(ledger.state(thread_id).model_dump(mode="json"))

    def compactions(thread_id: str) -> str:
        reading.require(ledger, thread_id)
        reports = ledger.compactions(thread_id)
        return _json({"compactions": [report.model_dump(mode="json") for report in reports]})

    def offer(uri: str, function: Callable[..., str], description: str) -> None:
        register = server.resource(
            uri, description=description, mime_type="application/json", security=_ANY_NAME
        )
        register(_refusing(function, ResourceError))

    thread = "langledger://threads/{thread_id}"
    offer("langledger://threads", threads, "The threads there are.")
    offer(f"{thread}/state", state, "The working state of a thread.")
    offer(f"{thread}/compactions", compactions, "The reports of a thread's compactions.")


def _tool(function: Callable[..., str], description: str) -> Tool:
    """Return a tool that refuses arguments it does not know; the SDK's would pass over them.

    An agent that writes ``thread`` for ``thread_id`` must not be answered from all threads.
    """
    tool = Tool.from_function(
        _left(_refusing(function, ToolError)), description=description, structured_output=False
    )
    lenient = tool.fn_metadata.arg_model
    known = ", ".join(lenient.model_fields)

    def check(given: dict[str, Any]) -> dict[str, Any]:
        if unknown := [name for name in given if name not in lenient.model_fields]:
            raise ValueError(f"there is no argument {unknown[0]!r}; {tool.name} takes {known}")
        return given

    strict = create_model(
        lenient.__name__,
        __base__=lenient,
        __cls_kwargs__={"extra": "forbid"},
        __validators__={"check": cast("Any", model_validator(mode="before")(check))},
    )
    tool.fn_metadata.arg_model = strict
    tool.parameters = strict.model_json_schema(by_alias=True)
    return tool


def _left(function: Callable[P, str]) -> Callable[P, Awaitable[str]]:
    """Leave a call alone once its client is gone; it ends with its next statement.

    The SDK waits for a tool's thread: a recall that first indexes would outlive its client by
    minutes. What was indexed is kept.
    """

    @wraps(function)
    async def called(*args: P.args, **kwargs: P.kwargs) -> str:
        return await run_sync(partial(function, *args, **kwargs), abandon_on_cancel=True)

    return called


def _refusing(function: Callable[P, str], refusal: type[Exception]) -> Callable[P, str]:
    """Let the client read why something cannot be done; other errors it is told without details.

    Answers are made UTF-8: over what is none, such as a recorded half of a surrogate pair, the
    SDK's writer would end, and with it the server. In JSON the escape means the same half.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return encodable(function(*args, **kwargs))
        except LangLedgerError as error:
            raise refusal(encodable(str(error))) from error

    return called


def _named(thread_id: str, default: Callable[[], str]) -> str:
    if chosen := thread_id or default():
        return chosen
    raise ToolError("say which thread: pass thread_id; the tool threads lists them")


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
