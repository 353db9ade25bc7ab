"""What LangGraph's serialiser stores of a value: what is inside it, and what there it would change.

It writes a question mark for half of a surrogate pair, wherever that stands, and says of an object
only that it cannot be serialised.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections import deque
from collections.abc import Iterable
from enum import Enum
from itertools import chain
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import SendProtocol
from langgraph.store.base import Item

__all__ = ["fault_in", "fields", "has_lone_surrogate"]

_PLAIN = (type(None), int, float, bytes, bytearray)
_COLLECTIONS = (list, tuple, set, frozenset, deque)
# By which the serialiser asks an object for what it holds: pydantic 2, its secrets, pydantic 1.
_ASKED = ("model_dump", "get_secret_value", "dict")
_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    pathlib.Path: ("parts",),
    re.Pattern: ("pattern",),
    Enum: ("value",),
    SendProtocol: ("node", "arg", "timeout"),
}
_LARGEST = (1 << 64) - 1
_SMALLEST = -(1 << 63)


def fields(message: BaseMessage) -> dict[str, Any]:
    """Return every field of a message, declared or extra."""
    return {**message.__dict__, **(message.__pydantic_extra__ or {})}


def has_lone_surrogate(value: object) -> bool:
    """Tell whether any string inside ``value`` cannot be encoded as UTF-8."""
    if isinstance(value, str):
        return not value.isascii() and not _is_utf8(value)
    return any(map(has_lone_surrogate, _inside(value)))


def fault_in(value: object) -> str | None:
    """Say what inside an object no serialisation of it can carry; None if nothing is found."""
    if isinstance(value, str):
        return "half of a surrogate pair" if has_lone_surrogate(value) else None
    if isinstance(value, int):
        return None if _SMALLEST <= value <= _LARGEST else "an integer beyond 64 bits"
    return next(filter(None, map(fault_in, _inside(value))), None)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, _PLAIN):
        return ()
    if isinstance(value, dict):
        return chain.from_iterable(cast("dict[object, object]", value).items())
    if isinstance(value, _COLLECTIONS):
        return cast("Iterable[object]", value)
    if isinstance(value, BaseMessage):
        return (fields(value),)
    return _inside_object(value)


def _inside_object(value: Any) -> Iterable[object]:
    for name in _ASKED:
        ask = getattr(value, name, None)
        if callable(ask):
            return (ask(),)
    if isinstance(value, BaseException):
        return (repr(value),)  # which is all that is stored of it
    return (getattr(value, name, None) for name in _attributes(value))


def _attributes(value: Any) -> Iterable[str]:
    for kind, names in _ATTRIBUTES.items():
        if isinstance(value, kind):
            return names
    if dataclasses.is_dataclass(value):
        return (field.name for field in dataclasses.fields(value))
    return value.__slots__ if isinstance(value, Item) else ()
