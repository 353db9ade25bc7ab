"""What searches: ours, and its peers on the same messages."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import threading
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import numpy as np
import snowballstemmer
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage
from recall_cases import Case, Hit
from recall_talks import Talk, words_of

from langledger import Ledger
from langledger.operations import Batch, Query
from langledger.recall import Embedder, LocalModel

Search = Callable[[str, int], Sequence[Hit]]  # question, k -> hits


def text_of(message: BaseMessage) -> str:
    calls = [
        json.dumps(call["args"], ensure_ascii=False) for call in getattr(message, "tool_calls", ())
    ]
    return "\n".join([message.text, *calls])


# --- ours ----------------------------------------------------------------------------------


def record(ledger: Ledger, case: Case) -> list[int]:
    """Record a case, where that is not done yet; return the entry of each message."""
    if ledger.count(case.name):
        raise SystemExit(f"{case.name} is recorded already: give a new --data-dir")
    if not case.days:
        return list(ledger.append(case.messages, thread_id=case.name, from_start=True).entry_ids)
    ids: list[int] = []
    for day, some in groupby(zip(case.days, case.messages, strict=True), key=lambda one: one[0]):
        said = [message for _, message in some]
        metadata = {"date": day} if day else None
        ids += ledger.append(said, thread_id=case.name, metadata=metadata).entry_ids
    return ids


def ours(ledger: Ledger, case: Case, ids: Sequence[int]) -> Search:
    place: dict[int, int] = {}
    for index, entry in enumerate(ids):
        place.setdefault(entry, index)
    ledger.search("warm", thread_id=case.name)
    return lambda question, k: [
        (place[hit.entry_id], hit.text)
        for hit in ledger.search(question, thread_id=case.name, k=k).hits
    ]


class Kept(LocalModel):
    """The local model, with its vectors kept in a file: of the same text it gives the same one."""

    def __init__(self, path: Path) -> None:
        self._file = sqlite3.connect(path, check_same_thread=False)
        self._file.execute("CREATE TABLE IF NOT EXISTS v (k text PRIMARY KEY, b blob)")
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [
            self._kept("d" + text, lambda text=text: super(Kept, self).embed_documents([text])[0])
            for text in texts
        ]

    def embed_query(self, text: str) -> list[float]:
        return self._kept("q" + text, lambda: super(Kept, self).embed_query(text))

    def _kept(self, key: str, make: Callable[[], list[float]]) -> list[float]:
        with self._lock:
            found = self._file.execute("SELECT b FROM v WHERE k = ?", (key,)).fetchone()
        if found:
            return np.frombuffer(found[0], "f4").tolist()
        vector = make()
        with self._lock, self._file:
            blob = np.array(vector, "f4").tobytes()
            self._file.execute("INSERT OR REPLACE INTO v VALUES (?, ?)", (key, blob))
        return vector


# --- peers ---------------------------------------------------------------------------------

_stem = cast("Any", snowballstemmer).stemmer("english").stemWord


class Bm25:
    """BM25 over texts, k1 1.2, b 0.75."""

    def __init__(self, texts: Sequence[str], *, stems: bool = False) -> None:
        self._terms = (lambda text: [*map(_stem, words_of(text))]) if stems else words_of
        counts = [Counter(self._terms(text)) for text in texts]
        lengths = np.array([sum(count.values()) for count in counts], float)
        self._norms = 1.2 * (0.25 + 0.75 * lengths / max(lengths.mean(), 1))
        self._having: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, count in enumerate(counts):
            for term, times in count.items():
                self._having[term].append((at, times))

    def scores(self, question: str) -> np.ndarray:
        found = np.zeros(len(self._norms))
        for term in sorted(set(self._terms(question)) & self._having.keys()):
            having = self._having[term]
            weight = math.log(1 + (len(found) - len(having) + 0.5) / (len(having) + 0.5))
            for at, tf in having:
                found[at] += weight * tf * 2.2 / (tf + self._norms[at])
        return found


def best(scores: np.ndarray, texts: Sequence[str], k: int) -> list[Hit]:
    first = np.argsort(-scores, kind="stable")[:k]
    return [(int(at), texts[at]) for at in first if scores[at] > 0]


def bm25(case: Case) -> Search:
    texts = said_in(case)
    index = Bm25(texts)
    return lambda question, k: best(index.scores(question), texts, k)


def said_in(case: Case) -> list[str]:
    """Return the messages as a peer is given them: with their speakers."""
    if case.talk is not None:
        return [turn.said for turn in case.talk.turns]
    return [text_of(message) for message in case.messages]


def recipe(talk: Talk, embedder: Embedder | None) -> Search:
    """The best published one: own words, neighbourhood and session; with a model its cosines."""
    turns = talk.turns
    around = [
        "\n".join(t.said for t in turns[max(0, at - 2) : at + 3] if t.session == turn.session)
        for at, turn in enumerate(turns)
    ]
    texts = [turn.said for turn in turns]
    own, wide = Bm25(texts, stems=True), Bm25(around, stems=True)
    numbers = [turn.session for turn in turns]
    vectors = [_vectors(embedder, some) for some in (texts, around)]

    def search(question: str, k: int) -> list[Hit]:
        each = [own.scores(question), wide.scores(question)]
        fused = np.sum([scores / (scores.max() or 1.0) for scores in each], axis=0)
        if embedder is not None:
            asked = np.array(embedder.question(question))
            fused += np.sum([matrix @ asked for matrix in vectors], axis=0)
        tops: dict[int, float] = defaultdict(float)
        for number, value in zip(numbers, fused.tolist(), strict=True):
            tops[number] = max(tops[number], value)
        ranks = {n: rank for rank, n in enumerate(sorted(tops, key=lambda n: -tops[n]), start=1)}
        return best(fused + np.array([0.15 / ranks[n] for n in numbers]), texts, k)

    return search


def _vectors(embedder: Embedder | None, texts: Sequence[str]) -> np.ndarray:
    if embedder is None:
        return np.zeros((len(texts), 1))
    made: list[Any] = []
    for at in range(0, len(texts), 16):
        made += embedder.texts(texts[at : at + 16])
    matrix = np.array(made, float)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def full_text(ledger: Ledger, case: Case, *, any_word: bool) -> Search:
    table = f"fts_{zlib.crc32(case.name.encode())}"
    texts = [
        text.replace("\x00", " ").encode("utf-8", "replace").decode() for text in said_in(case)
    ]
    run_sql(
        ledger,
        f"CREATE TABLE IF NOT EXISTS {{schema}}.{table} (i int PRIMARY KEY, body text, "
        "words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED)",
    )
    run_sql(
        ledger,
        f"INSERT INTO {{schema}}.{table} SELECT ord - 1, left(body, 200000) FROM "
        "unnest(%(texts)s::text[]) WITH ORDINALITY AS t (body, ord) ON CONFLICT DO NOTHING",
        texts=texts,
    )
    query = "plainto_tsquery('english', %(q)s)"
    if any_word:
        query = f"replace({query}::text, ' & ', ' | ')::tsquery"
    sql = (
        f"SELECT i, body FROM {{schema}}.{table}, (SELECT {query} AS q) AS x "
        "WHERE words @@ q ORDER BY ts_rank(words, q) DESC, i LIMIT %(k)s"
    )
    return lambda question, k: [
        (row["i"], row["body"]) for row in run_sql(ledger, sql, q=question, k=k)
    ]


def run_sql(ledger: Ledger, text: str, **params: object) -> list[dict[str, Any]]:
    return ledger.executor.execute(Batch([Query(text, params)]))[0]


def postgres_store(dsn: str, case: Case, embed: Embedder) -> Iterator[tuple[str, Search]]:
    """Give LangGraph's store and langmem's search tool on it, both with our local model."""
    from langgraph.store.base import PutOp
    from langgraph.store.postgres import PostgresStore
    from langmem import create_search_memory_tool

    index: Any = {"dims": len(embed.question("x")), "embed": _Adapter(embed), "fields": ["text"]}
    with PostgresStore.from_conn_string(dsn, index=index) as store:
        store.setup()
        namespace = ("bench", re.sub(r"\W", "_", case.name))
        items = [(str(i), text[:8000]) for i, text in enumerate(said_in(case))]
        for at in range(0, len(items), 64):
            store.batch(
                PutOp(namespace, key, {"text": text.replace("\x00", " ")})
                for key, text in items[at : at + 64]
                if text.strip()
            )

        def search(question: str, k: int) -> list[Hit]:
            found = store.search(namespace, query=question, limit=k)
            return [(int(item.key), item.value["text"]) for item in found]

        tool = create_search_memory_tool(namespace, store=store)

        def with_langmem(question: str, k: int) -> list[Hit]:
            found = json.loads(tool.invoke({"query": question, "limit": k}))
            return [(int(item["key"]), item["value"]["text"]) for item in found]

        yield "PostgresStore", search
        yield "langmem search tool", with_langmem


class _Adapter(Embeddings):
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_query(self, text: str) -> list[float]:
        return self._embedder.question(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return cast("list[list[float]]", self._embedder.texts(texts))

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)
