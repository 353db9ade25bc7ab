"""Operations of the store: a batch of reads and writes in one round trip."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, cast
from uuid import UUID

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from psycopg.sql import SQL

from langledger.arguments import check_whole, shown
from langledger.database.queries import load_queries
from langledger.encryption import Content, Later, Vault
from langledger.encryption.marks import Many, Spell
from langledger.encryption.places import STORE_VALUE
from langledger.errors import ConfigurationError
from langledger.memory.filters import Condition, condition_of, meets
from langledger.memory.indexing import Indexing, Unit, query_terms
from langledger.memory.places import (
    FACTS,
    below,
    check_operation,
    item_id,
    key_in,
    matching,
    place_of,
)
from langledger.memory.values import dump_json, restored
from langledger.operations import Operation, Query, Row, fetch, fetch_all
from langledger.recall.analysis import analyse

__all__ = ["batch", "beside", "check_minutes", "reindex", "respelled", "sweep"]

_queries = load_queries("langledger.memory")

_PAGE = 200
_MOST_DECRYPTED = 20_000  # items that a filter may make a search decrypt
_IS_ONE_OF = SQL("i.item_id = ANY({wanted}::uuid[])")
_LONGEST_TTL = 60 * 24 * 365 * 1000  # minutes; a thousand years


@dataclass(slots=True)
class _Plan:
    """Statements of a batch, and what becomes of their rows."""

    results: list[Result]
    queries: list[Query] = field(default_factory=list[Query])
    readers: list[Callable[[list[Row]], None] | None] = field(
        default_factory=list[Callable[[list[Row]], None] | None]
    )

    def add(self, query: Query, reader: Callable[[list[Row]], None] | None = None) -> None:
        self.queries.append(query)
        self.readers.append(reader)

    def run(self) -> Operation[None]:
        if not self.queries:
            return
        found = yield from fetch_all(*self.queries)
        for rows, reader in zip(found, self.readers, strict=True):
            if reader is not None:
                reader(rows)


def batch(tenant: str, ops: Sequence[Op], indexing: Indexing) -> Operation[list[Result]]:
    """Run operations of a store; what is read is what was there before what is written.

    Of several writes to one place the last holds. Embedding is done before, while no
    connection is held.

    Args:
        tenant: Whose items they are.
        ops: As LangGraph's stores take them.
        indexing: How items are found by what they say.

    Returns:
        The result of each operation, in order.
    """
    ops = [check_operation(op) for op in ops]
    plan = _Plan([None] * len(ops))
    gets: list[tuple[int, GetOp]] = []
    puts: dict[tuple[str, str], PutOp] = {}
    for n, op in enumerate(ops):
        if isinstance(op, GetOp):
            gets.append((n, op))
        elif isinstance(op, SearchOp):
            yield from _plan_search(plan, tenant, n, op, indexing)
        elif isinstance(op, PutOp):
            puts[place_of(op.namespace, op.key)] = op
        else:
            _plan_namespaces(plan, tenant, n, op)
    _plan_gets(plan, tenant, gets)
    yield from _plan_writes(plan, tenant, puts, indexing)
    yield from plan.run()
    return plan.results


def sweep(tenant: str, *, most: int) -> Operation[int]:
    """Delete up to ``most`` items that expired; return how many."""
    rows = yield from fetch(_queries["sweep_items"], tenant=tenant, most=most)
    return len(rows)


def reindex(tenant: str, indexing: Indexing) -> Operation[int]:
    """Make the units of all items anew; return how many items there are.

    An item that is written meanwhile is left as its writer left it.
    """
    done, after = 0, None
    while True:
        rows = yield from fetch(_queries["items_after"], tenant=tenant, after=after, limit=_PAGE)
        for row in rows:
            op = PutOp(tuple(row["namespace"]), row["key"], restored(row["value"]))
            units = indexing.units(row["item_id"], op)
            yield from indexing.embed(units)
            if units:
                number, as_of = row["item_id"], row["updated_at"]
                held = {"tenant": tenant, "item_id": number, "updated_at": as_of}
                yield from fetch_all(
                    Query(_queries["hold_item"], held),
                    _delete_units(tenant, [number], as_of=as_of),
                    _put_units(tenant, units, indexing, as_of=as_of),
                )
        done += len(rows)
        if len(rows) < _PAGE:
            return done
        after = rows[-1]["item_id"]


def _plan_gets(plan: _Plan, tenant: str, gets: Sequence[tuple[int, GetOp]]) -> None:
    if not gets:
        return

    def read(rows: list[Row]) -> None:
        for row in rows:
            plan.results[gets[row["ord"] - 1][0]] = Item(**_fields(row))

    places = [place_of(op.namespace, op.key) for _, op in gets]
    params = {
        "tenant": tenant,
        **_places(places),
        "refresh": [bool(op.refresh_ttl) for _, op in gets],
    }
    plan.add(Query(_queries["get_items"], params), read)


def _plan_search(
    plan: _Plan, tenant: str, n: int, op: SearchOp, indexing: Indexing
) -> Operation[None]:
    def read(rows: list[Row]) -> None:
        if rows and rows[0].get("strangers"):
            indexing.warn_of(rows[0]["strangers"])
        items = [_search_item(row) for row in rows if row["key"] is not None]
        # Where the database did not compare, what was changed meanwhile may have come too.
        plan.results[n] = [item for item in items if meets(item.value, op.filter or {})]

    condition = condition_of(op.filter)
    if op.filter and indexing.encrypts:
        condition = Condition()
        condition.add(_IS_ONE_OF, wanted=(yield from _meeting(tenant, op)))
    params = {
        **condition.params,
        **below(tuple(op.namespace_prefix)),
        **_page(op),
        "tenant": tenant,
        "refresh": bool(op.refresh_ttl),
    }
    name = "list_items"
    if op.query is not None and not isinstance(op.query, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
        raise ConfigurationError(f"query must be a string, not {shown(op.query)}")
    if op.query:
        name = "search_items"
        vector = yield from indexing.embed_query(op.query)
        terms = Later(partial(_asked, query_terms(op.query)))
        params |= {"terms": terms, **indexing.params(vector)}
    sql = SQL(_queries[name]).format(condition=condition.sql(), similarity=indexing.similarity)
    plan.add(Query(sql, params), read)


def _meeting(tenant: str, op: SearchOp) -> Operation[list[UUID]]:
    """Return the numbers of the items below a namespace that a filter accepts, once decrypted.

    Raises:
        ConfigurationError: There are too many items to decrypt.
    """
    where = {"tenant": tenant, "limit": _PAGE, **below(tuple(op.namespace_prefix))}
    found: list[UUID] = []
    read, after = 0, None
    while True:
        rows = yield from fetch(_queries["items_below"], **where, after=after)
        found += [row["item_id"] for row in rows if meets(restored(row["value"]), op.filter or {})]
        read += len(rows)
        if len(rows) < _PAGE:
            return found
        if read >= _MOST_DECRYPTED:
            raise ConfigurationError(
                f"a filter of an encrypted store decrypts all items below its namespace, and more "
                f"than {_MOST_DECRYPTED:,} are below {op.namespace_prefix!r:.80}: name a longer "
                "namespace, or leave the filter out"
            )
        after = rows[-1]["item_id"]


def _plan_namespaces(plan: _Plan, tenant: str, n: int, op: ListNamespacesOp) -> None:
    def read(rows: list[Row]) -> None:
        plan.results[n] = [tuple(row["namespace"]) for row in rows]

    depth = None if op.max_depth is None else check_whole("max_depth", op.max_depth)
    condition = matching(op)
    params = {**condition.params, **_page(op), "tenant": tenant, "depth": depth}
    sql = SQL(_queries["list_namespaces"]).format(condition=condition.sql())
    plan.add(Query(sql, params), read)


def _plan_writes(
    plan: _Plan, tenant: str, puts: Mapping[tuple[str, str], PutOp], indexing: Indexing
) -> Operation[None]:
    """Plan deletions and insertions, and what they change of the index."""
    gone = [place for place, op in puts.items() if op.value is None]
    kept = {place: op for place, op in puts.items() if op.value is not None}
    if gone:
        plan.add(Query(_queries["delete_items"], {"tenant": tenant, **_places(gone)}))
        numbers = {"tenant": tenant, "item_ids": _numbers(gone)}
        plan.add(Query(_queries["delete_units_of_gone"], numbers))
    if kept:
        plan.add(Query(_queries["put_items"], {"tenant": tenant, **_written(kept)}))
        # After the items, whose rows are held from then on.
        plan.add(_delete_units(tenant, _numbers(kept)))
    units = [unit for place, op in kept.items() for unit in indexing.units(item_id(*place), op)]
    yield from indexing.embed(units)
    if units:
        plan.add(_put_units(tenant, units, indexing))


def _places(places: Iterable[tuple[str, str]]) -> dict[str, Any]:
    chosen = list(places)
    return {
        "namespaces": [namespace for namespace, _ in chosen],
        "keys": Many(key_in(*place) for place in chosen),
    }


def _numbers(places: Iterable[tuple[str, str]]) -> list[UUID]:
    return Many(item_id(*place) for place in places)


def _delete_units(tenant: str, numbers: list[UUID], *, as_of: datetime | None = None) -> Query:
    params = {"tenant": tenant, "item_ids": numbers, "as_of": as_of}
    return Query(_queries["delete_units"], params)


def _put_units(
    tenant: str, units: Sequence[Unit], indexing: Indexing, *, as_of: datetime | None = None
) -> Query:
    found = [analyse(unit.text) for unit in units]
    params = {
        "tenant": tenant,
        "as_of": as_of,
        "item_ids": Many(unit.item_id for unit in units),
        "parts": [unit.part for unit in units],
        "sizes": [analysis.size for analysis in found],
        "terms": Many(Later(partial(_terms, analysis.counts), writes=True) for analysis in found),
        "counts": Many(Later(partial(_counts, analysis.counts)) for analysis in found),
        "models": [indexing.maker_of(unit.vector) for unit in units],
        "vectors": [unit.vector for unit in units],
    }
    return Query(_queries["put_units"], params)


def _terms(counts: Mapping[str, int], vault: Vault | None) -> str:
    return " ".join(_spelled(counts, vault))


def _counts(counts: Mapping[str, int], vault: Vault | None) -> str:
    return " ".join(map(str, _spelled(counts, vault).values()))


def _spelled(counts: Mapping[str, int], vault: Vault | None) -> Mapping[str, int]:
    """Return how often each term occurs, as it is stored; hashed, in no order that tells."""
    if vault is None or not vault.keyed:
        return counts
    spelled: Counter[str] = Counter()
    for term, times in counts.items():
        spelled[vault.spell(term)] += times
    return dict(sorted(spelled.items()))


def respelled(terms: Sequence[str], counts: Sequence[int], vault: Vault) -> tuple[str, str]:
    """Return a piece's terms and counts that are in clear as an encrypted tenant has them."""
    times = dict(zip(terms, counts, strict=True))
    return _terms(times, vault), _counts(times, vault)


