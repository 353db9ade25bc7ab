"""Conditions on what is found, by name.

======================== ===========================================================
``role``, ``task_id``,    of the entry
``user_id``, ``thread_id``
``tag``                   requirement, preference, decision, definition, error, hypothesis, noise
``path``, ``function``,   named in the text
``class``, ``error``,
``language``, ``topic``,
``tool``
``symbol``                a function, class or error
``entry_id``, ``created_at``  compared: ``{"$gte": 10, "$lt": 20}``, ``[25, 29]``; the time is
                          when it was said, as an import knows it, else when it was recorded
``metadata.<key>``        what the caller gave when recording; compared as what it is, so that
                          10 is more than 9; of a list, whole or any of its members
======================== ===========================================================

A value asks for equality, a list for any of its members, a dict for comparisons with ``$eq``,
``$ne``, ``$gt``, ``$gte``, ``$lt``, ``$lte``, ``$in``.  A ``path`` matches whole or by its end:
``login.py`` and ``auth/login.py`` find ``src/auth/login.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from psycopg.sql import SQL, Composable, Composed, Identifier
from psycopg.types.json import Jsonb

from langledger.arguments import check_text, check_whole, shown, unstorable
from langledger.encryption import Spelled
from langledger.encryption.marks import InClear, Many
from langledger.entries.log import thread_key
from langledger.errors import ConfigurationError

__all__ = ["NAMES", "condition"]

_COLUMNS = {"role": "role", "task_id": "task_id", "user_id": "user_id"}
_FACTS = ("path", "function", "class", "error", "language", "topic", "tool")
_COMPARED = {"entry_id": "u.ref", "created_at": "coalesce(u.said_at, u.created_at)"}
NAMES = (*_COLUMNS, "thread_id", "tag", *_FACTS, "symbol", *_COMPARED, "metadata.<key>")
_OPERATORS = {"$eq": "=", "$ne": "<>", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it
_COMPARES = (
    "filter 'metadata.{path}' compares values in the database, where they are encrypted: "
    "filter by role, tag, task, user, path, symbol, topic or time, or look through the hits, whose "
    "metadata is decrypted"
)
# What the caller gave under a key, and the members where that is a list.
_GIVEN = SQL("(SELECT {0} UNION ALL SELECT jsonb_path_query({0}, '$[*]')) AS g (item)")
_ANY_OF = SQL("EXISTS (SELECT FROM {given} WHERE g.item = ANY({wanted}::jsonb[]))")
_HOLDS = SQL(
    "EXISTS (SELECT FROM {given} WHERE jsonb_typeof(g.item) = jsonb_typeof({wanted}::jsonb) "
    "AND g.item {order} {wanted}::jsonb)"
)
_ROLES = {"user": "human", "assistant": "ai"}


def condition(tenant: str, filters: Mapping[str, Any] | None) -> tuple[Composed, dict[str, Any]]:
    """Return a condition on the unit ``u``, beginning with AND, and its parameters.

    Raises:
        ConfigurationError: A name or an operator is unknown, or a value is of the wrong kind.
    """
    parts: list[Composable] = []
    params: dict[str, Any] = {}
    if filters is not None and not isinstance(filters, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
        raise ConfigurationError("filter must be a mapping such as {'role': 'tool'}")
    for place, (name, value) in enumerate((filters or {}).items()):
        check_text("a filter's name", name)
        built, values = _one(tenant, name, value, f"f{place}")
        parts.append(SQL(" AND ") + built)
        params.update(values)
    return Composed(parts), params


def _one(tenant: str, name: str, value: Any, key: str) -> tuple[Composable, dict[str, Any]]:
    if name in _COMPARED:
        return _compared(name, value, key)
    if name.startswith("metadata.") and len(name) > len("metadata."):
        return _given(name.removeprefix("metadata."), value, key)
    if name not in NAMES or name == "metadata.<key>":
        raise ConfigurationError(f"unknown filter {name!r}; the known ones are {', '.join(NAMES)}")
    wanted = _texts(name, value)
    if name in _COLUMNS:
        wanted = [_ROLES.get(text, text) for text in wanted] if name == "role" else wanted
        return _any(SQL("u.{}").format(Identifier(_COLUMNS[name])), key), {key: wanted}
    if name == "thread_id":
        keys = [thread_key(tenant, text) for text in wanted]
        return SQL("u.space = ANY({}::uuid[])").format(_param(key)), {key: keys}
    if name == "tag":
        return SQL("u.tags && {}::text[]").format(_param(key)), {key: wanted}
    return _named(name, wanted, key)


def _named(name: str, wanted: list[str], key: str) -> tuple[Composable, dict[str, Any]]:
    if name == "path":
        ends = ["%/" + _escaped(text) for text in wanted]
        return _path(key), {key: Many(map(Spelled, wanted)), f"{key}_ends": ends}
    kinds = ("function", "class", "error") if name == "symbol" else (name,)
    return _fact(kinds, key), {key: Many(map(Spelled, wanted))}


def _any(column: Composable, key: str) -> Composable:
    return SQL("{} = ANY({}::text[])").format(column, _param(key))


def _fact(kinds: Sequence[str], key: str) -> Composable:
    each = [SQL("u.metadata -> {} ?| {}::text[]").format(kind, _param(key)) for kind in kinds]
    return SQL("({})").format(SQL(" OR ").join(each))


def _path(key: str) -> Composable:
    return SQL(
        "EXISTS (SELECT FROM jsonb_array_elements_text(u.metadata -> 'path') AS p (name) "
        "WHERE p.name = ANY({}::text[]) OR p.name LIKE ANY({}::text[]))"
    ).format(_param(key), _param(f"{key}_ends"))


def _compared(name: str, value: Any, key: str) -> tuple[Composable, dict[str, Any]]:
    column = SQL(cast("Any", _COMPARED[name]))
    kind = SQL("timestamptz" if name == "created_at" else "bigint")
    parts: list[Composable] = []
    params: dict[str, Any] = {}
    for operator, bound in _operations(name, _listed(value), more=("$in",)).items():
        param = f"{key}_{len(params)}"
        if operator == "$in":
            params[param] = [_bound(name, member) for member in _members(name, bound)]
            parts.append(SQL("{} = ANY({}::{}[])").format(column, _param(param), kind))
            continue
        params[param] = _bound(name, bound)
        symbol = SQL(cast("Any", _OPERATORS[operator]))
        parts.append(SQL("{} {} {}::{}").format(column, symbol, _param(param), kind))
    return SQL(" AND ").join(parts), params


def _given(path: str, value: Any, key: str) -> tuple[Composable, dict[str, Any]]:
    """Compare JSON values: numbers as numbers, and never with a text."""
    item = SQL("(u.metadata -> 'given' -> {})").format(check_text("a filter's key", path))
    given = _GIVEN.format(item)
    parts: list[Composable] = []
    params: dict[str, Any] = {}
    for operator, bound in _operations(path, _listed(value), more=("$in",)).items():
        name = f"{key}_{len(params)}"
        if operator == "$in":
            values = [_json(path, member) for member in _members(f"metadata.{path}", bound)]
            params[name] = InClear(values, _COMPARES.format(path=path))
            parts.append(_ANY_OF.format(given=given, wanted=_param(name)))
            continue
        params[name] = InClear(_json(path, bound), _COMPARES.format(path=path))
        order = SQL(cast("Any", _OPERATORS[operator]))
        parts.append(_HOLDS.format(given=given, wanted=_param(name), order=order))
        if operator == "$ne":  # of a list no member may be that
            same = _HOLDS.format(given=given, wanted=_param(name), order=SQL("="))
            parts.append(SQL("NOT {}").format(same))
    return SQL(" AND ").join(parts), params


def _listed(value: Any) -> Any:
    """Return what a list asks for: any of its members."""
    many = isinstance(value, (list, tuple, set, frozenset))
    return {"$in": list(cast("Sequence[Any]", value))} if many else value


def _operations(name: str, value: Any, more: Sequence[str] = ()) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {"$eq": value}
    given = dict(cast("Mapping[str, Any]", value))
    unknown = [
        operator for operator in given if operator not in _OPERATORS and operator not in more
    ]
    if unknown or not given:
        fault = f"has {unknown[0]!r}" if unknown else "is empty"
        raise ConfigurationError(f"filter {name!r} {fault}; use {', '.join([*_OPERATORS, *more])}")
    return given


def _bound(name: str, bound: Any) -> int | datetime:
    kinds = (str, datetime) if name == "created_at" else (int,)
    if isinstance(bound, bool) or not isinstance(bound, kinds):
        expected = "a datetime or ISO text" if name == "created_at" else "a whole number"
        raise ConfigurationError(f"filter {name!r} must be compared with {expected}")
    if isinstance(bound, int):
        return check_whole(f"filter {name!r}", bound, least=-(2**63))
    try:
        moment = bound if isinstance(bound, datetime) else datetime.fromisoformat(bound)
    except ValueError:
        raise ConfigurationError(f"filter {name!r} is no ISO date or time") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _members(name: str, bound: Any) -> list[Any]:
    if not isinstance(bound, (list, tuple, set, frozenset)):
        raise ConfigurationError(f"$in of filter {name!r} must have a list")
    return list(cast("Sequence[Any]", bound))


def _json(name: str, value: Any) -> Jsonb:
    """Return a value as PostgreSQL's JSON, which has neither NaN nor NUL."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise ConfigurationError(
            f"filter 'metadata.{name}' must be compared with what JSON knows, not {shown(value)}"
        ) from None
    fault = unstorable(text) or ("a NUL character" if _NUL.search(text) else None)
    if fault is not None:
        raise ConfigurationError(
            f"filter 'metadata.{name}' holds {fault}, which nothing stored has"
        )
    return Jsonb(value)


def _texts(name: str, value: Any) -> list[str]:
    many = isinstance(value, (list, tuple, set, frozenset))
    items = list(cast("Sequence[object]", value)) if many else [value]
    return [check_text(f"filter {name!r}", item) for item in items]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _param(name: str) -> Composable:
    # Not a Placeholder: its text would be rendered with the schema, and is the same.
    return SQL(cast("Any", f"%({name})s"))
