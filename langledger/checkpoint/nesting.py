"""Trees of dicts, parted into names, which are the same again and again, and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

__all__ = ["join", "split"]


def split(tree: Mapping[Any, Any], depth: int) -> tuple[list[Any], list[Any]]:
    """Part a tree of dicts, ``depth`` levels of them, into its keys and its values.

    Returns:
        The keys, a dict inside as ``[key, [keys]]``; and the values in the same order.
    """
    keys: list[Any] = []
    values: list[Any] = []
    for key, value in tree.items():
        if depth > 1 and type(value) is dict:
            inner, below = split(cast("dict[Any, Any]", value), depth - 1)
            keys.append([key, inner])
            values += below
        else:
            keys.append(key)
            values.append(value)
    return keys, values


def join(keys: Sequence[Any], values: Iterator[Any]) -> dict[Any, Any]:
    """Put together what :func:`split` parted."""
    tree: dict[Any, Any] = {}
    for key in keys:
        if isinstance(key, list):
            name, inner = cast("list[Any]", key)
            tree[name] = join(inner, values)
        else:
            tree[key] = next(values)
    return tree
