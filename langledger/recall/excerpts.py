"""The part of a text that bears on a question; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from langledger.recall.analysis import analyse
from langledger.tokens import count_text, truncate_text

__all__ = ["excerpt"]

_PIECE = re.compile(r".+?(?:\n+|(?<=[;.!?。！？；])\s+|[。！？；]|\Z)", re.DOTALL)
_GAP = "…\n"


def excerpt(text: str, query: str, max_tokens: int) -> str:
    """Return what of a text bears most on a question, in its order, its gaps marked.

    A text's beginning, such as the call of a tool's result, comes along where it is short.

    Args:
        text: Comes back as it is where it fits.
        query: The question.
        max_tokens: The most tokens of the result.
    """
    if count_text(text) <= max_tokens:
        return text
    pieces = _PIECE.findall(text)
    sizes = [count_text(piece) for piece in pieces]
    room = max_tokens - sizes[0] if sizes[0] * 3 <= max_tokens else max_tokens
    chosen = {0} if room < max_tokens else set[int]()
    for at in _by_bearing(pieces, query):
        gaps = (at - 1 not in chosen) + (at + 1 not in chosen and at + 1 < len(pieces))
        cost = sizes[at] + 2 * gaps
        if at not in chosen and cost <= room:
            chosen.add(at)
            room -= cost
    return truncate_text(_joined(pieces, chosen) if chosen - {0} else text, max_tokens)


def _by_bearing(pieces: Sequence[str], query: str) -> list[int]:
    """Return the places of pieces, those first that have of the question what few others have."""
    asked = analyse(query).counts.keys()
    terms = [asked & analyse(piece).counts.keys() for piece in pieces]
    having = Counter(term for own in terms for term in own)
    weights = [sum(1 / having[term] for term in sorted(own)) for own in terms]
    best = max(range(len(pieces)), key=lambda at: (weights[at], -at))
    return sorted(range(len(pieces)), key=lambda at: (-weights[at], abs(at - best), at))


def _joined(pieces: Sequence[str], chosen: set[int]) -> str:
    shown: list[str] = []
    last = -1
    for at in sorted(chosen):
        shown += [_GAP] if at != last + 1 else []
        shown.append(pieces[at])
        last = at
    return "".join([*shown, *([_GAP] if last + 1 < len(pieces) else [])]).strip()
