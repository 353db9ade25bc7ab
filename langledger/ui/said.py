"""A message as its parts: what a page shows of it. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.compaction.transcript import readable_text, reasoning_text

__all__ = ["Called", "Said", "said"]

_LONGEST = 6_000  # characters of a text in a list of messages


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call.

    Attributes:
        name: The tool.
        args: As indented JSON, or as the model wrote what could not be read.
        brief: The same on one short line.
    """

    name: str
    args: str
    brief: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a message says.

    Attributes:
        role: ``human``, ``ai``, ``tool``, ``system``, ...
        text: Its beginning, media as placeholders.
        length: Of the whole text, in characters.
        thought: Visible reasoning, its beginning.
        calls: Of an assistant's message.
        tool: Whose result it is; empty for others.
        failed: The tool reported an error.
    """

    role: str
    text: str
    length: int
    thought: str
    calls: tuple[Called, ...]
    tool: str
    failed: bool


def said(message: BaseMessage, *, most: int = _LONGEST) -> Said:
    """Return the parts of a message, each no longer than ``most`` characters."""
    text = readable_text(message)
    is_result = isinstance(message, ToolMessage)
    return Said(
        role=message.type,
        text=text[:most],
        length=len(text),
        thought=reasoning_text(message)[:most],
        calls=tuple(_called(call, most) for call in _calls(message)),
        tool=(message.name or "a tool") if is_result else "",
        failed=is_result and message.status == "error",
    )


def _calls(message: BaseMessage) -> list[Any]:
    if not isinstance(message, AIMessage):
        return []
    return [*message.tool_calls, *message.invalid_tool_calls]


def _called(call: Any, most: int) -> Called:
    args: Any = call["args"]
    whole = args if isinstance(args, str) else _json(args, indent=2)
    brief = args if isinstance(args, str) else _json(args, indent=None)
    return Called(str(call["name"] or ""), whole[:most], " ".join((brief or "")[:160].split()))


def _json(value: Any, *, indent: int | None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=repr)
