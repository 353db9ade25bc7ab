"""What is shown of the entries that were found: the best unit of each, and others that bear too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langledger.recall.folding import Candidate, order
from langledger.recall.metadata import said_at
from langledger.recall.types import Hit
from langledger.recall.units import LONGEST

__all__ = ["GAP", "Shown", "as_told", "joined", "shown"]

GAP = "\n…\n"
"""Stands where units of an entry are left out."""
_BEARS = 0.25  # of the best unit's score; with a half exact lines were lost
_AS_GOOD = 0.8  # of the last hit's score: copies of one output may take all places before it
_ROOM = 5 * LONGEST // 2  # characters a hit, for whichever hit has the units that stand highest


@dataclass(slots=True)
class Shown:
    """A hit and the units of its entry that are shown.

    Attributes:
        best: What it was found by.
        units: In reading order; ``best`` is one of them.
        left_out: Others that bear as much on the question, for which there was no room.
    """

    best: Candidate
    units: list[Candidate]
    left_out: int = 0


def shown(page: Sequence[Candidate]) -> list[Shown]:
    """Return what is shown of each hit.

    Beside the best unit of each those that have a quarter of its score and four fifths of the last
    hit's, as long as there is room.

    Args:
        page: Hits, best first.
    """
    told = [Shown(one, [one]) for one in page]
    room = _ROOM * len(page) - sum(len(one.text) for one in page)
    others = [(hit, other) for hit in told for other in hit.best.others]
    for hit, other in sorted(others, key=lambda pair: order(pair[1])):
        if other.score < max(_BEARS * hit.best.score, _AS_GOOD * page[-1].score):
            continue
        if len(other.text) <= room:
            hit.units.append(other)
            room -= len(other.text)
        else:
            hit.left_out += 1
    for hit in told:
        hit.units.sort(key=lambda unit: unit.part)
    return told


def joined(units: Sequence[Candidate]) -> str:
    """Return units of one entry as one text; the call that each begins with stands there once."""
    texts = [unit.text for unit in units]
    heads = {text.partition("\n")[0] for text in texts}
    if units[0].row["role"] == "tool" and len(heads) == 1:
        texts[1:] = [text.partition("\n")[2] for text in texts[1:]]
    told = texts[0]
    for before, unit, text in zip(units, units[1:], texts[1:], strict=False):
        told += ("\n\n" if unit.part == before.part + 1 else GAP) + text
    return told


def as_told(hit: Hit) -> str:
    """Return a hit as an agent reads it: which entry, whose and when, its text."""
    moment = said_at(hit.metadata, hit.created_at)
    told = f"#{hit.entry_id} ({hit.role}, {moment:%Y-%m-%d %H:%M}):\n{hit.text}"
    if more := hit.metadata.get("left_out"):
        told += f"\n({more} more pieces of #{hit.entry_id} bear on it)"
    return told
