"""The definitions that a name or a place means, each with its whole text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from langledger.arguments import check_text
from langledger.errors import ConfigurationError
from langledger.operations import Operation, Row, fetch
from langledger.recall.build import text_of
from langledger.repository.candidates import Keys, queries
from langledger.repository.mentions import endings, exact_file, exact_symbols, is_meant
from langledger.repository.query import Place, place_of
from langledger.repository.search import symbols_named

__all__ = ["Definitions", "definitions"]

_SHOWN = 5  # of one name
_PROSE = frozenset({"section", "key"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """What a name means.

    Attributes:
        found: Rows of definitions, each with its text; five at most.
        others: Rows of more of them.
        exact: False: nothing is called so; these have its last part for a name.
    """

    found: list[tuple[Row, str]] = field(default_factory=list[tuple[Row, str]])
    others: list[Row] = field(default_factory=list[Row])
    exact: bool = True


def definitions(keys: Keys, symbol: str, *, root: str = "") -> Operation[Definitions]:
    """Return the definitions that a name means.

    Args:
        keys: Of the worktree.
        symbol: A name as it is defined (``.store``, ``Release 2.0``), ``Class.method``,
            ``function``; or ``path:line`` for what stands there.
        root: Of the worktree, for whole paths.

    Raises:
        ConfigurationError: It is no text; or a place that the index does not have.
    """
    asked = check_text("symbol", symbol).strip()
    dotted = re.sub(r"::|#", ".", asked).strip(".")
    rows = yield from symbols_named(keys, [asked, dotted])
    named = [row for row in rows if row["name"] == asked]
    alike = exact_symbols(dotted, rows)
    meant = [*named, *(row for row in alike if row not in named and is_meant(dotted, row))]
    place = place_of(asked, root=root)
    if not alike and not named and place is not None:
        return Definitions(found=[(yield from _at(keys, place))])
    chosen = sorted(meant or alike, key=_order)
    texts = yield from _texts(keys, chosen[:_SHOWN])
    return Definitions(
        found=list(zip(chosen, texts, strict=False)),
        others=chosen[_SHOWN:],
        exact=bool(meant) or not alike,
    )


def _order(row: Row) -> tuple[bool, bool, str, int]:
    return row["is_test"], row["kind"] in _PROSE, row["path"], row["symbol"]


def _at(keys: Keys, place: Place) -> Operation[tuple[Row, str]]:
    names, patterns = endings([place])
    rows = yield from fetch(queries["paths"], **keys, names=names, endings=patterns)
    file = exact_file(place.path, rows)
    if file is None:
        several = ", ".join(row["path"] for row in rows[:_SHOWN])
        hint = f"; it may be one of {several}: give the whole path" if rows else ""
        raise ConfigurationError(f"there is no file {place.path!r} in the index{hint}")
    line = place.line or 1
    row = (yield from fetch(queries["around"], **keys, blob=file["blob"], line=line))[0]
    if line > row["lines"] + 1:  # an editor's cursor may stand below the last line
        raise ConfigurationError(f"{file['path']} has {row['lines']:,} lines, no line {line:,}")
    return {**row, "path": file["path"]}, _lines(text_of(row["body"]).split("\n"), row)


def _texts(keys: Keys, rows: Sequence[Row]) -> Operation[list[str]]:
    blobs = list({row["blob"] for row in rows})
    bodies = yield from fetch(queries["texts"], **keys, blobs=blobs)
    # Lines end where the index counts them: at line feeds, not at all that str.splitlines knows.
    whole = {row["blob"]: text_of(row["body"]).split("\n") for row in bodies}
    return [_lines(whole.get(row["blob"], []), row) for row in rows]


def _lines(lines: Sequence[str], row: Row) -> str:
    return "\n".join(lines[row["start_line"] - 1 : row["end_line"]])
