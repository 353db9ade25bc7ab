"""What threads, show, state and compactions say of a thread."""

from __future__ import annotations

import json
from typing import TypedDict

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph

from langledger import Ledger
from langledger.database.connection import connect
from tests.integration.cli.conftest import Call

TOO_LARGE = str(2**63)


class Sealing(JsonPlusSerializer):
    """Nothing is known about it: what it stores is taken to be encrypted."""


class Counted(TypedDict):
    n: int


@pytest.fixture
def thread(ledger: Ledger) -> str:
    """A thread of two messages that touched no file."""
    ledger.append([HumanMessage("hello"), AIMessage("hi")], thread_id="a")
    return "a"


def test_a_thread_that_is_not_there(call: Call) -> None:
    for command in ("show", "state", "compactions"):
        code, out, err = call(command, "nothing")
        assert (code, out) == (1, "")
        assert err == "langledger: there is no thread 'nothing'; `langledger threads` lists them\n"


def test_an_encrypted_thread_says_who_can_read_it(call: Call, ledger: Ledger) -> None:
    checkpointer = ledger.checkpointer(serde=Sealing())
    graph = StateGraph(MessagesState).add_node("llm", lambda _: {"messages": [AIMessage("hi")]})
    graph = graph.add_edge(START, "llm").compile(checkpointer=checkpointer)
    config: RunnableConfig = {"configurable": {"thread_id": "secret"}}
    graph.invoke({"messages": [HumanMessage("hello")]}, config)
    for command in (("show",), ("state",), ("compactions",), ("compact",)):
        code, out, err = call(*command, "secret")
        assert (code, out) == (1, "")
        assert "thread 'secret' is encrypted: only a checkpointer with its serialiser" in err
    assert "is encrypted" in call("recall", "secret", "hello")[2]


def test_a_thread_without_messages_is_there_all_the_same(call: Call, ledger: Ledger) -> None:
    builder = StateGraph(Counted).add_node("count", lambda state: {"n": state["n"] + 1})
    graph = builder.add_edge(START, "count").compile(checkpointer=ledger.checkpointer())
    graph.invoke({"n": 1}, {"configurable": {"thread_id": "numbers"}})
    assert "thread 'numbers' has no entries" in call("show", "numbers")[2]


def test_nothing_is_said_to_be_nothing(call: Call, thread: str) -> None:
    assert "the state is empty" in call("state", thread)[1]
    assert call("compactions", thread) == (0, "", "the thread has no compactions\n")
    assert json.loads(call("compactions", thread, "--json")[1])["compactions"] == []


def test_no_threads(call: Call) -> None:
    assert call("threads") == (0, "", "there are no threads yet\n")


def test_after_the_end(call: Call, thread: str) -> None:
    code, out, err = call("show", thread, "--after", "2")
    assert (code, out, err) == (0, "", "the thread has no entries after 2\n")
    code, out, err = call("show", thread, "--after", str(2**63 - 1), "--json")
    assert (code, json.loads(out)["entries"]) == (0, [])
    assert "no entries after" in err


def test_a_state_after_the_end(call: Call, thread: str) -> None:
    assert call("state", thread, "--at", "2")[2] == ""
    for more in ((), ("--json",), ("--diff",)):
        code, out, err = call("state", "show", thread, "--at", "3", *more)
        assert (code, out) == (2, "")
        assert f"the newest entry of {thread!r} is 2, not 3" in err


def test_entries_are_counted_not_numbers(call: Call, ledger: Ledger) -> None:
    """A checkpointer's values take numbers too, so a page may not end by number."""
    ledger.append([HumanMessage(str(n)) for n in range(6)], thread_id="a")
    with connect(ledger.dsn) as connection:
        connection.execute("UPDATE langledger.entry SET kind = 'value' WHERE seq IN (2, 3, 4)")
    shown = json.loads(call("show", "a", "--after", "1", "--limit", "2", "--json")[1])
    assert [entry["entry_id"] for entry in shown["entries"]] == [5, 6]
    assert call("state", "a", "--at", "4")[2] == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("threads", "--limit", TOO_LARGE),
        ("threads", "--limit", "0"),
        ("show", "a", "--after", TOO_LARGE),
        ("show", "a", "--limit", TOO_LARGE),
        ("state", "a", "--at", TOO_LARGE),
    ],
)
def test_numbers_that_no_entry_can_have(
    call: Call, thread: str, arguments: tuple[str, ...]
) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert arguments[-2] in err


def test_the_largest_numbers_are_numbers(call: Call, thread: str) -> None:
    most = str(2**63 - 1)
    assert call("threads", "--limit", most)[0] == 0
    assert "hello" in call("show", thread, "--limit", most)[1]


def test_messages_of_any_class_for_a_program(call: Call, ledger: Ledger) -> None:
    messages = [
        HumanMessage("x"),
        AIMessageChunk(content="so far"),
        AIMessage(
            "",
            invalid_tool_calls=[
                {
                    "type": "invalid_tool_call",
                    "id": "1",
                    "name": "edit",
                    "args": "{",
                    "error": "cut",
                }
            ],
        ),
        ToolMessage("not understood", tool_call_id="1"),
        ChatMessage("y", role="critic"),
        AIMessage("", tool_calls=[{"id": "2", "name": "f", "args": {"x": float("nan")}}]),
    ]
    ledger.append(messages, thread_id="a")
    code, out, _ = call("show", "a", "--json")
    assert code == 0
    entries = json.loads(out, parse_constant=pytest.fail)["entries"]
    assert [e["role"] for e in entries] == [
        "user", "assistant", "assistant", "tool", "user", "assistant",
    ]  # fmt: skip
    assert entries[2]["tool_calls"] == [{"id": "1", "name": "edit", "args": "{"}]
    assert entries[5]["tool_calls"][0]["args"] == {"x": "NaN"}
    assert "edit({)" in call("show", "a")[1]


def test_a_name_with_a_line_end_takes_one_line(call: Call, ledger: Ledger) -> None:
    ledger.append([HumanMessage("x")], thread_id="a\nb\x1b[31m")
    out = call("threads")[1]
    assert out.count("\n") == 1
    assert out.endswith("  a\\nb\\x1b[31m\n")
    assert "x" in call("show", "a\nb\x1b[31m")[1]


def test_wrong_settings_are_a_wrong_call(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGLEDGER_DATABSE_URL", "postgresql://h/d")
    code, _, err = call("threads")
    assert code == 2
    assert "unknown setting LANGLEDGER_DATABSE_URL" in err


def test_a_server_that_is_not_there_is_a_failure(call: Call) -> None:
    code, out, err = call("threads", "--dsn", "postgresql://nobody@127.0.0.1:1/none")
    assert (code, out, err.count("\n")) == (1, "", 1)