def _asked(terms: Sequence[str], vault: Vault | None) -> list[str]:
    return list(terms) if vault is None else list(dict.fromkeys(map(vault.spell, terms)))


def _written(kept: Mapping[tuple[str, str], PutOp]) -> dict[str, Any]:
    ttls = [op.ttl for op in kept.values()]
    return {
        **_places(kept),
        "item_ids": _numbers(kept),
        "values": Many(_value(place, op) for place, op in kept.items()),
        "indexed": [op.index is not False for op in kept.values()],
        "seconds": [None if ttl is None else check_minutes("ttl", ttl) * 60 for ttl in ttls],
    }


def _value(place: tuple[str, str], op: PutOp) -> Content:
    if not isinstance(op.value, Mapping):
        raise ConfigurationError(
            f"an item's value must be a mapping, not a {type(op.value).__name__}: put it under a "
            "key, such as {'value': ...}"
        )
    text = dump_json(op.value)

    def found_by(_: Spell) -> Mapping[str, Any]:
        return beside(op.namespace, json.loads(text)) if op.namespace[0] == FACTS else {}

    keys = {"namespace": list(op.namespace), "key": key_in(*place)}
    return Content(STORE_VALUE, text, keys, found_by)


def beside(namespace: Sequence[str], value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a value stays in clear: of facts, where they were said, to be forgotten by.

    Args:
        namespace: Of the item.
        value: As it is stored without encryption.
    """
    told = namespace[0] == FACTS and isinstance(value.get("sources"), list)
    return {"sources": value["sources"]} if told else {}


def check_minutes(name: str, minutes: object) -> float:
    """Return a number of minutes.

    Raises:
        ConfigurationError: It is none, negative, or longer than a thousand years.
    """
    if isinstance(minutes, bool) or not isinstance(minutes, (int, float)):
        fits = False
    else:
        fits = 0 <= minutes <= _LONGEST_TTL
    if not fits:
        raise ConfigurationError(
            f"{name} must be a number of minutes from 0 up, not {shown(minutes)}"
        )
    return float(cast("float", minutes))


def _page(op: SearchOp | ListNamespacesOp) -> dict[str, int]:
    return {"limit": check_whole("limit", op.limit), "offset": check_whole("offset", op.offset)}


def _fields(row: Row) -> dict[str, Any]:
    return {
        "namespace": tuple(row["namespace"]),
        "key": row["key"],
        "value": restored(row["value"]),
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
    }


def _search_item(row: Row) -> SearchItem:
    return SearchItem(**_fields(row), score=row["score"])
