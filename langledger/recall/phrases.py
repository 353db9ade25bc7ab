"""Words that stand side by side in a question and in a text; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

__all__ = ["Pair", "pairs_of", "phrase_shares"]

Pair: TypeAlias = tuple[bytes, bytes]
"""Two words that follow each other, in lower case; nothing but signs is between them."""

# Bytes, because of a hundred texts of each search this is the cheapest way to the words.
_SIGNS = bytes(byte if byte > 127 or chr(byte).isalnum() else 32 for byte in range(256))


def pairs_of(text: str) -> list[Pair]:
    """Return the neighbouring words of a text, each pair once, in order."""
    return list(dict.fromkeys(pairwise(_words(text))))


def phrase_shares(texts: Sequence[str], pairs: Sequence[Pair]) -> list[float]:
    """Return how much of a question's pairs each text has, weighted by their rarity, 0 to 1.

    Args:
        texts: The candidates of one search; a pair is rare that few of them have.
        pairs: Of the question; those that no text has do not count.
    """
    wanted = frozenset(pairs)
    if not wanted:
        return [0.0] * len(texts)
    found = [wanted.intersection(pairwise(_words(text))) for text in texts]
    weights = {pair: _rarity(sum(pair in one for one in found), len(texts)) for pair in pairs}
    most = sum(weights.values()) or 1.0
    # In the order of the question: a set's order differs from process to process.
    return [sum(weights[pair] for pair in pairs if pair in one) / most for one in found]


def _words(text: str) -> list[bytes]:
    return text.lower().encode("utf-8", "replace").translate(_SIGNS).split()


def _rarity(having: int, of: int) -> float:
    return math.log(1 + (of - having + 0.5) / (having + 0.5)) if having else 0.0
