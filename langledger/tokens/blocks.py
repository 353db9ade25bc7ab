"""What of a message's content is sent, as texts to tokenise and estimates to add."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from langledger.tokens.media import Block, Media, read_media, read_payload

__all__ = ["RESULT_OVERHEAD", "Pieces", "add_call", "add_content", "as_json"]

# What a call costs beside its name and arguments, and a result beside its content and name: the
# marks of the chat template. 11 and 5 in OpenAI's; ids are not sent to the model.
_CALL_OVERHEAD = 11
RESULT_OVERHEAD = 5

_CALLS = frozenset(
    {"tool_use", "tool_call", "function_call", "custom_tool_call", "invalid_tool_call"}
)
_CALL_FRAGMENTS = frozenset({"tool_call_chunk", "input_json_delta"})
_TEXTS = frozenset({"text", "input_text", "output_text", "refusal", "summary_text"})
_NOT_SENT = frozenset(
    {"type", "id", "index", "cache_control", "cachePoint", "citations", "annotations", "logprobs"}
)

# An encrypted payload carries 6 of its characters for each token of what it hides, beside a header
# (measured on recorded reasoning of GPT-5 and Claude 4: 0.15 to 0.17 tokens a character).
_CHARS_PER_HIDDEN_TOKEN = 6
_CLAUDE_HEADER = 300
_OPENAI_HEADER = 1_000
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{512,}={0,2}")


@dataclass(slots=True)
class Pieces:
    """Texts to be tokenised, and the tokens of what is not text.

    Attributes:
        texts: In any order; each is counted on its own.
        fixed: Overheads, media and hidden reasoning.
    """

    texts: list[str] = field(default_factory=list[str])
    fixed: int = 0

    def add(self, text: object) -> None:
        """Add a text; anything else that stands where a text should is ignored."""
        if isinstance(text, str) and text:
            self.texts.append(text)


def _opaque_tokens(payload: object, *, header: int = _CLAUDE_HEADER) -> int:
    """Estimate the tokens hidden in an encrypted payload, such as a thinking signature."""
    length = len(payload) if isinstance(payload, str) else 0
    return max(0, length - header) // _CHARS_PER_HIDDEN_TOKEN


def as_json(value: object) -> str:
    """Write a value as the JSON a provider is sent; what JSON has no form for, by its repr."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return repr(value)


def add_call(pieces: Pieces, name: object, arguments: object) -> None:
    """Add a tool call.

    Args:
        pieces: Where it is added.
        name: The tool.
        arguments: A mapping, or the JSON text where a model wrote invalid JSON.
    """
    pieces.fixed += _CALL_OVERHEAD
    pieces.add(name)
    pieces.add(arguments if isinstance(arguments, str) else as_json(arguments or {}))


def add_content(pieces: Pieces, content: object, *, counted_calls: bool = False) -> None:
    """Add a message's content, or a tool result's inside it.

    Args:
        pieces: Where it is added.
        content: Text, one block, or a list of both.
        counted_calls: The message's ``tool_calls`` are counted already, so blocks that repeat
            them are not.
    """
    if isinstance(content, str):
        pieces.add(content)
    elif isinstance(content, Mapping):
        _add_block(pieces, cast("Block", content), counted_calls=counted_calls)
    elif isinstance(content, list | tuple):
        for block in cast("Iterable[object]", content):
            add_content(pieces, block, counted_calls=counted_calls)
    elif content is not None:
        pieces.add(as_json(content))


def _add_block(pieces: Pieces, block: Block, *, counted_calls: bool) -> None:
    kind = block.get("type")
    kind = kind if isinstance(kind, str) else ""
    if kind in _CALLS or kind in _CALL_FRAGMENTS:
        if not counted_calls:
            _add_call_block(pieces, block)
    elif kind in _TEXTS:
        _add_fields(pieces, block, ("text", "refusal"))
    elif kind in {"thinking", "reasoning", "redacted_thinking"}:
        _add_reasoning(pieces, block)
    elif kind == "non_standard":
        add_content(pieces, block.get("value"), counted_calls=counted_calls)
    elif (blocks := _inner_blocks(block)) is not None:
        add_content(pieces, blocks)
    elif (media := read_media(block)) is not None:
        _add_media(pieces, media)
        _add_fields(pieces, block, ("title", "context"))
    elif "type" in block:
        _add_values(pieces, block)
    else:
        pieces.add(as_json(_residue(pieces, block)))


def _inner_blocks(block: Block) -> object:
    """Return what a document that is made of blocks holds."""
    source = block.get("source")
    return cast("Block", source).get("content") if isinstance(source, Mapping) else None


def _add_media(pieces: Pieces, media: Media) -> None:
    pieces.fixed += media.tokens
    pieces.add(media.text)


def _add_call_block(pieces: Pieces, block: Block) -> None:
    arguments = next(
        (block[key] for key in ("input", "args", "arguments", "partial_json") if key in block), None
    )
    add_call(pieces, block.get("name"), arguments)


def _add_reasoning(pieces: Pieces, block: Block) -> None:
    """Add visible reasoning, or the estimate of the hidden where that is more."""
    visible = Pieces()
    _add_fields(visible, block, ("thinking", "reasoning"))
    add_content(visible, block.get("summary"))
    add_content(visible, block.get("content"))
    extras = block.get("extras")
    sealed = cast("Block", extras) if isinstance(extras, Mapping) else block
    hidden = max(
        _opaque_tokens(sealed.get("signature") or block.get("signature")),
        _opaque_tokens(block.get("data")),
        _opaque_tokens(sealed.get("encrypted_content"), header=_OPENAI_HEADER),
    )
    # Four characters a token is enough to tell a summary from the whole.
    if hidden > sum(map(len, visible.texts)) // 4:
        pieces.fixed += hidden
    else:
        pieces.texts += visible.texts
        pieces.fixed += visible.fixed


def _add_fields(pieces: Pieces, block: Block, names: Iterable[str]) -> None:
    for name in names:
        pieces.add(block.get(name))


def _add_values(pieces: Pieces, block: Block) -> None:
    """Add a block of a type without a rule of its own: what its values hold."""
    for key, value in block.items():
        if key in _NOT_SENT or key.endswith("_id"):
            continue
        if isinstance(value, str):
            pieces.add(_readable(pieces, value))
        else:
            add_content(pieces, value)


def _residue(pieces: Pieces, value: object) -> object:
    """Return a value without the media and encrypted payloads in it, whose estimates are added."""
    if isinstance(value, str):
        return _readable(pieces, value)
    if isinstance(value, Mapping):
        block = cast("Block", value)
        if (media := read_media(block)) is None:
            return {key: _residue(pieces, inner) for key, inner in block.items()}
        _add_media(pieces, media)
        return ""
    if isinstance(value, list):
        return [_residue(pieces, inner) for inner in cast("list[object]", value)]
    return value


def _readable(pieces: Pieces, value: str) -> str:
    """Return a string that is text; of one that is a payload, add the estimate."""
    if not value.startswith("data:") and not _ENCODED.fullmatch(value):
        return value
    if media := read_payload(value):
        _add_media(pieces, media)
    else:
        pieces.fixed += _opaque_tokens(value)
    return ""
