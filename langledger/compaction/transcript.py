"""Messages as plain text, for a model that summarises them.

A model that is given the turns themselves tends to continue them. So it gets one text in
which every message is headed by its number and role, calls are text, results are cut,
media are named but not included, and what a log says again and again is said once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langledger.compaction.repeats import Repeats, without_repeats
from langledger.entries.at_hand import is_user_run
from langledger.errors import ConfigurationError
from langledger.tokens import count_text, count_texts, cut_text, truncate_text
from langledger.tokens.blocks import as_json
from langledger.tokens.media import read_media
from langledger.tokens.text import well_formed

__all__ = [
    "HEADER",
    "TYPED",
    "injected_text",
    "is_request",
    "readable_text",
    "reasoning_text",
    "request_text",
    "serialise_for_summary",
    "split_for_summary",
]

HEADER = re.compile(r"^[ \t]*--- #\d+ .*---[ \t]*$", re.MULTILINE)
"""The line that heads a message in the serialised form."""

TYPED = "typed"
"""Key of ``additional_kwargs``: what of a message the user typed, where a host wrote the rest."""

_FORGED = re.compile(r"^(?=[ \t]*--- #\d)", re.MULTILINE)
_NOTE = "note, not written by the user"
_MAX_RESULT_TOKENS = 2_000
_MAX_REASONING_TOKENS = 400
_SMALLEST_PIECE = 64
_NOT_READ = frozenset(
    {"tool_use", "tool_call", "function_call", "custom_tool_call", "invalid_tool_call"}
    | {"tool_call_chunk", "input_json_delta", "thinking", "redacted_thinking", "reasoning"}
)


def is_request(message: BaseMessage) -> bool:
    """Whether a message is what the user said, and not a note or summary in the user's place."""
    marks = message.additional_kwargs
    noted = marks.get("synthetic") or "langledger" in marks
    return isinstance(message, HumanMessage) and not noted and not is_user_run(message)


def request_text(message: BaseMessage) -> str:
    """Return what the user typed of a message in the user's place."""
    typed = message.additional_kwargs.get(TYPED)
    return well_formed(typed) if isinstance(typed, str) else readable_text(message)


def injected_text(message: BaseMessage) -> str:
    """Return what a host wrote of a message in the user's place; empty where it wrote nothing."""
    if not is_request(message):
        return readable_text(message) if isinstance(message, HumanMessage) else ""
    typed = message.additional_kwargs.get(TYPED)
    if not isinstance(typed, str):
        return ""
    return readable_text(message).removesuffix(well_formed(typed))


def readable_text(message: BaseMessage) -> str:
    """Return a message's content as text, without calls and reasoning.

    Media are replaced by a placeholder with their type and size, such as
    ``[image image/png 800x600 12 kB]``; text files are included.
    """
    return well_formed("\n".join(_texts(cast("object", message.content))))


def reasoning_text(message: BaseMessage) -> str:
    """Return the visible reasoning of a message, in whatever field its provider puts it."""
    content = cast("object", message.content)
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    found = [_reasoning(cast("Mapping[str, Any]", b)) for b in blocks if isinstance(b, Mapping)]
    aside = message.additional_kwargs.get("reasoning_content")
    return well_formed("\n".join([*filter(None, found), aside if isinstance(aside, str) else ""]))


def serialise_for_summary(
    messages: Iterable[tuple[int, BaseMessage]], *, max_result_tokens: int = _MAX_RESULT_TOKENS
) -> str:
    """Write messages as one text.

    Args:
        messages: Each with its entry's seq.
        max_result_tokens: Longer tool results and call arguments lose their middle.

    Returns:
        The text; each message begins with a line such as ``--- #12 user ---``.
    """
    return "\n\n".join(entry.text for entry in _entries(messages, max_result_tokens))


def split_for_summary(
    messages: Iterable[tuple[int, BaseMessage]],
    *,
    max_tokens: int,
    max_result_tokens: int = _MAX_RESULT_TOKENS,
) -> list[str]:
    """Write messages as texts that each fit a summary model.

    A message that is larger than a piece continues in the next ones, each with its header.

    Args:
        messages: Each with its entry's seq.
        max_tokens: The most tokens a piece has.
        max_result_tokens: As in :func:`serialise_for_summary`.

    Raises:
        ConfigurationError: ``max_tokens`` is too small for any progress.
    """
    if max_tokens < _SMALLEST_PIECE:
        raise ConfigurationError(
            f"a piece of {max_tokens} tokens is too small to summarise; use a summary model with a "
            f"window that leaves at least {_SMALLEST_PIECE}"
        )
    entries = _entries(messages, min(max_result_tokens, max_tokens))
    parts = [part for entry in entries for part in _fit(entry, max_tokens)]
    return _pack(parts, max_tokens)


