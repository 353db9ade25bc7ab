"""Facts of users as items of the store have them. Pure.

Items of an application beside them may have any shape: those with a text are facts too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from langgraph.store.base import PutOp, SearchItem

from langledger.arguments import check_text
from langledger.memory.places import FACTS

__all__ = [
    "ACTIVE",
    "KINDS",
    "SUPERSEDED",
    "KnownFact",
    "facts_namespace",
    "facts_of",
    "put_fact",
]

ACTIVE, SUPERSEDED = "active", "superseded"
KINDS = {"rule": 0, "profile": 1, "preference": 2}
"""What a fact may be, with its place in what is told when a session opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFact:
    """A fact as it is kept.

    Attributes:
        key: Its key in the store.
        text: What the user said.
        kind: ``profile``, ``preference`` or ``rule``.
        slot: What it is about, of which there is one value at a time; empty: nothing such.
        status: ``active`` or ``superseded``.
        superseded_by: Key of the fact that took its place; None: it was withdrawn.
        sources: Threads and entries where it was said: ``{"thread_id", "entry_id"}``.
        said_at: When it was said last.
        score: Of a search, its age counted in.
    """

    key: str
    text: str
    kind: str
    slot: str
    status: str
    superseded_by: str | None
    sources: tuple[dict[str, Any], ...]
    said_at: datetime
    score: float = 0.0


def facts_namespace(user_id: str) -> tuple[str, str]:
    """Return the store's namespace of a user's facts; labels may hold no period."""
    checked = check_text("user_id", user_id)
    return FACTS, checked.replace("%", "%25").replace(".", "%2E")


def put_fact(user_id: str, fact: KnownFact) -> PutOp:
    """Return what writes a fact; it is found by its text."""
    value = {
        "text": fact.text,
        "kind": fact.kind,
        "slot": fact.slot,
        "status": fact.status,
        "superseded_by": fact.superseded_by,
        "sources": list(fact.sources),
        "said_at": fact.said_at.isoformat(),
    }
    return PutOp(facts_namespace(user_id), fact.key, value, index=["text"])


def facts_of(items: object, namespace: tuple[str, ...]) -> list[KnownFact]:
    """Return the facts among the items that a search gave: those with a text, not further below.

    Args:
        items: The result of a ``SearchOp``.
        namespace: Where the user's facts are.
    """
    found = cast("list[SearchItem]", items)
    return [_fact(item) for item in found if item.namespace == namespace and _has_text(item.value)]


def _fact(item: SearchItem) -> KnownFact:
    """Return the fact that an item keeps; what somebody else put there may have any shape."""
    value = item.value
    texts = {name: part for name, part in value.items() if isinstance(part, str)}
    return KnownFact(
        key=item.key,
        text=texts["text"],
        kind=texts["kind"] if texts.get("kind") in KINDS else "preference",
        slot=texts.get("slot", ""),
        status=SUPERSEDED if texts.get("status") == SUPERSEDED else ACTIVE,
        superseded_by=texts.get("superseded_by"),
        sources=_sources(value.get("sources")),
        said_at=_time(texts.get("said_at"), item.updated_at),
        score=item.score or 0.0,
    )


def _sources(given: object) -> tuple[dict[str, Any], ...]:
    """Return where a fact was said, as far as that names threads."""
    listed = cast("list[object]", given) if isinstance(given, list) else []
    named = (cast("dict[str, Any]", one) for one in listed if isinstance(one, dict))
    return tuple(one for one in named if isinstance(one.get("thread_id"), str))


def _time(text: str | None, otherwise: datetime) -> datetime:
    try:
        said = datetime.fromisoformat(text or "")
    except ValueError:
        return otherwise
    return said if said.tzinfo is not None else said.replace(tzinfo=UTC)


def _has_text(value: Mapping[str, Any]) -> bool:
    text = value.get("text")
    return isinstance(text, str) and bool(text.strip())
