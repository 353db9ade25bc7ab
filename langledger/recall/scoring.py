"""From the raw numbers of the arms to an order; pure, and the same for the same rows.

The relevance of a unit is ``0.85 * (terms + 0.2 * phrase) + 0.15 * meaning``; of a question that
names no identifier, and all words of which no text has, ``0.75`` and ``0.25``.

- *terms*: its BM25 over that of a text of average length that has every term of the question, so it
  compares between questions; whole identifiers weigh half as much again.
- A day that the question names weighs half as much again.
- *phrase*: the share of :mod:`langledger.recall.phrases`. Among variants of a command, all of which
  have its words, it tells the one that was meant.
- *meaning*: the cosine between the worst and the best candidate. A text that has no vector yet is
  taken to be as near as half of the others. With more weight exact values fell behind what is only
  near them. Of such a question half of the better neighbour's cosine is added: a
  short turn means little without the one before it.

Of a question that names no identifier 0.15 of the better neighbour's relevance is added, and 0.05
of each of the three turns before and after: what people say is spread over turns.

Age is counted in whole days, up to the newest candidate, so that the order is the same whenever,
and in whatever order, equal rows come.

Reciprocal ranks lowered precision below BM25's own where both were measured, up to 10 hits; above
they are used.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median_low
from typing import Any
from uuid import UUID

from langledger.operations import Row
from langledger.recall.analysis import is_whole
from langledger.recall.build import LENDS, NEARNESS, speaker_of, text_of
from langledger.recall.dates import is_day
from langledger.recall.folding import (
    Candidate,
    asks,
    by_entry,
    fold,
    repeats,
    superseded,
    without_calls,
)
from langledger.recall.metadata import said_at
from langledger.recall.phrases import Pair, phrase_shares
from langledger.recall.tags import LASTING

__all__ = ["WHOLE", "Question", "metadata_of", "ranked"]

WHOLE = 1.5  # weight of a whole identifier over a word
_MEANING, _MEANING_OF_PLAIN = 0.15, 0.25
_NEIGHBOUR = 0.5  # of a neighbour's cosine
_PHRASE = 0.2
_DAY = 0.5  # what a day that the question names weighs more than a word
_BESIDE = 0.15  # of the better neighbour's score
_NEARBY = 0.05  # of each score near by
_NEAR_BY = (-3, -2, -1, 1, 2, 3)
_RANKS_FROM = 20  # hits
_RANK = 60
_FADING = 0.95  # a day
_OTHERS = 0.8  # of what is neither said by nor to the one whom the question names
_BEHIND = 0.999  # of the score of what has by itself all that a unit has, in part from it
_ASKS = 0.85  # of a message that ends in a question: what answers stands before it


@dataclass(frozen=True, slots=True)
class Question:
    """What was searched for.

    Attributes:
        terms: In the order of the bits of ``has``, and of ``around``.
        left_out: Terms of the question that were too common to be searched.
        pairs: Words that stand side by side in it.
    """

    terms: Sequence[str]
    left_out: int = 0
    pairs: Sequence[Pair] = ()


def ranked(rows: Sequence[Row], question: Question, *, wanted: int) -> list[Candidate]:
    """Return the best unit of each entry, best first: copies folded, what was replaced moved down.

    Args:
        rows: Of the statement ``search``.
        question: What was searched for.
        wanted: How many hits the caller will look at, those passed over included.
    """
    if not rows:
        return []
    best = _ideal(rows[0], question)
    days = [bit for bit, term in enumerate(question.terms) if is_day(term)]
    # The database gives them in any order, and of equal ones the first would be preferred.
    found = [_candidate(row, best, days) for row in sorted(rows, key=_place)]
    _relate(found, question, by_ranks=wanted > _RANKS_FROM)
    newest = max(_said_at(one.row) for one in found)
    speakers = _speakers(found, question)
    for one in found:
        _adjust(one, newest, speakers)
    _fall_behind(found)
    return superseded(by_entry(fold(without_calls(found), wanted * 2 + 10)))


def _place(row: Row) -> tuple[UUID, int, int]:
    return (row["space"], row["ref"], row["part"])


def _ideal(row: Row, question: Question) -> float:
    """Return the score of a text of average length that has every term of the question."""
    weights: Sequence[float] = row["weights"]
    return sum(
        weight * (WHOLE if is_whole(term) else 1.0)
        for weight, term in zip(weights, question.terms, strict=True)
    )


def _candidate(row: Row, best: float, days: Sequence[int]) -> Candidate:
    raw = row["words"] + WHOLE * row["wholes"]
    raw += _DAY * sum(row["weights"][bit] for bit in days if row["has"] >> bit & 1)
    return Candidate(
        space=row["space"],
        ref=row["ref"],
        part=row["part"],
        row=row,
        text=text_of(row["body"]),
        terms=raw / best if best > 0 else 0.0,
        cosine=row["cosine"],
        scores={"words": row["words"], "identifiers": row["wholes"]},
    )


def _relate(found: Sequence[Candidate], question: Question, *, by_ranks: bool) -> None:
    """Fuse the arms into the relevance of each."""
    shares = phrase_shares([one.text for one in found], question.pairs)
    for one, share in zip(found, shares, strict=True):
        one.score = one.terms + _PHRASE * share
        one.scores |= {"terms": one.terms, "phrase": share}
        if one.cosine is not None:
            one.scores["cosine"] = one.cosine
    near = any(one.cosine is not None for one in found)
    ranks = near and by_ranks
    if ranks:
        _by_ranks(found)
    elif near:
        plain = _is_plain(question, found)
        weight = _MEANING_OF_PLAIN if plain else _MEANING
        for one, meaning in zip(found, _meanings(found, neighbours=plain), strict=True):
            one.score = (1 - weight) * one.score + weight * meaning
    if not ranks and not any(map(is_whole, question.terms)):
        _lift(found)
    for one in found:
        one.scores["relevance"] = one.score


def _lift(found: Sequence[Candidate]) -> None:
    """Let what is said beside a candidate speak for it: an answer follows what asks for it."""
    said = [one for one in found if one.row["role"] != "tool"]
    at: dict[tuple[UUID, int], float] = {}
    for one in said:
        place = (one.space, one.ref)
        at[place] = max(one.score, at.get(place, 0.0))
    for one in said:
        near = [at.get((one.space, one.ref + step), 0.0) for step in _NEAR_BY]
        beside = max(at.get((one.space, one.ref + step), 0.0) for step in (-1, 1))
        one.score += _BESIDE * beside + _NEARBY * sum(near)


def _is_plain(question: Question, found: Sequence[Candidate]) -> bool:
    """Tell a question in words that no text has all of: then its meaning tells more."""
    every = (1 << len(question.terms)) - 1
    named = any(map(is_whole, question.terms))
    return not named and all(one.row["has"] != every for one in found)


def _meanings(found: Sequence[Candidate], *, neighbours: bool) -> list[float]:
    """Return how near each is in meaning, from 0, the worst, to 1, the best."""
    middle = median_low(one.cosine for one in found if one.cosine is not None)
    own = [middle if one.cosine is None else one.cosine for one in found]
    if neighbours:
        at: dict[tuple[UUID, int], float] = {}
        for one, cosine in zip(found, own, strict=True):
            place = (one.space, one.ref)
            at[place] = max(cosine, at.get(place, cosine))
        own = [
            cosine
            + _NEIGHBOUR * max(at.get((one.space, one.ref + step), middle) for step in (-1, 1))
            for one, cosine in zip(found, own, strict=True)
        ]
    low, high = min(own), max(own)
    return [(value - low) / ((high - low) or 1.0) for value in own]


def _by_ranks(found: Sequence[Candidate]) -> None:
    lexical = sorted(
        (one for one in found if one.terms > 0), key=lambda o: (-o.score, -o.ref, o.part, o.space)
    )
    near = sorted(
        (one for one in found if one.cosine is not None),
        key=lambda o: (-(o.cosine or 0.0), -o.ref, o.part, o.space),
    )
    for one in found:
        one.score = 0.0
    for arm, weight in ((lexical, 1.0), (near, 0.6)):
        for rank, one in enumerate(arm, start=1):
            one.score += weight * _RANK / (_RANK + rank)


def _said_at(row: Row) -> datetime:
    return said_at(row["metadata"], row["created_at"])


def _days(row: Row, newest: datetime) -> int:
    """Return a unit's age: from when it was said or used last, up to the newest candidate.

    A use is no newer than that: else one search in an old thread would let all the rest of it fade.
    """
    said = _said_at(row)
    used = min(row["last_at"] or said, newest)
    return (newest - max(said, used)).days


def _speakers(found: Sequence[Candidate], question: Question) -> list[int]:
    """Return the places of the question's terms that name somebody who talks here."""
    if any(map(is_whole, question.terms)):
        return []
    said = (one.text for one in found if one.row["role"] == "human")
    names = set[str]().union(*map(speaker_of, said))
    return [bit for bit, term in enumerate(question.terms) if term in names]


