"""From pieces to the hits of an answer, with their reasons, and a second look at the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from langledger.operations import Operation, Row, call
from langledger.recall import CrossEncoder
from langledger.repository.hits import CodeHit
from langledger.repository.ranking import Piece

__all__ = ["RERANKED", "hit_of", "reasons_of", "reranked"]

RERANKED = 20
"""Hits that a cross-encoder looks at."""


def hit_of(
    piece: Piece,
    row: Row,
    text: str,
    *,
    apart: bool,
    asked: bool,
    reasons: tuple[str, ...] = (),
) -> CodeHit:
    """Return the hit that a piece is.

    Args:
        piece: With its scores.
        row: Of the statement ``places``.
        text: Its lines.
        apart: It is a test, and none was asked for.
        asked: A brief question names it.
        reasons: Why it stands where it stands.
    """
    return CodeHit(
        path=piece.path,
        start_line=piece.start_line,
        end_line=piece.end_line,
        symbol=row["qualified"] if row["symbol"] else "",
        kind=row["kind"],
        text=text,
        tokens=piece.tokens,
        score=round(piece.score, 6),
        scores={name: round(value, 6) for name, value in piece.scores.items()},
        metadata={
            "language": piece.language,
            "is_test": piece.is_test,
            "apart": apart,
            "asked": asked,
            "definition": row["symbol"],
            "signature": row["signature"],
            "first_line": row["symbol_start"],
            "last_line": row["symbol_end"],
        },
        reasons=reasons,
    )


def reasons_of(
    piece: Piece, terms: Sequence[str], weights: Sequence[float], *, apart: bool
) -> tuple[str, ...]:
    """Say why a piece stands where it stands.

    Args:
        piece: With its scores.
        terms: Of the question, in the order of the bits.
        weights: Of the terms.
        apart: It is a test, and none was asked for.
    """
    told: list[str] = []
    for label, bits in (
        ("words", piece.has),
        ("words of its name", piece.named),
        ("words of its path", piece.in_path),
    ):
        held = [
            term.lstrip("=~") for bit, term in enumerate(terms) if bits >> bit & 1 and weights[bit]
        ]
        if held:
            told.append(f"{label}: {', '.join(dict.fromkeys(held))}")
    told.append(f"BM25 {piece.scores['words']:.1f}, its file {piece.scores['file']:.2f}")
    if piece.scores["named"]:
        told.append(f"named by the question or being worked on: + {piece.scores['named']:.2f}")
    if piece.factor < 1:
        told.append(f"documentation and data count × {piece.factor}")
    if apart:
        told.append("a test: after the rest")
    return tuple(told)


def reranked(
    query: str, hits: list[CodeHit], encoder: CrossEncoder
) -> Operation[tuple[list[CodeHit], str | None]]:
    """Return the hits, the best 20 in the encoder's order; as they are, and why, where it fails."""
    top, rest = hits[:RERANKED], hits[RERANKED:]
    pairs = [(query, hit.text) for hit in top]
    try:
        scores = [float(score) for score in (yield from call(lambda: encoder.score(pairs)))]
    except Exception as error:  # noqa: BLE001 - whatever the host's model raises, words still work
        return hits, f"not reranked: {error}"
    if len(scores) != len(top) or not all(map(math.isfinite, scores)):
        return hits, f"not reranked: {len(scores)} scores for {len(top)} texts"
    scored = [
        replace(hit, scores={**hit.scores, "rerank": score})
        for hit, score in zip(top, scores, strict=True)
    ]
    # Tests that were not asked for stay after the rest, whatever the encoder thinks of them.
    scored.sort(key=lambda hit: (hit.metadata["apart"], -hit.scores["rerank"]))
    return [*scored, *rest], None
