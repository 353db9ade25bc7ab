"""Any JSON value to text that PostgreSQL's ``jsonb`` takes, and back unchanged. Pure.

``jsonb`` refuses NUL characters and halves of surrogate pairs, and gives large floats back
as integers. Such characters are written as a mark and four hexadecimal digits, so that
equal values stay equal for filters; such floats are written in full with a decimal point.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, cast

from langledger.arguments import shown
from langledger.errors import SerializationError

__all__ = ["dump_json", "escaped", "load_json", "restored"]

_MARK = "\ufdd0"  # a noncharacter: valid in UTF-8, and in nobody's text
# With the sign of ciphertexts, so that no value in clear looks like one.
_UNSTORABLE = re.compile(f"[\x00\x1a\ud800-\udfff{_MARK}]")
_WRITTEN = re.compile(f"{_MARK}([0-9a-f]{{4}})")
_DEEPEST = 200


def dump_json(value: object, place: str = "value") -> str:
    """Return a value as JSON text.

    Args:
        value: Text, numbers, booleans, None, and lists, tuples and mappings of these.
        place: What it is, for the error.

    Raises:
        SerializationError: JSON does not know a part of it; the error names the place.
    """
    return _dumped(value, place, 0)


def load_json(text: str) -> Any:
    """Return the value that :func:`dump_json` wrote."""
    return restored(json.loads(text))


def restored(value: Any) -> Any:
    """Return the value of stored JSON that was read already."""
    if isinstance(value, str):
        return _WRITTEN.sub(_character, value) if _MARK in value else value
    if isinstance(value, list):
        return [restored(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        return {restored(key): restored(item) for key, item in items.items()}
    return value


def escaped(text: str) -> str:
    """Return text as it stands in the stored JSON."""
    return _UNSTORABLE.sub(lambda found: f"{_MARK}{ord(found.group()):04x}", text)


def _character(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


def _dumped(value: object, place: str, depth: int) -> str:
    if depth > _DEEPEST:
        raise SerializationError(f"{place[:80]} is nested more than {_DEEPEST} deep")
    if isinstance(value, str):
        return json.dumps(escaped(value), ensure_ascii=False)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return _number(value, place)
    if isinstance(value, Mapping):
        return _object(cast("Mapping[object, object]", value), place, depth)
    if isinstance(value, (list, tuple)):
        items = enumerate(cast("list[object]", value))
        parts = (_dumped(item, f"{place}[{index}]", depth + 1) for index, item in items)
        return f"[{','.join(parts)}]"
    raise SerializationError(
        f"{place} is of type {type(value).__name__}, which JSON does not know: give text, "
        "numbers, booleans, None, lists and dicts"
    )


def _object(value: Mapping[object, object], place: str, depth: int) -> str:
    parts: list[str] = []
    for key, item in value.items():
        if not isinstance(key, str):
            raise SerializationError(f"{place} has the key {shown(key)}: JSON knows only strings")
        name = json.dumps(escaped(key), ensure_ascii=False)
        parts.append(f"{name}:{_dumped(item, f'{place}[{key!r:.40}]', depth + 1)}")
    return f"{{{','.join(parts)}}}"


def _number(value: float, place: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise SerializationError(f"{place} is {value}, which JSON does not know")
    try:
        text = json.dumps(value)
    except ValueError as error:  # Python writes no integer of more than 4,300 digits
        raise SerializationError(f"{place} is a number of too many digits") from error
    return f"{value:.1f}" if isinstance(value, float) and "e+" in text else text
