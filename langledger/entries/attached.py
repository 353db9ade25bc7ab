"""Media of entries, as the agent's tool shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage

from langledger.entries.log import Entry
from langledger.tokens.media import Media, read_media

__all__ = ["attachments", "with_media", "without_bytes"]

# Whose models take images and files in a tool's result. At the others such a result would make
# every later call of the thread fail.
_TAKE_MEDIA = ("anthropic", "google", "bedrock")


def attachments(message: BaseMessage) -> list[str]:
    """Return what media a message holds, such as ``[image image/png 12 kB]``."""
    return [media.placeholder for _, media in _blocks(message.content) if media.text is None]


def with_media(
    told: str, entries: Sequence[Entry], messages: Sequence[BaseMessage]
) -> str | list[Any]:
    """Return what the tool tells, with the media of its entries where the model takes them.

    Args:
        told: The entries as text.
        entries: The entries.
        messages: The thread's messages, whose newest answer tells the provider.
    """
    found = [block for entry in entries for block, _ in _blocks(entry.message.content)]
    if not found:
        return f"{told}\n[These entries hold no media.]"
    provider = _provider(messages)
    if not provider.startswith(_TAKE_MEDIA):
        return (
            f"{told}\n[The media cannot be shown: {provider or 'this provider'} takes none in a "
            "tool's result. Ask the user to send them again if you must see them.]"
        )
    return [{"type": "text", "text": told}, *found]


def without_bytes(content: object) -> object:
    """Return a message's content with a word in place of each image, sound and file."""
    if not isinstance(content, list):
        return content
    return [_worded(block) for block in cast("list[object]", content)]


def _worded(block: object) -> object:
    if not isinstance(block, Mapping):
        return block
    fields = cast("Mapping[str, Any]", block)
    media = read_media(fields)
    if media is not None and media.text is None:
        return media.placeholder
    if "content" not in fields:
        return fields
    return {**fields, "content": without_bytes(fields["content"])}


def _provider(messages: Sequence[BaseMessage]) -> str:
    answers = (m.response_metadata for m in reversed(messages) if isinstance(m, AIMessage))
    return next((str(m["model_provider"]) for m in answers if m.get("model_provider")), "")


def _blocks(content: object) -> Iterator[tuple[Mapping[str, Any], Media]]:
    if not isinstance(content, list):
        return
    for block in cast("list[object]", content):
        if not isinstance(block, Mapping):
            continue
        fields = cast("Mapping[str, Any]", block)
        media = read_media(fields)
        if media is not None:
            yield fields, media
        else:
            yield from _blocks(fields.get("content"))
