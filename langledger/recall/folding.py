"""Hits that say the same as better ones, and statements that newer ones replace; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langledger.operations import Row
from langledger.recall.analysis import STOP, analyse

__all__ = [
    "Candidate",
    "asks",
    "by_entry",
    "fold",
    "order",
    "repeats",
    "superseded",
    "without_calls",
]

_REPLACED = 0.9
_AS_RELEVANT = 0.8  # of a statement's relevance, that one which replaces it has at least
_NOW = re.compile(
    r"\b(?:now|no longer|instead|changed?|switch(?:ed|ing)?|actually|not any ?more|moved to|"
    r"replaced?)\b"
    r"|不再|现在|改为|改成|换成|更新为|改用",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？]\s*\Z|[吗么呢][。!！\s]*\Z")
_IS = re.compile(
    r"\b(?:is|are|was|were|(?:changed|switched|moved) to)\b|改为|改成|换成|更新为|改用|[是为]",
    re.IGNORECASE,
)
_ASKING = frozenset({"make", "must", "only", "set", "still", "use", "used", "uses", "using"})
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_SAID = frozenset({"human", None})  # of a text of another feature the role may be unknown
_CALLS = 8  # entries after a call, among which its result is
_SHORT = 100  # characters of a statement about what one word names
_STATEMENT = 400  # characters; longer texts say more than one thing
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"[^\s,;()]+")
_CJK_WORD = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]")


@dataclass(slots=True, kw_only=True)
class Candidate:
    """A unit with its numbers; once folded, what its entry is found by.

    Attributes:
        others: The entry's other units that were found, best first.
    """

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
    others: list[Candidate] = field(default_factory=list["Candidate"])
    replaced_by: int | None = None


def order(one: Candidate) -> tuple[Any, ...]:
    """Return what candidates are sorted by: the score, then what is newer."""
    return (-one.score, -one.row["created_at"].timestamp(), -one.ref, one.part, one.space)


def asks(text: str) -> bool:
    """Tell a short text that ends in a question."""
    return len(text) <= _STATEMENT and _ASKS.search(text) is not None


def repeats(text: str, before: str) -> bool:
    """Tell a text that has at least half of its words from one before it: "noted, valve 3"."""
    own, given = (analyse(one).counts.keys() for one in (text, before))
    return 2 * len(own & given) >= len(own)


def fold(found: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return the first candidates without those that say the same as a better one before them.

    A copy that differs in a number or a name says something else.

    Args:
        found: Best first.
        most: How many entries are enough; those after them are left as they are.
    """
    kept: list[Candidate] = []
    bags: list[set[str]] = []
    entries: set[tuple[UUID, int]] = set()
    for place, one in enumerate(found):
        if len(entries) == most:
            return [*kept, *found[place:]]
        bag = set(_TOKEN.findall(one.text))
        twin = next((i for i, other in enumerate(kept) if _alike(one, other, bag, bags[i])), None)
        if twin is None:
            kept.append(one)
            bags.append(bag)
            entries.add((one.space, one.ref))
        elif one.ref != kept[twin].ref:
            kept[twin].same.append(one.ref)
    return kept


def by_entry(found: Sequence[Candidate]) -> list[Candidate]:
    """Return the best unit of each entry, with the entry's others in it; best first.

    Whoever asks for five hits wants five messages, not five pieces of one.
    """
    best: dict[tuple[UUID, int], Candidate] = {}
    for one in found:
        first = best.setdefault((one.space, one.ref), one)
        if first is not one:
            first.others.append(one)
            first.same += (ref for ref in one.same if ref not in first.same)
    return list(best.values())


