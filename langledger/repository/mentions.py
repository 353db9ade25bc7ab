"""Which of the places and symbols that a question names the repository has, exactly; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from langledger.operations import Row
from langledger.repository.query import CodeQuery, Place

__all__ = [
    "Named",
    "agreeing",
    "endings",
    "exact_file",
    "exact_symbols",
    "named_by",
    "names_of",
    "places_of",
]

_FRAME, _PATH, _SYMBOL = 0.4, 0.3, 0.3
_INSTALLED = ("site-packages", "dist-packages")
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


def places_of(query: CodeQuery) -> list[Place]:
    """Return all the places that a question names."""
    return [*([query.edit] if query.edit else []), *query.frames, *query.paths]


def endings(places: Sequence[Place]) -> tuple[list[str], list[str]]:
    """Return the paths that may be meant, and patterns of ``LIKE`` that longer ones end with."""
    meant = [_suffixes(place.path) for place in places]
    paths = dict.fromkeys(path for suffixes in meant for path in suffixes)
    ends = dict.fromkeys(suffixes[-1] for suffixes in meant)
    return list(paths), [f"%/{_escaped(end)}" for end in ends]


def names_of(query: CodeQuery) -> list[str]:
    """Return what a question calls the symbols that it names, and those of its frames."""
    return list(dict.fromkeys([*query.symbols, *(f.symbol for f in query.frames if f.symbol)]))


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
        different = len({(row["path"], row["qualified"]) for row in rows})
        if 0 < different <= _DEFINED:
            share = _SYMBOL / different
            found += [Named(r["path"], r["blob"], share, _head(r)) for r in rows]
    return found


def exact_file(path: str, files: Iterable[Row]) -> Row | None:
    """Return the one file that a path names; None where it is none or could be several.

    A path may begin above the repository, in the middle of it, or in the folder that a package is
    installed from. Less than a folder and a name is enough only where nothing more was written.
    """
    by_path = {row["path"]: row for row in files}
    for suffix in _suffixes(path):
        if suffix in by_path:
            return by_path[suffix]
        longer = [row for name, row in by_path.items() if name.endswith(f"/{suffix}")]
        if longer:
            return longer[0] if len(longer) == 1 else None
    return None


def exact_symbols(symbol: str, rows: Iterable[Row]) -> list[Row]:
    """Return the definitions that a dotted name means: those that agree with most of it."""
    parts = symbol.split(".")
    by_length: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        same = agreeing(parts, row["qualified"].split("."))
        if same:
            by_length[same].append(row)
    best = by_length[max(by_length)] if by_length else []
    # A file may define a name more than once: a property's getter and setter, overloads.
    return list({(row["path"], row["symbol"]): row for row in best}.values())


def agreeing(wanted: Sequence[str], defined: Sequence[str]) -> int:
    """Return how many of the last parts of two dotted names are the same."""
    count = 0
    for one, other in zip(reversed(wanted), reversed(defined), strict=False):
        if one != other:
            break
        count += 1
    return count


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


def _suffixes(path: str) -> list[str]:
    """Return what a path may be called in the repository, longest first."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for at, part in enumerate(parts):
        if part in _INSTALLED:  # what follows is the package, whole
            return ["/".join(parts[at + 1 :])] if parts[at + 1 :] else [path]
    return ["/".join(parts[at:]) for at in range(max(len(parts) - 1, 1))] or [path]


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
