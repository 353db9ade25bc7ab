"""Hits to a text within a budget: whole pieces, each with its path and lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langledger.repository.hits import CodeHit
from langledger.tokens import count_text

__all__ = ["Pack", "Related", "Whole", "pack"]

_SMALL = 100  # tokens; what is shorter is not preferred any more
_BREVITY = 0.2  # short pieces first: three that may be it are worth more than a long one
_RELATED_SHARE = 0.2  # of the budget, where there is anything
_HEAD_SHARE = 0.1  # of the budget
_ALIKE = 4  # paths of one text
_PLACES = 40
_TOKENS_A_FILE = 1000  # of the budget, for each file of which the best hit is taken at any rate
_FENCE = "\n\n"


@dataclass(frozen=True, slots=True)
class Related:
    """A definition that a hit refers to, or that refers to it: its signature alone.

    Attributes:
        path: Its file.
        line: Where it begins.
        symbol: Its qualified name.
        signature: Its head.
        how: Such as ``called by Store.save``.
    """

    path: str
    line: int
    symbol: str
    signature: str
    how: str


@dataclass(frozen=True, slots=True)
class Whole:
    """A definition that shall be given whole, up to half of the budget.

    Attributes:
        hit: The piece of it that was found.
        pieces: All of it, with the definitions within it, in the order of lines; where they are too
            many, the first of its own are given.
    """

    hit: CodeHit
    pieces: Sequence[CodeHit]


@dataclass(frozen=True, slots=True)
class Pack:
    """What fits into a budget.

    Attributes:
        text: For a model to read.
        hits: Those in it.
        tokens: Of the text.
        found: Whether there was anything to give.
    """

    text: str
    hits: tuple[CodeHit, ...]
    tokens: int
    found: bool = True


def pack(
    hits: Sequence[CodeHit],
    budget: int,
    *,
    firm: Sequence[Whole] = (),
    related: Sequence[Related] = (),
    recent: Sequence[str] = (),
) -> Pack:
    """Return the hits that fit, whole, and beside them signatures of what is related.

    Args:
        hits: Best first.
        budget: Tokens of the text.
        firm: What goes before all else.
        related: Best first; a fifth of the budget at most.
        recent: Files being worked on, named in a line of a tenth of the budget at most.

    Returns:
        Where no hit fits, the places of as many as fit.
    """
    head = _head(recent, int(budget * _HEAD_SHARE))
    room = budget - (count_text(head) + 2 if head else 0)
    aside = _signatures(related, int(room * _RELATED_SHARE)) if related else ""
    filling = _Filling(hits, firm, room - (count_text(aside) + 2 if aside else 0))
    filling.take_firm()
    missing = filling.missing()
    filling.take_files(budget // _TOKENS_A_FILE)
    filling.take_rest()
    chosen = filling.chosen()
    while chosen:
        shown = map(_shown, _runs(chosen))
        text = _FENCE.join(part for part in (head, *shown, missing, aside) if part)
        size = count_text(text)
        if size <= budget:
            return Pack(text, tuple(hit for part in chosen for hit in part.at), size)
        chosen.pop()  # tokens of the whole may be a few more than those of its parts
    text = _places("Found, but larger than the budget:\n", hits[:_PLACES], budget)
    return Pack(text, (), count_text(text), found=bool(hits))


@dataclass(frozen=True, slots=True)
class _Part:
    """A text that is given once, with the hits that have it: a file may be at two paths."""

    at: list[CodeHit]

    @property
    def hit(self) -> CodeHit:
        return self.at[0]


class _Filling:
    """Parts that are taken as long as there is room."""

    def __init__(self, hits: Sequence[CodeHit], firm: Sequence[Whole], room: int) -> None:
        self._hits, self._firm = hits, firm
        self._room, self._half = room, room // 2
        self._parts = _parts([*(hit for whole in firm for hit in whole.pieces), *hits])
        self._ranks: dict[str, int] = {}  # of the texts that are taken
        self._order: dict[tuple[str, int], int] = {}  # of the definitions
        for rank, hit in enumerate(hits, start=len(firm)):
            self._order.setdefault(_definition(hit), rank)

    def take_firm(self) -> None:
        """Take definitions that shall be given whole."""
        for rank, whole in enumerate(self._firm):
            pieces = _fitting(whole, self._half)
            least = 0 if pieces is whole.pieces else self._room - self._half
            for place, hit in enumerate(pieces):
                if not self._take(hit, rank, least if place else 0):
                    break  # what follows would stand without what is before it

    def missing(self) -> str:
        """Return a line of those of which there was no room for a piece, and take its room."""
        left = [
            whole.hit
            for whole in self._firm
            if not any(hit.text in self._ranks for hit in whole.pieces)
        ]
        line = _places("Larger than the room here:\n", left, self._room)
        self._room -= count_text(line) + 2 if line else 0
        return line

    def take_files(self, most: int) -> None:
        """Take the best hit for its length of each of the best files."""
        best: dict[str, CodeHit] = {}
        for hit in sorted(self._hits, key=_worth):
            if not hit.metadata["apart"]:
                best.setdefault(hit.path, hit)
        files = sorted(best.values(), key=lambda hit: -hit.scores.get("file", 0.0))
        for hit in files[:most]:
            self._take(hit, self._order[_definition(hit)])

    def take_rest(self) -> None:
        """Take hits, the best for their length first; those of a definition stay together."""
        for hit in sorted(self._hits, key=_worth):
            self._take(hit, self._order[_definition(hit)])

    def chosen(self) -> list[_Part]:
        """Return what was taken: what is firm, then the rest, each in the order of the hits."""
        parts = [self._parts[text] for text in self._ranks]
        return sorted(parts, key=lambda one: (self._ranks[one.hit.text], one.hit.start_line))

    def _take(self, hit: CodeHit, rank: int, least: int = 0) -> bool:
        """Take a hit if so much room stays, and say whether it is there."""
        if hit.text not in self._ranks:
            size = count_text(_shown([self._parts[hit.text]])) + 1
            if self._room - size < least:
                return False
            self._ranks[hit.text] = rank
            self._room -= size
        return True


def _fitting(whole: Whole, most: int) -> Sequence[CodeHit]:
    """Return the pieces of a definition, or of a long one those that are not of others within."""
    if len(whole.pieces) == 1 or sum(hit.tokens for hit in whole.pieces) <= most:
        return whole.pieces
    number = whole.hit.metadata["definition"]
    return [hit for hit in whole.pieces if hit.metadata["definition"] == number]


def _parts(hits: Sequence[CodeHit]) -> dict[str, _Part]:
    found: dict[str, dict[str, CodeHit]] = {}
    for hit in hits:
        found.setdefault(hit.text, {}).setdefault(hit.place, hit)
    return {text: _Part(list(same.values())[:_ALIKE]) for text, same in found.items()}


def _definition(hit: CodeHit) -> tuple[str, int]:
    return hit.path, hit.metadata["definition"]


def _worth(hit: CodeHit) -> tuple[bool, float, str, int]:
    return (
        hit.metadata["apart"],
        -hit.score / max(hit.tokens, _SMALL) ** _BREVITY,
        hit.path,
        hit.start_line,
    )


def _runs(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Return parts that follow each other in a file together."""
    runs: list[list[_Part]] = []
    for part in parts:
        last = runs[-1][-1] if runs else None
        if last and len(last.at) == len(part.at) == 1 and _follows(last.hit, part.hit):
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _follows(one: CodeHit, other: CodeHit) -> bool:
    return one.path == other.path and other.start_line - one.end_line in (0, 1)


