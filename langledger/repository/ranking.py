"""From the terms that chunks hold to an order of chunks and files; pure.

Two rankings are fused: each file as one text (how many of its chunks hold a term), and each chunk
by itself; a chunk's score takes a share of its file's. BM25 both times, each over its best. What a
question names outright, and the repository has exactly so, is added on top. The weights were
chosen on four repositories and hold on five others (``benchmarks/localisation.py``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID

from langledger.recall.analysis import analyse, telling
from langledger.repository.query import CodeQuery
from langledger.repository.terms import words_of

__all__ = [
    "Boosts",
    "Extent",
    "Piece",
    "asked_terms",
    "chosen_terms",
    "covered",
    "files_of",
    "first_order",
    "rescored",
    "term_counts",
    "weights_of",
]

TERMS = 32  # the most telling ones of a question; more of them only bring in what is common
BITS = 60
_TITLE = 3.0
_NAMED, _IN_PATH = 4.0, 1.0  # a term in a definition's name, in the path: as if it stood so often
_PATH_OF_FILE = 3.0
_OWN_FILE, _OWN_BEST = 0.5, 0.5  # of a file: itself as one text, its best chunk
_PIECE, _FILE = 0.7, 0.3  # of a chunk: itself, its file
_K1, _B = 1.2, 0.75
PROSE = 0.5
"""Factor of documentation and data: a question about code is about the code."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How large a worktree is.

    Attributes:
        files: With content.
        chunks: Of them, estimated.
        size: Words of a chunk on average.
        tokens: Of a file on average.
        common: Share of the chunks that hold a term, for terms that are not rare.
    """

    files: int
    chunks: float
    size: float
    tokens: float
    common: Mapping[str, float]


@dataclass(slots=True, kw_only=True)
class Piece:
    """A chunk of a file, with its numbers.

    Attributes:
        has: Which terms it holds, a bit each.
        named: Which stand in the name of its definition.
        in_path: Which stand in its path.
        factor: Of what it is worth beside code.
        words: Its BM25.
        scores: What its score is made of.
    """

    path: str
    blob: UUID
    number: int
    symbol: int
    start_line: int
    end_line: int
    tokens: int
    size: int
    file_tokens: int
    is_test: bool
    language: str
    has: int
    in_path: int
    named: int = 0
    factor: float = 1.0
    words: float = 0.0
    score: float = 0.0
    scores: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def key(self) -> tuple[str, int]:
        """Its place in the worktree."""
        return self.path, self.number


@dataclass(slots=True)
class Boosts:
    """What a question names outright.

    Attributes:
        files: Share that is added to a file's score, by path.
        best: The same of the file's best chunk, whichever that is.
        pieces: The same of chunks, by path and number.
    """

    files: dict[str, float] = field(default_factory=dict[str, float])
    best: dict[str, float] = field(default_factory=dict[str, float])
    pieces: dict[tuple[str, int], float] = field(default_factory=dict[tuple[str, int], float])

    def add_file(self, path: str, share: float) -> None:
        """Raise a file to at least this share."""
        self.files[path] = max(self.files.get(path, 0.0), share)

    def add_pieces(self, path: str, share: float, numbers: Sequence[int]) -> None:
        """Raise chunks of a file, or its best one where none is told, to at least this share."""
        if not numbers:
            self.best[path] = max(self.best.get(path, 0.0), share)
        for number in numbers:
            self.pieces[path, number] = max(self.pieces.get((path, number), 0.0), share)


def term_counts(text: str) -> dict[str, int]:
    """Return how often each term occurs in a text, code or question, as the index makes terms."""
    counts: dict[str, int] = defaultdict(int)
    for word in words_of(text):
        for term, often in _terms_of(word):
            counts[term] += often
    return dict(counts)


@lru_cache(maxsize=1 << 16)
def _terms_of(word: str) -> tuple[tuple[str, int], ...]:
    return tuple(analyse(word).counts.items())


def asked_terms(query: CodeQuery) -> dict[str, float]:
    """Return the terms of a question with how much each was stressed."""
    counts = term_counts(query.text)
    title = term_counts(query.title)
    return {
        term: (1 + math.log(counts[term])) * (_TITLE if term in title else 1.0)
        for term in telling(counts)
    }


def chosen_terms(asked: Mapping[str, float], extent: Extent, most: int = BITS) -> list[str]:
    """Return the terms worth looking for: stressed, and rare as far as is known."""
    rarest = min(extent.common.values(), default=0.0) / 2
    shares = {term: extent.common.get(term, rarest) for term in asked}

    def order(term: str) -> tuple[float, str]:
        return -asked[term] * _idf(shares[term] * extent.chunks, extent.chunks), term

    return sorted(asked, key=order)[:most]


def weights_of(
    terms: Sequence[str], asked: Mapping[str, float], pieces: Sequence[Piece], extent: Extent
) -> list[float]:
    """Return the weight of each term: of the telling ones, 0 of the others.

    Args:
        terms: In the order of the bits.
        asked: How much each was stressed.
        pieces: All that were found, for how many hold a term that is not known to be common.
        extent: Of the worktree.
    """
    counts = [0] * len(terms)
    for piece in pieces:
        for bit in _bits(piece.has):
            counts[bit] += 1
    total = max(extent.chunks, len(pieces))
    weights: list[float] = []
    for term, count in zip(terms, counts, strict=True):
        often = max(float(count), extent.common.get(term, 0.0) * total)
        weights.append(asked[term] * _idf(often, total) if count else 0.0)
    least = sorted(weights, reverse=True)[: TERMS + 1]
    floor = least[TERMS] if len(least) > TERMS else 0.0
    return [weight if weight > floor else 0.0 for weight in weights]


def first_order(
    pieces: Sequence[Piece], weights: Sequence[float], extent: Extent, boosts: Boosts
) -> dict[str, float]:
    """Score pieces by which terms they hold, and return the score of each file by itself."""
    for piece in pieces:
        counts = dict.fromkeys(_bits(piece.has), 1.0)
        piece.words = _words(piece, counts, weights, extent)
    files = _files(pieces, weights, extent)
    _fuse(pieces, files, boosts)
    return files


def rescored(
    pieces: Sequence[Piece],
    counts: Mapping[tuple[str, int], Mapping[int, float]],
    weights: Sequence[float],
    *,
    extent: Extent,
    files: Mapping[str, float],
    boosts: Boosts,
) -> None:
    """Score pieces again, some of them by how often they hold each term.

    Args:
        pieces: All that were found.
        counts: How often a piece holds a term, by the term's bit.
        weights: Of the terms.
        extent: Of the worktree.
        files: As :func:`first_order` returned them.
        boosts: What the question names.
    """
    for piece in pieces:
        known = counts.get(piece.key)
        if known is not None:
            piece.words = _words(piece, known, weights, extent)
    _fuse(pieces, files, boosts)


def covered(piece: Piece, weights: Sequence[float]) -> dict[str, float]:
    """Return how many telling terms of the question a piece holds, and their share by weight."""
    held = piece.has | piece.named | piece.in_path
    told = [weight for bit, weight in enumerate(weights) if weight and held >> bit & 1]
    return {"terms": float(len(told)), "share": sum(told) / (sum(weights) or 1.0)}


def files_of(pieces: Iterable[Piece]) -> list[tuple[str, float]]:
    """Return the files of scored pieces with their scores, best first."""
    best: dict[str, float] = {}
    for piece in pieces:
        best[piece.path] = piece.scores["file"]
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))


def _words(
    piece: Piece, counts: Mapping[int, float], weights: Sequence[float], extent: Extent
) -> float:
    norm = _K1 * (1 - _B + _B * piece.size / max(extent.size, 1.0))
    total = 0.0
    for bit, weight in enumerate(weights):
        if weight:
            often = counts.get(bit, 0.0)
            often += _NAMED * (piece.named >> bit & 1) + _IN_PATH * (piece.in_path >> bit & 1)
            total += weight * often * (_K1 + 1) / (often + norm) if often else 0.0
    return total * piece.factor


def _files(pieces: Sequence[Piece], weights: Sequence[float], extent: Extent) -> dict[str, float]:
    """Return the BM25 of each file as one text, whose terms count once a chunk."""
    counts: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    one_of: dict[str, Piece] = {}
    for piece in pieces:
        one_of[piece.path] = piece
        for bit in _bits(piece.has):
            counts[piece.path][bit] += 1
    scores: dict[str, float] = {}
    for path, piece in one_of.items():
        norm = _K1 * (1 - _B + _B * piece.file_tokens / max(extent.tokens, 1.0))
        for bit in _bits(piece.in_path):
            counts[path][bit] += _PATH_OF_FILE
        told = sum(
            weights[bit] * often * (_K1 + 1) / (often + norm) for bit, often in counts[path].items()
        )
        scores[path] = told * piece.factor
    return scores


def _fuse(pieces: Sequence[Piece], files: Mapping[str, float], boosts: Boosts) -> None:
    """Give each piece its score; 1 is the best by words, and what is named comes on top."""
    main = [piece for piece in pieces if not piece.is_test] or pieces
    top_piece = max((piece.words for piece in main), default=0.0) or 1.0
    top_file = max((files[piece.path] for piece in main), default=0.0) or 1.0
    best: dict[str, Piece] = {}
    for piece in pieces:
        if piece.path not in best or _before(piece, best[piece.path]):
            best[piece.path] = piece
    whole = {
        path: _OWN_FILE * files[path] / top_file + _OWN_BEST * piece.words / top_piece
        for path, piece in best.items()
    }
    top_whole = max((whole[piece.path] for piece in main), default=0.0) or 1.0
    for piece in pieces:
        named_file = boosts.files.get(piece.path, 0.0)
        named = boosts.pieces.get(piece.key, 0.0)
        if piece is best[piece.path]:
            named = max(named, boosts.best.get(piece.path, 0.0))
        of_file = whole[piece.path] / top_whole + named_file
        own = piece.words / top_piece + named
        piece.scores = {
            "words": piece.words,
            "file": of_file,
            "named": max(named, named_file),
            "meant": named,
        }
        piece.score = _PIECE * own + _FILE * of_file


def _before(one: Piece, other: Piece) -> bool:
    return (-one.words, one.number) < (-other.words, other.number)


def _idf(often: float, total: float) -> float:
    return math.log(1 + max(total - often + 0.5, 0.5) / (often + 0.5))


def _bits(bits: int) -> Iterable[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
