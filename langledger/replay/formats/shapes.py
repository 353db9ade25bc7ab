"""Checks on parsed JSON: what a record must hold, and one clear error where it does not."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

from pydantic import ValidationError

__all__ = [
    "Content",
    "Json",
    "ShapeError",
    "at",
    "content_of",
    "first_problem",
    "items",
    "known",
    "mapping",
    "optional_mapping",
    "optional_text",
    "text",
]

Json: TypeAlias = dict[str, Any]
Content: TypeAlias = str | list[str | Json]


class ShapeError(Exception):
    """A record does not have the shape its format promises. Becomes a SessionFileError."""

    def __init__(self, where: str, expected: str, found: object) -> None:
        super().__init__(f"expected {expected} at {where}, found {_describe(found)}")


class _PlacedError(ShapeError):
    """A ShapeError with the place of its record in a larger document."""

    def __init__(self, place: str, error: Exception) -> None:
        Exception.__init__(self, f"{place}: {error}")


@contextmanager
def at(place: str) -> Generator[None]:
    """Name the place in a document that an error inside comes from."""
    try:
        yield
    except ShapeError as error:
        raise _PlacedError(place, error) from error
    except ValidationError as error:
        raise _PlacedError(place, ValueError(first_problem(error))) from error


def first_problem(error: ValidationError) -> str:
    """Return the first complaint of pydantic, in one line."""
    problem = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in problem["loc"]) or error.title
    return f"{where}: {problem['msg']}"


def _describe(found: object) -> str:
    match found:
        case None:
            return "nothing"
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            return json.dumps(found, ensure_ascii=True)[:60]


def mapping(record: Json, key: str) -> Json:
    """Return the object at ``key``.

    Raises:
        ShapeError: It is missing or something else.
    """
    value = record.get(key)
    if not isinstance(value, dict):
        raise ShapeError(key, "an object", value)
    return cast("Json", value)


def optional_mapping(record: Json, key: str) -> Json:
    """Return the object at ``key``, or an empty one where there is none."""
    value = record.get(key)
    return cast("Json", value) if isinstance(value, dict) else {}


def text(record: Json, key: str) -> str:
    """Return the text at ``key``.

    Raises:
        ShapeError: It is missing or something else.
    """
    value = record.get(key)
    if not isinstance(value, str):
        raise ShapeError(key, "text", value)
    return value


def optional_text(record: Json, key: str) -> str | None:
    """Return the text at ``key``, or None where there is none."""
    value = record.get(key)
    return value if isinstance(value, str) and value else None


def items(record: Json, key: str) -> list[Json]:
    """Return the list of objects at ``key``; a missing one is empty.

    Raises:
        ShapeError: It is not a list, or an element is not an object.
    """
    value = record.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ShapeError(key, "a list", value)
    for position, element in enumerate(cast("list[Any]", value)):
        if not isinstance(element, dict):
            raise ShapeError(f"{key}[{position}]", "an object", element)
    return cast("list[Json]", value)


def content_of(record: Json, key: str = "content") -> Content:
    """Return a message's content: text, or a list of text and blocks; missing is empty.

    Raises:
        ShapeError: It is neither.
    """
    value = record.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ShapeError(key, "text or a list of blocks", value)
    for position, block in enumerate(cast("list[Any]", value)):
        if not isinstance(block, str | dict):
            raise ShapeError(f"{key}[{position}]", "text or a block", block)
        if isinstance(block, dict):
            _check_block(cast("Json", block), f"{key}[{position}]")
    return cast("Content", value)


def _check_block(block: Json, where: str) -> None:
    """Refuse a text block without text: LangChain and everything after rely on it."""
    if block.get("type") in ("text", "input_text", "output_text"):
        with at(where):
            text(block, "text")


def known(**values: Any) -> Json:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}