def _shown(run: Sequence[_Part]) -> str:
    first, last = run[0].hit, run[-1].hit
    names: list[str] = []
    for name in (part.hit.symbol for part in run):
        if name and not any(name == outer or name.startswith(f"{outer}.") for outer in names):
            names.append(name)
    begin, end = first.metadata["first_line"], first.metadata["last_line"]
    told = f"{first.path}:{first.start_line}-{last.end_line}"
    told += f" {', '.join(names)}" if names else ""
    if len(names) == 1 and (first.start_line > begin or last.end_line < end):
        told += f" (part of lines {begin}-{end})"
    if others := [hit.place for hit in run[0].at[1:]]:
        told += f" (the same at {', '.join(others)})"
    text = "".join(part.hit.text for part in run)
    return f"## {told}\n{text.strip(chr(10)).rstrip()}"


def _head(recent: Sequence[str], budget: int) -> str:
    named = list(recent)
    while named:
        head = f"Being worked on: {', '.join(named)}"
        if count_text(head) <= budget:
            return head
        named.pop()
    return ""


def _places(title: str, hits: Sequence[CodeHit], budget: int) -> str:
    """Return where hits are, as many as fit."""
    text = title
    for hit in hits:
        longer = f"{text}{hit.place} {hit.symbol}".rstrip() + "\n"
        if count_text(longer) > budget:
            break
        text = longer
    return text.rstrip() if text != title else ""


def _signatures(related: Sequence[Related], budget: int) -> str:
    lines = ["## Related"]
    room = budget - count_text(lines[0])
    for one in related:
        line = f"{one.path}:{one.line} {one.signature}  # {one.how}"
        size = count_text(line) + 1
        if size > room:
            break
        room -= size
        lines.append(line)
    return "\n".join(lines) if len(lines) > 1 else ""
