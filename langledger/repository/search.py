"""A search of a worktree, from the question to the hits: three round trips."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from langledger.arguments import check_whole
from langledger.errors import ConfigurationError, RepositoryError
from langledger.operations import Operation, Query, Row, fetch, fetch_all
from langledger.recall import CrossEncoder
from langledger.recall.build import quoted, text_of
from langledger.repository.answers import RERANKED, hit_of, reasons_of, reranked
from langledger.repository.candidates import Keys, candidates, piece_of, queries
from langledger.repository.hits import CodeFound, CodeHit
from langledger.repository.mentions import (
    WHOLE,
    Named,
    asks_for_tests,
    endings,
    exact_file,
    named_by,
    names_of,
    places_of,
)
from langledger.repository.query import CodeQuery, Place, read_query
from langledger.repository.ranking import (
    Boosts,
    Extent,
    Piece,
    asked_terms,
    chosen_terms,
    covered,
    files_of,
    first_order,
    rescored,
    term_counts,
    weights_of,
)

__all__ = ["CodeRequest", "Known", "search_code", "symbols_named"]

_LOOKED_AT = 120  # pieces whose text is read
_RARE = 150  # terms of a question that are asked for by name whether they occur
_DEFINITIONS = 200  # of one name
_RECENT = 0.1  # of the best score: what a file that is being worked on is raised by
_STALE_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest:
    """What to search a worktree for.

    Attributes:
        query: Words, an error trace, or the place of the current edit (``path:line``).
        k: Most hits.
        tests: Rank tests like the rest (True) or leave them out (False); None: after the rest,
            unless the question asks for them.
        recent: Files that are being worked on; they are raised a little.
        root: Of the worktree; whole paths below it are the repository's.
        explain: Give each hit its reasons.
    """

    query: str
    k: int = 20
    tests: bool | None = None
    recent: Sequence[str] = ()
    root: str = ""
    explain: bool = False


@dataclass(slots=True)
class Known:
    """What was learned of worktrees, so that it need not be asked at each search."""

    extents: MutableMapping[Any, tuple[float, Extent]] = field(
        default_factory=dict[Any, tuple[float, Extent]]
    )


@dataclass(slots=True, kw_only=True)
class _Search:
    """One search on its way."""

    keys: Keys
    request: CodeRequest
    query: CodeQuery
    extent: Extent
    asked: dict[str, float]
    terms: list[str]
    named: list[Named]
    weights: list[float] = field(default_factory=list[float])
    boosts: Boosts = field(default_factory=Boosts)
    reasons: list[str] = field(default_factory=list[str])
    texts: dict[tuple[str, int], tuple[Row, str]] = field(
        default_factory=dict[tuple[str, int], tuple[Row, str]]
    )


def search_code(
    keys: Keys, request: CodeRequest, *, known: Known, encoder: CrossEncoder | None = None
) -> Operation[CodeFound]:
    """Answer a request.

    Args:
        keys: Of the worktree.
        request: What for.
        known: Kept between searches.
        encoder: A cross-encoder that has a second look at the best 20.

    Raises:
        ConfigurationError: The query is no text, or ``k`` out of bounds.
        RepositoryError: The worktree was not indexed yet.
    """
    started = time.perf_counter()
    _check(request)
    extent = yield from _extent(keys, known)
    query = read_query(request.query, root=request.root)
    if request.tests is not None:
        query = replace(query, tests=request.tests)
    if query.edit is not None:
        query = yield from _of_edit(keys, query, query.edit)
    search = yield from _resolved(keys, request, query, extent)
    pieces = yield from _pieces(search)
    if not pieces:  # what is known of the worktree may be what it was before it was forgotten
        known.extents.pop(tuple(keys.values()), None)
        yield from _extent(keys, known)
    hits = yield from _hits(search, pieces)
    if encoder is not None and hits:
        hits, fault = yield from reranked(query.text, hits, encoder)
        search.reasons += [fault] if fault else []
    return CodeFound(
        query=request.query,
        hits=hits[: request.k],
        files=files_of(_wanted(pieces)),
        seconds=time.perf_counter() - started,
        reasons=tuple(search.reasons),
    )


def _check(request: CodeRequest) -> None:
    query: object = request.query
    if not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
        raise ConfigurationError(f"query must be a string, not a {type(query).__name__}")
    check_whole("k", request.k, least=1, most=_LOOKED_AT)


def _extent(keys: Keys, known: Known) -> Operation[Extent]:
    key = tuple(keys.values())
    at, extent = known.extents.get(key, (-math.inf, None))
    if extent is not None and time.monotonic() - at < _STALE_SECONDS:
        return extent
    sizes, common = yield from fetch_all(
        Query(queries["extent"], keys), Query(queries["common"], keys)
    )
    row = sizes[0]
    if not row["files"]:
        worktrees = yield from fetch(queries["worktree"], **keys)
        if not any(worktree["indexed_at"] for worktree in worktrees):
            raise RepositoryError(
                "nothing of this repository is indexed yet: run `langledger repo index`, or index()"
            )
    extent = Extent(
        files=row["files"],
        chunks=row["chunks"] * row["files"] / max(row["sampled"], 1),
        size=row["size"],
        tokens=row["tokens"],
        common={item["term"]: item["share"] for item in common},
    )
    known.extents[key] = time.monotonic(), extent
    return extent


def _of_edit(keys: Keys, query: CodeQuery, place: Place) -> Operation[CodeQuery]:
    """Return the question that a place stands for: what the definition around it speaks of."""
    names, patterns = endings([place])
    rows = yield from fetch(queries["paths"], **keys, names=names, endings=patterns)
    file = exact_file(place.path, rows)
    if file is None:
        return replace(query, text=place.path, title=place.path)
    row, text = yield from text_around(keys, file["blob"], place.line or 1)
    exact = Place(file["path"], place.line, row["qualified"].rpartition(".")[2] or None)
    return replace(
        query, text=text[:20_000], title=row["signature"], frames=(exact,), tests=file["is_test"]
    )


def text_around(keys: Keys, blob: UUID, line: int) -> Operation[tuple[Row, str]]:
    """Return the innermost definition around a line, and its text."""
    rows = yield from fetch(queries["around"], **keys, blob=blob, line=line)
    row = rows[0]
    return row, _cut(text_of(row["body"]).encode(), row)


def symbols_named(keys: Keys, names: Sequence[str]) -> Operation[list[Row]]:
    """Return the definitions that dotted names may mean, each with its path."""
    return (yield from fetch(queries["symbols"], **_named_so(keys, names)))


def _named_so(keys: Keys, names: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of ``symbols``: last names, and the qualified names that go first."""
    last = dict.fromkeys([*names, *(name.rpartition(".")[2] for name in names)])
    whole = dict.fromkeys(
        name.split(".", at)[-1] for name in names for at in range(name.count("."))
    )
    return {**keys, "names": list(last), "whole": list(whole), "most": _DEFINITIONS}


