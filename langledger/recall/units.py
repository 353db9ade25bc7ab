"""Messages to units, the pieces that are found and given back.

A unit is a paragraph, a code block or a stretch of lines of up to :data:`LONGEST` characters;
short neighbours share one. A tool result's units begin with the call that it answers, those of a
message with a name with that name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

__all__ = [
    "LONGEST",
    "RECALLED",
    "call_heads",
    "recalled_mark",
    "split",
    "units_of",
    "without_marks",
]

LONGEST = 1200  # characters; about 300 tokens
_HEAD = 300  # characters of a call before its result
_NAME = 80  # characters of who says something
RECALLED = "langledger_recalled"
"""Key of ``additional_kwargs`` of a message that repeats what was recalled: it is not indexed."""
_OPEN, _CLOSE = "<recalled-history>", "</recalled-history>"
_REPEATED = re.compile(re.escape(_OPEN) + r".*?(?:" + re.escape(_CLOSE) + r"|\Z)", re.DOTALL)
# As a reader may take it for a mark: in any case, with spaces, invisible or wide characters in it.
_UNSEEN = r"\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_ANY_MARK = re.compile(
    r"[<\uff1c\u3008\u276e](?=[{0}\s/\uff0f]*{1}[{0}\s_-]*{2})".format(
        _UNSEEN, *(f"[{_UNSEEN}]*".join(word) for word in ("recalled", "history"))
    ),
    re.IGNORECASE,
)
_LOOKUPS = frozenset(("recall_history", "get_entry"))
_SERVED = frozenset(("recall", "entries", "state", "threads"))  # by our MCP server
_FENCE = re.compile(r"(^[ \t]*```.*?(?:^[ \t]*```[^\n]*\n?|\Z))", re.DOTALL | re.MULTILINE)
_BLANK = re.compile(r"\n[ \t]*\n")
_SENTENCE = re.compile(r"(?<=[.!?;。！？；])\s*")


def recalled_mark(text: str) -> str:
    """Return recalled text between marks, so that it is data, and is not indexed again.

    What looks like such a mark in the text is none any more.
    """
    return f"{_OPEN}\n{without_marks(text)}\n{_CLOSE}"


def without_marks(text: str) -> str:
    """Return text in which nothing looks like the marks around what is recalled."""
    return _ANY_MARK.sub("\u2039", text)


def units_of(message: BaseMessage, heads: Mapping[str, str]) -> list[str]:
    """Return the units of a message, in order; none for one that says nothing.

    Args:
        message: As recorded.
        heads: What the tool calls before it were, by call id, as :func:`call_heads` gives them.
    """
    if message.additional_kwargs.get(RECALLED) or _is_looked_up(message, heads):
        return []
    units = _named(message, split(_storable(_REPEATED.sub("", _text(message)))))
    for call in _calls(message):
        units = _with_call(units, split(_storable(call)))
    if isinstance(message, ToolMessage):
        head = heads.get(message.tool_call_id)
        return [f"{head}\n{unit}" for unit in units or [""]] if head else units
    return units


def _named(message: BaseMessage, units: list[str]) -> list[str]:
    """Put who says something before it: people ask what Ana said."""
    name = " ".join(_storable(message.name or "").split())[:_NAME]
    if not name or isinstance(message, ToolMessage):
        return units
    return [unit if unit.startswith(name) else f"{name}: {unit}" for unit in units]


def _with_call(units: list[str], call: list[str]) -> list[str]:
    """Add a call to the units before it; what is said right before it tells what it is for."""
    if units and call and len(units[-1]) + len(call[0]) + 2 <= LONGEST:
        return [*units[:-1], f"{units[-1]}\n\n{call[0]}", *call[1:]]
    return [*units, *call]


def _storable(text: str) -> str:
    return text.replace("\x00", "\ufffd")


def _is_looked_up(message: BaseMessage, heads: Mapping[str, str]) -> bool:
    """Tell the answers of our own tools, which repeat what is recorded; some hosts name no tool."""
    if not isinstance(message, ToolMessage):
        return False
    return _looks_up(message.name or "") or heads.get(message.tool_call_id) == ""


def _looks_up(tool: str) -> bool:
    """Tell our own tools that read the record, also by the longer names of an MCP host."""
    server, _, name = tool.rpartition("__")
    return name in _LOOKUPS or (name in _SERVED and "langledger" in server.lower())


def call_heads(messages: Iterable[BaseMessage]) -> dict[str, str]:
    """Return a line for each tool call of these messages, by call id.

    It is empty for a call that looks something up in the record: a question is no memory.
    """
    return {
        call["id"]: "" if _looks_up(call["name"]) else _shortened(_call_text(call))
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"]
    }


def split(text: str) -> list[str]:
    """Cut a text into units of at most :data:`LONGEST` characters, losing nothing but space."""
    units: list[str] = []
    for block in _blocks(text):
        if units and len(units[-1]) + len(block) + 2 <= LONGEST // 2:
            units[-1] += f"\n\n{block}"
        else:
            units.append(block)
    return units


def _blocks(text: str) -> Iterator[str]:
    for at, part in enumerate(_FENCE.split(text)):
        pieces = [part] if at % 2 else _BLANK.split(part)
        for piece in pieces:
            block = piece.strip("\n")
            if block.strip():
                yield from _cut(block)


def _cut(block: str) -> Iterator[str]:
    """Cut a block that is too long between lines, else between sentences, else anywhere."""
    if len(block) <= LONGEST:
        yield block
        return
    held = ""
    for piece in _pieces(block):
        if held and len(held) + len(piece) > LONGEST:
            yield held.strip("\n")
            held = ""
        held += piece
    if held.strip():
        yield held.strip("\n")


def _pieces(block: str) -> Iterator[str]:
    for line in block.splitlines(keepends=True):
        if len(line) <= LONGEST:
            yield line
            continue
        for sentence in _SENTENCE.split(line):
            yield from _slices(sentence)


def _slices(text: str) -> Iterator[str]:
    """Cut at spaces; a run without any is cut where it must be."""
    while len(text) > LONGEST:
        end = text.rfind(" ", LONGEST // 2, LONGEST) + 1 or LONGEST
        yield text[:end]
        text = text[end:]
    if text:
        yield text + " "


def _text(message: BaseMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n\n".join(_block_text(block) for block in message.content)


def _block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return block if isinstance(block, str) else ""
    fields = cast("dict[str, Any]", block)
    for key in ("text", "content", "reasoning", "thinking"):
        value = fields.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return "\n\n".join(_block_text(item) for item in cast("list[Any]", value))
    return ""


def _calls(message: BaseMessage) -> list[str]:
    if not isinstance(message, AIMessage):
        return []
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    return [_call_text(call) for call in calls if not _looks_up(call["name"] or "")]


def _call_text(call: Mapping[str, Any]) -> str:
    """Return a call as people read it: strings as they are, the rest as JSON."""
    args = call["args"]
    if not isinstance(args, dict):
        return f"{call['name']}: {args}"
    named = cast("dict[str, Any]", args)
    shown = [f"{name}: {_shown(value)}" for name, value in named.items()]
    return (
        "\n".join([f"{call['name']}", *shown])
        if len(shown) > 1
        else f"{call['name']} {''.join(shown)}"
    )


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _HEAD else f"{line[:_HEAD]}..."
