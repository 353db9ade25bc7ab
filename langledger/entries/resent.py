"""A conversation that its client sends whole at each turn, under new ids each time.

Front ends that speak a provider's API keep what was said as role and text, and LangGraph gives
each message a new id then. Told by ids, every turn would record the conversation anew.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.database.queries import load_queries
from langledger.entries.log import Location
from langledger.entries.reading import history
from langledger.operations import Operation, fetch

__all__ = ["as_recorded"]

_queries = load_queries("langledger.entries")


def as_recorded(
    location: Location, messages: Sequence[BaseMessage]
) -> Operation[list[BaseMessage]]:
    """Return messages as the thread has them, if they are its conversation sent again.

    They are that if the thread knows none of their ids, and the first of both is the same. Then
    each message is the thread's next one of the same kind and text; the client left out what
    stands between them, such as tool calls. What the thread has not is returned as it is.
    """
    ids = [message.id for message in messages if message.id is not None]
    if len(messages) < 2 or not ids:
        return list(messages)
    rows = yield from fetch(
        _queries["knows_none"], **location.keys, scope=location.scope or None, message_ids=ids
    )
    if not rows[0]["knows_none"]:
        return list(messages)
    entries = yield from history(location)
    there = [entry.message for entry in entries if (entry.scope or "") == location.scope]
    if not there or _said(there[0]) != _said(messages[0]):
        return list(messages)
    return _aligned(messages, there)


def _aligned(messages: Sequence[BaseMessage], there: Sequence[BaseMessage]) -> list[BaseMessage]:
    places: dict[tuple[Any, ...], deque[int]] = {}
    for place, message in enumerate(there):
        places.setdefault(_said(message), deque()).append(place)
    found: list[BaseMessage] = []
    reached = -1
    for message in messages:
        ahead = places.get(_said(message), deque())
        while ahead and ahead[0] <= reached:
            ahead.popleft()
        reached = ahead[0] if ahead else reached
        found.append(there[reached] if ahead else message)
    return found


def _said(message: BaseMessage) -> tuple[Any, ...]:
    """Return what stays of a message in a client that keeps role and text."""
    text = message.text or json.dumps(message.content, default=str, sort_keys=True)
    calls = [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    answered = message.tool_call_id if isinstance(message, ToolMessage) else None
    return message.type, text, tuple(calls), answered
