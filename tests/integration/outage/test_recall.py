"""A database that dies between recording and recall costs no answer.

The pools here wait an hour for it: what waits as long as they do never ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from langledger import Ledger, LedgerChatMemory
from langledger.database import AsyncDatabase, Database
from langledger.errors import DatabaseUnavailableError
from langledger.operations import Batch, Operation, Query
from tests.support.scripted import ScriptedModel
from tests.support.silent import Silent
from tests.support.stoppable import StoppableServer

HOUR = 3600.0
CONFIG: Any = {"configurable": {"thread_id": "thread", "user_id": "ann"}}


class Dying:
    """A repository that does something to the server in the middle of recall."""

    def __init__(self, kill: Callable[[], None]) -> None:
        self._kill = kill

    def unasked(self, query: str, **_: Any) -> Operation[str]:
        yield from ()
        self._kill()
        return "def listen(): ..."


@pytest.fixture
def ledger(server: StoppableServer) -> Iterator[Ledger]:
    with Ledger(Database(server.dsn, timeout=HOUR), tenant="recall", embeddings="off") as opened:
        yield opened.with_defaults(recall_timeout=0.2)


def answer(server: StoppableServer) -> Any:
    """Answer, and bring the server back: the answer is to be recorded."""

    def said(_: list[BaseMessage]) -> AIMessage:
        server.start()
        return AIMessage("It is 8431.")

    return said


def agent_of(ledger: Ledger, server: StoppableServer) -> Any:
    middleware = ledger.middleware(window=4000, repository=Dying(server.kill))
    return create_agent(ScriptedModel(script=[answer(server)]), middleware=[middleware])


def failures(events: list[Any]) -> list[Any]:
    told = [event["langledger"]["recall"] for event in events if "recall" in event["langledger"]]
    return [recall for recall in told if recall["failed"]]


PORT = HumanMessage("The billing-gateway listens on port 8431.", id="fact")
ASKED = {"messages": [HumanMessage("Which port does the billing-gateway listen on?", id="q")]}


async def test_a_statement_waits_no_longer_than_its_batch_says(server: StoppableServer) -> None:
    asked = Batch([Query("SELECT 1 AS one")], patience=0.2)
    async with AsyncDatabase(server.dsn, timeout=HOUR) as awaited:
        with Database(server.dsn, timeout=HOUR) as database:
            assert database.execute(asked) == await awaited.aexecute(asked) == [[{"one": 1}]]
            server.kill()
            with pytest.raises(DatabaseUnavailableError, match="check the DSN"):
                database.execute(asked)
            with pytest.raises(DatabaseUnavailableError, match="check the DSN"):
                await awaited.aexecute(asked)
    server.start()


def test_an_agent_answers_without_recall_and_says_so(
    ledger: Ledger, server: StoppableServer
) -> None:
    ledger.append([PORT], thread_id="thread")
    events = list(agent_of(ledger, server).stream(ASKED, CONFIG, stream_mode="custom"))
    [failed] = failures(events)
    assert "PostgreSQL cannot be reached" in failed["reasons"][0]
    assert [entry.message.text for entry in ledger.history("thread")][-1] == "It is 8431."


def test_an_agent_goes_on_though_the_database_hangs(server: StoppableServer) -> None:
    def said(_: list[BaseMessage]) -> AIMessage:
        line.silent.clear()
        return AIMessage("It is 8431.")

    with (
        Silent(server.dsn) as line,
        Ledger(Database(line.dsn, timeout=HOUR), tenant="hung", embeddings="off") as opened,
    ):
        ledger = opened.with_defaults(recall_timeout=0.4)
        ledger.append([PORT], thread_id="thread")
        middleware = ledger.middleware(window=4000, repository=Dying(line.silent.set))
        agent: Any = create_agent(ScriptedModel(script=[said]), middleware=[middleware])
        [failed] = failures(list(agent.stream(ASKED, CONFIG, stream_mode="custom")))
        assert "has not answered for" in failed["reasons"][0]
        assert [entry.message.text for entry in ledger.history("thread")][-1] == "It is 8431."


class Recording(Database):
    """A pool whose server is killed once something was recorded."""

    kill: Any = None

    def execute(self, batch: Batch) -> Any:
        if batch.patience is not None and self.kill is not None:
            kill, self.kill = self.kill, None
            kill()
        return super().execute(batch)


@pytest.fixture
def dying(server: StoppableServer) -> Iterator[Ledger]:
    """A ledger whose server dies at the first statement that recall sends."""
    database = Recording(server.dsn, timeout=HOUR)
    with Ledger(database, tenant=uuid4().hex, embeddings="off") as ledger:
        ledger.append([PORT], thread_id="thread")
        database.kill = server.kill
        yield ledger.with_defaults(recall_timeout=0.2)
    server.start()


def test_a_graph_goes_on_without(dying: Ledger) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("memory", dying.memory_node(output_messages_key="messages"))
    builder.add_edge(START, "memory")
    events = list(builder.compile().stream(ASKED, CONFIG, stream_mode="custom"))
    assert len(failures(events)) == 1


def test_a_chain_goes_on_without(dying: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    memory = LedgerChatMemory(ledger=dying, session_id="thread", user_id="ann")
    context = memory.load_memory_variables({"input": "Which port?"})["history"]
    assert context == f"Human: {PORT.content}"
    assert "facts could not be read" in caplog.text


def test_what_was_said_is_recorded_though_no_fact_can_be_kept(
    dying: Ledger, server: StoppableServer, caplog: pytest.LogCaptureFixture
) -> None:
    history = dying.chat_history("thread", user_id="ann")
    history.add_messages([HumanMessage("I prefer tabs over spaces.")])
    assert "facts could not be kept" in caplog.text
