"""What a cache of units in the process could save of a search in a long thread.

    python benchmarks/recall_hot.py TRANSCRIPTS --data-dir FOLDER [--entries 10000] [--queries 60]

A thread of so many entries, units of recorded sessions, each with a name of its own. Asked are six
words of an entry in order. A tenth of the entries are asked about nine times in ten, so that there
is something hot. Told is processor time, of the server's process and of this one, for
the whole search; for the same statement without the columns that a cache would hold (text and
metadata of the candidates); and for unpacking these here.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from psycopg.sql import SQL, Composed

from langledger import Ledger
from langledger.entries.log import thread_key
from langledger.operations import Batch, Executor, Query, Row, run
from langledger.recall import SearchRequest
from langledger.recall.build import text_of
from langledger.replay.session import load_session

HELD = "u.metadata, u.body"
TICK = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("transcripts", type=Path)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=60)
    given = parser.parse_args()
    opened = Ledger.from_conn_string(data_dir=given.data_dir, embeddings="off", pool_size=1)
    with opened as ledger:
        texts = entries_of(given.transcripts, given.entries)
        fill(ledger, texts)
        rng = random.Random(7)
        hot = rng.sample(texts, len(texts) // 10)
        asked = [rng.choice(hot if rng.random() < 0.9 else texts) for _ in range(given.queries)]
        report(ledger, [question(text, rng) for text in asked])


def entries_of(folder: Path, count: int) -> list[str]:
    paths = sorted(folder.glob("claude-code/*.jsonl")) + sorted(folder.glob("codex/*.jsonl"))
    said = [m.message.text for path in paths for m in load_session(path).messages]
    pieces = [text[:1200] for text in said if len(text.split()) > 8]
    return [f"name-{n}-{n * 7919 % 99991} {pieces[n % len(pieces)]}" for n in range(count)]


def fill(ledger: Ledger, texts: list[str]) -> None:
    if ledger.count("t") < len(texts):
        for start in range(0, len(texts), 500):
            messages = [HumanMessage(text) for text in texts[start : start + 500]]
            ledger.append(messages, thread_id="t")
        run(ledger.recalling.index("t"), ledger.executor)
        ledger.executor.execute(Batch([Query("ANALYZE {schema}.recall_unit")]))


def question(text: str, rng: random.Random) -> str:
    words = re.findall(r"\w{3,}", text)
    at = rng.randrange(max(1, len(words) - 6))
    return " ".join(words[at : at + 6])


class Noting:
    """Runs statements, and keeps those of searches."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.searches: list[Query] = []

    def execute(self, batch: Batch) -> list[list[Row]]:
        texts = [(query, _text(query.sql)) for query in batch.queries]
        self.searches += [query for query, text in texts if HELD in text]
        return self._executor.execute(batch)

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        return self.execute(batch)


def report(ledger: Ledger, questions: list[str]) -> None:
    space = thread_key("default", "t")
    pid = ledger.executor.execute(Batch([Query("SELECT pg_backend_pid() AS pid")]))[0][0]["pid"]
    noting, rows = Noting(ledger.executor), list[list[Row]]()

    def search(text: str) -> None:
        request = SearchRequest(query=text, spaces=[space], touch=False)
        run(ledger.recalling.search(request), noting)

    def whole(query: Query) -> None:
        rows.append(ledger.executor.execute(Batch([query]))[0])

    def without(query: Query) -> None:
        text = _text(query.sql).replace(HELD, "NULL AS metadata, NULL AS body")
        ledger.executor.execute(Batch([Query(Composed([SQL(text)]), query.params)]))

    for text in questions:  # once, so that PostgreSQL's own buffers hold what they will
        search(text)
    noting.searches.clear()
    told("a search", questions, search, pid)
    told("its statement", noting.searches, whole, pid)
    told("the same without what a cache holds", noting.searches, without, pid)
    told("unpacking the texts", rows, _unpacked, pid)
    print(f"candidates of a search: {statistics.mean(map(len, rows)):.0f}")


def _text(sql: Any) -> str:
    return sql if isinstance(sql, str) else sql.as_string(None)


def _unpacked(rows: list[Row]) -> None:
    for row in rows:
        text_of(row["body"])


def told(what: str, items: list[Any], function: Callable[[Any], Any], pid: int) -> None:
    walls: list[float] = []
    server, client = _server(pid), time.process_time()
    for item in items:
        begun = time.perf_counter()
        function(item)
        walls.append(time.perf_counter() - begun)
    client, server = time.process_time() - client, _server(pid) - server
    each = [1000 * seconds / len(items) for seconds in (server, client)]
    wall = 1000 * statistics.median(walls)
    print(f"{what}: server {each[0]:.1f} ms, here {each[1]:.1f} ms, by the clock {wall:.1f} ms")


def _server(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


if __name__ == "__main__":
    main()