def _resolved(
    keys: Keys, request: CodeRequest, query: CodeQuery, extent: Extent
) -> Operation[_Search]:
    """Find out which terms occur, and which of the places and names that are mentioned exist."""
    asked = asked_terms(query)
    likely = chosen_terms(asked, extent, _RARE)
    rare = [term for term in likely if term not in extent.common]
    names, patterns = endings(places_of(query))
    paths = Query(queries["paths"], {**keys, "names": names, "endings": patterns})
    there, files, symbols = yield from fetch_all(
        Query(queries["present"], {**keys, "rare": [quoted(term) for term in rare]}),
        paths,
        Query(queries["symbols"], _named_so(keys, names_of(query))),
    )
    if request.tests is None and asks_for_tests(query, files):
        query = replace(query, tests=True)
    absent = {*rare} - {rare[row["place"] - 1] for row in there}
    named = named_by(query, files, symbols)
    if any(one.lines == WHOLE for one in named):
        likely = []  # a file is asked for: its pieces, in their order
    search = _Search(
        keys=keys,
        request=request,
        query=query,
        extent=extent,
        asked=asked,
        terms=chosen_terms({t: asked[t] for t in likely if t not in absent}, extent),
        named=named,
    )
    if not search.terms and not search.named:
        nothing = "no word of the question occurs in the repository"
        search.reasons.append(nothing if extent.files else "the indexed folder has no files")
    return search


