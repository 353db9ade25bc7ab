"""Values that msgpack cannot carry, or would change in silence, as JSON with marks."""

from __future__ import annotations

import base64
import importlib
import json
import sys
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ["dump", "fields", "has_lone_surrogate", "load"]

_OWN_CLASSES = "langchain_core.messages"


def dump(value: Any, serde: SerializerProtocol) -> bytes:
    """Serialise JSON-like values, bytes, tuples and messages, of any depth.

    What else is in them is left to ``serde``.

    Raises:
        TypeError, ValueError: It cannot carry that.
    """
    return json.dumps(_mark(value, serde), ensure_ascii=True, separators=(",", ":")).encode()


def load(payload: bytes, serde: SerializerProtocol) -> Any:
    """Return what :func:`dump` serialised.

    Raises:
        TypeError, ValueError, LookupError: The bytes are damaged, or a class is not known.
    """
    return _unmark(json.loads(payload), serde)


def fields(message: BaseMessage) -> dict[str, Any]:
    """Return every field of a message, declared or extra."""
    return {**message.__dict__, **(message.__pydantic_extra__ or {})}


def has_lone_surrogate(value: object) -> bool:
    """Tell whether any string inside ``value`` cannot be encoded as UTF-8."""
    if isinstance(value, str):
        return not value.isascii() and not _is_utf8(value)
    if isinstance(value, dict):
        items = cast("dict[object, object]", value)
        return any(has_lone_surrogate(k) or has_lone_surrogate(v) for k, v in items.items())
    if isinstance(value, (list, tuple)):
        return any(has_lone_surrogate(item) for item in cast("list[object]", value))
    return isinstance(value, BaseMessage) and has_lone_surrogate(fields(value))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mark(value: Any, serde: SerializerProtocol) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [_mark(item, serde) for item in cast("list[Any]", value)]
    if isinstance(value, tuple):
        return {"$tuple": [_mark(item, serde) for item in cast("tuple[Any, ...]", value)]}
    if isinstance(value, dict):
        return _mark_items(cast("dict[Any, Any]", value), serde)
    return _mark_object(value, serde)


def _mark_object(value: Any, serde: SerializerProtocol) -> Any:
    if isinstance(value, BaseMessage):
        cls = type(value)
        return {"$message": [cls.__module__, cls.__qualname__, _mark(fields(value), serde)]}
    kind, payload = serde.dumps_typed(value)
    return {"$other": [kind, base64.b64encode(payload).decode()]}


def _mark_items(items: dict[Any, Any], serde: SerializerProtocol) -> dict[str, Any]:
    if all(isinstance(key, str) and not key.startswith("$") for key in items):
        return {key: _mark(item, serde) for key, item in items.items()}
    return {"$pairs": [[_mark(key, serde), _mark(item, serde)] for key, item in items.items()]}


def _unmark(value: Any, serde: SerializerProtocol) -> Any:
    if isinstance(value, list):
        return [_unmark(item, serde) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return _unmark_items(cast("dict[str, Any]", value), serde)
    return value


def _unmark_items(items: dict[str, Any], serde: SerializerProtocol) -> Any:
    mark: str = next(iter(items), "")
    content: Any = items.get(mark)
    match mark:
        case "$bytes":
            return base64.b64decode(content)
        case "$tuple":
            return tuple(_unmark(item, serde) for item in content)
        case "$pairs":
            return {_unmark(key, serde): _unmark(item, serde) for key, item in content}
        case "$message":
            module, name, held = content
            return _message_class(module, name).model_construct(**_unmark(held, serde))
        case "$other":
            return serde.loads_typed((content[0], base64.b64decode(content[1])))
        case _:
            return {key: _unmark(item, serde) for key, item in items.items()}


def _message_class(module: str, name: str) -> type[BaseMessage]:
    """Find the class without importing what stored bytes name: who can write rows gets no code."""
    if module.startswith(f"{_OWN_CLASSES}."):
        importlib.import_module(module)
    cls = getattr(sys.modules.get(module), name, None)
    if isinstance(cls, type) and issubclass(cls, BaseMessage):
        return cls
    raise LookupError(f"import {module}.{name} first: a stored message is one")
