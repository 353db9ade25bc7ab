"""What a search is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.sql import Composed

__all__ = ["Found", "Gate", "Hit", "SearchRequest", "Text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One entry that a search found.

    Attributes:
        entry_id: The entry; the ``ref`` of a text indexed by another feature.
        message_id: The message id the entry was recorded with, where it had one.
        thread_id: The entry's thread; empty for a text of another feature.
        role: Of the message: ``human``, ``ai``, ``tool``, ``system``.
        text: The unit of it that was found, whole; with other units of it that would be hits by
            themselves, in reading order, ``…`` for what is left out between them.
        score: What the hits are ordered by, of the best unit; comparable within one search only.
        scores: Raw signals and factors: ``words``, ``identifiers``, ``cosine``, ``decay``, ...
        metadata: What was extracted from the text, what the caller gave, and its tags; of what was
            imported, ``said_at``, when it was said, as ISO text; ``left_out``, how many units that
            would be hits too did not fit into ``text``.
        created_at: When the entry was recorded.
        part: Place of the best unit within the entry, from 0.
        parts: Places of the units in ``text``.
        reasons: Why it stands where it stands, in words; empty unless ``explain`` was asked.
    """

    entry_id: int
    thread_id: str
    role: str
    text: str
    score: float
    scores: Mapping[str, float]
    metadata: Mapping[str, Any]
    created_at: datetime
    message_id: str | None = None
    part: int = 0
    parts: tuple[int, ...] = (0,)
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Whether what was found is sure enough to be put before a model unasked.

    Attributes:
        inject: The verdict.
        confidence: 0 to 1, calibrated; ``inject`` is that it reaches the threshold.
        signals: The raw numbers it was made of.
        reasons: The verdict in words.
    """

    inject: bool
    confidence: float
    signals: Mapping[str, float] = field(default_factory=dict[str, float])
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found.

    Attributes:
        query: The question as it was given.
        hits: Best first, ``k`` at most.
        gate: Whether they should be injected unasked.
        seconds: Time from request to answer.
    """

    query: str
    hits: list[Hit]
    gate: Gate
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What to search for, and where.

    Attributes:
        query: A question or some words; anything may stand in it.
        k: Most hits, each of an entry of its own.
        offset: Hits to pass over.
        spaces: Where to search; None for all threads of the tenant.
        filter: Conditions by name; see :mod:`langledger.recall.filters`.
        explain: Give each hit its reasons.
        noise: Search what is tagged as noise too.
        exclude: Entries that must not be found, such as those the view shows.
        touch: Note that the hits were used; their age then counts from now.
        within: A condition on the unit ``u`` (``u.tenant, u.space, u.ref, u.part``) that holds
            for all that is found.
        params: Parameters of ``within``.
        patience: Seconds that the question's vector is waited for; then words must do.
    """

    query: str
    k: int = 5
    offset: int = 0
    spaces: Sequence[UUID] | None = None
    filter: Mapping[str, Any] | None = None
    explain: bool = False
    noise: bool = False
    exclude: AbstractSet[int] = frozenset()
    touch: bool = True
    within: Composed | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    patience: float = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text to be indexed under a space of another feature.

    Attributes:
        ref: The feature's own number for what the text belongs to.
        text: What is searched; empty texts are left out.
        part: Place among the texts of the same ``ref``.
        metadata: JSON that filters can ask for, as ``metadata.<key>``.
        tags: Such as ``preference``.
        importance: 0 to 1.
        role: As of a message.
        created_at: Default: now.
    """

    ref: int
    text: str
    part: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tags: Sequence[str] = ()
    importance: float = 0.5
    role: str | None = None
    created_at: datetime | None = None
