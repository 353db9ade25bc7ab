"""Messages of a view shown in part, each with where the whole of it is. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.compaction.offload import media_note
from langledger.compaction.outcomes import failures_left_out
from langledger.tokens import count_text, truncate_text

__all__ = ["clip_message", "clip_result"]

M = TypeVar("M", bound=BaseMessage)


def clip_result(message: ToolMessage, max_tokens: int, seq: int) -> str:
    """Return the beginning and the end of a result, and what failed of what is between.

    Args:
        message: The result.
        max_tokens: The most tokens of the text.
        seq: The entry that keeps it in full.
    """
    content: str | list[Any] = message.content
    text = content if isinstance(content, str) else "\n".join(_block_text(b, seq) for b in content)
    room = max(max_tokens - 20, 20)
    shown, most = truncate_text(text, room), room // 4
    failed = failures_left_out(message.name or "", text, shown, max_tokens=most)
    if failed:
        failed = f"\n[Left out, among others:]\n{failed}"
        shown = truncate_text(text, max(room - count_text(failed), 20))
    return f"{shown}{failed}\n[Shown in part; kept in full as entry #{seq}.]"


def clip_message(message: M, max_tokens: int, seq: int) -> M:
    """Return what was said or called with each text and each argument cut to so many tokens.

    Reasoning stays as it is, for it may be signed; so does a message that is short enough.

    Args:
        message: What the user or the model said, calls included.
        max_tokens: The most tokens of each text and argument.
        seq: The entry that keeps it in full.
    """

    def clip(value: Any) -> Any:
        return _map_strings(value, lambda text: _clip_text(text, max_tokens, seq))

    said: Any = message.content
    content = clip(said) if isinstance(said, str) else [_clip_block(b, clip) for b in said]
    changes: dict[str, Any] = {"content": content}
    if isinstance(message, AIMessage):
        changes |= _clipped_calls(message, clip)
    if all(getattr(message, name) == value for name, value in changes.items()):
        return message
    # The provider's own form of the calls would bring their arguments back.
    kwargs = {key: value for key, value in message.additional_kwargs.items() if key != "tool_calls"}
    kwargs["langledger"] = {"origin": "reference"}
    return message.model_copy(update={**changes, "additional_kwargs": kwargs})


def _clipped_calls(message: AIMessage, clip: Callable[[Any], Any]) -> dict[str, Any]:
    return {
        "tool_calls": [{**call, "args": clip(call["args"])} for call in message.tool_calls],
        "invalid_tool_calls": [
            {**call, "args": clip(call["args"])} if call["args"] else call
            for call in message.invalid_tool_calls
        ],
    }


def _clip_block(block: Any, clip: Callable[[Any], Any]) -> Any:
    """Clip a content block that is text or a call, in each provider's shape."""
    if not isinstance(block, dict):
        return clip(block)
    fields = cast("dict[str, Any]", block)
    match fields.get("type"):
        case "text":
            return {**fields, "text": clip(fields.get("text"))}
        case "tool_use" | "server_tool_use":
            return {**fields, "input": clip(fields.get("input"))}
        case "tool_call":
            return {**fields, "args": clip(fields.get("args"))}
        case "function_call":
            try:
                arguments = json.loads(fields.get("arguments") or "{}")
            except ValueError:
                arguments = {"unparsed": fields["arguments"]}
            clipped = clip(arguments)
            return fields if clipped == arguments else {**fields, "arguments": json.dumps(clipped)}
        case _:
            return fields


def _block_text(block: Any, seq: int) -> str:
    if isinstance(block, str):
        return block
    if note := media_note(block, seq):
        return note
    fields = cast("dict[str, Any]", block)
    return str(fields["text"]) if "text" in fields else f"[{fields.get('type', 'content')}]"


def _clip_text(text: str, max_tokens: int, seq: int) -> str:
    clipped = truncate_text(text, max_tokens)
    return text if clipped == text else f"{clipped} [in full: entry #{seq}]"


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_strings(item, change) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        return {key: _map_strings(item, change) for key, item in items.items()}
    return value
