"""What a ledger searches with: one a pool of connections, bound to each of its tenants."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Any
from uuid import UUID

from langledger.arguments import check_text, check_whole
from langledger.database.queries import load_queries
from langledger.database.replica import Replica
from langledger.encryption import Later, Vault
from langledger.entries import Location
from langledger.entries.log import thread_key
from langledger.errors import EmbeddingError, MissingDependencyError
from langledger.operations import Executor, Operation, Query, Row, call, fetch
from langledger.recall.build import Clean, text_of
from langledger.recall.embedding import embed_some, ensure_index, has_index, number_of
from langledger.recall.embeddings import Embedder
from langledger.recall.index import behind_query, catch_up, delete_queries, put_queries
from langledger.recall.joining import as_told
from langledger.recall.known import Known
from langledger.recall.rerank import CrossEncoder
from langledger.recall.scoring import metadata_of
from langledger.recall.search import checked, question_terms, search
from langledger.recall.statement import Near
from langledger.recall.tagging import tag_all
from langledger.recall.tags import HIDDEN
from langledger.recall.types import Found, Gate, Hit, SearchRequest, Text
from langledger.recall.uses import touch
from langledger.recall.worker import Worker
from langledger.telemetry import traced, without_content

__all__ = ["Recall", "space_of"]

logger = logging.getLogger("langledger.recall")

_queries = load_queries("langledger.recall")
_ASKED = 1000  # characters of a question that the model reads
_COUNTED_UP_TO = 1000  # units; above, only those with a rare term of the question are read
_STATISTICS_SECONDS = 300.0
_ASK_AGAIN_SECONDS = 5.0


def space_of(tenant: str, *names: str) -> UUID:
    """Return the space of another feature's texts; no thread has the same."""
    name = "\x00".join((tenant, "", *names)).encode()
    return UUID(bytes=blake2b(name, digest_size=16, person=b"recall").digest())


def _in_clear(vault: Vault | None) -> bool:
    """Tell whether terms stand in the index as they are, so that their frequencies are theirs."""
    return vault is None or not vault.keyed


def _told(_: object, request: SearchRequest) -> Mapping[str, Any]:
    return {"gen_ai.operation.name": "search_memory", "gen_ai.retrieval.top_k": request.k}


def _found(found: Found) -> Mapping[str, Any]:
    return {"langledger.hits": len(found.hits)}


