"""LangChain messages as LangChain's own tools write them.

One message is ``message_to_dict`` ({"type", "data"}), ``dumpd`` ({"lc", "id",
"kwargs"}) or ``model_dump`` ({"type", "content", ...}); a file is a list of them, one a
line, or a LangGraph state that holds them under ``messages``. Recorded ids stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from pydantic import ValidationError

from langledger.replay.formats.base import Draft, Format
from langledger.replay.formats.building import COMPACTION
from langledger.replay.formats.shapes import (
    Json,
    ShapeError,
    at,
    first_problem,
    items,
    mapping,
    text,
)

__all__ = ["LANGCHAIN", "is_message", "read_message"]

_CLASSES: tuple[type[BaseMessage], ...] = (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
_BY_TYPE = {str(cls.model_fields["type"].default): cls for cls in _CLASSES}
_BY_NAME = {cls.__name__: cls for cls in _CLASSES}
# Where a state keeps its messages: the graph's state, a snapshot of it, a checkpoint.
_STATES = ("values", "channel_values", "state")


def _recognises(record: Json) -> bool:
    messages = _messages(record)
    if messages is not None:
        first = messages[0] if messages else None
        return isinstance(first, dict) and is_message(cast("Json", first))
    return is_message(record)


def is_message(record: Json) -> bool:
    """Whether LangChain dumped this as a message, in one of its ways."""
    kind = record.get("type")
    if "lc" in record and kind == "constructor":
        return _class_name(record) in _BY_NAME
    if not isinstance(kind, str) or kind not in _BY_TYPE:
        return False
    return "content" in record or isinstance(record.get("data"), dict)


def _messages(record: Json) -> list[Any] | None:
    """Return the messages of a state, or None where the record is no state."""
    if isinstance(record.get("messages"), list):
        return cast("list[Any]", record["messages"])
    for key in _STATES:
        inner = record.get(key)
        if isinstance(inner, dict) and isinstance(inner.get("messages"), list):
            return cast("list[Any]", inner["messages"])
    return None


def _read(records: Iterable[Json], draft: Draft) -> None:
    for record in records:
        messages = _messages(record)
        if messages is None:
            _add(record, draft)
            continue
        if draft.messages:
            raise ShapeError("the record", "one state in the file", "a second one")
        for position, element in enumerate(items({"messages": messages}, "messages")):
            with at(f"messages[{position}]"):
                _add(element, draft)


def _add(record: Json, draft: Draft) -> None:
    message = read_message(record)
    draft.add(message, shown=COMPACTION not in message.additional_kwargs)


def read_message(record: Json) -> BaseMessage:
    """Return a message that LangChain dumped.

    Raises:
        ShapeError: It is none.
    """
    if "lc" in record:
        name = _class_name(record)
        if name not in _BY_NAME:
            raise ShapeError("id", "the path of a message class", record.get("id"))
        return _construct(_BY_NAME[name], _unescape_each(mapping(record, "kwargs")))
    kind = text(record, "type")
    if kind not in _BY_TYPE:
        raise ShapeError("type", f"one of {', '.join(sorted(_BY_TYPE))}", kind)
    fields = mapping(record, "data") if "data" in record else record
    return _construct(_BY_TYPE[kind], fields)


def _construct(cls: type[BaseMessage], fields: Json) -> BaseMessage:
    try:
        return cls(**fields)
    except ValidationError as error:
        raise ShapeError(first_problem(error), f"a {cls.__name__}", fields) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # LangChain's own validators let these through for malformed nested fields.
        raise ShapeError("its fields", f"a {cls.__name__} ({error})", fields) from error


def _class_name(record: Json) -> str:
    path = record.get("id")
    return str(cast("list[Any]", path)[-1]) if isinstance(path, list) and path else ""


def _unescape_each(fields: Json) -> Json:
    return {name: _unescape(value) for name, value in fields.items()}


def _unescape(value: Any) -> Any:
    """Undo ``dumpd``'s escape: user data that looks like its own marks is wrapped."""
    if isinstance(value, dict):
        fields = cast("Json", value)
        if fields.keys() == {"__lc_escaped__"}:
            return fields["__lc_escaped__"]
        return _unescape_each(fields)
    if isinstance(value, list):
        return [_unescape(element) for element in cast("list[Any]", value)]
    return value


LANGCHAIN = Format(
    name="langchain",
    title="a dump of LangChain messages or of a LangGraph state",
    recognises=_recognises,
    read=_read,
)
