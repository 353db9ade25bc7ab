"""Items of OpenAI's Responses API as LangChain messages, and back.

A message holds the items it was made of, so that what a compaction leaves alone goes back to the
model as it came. The items of one answer (reasoning, text, calls) are one message: what keeps
calls and results together works on messages.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import groupby
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langledger.replay.formats.building import Calls, as_blocks
from langledger.replay.formats.codex import response_content
from langledger.replay.formats.shapes import Json, content_of, optional_mapping

__all__ = ["identity", "items_of", "numbered", "raw_items", "to_items", "to_messages"]

_ITEMS = "openai_items"  # key of additional_kwargs
_ROLES = {"user": HumanMessage, "system": SystemMessage, "developer": SystemMessage}


def to_messages(items: Sequence[Json]) -> list[BaseMessage]:
    """Return items as messages without ids; those of one answer are one message."""
    found: list[BaseMessage] = []
    for answer, group in groupby(items, key=_is_of_answer):
        together = [*group]
        found += [_answer(together)] if answer else map(_other, together)
    return found


def to_items(view: Iterable[BaseMessage], known: Iterable[BaseMessage]) -> list[Json]:
    """Return what a model is to be sent.

    Args:
        view: The messages of the view.
        known: Those it was made from; one that stands in it unchanged gives its own items.
    """
    originals = {message.id: message for message in known}
    return [item for message in view for item in _shown(message, originals.get(message.id))]


def raw_items(message: BaseMessage) -> list[Json]:
    """Return the items a message was made of; empty where it was not made of any."""
    return message.additional_kwargs.get(_ITEMS, [])


def numbered(
    messages: Sequence[BaseMessage], before: Iterable[BaseMessage] = ()
) -> list[BaseMessage]:
    """Return messages with ids that are the same whenever they follow the same history."""
    counts: Counter[str] = Counter(_base(message) for message in before)
    found: list[BaseMessage] = []
    for message in messages:
        base = _base(message)
        found.append(message.model_copy(update={"id": f"{base}.{counts[base]}"}))
        counts[base] += 1
    return found


def identity(item: Json) -> str:
    """Tell an item by what it says; the SDK drops ids and states of items on their way."""
    told = {key: value for key, value in item.items() if key not in ("id", "status", "type")}
    told["content"] = response_content(content_of(item)) if "content" in item else None
    return blake2b(
        json.dumps(told, sort_keys=True, default=str).encode(), digest_size=12
    ).hexdigest()


def _base(message: BaseMessage) -> str:
    joined = "".join(map(identity, raw_items(message)))
    return f"oai-{blake2b(joined.encode(), digest_size=10).hexdigest()}"


def _is_of_answer(item: Json) -> bool:
    return item.get("role") == "assistant" or (
        item.get("role") is None and not str(item.get("type")).endswith("_output")
    )


def _answer(items: Sequence[Json]) -> AIMessage:
    calls, blocks = Calls(), list[str | Json]()
    for item in items:
        if item.get("role") == "assistant":
            blocks += as_blocks(response_content(content_of(item)))
        elif "call_id" in item:
            name = str(item.get("name") or item.get("type"))
            calls.add(call_id=str(item["call_id"]), name=name, arguments=_arguments(item))
        else:
            blocks.append({**item})
    message = calls.message(blocks, metadata={"model_provider": "openai"})
    message.additional_kwargs[_ITEMS] = [*items]
    return message


def _arguments(item: Json) -> object:
    if "arguments" in item:
        return item["arguments"]
    return optional_mapping(item, "action") or {"input": item.get("input")}


def _other(item: Json) -> BaseMessage:
    kept: dict[str, Any] = {"additional_kwargs": {_ITEMS: [item]}}
    if item.get("role") is None:
        output: Any = item.get("output")
        if not isinstance(output, str | list):
            output = json.dumps(output, default=str)
        told = response_content(content_of({"content": output}))
        return ToolMessage(told, tool_call_id=str(item.get("call_id")), **kept)
    return _ROLES[str(item["role"])](response_content(content_of(item)), **kept)


def _shown(message: BaseMessage, original: BaseMessage | None) -> list[Json]:
    """Return a message of a view as items: its own where it is as it was."""
    raw = raw_items(message)
    if raw and original is not None and _same(message, original):
        return raw
    if isinstance(message, ToolMessage):
        output = {"call_id": message.tool_call_id, "output": message.text}
        return [{**output, "type": _output_type(raw)}]
    if not isinstance(message, AIMessage):
        role = "system" if isinstance(message, SystemMessage) else "user"
        return [{"role": role, "content": message.text}]
    said: list[Json] = [{"role": "assistant", "content": message.text}] if message.text else []
    return said + [_call(cast("Json", call)) for call in message.tool_calls]


def _same(message: BaseMessage, original: BaseMessage) -> bool:
    calls = [getattr(one, "tool_calls", None) for one in (message, original)]
    return message.content == original.content and calls[0] == calls[1]


def _output_type(raw: Sequence[Json]) -> str:
    return str(raw[0].get("type")) if raw else "function_call_output"


def _call(call: Json) -> Json:
    arguments = json.dumps(call["args"], ensure_ascii=False)
    named = {"call_id": call["id"], "name": call["name"], "arguments": arguments}
    return {"type": "function_call", **named}


def items_of(messages: Iterable[BaseMessage]) -> list[Json]:
    """Return the items that messages were made of."""
    return [item for message in messages for item in raw_items(message)]
