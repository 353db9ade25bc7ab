"""The database goes away and comes back: agents go on, and everything is recorded, once."""

from __future__ import annotations

import logging
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from langledger import AsyncLedger, Ledger
from langledger.compaction.validity import provider_problems
from langledger.database import Database
from langledger.errors import ConfigurationError, DatabaseUnavailableError, SerializationError
from langledger.operations import Batch, Row
from tests.support.scripted import ScriptedModel
from tests.support.stoppable import StoppableServer, until

CONFIG: Any = {"configurable": {"thread_id": "thread"}}
WINDOW = 3000
LOG = "log line of a build that ran\n" * 40


def opened(server: StoppableServer, tenant: str, **options: Any) -> Ledger:
    return Ledger.from_conn_string(server.dsn, tenant=tenant).with_outage_buffer(
        after=0.5, **options
    )


def script(messages: list[BaseMessage]) -> AIMessage:
    """Work on: look something up at every fourth step, else write what takes up room."""
    n = len(messages)
    if isinstance(messages[-1], HumanMessage) and "look" in str(messages[-1].content):
        call = {"name": "recall_history", "args": {"reference": "#1"}, "id": f"call-{n}"}
        return AIMessage("", tool_calls=[call])
    return AIMessage(f"step after {n} messages: {LOG}")


def agent_of(ledger: Ledger | AsyncLedger) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel(script=[script])
    middleware = ledger.middleware(window=WINDOW)
    return create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver()), model


def asked(n: int) -> dict[str, Any]:
    return {"messages": [HumanMessage(f"{'look' if n % 4 == 3 else 'write'} {n}")]}


def all_in_order(recorded: list[BaseMessage], said: list[BaseMessage]) -> None:
    assert [m.id for m in recorded] == [m.id for m in said]
    assert recorded == said