def _is_of(one: Candidate, speakers: Sequence[int]) -> bool:
    """Tell whether a unit is by, to or about one of these, as far as its words tell."""
    around: Sequence[float] = one.row["around"] or ()
    return any(one.row["has"] >> bit & 1 or (around and around[bit] > 0) for bit in speakers)


def _adjust(one: Candidate, newest: datetime, speakers: Sequence[int]) -> None:
    """Let age and importance weigh, each by a tenth at most; what only asks, and others, less."""
    lasting = not LASTING.isdisjoint(one.row["tags"])
    days = 0 if lasting else _days(one.row, newest)
    one.scores["decay"] = 0.9 + 0.2 * math.pow(_FADING, days)
    one.scores["importance"] = 0.9 + 0.2 * one.row["importance"]
    if "superseded" in one.row["tags"]:
        one.scores["superseded"] = 0.5
    if asks(one.text):
        one.scores["asks"] = _ASKS
    if speakers and not _is_of(one, speakers):
        one.scores["others"] = _OTHERS
    for factor in ("decay", "importance", "superseded", "asks", "others"):
        one.score *= one.scores.get(factor, 1.0)


def _fall_behind(found: Sequence[Candidate]) -> None:
    """Put what only answers "noted" behind the statement that lent it a word of the question.

    It is shorter, so that it would pass what says all that it says of the question, and more.
    """
    at: dict[tuple[UUID, int], list[Candidate]] = defaultdict(list)
    for one in found:
        if not asks(one.text):
            at[one.space, one.ref].append(one)
    for one in found:
        lent = _lent(one)
        if not lent:
            continue
        own = one.row["has"]
        before = (at.get((one.space, one.ref - step), ()) for step in range(1, LENDS + 1))
        lenders = (other for near in before for other in near)
        more = [
            other.score
            for other in lenders
            if (own | lent) & ~other.row["has"] == 0 and repeats(one.text, other.text)
        ]
        one.score = min(one.score, _BEHIND * max(more, default=math.inf))


def _lent(one: Candidate) -> int:
    """Return the bits of the terms that a unit has from the messages before it alone."""
    own, around = one.row["has"], one.row["around"] or ()
    most = max(NEARNESS.values()) + 0.01  # 0.6 comes as 0.60000002
    lent = (bit for bit, share in enumerate(around) if 0 < share <= most and not own >> bit & 1)
    return sum(1 << bit for bit in lent)


def metadata_of(row: Row) -> dict[str, Any]:
    """Return a hit's metadata: what was extracted, what the caller gave, and the tags."""
    stored: Mapping[str, Any] = row["metadata"]
    facts = {name: value for name, value in stored.items() if name != "given"}
    return {**facts, **stored.get("given", {}), "tags": list(row["tags"])}
