"""From the raw numbers of the arms to an order; pure, and the same for the same rows.

The relevance of a unit is ``0.7 * terms + 0.3 * meaning``. *terms* is its BM25 over that of a text
that has every term of the question, so it compares between questions; whole identifiers weigh half
as much again. *meaning* is the cosine between the worst and the best candidate. Reciprocal ranks
lowered precision below BM25's own where both were measured, up to 10 hits; above they are used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from langledger.operations import Row
from langledger.recall.analysis import is_whole
from langledger.recall.build import text_of
from langledger.recall.tags import LASTING

__all__ = ["Candidate", "Question", "fold", "ranked"]

WHOLE = 1.5  # weight of a whole identifier over a word
CONTEXT = 0.5  # weight of a word of the messages before
_TERMS, _MEANING = 0.7, 0.3
_RANKS_FROM = 20  # hits
_RANK = 60
_FADING = 0.95  # a day
_REPLACED = 0.9
_NOW = re.compile(
    r"\b(?:now|no longer|instead|changed?|switch(?:ed|ing)?|actually|not any ?more|moved to|"
    r"replaced?)\b"
    r"|不再|现在|改为|改成|换成|更新为|改用",
    re.IGNORECASE,
)
_STATEMENT = 400  # characters; longer texts say more than one thing
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"[^\s,;()]+")
_CJK_WORD = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Question:
    """What was searched for.

    Attributes:
        terms: In the order of the bits of ``has`` and ``around``.
        left_out: Terms of the question that were too common to be searched.
    """

    terms: Sequence[str]
    left_out: int = 0


@dataclass(slots=True, kw_only=True)
class Candidate:
    """A unit with its numbers."""

    space: UUID
    ref: int
    part: int
    row: Row
    text: str
    terms: float
    cosine: float | None
    score: float = 0.0
    scores: dict[str, float] = field(default_factory=dict[str, float])
    same: list[int] = field(default_factory=list[int])
    replaced_by: int | None = None


def ranked(rows: Sequence[Row], question: Question, *, wanted: int) -> list[Candidate]:
    """Return the candidates, best first: duplicates folded, what was replaced moved down.

    Args:
        rows: Of the statement ``search``.
        question: What was searched for.
        wanted: How many hits the caller will look at, those passed over included.
    """
    if not rows:
        return []
    best = _ideal(rows[0], question)
    found = [_candidate(row, best) for row in rows]
    _relate(found, by_ranks=wanted > _RANKS_FROM)
    newest = max(_age_from(one.row) for one in found)
    for one in found:
        _adjust(one, newest)
    found.sort(key=_order)
    return _superseded(fold(found, wanted * 2 + 10))


def _order(one: Candidate) -> tuple[Any, ...]:
    return (-one.score, -one.row["created_at"].timestamp(), -one.ref, one.part, one.space)


def _ideal(row: Row, question: Question) -> float:
    """Return the score of a text of average length that has every term of the question."""
    weights: Sequence[float] = row["weights"]
    return sum(
        weight * (WHOLE if is_whole(term) else 1.0)
        for weight, term in zip(weights, question.terms, strict=True)
    )


def _candidate(row: Row, best: float) -> Candidate:
    raw = row["words"] + WHOLE * row["wholes"]
    return Candidate(
        space=row["space"],
        ref=row["ref"],
        part=row["part"],
        row=row,
        text=text_of(row["body"]),
        terms=min(1.0, raw / best) if best > 0 else 0.0,
        cosine=row["cosine"],
        scores={"words": row["words"], "identifiers": row["wholes"]},
    )


def _relate(found: Sequence[Candidate], *, by_ranks: bool) -> None:
    """Fuse the arms into the relevance of each."""
    cosines = [one.cosine for one in found if one.cosine is not None]
    for one in found:
        one.scores["terms"] = one.terms
        if one.cosine is not None:
            one.scores["cosine"] = one.cosine
    if not cosines:
        for one in found:
            one.score = one.terms
    elif by_ranks:
        _by_ranks(found)
    else:
        low, high = min(cosines), max(cosines)
        for one in found:
            meaning = 0.0 if one.cosine is None else (one.cosine - low) / ((high - low) or 1.0)
            one.score = _TERMS * one.terms + _MEANING * meaning
    for one in found:
        one.scores["relevance"] = one.score


def _by_ranks(found: Sequence[Candidate]) -> None:
    lexical = sorted(
        (one for one in found if one.terms > 0), key=lambda o: (-o.terms, -o.ref, o.part)
    )
    near = sorted(
        (one for one in found if one.cosine is not None),
        key=lambda o: (-(o.cosine or 0.0), -o.ref, o.part),
    )
    for arm, weight in ((lexical, 1.0), (near, 0.6)):
        for rank, one in enumerate(arm, start=1):
            one.score += weight * _RANK / (_RANK + rank)


def _age_from(row: Row) -> datetime:
    return max(row["created_at"], row["last_at"] or row["created_at"])


def _adjust(one: Candidate, newest: datetime) -> None:
    """Let age and importance weigh, each by a tenth at most."""
    lasting = not LASTING.isdisjoint(one.row["tags"])
    days = 0.0 if lasting else (newest - _age_from(one.row)).total_seconds() / 86_400
    one.scores["decay"] = 0.9 + 0.2 * math.pow(_FADING, max(0.0, days))
    one.scores["importance"] = 0.9 + 0.2 * one.row["importance"]
    if "superseded" in one.row["tags"]:
        one.scores["superseded"] = 0.5
    for factor in ("decay", "importance", "superseded"):
        one.score *= one.scores.get(factor, 1.0)


def fold(found: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return the first candidates without those that say the same as a better one before them.

    A copy that differs in a number or a name says something else.

    Args:
        found: Best first.
        most: How many are enough; those after them are left as they are.
    """
    kept: list[Candidate] = []
    bags: list[set[str]] = []
    for place, one in enumerate(found):
        if len(kept) == most:
            return [*kept, *found[place:]]
        bag = set(_TOKEN.findall(one.text))
        twin = next((i for i, other in enumerate(kept) if _alike(one, other, bag, bags[i])), None)
        if twin is None:
            kept.append(one)
            bags.append(bag)
        elif one.ref != kept[twin].ref:
            kept[twin].same.append(one.ref)
    return kept