class Recall:
    """Searches a tenant's entries, and other features' texts, by words, identifiers and vectors.

    Its methods are operations (generators) unless they say otherwise. Searching works without a
    model and before one has read anything.

    Args:
        executor: Runs the database effects, also of the background work.
        tenant: Whose units.
        embedder: Model for the vectors; None to search without.
        clean: Takes secrets out of texts before they are indexed.
        encoder: A cross-encoder that has a second look at the best 20.
        worker: Of another tenant on the same connections, to share its thread.
        replica: Of the executor's database, to search on where it has all that is asked about.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        tenant: str,
        embedder: Embedder | None = None,
        clean: Clean = str,
        encoder: CrossEncoder | None = None,
        worker: Worker | None = None,
        replica: Replica | None = None,
    ) -> None:
        self._tenant = tenant
        self._embedder = embedder
        self._clean = clean
        self._encoder = encoder
        self._worker = worker or Worker(executor, embedder)
        self._replica = replica
        self._known = Known()

    def for_tenant(self, executor: Executor, tenant: str) -> Recall:
        """Return the same for another tenant; plain function."""
        return Recall(
            executor,
            tenant=tenant,
            embedder=self._embedder,
            clean=self._clean,
            encoder=self._encoder,
            worker=self._worker,
            replica=self._replica,
        )

    @property
    def embedder(self) -> Embedder | None:
        """The model of the vectors."""
        return self._embedder

    @traced("langledger.search", _told, _found)
    def search(self, request: SearchRequest) -> Operation[Found]:
        """Answer a request.

        Raises:
            ConfigurationError: The query is no text, a number is out of bounds, or a filter is
                unknown.
            DatabaseUnavailableError: The database cannot be reached.
        """
        started = time.perf_counter()
        checked(request)
        near, trouble = yield from self._near(request)
        found = yield from search(
            self._tenant,
            request,
            near=near,
            started=started,
            unit_counts=self._known.units,
            common=(yield from self._common(request)),
            clean=self._clean,
            noticed=partial(self._worker.notice, self._tenant),
            encoder=self._encoder,
            replica=self._replica,
        )
        for space in request.spaces or ():
            self._worker.notice(self._tenant, space, 0)  # what an earlier process left
        if request.touch and found.hits:
            yield from self._touch(request, found.hits)
        return _with_reason(found, trouble)

    def search_thread(
        self,
        location: Location,
        query: str,
        *,
        k: int = 5,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the field's name for it
        explain: bool = False,
        exclude: AbstractSet[int] = frozenset(),
        touch: bool = True,
    ) -> Operation[Found]:
        """Search one thread; see :class:`SearchRequest`."""
        space = thread_key(location.tenant, location.thread_id)
        request = SearchRequest(
            query=query,
            k=k,
            offset=offset,
            spaces=[space],
            filter=filter,
            explain=explain,
            exclude=exclude,
            touch=touch,
        )
        return (yield from self.search(request))

    def told(self, location: Location, query: str) -> Operation[str]:
        """Return what a thread has about a question, as its agent reads it."""
        found = yield from self.search_thread(location, query)
        if not found.hits:
            return f"Nothing was found: {found.gate.reasons[0]}."
        return "\n\n".join(map(as_told, found.hits))

    def put_queries(self, space: UUID, texts: Sequence[Text]) -> list[Query]:
        """Return statements that index texts in place of their refs' old ones; plain function."""
        return put_queries(self._tenant, space, texts, clean=self._clean)

    def delete_queries(self, space: UUID, refs: Sequence[int]) -> list[Query]:
        """Return statements that take all texts of these refs out; plain function."""
        return delete_queries(self._tenant, space, refs)

    def notice(self, space: UUID) -> None:
        """Have what is new in a space indexed and embedded in the background; plain function."""
        self._worker.notice(self._tenant, space)

    def used(self, hits: Sequence[Hit]) -> None:
        """Note in the background that hits of threads were used; plain function."""
        places = ((self._space_of(hit), hit.entry_id, part) for hit in hits for part in hit.parts)
        self._worker.used(self._tenant, Counter(places))

    def index(
        self, thread_id: str | None = None, *, told: Callable[[int], None] | None = None
    ) -> Operation[int]:
        """Index what was recorded in a thread, or all of the tenant's; return how many entries.

        Args:
            thread_id: The thread; None for all.
            told: Called with the number of entries of each page that is indexed.
        """
        if thread_id is not None:
            spaces = [thread_key(self._tenant, thread_id)]
        else:
            query = behind_query(self._tenant)
            rows = yield from fetch(query.sql, **query.params)
            spaces = [row["space"] for row in rows]
        total = 0
        for space in spaces:
            total += yield from catch_up(self._tenant, space, clean=self._clean, told=told)
        return total

    def embed(
        self, spaces: Sequence[UUID] | None = None, *, most: int | None = None
    ) -> Operation[int]:
        """Give units that have none their vectors; return how many were settled.

        Raises:
            EmbeddingError: The model takes nothing at present, or does not fit what is stored.
        """
        total = 0
        while self._embedder is not None and (most is None or total < most):
            size = self._worker.items
            settled = yield from embed_some(self._tenant, spaces, self._embedder, most=size)
            if not settled:
                break
            total += settled
        if total:
            yield from self.index_vectors()
        self._known.asked_model = float("-inf")
        return total

    def tag(self, spaces: Sequence[UUID] | None = None) -> Operation[int]:
        """Have the tag model look at what the rules left open; return how many units that was."""
        return (yield from tag_all(self._tenant, spaces, self._worker.tagger))

    @property
    def worker(self) -> Worker:
        """What works in the background, for all tenants on these connections."""
        return self._worker

    def index_vectors(self) -> Operation[bool]:
        """Build the tenant's HNSW index if it has vectors enough; return whether it has one."""
        if self._embedder is None:
            return False
        model = yield from number_of(self._tenant, self._embedder.name)
        if model is None:
            return False
        return (yield from ensure_index(self._tenant, model["model"], model["dimensions"]))

    def flush(self) -> Operation[None]:
        """Index, tag and embed everything that is recorded, and write down what was used.

        Raises:
            EmbeddingError: As :meth:`embed`.
        """
        yield from self.index()
        yield from touch(self._tenant, self._worker.take_used(self._tenant))
        yield from self.tag()
        yield from self.embed()

    def never_recalled(
        self, thread_id: str, *, limit: int = 100, offset: int = 0
    ) -> Operation[list[Hit]]:
        """Return a thread's units that no search ever returned, oldest first."""
        check_whole("limit", limit)
        check_whole("offset", offset)
        yield from self.index(check_text("thread_id", thread_id))
        rows = yield from fetch(
            _queries["never"],
            tenant=self._tenant,
            space=thread_key(self._tenant, thread_id),
            hidden=sorted(HIDDEN),
            limit=limit,
            offset=offset,
        )
        return [_plain_hit(thread_id, row) for row in rows]

    def open(self) -> None:
        """Begin background work where there is any, again after a :meth:`close`. Plain function."""
        self._worker.open()

    def close(self) -> None:
        """End the background work; what is left is done next time. Plain function."""
        self._worker.close()
        if self._embedder is not None:
            self._embedder.close()

    def _near(self, request: SearchRequest) -> Operation[tuple[Near | None, str | None]]:
        """Return the question's vector, or why there is none though there is a model."""
        embedder = self._embedder
        text = request.query[:_ASKED]
        if embedder is None or not question_terms(text):
            return None, None
        model = yield from self._model(embedder)
        if model is None:
            trouble = self._worker.trouble(self._tenant)
            return None, trouble and f"searched without vectors: {trouble}"
        try:
            vector = yield from call(lambda: embedder.question(text, seconds=request.patience))
        except (EmbeddingError, MissingDependencyError) as error:
            logger.warning("searching without vectors: %s", without_content(error))
            return None, f"searched without vectors: {error}"
        if len(vector) != model["dimensions"]:
            return None, (
                f"searched without vectors: {embedder.name} gave {len(vector)} numbers, and those "
                f"stored have {model['dimensions']}"
            )
        plain = request.spaces is None and not request.filter and request.within is None
        return Near(model["model"], vector, indexed=plain and self._known.indexed), None

    def _model(self, embedder: Embedder) -> Operation[Row | None]:
        known = self._known
        now = time.monotonic()
        if known.model is not None and known.indexed:
            return known.model
        if now - known.asked_model < _ASK_AGAIN_SECONDS:
            return known.model
        known.model = yield from number_of(self._tenant, embedder.name)
        if known.model is not None:
            known.indexed = yield from has_index(self._tenant, known.model["model"])
        known.asked_model = now  # not before: who asks meanwhile would be told that there is none
        return known.model

    def _common(self, request: SearchRequest) -> Operation[Mapping[str, float] | None]:
        """Return how often frequent terms occur, where there is so much that it matters."""
        known = self._known
        spaces = list(request.spaces) if request.spaces is not None else None
        key = tuple(spaces) if spaces is not None else None
        if key not in known.units:
            rows = yield from fetch(_queries["sizes"], tenant=self._tenant, spaces=spaces)
            known.units[key] = float(sum(row["units"] for row in rows))
        units = known.units.get(key, 0.0)
        if units <= _COUNTED_UP_TO:
            return None
        if time.monotonic() - known.asked_common > _STATISTICS_SECONDS:
            rows = yield from fetch(
                _queries["common_terms"], tenant=self._tenant, clear=Later(_in_clear)
            )
            known.common = {row["term"]: float(row["frequency"]) for row in rows}
            known.asked_common = time.monotonic()
        return {term: share * units for term, share in (known.common or {}).items()}

    def _touch(self, request: SearchRequest, hits: Sequence[Hit]) -> Operation[None]:
        spaces = list(request.spaces or ())
        places = [
            (self._space_of(hit) if hit.thread_id else spaces[0], hit.entry_id, part)
            for hit in hits
            for part in hit.parts
        ]
        yield from touch(self._tenant, Counter(places))

    def _space_of(self, hit: Hit) -> UUID:
        return thread_key(self._tenant, hit.thread_id)


def _with_reason(found: Found, reason: str | None) -> Found:
    if reason is None:
        return found
    gate: Gate = replace(found.gate, reasons=(*found.gate.reasons, reason))
    return replace(found, gate=gate)


def _plain_hit(thread_id: str, row: Row) -> Hit:
    return Hit(
        entry_id=row["ref"],
        thread_id=thread_id,
        role=row["role"] or "",
        text=text_of(row["body"]),
        score=0.0,
        scores={},
        metadata=metadata_of(row),
        created_at=row["created_at"],
        part=row["part"],
        parts=(row["part"],),
    )
