"""Stored messages of LangChain's own classes back to objects, quickly.

LangGraph's serialiser gives the stored fields to the class, which checks and copies each of them:
more than half of what reading a long thread takes. The fields of an ordinary message pass that
unchanged, so they are put in place as they are. What is not plainly ordinary is left to the
serialiser, and so is a class that has other fields than those known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NoReturn, TypeAlias, cast

import ormsgpack
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata

__all__ = ["revived"]

# Tells whether a class would leave a field's value, whose type is right, as it is.
_Check: TypeAlias = Callable[[Any], bool]

_CLASSES = {
    (kind.__module__, kind.__name__): kind
    for kind in (HumanMessage, AIMessage, ToolMessage, SystemMessage)
}
# The forms of msgpack's extensions, with the bytes that their length takes.
_LENGTHS = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_PYDANTIC = b"\x05"  # LangGraph's number for a pydantic model

_new = cast("Callable[[type[BaseMessage]], BaseMessage]", object.__new__)
_set = object.__setattr__  # pydantic's own would check the value


def revived(payload: bytes) -> BaseMessage | None:
    """Return the message that LangGraph's serialiser makes of this msgpack.

    Returns:
        None if it is no message, or not so ordinary that its class would change nothing.
    """
    length = _LENGTHS.get(payload[0]) if payload else None
    if length is None or payload[1 + length : 2 + length] != _PYDANTIC:
        return None
    try:
        module, name, fields, _ = ormsgpack.unpackb(
            payload[2 + length :], ext_hook=_not_plain, option=ormsgpack.OPT_NON_STR_KEYS
        )
        kind = _CLASSES[module, name]
        checks = _checks(kind, tuple(fields), tuple(map(type, fields.values())))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    if checks is None:
        return None
    for field, check in checks:
        if not check(fields[field]):
            return None
    message = _new(kind)
    _set(message, "__dict__", fields)
    _set(message, "__pydantic_extra__", {})
    _set(message, "__pydantic_fields_set__", set(fields))
    _set(message, "__pydantic_private__", None)
    return message


def _not_plain(code: int, data: bytes) -> NoReturn:
    del code, data
    raise ValueError("an object inside, for the serialiser to make")


@lru_cache(maxsize=1024)
def _checks(
    kind: type[BaseMessage], fields: tuple[str, ...], types: tuple[type, ...]
) -> tuple[tuple[str, _Check], ...] | None:
    """Return what is still to be checked of values of these types; None if they will not do."""
    if fields != _fields_of(kind):
        return None
    checks = {"type": kind.model_fields["type"].default.__eq__}
    for field, value_type in zip(fields, types, strict=True):
        known = _TYPES.get(field, {}) if field != "artifact" else {value_type: None}
        if value_type not in known:
            return None
        check = known[value_type]
        if check is not None:
            checks[field] = check
    return tuple(checks.items())


def _fields_of(kind: type[BaseMessage]) -> tuple[str, ...] | None:
    """Return the fields of a class; None if its messages hold anything beside them."""
    sample = kind(content="", **({"tool_call_id": ""} if kind is ToolMessage else {}))
    plain = sample.__pydantic_private__ is None and sample.__pydantic_extra__ == {}
    return tuple(sample.__dict__) if plain else None


def _has_plain_parts(content: list[Any]) -> bool:
    return all(type(part) in {str, dict} for part in content)


def _has_no_calls(further: dict[Any, Any]) -> bool:
    """Tell whether LangChain finds no tool calls here, which it would take over."""
    return "tool_calls" not in further


def _are_tool_calls(calls: list[Any]) -> bool:
    return all(type(call) is dict and _is_tool_call(cast("dict[Any, Any]", call)) for call in calls)


def _is_tool_call(call: dict[Any, Any]) -> bool:
    return (
        list(call) == ["name", "args", "id", "type"]
        and call["type"] == "tool_call"
        and type(call["name"]) is str
        and type(call["args"]) is dict
        and all(type(key) is str for key in cast("dict[Any, Any]", call["args"]))
        and type(call["id"]) in {str, type(None)}
    )


def _is_usage(usage: dict[Any, Any]) -> bool:
    """Tell whether all is numbers, under the names and in the order that LangChain knows."""
    if list(usage) != [name for name in _USAGE if name in usage] or not usage.keys() >= _REQUIRED:
        return False
    for name, value in usage.items():
        details = _USAGE[name]
        if not details:
            if type(value) is not int:
                return False
        elif type(value) is not dict or not _is_counts(cast("dict[Any, Any]", value), details):
            return False
    return True


def _is_counts(counts: dict[Any, Any], names: Sequence[str]) -> bool:
    return list(counts) == [name for name in names if name in counts] and all(
        type(number) is int for number in counts.values()
    )


_USAGE: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(UsageMetadata.__annotations__, ()),
    "input_token_details": list(InputTokenDetails.__annotations__),
    "output_token_details": list(OutputTokenDetails.__annotations__),
}
_REQUIRED = frozenset({"input_tokens", "output_tokens", "total_tokens"})


_TEXT_OR_NONE: Mapping[type, _Check | None] = {str: None, type(None): None}
# By field and type of its value; None where the type is enough.
_TYPES: Mapping[str, Mapping[type, _Check | None]] = {
    "content": {str: None, list: _has_plain_parts},
    "additional_kwargs": {dict: _has_no_calls},
    "response_metadata": {dict: None},
    "type": {str: None},
    "name": _TEXT_OR_NONE,
    "id": _TEXT_OR_NONE,
    "tool_calls": {list: _are_tool_calls},
    "invalid_tool_calls": {list: lambda calls: not calls},
    "usage_metadata": {dict: _is_usage, type(None): None},
    "tool_call_id": {str: None},
    "status": {str: {"success", "error"}.__contains__},
}
