"""Threads that the real PostgresSaver wrote, imported: every checkpoint equal, and they go on."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, StateGraph, add_messages
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Command, Send, interrupt
from psycopg.conninfo import make_conninfo

from langledger import Ledger
from langledger.checkpoint import AsyncLedgerSaver, LedgerSaver
from langledger.checkpoint.importing import import_postgres_saver
from langledger.database import AsyncDatabase, Database
from langledger.database.connection import connect
from tests.conftest import CITUS, _new_database

pytestmark = pytest.mark.skipif(CITUS is not None, reason="databases cloned from one of its own")


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=3)]
    done: Annotated[list[int], operator.add]
    count: int
    title: str | None
    files: dict[str, str]


class Inner(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    found: str


def plan(state: State) -> Any:
    count = state.get("count", 0) + 1
    note = HumanMessage(f"note {count}", id=f"n{count}")
    return {"count": count, "title": None, "files": {"a.py": "x" * 3000}, "notes": [note]}


def answer(state: State) -> Any:
    number = len(state["messages"])
    if [m.content for m in state["messages"] if m.type == "human"][-1] == "ask":
        said = interrupt({"question": "sure?"})
        return {"messages": [AIMessage(f"you said {said}", id=f"a{number}")]}
    return {"messages": [AIMessage(f"answer {number}", id=f"a{number}")]}


def look(state: Inner) -> Any:
    return {"found": "something", "messages": [AIMessage("I looked", id=f"l{len(state)}")]}


def build(saver: Any) -> Any:
    inner = StateGraph(Inner).add_node("look", look).add_edge(START, "look").compile()
    builder = StateGraph(State)
    builder.add_node("plan", plan)
    builder.add_node("work", lambda task: {"done": [task["n"]]})
    builder.add_node("inner", inner)
    builder.add_node("answer", answer)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges(
        "plan", lambda _: [Send("work", {"n": n}) for n in range(3)], ["work"]
    )
    builder.add_edge("work", "inner")
    builder.add_edge("inner", "answer")
    return builder.compile(checkpointer=saver)


def at(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


def say(graph: Any, thread_id: str, text: str) -> Any:
    message = HumanMessage(text, id=f"{thread_id} {text}")
    return graph.invoke({"messages": [message]}, at(thread_id))


def live(graph: Any) -> None:
    """Lead three conversations: one over several turns, one that forks, one that asks."""
    for turn in range(4):
        say(graph, "long", f"turn {turn}")
    say(graph, "forked", "first")
    say(graph, "forked", "second")
    past = list(graph.get_state_history(at("forked")))[5]
    graph.update_state(past.config, {"messages": [HumanMessage("instead", id="i")]})
    graph.invoke(None, at("forked"))
    say(graph, "asking", "ask")


@pytest.fixture(scope="module")
def template(server_dsn: str, template: str) -> Iterator[str]:
    """A database that also has PostgresSaver's tables with three conversations, to be cloned."""
    with _new_database(server_dsn, template=template) as name:
        with PostgresSaver.from_conn_string(make_conninfo(server_dsn, dbname=name)) as opened:
            opened.setup()
            live(build(opened))
        yield name


@pytest.fixture
def old(dsn: str) -> Iterator[PostgresSaver]:
    """PostgresSaver, in the database of the test."""
    with PostgresSaver.from_conn_string(dsn) as opened:
        yield opened


def tuples(saver: PostgresSaver) -> list[CheckpointTuple]:
    return list(saver.list(None))


def test_every_checkpoint_is_the_one_that_postgres_saver_gives(
    old: PostgresSaver, saver: LedgerSaver, cold: LedgerSaver, dsn: str
) -> None:
    told: list[tuple[str, int, int]] = []
    report = import_postgres_saver(saver, dsn, progress=lambda *step: told.append(step))
    theirs = tuples(old)
    namespaces = {t.config["configurable"]["checkpoint_ns"] for t in theirs}
    assert len(namespaces) > 5  # of subgraph calls
    assert report.ok
    assert (report.threads, report.complete, report.checkpoints) == (3, 0, len(theirs))
    assert told[-1][1:] == (len(theirs), len(theirs))
    for expected in theirs:
        found = cold.get_tuple(expected.config)
        assert found == expected
        channels = ["notes"]
        history = cold.get_delta_channel_history(config=expected.config, channels=channels)
        assert history == old.get_delta_channel_history(config=expected.config, channels=channels)
    for thread_id in ("long", "forked", "asking"):
        listed = [t.config for t in cold.list(at(thread_id))]
        assert listed == [t.config for t in old.list(at(thread_id))]


def test_imported_threads_go_on_as_they_would_have(
    old: PostgresSaver, saver: LedgerSaver, dsn: str
) -> None:
    import_postgres_saver(saver, dsn)

    def go_on(graph: Any) -> list[Any]:
        return [
            say(graph, "long", "and now?"),
            say(graph, "forked", "go on"),
            graph.invoke(Command(resume="yes"), at("asking")),
            say(graph, "asking", "thanks"),
            [s.values for s in graph.get_state_history(at("long"))],
        ]

    ours, theirs = go_on(build(saver)), go_on(build(old))
    assert ours == theirs
    assert ours[2]["messages"][-1].content == "you said yes"
    versions = saver.get_tuple(at("long")).checkpoint["channel_versions"]  # type: ignore[union-attr]  - it is there
    assert all(isinstance(version, str) for version in versions.values())


