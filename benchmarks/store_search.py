"""Search in the store: ours and LangGraph's PostgresStore on the same items in one run.

    python benchmarks/store_search.py ../shared --data-dir FOLDER [--questions 100 --share 1.0]

exact        messages of 2 sessions as items, 150 exact questions; the answer stands in the top 1, 5
longmemeval  turns of a haystack of 40 sessions; an item of a gold session in the top 1, 5
kdconv       Chinese turns of 75 dialogues; a turn that states the fact in the top 1, 5, 10
filters      400 tenants with 100 items each, made-up vectors; rows, recall of the 10 nearest
pages        60 items in pages of 10; how many come

Both stores have the local embedding model; ours is run without it too.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.postgres import PostgresStore
from psycopg import Connection
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from langledger.database import Database
from langledger.database.embedded import EmbeddedServer
from langledger.memory.store import LedgerStore
from langledger.recall import LocalModel


@dataclass
class Case:
    name: str
    ks: tuple[int, ...]
    items: list[str]
    asked: list[tuple[str, set[int]]]  # question, items that answer it


class Remembering(Embeddings):
    """Embeds each text once."""

    def __init__(self, model: Any) -> None:
        self.inner = model
        self.model = "local"
        self.known: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known |= dict(zip(new, self.inner.embed_documents(new), strict=True))
        return [self.known[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        key = f"\x00{text}"
        if key not in self.known:
            self.known[key] = self.inner.embed_query(text)
        return self.known[key]


class MadeUp(Embeddings):
    """Vectors that texts name by a number."""

    model = "made-up"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        chance = random.Random(text.rsplit(" ", 1)[-1])
        return [chance.gauss(0, 1) for _ in range(64)]


def exact(shared: Path, share: float) -> Case:
    items: list[str] = []
    asked: list[tuple[str, list[str]]] = []
    for session in json.loads((shared / "datasets/exact_recall.json").read_text())[:2]:
        messages = session["messages"]
        items += [_text(message)[:4000] for message in messages[: int(len(messages) * share)]]
        asked += [
            (q["question"], [part.split("=")[-1] for part in q["expected"].split("|")])
            for q in session["questions"]
        ]
    found = [
        (question, {n for n, text in enumerate(items) if all(part in text for part in parts)})
        for question, parts in asked
    ]
    return Case("exact", (1, 5), items, [(q, gold) for q, gold in found if gold])


def longmemeval(shared: Path, share: float) -> Case:
    line = (shared / "datasets/memory/longmemeval_s_3.jsonl").read_text().splitlines()[0]
    haystack = json.loads(line)
    items: list[str] = []
    sessions: list[str] = []
    gold = {name for q in haystack["questions"] for name in q["answer_session_ids"]}
    others = [s for s in haystack["sessions"] if s["id"] not in gold]
    chosen = [s for s in haystack["sessions"] if s["id"] in gold]
    for session in chosen + others[: int(len(others) * share)]:
        for turn in session["turns"]:
            items.append(turn["content"][:1000])
            sessions.append(session["id"])
    asked = [
        (q["question"], {n for n, s in enumerate(sessions) if s in q["answer_session_ids"]})
        for q in haystack["questions"]
    ]
    return Case("longmemeval", (1, 5), items, asked)


def kdconv(shared: Path, share: float) -> Case:
    items: list[str] = []
    asked: list[tuple[str, set[int]]] = []
    lines = (shared / "datasets/memory/kdconv_zh.jsonl").read_text().splitlines()
    for line in lines[: int(len(lines) * share)]:
        dialogue = json.loads(line)
        start = len(items)
        items += [message["content"] for message in dialogue["messages"]]
        facts: dict[str, set[int]] = {}
        for fact in dialogue["facts"]:
            question = f"{fact['entity']}的{fact['attribute']}是什么？"
            facts.setdefault(question, set()).add(start + fact["turn"])
        asked += facts.items()
    return Case("kdconv", (1, 5, 10), items, asked)


SETS = {"kdconv": kdconv, "exact": exact, "longmemeval": longmemeval}


def _text(message: Any) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(
        part.get("text") or json.dumps(part.get("arguments", ""), ensure_ascii=False)
        for part in content
    )


def fill(store: BaseStore, case: Case) -> float:
    started = time.perf_counter()
    for at in range(0, len(case.items), 50):
        batch = enumerate(case.items[at : at + 50], at)
        store.batch([PutOp((case.name,), str(n), {"text": text}) for n, text in batch])
    return time.perf_counter() - started


def measure(store: BaseStore, case: Case) -> tuple[list[float], float]:
    hits = dict.fromkeys(case.ks, 0)
    started = time.perf_counter()
    for question, gold in case.asked:
        found = store.search((case.name,), query=question, limit=max(case.ks))
        places = [at for at, item in enumerate(found) if int(item.key) in gold]
        for k in case.ks:
            hits[k] += bool(places) and places[0] < k
    spent = (time.perf_counter() - started) / len(case.asked)
    return [hits[k] / len(case.asked) for k in case.ks], spent * 1000


def filters(stores: Sequence[tuple[str, BaseStore]], tenants: int, each: int = 100) -> None:
    model = MadeUp()
    chance = random.Random(1)
    asked = [chance.randrange(tenants) for _ in range(40)]
    for name, store in stores:
        for tenant in range(tenants):
            ops = [
                PutOp(("filters", f"t{tenant}"), str(n), {"text": f"item {tenant}-{n}"})
                for n in range(each)
            ]
            store.batch(ops)
        rows, right, spent = 0, 0, 0.0
        for number, tenant in enumerate(asked):
            query = f"ask q{number}q"  # shares no word with an item
            vector = model.embed_query(query)
            scored = [
                (_dot(vector, model.embed_query(f"item {tenant}-{n}")), str(n)) for n in range(each)
            ]
            nearest = {key for _, key in sorted(scored, reverse=True)[:10]}
            started = time.perf_counter()
            found = store.search(("filters", f"t{tenant}"), query=query, limit=10)
            spent += time.perf_counter() - started
            rows += len(found)
            right += len(nearest & {item.key for item in found})
        count = len(asked)
        print(
            f"filters      {name:28} rows {rows / count:5.2f} of 10, recall@10 "
            f"{right / count / 10:.3f}, {spent / count * 1000:.1f} ms"
        )


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = sum(a * a for a in one) ** 0.5 * sum(b * b for b in other) ** 0.5
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths


def pages(stores: Sequence[tuple[str, BaseStore]]) -> None:
    for name, store in stores:
        store.batch([PutOp(("pages",), str(n), {"text": f"note {n}"}) for n in range(60)])
        found = [
            len(store.search(("pages",), query="note", limit=10, offset=at))
            for at in range(0, 60, 10)
        ]
        print(f"pages        {name:28} {found}, {sum(found)} of 60")


@contextmanager
def opened(dsn: str, model: Embeddings, dims: int) -> Iterator[list[tuple[str, BaseStore]]]:
    index: Any = {"dims": dims, "embed": model, "fields": ["text"]}
    with (
        Database(dsn, schema="langledger") as database,
        Connection.connect(dsn, autocommit=True, prepare_threshold=0, row_factory=dict_row) as link,
    ):
        database.setup()
        peer = PostgresStore(link, index=index)
        peer.setup()
        yield [
            ("LedgerStore, words", LedgerStore(database, tenant="words")),
            ("LedgerStore, words + vectors", LedgerStore(database, tenant="both", index=index)),
            ("PostgresStore", peer),
        ]


def run(given: argparse.Namespace, dsn: str, model: Embeddings) -> None:
    with opened(dsn, model, 384) as stores:
        for case in (SETS[name](given.shared, given.share) for name in given.sets):
            random.Random(1).shuffle(case.asked)
            case.asked = case.asked[: given.questions]
            model.embed_documents(case.items)
            for name, store in stores:
                filled = fill(store, case)
                shares, ms = measure(store, case)
                told = ", ".join(f"@{k} {s:.1%}" for k, s in zip(case.ks, shares, strict=True))
                print(
                    f"{case.name:12} {name:28} {told} of {len(case.asked)}, {ms:.1f} ms a search, "
                    f"{len(case.items)} items put in {filled:.1f} s",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--share", type=float, default=1.0, help="of each data set")
    parser.add_argument("--tenants", type=int, default=400)
    arguments = parser.parse_args()
    with EmbeddedServer(arguments.data_dir) as server:
        with Connection.connect(server.dsn, autocommit=True) as link:
            for name in ("store_search", "store_made_up"):
                link.execute(f"DROP DATABASE IF EXISTS {name}")
                link.execute(f"CREATE DATABASE {name}")
        with opened(make_conninfo(server.dsn, dbname="store_made_up"), MadeUp(), 64) as stores:
            filters(stores[1:], arguments.tenants)
            pages(stores[1:])
        dsn = make_conninfo(server.dsn, dbname="store_search")
        run(arguments, dsn, Remembering(LocalModel()))


if __name__ == "__main__":
    main()
