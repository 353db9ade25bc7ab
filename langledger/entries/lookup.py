"""The agent's tool that reads entries back by their reference, and searches for them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool

from langledger.entries.attached import attachments, with_media
from langledger.entries.log import Entry, Location, load
from langledger.operations import Executor, Operation, arun, run

__all__ = ["Locate", "Search", "lookup_tool", "messages_of", "parts_of", "told"]

Locate = Callable[[RunnableConfig, Sequence[BaseMessage]], Location]
Search = Callable[[Location, str], Operation[str]]
_Read: TypeAlias = tuple[str, list[Entry]]

_DESCRIPTION = (
    "Read earlier messages of this conversation in full, by reference. Summaries and shortened "
    "results name them as #n; pass one or several, such as '#17' or '#17, #21'. A long one comes "
    "in parts; part says which. With media=true you are shown the images, audio and files of an "
    "entry themselves. To find what is not in view, leave reference empty and pass query: the "
    "exact name, value, path or error you look for, or a question."
)
_MOST = 5
_PART = 12_000  # characters; about 3,000 tokens of English
_REFERENCE = re.compile(r"\d{1,18}")


def lookup_tool(executor: Executor, locate: Locate, search: Search | None = None) -> BaseTool:
    """Return the tool ``recall_history``.

    Args:
        executor: Runs the database effects.
        locate: Tells the thread from a run's config and its state's messages.
        search: Tells what a thread has about a question; None: entries are read by reference only.
    """

    def _read(location: Location, reference: str, query: str, part: int) -> Operation[_Read]:
        if query.strip() and search is not None:
            return (yield from search(location, query)), []
        numbers = _numbers(reference)
        entries = yield from load(location, numbers)
        return told(numbers, entries, part), entries

    def recall_history(
        runtime: ToolRuntime[Any, Any],
        reference: str = "",
        query: str = "",
        part: int = 1,
        *,
        media: bool = False,
    ) -> str | list[Any]:
        messages = messages_of(runtime)
        location = locate(runtime.config, messages)
        answer, entries = run(_read(location, reference, query, part), executor)
        return with_media(answer, entries, messages) if media else answer

    async def arecall_history(
        runtime: ToolRuntime[Any, Any],
        reference: str = "",
        query: str = "",
        part: int = 1,
        *,
        media: bool = False,
    ) -> str | list[Any]:
        messages = messages_of(runtime)
        location = locate(runtime.config, messages)
        answer, entries = await arun(_read(location, reference, query, part), executor)
        return with_media(answer, entries, messages) if media else answer

    return StructuredTool.from_function(
        func=recall_history,
        coroutine=arecall_history,
        name="recall_history",
        description=_DESCRIPTION,
    )


def messages_of(
    runtime: ToolRuntime[Any, Any], messages_key: str = "messages"
) -> Sequence[BaseMessage]:
    """Return the messages of the run that calls a tool."""
    state: Any = runtime.state
    messages: Any = getattr(state, messages_key, None)
    return messages if messages is not None else state.get(messages_key, ())


def _numbers(reference: str) -> list[int]:
    return [int(found) for found in _REFERENCE.findall(reference)][:_MOST]


def told(
    numbers: Sequence[int],
    entries: Sequence[Entry],
    part: int,
    *,
    more: Callable[[int, int], str] = lambda number, at: f"recall_history('#{number}', part={at})",
) -> str:
    """Return entries as text for a model, a long one in parts.

    Args:
        numbers: The entries asked for.
        entries: Those of them that there are.
        part: Which part of a long one, from 1.
        more: How the part of an entry is asked for.
    """
    if not numbers:
        return "No reference given: pass the number of an entry, such as '#17', or a query."
    found = {entry.entry_id for entry in entries}
    parts = [_shown(entry, part, more) for entry in entries]
    parts += [f"#{number}: there is no such entry." for number in numbers if number not in found]
    return "\n\n".join(parts)


def _shown(entry: Entry, part: int, more: Callable[[int, int], str]) -> str:
    parts = parts_of(_text(entry))
    at = min(max(part, 1), len(parts))
    where = f", part {at} of {len(parts)}" if len(parts) > 1 else ""
    shown = f"#{entry.entry_id} ({entry.role}{where}):\n{parts[at - 1]}"
    if at == len(parts):
        return shown
    return f"{shown}\n[To go on: {more(entry.entry_id, at + 1)}]"


def parts_of(text: str) -> list[str]:
    """Cut text into parts, between lines where a line ends in the part's second half."""
    parts: list[str] = []
    while len(text) > _PART:
        end = text.rfind("\n", _PART // 2, _PART) + 1 or _PART
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def _text(entry: Entry) -> str:
    message = entry.message
    calls = [
        f"{call['name']}({json.dumps(call['args'], ensure_ascii=False)})"
        for call in getattr(message, "tool_calls", [])
    ]
    return "\n".join(text for text in (message.text, *attachments(message), *calls) if text)
