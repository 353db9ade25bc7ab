"""Latency of a search of a repository of many files, and tokens given against whole files.

    python benchmarks/repository_search.py FOLDER --files 50000 --data-dir DATA --queries 60

FOLDER is indexed, then its rows are copied under other paths until there are enough files; each
copy has a name of its own in its first chunk. Asked are five words that stand together in a file of
the folder, and every third time a place in one.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import time
from pathlib import Path
from typing import Any

from langledger import Ledger
from langledger.operations import Batch, Query

COPIES = [
    """INSERT INTO {schema}.repository_blob
       SELECT tenant, repository, md5(blob::text || n)::uuid, language, encoding, lines, tokens,
              imports, fault, body
       FROM {schema}.repository_blob, generate_series(1, %(copies)s) AS n""",
    """INSERT INTO {schema}.repository_file
       SELECT tenant, repository, worktree, 'copy' || n || '/' || path, md5(blob::text || n)::uuid,
              is_test, stamp, terms, fault, changed_at
       FROM {schema}.repository_file, generate_series(1, %(copies)s) AS n WHERE blob IS NOT NULL""",
    """INSERT INTO {schema}.repository_chunk
       SELECT tenant, repository, md5(blob::text || n)::uuid, chunk, symbol, start_byte, end_byte,
              start_line, end_line, tokens, size,
              CASE WHEN chunk = 0 THEN terms || ('copyname' || n)::tsvector ELSE terms END
       FROM {schema}.repository_chunk, generate_series(1, %(copies)s) AS n""",
    """INSERT INTO {schema}.repository_symbol
       SELECT tenant, repository, md5(blob::text || n)::uuid, symbol, parent, kind, name, qualified,
              start_byte, end_byte, start_line, end_line, signature, ref_kinds, ref_names,
              ref_receivers, ref_lines
       FROM {schema}.repository_symbol, generate_series(1, %(copies)s) AS n""",
]
TABLES = ("file", "blob", "chunk", "symbol")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=60)
    given = parser.parse_args()
    with Ledger.from_conn_string(data_dir=given.data_dir, embeddings="off") as ledger:
        code = ledger.repository(given.folder)
        base = code.index().files
        if count(ledger, "file") < given.files:
            started = time.perf_counter()
            for statement in COPIES:
                sql(ledger, statement, copies=-(-given.files // base) - 1)
            for table in TABLES:
                sql(ledger, f"ANALYZE {{schema}}.repository_{table}")
            print(f"copied in {time.perf_counter() - started:.0f} s", flush=True)
        print(json.dumps(measured(ledger, code, given)), flush=True)


def measured(ledger: Ledger, code: Any, given: argparse.Namespace) -> dict[str, Any]:
    questions = asked(code, given.queries)
    started = time.perf_counter()
    code.find(questions[0])
    cold = time.perf_counter() - started
    seconds, packed, whole = [], [], []
    for question in questions:
        started = time.perf_counter()
        found = code.find(question, k=20)
        seconds.append(time.perf_counter() - started)
        context = code.context(question)
        packed.append(len(context) // 4)
        paths = {hit.path for hit in found.hits}
        whole.append(file_tokens(ledger, paths))
    cuts = statistics.quantiles(seconds, n=20)
    return {
        "files": count(ledger, "file"),
        "chunks": count(ledger, "chunk"),
        "first query, s": round(cold, 3),
        "p50, s": round(statistics.median(seconds), 3),
        "p95, s": round(cuts[18], 3),
        "tokens given, mean": round(statistics.fmean(packed)),
        "tokens of the hits' files whole, mean": round(statistics.fmean(whole)),
    }


def asked(code: Any, most: int) -> list[str]:
    """Return words that stand together in chunks of the folder, and places in it."""
    rng = random.Random(7)
    paths = sorted(path for path in code.root.rglob("*.py") if "." not in path.parent.name)
    questions: list[str] = []
    while len(questions) < most:
        path = rng.choice(paths)
        words = re.findall(r"[A-Za-z_]{4,}", path.read_text("utf-8", "replace"))
        if len(words) < 40:
            continue
        at = rng.randrange(len(words) - 8)
        questions.append(" ".join(words[at : at + 5]))
        if len(questions) % 3 == 0:
            questions[-1] = f"{path.relative_to(code.root).as_posix()}:{rng.randrange(5, 60)}"
    return questions


def file_tokens(ledger: Ledger, paths: set[str]) -> int:
    rows = sql(
        ledger,
        """SELECT coalesce(sum(b.tokens), 0)::int AS n FROM {schema}.repository_file f
           JOIN {schema}.repository_blob b USING (tenant, repository, blob)
           WHERE f.path = ANY(%(paths)s::text[])""",
        paths=list(paths),
    )
    return rows[0]["n"]


def count(ledger: Ledger, table: str) -> int:
    return sql(ledger, f"SELECT count(*) AS n FROM {{schema}}.repository_{table}")[0]["n"]


def sql(ledger: Ledger, statement: str, **params: Any) -> list[dict[str, Any]]:
    return ledger.executor.execute(Batch([Query(statement, params)]))[0]


if __name__ == "__main__":
    main()
