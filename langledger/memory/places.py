"""Where items of the store are: namespaces, keys, and what lies below a prefix. Pure."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any, cast
from uuid import UUID

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
    validate_op_namespace,
)
from psycopg.sql import SQL

from langledger.arguments import check_text, shown, unstorable
from langledger.encryption import Hashed
from langledger.errors import ConfigurationError
from langledger.memory.filters import Condition

__all__ = [
    "FACTS",
    "below",
    "check_namespace",
    "check_operation",
    "dotted",
    "item_id",
    "key_in",
    "matching",
    "place_of",
]

FACTS = "facts"
"""First label of the namespaces of users' facts."""
_LONGEST_PLACE = 1900  # bytes; with the tenant it must fit an index's 2,704

_AT_LEAST = SQL("cardinality(i.namespace) >= {wanted}")
_FROM_START = SQL("i.namespace[{at}] = {wanted}")
_FROM_END = SQL("i.namespace[cardinality(i.namespace) - {at}] = {wanted}")


def check_operation(op: object) -> Op:
    """Return an operation whose labels can be told apart and stored.

    Raises:
        InvalidNamespaceError: A label is empty, no string, or holds a period or NUL.
        ConfigurationError: It is no operation of a store, a namespace is no tuple of labels, or
            one holds what PostgreSQL cannot store.
    """
    if not isinstance(op, (GetOp, SearchOp, PutOp, ListNamespacesOp)):
        raise ConfigurationError(
            f"a batch holds GetOp, SearchOp, PutOp and ListNamespacesOp, not {shown(op)}"
        )
    for namespace in _namespaces(op):
        check_namespace(namespace)
    validate_op_namespace(op)
    for label in chain.from_iterable(_namespaces(op)):
        fault = unstorable(label)
        if fault is not None:
            raise ConfigurationError(f"the namespace label {label!r:.50} holds {fault}")
    return op


def check_namespace(namespace: object) -> None:
    """See that a namespace is a tuple of strings: a string would be one label a character.

    Raises:
        ConfigurationError: It is none.
        InvalidNamespaceError: One of its labels is no string.
    """
    if not isinstance(namespace, (tuple, list)):
        raise ConfigurationError(
            f"a namespace must be a tuple such as ('users', 'ada'), not {shown(namespace)}"
        )
    for label in cast("Sequence[object]", namespace):
        if not isinstance(label, str):  # LangGraph's message would show all of it
            raise InvalidNamespaceError(
                f"each label of a namespace must be a string, not {shown(label)}"
            )


def place_of(namespace: tuple[str, ...], key: object) -> tuple[str, str]:
    """Return namespace and key as the statements take them.

    Raises:
        ConfigurationError: The key is none, or both together are too long for an index.
    """
    checked = check_text("key", key, empty=True)
    size = sum(len(label.encode()) + 8 for label in namespace) + len(checked.encode())
    if size > _LONGEST_PLACE:
        raise ConfigurationError(
            f"namespace and key take {size} bytes, and {_LONGEST_PLACE} are the most: keep long "
            "text in the value"
        )
    return dotted(namespace), checked


def dotted(namespace: tuple[str, ...]) -> str:
    """Return a namespace as one text; labels hold no period."""
    return ".".join(namespace)


def item_id(namespace: str, key: str) -> Hashed:
    """Return the 16-byte number of the item at a place."""
    digest = _digest(namespace, key)
    return Hashed(UUID(bytes=digest), digest, lambda name: UUID(bytes=name))


def key_in(namespace: str, key: str) -> Hashed:
    """Return the key of the item at a place; hashed, equal keys of two namespaces differ."""
    return Hashed(key, _digest(namespace, key), _as_key)


def _digest(namespace: str, key: str) -> bytes:
    return blake2b(f"{namespace}\x00{key}".encode(), digest_size=16).digest()


def _as_key(name: bytes) -> str:
    return base64.urlsafe_b64encode(name).decode().rstrip("=")


def below(prefix: tuple[str, ...]) -> dict[str, Any]:
    """Return the bounds of all namespaces that begin with a prefix; None for no bounds."""
    if not prefix:
        return {"low": None, "high": None}
    # Nothing stands between a text and the same with the lowest character after it.
    return {"low": list(prefix), "high": [*prefix[:-1], prefix[-1] + "\x01"]}


def matching(op: ListNamespacesOp) -> Condition:
    """Return the condition that namespaces must meet, ``*`` standing for any label."""
    condition = Condition()
    for match in op.match_conditions or ():
        _add(condition, match)
    return condition


def _add(condition: Condition, match: MatchCondition) -> None:
    if match.match_type not in ("prefix", "suffix"):
        raise ConfigurationError(
            f"namespaces are matched by prefix or suffix, not {shown(match.match_type)}"
        )
    path = match.path
    condition.add(_AT_LEAST, wanted=len(path))
    for index, label in enumerate(path):
        if label == "*":
            continue
        if match.match_type == "prefix":
            condition.add(_FROM_START, at=index + 1, wanted=label)
        else:
            condition.add(_FROM_END, at=len(path) - 1 - index, wanted=label)


def _namespaces(op: Op) -> list[tuple[str, ...]]:
    if isinstance(op, ListNamespacesOp):
        return [match.path for match in op.match_conditions or ()]
    return [op.namespace_prefix if isinstance(op, SearchOp) else op.namespace]
