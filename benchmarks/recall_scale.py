"""Latency, size and insert rate of recall at 10,000, 100,000 and 1,000,000 units.

    python benchmarks/recall_scale.py TRANSCRIPTS --units 10000 100000 --data-dir FOLDER

The texts are units of recorded sessions, each copy with a name of its own so that rare terms stay
rare; the vectors are synthetic, 384 numbers around 1,000 centres. Threads have 1,000 units. Asked
are six words of a random unit in order, with its own name in every other question. Told is the time
by the clock, and that of the processor, of the server's process and of the thread that asks, which
other work lengthens less.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from langledger import Ledger
from langledger.operations import Batch, Query, run
from langledger.recall import SearchRequest
from langledger.recall.build import text_of
from langledger.recall.embeddings import Embedder
from langledger.replay.session import load_session

DIMENSIONS = 384
THREAD = 1000
TENANT = "scale"


class Synthetic:
    """Vectors without a model, so that a question costs what the search costs."""

    model_id = "synthetic"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        rng = random.Random(text)
        return [rng.gauss(0, 1) for _ in range(DIMENSIONS)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("transcripts", type=Path)
    parser.add_argument("--units", type=int, nargs="+", default=[10_000])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--no-vectors", action="store_true")
    given = parser.parse_args()
    for units in given.units:
        ledger = Ledger.from_conn_string(
            data_dir=given.data_dir,
            schema=f"scale_{units}",
            tenant=TENANT,
            # Off: what is searched would be embedded meanwhile.
            embeddings="off" if given.no_vectors else Embedder(Synthetic()),
            pool_size=1,  # one process of the server, whose time is told
        )
        with ledger:
            print(json.dumps(measured(ledger, units, given)), flush=True)


def measured(ledger: Ledger, units: int, given: argparse.Namespace) -> dict[str, object]:
    found: dict[str, object] = {"units": units, "load": round(os.getloadavg()[0])}
    if not sql(ledger, "SELECT 1 FROM {schema}.recall_space LIMIT 1"):
        found |= fill(ledger, units, given)
    found["MB"] = sizes(ledger)
    questions = asked(ledger, given.queries)
    for name, whole in (("thread", False), ("tenant", True)):
        found[name] = latency(ledger, questions, whole=whole)
    return found


def fill(ledger: Ledger, units: int, given: argparse.Namespace) -> dict[str, object]:
    """Index real sessions, then copy what came of them until there is enough."""
    started = time.perf_counter()
    base = 0
    for path in sorted(given.transcripts.glob("*/*.jsonl")):
        if base >= min(units, 10_000) or path.parent.name == "raw":
            continue
        ledger.append(
            [one.message for one in load_session(path).messages],
            thread_id=path.stem,
            from_start=True,
        )
        run(ledger.recalling.index(path.stem), ledger.executor)
        base = sql(ledger, "SELECT count(*) AS n FROM {schema}.recall_unit")[0]["n"]
    indexing = time.perf_counter() - started
    started = time.perf_counter()
    sql(ledger, COPY, tenant=TENANT, units=units, base=base)
    sql(ledger, THREADS, tenant=TENANT)
    copying = time.perf_counter() - started
    report: dict[str, object] = {
        "indexed from entries, units a second": round(base / indexing),
        "copied, units a second": round((units - base) / copying) if units > base else None,
    }
    if not given.no_vectors:
        report |= vectors(ledger)
    sql(ledger, "ANALYZE {schema}.recall_unit")
    sql(ledger, "ANALYZE {schema}.recall_vector")
    return report


COPY = """
WITH base AS (
    SELECT u.*, row_number() OVER (ORDER BY u.space, u.ref, u.part) - 1 AS place
    FROM {schema}.recall_unit u WHERE u.tenant = %(tenant)s
)
INSERT INTO {schema}.recall_unit (tenant, space, ref, part, size, importance, created_at,
                                  digest, role, tags, metadata, terms, body)
SELECT b.tenant, md5('thread' || (n / 1000))::uuid, n, 0, b.size, b.importance, b.created_at,
       b.digest, b.role, b.tags, b.metadata,
       b.terms || array_to_tsvector(ARRAY['=own-name-' || n]), b.body
