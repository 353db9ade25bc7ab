"""Long-term facts of users: kept across their sessions, each with where it was said.

A fact is an item of the store in ``("facts", user)``, so that it can be seen, changed and
deleted there, and put there by the application: any item with a ``text`` is one. One that was
contradicted or replaced stays, marked, and is not brought up again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.store.base import GetOp, Op, PutOp, SearchItem, SearchOp
from psycopg.types.json import Jsonb

from langledger.arguments import check_text, check_whole
from langledger.database.queries import load_queries
from langledger.entries import Location, history_page
from langledger.memory import storing
from langledger.memory.fact_model import FactReader
from langledger.memory.fact_places import hashed, key_of, met_by, plain
from langledger.memory.facts import Fact, facts_in
from langledger.memory.indexing import Indexing
from langledger.memory.known_facts import (
    ACTIVE,
    KINDS,
    SUPERSEDED,
    KnownFact,
    facts_namespace,
    facts_of,
    put_fact,
)
from langledger.memory.places import FACTS, below
from langledger.memory.values import restored
from langledger.operations import Operation, Row, fetch
from langledger.state.statements.prose import user_text
from langledger.tokens import count_text

__all__ = ["UserFacts"]

_queries = load_queries("langledger.memory")
_MOST = 200  # of a user that are looked through
_NEAR = 200  # entries back that the user's message before may be
_FADES = 0.95  # a day
_BAND = 0.1  # how much of a score age may take or give
_RELEVANT = 0.25  # share of a question's words, weighted by rarity, that a fact must have
_PROFILE_TOKENS = 300  # of what is brought at the start of a session whatever is asked


@dataclass(frozen=True, slots=True)
class UserFacts:
    """The facts of a tenant's users. Its methods are operations.

    Attributes:
        tenant: Whose they are.
        indexing: How they are found.
        reader: A model that reads what rules miss; None: rules alone.
    """

    tenant: str
    indexing: Indexing
    reader: FactReader | None = None

    def learn(
        self,
        user_id: str,
        facts: Sequence[Fact],
        *,
        thread_id: str,
        entry_id: int,
        said_at: datetime | None = None,
        last: int | None = None,
    ) -> Operation[int]:
        """Keep facts that a user's message says; return how many are new or changed.

        Args:
            user_id: The user.
            facts: What the message says.
            thread_id: Where it was said.
            entry_id: The message.
            said_at: When it was said; None: now.
            last: The user's message before it, which it may take back; None: none.
        """
        if not facts:
            return 0
        known = {fact.key: fact for fact in (yield from self._all(user_id))}
        source = {"thread_id": thread_id, "entry_id": entry_id}
        at = said_at or datetime.now(UTC)
        ops: list[Op] = []
        changed = 0
        for fact in facts:
            met = met_by(fact, known, {**source, "entry_id": last})
            movable = [old for old in met if not _stands(old, source, at)]
            if _given_up(fact, source, known) or (met and not movable):
                continue
            if fact.withdrawn:
                written = [replace(old, status=SUPERSEDED) for old in movable]
                changed += len(movable)
            else:
                old = movable[0] if movable else None
                changed += old is None or old.text != fact.text
                written = _written(fact, old, source, at)
            known |= {one.key: one for one in written}
            ops += [put_fact(user_id, one) for one in written]
        if ops:
            yield from storing.batch(self.tenant, ops, self.indexing)
        return changed

    def learn_from(
        self,
        user_id: str,
        message: BaseMessage,
        *,
        thread_id: str,
        entry_id: int,
        scope: str = "",
    ) -> Operation[int]:
        """Keep what a user's message says of the user; return how many facts are new or changed.

        Only what the user typed is read: by rules now, and by the model in the background.
        """
        if not isinstance(message, HumanMessage):
            return 0
        if self.reader is not None:
            self.reader.notice(self, user_id, Location(self.tenant, thread_id, scope))
        facts = facts_in(user_text(message))
        last: int | None = None
        if any(fact.corrects or fact.takes_back == "last" for fact in facts):
            last = yield from _last_before(Location(self.tenant, thread_id, scope), entry_id)
        learned = self.learn(user_id, facts, thread_id=thread_id, entry_id=entry_id, last=last)
        return (yield from learned)

    def lines(
        self, user_id: str, query: str, *, opening: bool, thread_id: str
    ) -> Operation[list[str]]:
        """Return what other threads told that bears on a message, best first, a line each."""
        known = yield from self.known(user_id, query, opening=opening)
        return [
            f"From an earlier session ({fact.said_at:%Y-%m-%d}), the user said: {fact.text}"
            for fact in known
            if all(source["thread_id"] != thread_id for source in fact.sources)
        ]

    def known(
        self, user_id: str, query: str, *, opening: bool, limit: int = 5
    ) -> Operation[list[KnownFact]]:
        """Return the facts that bear on a message, best first.

        Args:
            user_id: The user.
            query: The message.
            opening: It opens a session: then what the user is and wants in general comes too.
            limit: Most facts that are found by what the message says.
        """
        found = yield from self.search(user_id, query, limit=limit)
        chosen = [fact for fact in found if fact.score >= _RELEVANT]
        if not opening:
            return chosen
        room = _PROFILE_TOKENS - sum(count_text(fact.text) for fact in chosen)
        rest = sorted((yield from self._all(user_id)), key=_importance)
        for fact in rest:
            size = count_text(fact.text)
            if fact.status == ACTIVE and size <= room and fact.key not in {f.key for f in chosen}:
                chosen.append(fact)
                room -= size
        return chosen

    def search(self, user_id: str, query: str, *, limit: int = 10) -> Operation[list[KnownFact]]:
        """Return the active facts that say something of a query, best first."""
        check_whole("limit", limit)
        if not query.strip():
            return []
        namespace, replaced = facts_namespace(user_id), {"$ne": SUPERSEDED}
        op = SearchOp(namespace, {"status": replaced}, limit=4 * limit, query=query)
        results = yield from storing.batch(self.tenant, [op], self.indexing)
        now = datetime.now(UTC)
        found = [_aged(fact, now) for fact in facts_of(results[0], namespace)]
        return sorted(found, key=lambda fact: (-fact.score, fact.key))[:limit]

    def all(self, user_id: str, *, superseded: bool = False) -> Operation[list[KnownFact]]:
        """Return a user's facts, the latest first.

        Args:
            user_id: The user.
            superseded: Those that were replaced too.
        """
        found = yield from self._all(user_id)
        return [fact for fact in found if superseded or fact.status == ACTIVE]

    def forget(self, user_id: str, key: str) -> Operation[bool]:
        """Delete a fact; return whether there was one."""
        namespace = facts_namespace(user_id)
        ops: list[Op] = [GetOp(namespace, check_text("key", key)), PutOp(namespace, key, None)]
        results = yield from storing.batch(self.tenant, ops, self.indexing)
        return results[0] is not None

    def forget_user(self, user_id: str) -> Operation[int]:
        """Delete all facts of a user, the replaced ones too, and what else is kept beside them.

        Returns:
            How many items that were.
        """
        gone, wanted = 0, SearchOp(facts_namespace(user_id), limit=_MOST)
        while True:
            results = yield from storing.batch(self.tenant, [wanted], self.indexing)
            found = cast("list[SearchItem]", results[0])
            ops: list[Op] = [PutOp(item.namespace, item.key, None) for item in found]
            yield from storing.batch(self.tenant, ops, self.indexing)
            gone += len(found)
            if len(found) < _MOST:
                return gone

    def forget_thread(self, thread_id: str) -> Operation[int]:
        """Delete what was said in a thread alone; return how many facts that were.

        A fact that was said elsewhere too stays, without this source.
        """
        check_text("thread_id", thread_id)
        rows = yield from fetch(
            _queries["facts_of_thread"],
            tenant=self.tenant,
            source=Jsonb([{"thread_id": thread_id}]),
            **below((FACTS,)),
        )
        ops = [_without(row, thread_id) for row in rows]
        if ops:
            yield from storing.batch(self.tenant, ops, self.indexing)
        return sum(op.value is None for op in ops)

    def _all(self, user_id: str) -> Operation[list[KnownFact]]:
        namespace = facts_namespace(user_id)
        op = SearchOp(namespace, limit=_MOST)
        results = yield from storing.batch(self.tenant, [op], self.indexing)
        return facts_of(results[0], namespace)


def _last_before(location: Location, entry_id: int) -> Operation[int | None]:
    """Return the user's message before an entry, as far as it is near; None where there is none."""
    after = max(0, entry_id - _NEAR - 1)
    page = yield from history_page(location, after=after, until=entry_id - 1, limit=_NEAR)
    said = (
        entry.entry_id
        for entry in reversed(page)
        if isinstance(entry.message, HumanMessage)
        and (entry.scope or "") == location.scope
        and user_text(entry.message).strip()
    )
    return next(said, None)


