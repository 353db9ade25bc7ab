"""What may be recorded; a fault is named by its place, such as ``metadata['tags'][0]``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage, RemoveMessage

from langledger.arguments import check_whole, shown, unstorable
from langledger.entries.codec import dump_message, dump_value
from langledger.entries.compression import EXACT_JSON
from langledger.entries.inside import fields
from langledger.errors import ConfigurationError, SerializationError

__all__ = ["checked_facts", "checked_messages", "checked_tokens", "dumped"]

_DEEPEST_FACT = 100
# Deeper, exact JSON may be written by one caller and be too deep for another one's stack to read.
_DEEPEST_MESSAGE = 200
_LARGEST_BITS = 13_000  # Python reads back no number of more than 4,300 digits
_LIST = "messages must be a list of LangChain messages"


def checked_messages(messages: object) -> list[BaseMessage]:
    """Return what was given to be recorded as a list of messages.

    Dicts, pairs and strings are not converted: LangChain's conversion changes some of them
    (no content becomes an empty one), and an entry is what was given, unchanged.

    Raises:
        ConfigurationError: It is something else, or a removal, which is no message of a history.
    """
    given = type(messages).__name__
    if isinstance(messages, BaseMessage):
        raise ConfigurationError(f"{_LIST}, not a {given}: put it into a list")
    if isinstance(messages, (str, bytes, dict)) or not isinstance(messages, Iterable):
        raise ConfigurationError(f"{_LIST}, not a {given}")
    found = list(cast("Iterable[object]", messages))
    for index, message in enumerate(found):
        if not isinstance(message, BaseMessage):
            raise ConfigurationError(
                f"{_LIST}, but messages[{index}] is a {type(message).__name__}: convert them with "
                "langchain_core.messages.convert_to_messages first"
            )
        if isinstance(message, RemoveMessage):
            raise ConfigurationError(
                f"messages[{index}] is a RemoveMessage, an order to LangGraph and no message of "
                "the history: leave it out"
            )
    return cast("list[BaseMessage]", found)


def checked_tokens(tokens: Sequence[int] | None, messages: Sequence[BaseMessage]) -> None:
    """See that there is a size for each message, if there are sizes.

    Raises:
        ConfigurationError: There are more or fewer, or one is no size.
    """
    if tokens is None:
        return
    if len(tokens) != len(messages):
        raise ConfigurationError(f"tokens has {len(tokens)} sizes for {len(messages)} messages")
    for index, size in enumerate(tokens):
        check_whole(f"tokens[{index}]", size, most=2**31 - 1)


def checked_facts(name: str, facts: object) -> dict[str, Any]:
    """Return facts that come back from JSON as they went in; empty where there are none.

    Args:
        name: Of the argument, for the error.
        facts: A mapping or None.

    Raises:
        ConfigurationError: It is no mapping.
        SerializationError: It holds a value that JSON in PostgreSQL cannot carry.
    """
    if facts is None:
        return {}
    if not isinstance(facts, Mapping):
        raise ConfigurationError(f"{name} must be a mapping, not a {type(facts).__name__}")
    found = dict(cast("Mapping[str, Any]", facts))
    fault = _json_fault(found, name)
    if fault is not None:
        raise SerializationError(f"{fault}; nothing was recorded")
    return found


def _json_fault(value: object, place: str, depth: int = 0) -> str | None:
    if depth > _DEEPEST_FACT:
        return f"{place} is nested more than {_DEEPEST_FACT} deep, or holds itself"
    if isinstance(value, dict):
        for key, item in cast("dict[object, object]", value).items():
            fault = _key_fault(key, place) or _json_fault(item, _at(place, key), depth + 1)
            if fault is not None:
                return fault
        return None
    if isinstance(value, (list, tuple)):
        items = enumerate(cast("Sequence[object]", value))
        faults = (_json_fault(item, _at(place, index), depth + 1) for index, item in items)
        return next((fault for fault in faults if fault is not None), None)
    return _leaf_fault(value, place)


def _key_fault(key: object, place: str) -> str | None:
    if not isinstance(key, str):
        return f"{place} has the key {shown(key)}, and JSON knows only strings as keys"
    fault = unstorable(key)
    return None if fault is None else f"a key of {place} holds {fault}"


def _leaf_fault(value: object, place: str) -> str | None:
    if isinstance(value, str):
        fault = unstorable(value)
        return None if fault is None else f"{place} holds {fault}, which PostgreSQL cannot store"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{place} is {value}, which JSON does not know"
    if isinstance(value, int) and value.bit_length() > _LARGEST_BITS:
        return f"{place} is a number of too many digits"
    if value is None or isinstance(value, (bool, int, float)):
        return None
    return (
        f"{place} is of type {type(value).__name__}: give text, numbers, booleans, None, "
        "lists and dicts"
    )


def dumped(message: BaseMessage, place: str) -> tuple[str, bytes]:
    """Serialise a message as :func:`dump_message` does; what cannot be is named.

    Raises:
        SerializationError: The message holds a value that cannot be stored.
    """
    try:
        kind, payload = dump_message(message)
    except (SerializationError, RecursionError) as error:
        raise _refused(message, place, _value_fault(message, "") or str(error)) from error
    if kind == EXACT_JSON and _is_deep(message):
        raise _refused(message, place, f"it is nested more than {_DEEPEST_MESSAGE} deep")
    return kind, payload


def _refused(message: BaseMessage, place: str, fault: str) -> SerializationError:
    return SerializationError(
        f"{place}, {type(message).__name__}, cannot be stored: {fault}; nothing was recorded"
    )


def _is_deep(message: BaseMessage) -> bool:
    level: list[object] = [message]
    for _ in range(_DEEPEST_MESSAGE + 1):
        level = [item for outer in level for _, item in _inside(outer, "")]
    return bool(level)


def _value_fault(value: object, place: str, depth: int = 0) -> str | None:
    """Find what keeps a value from being serialised."""
    if depth > _DEEPEST_MESSAGE:
        top = place.partition("[")[0]
        return f"{top} is nested too deeply, more than {_DEEPEST_MESSAGE} levels, or holds itself"
    if _is_container(value):
        for inner, item in _inside(value, place):
            fault = _value_fault(item, inner, depth + 1)
            if fault is not None:
                return fault
        return None
    try:
        dump_value(value)
    except (SerializationError, RecursionError):
        return f"{place} is of type {type(value).__name__}, which cannot be serialised"
    return None


def _is_container(value: object) -> bool:
    return isinstance(value, (dict, list, tuple, set, frozenset, BaseMessage))


def _inside(value: object, place: str) -> Iterable[tuple[str, object]]:
    """Return what is in a container, each with its place."""
    if isinstance(value, BaseMessage):
        return [(f"{place}.{name}".lstrip("."), item) for name, item in fields(value).items()]
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return ((_at(place, key), item) for key, item in items)
    if _is_container(value):
        members = cast("Iterable[object]", value)
        return ((_at(place, index), item) for index, item in enumerate(members))
    return ()


def _at(place: str, key: object) -> str:
    # A place of many levels is not read by anybody.
    return f"{place}[{shown(key)}]" if len(place) < 200 else place
