"""The statement that brings the chunks that a search ranks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.sql import SQL, Composed, Literal

from langledger.database.queries import load_queries
from langledger.operations import Query, Row
from langledger.recall.build import quoted
from langledger.repository.mentions import WHOLE, Named
from langledger.repository.ranking import PROSE, Extent, Piece

__all__ = ["Keys", "candidates", "piece_of", "queries"]

queries = load_queries("langledger.repository", "search.sql")

Keys = Mapping[str, Any]
"""``tenant``, ``repository`` and ``worktree``."""

_ROWS = 4000  # read for their terms; the other terms only rank what these bring
_PROSE = frozenset({"text", "markdown", "json", "yaml", "toml", "html", "css"})
_ABOUT = re.compile(r"(^|/)(docs?|examples?)/")
_SCHEMA = SQL("{schema}")


def candidates(
    keys: Keys, terms: Sequence[str], named: Sequence[Named], extent: Extent, *, tests: bool
) -> Query:
    """Return the statement for chunks that hold one of the rarer terms, or are named.

    Args:
        keys: Of the worktree.
        terms: Of the question, a bit each.
        named: What it names; of a file as a whole all chunks are brought.
        extent: Of the worktree.
        tests: Bring tests too.
    """
    lines = [one.lines or WHOLE for one in named]
    searched, many = _searched(terms, extent)
    statement = SQL(queries["candidates"]).format(
        schema=_SCHEMA,
        has=_bits("c.terms", len(terms)),
        in_path=_bits("f.terms", len(terms)),
        some=SQL(queries["some"]).format(schema=_SCHEMA) if many else SQL(""),
        within=SQL("") if tests else SQL("AND NOT f.is_test"),
    )
    return Query(
        statement,
        {
            **keys,
            **{f"t{bit}": quoted(term) for bit, term in enumerate(terms)},
            "any": " | ".join(quoted(term) for term in searched) or quoted("="),
            "most": _ROWS,
            "blobs": [one.blob for one in named],
            "first": [first for first, _ in lines],
            "last": [last for _, last in lines],
        },
    )


def _searched(terms: Sequence[str], extent: Extent) -> tuple[list[str], bool]:
    """Return the terms that a chunk must have one of, and whether even these bring too many.

    They are the rarest, as long as they bring a bounded number.
    """
    chosen: list[str] = []
    total = 0.0
    rarest = min(extent.common.values(), default=0.0) / 2
    for term in sorted(terms, key=lambda t: extent.common.get(t, 0.0)):
        total += extent.common.get(term, rarest) * extent.chunks
        if total > _ROWS:
            return (chosen, False) if chosen else ([term], True)
        chosen.append(term)
    return chosen, False


def _bits(column: str, terms: int) -> Composed:
    """Return an expression whose bits say which of the terms a column holds."""
    parts = [
        SQL("CASE WHEN {} @@ {}::tsquery THEN {} ELSE 0 END").format(
            SQL(column),  # pyright: ignore[reportArgumentType] - one of two names of ours
            SQL(f"%(t{bit})s"),  # pyright: ignore[reportArgumentType] - a parameter of ours
            Literal(1 << bit),
        )
        for bit in range(terms)
    ]
    return SQL(" + ").join(parts) if parts else Composed([SQL("0")])


def piece_of(row: Row) -> Piece:
    """Return the chunk of a row of ``candidates``; code that shows how to use code is prose too."""
    told = row["language"] in _PROSE or _ABOUT.search(row["path"])
    return Piece(**row, factor=PROSE if told else 1.0)
