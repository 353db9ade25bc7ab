"""Every statement of the package, to be looked at and explained without running it.

The statements are those of all ``queries.sql`` that touch tables of ours. Where Python puts
parts into one, the smallest part that fits stands there: it decides nothing about where a
statement runs, which is what they are read for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from langledger.database.queries import parse_queries

__all__ = ["all_statements", "numbered"]

_PARAMETER = re.compile(r"%\((\w+)\)[sb]|%%")
_HOLE = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")
_STATEMENT = re.compile(r"\(?(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
# Parts of the others.
_NO_STATEMENT = frozenset(
    {"recall.near_scored", "recall.vector_of", "repository.some", "rotation.occurrence"}
)
# The table t of a condition that stands alone, where it is not this one.
_TABLES = {
    "forget.quoting_items": "brought",
    "forget.units_of_items": "store_unit",
}
_PARTS: Mapping[str, Mapping[str, str]] = {
    "forget": {
        "condition": "true",
        "counts": "SELECT 'entry', 0",
        "name": "'entry'",
        "table": "entry",
    },
    "memory": {"condition": "true", "similarity": "0::float8"},
    "recall": {
        "body": "1",
        "condition": "",
        "context": "0",
        "cosine": "v.embedding::text",
        "counts": "count(*)::float8 AS d0",
        "near_scored": "SELECT * FROM scored",
        "space_of_scope": "true",
        "space_of_unit": "u.is_entry",
        "space_of_vector": "v.is_entry",
        "weight": "ARRAY[w.w0]",
        "weights": "c.d0 AS w0",
        "wholes": "0",
        "words": "1",
    },
    "rotation": {
        "after": "true",
        "assignments": "tokens = 0",
        "columns": "t.seq",
        "found": "t.seq = 1",
        "key": "t.seq",
        "table": "entry",
    },
    "repository": {"has": "1", "in_path": "0", "some": "", "within": ""},
}


def all_statements(schema: str = "langledger") -> dict[str, str]:
    """Return the statements that touch the schema's tables, by ``feature.name``.

    Args:
        schema: Quoted as it is to stand in them, where that is needed.

    Returns:
        SQL with psycopg's named parameters.
    """
    found: dict[str, str] = {}
    for feature, queries in _files(files("langledger"), ""):
        for name, sql in queries.items():
            label = f"{feature}.{name}"
            if "{schema}" in sql and label not in _NO_STATEMENT:
                filled = _filled(feature, sql, queries, schema)
                found[label] = (
                    filled if _STATEMENT.match(filled) else _selecting(label, filled, schema)
                )
    return found


def numbered(sql: str) -> tuple[str, list[str]]:
    """Return a statement with ``$1, $2, ...`` in place of its named parameters, and the names."""
    names: list[str] = []

    def place(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "%"
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return _PARAMETER.sub(place, sql), names


def _files(folder: Traversable, path: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.is_dir() and entry.name != "migrations":
            yield from _files(entry, f"{path}.{entry.name}" if path else entry.name)
        elif path and entry.name.endswith(".sql"):
            yield path, parse_queries(entry.read_text(encoding="utf-8"))


def _filled(feature: str, sql: str, queries: Mapping[str, str], schema: str) -> str:
    parts = {
        "schema": schema,
        "units": f"{schema}.recall_unit",
        **_PARTS.get(feature.partition(".")[0], {}),
    }

    def put(match: re.Match[str]) -> str:
        name = match[1]
        if name in {"near", "vector_of"}:
            part = queries["near_all" if name == "near" else name]
            return _filled(feature, part, queries, schema)
        return parts.get(name, match[0])  # braces of a literal, such as a path in JSON

    text = _HOLE.sub(put, sql)
    if "{{schema}}" in text:  # the rest of a text for format
        text = text.replace("{{schema}}", schema).replace("{{", "{").replace("}}", "}")
    return text


def _selecting(label: str, condition: str, schema: str) -> str:
    """Return a statement around a condition on a table ``t``."""
    table = _TABLES.get(label, "thread")
    return f"SELECT FROM {schema}.{table} t WHERE t.tenant = %(tenant)s AND {condition}"
