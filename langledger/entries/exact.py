"""Values that msgpack cannot carry, or would change in silence, as JSON with marks."""

from __future__ import annotations

import base64
import importlib
import json
import pathlib
import sys
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, cast

import ormsgpack
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol

from langledger.entries.inside import fault_in, fields, has_lone_surrogate

__all__ = ["dump", "load"]

# Escapes would not do: two halves that stand side by side would be read as one character.
_HALVES = "surrogatepass"
_OWN_CLASSES = "langchain_core.messages"
_COLLECTIONS: dict[str, Callable[[Iterable[Any]], Any]] = {
    "$tuple": tuple,
    "$set": set,
    "$frozenset": frozenset,
    "$deque": deque,
}
_MARKS: dict[Any, str] = {kind: mark for mark, kind in _COLLECTIONS.items()}
_FROM_TEXT: dict[str, Callable[[str], Any]] = {"$bytes": base64.b64decode, "$path": pathlib.Path}
_PATH = type(pathlib.Path())
_PYDANTIC = 5  # LangGraph's number for a pydantic model


def dump(value: Any, serde: SerializerProtocol) -> bytes:
    """Serialise JSON-like values, bytes, collections, paths and messages, of any depth.

    What else is in them is left to ``serde``.

    Raises:
        TypeError, ValueError: It cannot carry that, or would change it.
    """
    text = json.dumps(_mark(value, serde), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", _HALVES)


def load(payload: bytes, serde: SerializerProtocol) -> Any:
    """Return what :func:`dump` serialised.

    Raises:
        TypeError, ValueError, LookupError: The bytes are damaged, or a class is not known.
    """
    return _unmark(json.loads(payload.decode("utf-8", _HALVES)), serde)


def _mark(value: Any, serde: SerializerProtocol) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [_mark(item, serde) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return _mark_items(cast("dict[Any, Any]", value), serde)
    return _mark_object(value, serde)


def _mark_object(value: Any, serde: SerializerProtocol) -> Any:
    cls = cast("type[Any]", type(value))
    if cls in _MARKS:
        return {_MARKS[cls]: [_mark(item, serde) for item in value]}
    if cls is _PATH:
        return {"$path": str(value)}
    if isinstance(value, BaseMessage):
        return {"$message": [cls.__module__, cls.__qualname__, _mark(fields(value), serde)]}
    kind, payload = _other(value, serde)
    return {"$other": [kind, base64.b64encode(payload).decode()]}


def _other(value: Any, serde: SerializerProtocol) -> tuple[str, bytes]:
    """Serialise an object, which carries less than what stands outside of objects."""
    try:
        kind, payload = serde.dumps_typed(value)
    except TypeError as error:
        fault = None
        with suppress(Exception):  # whatever the object raises when it is asked for its content
            fault = fault_in(value)
        if fault is None:
            raise
        raise _changed(value, fault) from error
    if kind == "msgpack" and b"?" in payload and has_lone_surrogate(value):
        raise _changed(value, "half of a surrogate pair")
    return kind, payload


def _changed(value: Any, fault: str) -> TypeError:
    return TypeError(
        f"a {type(value).__name__} in it, which is stored as an object, holds {fault}; give it as "
        "a dict, where that can be stored, or change it"
    )


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
    if mark in _FROM_TEXT:
        return _FROM_TEXT[mark](content)
    if mark in _COLLECTIONS:
        return _COLLECTIONS[mark](_unmark(item, serde) for item in content)
    match mark:
        case "$pairs":
            return {_unmark(key, serde): _unmark(item, serde) for key, item in content}
        case "$message":
            module, name, held = content
            return _message(_message_class(module, name), _unmark(held, serde), serde)
        case "$other":
            return serde.loads_typed((content[0], base64.b64decode(content[1])))
        case _:
            return {key: _unmark(item, serde) for key, item in items.items()}


def _message(cls: type[BaseMessage], held: dict[str, Any], serde: SerializerProtocol) -> Any:
    """Return the message, or its fields where the serialiser does not allow the class."""
    return cls.model_construct(**held) if _is_allowed(cls, serde) else held


def _is_allowed(cls: type[BaseMessage], serde: SerializerProtocol) -> bool:
    """Have the serialiser make a message of the class from nothing: it gives nothing back then."""
    named = ormsgpack.packb((cls.__module__, cls.__name__, {}, "model_validate_json"))
    try:
        made = serde.loads_typed(("msgpack", ormsgpack.packb(ormsgpack.Ext(_PYDANTIC, named))))
    except Exception:  # noqa: BLE001 - a serialiser that knows no msgpack forbids no class of it
        return True
    return isinstance(made, BaseMessage)


def _message_class(module: str, name: str) -> type[BaseMessage]:
    """Find the class without importing what stored bytes name: who can write rows gets no code."""
    if module.startswith(f"{_OWN_CLASSES}."):
        importlib.import_module(module)
    cls = getattr(sys.modules.get(module), name, None)
    if isinstance(cls, type) and issubclass(cls, BaseMessage):
        return cls
    raise LookupError(f"import {module}.{name} first: a stored message is one")
