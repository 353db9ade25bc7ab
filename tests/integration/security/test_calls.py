"""No public call of a ledger or one of its parts reads or changes what is another tenant's."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import GeneratorType
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from psycopg.sql import SQL, Identifier

from langledger import AsyncLedger, Entry, Ledger
from langledger.database.connection import connect
from langledger.errors import LangLedgerError
from langledger.memory.chat_history import LedgerChatMessageHistory
from langledger.operations import run
from tests.support.lived import config, live

WORD = "zanzibar"
THREAD, USER, PROJECT = "private", "ann", "plan"
NOTES = ("notes", USER)
SAID = [HumanMessage("what was it?", id="m1")]
AGE = timedelta(microseconds=1)

Call = Callable[[Any], Any]


# By name, what is called. A new public name that is in none of these tables fails the test below.
LEDGER: Mapping[str, Call] = {
    "add_to_state": lambda it: it.add_to_state(THREAD, "decision", "mine"),
    "append": lambda it: it.append(SAID, thread_id=THREAD, user_id=USER),
    "compact": lambda it: it.compact(THREAD),
    "compactions": lambda it: it.compactions(THREAD),
    "count": lambda it: it.count(THREAD),
    "edit_state": lambda it: it.edit_state(THREAD, "d1", what="mine"),
    "edit_summary": lambda it: it.edit_summary(THREAD, 1, "mine"),
    "export": lambda it: it.export(user_id=USER),
    "facts": lambda it: it.facts(USER),
    "flush": lambda it: it.flush(),
    "history": lambda it: it.history(THREAD),
    "never_recalled": lambda it: it.never_recalled(THREAD),
    "pin": lambda it: it.pin(THREAD, entry_id=1),
    "pins": lambda it: it.pins(THREAD),
    "recall": lambda it: it.recall(WORD.upper()),
    "receipts": lambda it: it.receipts(),
    "search": lambda it: it.search(WORD.upper(), thread_id=THREAD, explain=True),
    "share": lambda it: it.share(PROJECT, "convention", "mine"),
    "state": lambda it: it.state(THREAD, project=PROJECT),
    "summary": lambda it: it.summary(THREAD),
    "team_state": lambda it: it.team_state(PROJECT),
    "threads": lambda it: it.threads(),
    "unpin": lambda it: it.unpin(THREAD, 1),
    # Last, for it leaves nothing to be seen.
    "retain": lambda it: it.retain(max_age=AGE),
    "forget": lambda it: [
        it.forget(thread_id=THREAD, entry_ids=1),
        it.forget(thread_id=THREAD),
        it.forget(user_id=USER),
        it.forget(tenant=it.tenant),
    ],
}
READS = {"export", "facts", "history", "pins", "recall", "search", "state", "never_recalled"}
# Those that ask the database for nothing by themselves: they make a part, or tell a setting.
PARTS = {
    *("chat_history", "chat_memory", "checkpointer", "memory_node", "middleware", "store"),
    *("compact_tool", "compaction_node", "entry_tool", "pre_model_hook", "recall_tool"),
    *("repository", "retriever", "team_state_tool", "update_state_tool", "with_defaults"),
    *("close", "compaction_defaults", "dsn", "executor", "for_tenant", "from_conn_string"),
    *(
        "encrypts",
        "from_settings",
        "keeper",
        "long_term",
        "open",
        "outage",
        "recalling",
        "redactor",
        "replica",
    ),
    *("tenant", "with_memory", "with_outage_buffer"),
}

SAVER: Mapping[str, Call] = {
    "copy_thread": lambda it: it.copy_thread(THREAD, f"copy-{uuid4()}"),
    "delete_for_runs": lambda it: it.delete_for_runs(["run"]),
    "delete_thread": lambda it: it.delete_thread(THREAD),
    "get": lambda it: it.get(config(THREAD)),
    "get_delta_channel_history": lambda it: it.get_delta_channel_history(
        config=config(THREAD), channels=["messages"]
    ),
    "get_tuple": lambda it: it.get_tuple(config(THREAD)),
    "idle_threads": lambda it: it.idle_threads(before=datetime.now(UTC)),
    "list": lambda it: [list(it.list(config(THREAD))), list(it.list(None))],
    "prune": lambda it: it.prune([THREAD]),
    "put": lambda it: it.put(
        {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}, empty_checkpoint(), {}, {}
    ),
    "put_writes": lambda it: it.put_writes(
        {"configurable": {"thread_id": THREAD, "checkpoint_ns": "", "checkpoint_id": "1"}},
        [("channel", "mine")],
        "task",
    ),
    "retain": lambda it: it.retain(THREAD, _policy()),
}
SAVER_PARTS = {
    *("apart", "config_specs", "executor", "from_conn_string", "get_next_version", "serde"),
    *("setup", "tenant", "with_allowlist"),
}

STORE: Mapping[str, Call] = {
    "batch": lambda it: it.batch([]),
    "delete": lambda it: it.delete(NOTES, "word"),
    "get": lambda it: it.get(NOTES, "word"),
    "list_namespaces": lambda it: it.list_namespaces(),
    "put": lambda it: it.put(NOTES, "word", {"text": "mine"}),
    "reindex": lambda it: it.reindex(),
    "search": lambda it: [it.search(()), it.search(NOTES, query=WORD.upper())],
    "sweep_ttl": lambda it: it.sweep_ttl(),
}
STORE_PARTS = {"supports_ttl", "ttl_config"}

HISTORY: Mapping[str, Call] = {
    "add_ai_message": lambda it: it.add_ai_message("mine"),
    "add_message": lambda it: it.add_message(SAID[0]),
    "add_messages": lambda it: it.add_messages(SAID),
    "add_user_message": lambda it: it.add_user_message("mine"),
    "clear": lambda it: it.clear(),
    "messages": lambda it: it.messages,
}

FACTS: Mapping[str, Call] = {
    "all": lambda it: it.all(USER, superseded=True),
    "forget": lambda it: it.forget(USER, "key"),
    "forget_thread": lambda it: it.forget_thread(THREAD),
    "forget_user": lambda it: it.forget_user(USER),
    "known": lambda it: it.known(USER, WORD.upper(), opening=True),
    "learn": lambda it: it.learn(USER, [], thread_id=THREAD, entry_id=1),
    "learn_from": lambda it: it.learn_from(USER, SAID[0], thread_id=THREAD, entry_id=1),
    "lines": lambda it: it.lines(USER, WORD.upper(), opening=True, thread_id="other"),
    "search": lambda it: it.search(USER, WORD.upper()),
}
FACTS_PARTS = {"indexing", "reader", "tenant"}


def _policy() -> Any:
    from langledger.checkpoint import Policy

    return Policy(keep=0, entries=True)


def public(kind: type) -> set[str]:
    """Return the names that users call, without the awaited form of another."""
    names = {name for name in dir(kind) if not name.startswith("_")}
    return {name for name in names if not (name.startswith("a") and name[1:] in names)}


def test_every_public_name_is_tried() -> None:
    from langledger import LedgerSaver, LedgerStore
    from langledger.memory.user_facts import UserFacts

    assert public(Ledger) == LEDGER.keys() | PARTS
    assert public(AsyncLedger) - {"from_settings"} == public(Ledger) - {"from_settings"}
    assert public(LedgerSaver) == SAVER.keys() | SAVER_PARTS
    assert public(BaseCheckpointSaver) <= public(LedgerSaver)
    assert public(LedgerStore) == STORE.keys() | STORE_PARTS
    assert public(LedgerChatMessageHistory) == HISTORY.keys() | {"aget_messages"}
    assert public(UserFacts) == FACTS.keys() | FACTS_PARTS


@pytest.fixture(scope="module", params=["as the owner", "under row-level security"])
def ledger(
    request: pytest.FixtureRequest, module_dsn: str, module_app_dsn: str
) -> Iterator[Ledger]:
    """A victim's ledger, in which everything happened."""
    dsn = module_dsn if request.param == "as the owner" else module_app_dsn
    with Ledger.from_conn_string(dsn, tenant=f"victim-{uuid4()}") as opened:
        live(opened, THREAD, word=WORD, user_id=USER)
        opened.share(PROJECT, "convention", f"say {WORD}")
        yield opened


