"""LangGraph's store on the ledger's PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    IndexConfig,
    Item,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    TTLConfig,
)

from langledger.arguments import check_tenant, shown, spelled
from langledger.errors import ConfigurationError
from langledger.memory import storing
from langledger.memory.gathering import Gathering
from langledger.memory.indexing import Indexing
from langledger.memory.places import check_namespace
from langledger.operations import Executor, Operation, arun, run

__all__ = ["LedgerStore"]

_SWEPT_AT_ONCE = 1000
_TTL_KEYS = {"default_ttl", "refresh_on_read", "sweep_interval_minutes", "omit_expired"}


class LedgerStore(BaseStore):
    """Keeps items across threads, and finds them by place, by field and by what they say.

    A full LangGraph store, sync and async. Values are any JSON. A search with a ``query``
    ranks by words and whole identifiers, and by vectors where ``index`` names embeddings;
    every item that has either is ranked. Filters compare numbers as numbers. An item whose
    time is over is gone at once; its row is removed by :meth:`sweep_ttl`, or by a later
    write when ``ttl`` has ``sweep_interval_minutes``.

    Args:
        executor: Runs the database effects.
        tenant: Whose items are read and written.
        index: ``dims``, ``embed`` (Embeddings, a function, or a name for
            ``init_embeddings``), ``fields`` (default ``["$"]``, all of a value) and
            ``distance_type`` (``cosine``, ``l2``, ``inner_product``), as ``PostgresStore``
            takes them. None: words alone.
        ttl: ``default_ttl`` and ``sweep_interval_minutes`` in minutes, ``refresh_on_read``.
        clean: Takes secrets out of texts before they are indexed and embedded.

    On a pool that encrypts, values, keys and words are encrypted or hashed. Filters then compare
    what was decrypted, and ``index`` names no embeddings.

    Raises:
        ConfigurationError: ``index`` or ``ttl`` is not usable.
    """

    supports_ttl = True

    def __init__(
        self,
        executor: Executor,
        *,
        tenant: str = "default",
        index: IndexConfig | Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        self._executor = executor
        self._tenant = check_tenant(tenant)
        encrypts = bool(getattr(executor, "encrypts", False))
        self._indexing = Indexing.of(index, clean=clean, encrypts=encrypts)
        self.ttl_config = _checked_ttl(ttl)
        self._swept = time.monotonic()
        self._gathering = Gathering(self._arun)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in one round trip; reads see what was there before the writes."""
        return run(self._batch(_listed(ops)), self._executor)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Await :meth:`batch`."""
        return await self._gathering.call(_listed(ops))

    def get(
        self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """Return the item at a place, or None."""
        return super().get(namespace, _key_at(namespace, key), refresh_ttl=refresh_ttl)

    async def aget(
        self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """Await :meth:`get`."""
        return await super().aget(namespace, _key_at(namespace, key), refresh_ttl=refresh_ttl)

    def put(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Write an item, in place of the one that has its place."""
        super().put(namespace, _key_at(namespace, key), value, index, ttl=ttl)

    async def aput(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Await :meth:`put`."""
        await super().aput(namespace, _key_at(namespace, key), value, index, ttl=ttl)

    def delete(self, namespace: tuple[str, ...], key: str) -> None:
        """Remove the item at a place, if there is one."""
        super().delete(namespace, _key_at(namespace, key))

    async def adelete(self, namespace: tuple[str, ...], key: str) -> None:
        """Await :meth:`delete`."""
        await super().adelete(namespace, _key_at(namespace, key))

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """Return the namespaces there are, as LangGraph's stores do."""
        _check_paths(prefix, suffix)
        return super().list_namespaces(
            prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset
        )

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """Await :meth:`list_namespaces`."""
        _check_paths(prefix, suffix)
        return await super().alist_namespaces(
            prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset
        )

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the name upstream
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Return the items below a namespace that a query and a filter find."""
        check_namespace(namespace_prefix)
        return super().search(
            namespace_prefix,
            query=query,
            filter=filter,
            limit=limit,
            offset=offset,
            refresh_ttl=refresh_ttl,
        )

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the name upstream
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Await :meth:`search`."""
        check_namespace(namespace_prefix)
        return await super().asearch(
            namespace_prefix,
            query=query,
            filter=filter,
            limit=limit,
            offset=offset,
            refresh_ttl=refresh_ttl,
        )

    def sweep_ttl(self) -> int:
        """Remove the rows of items whose time is over; return how many there were."""
        return run(self._sweep(), self._executor)

    async def asweep_ttl(self) -> int:
        """Await :meth:`sweep_ttl`."""
        return await arun(self._sweep(), self._executor)

    def reindex(self) -> int:
        """Index every item anew, after a change of the model or the fields; return how many.

        Fields given with :meth:`put` give way to those of the store. Searches go on meanwhile.
        """
        return run(storing.reindex(self._tenant, self._indexing), self._executor)

    async def areindex(self) -> int:
        """Await :meth:`reindex`."""
        return await arun(storing.reindex(self._tenant, self._indexing), self._executor)

    async def _arun(self, ops: Sequence[Op]) -> list[Result]:
        return await arun(self._batch(ops), self._executor)

    def _batch(self, ops: Sequence[Op]) -> Operation[list[Result]]:
        results = yield from storing.batch(self._tenant, ops, self._indexing)
        if any(isinstance(op, PutOp) for op in ops) and self._is_sweep_due():
            yield from storing.sweep(self._tenant, most=_SWEPT_AT_ONCE)
        return results

    def _sweep(self) -> Operation[int]:
        swept = 0
        while True:
            found = yield from storing.sweep(self._tenant, most=_SWEPT_AT_ONCE)
            swept += found
            if found < _SWEPT_AT_ONCE:
                return swept

    def _is_sweep_due(self) -> bool:
        minutes = (self.ttl_config or {}).get("sweep_interval_minutes")
        if minutes is None or time.monotonic() - self._swept < minutes * 60:
            return False
        self._swept = time.monotonic()
        return True


def _listed(ops: object) -> list[Op]:
    if not isinstance(ops, Iterable):
        raise ConfigurationError(f"a batch is a list of operations, not {shown(ops)}")
    return list(cast("Iterable[Op]", ops))


def _key_at(namespace: object, key: object) -> str:
    """Return a key as text; stop what LangGraph would make labels of, and the key ``"None"``."""
    check_namespace(namespace)
    if key is None:
        raise ConfigurationError("key must be a string, not None")
    return spelled("key", key)


def _check_paths(*paths: object) -> None:
    for path in paths:
        if path is not None:
            check_namespace(path)


def _checked_ttl(ttl: object) -> TTLConfig | None:
    if ttl is None:
        return None
    if not isinstance(ttl, Mapping):
        raise ConfigurationError(f"ttl must be a mapping, not a {type(ttl).__name__}")
    given = dict(cast("Mapping[str, Any]", ttl))
    unknown = sorted(set(given) - _TTL_KEYS)
    if unknown:
        raise ConfigurationError(
            f"ttl has unknown keys: {', '.join(map(str, unknown))}; the known ones are "
            f"{', '.join(sorted(_TTL_KEYS))}"
        )
    for key in ("default_ttl", "sweep_interval_minutes"):
        if given.get(key) is not None:
            storing.check_minutes(key, given[key])
    return cast("TTLConfig", given)
