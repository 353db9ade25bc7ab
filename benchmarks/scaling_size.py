"""Bytes an entry takes, and the latency of the hot paths, as a database grows.

    python benchmarks/scaling_size.py [--dsn DSN] [--sizes 12000,100000,1000000] [--calls 200]
        [--data-dir FOLDER] [--json FILE]

Forty threads of a hundred messages are recorded, checkpointed and indexed as an agent would, with
items of their users in the store; then the server copies them under other thread ids and tenants
until there are so many entries. Calls are timed on threads taken at random, each on a ledger that
remembers nothing of them.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from checkpoint_throughput import METADATA, checkpoint
from checkpoint_workload import Text, _on_processor, _sessions, machine, new_database, server
from langchain_core.messages import AIMessage, HumanMessage
from load_workload import percentiles
from psycopg.conninfo import conninfo_to_dict

from langledger import Ledger
from langledger.checkpoint import LedgerSaver
from langledger.database.connection import connect

THREADS, LENGTH, TENANTS = 40, 100, 200
COPIED = {
    "thread": "tenant, thread_key, thread_id, next_seq, next_value, generation, user_id, metadata",
    "entry": "tenant, thread_key, seq, digest, occurrence, tokens, kind, role, message_id, "
    "task_id, user_id, scope, metadata, body",
    "checkpoint": "part, tenant, thread_key, checkpoint_ns, first_id, last_id, refs, snapshots, "
    "run_ids, log",
    "recall_space": "tenant, space, done, units",
    "recall_unit": "tenant, space, ref, part, size, importance, created_at, digest, role, "
    "message_id, task_id, user_id, tags, metadata, terms, body, is_entry",
    "store_item": "tenant, namespace, key, item_id, value, indexed",
    "store_unit": "tenant, item_id, part, size, terms, counts",
}
COPIES = 10  # in one statement


def record(ledger: Ledger, text: Text) -> None:
    """Make the threads that are copied."""
    saver, store = ledger.checkpointer(), ledger.store()
    for thread in range(THREADS):
        messages = [
            (AIMessage if n % 2 else HumanMessage)(
                (text.answer if n % 2 else text.human)(thread * LENGTH + n), id=f"{thread}-{n}"
            )
            for n in range(LENGTH)
        ]
        ledger.append(messages, thread_id=f"thread {thread}")
        config: Any = {"configurable": {"thread_id": f"thread {thread}", "checkpoint_ns": ""}}
        for step in range(20):
            made = checkpoint(text, thread, step)
            config = saver.put(config, made, METADATA, made["channel_versions"])
        ledger.recall("anything", thread_id=f"thread {thread}", k=1)
        for fact in range(5):
            value = {"text": text.prose((thread * 5 + fact) * 300, 200)}
            store.put(("users", str(thread)), f"fact {fact}", value)


def copy(connection: Any, first: int, last: int) -> None:
    """Have the server copy all threads, once for each number."""
    made = {
        "tenant": f"'tenant ' || number % {TENANTS}",
        "thread_key": "md5(number || thread_key::text)::uuid",
        "space": "md5(number || space::text)::uuid",
        "item_id": "md5(number || item_id::text)::uuid",
        "thread_id": "thread_id || '.' || number",
        "namespace": "namespace || number::text",
    }
    with connection.transaction():
        connection.execute("SET LOCAL synchronous_commit = off")
        connection.execute("SET LOCAL session_replication_role = replica")  # all keys are there
        for table, columns in COPIED.items():
            values = (made.get(name.strip(), name) for name in columns.split(","))
            connection.execute(
                f"INSERT INTO langledger.{table} ({columns}) SELECT {', '.join(values)} FROM "
                f"langledger.{table}, generate_series({first}, {last}) AS number "
                "WHERE tenant = 'template'"
            )


@contextmanager
def words_indexed_afterwards(connection: Any) -> Iterator[None]:
    """Leave out the index of words meanwhile: of many rows it is quicker made at once."""
    (row,) = connection.execute(
        "SELECT indexdef AS made FROM pg_indexes WHERE indexname = 'recall_terms'"
    ).fetchall()
    connection.execute("DROP INDEX langledger.recall_terms")
    yield
    connection.execute("SET maintenance_work_mem = '512MB'")
    connection.execute(row["made"])


def sizes(connection: Any, entries: int) -> list[dict[str, Any]]:
    """Bytes an entry of each table: rows, TOAST and indexes."""
    return connection.execute(
        """SELECT c.relname AS name, c.reltuples::bigint AS rows,
                  round(pg_table_size(c.oid) / %(n)s::numeric, 1)::float8 AS rows_bytes,
                  round(pg_indexes_size(c.oid) / %(n)s::numeric, 1)::float8 AS index_bytes
           FROM pg_class c WHERE c.relnamespace = 'langledger'::regnamespace AND c.relkind = 'r'
             AND pg_total_relation_size(c.oid) > 1000000
           ORDER BY pg_total_relation_size(c.oid) DESC""",
        {"n": entries},
    ).fetchall()


def timed(dsn: str, calls: int, call: Callable[[], object]) -> tuple[float, float, float, float]:
    """Return p50, p95 and p99 of the calls, and the server's processor time for one, all in ms."""
    call()
    sessions = _sessions(str(conninfo_to_dict(dsn)["dbname"]))
    before = sum(map(_on_processor, sessions))
    taken = []
    for _ in range(calls):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    spent = sum(map(_on_processor, sessions)) - before
    return *percentiles(taken), spent / calls * 1e3