@pytest.fixture
def rows(ledger: Ledger, module_dsn: str) -> Iterator[None]:
    """See that no row of the victim is another one afterwards."""
    before = contents(module_dsn, ledger.tenant)
    assert any(before.values())
    yield
    assert contents(module_dsn, ledger.tenant) == before


def contents(dsn: str, tenant: str) -> dict[str, list[str]]:
    with connect(dsn) as connection:
        names = connection.execute(
            "SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
            "WHERE a.attname = 'tenant' AND c.relkind = 'r' AND c.relname <> 'migration'"
        ).fetchall()
        statement = SQL("SELECT t::text AS row FROM langledger.{} t WHERE tenant = %s ORDER BY 1")
        return {
            row["name"]: [
                found["row"]
                for found in connection.execute(statement.format(Identifier(row["name"])), [tenant])
            ]
            for row in names
        }


def attempted(what: Mapping[str, Call], target: Any, ledger: Ledger) -> dict[str, str]:
    """Call everything; return what each told."""
    told: dict[str, str] = {}
    for name, call in what.items():
        try:
            found = call(target)
            told[name] = shown(run(found, ledger.executor) if what is FACTS else found)
        except LangLedgerError as error:
            told[name] = repr(error)
    return told


def shown(found: Any) -> str:
    """Return what a call gave, read to its end; entries with what they say."""
    if isinstance(found, GeneratorType):
        found = list(found)
    if isinstance(found, list):
        found = [one.message if isinstance(one, Entry) else one for one in found]
    return repr(found)


