"""Which of the places and symbols that a question names the repository has, exactly; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from langledger.operations import Row
from langledger.repository.query import CodeQuery, Place

__all__ = ["Named", "endings", "last_names", "named_by"]

_FRAME, _PATH, _SYMBOL = 0.4, 0.3, 0.3
_DEFINED = 10  # times; a name with more definitions names none of them


@dataclass(frozen=True, slots=True)
class Named:
    """Lines of a file that a question names.

    Attributes:
        share: How much that raises them; 1 is the score of the best by words.
        lines: First and last; None: the file as a whole.
    """

    path: str
    blob: UUID
    share: float
    lines: tuple[int, int] | None = None


def endings(query: CodeQuery) -> tuple[list[str], list[str]]:
    """Return the paths that may be meant, and patterns of ``LIKE`` that longer ones end with."""
    places = _places(query)
    paths = [path for place in places for path in _suffixes(place.path)]
    return list(dict.fromkeys(paths)), [f"%/{_escaped(place.path.strip('/'))}" for place in places]


def last_names(query: CodeQuery) -> list[str]:
    """Return the names by which the symbols of a question may be defined."""
    symbols = [symbol.rpartition(".")[2] for symbol in query.symbols]
    return list(dict.fromkeys([*symbols, *(f.symbol for f in query.frames if f.symbol)]))


def named_by(query: CodeQuery, files: Sequence[Row], symbols: Sequence[Row]) -> list[Named]:
    """Return what a question names and the repository has once; of symbols, a few times at most.

    Args:
        query: The question.
        files: Rows of the statement ``paths``.
        symbols: Rows of the statement ``symbols``.
    """
    wanted = [row for row in files if query.tests or not row["is_test"]]
    found: list[Named] = []
    for place in query.frames:
        found += _at(place, exact_file(place.path, wanted), _FRAME, symbols)
    for place in query.paths:
        found += _at(place, exact_file(place.path, wanted), _PATH, ())
    defined = [row for row in symbols if query.tests or not row["is_test"]]
    for symbol in query.symbols:
        rows = exact_symbols(symbol, defined)
        if 0 < len(rows) <= _DEFINED:
            share = _SYMBOL / len(rows)
            found += [Named(r["path"], r["blob"], share, _head(r)) for r in rows]
    return found


def exact_file(path: str, files: Iterable[Row]) -> Row | None:
    """Return the one file that a path names; None where it is none or could be several.

    A path may begin above the repository, or in the middle of it. Less than a folder and a name is
    enough only where nothing more was written.
    """
    by_path = {row["path"]: row for row in files}
    suffixes = _suffixes(path)
    for suffix in suffixes:
        if suffix in by_path and ("/" in suffix or len(suffixes) == 1):
            return by_path[suffix]
    longer = [row for name, row in by_path.items() if name.endswith(f"/{suffixes[0]}")]
    return longer[0] if len(longer) == 1 else None


def exact_symbols(symbol: str, rows: Iterable[Row]) -> list[Row]:
    """Return the definitions that a dotted name means: those that agree with most of it."""
    parts = symbol.split(".")
    by_length: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        agreeing = _agreeing(parts, row["qualified"].split("."))
        if agreeing:
            by_length[agreeing].append(row)
    best = by_length[max(by_length)] if by_length else []
    return list({(row["path"], row["qualified"]): row for row in best}.values())


def _at(place: Place, file: Row | None, share: float, symbols: Iterable[Row]) -> list[Named]:
    if file is None:
        return []
    found = [Named(file["path"], file["blob"], share)]
    if place.line is not None:
        found.append(Named(file["path"], file["blob"], share, (place.line, place.line)))
    found += [
        # The repository may have changed since the trace: the function counts, wherever it stands.
        Named(file["path"], file["blob"], share, _head(row))
        for row in symbols
        if row["name"] == place.symbol and row["path"] == file["path"]
    ]
    return found


def _head(row: Mapping[str, int]) -> tuple[int, int]:
    return row["start_line"], row["start_line"]


def _agreeing(wanted: Sequence[str], defined: Sequence[str]) -> int:
    count = 0
    for one, other in zip(reversed(wanted), reversed(defined), strict=False):
        if one != other:
            break
        count += 1
    return count


def _places(query: CodeQuery) -> list[Place]:
    return [*([query.edit] if query.edit else []), *query.frames, *query.paths]


def _suffixes(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    return ["/".join(parts[at:]) for at in range(len(parts))] or [path]


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