def hot_paths(ledger: Ledger, calls: int) -> dict[str, tuple[float, ...]]:
    """Time calls on threads at random."""
    chance = random.Random(7)
    # Copies have keys that no id hashes to: they are what the tables are full of, not what is
    # asked for. What is asked for are threads recorded as usual among them.
    names = [(f"tenant {n % TENANTS}", f"asked {n}") for n in range(40)]
    text = Text()
    for tenant, thread in names:
        messages = [HumanMessage(text.human(n), id=str(n)) for n in range(LENGTH)]
        of_tenant = ledger.for_tenant(tenant)
        of_tenant.append(messages, thread_id=thread)
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        made = checkpoint(text, 1, 1)
        of_tenant.checkpointer().put(config, made, METADATA, made["channel_versions"])
        of_tenant.recall("anything", thread_id=thread, k=1)

    def any_thread() -> tuple[Ledger, str]:
        tenant, thread = chance.choice(names)
        return ledger.for_tenant(tenant), thread

    def append() -> None:
        of_tenant, thread = any_thread()
        of_tenant.append([HumanMessage(uuid4().hex, id=uuid4().hex)], thread_id=thread)

    def history() -> None:
        of_tenant, thread = any_thread()
        of_tenant.history(thread, after=90)

    def read() -> None:
        tenant, thread = chance.choice(names)
        saver = LedgerSaver(ledger.executor, tenant=tenant, cache_bytes=0)
        assert saver.get_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": ""}})

    def write() -> None:
        of_tenant, thread = any_thread()
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        made = checkpoint(text, chance.randrange(10**6), 1)
        of_tenant.checkpointer().put(config, made, METADATA, made["channel_versions"])

    def recall() -> None:
        of_tenant, thread = any_thread()
        of_tenant.recall("modules and the import statement", thread_id=thread)

    def recall_all() -> None:
        any_thread()[0].recall("modules and the import statement")

    def keep() -> None:
        of_tenant, thread = any_thread()
        item = {"text": text.prose(chance.randrange(10**6), 200)}
        of_tenant.store().put(("users", thread), f"fact {chance.randrange(20)}", item)

    def kept() -> None:
        of_tenant, thread = any_thread()
        of_tenant.store().search(("users", thread), query="modules", limit=5)

    def view() -> None:
        of_tenant, thread = any_thread()
        node = of_tenant.compaction_node(window=200_000)
        asked = [HumanMessage(text.human(n), id=str(n)) for n in range(LENGTH)]
        node.invoke({"messages": asked}, {"configurable": {"thread_id": thread}})

    def threads() -> None:
        any_thread()[0].threads()

    paths = {
        "append": append,
        "history, 10 of 100": history,
        "checkpoint, cold": read,
        "checkpoint, put": write,
        "view, cold": view,
        "recall in a thread": recall,
        "recall of a tenant": recall_all,
        "store, put": keep,
        "store, search": kept,
        "threads, newest 100": threads,
    }
    return {name: timed(ledger.dsn, calls, call) for name, call in paths.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn")
    parser.add_argument("--sizes", default="12000,100000,1000000")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--data-dir", type=Path, help="of a server that is started there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    with server(options.dsn, options.data_dir) as running, new_database(running) as dsn:
        print(machine(dsn), flush=True)
        with Ledger.from_conn_string(dsn, tenant="template", embeddings="off") as ledger:
            record(ledger, Text())
            copies = 0
            for size in map(int, options.sizes.split(",")):
                with connect(dsn) as connection:
                    started = time.perf_counter()
                    with words_indexed_afterwards(connection):
                        while (missing := size // (THREADS * LENGTH) - 1 - copies) > 0:
                            copy(connection, copies, copies + min(missing, COPIES) - 1)
                            copies += min(missing, COPIES)
                    connection.execute("VACUUM ANALYZE")
                    print(f"\nfilled in {time.perf_counter() - started:.0f} s", flush=True)
                    entries = (copies + 1) * THREADS * LENGTH
                    parts = sizes(connection, entries)
                paths = hot_paths(ledger, options.calls)
                found.append({"entries": entries, "bytes": parts, "ms": paths})
                show(entries, parts, paths)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


def show(entries: int, parts: list[dict[str, Any]], paths: dict[str, Any]) -> None:
    total = sum(part["rows_bytes"] + part["index_bytes"] for part in parts)
    print(f"{entries:,} entries in {entries // LENGTH:,} threads, {total:.0f} bytes an entry")
    for part in parts:
        print(
            f"  {part['name']:<14} {part['rows_bytes']:>8.1f} + {part['index_bytes']:>7.1f} index"
        )
    for name, (p50, p95, p99, cpu) in paths.items():
        print(
            f"  {name:<20} p50 {p50:>7.1f}  p95 {p95:>7.1f}  p99 {p99:>7.1f} ms"
            f"  server {cpu:>6.2f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