def test_the_victim_itself_sees_it(ledger: Ledger) -> None:
    told = attempted({name: LEDGER[name] for name in READS}, ledger, ledger)
    assert {name for name in READS if WORD not in told[name]} == set()


@pytest.mark.parametrize(
    "part", ["ledger", "checkpointer", "store", "chat history", "long-term facts"]
)
def test_another_tenant_reaches_nothing(ledger: Ledger, rows: None, part: str) -> None:
    attacker = ledger.for_tenant(f"attacker-{uuid4()}")
    parts: dict[str, tuple[Mapping[str, Call], Any]] = {
        "ledger": (LEDGER, attacker),
        "checkpointer": (SAVER, attacker.checkpointer()),
        "store": (STORE, attacker.store()),
        "chat history": (HISTORY, attacker.chat_history(THREAD, user_id=USER)),
        "long-term facts": (FACTS, attacker.long_term),
    }
    what, target = parts[part]
    told = attempted(what, target, attacker)
    assert told.keys() == what.keys()
    assert [name for name, text in told.items() if WORD in text] == []


async def test_another_tenant_reaches_nothing_awaited(
    ledger: Ledger, rows: None, module_app_dsn: str
) -> None:
    told: dict[str, str] = {}
    async with AsyncLedger.from_conn_string(module_app_dsn, tenant=f"attacker-{uuid4()}") as it:
        for name, call in LEDGER.items():
            try:
                told[name] = shown(await awaited(call(it)))
            except LangLedgerError as error:
                told[name] = repr(error)
    assert [name for name, text in told.items() if WORD in text] == []


async def awaited(given: Any) -> Any:
    if isinstance(given, list):
        return [await one for one in given]
    if isinstance(given, AsyncIterator):
        return [one async for one in given]
    return await given if inspect.isawaitable(given) else given
