"""What encryption at rest costs, and that it changes nothing of what is shown and found.

    python benchmarks/encryption.py SESSION_FILE... [--database-url DSN]

Each session is lived through twice, side by side: recorded message by message, viewed before each
model call (window 32,000), checkpointed, copied, kept in the store as an item a message, and
searched for its own lines. Given are medians by the clock and of the client's processor time, the
bytes of the tables, and whether views and hits are the same.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.base import empty_checkpoint

from langledger import Ledger
from langledger.compaction.compactor import ModelCall
from langledger.compaction.options import compactor_of
from langledger.database.connection import connect
from langledger.encryption import KeyRing
from langledger.entries import Location
from langledger.operations import run
from langledger.replay.session import load_session
from langledger.rotation import rotate_keys

WINDOW = 32_000
CALLS, SEARCHES = 60, 40
Times = dict[str, list[tuple[float, float]]]


def timed(times: Times, what: str, function: Callable[[], Any]) -> Any:
    started, busy = time.perf_counter(), time.thread_time()
    result = function()
    times[what].append((time.perf_counter() - started, time.thread_time() - busy))
    return result


def lived(ledger: Ledger, name: str, messages: list[BaseMessage], times: Times) -> list[Any]:
    """Live through a session; return what was shown and found."""
    compactor, location = compactor_of(can_look_up=True), Location(ledger.tenant, name)
    told: list[Any] = []
    calls = [n for n, message in enumerate(messages) if n and isinstance(message, AIMessage)]
    chosen = set(calls[:: max(1, len(calls) // CALLS)])
    for n, message in enumerate(messages):
        if n in chosen:
            call = ModelCall(location=location, messages=messages[:n], window=WINDOW)
            prepare = partial(run, compactor.prepare(call), ledger.executor)
            view = timed(times, "view", prepare)
            told.append([(m.type, m.content) for m in view.messages])
        timed(times, "append", lambda m=message: ledger.append([m], thread_id=name))
    timed(times, "history", lambda: ledger.history(name))
    lines = [line for m in messages for line in str(m.text).splitlines() if len(line) > 30]
    for line in lines[:: max(1, len(lines) // SEARCHES)]:
        hits = timed(times, "recall", lambda q=line: ledger.recall(q[:300], thread_id=name))
        told.append([(hit.entry_id, hit.part) for hit in hits])
    checkpointed(ledger, f"{name}-graph", messages, times)
    told += kept(ledger, name, messages, times)
    return told


def kept(ledger: Ledger, name: str, messages: list[BaseMessage], times: Times) -> list[Any]:
    """Keep each message as an item of the store; return what was found of them."""
    store, place = ledger.store(), ("messages", name)
    told: list[Any] = []
    for n, message in enumerate(messages):
        value = {"text": str(message.text), "type": message.type, "n": n}
        timed(times, "put", lambda n=n, value=value: store.put(place, str(n), value))
        timed(times, "get", lambda n=n: store.get(place, str(n)))
    lines = [line for m in messages for line in str(m.text).splitlines() if len(line) > 30]
    for line in lines[:: max(1, len(lines) // SEARCHES)]:
        for what, wanted in (("search", None), ("search with a filter", {"type": "ai"})):
            search = partial(store.search, place, query=line[:300], filter=wanted, limit=5)
            items = timed(times, what, search)
            scores = [round(item.score or 0, 6) for item in items]
            # Of items that are as good, those come first whose key, or its hash, does.
            better = [
                item.key for item, score in zip(items, scores, strict=True) if score > scores[-1]
            ]
            told.append((scores, sorted(better)))
    return told


def checkpointed(ledger: Ledger, name: str, messages: list[BaseMessage], times: Times) -> None:
    saver = ledger.checkpointer()
    config: Any = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
    step = max(1, len(messages) // CALLS)
    for version, n in enumerate(range(step, len(messages) + 1, step), 1):
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": messages[:n], "note": f"step {version}"}
        checkpoint["channel_versions"] = versions = {"messages": version, "note": version}
        config = timed(
            times,
            "checkpoint",
            lambda: saver.put(config, checkpoint, {"step": version}, versions),  # noqa: B023
        )
    cold = ledger.checkpointer()
    timed(times, "resume", lambda: cold.get_tuple({"configurable": {"thread_id": name}}))
    timed(times, "copy of a thread", lambda: saver.copy_thread(name, f"{name}-copy"))


def size(dsn: str) -> int:
    with connect(dsn) as connection:
        row = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid)) AS n FROM pg_class c "
            "WHERE c.relnamespace = 'langledger'::regnamespace AND c.relkind = 'r'"
        ).fetchone()
    return int(row["n"]) if row else 0


def shown(times: list[tuple[float, float]]) -> str:
    clock, busy = (1_000 * statistics.median(column) for column in zip(*times, strict=True))
    return f"{clock:.2f} | {busy:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sessions", nargs="+", type=Path)
    parser.add_argument("--database-url")
    options = parser.parse_args()
    old, new = KeyRing.new_key(), KeyRing.new_key()
    times: dict[bool, Times] = {False: defaultdict(list), True: defaultdict(list)}
    grown: dict[bool, int] = {False: 0, True: 0}
    same = total = entries = 0
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # run by root, the embedded server is another user
        data_dir = None if options.database_url else Path(folder) / "data"
        common: dict[str, Any] = {"data_dir": data_dir, "embeddings": "off"}
        with (
            Ledger.from_conn_string(options.database_url, tenant="clear", **common) as clear,
            Ledger.from_conn_string(
                options.database_url, tenant="closed", encryption={"old": old}, **common
            ) as closed,
        ):
            for number, path in enumerate(options.sessions):
                messages = [one.message for one in load_session(path).messages]
                told = {}
                for encrypted in (False, True) if number % 2 else (True, False):
                    before, ledger = size(clear.dsn), closed if encrypted else clear
                    told[encrypted] = lived(ledger, str(number), messages, times[encrypted])
                    grown[encrypted] += size(clear.dsn) - before
                same += sum(a == b for a, b in zip(told[False], told[True], strict=True))
                total += len(told[False])
                entries += len(messages)
            started = time.perf_counter()
            ring = KeyRing({"new": new, "old": old})
            rotated = rotate_keys(closed.dsn, ring, tenant="closed")
            seconds = time.perf_counter() - started
    print(f"{len(options.sessions)} sessions, {entries} messages; ms, medians\n")
    print("| | in clear | processor | encrypted | processor |\n|---|---|---|---|---|")
    for what in times[False]:
        sides = (shown(times[encrypted][what]) for encrypted in (False, True))
        print(f"| {what} ({len(times[True][what])}) | {' | '.join(sides)} |")
    print(f"| tables, MB | {grown[False] / 1e6:.1f} | | {grown[True] / 1e6:.1f} | |")
    print(f"\nviews and searches with the same outcome: {same} of {total}")
    print(f"rotation: {rotated.rewritten.total()} rows of {rotated.read} read in {seconds:.1f} s")


if __name__ == "__main__":
    main()
