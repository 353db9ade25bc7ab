"""Compact now: an agent or a person asks, and the thread's next model call does it.

What was asked is a row, so that any process may ask and any may do it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, StructuredTool

from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.entries.lookup import Locate, messages_of
from langledger.errors import ConfigurationError
from langledger.operations import Executor, Operation, Query, Row, arun, fetch, run

__all__ = [
    "News",
    "agents_of",
    "answer_request",
    "compact_tool",
    "news_query",
    "request_compaction",
    "split_news",
]

_queries = load_queries("langledger.compaction")

_DESCRIPTION = (
    "Compact this conversation now: older messages leave your view, a summary and the working "
    "state stand for them; nothing is lost, references such as #17 can be read back. Use it when "
    "a piece of work is finished and another begins, not in the middle of one. It takes effect "
    "with your next message."
)
_TOLD = "The conversation will be compacted before your next message. Go on with the work."


def request_compaction(location: Location) -> Operation[None]:
    """Have an agent of a thread compact before its next model call, whatever the size.

    Raises:
        ConfigurationError: The thread has no entries, or none of this agent.
    """
    asked = yield from fetch(_queries["ask"], **location.keys, scope=location.scope)
    if not asked:
        raise ConfigurationError(_nobody(location, (yield from agents_of(location))))


def agents_of(location: Location) -> Operation[list[str]]:
    """Return the scopes of the agents that recorded in a thread; the root's is empty."""
    rows = yield from fetch(_queries["agents"], **location.keys)
    return [row["scope"] for row in rows]


def _nobody(location: Location, agents: Sequence[str]) -> str:
    if not agents:
        return (
            f"there is no thread {location.thread_id!r} to compact yet; "
            "`langledger threads` lists them"
        )
    known = ", ".join(repr(agent) for agent in agents)
    return (
        f"no agent {location.scope!r} recorded anything in thread {location.thread_id!r}; its "
        f"agents are {known}, where '' is the root"
    )


def answer_request(location: Location) -> Operation[None]:
    """Forget that a compaction was asked for, because it was tried."""
    yield from fetch(_queries["answered"], **location.keys, scope=location.scope)


class News(NamedTuple):
    """What others did or asked for.

    Attributes:
        compactions: Rows of those that the caller does not know.
        asked: A compaction is wanted.
        forgotten: Messages before which what was recalled is to be shown no more.
    """

    compactions: list[Row]
    asked: bool
    forgotten: frozenset[int]


def news_query(
    location: Location, *, known: int, brought: Mapping[int, BaseMessage] | None = None
) -> Query:
    """Return the statement that reads what others did or asked for.

    Args:
        location: The thread and agent.
        known: Generation of the newest compaction that the caller knows.
        brought: What was recalled and is shown, by the message it stands before.
    """
    shown = brought or {}
    about = {
        "scope": location.scope,
        "known": known,
        "brought": list(shown),
        "brought_seen": [one.additional_kwargs["langledger"]["seen"] for one in shown.values()],
    }
    return Query(_queries["news"], {**location.keys, **about})


def split_news(rows: Sequence[Row]) -> News:
    """Return what the rows of :func:`news_query` tell."""
    compactions = [row for row in rows if row["generation"] is not None]
    forgotten = [seq for row in rows for seq in row["forgotten"] or ()]
    asked = any(row["generation"] is None and row["forgotten"] is None for row in rows)
    return News(compactions, asked, frozenset(forgotten))


def compact_tool(executor: Executor, locate: Locate, *, messages_key: str = "messages") -> BaseTool:
    """Return the agent's tool ``compact_history``.

    Args:
        executor: Runs the database effects.
        locate: Tells the thread and the agent from a run's config and its state's messages.
        messages_key: Key of the run's state that holds the messages.
    """

    def request(runtime: ToolRuntime[Any, Any]) -> Operation[None]:
        return request_compaction(locate(runtime.config, messages_of(runtime, messages_key)))

    def compact_history(runtime: ToolRuntime[Any, Any]) -> str:
        run(request(runtime), executor)
        return _TOLD

    async def acompact_history(runtime: ToolRuntime[Any, Any]) -> str:
        await arun(request(runtime), executor)
        return _TOLD

    return StructuredTool.from_function(
        func=compact_history,
        coroutine=acompact_history,
        name="compact_history",
        description=_DESCRIPTION,
    )
