"""Operations that give units their vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from langledger.database.queries import load_queries
from langledger.errors import EmbeddingError
from langledger.operations import Operation, Query, Row, call, fetch, fetch_all
from langledger.recall.build import text_of
from langledger.recall.embeddings import Embedder, Vector
from langledger.recall.tags import HIDDEN

__all__ = ["INDEXED_FROM", "embed_some", "ensure_index", "has_index", "number_of"]

_queries = load_queries("langledger.recall")

INDEXED_FROM = 10_000
"""Vectors of a tenant from which they get an HNSW index; below, all are compared, as quickly."""
_PAGE = 64
_PLAIN = "a plain text"  # that no model refuses


def number_of(tenant: str, name: str) -> Operation[Row | None]:
    """Return the row of a model that the tenant has vectors of."""
    rows = yield from fetch(_queries["models"], tenant=tenant)
    return next((row for row in rows if row["name"] == name), None)


def embedded(
    tenant: str, embedder: Embedder, texts: Sequence[str]
) -> Operation[tuple[int, list[Vector | EmbeddingError]]]:
    """Return the model's number, and for each text its vector or why it has none.

    All vectors under a number have one length; one of another length is its text's fault. Where
    no vector of a batch is usable, a plain text tells whether that is the texts' fault or the
    model's, so that an outage marks no text and gives no model its length.

    Raises:
        EmbeddingError: The model takes nothing at present, or is not the one of the stored vectors.
    """
    vectors = yield from call(lambda: embedder.texts(texts))
    known = yield from number_of(tenant, embedder.name)
    lengths = _lengths(vectors)
    if not lengths or (known is not None and known["dimensions"] not in lengths):
        lengths = yield from _plain_lengths(embedder)
    stored = known["dimensions"] if known is not None else 0
    dimensions = stored if stored in lengths else lengths.most_common(1)[0][0]
    model = yield from _model_number(tenant, embedder.name, dimensions)
    return model, [_of_length(vector, dimensions) for vector in vectors]


def _lengths(vectors: Sequence[Vector | EmbeddingError]) -> Counter[int]:
    return Counter(len(vector) for vector in vectors if not isinstance(vector, EmbeddingError))


def _plain_lengths(embedder: Embedder) -> Operation[Counter[int]]:
    plain = yield from call(lambda: embedder.texts([_PLAIN]))
    if isinstance(plain[0], EmbeddingError):
        raise EmbeddingError(
            f"{embedder.name} gives no usable vector for any text at present ({plain[0]}); what "
            "waits for one is tried again"
        ) from plain[0]
    return _lengths(plain)


def _of_length(vector: Vector | EmbeddingError, dimensions: int) -> Vector | EmbeddingError:
    if isinstance(vector, EmbeddingError) or len(vector) == dimensions:
        return vector
    return EmbeddingError(f"a vector of {len(vector)} numbers, where the others have {dimensions}")


def _model_number(tenant: str, name: str, dimensions: int) -> Operation[int]:
    """Return the number of a model in a tenant; the first use gives it one."""
    while True:
        rows = yield from fetch(_queries["model"], tenant=tenant, name=name, dimensions=dimensions)
        if rows:
            break
    known = rows[0]["dimensions"]
    if known != dimensions:
        raise EmbeddingError(
            f"{name} gave a vector of {dimensions} numbers, and those stored under its name have "
            f"{known}: use the model they were made with, or give this one a model_id of its own"
        )
    return rows[0]["model"]


def embed_some(
    tenant: str, spaces: Sequence[UUID] | None, embedder: Embedder, *, most: int = 20
) -> Operation[int]:
    """Give some units that have no vector one; return how many units that settled, 0 for none left.

    Args:
        tenant: Whose units.
        spaces: Where they are; None: anywhere.
        embedder: The model.
        most: Texts of one request, where the model takes so many.

    Raises:
        EmbeddingError: The model takes nothing at present; what is left will be done next time.
    """
    known = yield from number_of(tenant, embedder.name)
    rows = yield from fetch(
        _queries["unembedded"],
        tenant=tenant,
        spaces=list(spaces) if spaces is not None else None,
        model=known["model"] if known else 0,
        hidden=sorted(HIDDEN),
        limit=max(_PAGE, most),
    )
    if not rows:
        return 0
    if known is not None:
        copied = yield from fetch(
            _queries["copy_vectors"], tenant=tenant, model=known["model"], **_places(rows)
        )
        if copied:
            return len(copied)
    distinct = list({row["digest"]: row for row in rows}.values())[: embedder.batch_size(most)]
    return (yield from _embed(tenant, distinct, embedder))


def _embed(tenant: str, rows: Sequence[Row], embedder: Embedder) -> Operation[int]:
    texts = [text_of(row["body"]) for row in rows]
    model, vectors = yield from embedded(tenant, embedder, texts)
    yield from fetch(
        _queries["embed"],
        tenant=tenant,
        model=model,
        vectors=[None if isinstance(v, EmbeddingError) else _literal(v) for v in vectors],
        faults=[str(v) if isinstance(v, EmbeddingError) else None for v in vectors],
        **_places(rows),
    )
    return len(rows)


def ensure_index(tenant: str, model: int, dimensions: int) -> Operation[bool]:
    """Build the tenant's HNSW index if it has enough vectors; return whether it has one."""
    if (yield from has_index(tenant, model)):
        return True
    rows = yield from fetch(_queries["count_vectors"], tenant=tenant, model=model)
    if rows[0]["n"] < INDEXED_FROM:
        return False
    parameters = {"tenant": tenant, "model": model, "dimensions": dimensions}
    yield from fetch_all(
        Query("SET LOCAL maintenance_work_mem = '512MB'"),
        Query(_queries["build_index"], parameters),
    )
    return True


def has_index(tenant: str, model: int) -> Operation[bool]:
    """Tell whether the tenant's vectors have an index of their own."""
    digest = sha256(tenant.encode()).hexdigest()[:16]
    rows = yield from fetch(_queries["has_index"], name=f"recall_hnsw_{digest}_{model}")
    return rows[0]["n"] > 0


def _places(rows: Sequence[Row]) -> dict[str, list[object]]:
    return {
        "spaces": [row["space"] for row in rows],
        "refs": [row["ref"] for row in rows],
        "parts": [row["part"] for row in rows],
        "digests": [row["digest"] for row in rows],
    }


def _literal(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.6g}" for number in vector) + "]"