@dataclass(frozen=True, slots=True)
class _Entry:
    header: str
    body: str

    @property
    def text(self) -> str:
        return f"{self.header}\n{self.body}"


def _entries(messages: Iterable[tuple[int, BaseMessage]], limit: int) -> Iterator[_Entry]:
    repeats = Repeats()
    for seq, message in messages:
        if is_request(message) and (aside := injected_text(message)):
            yield _entry(seq, _NOTE, truncate_text(aside, limit))
        if isinstance(message, ToolMessage):
            said = repeats.shortened(seq, without_repeats(readable_text(message)))
            yield _entry(seq, _role(message), truncate_text(said, limit))
        else:
            yield _entry(seq, _role(message), _body(message, limit))


def _entry(seq: int, role: str, body: str) -> _Entry:
    body = well_formed(body).strip() or "(empty)"
    return _Entry(f"--- #{seq} {role} ---", _FORGED.sub("> ", body))


def _role(message: BaseMessage) -> str:
    if isinstance(message, ToolMessage):
        failed = ", failed" if message.status == "error" else ""
        return f"result of {_one_line(message.name or 'a tool')}{failed}"
    if isinstance(message, HumanMessage):
        return "user" if is_request(message) else _NOTE
    if isinstance(message, SystemMessage):
        return "system"
    return "assistant" if isinstance(message, AIMessage) else _one_line(message.type)


def _one_line(name: str) -> str:
    return " ".join(name.split())[:80]


def _body(message: BaseMessage, limit: int) -> str:
    if isinstance(message, HumanMessage):
        return request_text(message)
    text = readable_text(message)
    if not isinstance(message, AIMessage):
        return truncate_text(text, limit)
    parts = [text]
    if reasoning := reasoning_text(message):
        parts.insert(0, f"(thinking) {truncate_text(reasoning, min(_MAX_REASONING_TOKENS, limit))}")
    for call in (*message.tool_calls, *message.invalid_tool_calls):
        arguments = call["args"] if isinstance(call["args"], str) else as_json(call["args"])
        parts.append(f"(calls {call['name']}) {truncate_text(arguments, limit)}")
    return "\n".join(part for part in parts if part)


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in cast("list[object]", content):
            yield from _texts(block)
    elif isinstance(content, Mapping):
        yield from _block_texts(cast("Mapping[str, Any]", content))


def _block_texts(block: Mapping[str, Any]) -> Iterator[str]:
    kind = block.get("type")
    if isinstance(kind, str) and kind in _NOT_READ:
        return
    if media := read_media(block):
        yield media.text if media.text is not None else media.placeholder
        return
    for key in ("text", "refusal", "content", "output", "value"):
        yield from _texts(block.get(key))


def _reasoning(block: Mapping[str, Any]) -> str:
    for key in ("thinking", "reasoning"):
        if isinstance(text := block.get(key), str):
            return text
    return "\n".join(_texts(block.get("summary"))) if block.get("type") == "reasoning" else ""


def _fit(entry: _Entry, max_tokens: int) -> Iterator[str]:
    """Yield an entry whole, or in parts of at most ``max_tokens``."""
    if count_text(entry.text) <= max_tokens:
        yield entry.text
        return
    header, at = cut_text(entry.header, _SMALLEST_PIECE // 3), 0
    while at < len(entry.body):
        part = _part(entry.body, at, max_tokens - count_text(header) - 2)
        yield f"{header}\n{part}"
        at += len(part)
        header = cut_text(entry.header.removesuffix(" ---"), _SMALLEST_PIECE // 3)
        header += ", continued ---"


def _part(body: str, at: int, room: int) -> str:
    # No token has more characters than 128; the rest of a long body is not copied each time.
    part = cut_text(body[at : at + room * 128], room)
    if at + len(part) == len(body):
        return part
    # Better at the end of a line, where one is near.
    line = part.rfind("\n") + 1
    return part[:line] if line > len(part) // 2 else part


def _pack(parts: Sequence[str], max_tokens: int) -> list[str]:
    """Join parts into as few pieces as fit, in order."""
    pieces: list[str] = []
    size = max_tokens
    for part, tokens in zip(parts, count_texts(parts), strict=True):
        joined = size + tokens + 2
        if joined <= max_tokens:
            pieces[-1] += "\n\n" + part
            size = joined
        else:
            pieces.append(part)
            size = tokens
    return pieces
