"""What a provider would refuse in a request; the rule every view must pass."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from langledger.compaction.pairing import call_ids

__all__ = ["provider_problems"]


def provider_problems(messages: Sequence[BaseMessage]) -> list[str]:
    """Return why a provider would refuse these messages; empty where none would.

    The strictest rules of the large providers together: at most one system message, first;
    the results of a tool-calling message follow it at once, each of its calls has exactly
    one, and no result is without call; no message id twice; the request does not begin with
    an answer of the model and holds something besides the system message.
    """
    problems: list[str] = []
    body = list(messages)
    if body and isinstance(body[0], SystemMessage):
        body = body[1:]
    if any(isinstance(message, SystemMessage) for message in body):
        problems.append("a system message that is not the first message")
    if not body:
        problems.append("no message besides the system message")
    elif isinstance(body[0], AIMessage):
        problems.append("the first message is an answer of the model")
    ids = [message.id for message in body if message.id is not None]
    problems += [f"message id {i} twice" for i in set(ids) if ids.count(i) > 1]
    return problems + _pairing_problems(body)


def _pairing_problems(body: Sequence[BaseMessage]) -> list[str]:
    problems: list[str] = []
    waiting: list[str] = []
    for message in body:
        if isinstance(message, AIMessage) and not message.content and not call_ids(message):
            problems.append("an empty message of the model")
        if isinstance(message, ToolMessage):
            if message.tool_call_id in waiting:
                waiting.remove(message.tool_call_id)
            else:
                problems.append(f"a result without call: {message.tool_call_id}")
            continue
        problems += [f"a call without result: {call_id}" for call_id in waiting]
        waiting = call_ids(message)
        if "" in waiting or len(set(waiting)) < len(waiting):
            problems.append("a call without an id of its own")
    return problems + [f"a call without result: {call_id}" for call_id in waiting]