FROM generate_series(0, %(units)s::int - %(base)s::int - 1) AS n
JOIN base b ON b.place = n %% %(base)s
"""
THREADS = """
INSERT INTO {schema}.recall_space (tenant, space, units)
SELECT tenant, space, count(*) FROM {schema}.recall_unit WHERE tenant = %(tenant)s
GROUP BY tenant, space
ON CONFLICT (tenant, space) DO UPDATE SET units = excluded.units
"""
VECTORS = """
WITH centre AS MATERIALIZED (
    SELECT c, (SELECT array_agg(random() - 0.5 + (c + g) * 0) FROM generate_series(1, 384) g) AS at
    FROM generate_series(0, 999) AS c
)
INSERT INTO {schema}.recall_vector (tenant, space, ref, part, model, digest, embedding)
SELECT u.tenant, u.space, u.ref, u.part, 1, u.digest,
       {schema}.recall_vector_of((
           SELECT '[' || string_agg((x + (random() - 0.5) * 0.7)::real::text, ',') || ']'
           FROM unnest(centre.at) AS x WHERE u.ref IS NOT NULL))
FROM {schema}.recall_unit u
JOIN centre ON centre.c = abs(hashtext(u.space::text || u.ref)) %% 1000
WHERE u.tenant = %(tenant)s
"""


def vectors(ledger: Ledger) -> dict[str, object]:
    sql(
        ledger,
        "INSERT INTO {schema}.recall_model VALUES (%(tenant)s, 1, 'synthetic', 384)",
        tenant=TENANT,
    )
    started = time.perf_counter()
    sql(ledger, VECTORS, tenant=TENANT)
    made = time.perf_counter() - started
    started = time.perf_counter()
    run(ledger.recalling.index_vectors(), ledger.executor)
    return {"vectors, seconds": round(made), "HNSW, seconds": round(time.perf_counter() - started)}


def sizes(ledger: Ledger) -> dict[str, int]:
    rows = sql(
        ledger,
        "SELECT c.relname AS name, pg_relation_size(c.oid) / 1000000 AS mb FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s "
        "AND c.relname LIKE 'recall%%' AND pg_relation_size(c.oid) > 500000",
        schema=ledger.executor.schema,
    )
    return {row["name"]: int(row["mb"]) for row in rows}


def asked(ledger: Ledger, many: int) -> list[tuple[UUID, str]]:
    rows = sql(
        ledger,
        "SELECT space, ref, body FROM {schema}.recall_unit "
        "WHERE tenant = %(tenant)s AND ref %% %(step)s = 7 ORDER BY md5(ref::text) LIMIT %(n)s",
        tenant=TENANT,
        step=97,
        n=many * 3,
    )
    rng = random.Random(7)
    rng.shuffle(rows)
    questions: list[tuple[UUID, str]] = []
    for place, row in enumerate(rows[:many]):
        words = text_of(row["body"]).split()
        at = rng.randrange(max(1, len(words) - 6))
        name = f" own-name-{row['ref']}" if place % 2 else ""
        questions.append((row["space"], " ".join(words[at : at + 6])[:300] + name))
    return questions


def latency(
    ledger: Ledger, questions: list[tuple[UUID, str]], *, whole: bool
) -> dict[str, float | str]:
    pid = int(str(sql(ledger, "SELECT pg_backend_pid() AS pid")[0]["pid"]))
    spent: list[tuple[float, float, float]] = []
    named = found = 0
    for round_ in range(2):  # the first warms what a running agent has warm
        spent.clear()
        named = found = 0
        for space, question in questions if round_ else questions[:20]:
            request = SearchRequest(query=question, spaces=None if whole else [space], touch=False)
            before = clocks(pid)
            answer = run(ledger.recalling.search(request), ledger.executor)
            spent.append(tuple(now - then for now, then in zip(clocks(pid), before, strict=True)))
            if "own-name-" in question and whole:
                named += 1
                found += any(
                    str(hit.entry_id) == question.rsplit("-", 1)[1] for hit in answer.hits[:1]
                )
    kinds = ("by the clock", "processor, server", "processor, here")
    told = zip(kinds, map(spread, zip(*spent, strict=True)), strict=True)
    return {**dict(told), "own name first": round(found / named, 3) if named else -1}


def clocks(pid: int) -> tuple[float, float, float]:
    """Return the seconds of the clock, and those the server's process and this thread worked."""
    worked = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    return time.perf_counter(), worked, time.thread_time()


def spread(seconds: Iterable[float]) -> str:
    ordered = sorted(1000 * each for each in seconds)
    middle, high = statistics.median(ordered), ordered[int(0.95 * len(ordered))]
    return f"p50 {middle:.1f}, p95 {high:.1f}, most {ordered[-1]:.1f} ms"


def sql(ledger: Ledger, text: str, **params: object) -> list[dict[str, object]]:
    return ledger.executor.execute(Batch([Query(text, params)]))[0]


if __name__ == "__main__":
    main()
