"""What must hold after a fault, whatever happened when."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import SystemMessage

from langledger import Ledger
from langledger.compaction.validity import provider_problems
from langledger.database.connection import connect


@dataclass
class Told:
    """What a process said before it ended.

    Attributes:
        acknowledged: Its operations, in order.
        errors: Of langledger's tree, by type.
        problems: What it found wrong by itself.
    """

    acknowledged: list[dict[str, Any]] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def read(self, lines: Iterable[str]) -> Told:
        for line in lines:
            try:
                what = json.loads(line)
            except ValueError:  # the last one, cut by a kill
                continue
            if "op" in what:
                self.acknowledged.append(what)
            elif "error" in what:
                self.errors[f"{what['error']} in {what['of']}"] += 1
            elif any(what.get(name) for name in ("left", "tasks", "held", "unexpected", "child")):
                self.problems.append(f"left behind: {what}")
        return self

    @property
    def by_op(self) -> Counter[str]:
        return Counter(what["op"] for what in self.acknowledged)


def problems_after(
    dsn: str, tenant: str, told: Told, *, encryption: str | None = None
) -> list[str]:
    """Return what was lost, doubled, half made or left behind; one line each."""
    found = list(told.problems)
    with Ledger.from_conn_string(
        dsn, tenant=tenant, embeddings="off", encryption=encryption
    ) as ledger:
        for what in told.acknowledged:
            found += _lost(ledger, what)
        for thread in {what["thread"] for what in told.acknowledged if what["op"] == "append"}:
            found += _order(ledger, thread, told)
        for row in ledger.threads(limit=10_000):
            found += _doubled(ledger, row["thread_id"])
        for thread in {what["thread"] for what in told.acknowledged if what["op"] == "turn"}:
            found += _compactions(ledger, thread)
    return found + _sessions(dsn)


def _lost(ledger: Ledger, what: dict[str, Any]) -> list[str]:
    """Look for one acknowledged operation's effect."""
    match what["op"]:
        case "turn":
            config: Any = {"configurable": {"thread_id": what["thread"]}}
            stored = ledger.checkpointer().get_tuple(config)
            values = stored.checkpoint["channel_values"] if stored else {}
            kept = {m.id for m in values.get("messages", ())}
            recorded = {e.message_id for e in ledger.history(what["thread"])}
            lost = [i for i in what["ids"] if i not in kept or i not in recorded]
        case "note":
            state = ledger.state(what["thread"])
            lost = [] if what["what"] in state.model_dump_json() else [what["what"]]
        case "keep":
            found = ledger.store().search((what["thread"], "kept"), query=what["what"], limit=1)
            lost = [] if [item.key for item in found] == [what["what"]] else [what["what"]]
        case "import":
            count = ledger.count(what["thread"])
            lost = [] if count == what["messages"] else [f"{count} of {what['messages']} messages"]
        case "delete":
            lost = ["a deleted thread is there"] if ledger.count(what["thread"]) else []
        case _:
            lost = []
    return [f"lost by {what['op']} on {what['thread']}: {one}" for one in lost]


def _order(ledger: Ledger, thread: str, told: Told) -> list[str]:
    """Every acknowledged text is there once, in the order they were acknowledged."""
    said = [
        text
        for what in told.acknowledged
        if what["op"] == "append" and what["thread"] == thread
        for text in what["texts"]
    ]
    acknowledged = set(said)
    there = [e.message.text for e in ledger.history(thread) if e.message.text in acknowledged]
    return [] if there == said else [f"{thread}: {len(said)} acknowledged, {len(there)} there"]


def _doubled(ledger: Ledger, thread: str) -> list[str]:
    ids = Counter(e.message_id for e in ledger.history(thread) if e.message_id)
    return [f"{thread}: {name} is there {n} times" for name, n in ids.items() if n > 1]


def _compactions(ledger: Ledger, thread: str) -> list[str]:
    """Generations have no gap, and a fresh process can take the thread up."""
    found: list[str] = []
    generations = [report.generation for report in ledger.compactions(thread)]
    if generations != list(range(1, len(generations) + 1)):
        found.append(f"{thread}: compactions {generations}")
    config: Any = {"configurable": {"thread_id": thread}}
    stored = ledger.checkpointer().get_tuple(config)
    if stored is None:
        return found
    messages = stored.checkpoint["channel_values"].get("messages", [])
    node = ledger.compaction_node(window=2500)
    view = node.invoke({"messages": messages}, config)["llm_input_messages"]
    wrong = provider_problems([m for m in view if not isinstance(m, SystemMessage)])
    return found + [f"{thread}: {problem}" for problem in wrong]


def _sessions(dsn: str) -> list[str]:
    """No session of a process that is gone is left in a transaction."""
    query = (
        "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    deadline = time.monotonic() + 60
    with connect(dsn) as connection:
        while True:
            row: Any = connection.execute(query).fetchone()
            if not row["n"]:
                return []
            if time.monotonic() > deadline:
                return [f"{row['n']} sessions are left"]
            time.sleep(0.05)
