"""Hits to a text within a budget: whole pieces, each with its path and lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langledger.repository.hits import CodeHit
from langledger.tokens import count_text

__all__ = ["Pack", "Related", "pack"]

_SMALL = 100  # tokens; what is shorter is not preferred any more
_BREVITY = 0.2  # short pieces first: three that may be it are worth more than a long one
_RELATED_SHARE = 0.2  # of the budget, where there is anything
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
class Pack:
    """What fits into a budget.

    Attributes:
        text: For a model to read.
        hits: Those in it.
        tokens: Of the text.
    """

    text: str
    hits: tuple[CodeHit, ...]
    tokens: int


def pack(
    hits: Sequence[CodeHit],
    budget: int,
    *,
    related: Sequence[Related] = (),
    recent: Sequence[str] = (),
) -> Pack:
    """Return the hits that fit, whole, and beside them signatures of what is related.

    Args:
        hits: Best first.
        budget: Tokens of the text.
        related: Best first; a fifth of the budget at most.
        recent: Files being worked on, named in a line.
    """
    head = f"Being worked on: {', '.join(recent)}" if recent else ""
    room = budget - (count_text(head) + 2 if head else 0)
    aside = _signatures(related, int(room * _RELATED_SHARE)) if related else ""
    room -= count_text(aside) + 2 if aside else 0
    chosen: list[CodeHit] = []
    for hit in sorted(hits, key=_worth):
        size = count_text(_shown(hit)) + 1
        if size <= room:
            chosen.append(hit)
            room -= size
    order = {id(hit): place for place, hit in enumerate(hits)}
    chosen.sort(key=lambda hit: order[id(hit)])
    while chosen:
        text = _FENCE.join(part for part in (head, *map(_shown, chosen), aside) if part)
        size = count_text(text)
        if size <= budget:
            return Pack(text, tuple(chosen), size)
        chosen.pop()  # tokens of the whole may be a few more than those of its parts
    return Pack("", (), 0)


def _worth(hit: CodeHit) -> tuple[bool, float, str, int]:
    return (
        hit.metadata["apart"],
        -hit.score / max(hit.tokens, _SMALL) ** _BREVITY,
        hit.path,
        hit.start_line,
    )


def _shown(hit: CodeHit) -> str:
    symbol = f" {hit.symbol}" if hit.symbol else ""
    part = ""
    first, last = hit.metadata["first_line"], hit.metadata["last_line"]
    if hit.symbol and (hit.start_line > first or hit.end_line < last):
        part = f" (part of lines {first}-{last})"
    return f"## {hit.place}{symbol}{part}\n{hit.text.strip(chr(10)).rstrip()}"


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
