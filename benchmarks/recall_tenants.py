"""Filtered vector search: 400 tenants of 100 texts each in one table, the 10 nearest asked for.

    python benchmarks/recall_tenants.py --data-dir FOLDER

Beside ours: pgvector's HNSW on the same vectors with a filter by tenant, as a store without a key
that begins with the tenant does it, at its default settings and with iterative scan.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from langledger import Ledger
from langledger.operations import Batch, Query, run

TENANTS, TEXTS, DIMENSIONS, ASKED = 400, 100, 64, 200


class Gaussian:
    """A vector by the hash of a text, so that the truth can be computed."""

    model_id = "gaussian"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        rng = random.Random(text)
        return [rng.gauss(0, 1) for _ in range(DIMENSIONS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    given = parser.parse_args()
    model = Gaussian()
    with Ledger.from_conn_string(
        data_dir=given.data_dir, schema="tenants", embeddings=model
    ) as ledger:
        texts = fill(ledger)
        rng = random.Random(3)
        asked = [(rng.choice(list(texts)), f"question-q{n}") for n in range(ASKED)]
        truth = [nearest(model, texts[tenant], question) for tenant, question in asked]
        report("langledger", asked, truth, ours(ledger))
        for label, settings in (
            ("HNSW, pgvector's defaults", ""),
            ("HNSW, iterative scan", "SET LOCAL hnsw.iterative_scan = strict_order"),
        ):
            report(label, asked, truth, plain(ledger, model, settings))


def fill(ledger: Ledger) -> dict[str, list[str]]:
    texts = {
        f"tenant-{n}": [f"note {i} of owner {n}" for i in range(TEXTS)] for n in range(TENANTS)
    }
    for tenant, notes in texts.items():
        mine = ledger.for_tenant(tenant)
        if not mine.count("t"):
            mine.append([HumanMessage(note) for note in notes], thread_id="t")
            run(mine.recalling.index("t"), mine.executor)
            run(mine.recalling.embed(), mine.executor)
    sql(ledger, "DROP TABLE IF EXISTS {schema}.flat")
    sql(
        ledger,
        "CREATE TABLE {schema}.flat AS SELECT v.tenant, v.ref, v.embedding::halfvec(64) AS e "
        "FROM {schema}.recall_vector v",
    )
    sql(ledger, "CREATE INDEX ON {schema}.flat USING hnsw (e halfvec_cosine_ops)")
    sql(ledger, "CREATE INDEX ON {schema}.flat (tenant)")
    sql(ledger, "ANALYZE {schema}.flat")
    return texts


def nearest(model: Gaussian, notes: list[str], question: str) -> set[int]:
    q = model.embed_query(question)

    def cosine(note: str) -> float:
        v = model.embed_query(note)
        length = sum(x * x for x in v) ** 0.5
        return sum(a * b for a, b in zip(q, v, strict=True)) / length

    order = sorted(range(len(notes)), key=lambda i: -cosine(notes[i]))
    return {i + 1 for i in order[:10]}


Search = Callable[[str, str], set[int]]


def ours(ledger: Ledger) -> Search:
    tenants: dict[str, Ledger] = {}

    def search(tenant: str, question: str) -> set[int]:
        mine = tenants.setdefault(tenant, ledger.for_tenant(tenant))
        hits = mine.recall(question, k=10)
        return {hit.entry_id for hit in hits}

    return search


def plain(ledger: Ledger, model: Gaussian, settings: str) -> Search:
    def search(tenant: str, question: str) -> set[int]:
        vector = str(model.embed_query(question))
        query = Query(
            "SELECT ref FROM {schema}.flat WHERE tenant = %(tenant)s "
            "ORDER BY e <=> %(vector)s::halfvec LIMIT 10",
            {"tenant": tenant, "vector": vector},
        )
        # The planner would take the index by tenant, which a store without one does not have.
        first = [Query("SET LOCAL enable_sort = off"), *([Query(settings)] if settings else [])]
        rows = ledger.executor.execute(Batch([*first, query]))[-1]
        return {row["ref"] for row in rows}

    return search


def report(label: str, asked: list[tuple[str, str]], truth: list[set[int]], search: Search) -> None:
    rows, right, seconds = 0, 0, []
    for (tenant, question), wanted in zip(asked, truth, strict=True):
        started = time.perf_counter()
        found = search(tenant, question)
        seconds.append(1000 * (time.perf_counter() - started))
        rows += len(found)
        right += len(found & wanted)
    p95 = sorted(seconds)[int(0.95 * len(seconds))]
    print(
        f"{label:28} {rows / len(asked):5.2f} rows  recall@10 {right / len(asked) / 10:.3f}  "
        f"p50 {statistics.median(seconds):.1f} ms  p95 {p95:.1f} ms"
    )


def sql(ledger: Ledger, text: str) -> list[dict[str, Any]]:
    return ledger.executor.execute(Batch([Query(text)]))[0]


if __name__ == "__main__":
    main()