def without_calls(found: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates without the calls whose results are among them, best first.

    A result's unit begins with its call, so that the call alone says nothing more; the result
    takes its place.
    """
    results: dict[tuple[UUID, int], list[Candidate]] = {}
    for one in found:
        if one.row["role"] == "tool":
            results.setdefault((one.space, one.ref), []).append(one)
    kept: list[Candidate] = []
    for one in found:
        result = _result(one, results) if one.row["role"] == "ai" else None
        if result is None:
            kept.append(one)
        else:
            result.score = max(result.score, one.score)
            result.same.append(one.ref)
    return sorted(kept, key=order)


def _result(
    call: Candidate, results: Mapping[tuple[UUID, int], Sequence[Candidate]]
) -> Candidate | None:
    """Return the best candidate that repeats a call before its result."""
    places = ((call.space, call.ref + step) for step in range(1, _CALLS + 1))
    near = [one for place in places for one in results.get(place, ())]
    line = " ".join(call.text.split()) if near else ""
    repeating = (one for one in near if line in " ".join(one.text.split()))
    return min(repeating, key=order, default=None)


def _alike(one: Candidate, other: Candidate, mine: set[str], theirs: set[str]) -> bool:
    if one.space != other.space or abs(len(one.text) - len(other.text)) > len(one.text) // 10:
        return False
    if abs(len(mine) - len(theirs)) > len(mine) // 10:
        return False
    differing = mine ^ theirs
    if len(differing) * 10 > len(mine):
        return False
    return all(word.isalpha() and word.islower() and len(word) < 12 for word in differing)


def superseded(found: list[Candidate]) -> list[Candidate]:
    """Put what a user said after what the user said later in its place.

    An agent says "actually" and "now" at every step, and takes nothing back by it; nor does a
    question, whatever it is about.
    """
    short = [o for o in found[:20] if len(o.text) <= _STATEMENT and o.row["role"] in _SAID]
    for newer in short:
        if not _NOW.search(newer.text) or _ASKS.search(newer.text):
            continue
        for older in short:
            if older.replaced_by is None and _replaces(newer, older):
                older.replaced_by = newer.ref
                older.score = min(older.score, newer.score) * _REPLACED
                older.scores["superseded"] = _REPLACED
    return sorted(found, key=order)


def _replaces(newer: Candidate, older: Candidate) -> bool:
    if newer.space != older.space or newer.ref <= older.ref:
        return False
    if newer.score < _AS_RELEVANT * older.score:
        return False
    mine, theirs = _subject(newer.text), _subject(older.text)
    shared = mine & theirs
    if len(shared) >= 2 and len(shared) * 2 >= min(len(mine), len(theirs)):
        return True
    return _tell_one_thing(newer.text, older.text)


def _tell_one_thing(newer: str, older: str) -> bool:
    """Tell whether two statements give a value each to the thing that one word names.

    One shared word alone would let "fix the tests now" replace "the tests need a server".
    """
    if max(len(newer), len(older)) > _SHORT:
        return False
    head, topic = _head(newer), _topic(newer)
    if len(head) == 1 and head == _head(older):
        return True
    figures, before = set(_FIGURE.findall(newer)), set(_FIGURE.findall(older))
    differ = bool(figures and before) and figures.isdisjoint(before)
    return differ and len(topic) == 1 and topic <= _topic(older)


def _head(text: str) -> set[str]:
    """Return the topic of what stands before "is"; empty where nothing is said to be."""
    parts = _IS.split(text, maxsplit=1)
    return _topic(parts[0]) if len(parts) == 2 else set()


def _topic(text: str) -> set[str]:
    """Return the words of a statement that name things: no figures, no words of change."""
    plain = _IS.sub(" ", _NOW.sub(" ", text.lower()))
    words = {word for word in _WORD.findall(plain) if not any(map(str.isdigit, word))}
    return {word for word in words if len(word) > 1} - STOP - _ASKING


def _subject(text: str) -> set[str]:
    """Return what a statement is about: its words of some length, or pairs of characters."""
    words = {word for word in _WORD.findall(text.lower()) if len(word) > 3 and word.isascii()}
    for run in re.findall(_CJK_WORD.pattern + "+", text):
        words |= {run[at : at + 2] for at in range(len(run) - 1)}
    return words
