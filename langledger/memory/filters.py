"""A filter of the store as an SQL condition: what a value must hold. Pure.

A missing field is None, as in LangGraph's own store in memory. Order is that of numbers
among numbers and of characters among strings; a value of another kind never matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString, cast

from psycopg.sql import SQL, Composable, Composed, Placeholder

from langledger.errors import ConfigurationError
from langledger.memory.values import dump_json, escaped

__all__ = ["Condition", "condition_of"]

_ORDERS: dict[str, LiteralString] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
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
    return condition


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
            f"unknown operator {operator!r:.50} in a filter; the known ones are {_OPERATORS}"
        )


def _name(field: object) -> str:
    if not isinstance(field, str):
        raise ConfigurationError(f"a field of a filter must be a string, not {field!r:.50}")
    return escaped(field)
