"""Code put before a model unasked: only where the question is plainly about the repository."""

from __future__ import annotations

from collections.abc import Sequence

from langledger.operations import Operation
from langledger.repository.finder import Finder

__all__ = ["code_for"]

_TERMS = 3  # of the question that the best hit must hold, unless the question names something
_SHARE = 0.35  # of the weight of the question's terms


def code_for(finder: Finder, query: str, *, budget: int, files: Sequence[str]) -> Operation[str]:
    """Return what bears on a user's message; empty where it may be about something else.

    Args:
        finder: Of the worktree.
        query: The message.
        budget: Tokens.
        files: That the working state knows as touched.
    """
    packed = yield from finder.packed(query, budget=budget, files=files)
    best = max(packed.hits, key=lambda hit: hit.score, default=None)
    if best is None:
        return ""
    sure = best.scores["terms"] >= _TERMS and best.scores["share"] >= _SHARE
    return packed.text if sure or best.scores["mentioned"] else ""
