"""Whether what was found is worth a place before a model that did not ask.

No score of a search tells that by itself: the best hit of a question about something else has
one too. What does, in part, is how much of the question the best hit covers, weighted by rarity;
whether a rare name of the question is in it; how near it is in meaning beyond the crowd; and
whether the arms agree. It keeps out what is off the topic; a question on the topic that has no
answer looks like one that has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from langledger.recall.analysis import is_whole
from langledger.recall.folding import Candidate
from langledger.recall.scoring import WHOLE, Question
from langledger.recall.tags import is_small_talk
from langledger.recall.types import Gate

__all__ = ["THRESHOLD", "judge", "signals_of"]

THRESHOLD = 0.5
_ENOUGH = 20.0  # about four words that one unit in a hundred has; less where there are fewer
_CROWD = 5  # candidates with a vector, of which one can stand out
# Logistics of the signals; benchmarks/recall_gate.py fits and reports them.
_BY_WORDS = {"bias": -4.7, "coverage": 5.4, "evidence": 3.6, "identifier": 0.6}
_BY_MEANING = {
    "bias": -6.0,
    "coverage": 3.4,
    "evidence": 2.7,
    "identifier": 2.3,
    "agreement": 0.6,
    "nearness": 6.8,
}


def judge(found: Sequence[Candidate], question: Question, query: str = "") -> Gate:
    """Return the verdict on a search.

    Args:
        found: Best first.
        question: What was searched for.
        query: The question as it was given; small talk asks for nothing.
    """
    if not question.terms:
        return Gate(inject=False, confidence=0.0, reasons=("the question has no searchable word",))
    if not found:
        return Gate(inject=False, confidence=0.0, reasons=("nothing was found",))
    signals = signals_of(found, question)
    if is_small_talk(query):
        reasons = ("the question is small talk",)
        return Gate(inject=False, confidence=0.0, signals=signals, reasons=reasons)
    weights = _BY_MEANING if len(_cosines(found)) >= _CROWD else _BY_WORDS
    total = weights["bias"] + sum(weights.get(name, 0.0) * value for name, value in signals.items())
    confidence = 1 / (1 + math.exp(-total))
    inject = confidence >= THRESHOLD and signals["coverage"] > 0
    return Gate(
        inject=inject,
        confidence=confidence,
        signals=signals,
        reasons=_reasons(signals, inject=inject),
    )


def signals_of(found: Sequence[Candidate], question: Question) -> Mapping[str, float]:
    """Return the raw numbers, each 0 to 1."""
    top = found[:3]
    lexical = max(found, key=lambda one: one.terms)
    nearest = max(found, key=lambda one: one.cosine or -1.0)
    wholes = [bit for bit, term in enumerate(question.terms) if is_whole(term)]
    named = any(one.row["has"] >> bit & 1 for one in top for bit in wholes)
    return {
        "coverage": max(_coverage(one, question) for one in top),
        "identifier": float(named),
        "agreement": float(nearest.cosine is not None and nearest is lexical and nearest.terms > 0),
        "nearness": _nearness(found),
        "evidence": max(_evidence(one, question) for one in top),
    }


def _coverage(one: Candidate, question: Question) -> float:
    """Return the share of the question's weight that the unit itself has."""
    weights: Sequence[float] = one.row["weights"]
    weighed = [
        (weight * (WHOLE if is_whole(term) else 1.0), bool(one.row["has"] >> bit & 1))
        for bit, (weight, term) in enumerate(zip(weights, question.terms, strict=True))
    ]
    whole = sum(weight for weight, _ in weighed)
    return sum(weight for weight, has in weighed if has) / whole if whole > 0 else 0.0


def _evidence(one: Candidate, question: Question) -> float:
    """Return how much a unit says of the question at all; one common word is nothing yet."""
    weights: Sequence[float] = one.row["weights"]
    has = (
        weight * (WHOLE if is_whole(term) else 1.0)
        for bit, (weight, term) in enumerate(zip(weights, question.terms, strict=True))
        if one.row["has"] >> bit & 1
    )
    enough = min(_ENOUGH, 4 * math.log1p(one.row["units"]))
    return min(1.0, sum(has) / enough)


def _nearness(found: Sequence[Candidate]) -> float:
    """Return how far the nearest stands out of the crowd; 0 without vectors.

    Twice the share of the crowd's distance from the question that it is nearer: cosines of one
    model lie between 0.8 and 0.9, those of another between 0.1 and 0.6.
    """
    distances = sorted(1 - cosine for cosine in _cosines(found))
    if len(distances) < _CROWD:
        return 0.0
    middle = distances[len(distances) // 2]
    return min(1.0, 2 * (1 - distances[0] / middle)) if middle > 0 else 0.0


def _cosines(found: Sequence[Candidate]) -> list[float]:
    return [one.cosine for one in found if one.cosine is not None]


def _reasons(signals: Mapping[str, float], *, inject: bool) -> tuple[str, ...]:
    told = [f"the best hit has {signals['coverage']:.0%} of the question, weighted by rarity"]
    if signals["identifier"]:
        told.append("it names an identifier of the question")
    if signals["agreement"]:
        told.append("words and meaning agree on it")
    told.append("sure enough to be injected" if inject else "not sure enough to be injected")
    return tuple(told)
