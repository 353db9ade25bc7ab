"""Counting messages and tools as a model call sends them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
)
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from langledger.tokens.blocks import (
    RESULT_OVERHEAD,
    Pieces,
    add_call,
    add_content,
    as_json,
)
from langledger.tokens.text import count_texts

__all__ = ["count_each", "count_message", "count_messages", "count_tools"]

Tool: TypeAlias = BaseTool | Mapping[str, Any] | Callable[..., Any]

# The chat template's start, role, separator and end.
_MESSAGE_OVERHEAD = 4
_TOOL_OVERHEAD = 8


def count_message(message: BaseMessage) -> int:
    """Count a message as a model call sends it, in tokens.

    Counted are content of every kind, reasoning, tool calls with their arguments as JSON
    (once, also where content blocks repeat them), the name, and the template's marks.
    Images, audio, video and documents are estimated (:mod:`langledger.tokens.images` and
    :mod:`langledger.tokens.media` give the formulas). ``artifact`` and ids are not sent.
    """
    return count_each([message])[0]


def count_messages(messages: Iterable[BaseMessage]) -> int:
    """Count messages; the sum of what :func:`count_message` gives for each."""
    return sum(count_each(messages))


def count_each(messages: Iterable[BaseMessage]) -> list[int]:
    """Count each of many messages, with one native call for all of them."""
    pieces = [_pieces(message) for message in messages]
    return _count(pieces)


def count_tools(tools: Sequence[Tool]) -> int:
    """Count tool definitions by their OpenAI JSON schema, in tokens.

    Args:
        tools: Tools, functions, pydantic models, or definitions in any provider's form; one
            that has no OpenAI form, such as a provider's built-in tool, is counted as it is.
    """
    return sum(_count([_tool_pieces(tool) for tool in tools]))


def _count(pieces: Sequence[Pieces]) -> list[int]:
    counts = iter(count_texts([text for piece in pieces for text in piece.texts]))
    return [piece.fixed + sum(next(counts) for _ in piece.texts) for piece in pieces]


def _tool_pieces(tool: Tool) -> Pieces:
    return Pieces([as_json(_schema(tool))], _TOOL_OVERHEAD)


def _schema(tool: Tool) -> Mapping[str, Any]:
    if not isinstance(tool, Mapping):
        return convert_to_openai_tool(tool)
    definition = dict(cast("Mapping[str, Any]", tool))
    try:
        return convert_to_openai_tool(definition)
    except ValueError:
        return definition


def _pieces(message: BaseMessage) -> Pieces:
    pieces = Pieces(fixed=_MESSAGE_OVERHEAD)
    if message.name:
        pieces.fixed += 1
        pieces.add(message.name)
    if isinstance(message, AIMessage):
        _add_calls(pieces, message)
        _add_side_reasoning(pieces, message)
    elif isinstance(message, ToolMessage | FunctionMessage):
        pieces.fixed += RESULT_OVERHEAD
    add_content(
        pieces,
        cast("object", message.content),
        counted_calls=bool(_calls(message)),
    )
    return pieces


def _calls(message: BaseMessage) -> Sequence[ToolCall | InvalidToolCall]:
    if not isinstance(message, AIMessage):
        return ()
    return (*message.tool_calls, *message.invalid_tool_calls)


def _add_calls(pieces: Pieces, message: AIMessage) -> None:
    calls = _calls(message)
    for call in calls:
        add_call(pieces, call["name"], call["args"])
    legacy = message.additional_kwargs.get("function_call")
    if isinstance(legacy, Mapping) and not calls:
        function = cast("Mapping[str, Any]", legacy)
        add_call(pieces, function.get("name"), function.get("arguments"))


def _add_side_reasoning(pieces: Pieces, message: AIMessage) -> None:
    """Add reasoning kept beside the content, where it is sent back.

    The providers that write ``reasoning_content`` (DeepSeek, Moonshot, Qwen) take it back in a
    tool turn alone; OpenAI's Responses items go back whole.
    """
    if message.tool_calls:
        pieces.add(message.additional_kwargs.get("reasoning_content"))
    if isinstance(reasoning := message.additional_kwargs.get("reasoning"), Mapping):
        add_content(pieces, {"type": "reasoning", **cast("Mapping[str, Any]", reasoning)})
