"""The session log of pi and oh-my-pi: one JSON object a line, messages in ``message``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from langchain_core.messages import BaseMessage, SystemMessage

from langledger.replay.formats.base import Draft, Format
from langledger.replay.formats.building import (
    Calls,
    as_blocks,
    compaction_summary,
    human,
    plain_text,
    tool_result,
)
from langledger.replay.formats.shapes import (
    Content,
    Json,
    content_of,
    known,
    mapping,
    optional_mapping,
    optional_text,
    text,
)

__all__ = ["PI"]

_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom"})
_EXIT_CODE = re.compile(r"Command exited with code (-?\d{1,9})\s*\Z")


def _recognises(record: Json) -> bool:
    kind = record.get("type")
    if kind == "session":
        return "cwd" in record and "id" in record
    role = optional_mapping(record, "message").get("role")
    return kind == "message" and isinstance(role, str) and role in _ROLES


def _read(records: Iterable[Json], draft: Draft) -> None:
    for record in records:
        match record.get("type"):
            case "session":
                draft.cwd = draft.cwd or optional_text(record, "cwd")
            case "session_init":
                _begin(record, draft)
            case "message":
                message = _message(record)
                if message is not None:
                    draft.add(message)
            case "compaction":
                draft.add(_summary(record), shown=False)
            case _:
                pass


def _begin(record: Json, draft: Draft) -> None:
    tools = record.get("tools")
    if isinstance(tools, list):
        draft.tools = [{"name": name} for name in cast("list[Any]", tools) if isinstance(name, str)]
    prompt = optional_text(record, "systemPrompt")
    if prompt is not None:
        draft.add(SystemMessage(content=prompt, id=optional_text(record, "id")))


def _message(record: Json) -> BaseMessage | None:
    inner = mapping(record, "message")
    stamps: Any = known(
        message_id=optional_text(record, "id"), timestamp=optional_text(record, "timestamp")
    )
    match text(inner, "role"):
        case "assistant":
            return _assistant(record, inner)
        case "toolResult":
            code = _EXIT_CODE.search(plain_text(content_of(inner))[-80:])
            return tool_result(
                content_of(inner),
                exit_code=int(code[1]) if code else None,
                call_id=text(inner, "toolCallId"),
                name=optional_text(inner, "toolName"),
                failed=inner.get("isError") is True,
                **stamps,
            )
        case "bashExecution":
            ran = f"[user ran] {text(inner, 'command')}\n{text(inner, 'output')}"
            return human(ran, synthetic=True, **stamps)
        case "user":
            return human(content_of(inner), **stamps)
        case "custom":
            return human(content_of(inner), synthetic=True, **stamps)
        case _:
            return None


def _assistant(record: Json, inner: Json) -> BaseMessage:
    calls, blocks = Calls(), list[str | Json]()
    for block in as_blocks(content_of(inner)):
        if block.get("type") == "toolCall":
            calls.add(
                call_id=text(block, "id"),
                name=text(block, "name"),
                arguments=block.get("arguments"),
            )
        else:
            blocks.append(_block(block))
    metadata = known(
        timestamp=optional_text(record, "timestamp"),
        model_name=optional_text(inner, "model"),
        stop_reason=optional_text(inner, "stopReason"),
        recorded_usage=optional_mapping(inner, "usage") or None,
    )
    return calls.message(blocks, message_id=optional_text(record, "id"), metadata=metadata)


def _block(block: Json) -> Json:
    """Return a block in its provider's shape."""
    if block.get("type") != "thinking":
        return block
    thinking, signature = block.get("thinking", ""), block.get("thinkingSignature")
    if isinstance(signature, str):
        return {"type": "thinking", "thinking": thinking, "signature": signature}
    return {"type": "reasoning", "reasoning": thinking}


def _summary(record: Json) -> BaseMessage:
    content: Content = text(record, "summary")
    return compaction_summary(
        content,
        message_id=optional_text(record, "id"),
        timestamp=optional_text(record, "timestamp"),
        details=known(pre_tokens=record.get("tokensBefore")),
    )


PI = Format(name="pi", title="a pi .jsonl", recognises=_recognises, read=_read, grows=True)