def _pieces(search: _Search) -> Operation[list[Piece]]:
    """Return the chunks that hold what is asked, each with its score by which terms it holds."""
    if not search.terms and not search.named:
        return []
    statement = candidates(
        search.keys,
        search.terms,
        search.named,
        search.extent,
        tests=search.request.tests is not False,
    )
    pieces = [piece_of(row) for row in (yield from fetch_all(statement))[0]]
    search.weights = weights_of(search.terms, search.asked, pieces, search.extent)
    search.boosts = _boosts(search, pieces)
    files = first_order(pieces, search.weights, search.extent, search.boosts)
    top = sorted(_wanted(pieces), key=lambda piece: _order(search, piece))[:_LOOKED_AT]
    yield from _read(search, top)
    place = {term: bit for bit, term in enumerate(search.terms)}
    counts: dict[tuple[str, int], dict[int, float]] = {}
    for piece in top:
        if piece.key in search.texts:
            row, text = search.texts[piece.key]
            piece.named = sum(1 << bit for bit in _held(row["qualified"], place))
            counts[piece.key] = _held(text, place)
    rescored(
        pieces,
        counts,
        search.weights,
        extent=search.extent,
        files=files,
        boosts=search.boosts,
    )
    return pieces


def _held(text: str, place: Mapping[str, int]) -> dict[int, float]:
    """Return how often a text has each term, by the term's bit."""
    counts = term_counts(text)
    return {place[term]: float(count) for term, count in counts.items() if term in place}


def _boosts(search: _Search, pieces: Sequence[Piece]) -> Boosts:
    boosts = Boosts()
    by_path: dict[str, list[Piece]] = {}
    for piece in pieces:
        by_path.setdefault(piece.path, []).append(piece)
    for one in search.named:
        inside = [piece.number for piece in by_path.get(one.path, ()) if one.covers(piece)]
        boosts.add_file(one.path, one.share)
        boosts.add_pieces(one.path, one.own, inside)
    for path in search.request.recent:
        boosts.add_file(path, _RECENT)
    return boosts


def _wanted(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces that are found by something that counts, not only by what is common."""
    return [piece for piece in pieces if piece.words > 0 or piece.scores["meant"]]


def _order(search: _Search, piece: Piece) -> tuple[bool, float, str, int]:
    below = piece.is_test and not search.query.tests
    return below, -piece.score, piece.path, piece.number


def _read(search: _Search, pieces: Sequence[Piece]) -> Operation[None]:
    """Read the text of pieces, and the definition that each stands in."""
    if not pieces:
        return
    blobs = list({piece.blob for piece in pieces})
    numbers = {"blobs": [p.blob for p in pieces], "numbers": [p.number for p in pieces]}
    places, bodies = yield from fetch_all(
        Query(queries["places"], {**search.keys, **numbers}),
        Query(queries["texts"], {**search.keys, "blobs": blobs}),
    )
    whole = {row["blob"]: text_of(row["body"]).encode() for row in bodies}
    rows = {(row["blob"], row["number"]): row for row in places}
    for piece in pieces:
        row = rows.get((piece.blob, piece.number))
        if row is not None and piece.blob in whole:  # else it was indexed anew meanwhile
            search.texts[piece.key] = row, _cut(whole[piece.blob], row)


def _cut(body: bytes, row: Row) -> str:
    return body[row["start_byte"] : row["end_byte"]].decode("utf-8", "replace")


def _hits(search: _Search, pieces: Sequence[Piece]) -> Operation[list[CodeHit]]:
    wanted = sorted(_wanted(pieces), key=lambda piece: _order(search, piece))
    top = wanted[: max(search.request.k, RERANKED)]
    if not top:
        return []
    yield from _read(search, [piece for piece in top if piece.key not in search.texts])
    texts = search.texts
    return [_hit(search, piece, *texts[piece.key]) for piece in top if piece.key in texts]


def _hit(search: _Search, piece: Piece, row: Row, text: str) -> CodeHit:
    apart = piece.is_test and not search.query.tests
    piece.scores |= covered(piece, search.weights)
    piece.scores["mentioned"] = float(any(one.path == piece.path for one in search.named))
    told: tuple[str, ...] = ()
    if search.request.explain:
        told = reasons_of(piece, search.terms, search.weights, apart=apart)
    asked = piece.scores["meant"] > 0 and any(
        one.asked and one.path == piece.path and (one.lines is None or one.covers(piece))
        for one in search.named
    )
    return hit_of(piece, row, text, apart=apart, asked=asked, reasons=told)