def test_an_agent_goes_on_and_everything_is_recorded_once_in_order(
    server: StoppableServer, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(server, "goes-on") as ledger:
        agent, model = agent_of(ledger)
        for n in range(3):
            agent.invoke(asked(n), CONFIG)
        server.kill()
        events: list[Any] = []
        for n in range(3, 11):
            events += agent.stream(asked(n), CONFIG, stream_mode="custom")
        waiting = [e["langledger"]["outage"]["waiting"] for e in events if "outage" in str(e)]
        assert waiting == sorted(waiting)
        assert ledger.outage is not None
        assert ledger.outage.away
        messages = agent.get_state(CONFIG).values["messages"]
        assert ledger.outage.waiting == len(messages) - 6
        told = [m.content for m in messages if m.type == "tool"]
        assert told == [told[0]] * 2
        assert "cannot be reached" in told[0]
        for view in model.sent:  # compacted where it was due, and taken by every provider
            assert provider_problems([m for m in view if not isinstance(m, SystemMessage)]) == []
        assert max(len(str(view)) for view in model.sent) < WINDOW * 5
        server.start()
        until(lambda: ledger.outage is not None and not ledger.outage.waiting)
        all_in_order([e.message for e in ledger.history("thread")], messages)
        agent.invoke(asked(12), CONFIG)
        messages = agent.get_state(CONFIG).values["messages"]
        all_in_order([e.message for e in ledger.history("thread")], messages)
        assert ledger.compactions("thread")
        assert not ledger.outage.away
    said = [r.message for r in caplog.records if r.name == "langledger.outage"]
    assert "the database is back, all messages are recorded" in said


async def test_the_same_awaited(server: StoppableServer) -> None:
    opened_async = AsyncLedger.from_conn_string(server.dsn, tenant="awaited").with_outage_buffer(
        after=0.5
    )
    async with opened_async as ledger:
        agent, _ = agent_of(ledger)
        await agent.ainvoke(asked(0), CONFIG)
        server.stop()
        for n in range(1, 5):
            await agent.ainvoke(asked(n), CONFIG)
        said = await ledger.append([HumanMessage("aside")], thread_id="other")
        assert (said.waiting, said.entry_ids) == (1, [])
        server.start()
        await agent.ainvoke(asked(5), CONFIG)  # with or before the watcher: what waits goes first
        await agent.ainvoke(asked(6), CONFIG)
    with Ledger.from_conn_string(server.dsn, tenant="awaited") as again:
        messages = (await agent.aget_state(CONFIG)).values["messages"]
        all_in_order([e.message for e in again.history("thread")], messages)
        assert again.count("other") == 1


def test_nodes_and_chat_histories_go_on_too(server: StoppableServer) -> None:
    said = [HumanMessage("Where is the port?", id="h")]
    with opened(server, "nodes") as ledger:
        remembering, compacting = ledger.memory_node(), ledger.compaction_node(window=WINDOW)
        history = ledger.chat_history("session")
        server.stop()
        for node, thread in ((remembering, "one"), (compacting, "two")):
            config: Any = {"configurable": {"thread_id": thread}}
            assert node.invoke({"messages": said}, config) == {"llm_input_messages": said}
        history.add_messages([HumanMessage("hello")])
        assert ledger.outage is not None
        assert ledger.outage.waiting == 3
        server.start()
        until(lambda: ledger.outage is not None and not ledger.outage.waiting)
        assert [ledger.count(thread) for thread in ("one", "two", "session")] == [1, 1, 1]


def test_more_than_may_wait_is_an_error_and_what_waits_is_not_lost(
    server: StoppableServer,
) -> None:
    with opened(server, "bounded", messages=3) as ledger:
        server.stop()
        for n in range(3):
            recorded = ledger.append([HumanMessage(f"{n}")], thread_id="thread")
            assert recorded.waiting == 1
        with pytest.raises(DatabaseUnavailableError, match=r"3 messages wait.*OUTAGE_BUFFER"):
            ledger.append([HumanMessage("one too many")], thread_id="thread")
        with pytest.raises(DatabaseUnavailableError):  # there is nothing to read from
            ledger.history("thread")
        with pytest.raises(SerializationError):  # told now, not when the database is back
            ledger.append([HumanMessage("x", additional_kwargs={"o": object()})], thread_id="t")
        server.start()
        until(lambda: ledger.outage is not None and not ledger.outage.waiting)
        ledger.append([HumanMessage("3")], thread_id="thread")
        until(lambda: ledger.count("thread") == 4)
        assert [e.message.text for e in ledger.history("thread")] == ["0", "1", "2", "3"]


def test_threads_at_once_keep_their_order_each(server: StoppableServer) -> None:
    def talk(name: int) -> None:
        for n in range(12):
            ledger.append([HumanMessage(f"{n}")], thread_id=f"{name}")

    with opened(server, "at-once") as ledger:
        server.kill()
        with ThreadPoolExecutor(5) as pool:
            talking = [pool.submit(talk, name) for name in range(4)]
            pool.submit(server.start).result()
            for done in talking:
                done.result()
    with Ledger.from_conn_string(server.dsn, tenant="at-once") as again:
        for name in range(4):
            texts = [e.message.text for e in again.history(f"{name}")]
            assert texts == [str(n) for n in range(12)]


class Cut(Database):
    """Its connection is lost after the server did what it was told, and before it said so."""

    lost = 0

    def execute(self, batch: Batch) -> list[list[Row]]:
        rows = super().execute(batch)
        if self.lost and any("append_entries" in str(q.sql) for q in batch.queries):
            self.lost -= 1
            raise DatabaseUnavailableError("the connection was lost")
        return rows


def test_what_got_there_before_the_connection_was_lost_is_there_once(dsn: str) -> None:
    database = Cut(dsn)
    with Ledger(database).with_outage_buffer() as ledger:
        database.lost = 1
        assert ledger.append([HumanMessage("once")], thread_id="thread").waiting == 1
        until(lambda: ledger.outage is not None and not ledger.outage.waiting)
        ledger.append([HumanMessage("twice")], thread_id="thread")
        assert [e.message.text for e in ledger.history("thread")] == ["once", "twice"]


def test_without_a_buffer_it_is_an_error(dsn: str) -> None:
    database = Cut(dsn)
    with Ledger(database) as ledger:
        assert ledger.outage is None
        database.lost = 1
        with pytest.raises(DatabaseUnavailableError):
            ledger.append([HumanMessage("lost")], thread_id="thread")


def test_a_process_that_ends_meanwhile_says_what_it_takes_along(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    database = Cut(dsn)
    with Ledger(database).with_outage_buffer() as ledger:
        database.lost = 10**6
        ledger.append([HumanMessage("held")], thread_id="thread")
    errors = [r.message for r in caplog.records if r.levelno == logging.ERROR]
    assert errors == ["1 messages were never recorded: the database is away"]


def test_a_forked_child_leaves_what_waits_to_its_parent(dsn: str) -> None:
    database = Cut(dsn)
    with Ledger(database).with_outage_buffer() as ledger:
        database.lost = 10**6
        ledger.append([HumanMessage("held")], thread_id="thread")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
            child = os.fork()
        if child == 0:
            os._exit(0 if ledger.outage is not None and ledger.outage.waiting == 0 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        database.lost = 0
        until(lambda: ledger.outage is not None and not ledger.outage.waiting)
        assert ledger.count("thread") == 1


@pytest.mark.parametrize("options", [{"messages": 0}, {"messages": True}, {"after": 0}])
def test_numbers_that_make_no_sense_are_refused(dsn: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        Ledger(Database(dsn)).with_outage_buffer(**options)
