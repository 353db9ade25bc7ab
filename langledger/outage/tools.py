"""Tools of an agent that answer in words while the database is away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

from langchain_core.tools import BaseTool, StructuredTool

from langledger.errors import DatabaseUnavailableError

__all__ = ["answering"]

B = TypeVar("B", bound=BaseTool)

_AWAY = (
    "The record cannot be reached at present, and nothing was changed in it. Go on with what is "
    "in view; ask again later if it is still needed."
)


def answering(tool: B) -> B:
    """Return a tool that tells its agent that the database is away, where it raised so far."""
    if isinstance(tool, StructuredTool):
        if tool.func is not None:
            tool.func = _in_words(tool.func)
        if tool.coroutine is not None:
            tool.coroutine = _awaited_in_words(tool.coroutine)
    return tool


def _in_words(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except DatabaseUnavailableError:
            return _AWAY

    return run


def _awaited_in_words(
    coroutine: Callable[..., Awaitable[Any]],
) -> Callable[..., Awaitable[Any]]:
    @wraps(coroutine)
    async def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return await coroutine(*args, **kwargs)
        except DatabaseUnavailableError:
            return _AWAY

    return run
