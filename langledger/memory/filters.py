"""A filter of the store: what a value must hold, as an SQL condition and in Python. Pure.

A missing field is None, as in LangGraph's own store in memory. Order is that of numbers
among numbers and of characters among strings; a value of another kind never matches.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, LiteralString, cast

from psycopg.sql import SQL, Composable, Composed, Placeholder

from langledger.arguments import shown
from langledger.encryption.marks import InClear
from langledger.errors import ConfigurationError
from langledger.memory.values import dump_json, escaped

__all__ = ["Condition", "condition_of", "meets"]

_ORDERS: dict[str, LiteralString] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_SEALED = "values cannot be compared in the database where they are encrypted"
_OPERATORS = "$eq, $ne, $gt, $gte, $lt, $lte"
_DEEPEST = 50

_IS = SQL("coalesce(i.value #> {path}, 'null') = {wanted}::jsonb")
_IS_NOT = SQL("coalesce(i.value #> {path}, 'null') <> {wanted}::jsonb")
_IS_OF = SQL("coalesce(jsonb_typeof(i.value #> {path}), '') = {kind}")
_ORDERED_NUMBER = SQL(
    "coalesce(jsonb_typeof(i.value #> {path}) = 'number' "
    "AND i.value #> {path} {order} {wanted}::jsonb, false)"
)
_ORDERED_TEXT = SQL(
    "coalesce(jsonb_typeof(i.value #> {path}) = 'string' "
    'AND (i.value #>> {path}) COLLATE "C" {order} {wanted}, false)'
)
_LENGTH = SQL(
    "CASE WHEN jsonb_typeof(i.value #> {path}) = 'array' "
    "THEN jsonb_array_length(i.value #> {path}) = {wanted} ELSE false END"
)


class Condition:
    """Parts of a WHERE clause on ``store_item AS i``, and their parameters."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self._parts: list[Composable] = []

    def sql(self) -> Composed:
        """Return the parts joined by AND; true where there are none."""
        return SQL(" AND ").join(self._parts or [SQL("true")])

    def add(self, form: SQL, /, **values: Any) -> None:
        """Add a part; values that are no SQL become parameters."""
        self._parts.append(form.format(**{name: self._bound(v) for name, v in values.items()}))

    def _bound(self, value: Any) -> Composable:
        if isinstance(value, Composable):
            return value
        name = f"f{len(self.params)}"
        self.params[name] = value
        return Placeholder(name)


def condition_of(wanted: object) -> Condition:
    """Return the condition a filter stands for.

    Args:
        wanted: None, or a mapping of fields to values, to mappings of operators
            (``{"$gte": 3}``), or to mappings of inner fields.

    Raises:
        ConfigurationError: It is no mapping, or holds an operator or operand that is unknown.
    """
    condition = Condition()
    if wanted is None:
        return condition
    if not isinstance(wanted, Mapping):
        raise ConfigurationError(f"filter must be a mapping, not a {type(wanted).__name__}")
    for field, value in cast("Mapping[object, object]", wanted).items():
        _add(condition, [_name(field)], value)
    condition.params = {name: InClear(v, _SEALED) for name, v in condition.params.items()}
    return condition


def meets(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tell whether a value holds what a filter wants: what :func:`condition_of` says in SQL.

    Args:
        value: JSON as it was put.
        wanted: A filter that :func:`condition_of` took; at its top, any name is a field's.
    """
    return all(_meets(value.get(field), inner) for field, inner in wanted.items())


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        fields = cast("Mapping[str, Any]", wanted)
        if any(field.startswith("$") for field in fields):
            return all(_holds(value, sign, operand) for sign, operand in fields.items())
        return isinstance(value, dict) and meets(cast("dict[str, Any]", value), fields)
    if isinstance(wanted, (list, tuple)):
        items = cast("Sequence[Any]", wanted)
        return (
            isinstance(value, list)
            and len(cast("list[Any]", value)) == len(items)
            and all(map(_meets, cast("list[Any]", value), items))
        )
    return _equal(value, wanted)


def _add(condition: Condition, path: list[str], wanted: object) -> None:
    if len(path) > _DEEPEST:
        raise ConfigurationError(f"filter is nested more than {_DEEPEST} deep")
    if isinstance(wanted, Mapping):
        fields = cast("Mapping[object, object]", wanted)
        if any(isinstance(field, str) and field.startswith("$") for field in fields):
            for operator, operand in fields.items():
                _add_operator(condition, path, operator, operand)
            return
        condition.add(_IS_OF, path=path, kind="object")
        for field, value in fields.items():
            _add(condition, [*path, _name(field)], value)
    elif isinstance(wanted, (list, tuple)):
        items = cast("Sequence[object]", wanted)
        condition.add(_LENGTH, path=path, wanted=len(items))
        for index, value in enumerate(items):
            _add(condition, [*path, str(index)], value)
    else:
        condition.add(_IS, path=path, wanted=dump_json(wanted, "filter"))


def _add_operator(condition: Condition, path: list[str], operator: object, operand: object) -> None:
    if operator == "$eq":
        condition.add(_IS, path=path, wanted=dump_json(operand, "filter"))
    elif operator == "$ne":
        condition.add(_IS_NOT, path=path, wanted=dump_json(operand, "filter"))
    elif isinstance(operator, str) and operator in _ORDERS:
        order = SQL(_ORDERS[operator])
        if isinstance(operand, str):
            condition.add(_ORDERED_TEXT, path=path, order=order, wanted=escaped(operand))
        elif isinstance(operand, (int, float)) and not isinstance(operand, bool):
            wanted = dump_json(operand, "filter")
            condition.add(_ORDERED_NUMBER, path=path, order=order, wanted=wanted)
        else:
            raise ConfigurationError(
                f"{operator} in a filter compares numbers or strings, not a "
                f"{type(operand).__name__}"
            )
    else:
        raise ConfigurationError(
            f"unknown operator {shown(operator)} in a filter; the known ones are {_OPERATORS}"
        )


def _holds(value: Any, sign: str, operand: Any) -> bool:
    if sign in ("$eq", "$ne"):
        return _equal(value, operand) == (sign == "$eq")
    compared = _COMPARED[sign]
    if isinstance(operand, str):
        return isinstance(value, str) and compared(escaped(value), escaped(operand))
    return _is_number(value) and compared(value, operand)


def _equal(one: Any, other: Any) -> bool:
    """Tell whether JSON has two values for the same: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        ours, theirs = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
        return ours.keys() == theirs.keys() and all(_equal(ours[k], theirs[k]) for k in ours)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        pair = cast("Sequence[Any]", one), cast("Sequence[Any]", other)
        return len(pair[0]) == len(pair[1]) and all(map(_equal, *pair))
    if _is_number(one) and _is_number(other):
        return one == other
    return isinstance(one, (str, bool, type(None))) and type(one) is type(other) and one == other


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _name(field: object) -> str:
    if not isinstance(field, str):
        raise ConfigurationError(f"a field of a filter must be a string, not {shown(field)}")
    return escaped(field)
