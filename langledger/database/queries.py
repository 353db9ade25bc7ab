"""Named statements, kept in one ``queries.sql`` beside the feature that uses them.

::

    -- name: history
    -- The entries of a thread, oldest first.
    SELECT seq, body FROM {schema}.entry
     WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s ORDER BY seq

Tables are written ``{schema}.table``, in the text of an ``SQL(...).format`` with doubled
braces. The pool puts its schema there, so that no statement depends on a
``search_path``, which PgBouncer in transaction mode would share between its clients. A
percent sign of SQL itself is written ``%%``. Lines that are comments are dropped, so
they may say anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import LiteralString, cast

from psycopg.sql import SQL, Composable, Composed, Identifier

from langledger.arguments import check_text
from langledger.errors import ConfigurationError

__all__ = ["Renderer", "load_queries", "parse_queries"]

_HEADER = re.compile(r"^--[ \t]*name:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*--.*\n?", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_PLACEHOLDER = "{schema}"


def load_queries(package: str, name: str = "queries.sql") -> Mapping[str, LiteralString]:
    """Read the named statements of a feature.

    Args:
        package: Import name of the package that holds ``queries.sql``; mostly ``__package__``.
        name: Of the file, where a feature has more than one.

    Returns:
        Name to SQL, as it stands, for ``Query`` or ``fetch``.

    Raises:
        ValueError: For a bad or repeated name, or text before the first name.
    """
    return parse_queries(files(package).joinpath(name).read_text(encoding="utf-8"))


def parse_queries(text: str) -> Mapping[str, LiteralString]:
    """Split the text of a ``queries.sql``; see :func:`load_queries`."""
    head, *rest = _HEADER.split(text)
    if any(line.strip() and not line.startswith("--") for line in head.splitlines()):
        raise ValueError("queries.sql has a statement before its first '-- name:' line")
    found: dict[str, LiteralString] = {}
    for name, sql in zip(rest[::2], rest[1::2], strict=True):
        if not _NAME.fullmatch(name) or name in found:
            raise ValueError(f"queries.sql has a bad or repeated name: {name!r}")
        # psycopg takes literal strings only; a file of the package is one, for all it wants.
        found[name] = cast("LiteralString", _COMMENT.sub("", sql).strip().removesuffix(";"))
    return found


class Renderer:
    """Puts a schema into statements; what was rendered once is kept.

    Attributes:
        quoted: The schema as it stands in them.

    Raises:
        ConfigurationError: When the schema is no plain identifier of up to 63 characters.
    """

    def __init__(self, schema: str) -> None:
        if not _SCHEMA.fullmatch(check_text("schema", schema)):
            raise ConfigurationError(
                f"schema {schema!r} is not usable: take letters, digits and _, at most 63 of them"
            )
        self.quoted = Identifier(schema).as_string()
        self._rendered: dict[str, bytes] = {}

    def render(self, sql: str | Composed) -> bytes | Composed:
        """Return the statement with ``{schema}`` replaced.

        Only SQL text is touched, never an identifier or a value of a composed statement.
        """
        if isinstance(sql, Composed):
            return Composed([self._part(part) for part in _joined(sql)])
        rendered = self._rendered.get(sql)
        if rendered is None:
            rendered = self._rendered[sql] = self._put(sql).encode()
        return rendered

    def _part(self, part: Composable) -> Composable:
        if isinstance(part, SQL):
            return SQL(cast("LiteralString", self._put(part.as_string())))
        return part

    def _put(self, sql: str) -> str:
        return sql.replace(_PLACEHOLDER, self.quoted)


def _joined(composed: Composed) -> list[Composable]:
    """Flatten a composed statement; ``format`` splits its text at every brace."""
    parts: list[Composable] = []
    for part in composed:
        if isinstance(part, Composed):
            parts += _joined(part)
        else:
            parts.append(part)
    joined: list[Composable] = []
    for part in parts:
        if isinstance(part, SQL) and joined and isinstance(joined[-1], SQL):
            text = joined[-1].as_string() + part.as_string()
            joined[-1] = SQL(cast("LiteralString", text))
        else:
            joined.append(part)
    return joined
