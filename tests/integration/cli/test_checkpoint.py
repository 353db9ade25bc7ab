"""``langledger prune`` and ``langledger import-postgres-saver``, as typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer

from langledger import Ledger
from langledger.checkpoint import Policy
from langledger.database.connection import connect
from tests.integration.cli.conftest import Call, Start
from tests.support.waiting import wait_until


def build(saver: Any) -> Any:
    def answer(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    return (
        StateGraph(MessagesState)
        .add_node("llm", answer)
        .add_edge(START, "llm")
        .compile(checkpointer=saver)
    )


def talk(saver: Any, thread_id: str, turns: int) -> None:
    graph = build(saver)
    for turn in range(turns):
        config: Any = {"configurable": {"thread_id": thread_id}}
        graph.invoke({"messages": [("user", f"turn {turn}")]}, config)


def count(ledger: Ledger, thread_id: str) -> int:
    return len(list(ledger.checkpointer().list({"configurable": {"thread_id": thread_id}})))


@pytest.fixture
def threads(ledger: Ledger) -> Ledger:
    """Thread a of two turns, which is three checkpoints each, and b of one."""
    talk(ledger.checkpointer(), "a", 2)
    talk(ledger.checkpointer(), "b", 1)
    return ledger


def age(dsn: str, thread_id: str, interval: str) -> None:
    with connect(dsn) as connection:
        connection.execute(
            "UPDATE langledger.thread SET updated_at = now() - %s::interval WHERE thread_id = %s",
            [interval, thread_id],
        )


def test_the_newest_are_kept_and_the_receipt_says_so(call: Call, threads: Ledger) -> None:
    code, out, err = call("prune", "--keep", "2", "--dry-run")
    assert (code, out.split()) == (
        0,
        ["checkpoints", "entries", "thread", "4", "a", "1", "b", "5", "in", "all"],
    )
    assert "nothing was removed" in err
    assert (count(threads, "a"), count(threads, "b")) == (6, 3)
    code, out, err = call("prune", "--keep", "2", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "dry_run": False,
        "threads": [
            {"thread_id": "a", "checkpoints": 4, "entries": 0},
            {"thread_id": "b", "checkpoints": 1, "entries": 0},
        ],
        "checkpoints": 5,
        "entries": 0,
    }
    assert (count(threads, "a"), count(threads, "b")) == (2, 2)
    assert threads.count("a") == 4  # its messages stay
    assert call("prune", "--keep", "2") == (0, "", "there is nothing to remove\n")


def test_messages_go_where_asked(call: Call, threads: Ledger) -> None:
    code, out, _ = call("prune", "--keep", "0", "--messages", "--thread", "a")
    assert (code, out.splitlines()[1].split()) == (0, ["6", "4", "a"])
    assert (count(threads, "a"), threads.count("a")) == (0, 0)
    assert (count(threads, "b"), threads.count("b")) == (3, 2)


def test_by_age(call: Call, threads: Ledger, dsn: str) -> None:
    assert call("prune", "--max-age", "1h")[2] == "there is nothing to remove\n"
    age(dsn, "a", "40 days")
    assert json.loads(call("prune", "--keep", "1", "--idle", "6w", "--json")[1])["threads"] == []
    assert json.loads(call("prune", "--keep", "1", "--idle", "5w", "--json")[1])["threads"] == [
        {"thread_id": "a", "checkpoints": 5, "entries": 0}
    ]
    assert count(threads, "b") == 3
    assert (
        json.loads(call("prune", "--keep", "1", "--idle", "5w", "--thread", "b", "--json")[1])[
            "threads"
        ]
        == []
    )


def test_by_namespace(call: Call, threads: Ledger) -> None:
    inner = (
        StateGraph(MessagesState)
        .add_node("x", lambda _: {})
        .add_edge(START, "x")
        .compile(checkpointer=True)
    )
    outer = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")
    config: Any = {"configurable": {"thread_id": "nested"}}
    outer.compile(checkpointer=threads.checkpointer()).invoke({"messages": []}, config)
    before = count(threads, "nested")
    found = json.loads(call("prune", "--keep", "1", "--namespace", "inner", "--json")[1])
    assert [thread["thread_id"] for thread in found["threads"]] == ["nested"]
    assert 0 < found["checkpoints"] < before
    root = json.loads(call("prune", "--keep", "1", "--namespace", "", "--json")[1])
    assert [thread["thread_id"] for thread in root["threads"]] == ["a", "b", "nested"]
    assert count(threads, "nested") == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--keep 1 leaves the newest"),
        (("--idle", "1d"), "say what to keep"),
        (("--max-age", "30"), "such as 30d; not '30'"),
        (("--max-age", "1 d"), "such as 30d"),
        (("--max-age", "0d"), "such as 30d"),
        (("--max-age", "999999999w"), "such as 30d"),
        (("--keep", "1", "--idle", "soon"), "--idle takes a number"),
        (("--keep", "-1"), "--keep"),
    ],
)
def test_what_cannot_be_meant(arguments: tuple[str, ...], said: str, call: Call) -> None:
    code, out, err = call("prune", *arguments)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.usefixtures("threads")
def test_a_thread_that_is_not_there(call: Call) -> None:
    code, out, err = call("prune", "--keep", "1", "--thread", "a", "--thread", "nobody")
    assert (code, out) == (1, "")
    assert err.startswith("langledger: thread 'nobody' has no checkpoints; ")


class Delta(TypedDict, total=False):
    messages: Annotated[
        list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=50)
    ]


def test_encrypted_threads_are_left_to_who_can_read_them(call: Call, threads: Ledger) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    saver = threads.checkpointer(serde=serde)

    def answer(state: Delta) -> Any:
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    builder = StateGraph(Delta).add_node("llm", answer).add_edge(START, "llm")
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "sealed"}}
    for turn in range(3):
        said = graph.invoke({"messages": [HumanMessage(f"turn {turn}")]}, config)
    code, out, err = call("prune", "--keep", "1", "--json")
    assert code == 1
    assert [thread["thread_id"] for thread in json.loads(out)["threads"]] == ["a", "b"]
    assert "cannot be read here: 'sealed'; " in err
    for how in (("0",), ("0", "--dry-run"), ("40", "--messages")):
        code, _, err = call("prune", "--thread", "sealed", "--keep", *how)
        assert code == 1
        assert "left as they are, because they cannot be read here: 'sealed'" in err
    assert len(list(saver.list(config))) == 9
    assert saver.retain("sealed", Policy(keep=1)).checkpoints > 0
    assert graph.get_state(config).values == said


@pytest.fixture
def old(dsn: str) -> Iterator[PostgresSaver]:
    """PostgresSaver in the same database, with the threads a and b."""
    with PostgresSaver.from_conn_string(dsn) as opened:
        opened.setup()
        talk(opened, "a", 2)
        talk(opened, "b", 1)
        yield opened


@pytest.mark.usefixtures("old")
def test_an_import_and_its_receipt(call: Call, ledger: Ledger, dsn: str) -> None:
    code, out, err = call("import-postgres-saver", dsn, "--dry-run")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "threads: 2 to import, 0 whole before, 0 left out",
        "checkpoints: 9 to write, 0 there before",
    ]
    assert count(ledger, "a") == 0
    code, out, err = call("import-postgres-saver", dsn, "--thread", "a", "--tenant", "acme")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "threads: 1 imported, 0 whole before, 0 left out",
        "checkpoints: 6 written, 0 there before",
        "each was read back and is equal to the source's",
    ]
    assert count(ledger.for_tenant("acme"), "a") == 6
    code, out, _ = call("import-postgres-saver", dsn, "--schema", "public", "--json")
    assert code == 0
    assert json.loads(out) == {
        "dry_run": False,
        "threads": 2,
        "complete": 0,
        "checkpoints": 9,
        "present": 0,
        "differences": [],
        "refusals": [],
        "gone": [],
    }
    assert "langledger: " not in call("import-postgres-saver", dsn)[2]


def test_an_import_that_leaves_something_out(
    call: Call, old: PostgresSaver, ledger: Ledger, dsn: str
) -> None:
    talk(ledger.checkpointer(), "a", 1)
    code, out, err = call("import-postgres-saver", dsn)
    assert code == 1
    assert "left out  a: it has checkpoints here that did not come from an import" in out
    assert err == (
        "langledger: not all is imported; threads left out: 1, checkpoints that differ: 0\n"
    )
    newest = next(old.list({"configurable": {"thread_id": "b"}}))
    assert newest.parent_config is not None
    ledger.checkpointer().put(
        newest.parent_config, {**newest.checkpoint, "channel_values": {}}, newest.metadata, {}
    )
    talk(old, "b", 1)
    code, out, _ = call("import-postgres-saver", dsn, "--thread", "b")
    assert code == 1
    assert f"differs   b, checkpoint {newest.checkpoint['id']} of '': channel messages" in out


def test_what_the_source_has_no_more(
    call: Call, old: PostgresSaver, ledger: Ledger, dsn: str
) -> None:
    call("import-postgres-saver", dsn)
    old.delete_thread("a")
    old.prune(["b"])
    code, out, err = call("import-postgres-saver", dsn)
    assert (code, err) == (0, "")
    assert out.splitlines()[-2:] == [
        "gone      b: the source has some of it no more; 2 checkpoints, still here",
        "gone      a: the source has the thread no more; 6 checkpoints, still here",
    ]
    code, out, _ = call("import-postgres-saver", dsn, "--delete-gone")
    assert (code, out.count("deleted here too")) == (0, 2)
    assert (count(ledger, "a"), count(ledger, "b")) == (0, 1)
    assert "gone" not in call("import-postgres-saver", dsn)[1]


def test_an_import_from_nowhere(call: Call, dsn: str) -> None:
    code, out, err = call("import-postgres-saver", dsn)
    assert (code, out) == (2, "")
    assert "has no table checkpoints, checkpoint_blobs, checkpoint_writes" in err
    secret = "postgresql://app:hunter2@127.0.0.1:1/x?connect_timeout=1"
    code, out, err = call("import-postgres-saver", secret)
    assert (code, out) == (1, "")
    assert "hunter2" not in err


def test_a_killed_import_goes_on(
    call: Call, start: Start, old: PostgresSaver, ledger: Ledger, dsn: str
) -> None:
    talk(old, "long", 25)
    process = start("import-postgres-saver", dsn)
    wait_until(lambda: count(ledger, "long") > 3, seconds=180)
    process.kill()
    process.wait()
    code, out, _ = call("import-postgres-saver", dsn, "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["threads"], found["differences"], found["refusals"]) == (3, [], [])
    for thread_id in ("a", "b", "long"):
        config: Any = {"configurable": {"thread_id": thread_id}}
        assert list(ledger.checkpointer().list(config)) == list(old.list(config))
    assert json.loads(call("import-postgres-saver", dsn, "--json")[1])["complete"] == 3
