"""Shallow copies of messages, quickly: a thread has thousands."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import TypeVar, cast

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

__all__ = ["twin_of"]

M = TypeVar("M", bound=BaseMessage)

_new = cast("Callable[[type[BaseMessage]], BaseMessage]", object.__new__)
_set = object.__setattr__  # pydantic's own would check the value


def twin_of(message: M) -> M:
    """Return a shallow copy, as ``copy.copy`` makes it.

    What pydantic's ``__copy__`` does is done here, where a message class has not replaced it: it
    is most of the time that reading a long thread takes.
    """
    if not _copies_plainly(type(message)) or getattr(message, "__pydantic_private__", None):
        return copy.copy(message)
    twin = _new(type(message))
    _set(twin, "__dict__", message.__dict__.copy())
    extra = message.__pydantic_extra__
    _set(twin, "__pydantic_extra__", None if extra is None else extra.copy())
    _set(twin, "__pydantic_fields_set__", message.__pydantic_fields_set__.copy())
    _set(twin, "__pydantic_private__", None)
    return cast("M", twin)


@cache
def _copies_plainly(kind: type[BaseMessage]) -> bool:
    return kind.__copy__ is BaseModel.__copy__