def _without(row: Row, thread_id: str) -> PutOp:
    """Return what is written of a fact when a thread it was said in is forgotten."""
    value: dict[str, Any] = restored(row["value"])
    value["sources"] = [
        source
        for source in value["sources"]
        if not (isinstance(source, dict) and source.get("thread_id") == thread_id)
    ]
    kept = value if value["sources"] else None
    return PutOp(tuple(row["namespace"]), row["key"], kept, index=["text"])


def _given_up(fact: Fact, source: dict[str, Any], known: dict[str, KnownFact]) -> bool:
    """Whether a message that is read again says what was replaced or withdrawn since."""
    return any(
        one.status == SUPERSEDED and source in one.sources and plain(one.text) == plain(fact.text)
        for one in known.values()
    )


def _stands(old: KnownFact, source: dict[str, Any], at: datetime) -> bool:
    """Whether a fact stands against what a message says: it is from there too, or from later."""
    thread_id = source["thread_id"]
    named = (one.get("entry_id", 0) for one in old.sources if one["thread_id"] == thread_id)
    here = [number for number in named if isinstance(number, int)]
    return max(here) >= source["entry_id"] if here else old.said_at > at


def _written(
    fact: Fact, old: KnownFact | None, source: dict[str, Any], at: datetime
) -> list[KnownFact]:
    """Return the facts to write: the new one, and the one it replaces, marked."""
    key = key_of(fact)
    new = KnownFact(
        key=key,
        text=fact.text,
        kind=fact.kind,
        slot=fact.slot,
        status=ACTIVE,
        superseded_by=None,
        sources=(source,),
        said_at=at,
    )
    if old is None:
        return [new]
    if plain(old.text) == plain(fact.text):
        return [replace(new, key=old.key, text=old.text, sources=(*old.sources, source))]
    kept = f"{old.key}-{hashed(old.text)}" if old.key == key else old.key
    return [replace(old, key=kept, status=SUPERSEDED, superseded_by=key), new]


def _aged(fact: KnownFact, now: datetime) -> KnownFact:
    days = max(0.0, (now - fact.said_at).total_seconds() / 86400)
    factor = 1.0 if fact.kind == "rule" else 1 - _BAND + 2 * _BAND * _FADES**days
    return replace(fact, score=fact.score * factor)


def _importance(fact: KnownFact) -> tuple[int, float, str]:
    return KINDS.get(fact.kind, len(KINDS)), -fact.said_at.timestamp(), fact.key
