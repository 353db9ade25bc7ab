"""Which of the places and symbols that a question names the repository has, exactly; pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from langledger.operations import Row
from langledger.repository.query import CodeQuery, Place
from langledger.repository.ranking import Piece

__all__ = [
    "WHOLE",
    "Named",
    "asks_for_tests",
    "endings",
    "exact_file",
    "exact_symbols",
    "is_meant",
    "named_by",
    "names_of",
    "places_of",
]

_FRAME, _PATH, _SYMBOL = 0.4, 0.3, 0.3
_PLACE = 1.0  # what a brief question names by its path is what it is about
_INSTALLED = ("site-packages", "dist-packages")
WHOLE = (1, 2**31 - 1)
"""Lines of a file, all of them."""
_DEFINED = 10  # times; a name with more definitions names none of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Lines of a file that a question names.

    Attributes:
        share: How much that raises the file; 1 is the score of the best by words.
        own: How much it raises the pieces that are meant.
        asked: The question is about nothing else.
        lines: First and last; None: the file, of which the best piece is raised.
        symbol: The number of the definition that is meant, without those within it; None: the
            lines are.
    """

    path: str
    blob: UUID
    share: float
    own: float
    asked: bool = False
    lines: tuple[int, int] | None = None
    symbol: int | None = None

    def covers(self, piece: Piece) -> bool:
        """Say whether a piece of the file is meant."""
        if self.symbol is not None:
            return piece.symbol == self.symbol
        return self.lines is not None and (
            piece.start_line <= self.lines[1] and piece.end_line >= self.lines[0]
        )


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
    defined = [row for row in symbols if query.tests or not row["is_test"]]
    found: list[Named] = []
    for place in query.frames:
        found += _frame(query, place, exact_file(place.path, wanted), symbols)
    for place in query.paths:
        found += _path(query, place, exact_file(place.path, wanted))
    for symbol in query.symbols:
        found += _symbol(query, symbol, exact_symbols(symbol, defined))
    return found


def _frame(
    query: CodeQuery, place: Place, file: Row | None, symbols: Iterable[Row]
) -> Iterator[Named]:
    if file is None:
        return
    path, blob, asked = file["path"], file["blob"], query.brief
    line = None if place.line is None else (place.line, place.line)
    own = _PLACE if query.brief else _FRAME
    yield Named(path=path, blob=blob, share=_FRAME, own=own, asked=asked, lines=line)
    # The repository may have changed since the trace: the function counts, wherever it stands.
    for row in symbols:
        if row["name"] == place.symbol and row["path"] == path:
            yield _definition(row, _FRAME, own=own, asked=asked)


def _path(query: CodeQuery, place: Place, file: Row | None) -> Iterator[Named]:
    if file is None:
        return
    line = None if place.line is None else (place.line, place.line)
    if line is None and len(query.text.split()) == 1:  # it is all that is asked
        line = WHOLE
    own = _PLACE if query.brief else _PATH
    yield Named(
        path=file["path"], blob=file["blob"], share=_PATH, own=own, asked=query.brief, lines=line
    )


def _symbol(query: CodeQuery, symbol: str, rows: Sequence[Row]) -> Iterator[Named]:
    different = len({(row["path"], row["qualified"]) for row in rows})
    if different <= _DEFINED:
        for row in rows:
            asked = query.brief and is_meant(symbol, row)
            share = _SYMBOL / different
            yield _definition(row, share, own=share, asked=asked)


def _definition(row: Row, share: float, *, own: float, asked: bool) -> Named:
    return Named(
        path=row["path"],
        blob=row["blob"],
        share=share,
        own=own,
        asked=asked,
        lines=(row["start_line"], row["end_line"]),
        symbol=row["symbol"],
    )


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
        same = _agreeing(parts, row["qualified"].split("."))
        if same:
            by_length[same].append(row)
    best = by_length[max(by_length)] if by_length else []
    # A file may define a name more than once: a property's getter and setter, overloads.
    return list({(row["path"], row["symbol"]): row for row in best}.values())


def is_meant(symbol: str, row: Row) -> bool:
    """Say whether a definition is what a dotted name says, the modules before it included."""
    wanted, own = symbol.split("."), row["qualified"].split(".")
    same = _agreeing(wanted, own)
    before = wanted[: len(wanted) - same]
    return not before or (same == len(own) and {*before} <= {*re.split(r"[/.]", row["path"])})


def _agreeing(wanted: Sequence[str], defined: Sequence[str]) -> int:
    count = 0
    for one, other in zip(reversed(wanted), reversed(defined), strict=False):
        if one != other:
            break
        count += 1
    return count


def asks_for_tests(query: CodeQuery, files: Sequence[Row]) -> bool:
    """Say whether a brief question names a file of tests."""
    named = [exact_file(place.path, files) for place in query.paths] if query.brief else []
    return any(file is not None and file["is_test"] for file in named)


def _suffixes(path: str) -> list[str]:
    """Return what a path may be called in the repository, longest first."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for at, part in enumerate(parts):
        if part in _INSTALLED:  # what follows is the package, whole
            return ["/".join(parts[at + 1 :])] if parts[at + 1 :] else [path]
    return ["/".join(parts[at:]) for at in range(max(len(parts) - 1, 1))] or [path]


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
