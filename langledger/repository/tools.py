"""The agent's tools that search a repository."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

from langchain_core.tools import BaseTool, StructuredTool

from langledger.errors import LangLedgerError
from langledger.operations import Executor, Operation, Row, arun, run
from langledger.repository.definitions import Definitions
from langledger.repository.finder import Finder
from langledger.repository.packing import Related
from langledger.tokens import truncate_text

__all__ = ["READ_DESCRIPTION", "RELATED_DESCRIPTION", "SEARCH_DESCRIPTION", "code_tools"]

_BUDGET = 3200
_LONGEST = 4000  # tokens of one definition
_PLACES = 20  # of definitions that are not shown
_Answer: TypeAlias = Callable[..., Operation[str]]

SEARCH_DESCRIPTION = (
    "Find code of the repository: definitions that bear on words, an issue, an error trace, or the "
    "place of an edit (path:line). Gives path, lines and text, the likeliest first, within "
    "budget tokens."
)
READ_DESCRIPTION = (
    "Read a definition of the repository whole, by its name (Class.method, function) or by the "
    "place it stands at (path:line)."
)
RELATED_DESCRIPTION = (
    "List what a definition calls, inherits from and uses, and what refers to it: signatures with "
    "path and line. hops=2 goes one step further."
)


def code_tools(finder: Finder, executor: Executor) -> list[BaseTool]:
    """Return ``search_code``, ``read_symbol`` and ``related_code``, sync and async.

    Args:
        finder: Of the worktree.
        executor: Runs the database effects.
    """

    def search_code(query: str, budget: int = _BUDGET) -> Operation[str]:
        packed = yield from finder.packed(query, budget=budget)
        if packed.text:
            changes = yield from finder.changes([hit.path for hit in packed.hits])
            return "\n\n".join([*changes, packed.text])
        if not packed.found:
            return "Nothing of this occurs in the repository."
        return f"It occurs, but {budget} tokens have no room for it; give a larger budget."

    def read_symbol(symbol: str) -> Operation[str]:
        found = yield from finder.symbol(symbol)
        texts = [_shown(row, text) for row, text in found.found]
        changes = yield from finder.changes([row["path"] for row, _ in found.found])
        return "\n\n".join([*_remark(symbol, found), *changes, *texts, *_others(found)])

    def related_code(symbol: str, hops: int = 1) -> Operation[str]:
        found = yield from finder.symbol(symbol)
        if not found.found:
            return "".join(_remark(symbol, found))
        seeds = [(row["path"], row["symbol"]) for row, _ in found.found]
        near = yield from finder.around(seeds, hops=hops)
        paths = [*(path for path, _ in seeds), *(one.path for one in near)]
        changes = yield from finder.changes(paths)
        nothing = ["Nothing is known to refer to it, nor it to anything."]
        return "\n".join(
            [*_remark(symbol, found), *changes, *(map(_line, near) if near else nothing)]
        )

    return [
        _tool(search_code, SEARCH_DESCRIPTION, executor),
        _tool(read_symbol, READ_DESCRIPTION, executor),
        _tool(related_code, RELATED_DESCRIPTION, executor),
    ]


def _tool(answer: _Answer, description: str, executor: Executor) -> BaseTool:
    """Return the tool that runs an operation, whose arguments are the tool's."""

    @wraps(answer)
    def blocking(**given: Any) -> str:
        return run(_answered(answer(**given)), executor)

    @wraps(answer)
    async def awaited(**given: Any) -> str:
        return await arun(_answered(answer(**given)), executor)

    return StructuredTool.from_function(
        func=blocking, coroutine=awaited, name=answer.__name__, description=description
    )


def _remark(symbol: str, found: Definitions) -> list[str]:
    if not found.found:
        return [f"There is no definition {symbol!r}; search_code finds what is similar."]
    return [] if found.exact else [f"There is no {symbol}; of that last name there are:"]


def _others(found: Definitions) -> list[str]:
    """Return a line of places of the definitions that are not shown."""
    places = [f"{row['path']}:{row['start_line']}" for row in found.others[:_PLACES]]
    if not places:
        return []
    more = len(found.others) - len(places)
    return [f"Also: {', '.join(places)}{f' and {more} more' if more else ''}"]


def _answered(answer: Operation[str]) -> Operation[str]:
    """Return an answer; what goes wrong is told to the agent, whose run goes on."""
    try:
        return (yield from answer)
    except LangLedgerError as error:
        return f"Not done: {error}"


def _shown(row: Row, text: str) -> str:
    place = f"{row['path']}:{row['start_line']}-{row['end_line']}"
    return f"## {place} {row['qualified']}\n{truncate_text(text, _LONGEST)}"


def _line(one: Related) -> str:
    return f"{one.path}:{one.line} {one.signature}  # {one.how}"
