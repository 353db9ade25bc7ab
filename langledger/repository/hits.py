"""What a search of a repository answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CodeFound", "CodeHit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeHit:
    """A piece of code that a search found: a definition, or a part of a long one.

    Attributes:
        path: Below the root of the worktree, with ``/``.
        start_line: First line, from 1.
        end_line: Last line, inclusive.
        symbol: The innermost definition around it (``Class.method``); empty: the file itself.
        kind: Of that definition: ``function``, ``class``, ``method``, ``file``, ...
        text: The lines.
        tokens: Their size.
        score: What the hits are ordered by; comparable within one search only.
        scores: ``words`` (its BM25), ``file`` (its file's score), ``named`` (what the question's
            naming it or its file adds), ``meant`` (what naming it adds), ``mentioned`` (1: the
            question names its file), ``terms`` and ``share`` (how many telling terms of the
            question it holds, and their share by weight).
        metadata: ``language``, ``is_test``, ``apart`` (a test that was not asked for), ``asked``
            (a brief question names it); and of its definition: ``definition`` (its number in the
            file), ``signature``, ``first_line`` and ``last_line``.
        reasons: Why it stands where it stands; empty unless ``explain`` was asked.
    """

    path: str
    start_line: int
    end_line: int
    symbol: str
    kind: str
    text: str
    tokens: int
    score: float
    scores: Mapping[str, float]
    metadata: Mapping[str, Any]
    reasons: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Path and lines, as an editor takes them."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFound:
    """What a search found.

    Attributes:
        query: As it was given.
        hits: Best first, ``k`` at most; tests after the rest unless they were asked for.
        files: All files that were looked at with their scores, best first.
        seconds: From request to answer.
        reasons: What was left out or did not work.
    """

    query: str
    hits: list[CodeHit]
    files: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    seconds: float = 0.0
    reasons: tuple[str, ...] = ()
