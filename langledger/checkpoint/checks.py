"""What the arguments of a checkpointer must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from langgraph.checkpoint.serde.base import SerializerProtocol

from langledger.arguments import check_text, check_whole, shown, spelled
from langledger.database import AsyncDatabase, Database
from langledger.errors import ConfigurationError

__all__ = [
    "check_checkpoint",
    "check_database",
    "check_filter",
    "check_ids",
    "check_limit",
    "check_moment",
    "check_serde",
    "check_strategy",
]

_STRATEGIES = ("keep_latest", "delete")
_PARTS = frozenset(("id", "channel_values", "channel_versions"))


def check_database(value: object) -> Database | AsyncDatabase:
    """Return an open pool of ours.

    Raises:
        ConfigurationError: It is a DSN, or a connection or pool of psycopg's.
    """
    if not isinstance(value, Database | AsyncDatabase):
        raise ConfigurationError(
            f"a checkpointer takes an open Database or AsyncDatabase, not a {_kind(value)}: "
            "of a DSN make one with `with LedgerSaver.from_conn_string(dsn) as checkpointer:`"
        )
    return value


def check_ids(name: str, value: object) -> Sequence[str]:
    """Return several ids.

    Raises:
        ConfigurationError: It is one string, or nothing one can iterate over, or an id is unusable.
    """
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        raise ConfigurationError(f"{name} must be a sequence of ids, not one {_kind(value)}")
    ids = cast("Sequence[object]", value)
    each = f"each of {name}"
    return [check_text(each, spelled(each, item)) for item in ids]


def check_strategy(value: object) -> str:
    """Return a strategy of ``prune``.

    Raises:
        ConfigurationError: It is unknown.
    """
    if not isinstance(value, str) or value not in _STRATEGIES:
        raise ConfigurationError(
            f"strategy {shown(value)} is unknown: take one of {', '.join(_STRATEGIES)}"
        )
    return value


def check_moment(name: str, value: object) -> datetime:
    """Return a time that says in which zone it is.

    Raises:
        ConfigurationError: It does not, or is no time.
    """
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ConfigurationError(
            f"{name} must be a time with its zone: datetime.now(UTC) - timedelta(...)"
        )
    return value


def check_serde(value: object) -> SerializerProtocol | None:
    """Return a serialiser; None for LangGraph's.

    Raises:
        ConfigurationError: It is none, or a class in place of an object.
    """
    pairs = (("dumps_typed", "loads_typed"), ("dumps", "loads"))  # LangGraph adapts the latter
    fits = any(all(callable(getattr(value, name, None)) for name in pair) for pair in pairs)
    if value is None or (fits and not isinstance(value, type)):
        return cast("SerializerProtocol | None", value)
    what = f"the class {value.__name__}" if isinstance(value, type) else shown(value)
    raise ConfigurationError(
        f"serde must be a serialiser with dumps_typed and loads_typed, not {what}: "
        "EncryptedSerializer.from_pycryptodome_aes(key=...) makes one, None takes LangGraph's own"
    )


def check_filter(value: object) -> Mapping[str, Any]:
    """Return what metadata must hold; None for anything.

    Raises:
        ConfigurationError: It is no mapping.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"filter must be a dict of metadata, not a {_kind(value)}")
    return cast("Mapping[str, Any]", value)


def check_checkpoint(checkpoint: object, metadata: object, new_versions: object) -> None:
    """See that what is put is what LangGraph makes.

    Raises:
        ConfigurationError: It is none, or lacks its id or channels.
    """
    if not isinstance(checkpoint, Mapping) or not checkpoint.keys() >= _PARTS:
        raise ConfigurationError(
            f"a checkpoint is a dict with {', '.join(sorted(_PARTS))}, as LangGraph's "
            "empty_checkpoint() returns"
        )
    named = {"metadata": metadata, "new_versions": new_versions}
    named |= {name: checkpoint[name] for name in _PARTS - {"id"}}
    for name, value in named.items():
        if not isinstance(value, Mapping):
            raise ConfigurationError(f"{name} must be a dict, not {shown(value)}")


def check_limit(value: object) -> int | None:
    """Return how many to list at most; None for all, and none for less than none.

    Raises:
        ConfigurationError: It is no whole number.
    """
    return None if value is None else max(0, check_whole("limit", value, least=-(2**63)))


def _kind(value: object) -> str:
    return "string" if isinstance(value, str) else type(value).__name__
