"""Images, audio and files taken out of older messages of a view; their bytes stay in the entry.

What stands for one names the entry, the type and the size, so that the agent can ask for it by
``recall_history``. What is only referred to by an address stays: it costs no bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from langledger.tokens.media import Media, read_media

__all__ = ["media_in", "media_note", "without_media"]


def without_media(message: BaseMessage, seq: int) -> BaseMessage | None:
    """Return a message of the user or of a tool without its inline media; None if it has none.

    Args:
        message: Any message; what a model said is left as it is, for it may be signed.
        seq: The entry that keeps it in full.
    """
    if not isinstance(message, HumanMessage | ToolMessage) or not any(_media(message.content)):
        return None
    marked = {**message.additional_kwargs, "langledger": {"origin": "reference"}}
    content = _replaced(message.content, seq)
    return message.model_copy(update={"content": content, "additional_kwargs": marked})


def media_in(message: BaseMessage) -> str:
    """Return what media a message holds, such as ``image image/png 12 kB``; empty for none."""
    return ", ".join(media.placeholder.strip("[]") for media in _media(message.content))


def media_note(block: object, seq: int) -> str | None:
    """Return what stands for a content block that holds media; None for any other block."""
    media = _inline(block)
    return None if media is None else f"{media.placeholder[:-1]}, kept as entry #{seq}]"


def _media(content: object) -> Iterator[Media]:
    if isinstance(content, list):
        for block in cast("list[object]", content):
            media = _inline(block)
            if media is not None:
                yield media
            elif isinstance(block, Mapping):
                yield from _media(cast("Mapping[str, Any]", block).get("content"))


def _inline(block: object) -> Media | None:
    """Return the medium a block carries with it."""
    if not isinstance(block, Mapping):
        return None
    media = read_media(cast("Mapping[str, Any]", block))
    return media if media is not None and media.size is not None else None


def _replaced(content: Any, seq: int) -> Any:
    if not isinstance(content, list):
        return content
    return [_block(block, seq) for block in cast("list[Any]", content)]


def _block(block: Any, seq: int) -> Any:
    note = media_note(block, seq)
    if note is not None:
        return {"type": "text", "text": note}
    if not isinstance(block, dict):
        return block
    fields = cast("dict[str, Any]", block)
    if "content" in fields:  # a tool result inside a message
        return {**fields, "content": _replaced(fields["content"], seq)}
    return fields