def test_messages_are_entries_once_and_as_old_as_they_are(
    saver: LedgerSaver, database: Database, dsn: str, rows: Any
) -> None:
    ledger = Ledger(database)
    known = HumanMessage("turn 0", id="long turn 0")
    ledger.append([known], thread_id="long")  # the middleware was there before
    import_postgres_saver(saver, dsn)
    entries = ledger.history("long")
    texts = [entry.message.text for entry in entries]
    assert texts.count("turn 0") == 1
    assert [text for text in texts if text.startswith("turn")] == [f"turn {n}" for n in range(4)]
    assert len({entry.message.id for entry in entries}) == len(entries)
    made = {
        row["thread_id"]: (row["first"], row["last"])
        for row in rows(
            "SELECT thread_id, min(checkpoint ->> 'ts') AS first, max(checkpoint ->> 'ts') AS last "
            "FROM public.checkpoints GROUP BY thread_id"
        )
    }
    first, last = map(datetime.fromisoformat, made["long"])
    assert all(first <= entry.created_at <= last for entry in entries[1:])
    for thread in ledger.threads():
        assert thread["updated_at"] == datetime.fromisoformat(made[thread["thread_id"]][1])


def test_again_brings_only_what_is_new(
    old: PostgresSaver, saver: LedgerSaver, cold: LedgerSaver, dsn: str
) -> None:
    import_postgres_saver(saver, dsn)
    before = len(tuples(old))
    graph = build(old)
    graph.invoke(Command(resume="yes"), at("asking"))  # writes to a checkpoint that is here
    say(graph, "new", "hello")
    report = import_postgres_saver(saver, dsn)
    assert report.ok
    assert (report.threads, report.complete) == (4, 2)
    # One that was here gets the answer among its writes.
    assert report.checkpoints == len(tuples(old)) - before + 1
    assert [cold.get_tuple(t.config) for t in tuples(old)] == tuples(old)
    report = import_postgres_saver(saver, dsn)
    assert (report.complete, report.checkpoints, report.present) == (4, 0, 0)


def test_a_thread_that_went_on_here_stays_as_it_is(
    old: PostgresSaver, saver: LedgerSaver, dsn: str
) -> None:
    import_postgres_saver(saver, dsn)
    here = say(build(saver), "long", "here")
    say(build(old), "forked", "there")
    assert import_postgres_saver(saver, dsn).complete == 2
    assert build(saver).get_state(at("long")).values == here


def test_only_the_threads_asked_for_and_of_the_tenant(
    old: PostgresSaver, database: Database, saver: LedgerSaver, dsn: str
) -> None:
    acme = LedgerSaver(database, tenant="acme")
    report = import_postgres_saver(acme, dsn, threads=["asking"])
    assert (report.threads, report.checkpoints) == (1, len(list(old.list(at("asking")))))
    assert {t.config["configurable"]["thread_id"] for t in acme.list(None)} == {"asking"}
    assert list(saver.list(None)) == []


def test_a_dry_run_tells_and_writes_nothing(saver: LedgerSaver, dsn: str, rows: Any) -> None:
    import_postgres_saver(saver, dsn, threads=["forked"])
    before = rows("SELECT * FROM {schema}.thread")
    report = import_postgres_saver(saver, dsn, dry_run=True)
    assert (report.threads, report.complete, report.present) == (3, 1, 0)
    assert rows("SELECT * FROM {schema}.thread") == before
    done = import_postgres_saver(saver, dsn)
    assert done.checkpoints == report.checkpoints > 0


@pytest.mark.parametrize("named", [True, False])
def test_a_source_in_another_schema_that_may_not_be_written(
    named: bool, dsn: str, saver: LedgerSaver
) -> None:
    with connect(dsn) as connection:
        connection.execute('CREATE SCHEMA "My App"')
    path = make_conninfo(dsn, options='-c search_path="My\\ App"')
    with PostgresSaver.from_conn_string(path) as old:
        old.setup()
        say(build(old), "thread", "hello")
        expected = tuples(old)
    read_only = "-c default_transaction_read_only=on"
    source = make_conninfo(dsn if named else path, options=read_only) if named else path
    report = import_postgres_saver(saver, source, schema="My App" if named else None)
    assert report.ok
    assert [saver.get_tuple(t.config) for t in expected] == expected


async def test_into_a_saver_of_an_event_loop(
    old: PostgresSaver, async_database: AsyncDatabase, dsn: str
) -> None:
    saver = AsyncLedgerSaver(async_database)
    report = await asyncio.to_thread(import_postgres_saver, saver, dsn)
    assert report.ok
    for expected in tuples(old):
        assert await saver.aget_tuple(expected.config) == expected


@pytest.mark.parametrize("sealed", [True, False])
def test_an_encrypted_source(
    sealed: bool, old: PostgresSaver, dsn: str, database: Database, rows: Any
) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    saver = LedgerSaver(database, serde=serde if sealed else None)
    old.serde = serde
    say(build(old), "thread", "confidential")
    report = import_postgres_saver(saver, dsn, serde=serde, threads=["thread"])
    assert report.ok
    expected = list(old.list(at("thread")))
    assert [saver.get_tuple(t.config) for t in expected] == expected
    kinds = {row["kind"] for row in rows("SELECT DISTINCT kind FROM {schema}.entry")}
    assert ("sealed" in kinds) == sealed
    assert ("message" in kinds) != sealed
