"""A second look at the best candidates by a cross-encoder, where one is given.

None is by default: none comes with a wheel, and a bi-encoder in its place lowers what is found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from langledger.errors import EmbeddingError
from langledger.operations import Operation, call
from langledger.recall.folding import Candidate

__all__ = ["CrossEncoder", "reranked"]

_LOOKED_AT = 20


class CrossEncoder(Protocol):
    """What LangChain's ``BaseCrossEncoder`` has."""

    def score(self, text_pairs: list[tuple[str, str]]) -> Sequence[float]:
        """Return how well each second text answers its first; more is better."""
        ...


def reranked(
    found: list[Candidate], query: str, encoder: CrossEncoder
) -> Operation[list[Candidate]]:
    """Return the candidates, the best 20 of them in the encoder's order.

    Raises:
        EmbeddingError: The encoder failed.
    """
    top, rest = found[:_LOOKED_AT], found[_LOOKED_AT:]
    pairs = [(query, one.text) for one in top]
    try:
        scores = [float(score) for score in (yield from call(lambda: encoder.score(pairs)))]
    except Exception as error:
        raise EmbeddingError(f"the cross-encoder failed: {error}") from error
    if len(scores) != len(top) or not all(map(math.isfinite, scores)):
        raise EmbeddingError(f"the cross-encoder gave {len(scores)} scores for {len(top)} texts")
    for one, score in zip(top, scores, strict=True):
        one.scores["rerank"] = score
    return [*sorted(top, key=lambda one: -one.scores["rerank"]), *rest]
