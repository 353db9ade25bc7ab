"""One message a line: ``role``, ``content``, ``tool_calls`` [{id, name, args}], ``meta``.

The exchange format of recorded sessions; the fields are documented beside the files.
A call in OpenAI's shape ({id, function: {name, arguments}}) is read too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage

from langledger.replay.formats.base import Draft, Format
from langledger.replay.formats.building import (
    Calls,
    compaction_summary,
    human,
    tool_result,
    with_reasoning,
)
from langledger.replay.formats.shapes import (
    Content,
    Json,
    ShapeError,
    content_of,
    items,
    known,
    optional_mapping,
    optional_text,
    text,
)

__all__ = ["NORMALISED", "read_calls"]

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
# What a compaction's ``meta`` says about the event itself.
_EVENT = ("trigger", "pre_tokens", "post_tokens", "readable", "context_from")


def _recognises(record: Json) -> bool:
    role = record.get("role")
    return isinstance(role, str) and role in _ROLES and "content" in record and "type" not in record


def _read(records: Iterable[Json], draft: Draft) -> None:
    for record in records:
        meta = optional_mapping(record, "meta")
        message = _message(record, meta)
        draft.add(message, shown=meta.get("compaction") is not True)


def _message(record: Json, meta: Json) -> BaseMessage:
    role, content = text(record, "role"), content_of(record)
    stamp = optional_text(record, "ts")
    synthetic = meta.get("synthetic") is True
    if meta.get("compaction") is True:
        details = known(**{name: meta.get(name) for name in _EVENT})
        return compaction_summary(content, timestamp=stamp, details=details)
    if role == "user" or (role == "system" and synthetic):
        return human(content, timestamp=stamp, synthetic=synthetic)
    if role in {"system", "developer"}:
        return SystemMessage(content=content, response_metadata=known(timestamp=stamp))
    if role == "assistant":
        return _assistant(record, meta, content)
    if role == "tool":
        return tool_result(
            content,
            call_id=text(record, "tool_call_id"),
            name=optional_text(record, "name"),
            failed=record.get("is_error") is True,
            timestamp=stamp,
            exit_code=_whole_number(record.get("exit_code")),
            write_kind=optional_text(record, "write_kind"),
        )
    raise ShapeError("role", f"one of {', '.join(sorted(_ROLES))}", role)


def _assistant(record: Json, meta: Json, content: Content) -> BaseMessage:
    content = with_reasoning(content, optional_text(record, "thinking"))
    return read_calls(record).message(
        content,
        synthetic=meta.get("synthetic") is True,
        metadata=known(timestamp=optional_text(record, "ts"), stop_reason=meta.get("stop")),
    )


def read_calls(record: Json) -> Calls:
    """Return an assistant record's ``tool_calls``, in the short or in OpenAI's shape.

    Raises:
        ShapeError: A call has no id or no name.
    """
    calls = Calls()
    for call in items(record, "tool_calls"):
        function = optional_mapping(call, "function")
        calls.add(
            call_id=text(call, "id"),
            name=text(function or call, "name"),
            arguments=function["arguments"] if "arguments" in function else call.get("args"),
        )
    return calls


def _whole_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


NORMALISED = Format(
    name="normalised",
    title="one {role, content} message a line",
    recognises=_recognises,
    read=_read,
)