def _alike(one: Candidate, other: Candidate, mine: set[str], theirs: set[str]) -> bool:
    if one.space != other.space or abs(len(one.text) - len(other.text)) > len(one.text) // 10:
        return False
    if abs(len(mine) - len(theirs)) > len(mine) // 10:
        return False
    differing = mine ^ theirs
    if len(differing) * 10 > len(mine):
        return False
    return all(word.isalpha() and word.islower() and len(word) < 12 for word in differing)


def _superseded(found: list[Candidate]) -> list[Candidate]:
    """Put statements after the newer ones that replace them."""
    short = [one for one in found[:20] if len(one.text) <= _STATEMENT and one.row["role"] != "tool"]
    for newer in short:
        if not _NOW.search(newer.text):
            continue
        for older in short:
            if older.replaced_by is None and _replaces(newer, older):
                older.replaced_by = newer.ref
                older.score = min(older.score, newer.score) * _REPLACED
                older.scores["superseded"] = _REPLACED
    return sorted(found, key=_order)


def _replaces(newer: Candidate, older: Candidate) -> bool:
    if (
        newer.space != older.space
        or newer.ref <= older.ref
        or newer.row["role"] != older.row["role"]
    ):
        return False
    mine, theirs = _subject(newer.text), _subject(older.text)
    shared = mine & theirs
    return len(shared) >= 2 and len(shared) * 2 >= min(len(mine), len(theirs))


def _subject(text: str) -> set[str]:
    """Return what a statement is about: its words of some length, or pairs of characters."""
    words = {word for word in _WORD.findall(text.lower()) if len(word) > 3 and word.isascii()}
    for run in re.findall(_CJK_WORD.pattern + "+", text):
        words |= {run[at : at + 2] for at in range(len(run) - 1)}
    return words


def metadata_of(row: Row) -> dict[str, Any]:
    """Return a hit's metadata: what was extracted, what the caller gave, and the tags."""
    stored: Mapping[str, Any] = row["metadata"]
    facts = {name: value for name, value in stored.items() if name != "given"}
    return {**facts, **stored.get("given", {}), "tags": list(row["tags"])}
