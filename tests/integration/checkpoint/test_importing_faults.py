"""Imports that are killed, busy, or of what cannot be imported: nothing doubled, nothing lost."""

from __future__ import annotations

import operator
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.postgres import PostgresSaver, ShallowPostgresSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt
from psycopg.conninfo import make_conninfo
from pydantic import create_model

from langledger import Ledger
from langledger.checkpoint import LedgerSaver
from langledger.checkpoint.importing import Difference, Gone, Refusal, import_postgres_saver
from langledger.checkpoint.records import read_log
from langledger.database import Database
from langledger.database.connection import connect
from langledger.errors import ConfigurationError, DatabaseUnavailableError
from langledger.operations import Batch
from tests.conftest import CITUS, _new_database

pytestmark = pytest.mark.skipif(CITUS is not None, reason="databases cloned from one of its own")

CONFIG: Any = {"configurable": {"thread_id": "thread"}}


class State(MessagesState, total=False):
    plan: Any
    done: Annotated[list[int], operator.add]


def build(saver: Any, **nodes: Any) -> Any:
    def answer(state: State) -> Any:
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    builder = StateGraph(State)
    for name, node in (nodes or {"llm": answer}).items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    return builder.compile(checkpointer=saver)


def say(graph: Any, text: str, thread_id: str = "thread") -> Any:
    config: Any = {"configurable": {"thread_id": thread_id}}
    return graph.invoke({"messages": [HumanMessage(text)]}, config)


@pytest.fixture(scope="module")
def template(server_dsn: str, template: str) -> Iterator[str]:
    """A database that also has PostgresSaver's tables, to be cloned."""
    with _new_database(server_dsn, template=template) as name:
        with PostgresSaver.from_conn_string(make_conninfo(server_dsn, dbname=name)) as opened:
            opened.setup()
        yield name


@pytest.fixture
def old(dsn: str) -> Iterator[PostgresSaver]:
    """PostgresSaver, in the database of the test."""
    with PostgresSaver.from_conn_string(dsn) as opened:
        yield opened


class KilledError(BaseException):
    """The process is gone."""


class Mortal(Database):
    """A pool whose process is killed after so many round trips."""

    left = 0

    def execute(self, batch: Batch) -> Any:
        if not self.left:
            raise KilledError
        self.left -= 1
        return super().execute(batch)


def test_killed_at_any_point_it_goes_on_and_nothing_is_doubled(
    old: PostgresSaver, database: Database, dsn: str, rows: Any
) -> None:
    def ask(_: State) -> Any:
        interrupt("sure?")

    say(build(old, first=lambda _: {"plan": "x" * 500}, second=ask), "hello")
    expected = list(old.list(CONFIG))
    assert len(expected) == 2
    with Mortal(dsn) as mortal:
        points = 0
        while True:
            tenant = f"killed after {points}"
            mortal.left = points
            try:
                assert import_postgres_saver(LedgerSaver(mortal, tenant=tenant), dsn).ok
                break
            except KilledError:
                points += 1
            saver = LedgerSaver(database, tenant=tenant)
            report = import_postgres_saver(saver, dsn)
            assert report.ok
            assert report.checkpoints + report.present + 2 * report.complete == 2
            assert list(saver.list(CONFIG)) == expected
    assert points > 12
    # The last tenant was never killed: all have what it has.
    for tenant, entries in counted(rows("SELECT tenant FROM {schema}.entry")).items():
        assert entries == 2, tenant
    logs = rows("SELECT tenant, log FROM {schema}.checkpoint")
    records = counted({"tenant": row["tenant"]} for row in logs for _ in read_log(row["log"]))
    assert len(records) == points + 1
    assert set(records.values()) == {5}, records  # two checkpoints, writes of three tasks


def counted(found: Iterable[dict[str, Any]]) -> Counter[str]:
    return Counter(row["tenant"] for row in found)


def test_a_source_that_is_written_to_meanwhile(
    old: PostgresSaver, saver: LedgerSaver, dsn: str
) -> None:
    graph = build(old)
    say(graph, "turn 0")

    def live() -> None:
        for turn in range(1, 8):
            say(graph, f"turn {turn}")

    talking = threading.Thread(target=live)
    talking.start()
    reports = []
    while talking.is_alive():
        reports.append(import_postgres_saver(saver, dsn))
    talking.join()
    reports.append(import_postgres_saver(saver, dsn))
    assert all(report.ok for report in reports)
    assert list(saver.list(CONFIG)) == list(old.list(CONFIG))


def test_a_checkpoint_that_differs_is_named_and_the_thread_not_called_whole(
    old: PostgresSaver, saver: LedgerSaver, dsn: str
) -> None:
    say(build(old), "hello")
    newest = next(old.list(CONFIG))

    def die(thread_id: str, done: int, total: int) -> None:
        if done == total - 1:
            raise KilledError

    with pytest.raises(KilledError):
        import_postgres_saver(saver, dsn, progress=die)
    values = {**newest.checkpoint["channel_values"], "messages": [HumanMessage("another")]}
    other: Any = {**newest.checkpoint, "channel_values": values}
    saver.put(
        newest.parent_config,  # type: ignore[arg-type]  - it has one
        other,
        {**newest.metadata, "source": "fork"},
        other["channel_versions"],
    )
    for _ in range(2):
        report = import_postgres_saver(saver, dsn)
        assert not report.ok
        assert report.differences == [
            Difference("thread", "", newest.checkpoint["id"], ("metadata", "channel messages"))
        ]
        assert (report.complete, report.refusals) == (0, [])


def test_a_thread_of_its_own_is_left_alone(
    old: PostgresSaver, saver: LedgerSaver, database: Database, dsn: str
) -> None:
    say(build(old), "theirs")
    say(build(old), "theirs", "other")
    mine = say(build(saver), "mine")
    for dry_run in (True, False):
        report = import_postgres_saver(saver, dsn, dry_run=dry_run)
        assert [refusal.thread_id for refusal in report.refusals] == ["thread"]
        assert "did not come from an import" in report.refusals[0].reason
        assert report.checkpoints == 3
    assert build(saver).get_state(CONFIG).values == mine
    acme = LedgerSaver(database, tenant="acme")
    assert import_postgres_saver(acme, dsn).ok


def test_an_object_whose_class_is_gone_is_not_stored_as_a_dict(
    old: PostgresSaver, saver: LedgerSaver, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("the_application")
    module.Plan = create_model("Plan", __module__="the_application", title=(str, ...))
    monkeypatch.setitem(sys.modules, "the_application", module)
    plan = {"nested": [module.Plan(title="tests first")]}
    say(build(old, llm=lambda _: {"plan": plan}), "hello")
    say(build(old), "hello", "other")
    monkeypatch.delitem(sys.modules, "the_application")
    for dry_run in (True, False):
        report = import_postgres_saver(saver, dsn, dry_run=dry_run)
        assert report.checkpoints == 3  # of the other thread
        assert [refusal.thread_id for refusal in report.refusals] == ["thread"]
        for part in ("the_application.Plan", "channel 'plan'", "PYTHONPATH", "checkpoint "):
            assert part in report.refusals[0].reason
    assert list(saver.list(CONFIG)) == []  # and nothing of this one
    monkeypatch.setitem(sys.modules, "the_application", module)
    report = import_postgres_saver(saver, dsn)
    assert (report.ok, report.complete) == (True, 1)
    found = saver.get_tuple(CONFIG)
    assert found is not None
    assert found.checkpoint["channel_values"]["plan"] == plan


def test_of_a_thread_with_a_value_that_cannot_be_stored_nothing_is_left(
    old: PostgresSaver, saver: LedgerSaver, dsn: str, rows: Any
) -> None:
    say(build(old, llm=lambda _: {"plan": ["x"]}), "hello")
    deep = b"\x91" * 900 + b"\xc0"  # lists inside each other, which can be read but not written
    with connect(dsn) as connection:
        connection.execute(
            "UPDATE checkpoint_blobs SET blob = %s, type = 'msgpack' WHERE channel = 'plan'", [deep]
        )
    report = import_postgres_saver(saver, dsn)
    assert (report.checkpoints, [r.thread_id for r in report.refusals]) == (0, ["thread"])
    assert "nested too deeply" in report.refusals[0].reason
    assert list(saver.list(CONFIG)) == []
    assert rows("SELECT FROM {schema}.checkpoint") == []


def test_a_thread_that_went_on_on_both_sides_is_left_alone_and_named(
    old: PostgresSaver, saver: LedgerSaver, dsn: str
) -> None:
    say(build(old), "first")
    say(build(old), "first", "other")
    import_postgres_saver(saver, dsn)
    mine = say(build(saver), "here")
    say(build(old), "there")
    here, there = (next(by.list(CONFIG)).checkpoint["id"] for by in (saver, old))
    for dry_run in (True, False, False):
        report = import_postgres_saver(saver, dsn, dry_run=dry_run)
        assert (report.complete, report.checkpoints, report.differences) == (1, 0, [])
        assert [refusal.thread_id for refusal in report.refusals] == ["thread"]
        assert (
            f"here, to checkpoint {here}, and in the source, to {there},"
            in report.refusals[0].reason
        )
    assert build(saver).get_state(CONFIG).values == mine
    saver.delete_thread("thread")
    assert import_postgres_saver(saver, dsn).ok
    assert list(saver.list(CONFIG)) == list(old.list(CONFIG))


def test_what_the_source_has_no_more_is_named_and_deleted_where_asked(
    old: PostgresSaver, saver: LedgerSaver, database: Database, dsn: str
) -> None:
    for thread_id in ("pruned", "deleted", "went on", "thread"):
        say(build(old), "hello", thread_id)
    import_postgres_saver(saver, dsn)
    import_postgres_saver(LedgerSaver(database, tenant="acme"), dsn)
    Ledger(database).append([HumanMessage("of this ledger alone")], thread_id="mine")
    say(build(saver), "and here", "went on")
    old.prune(["pruned"])
    for thread_id in ("deleted", "went on"):
        old.delete_thread(thread_id)

    def gone(*deleted: str) -> list[Gone]:
        counts = {"pruned": 2, "deleted": 3, "went on": 3}
        return [Gone(t, n, t != "pruned", t in deleted) for t, n in counts.items()]

    for options, complete in (({"dry_run": True, "delete_gone": True}, 1), ({}, 1), ({}, 2)):
        report = import_postgres_saver(saver, dsn, **options)
        assert (report.ok, report.complete, report.gone) == (True, complete, gone())
    assert len(list(saver.list(None))) == 3 * 4 + 3
    report = import_postgres_saver(saver, dsn, delete_gone=True)
    assert (report.ok, report.complete, report.gone) == (True, 2, gone("pruned", "deleted"))
    pruned: Any = {"configurable": {"thread_id": "pruned"}}
    assert list(saver.list(pruned)) == list(old.list(pruned))
    assert {row["thread_id"] for row in Ledger(database).threads()} == {
        "pruned", "went on", "thread", "mine"
    }  # fmt: skip
    report = import_postgres_saver(saver, dsn, delete_gone=True)
    assert [(g.thread_id, g.deleted) for g in report.gone] == [("went on", False)]


def test_another_source_has_nothing_to_say_of_what_came_from_the_first(
    old: PostgresSaver, saver: LedgerSaver, dsn: str, empty_dsn: str
) -> None:
    say(build(old), "hello")
    import_postgres_saver(saver, dsn)
    with PostgresSaver.from_conn_string(empty_dsn) as other:
        other.setup()
        say(build(other), "hello", "other")
    report = import_postgres_saver(saver, empty_dsn, delete_gone=True)
    assert (report.ok, report.threads, report.gone) == (True, 1, [])
    assert list(saver.list(CONFIG)) == list(old.list(CONFIG))


def test_what_was_pruned_here_comes_back_with_its_parents(
    old: PostgresSaver, saver: LedgerSaver, dsn: str
) -> None:
    say(build(old), "hello")
    import_postgres_saver(saver, dsn)
    saver.prune(["thread"])
    say(build(old), "more")
    assert import_postgres_saver(saver, dsn).ok
    assert list(saver.list(CONFIG)) == list(old.list(CONFIG))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"threads": "a"}, "threads must be a sequence of ids, not one string"),
        ({"threads": [""]}, "each of threads must be a non-empty string"),
        ({"schema": ""}, "schema must be a non-empty string"),
        ({"serde": 3}, "serde must be a serialiser"),
        ({"delete_gone": "no"}, "delete_gone must be True or False"),
        ({"dry_run": 1}, "dry_run must be True or False"),
    ],
)
def test_what_cannot_be_meant(wrong: Any, said: str, saver: LedgerSaver, dsn: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        import_postgres_saver(saver, dsn, **wrong)


def test_encrypted_values_need_their_serialiser(
    old: PostgresSaver, saver: LedgerSaver, dsn: str, rows: Any
) -> None:
    old.serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    say(build(old), "confidential")
    with pytest.raises(ConfigurationError, match=r"encrypted \(msgpack\+aes\).*serde="):
        import_postgres_saver(saver, dsn)
    wrong = EncryptedSerializer.from_pycryptodome_aes(key=b"fedcba9876543210")
    report = import_postgres_saver(saver, dsn, serde=wrong)
    assert [refusal.thread_id for refusal in report.refusals] == ["thread"]
    assert "cannot be read back" in report.refusals[0].reason
    assert rows("SELECT FROM {schema}.entry") == []


def test_what_an_old_version_wrote(
    old: PostgresSaver, saver: LedgerSaver, database: Database, dsn: str
) -> None:
    """Before version 4 tasks were sent by writes on the parent; at first without a path."""
    builder = StateGraph(State)
    builder.add_node("plan", lambda _: {"plan": 1})
    builder.add_node("work", lambda task: {"done": [task["n"]]})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges(
        "plan", lambda _: [Send("work", {"n": n}) for n in range(3)], ["work"]
    )
    graph = builder.compile(checkpointer=old, interrupt_before=["work"])
    say(graph, "hello")
    with connect(dsn) as connection:
        connection.execute(
            """UPDATE checkpoints SET checkpoint = (checkpoint || '{"v": 2, "pending_sends": []}')
                                                    #- '{channel_versions,__pregel_tasks}'"""
        )
        connection.execute("DELETE FROM checkpoint_blobs WHERE channel = '__pregel_tasks'")
        expected = list(old.list(CONFIG))
        connection.execute("ALTER TABLE checkpoint_writes DROP COLUMN task_path")
    assert import_postgres_saver(saver, dsn).ok
    found = list(saver.list(CONFIG))
    sends = [Send("work", {"n": n}) for n in range(3)]
    assert found[0].checkpoint["channel_values"]["__pregel_tasks"] == sends
    assert [t.checkpoint for t in found] == [t.checkpoint for t in expected]
    graph = builder.compile(checkpointer=LedgerSaver(database))
    assert graph.invoke(None, CONFIG)["done"] == [0, 1, 2]


def test_an_id_that_no_thread_has_here(old: PostgresSaver, saver: LedgerSaver, dsn: str) -> None:
    say(build(old), "hello", "")
    say(build(old), "hello")
    report = import_postgres_saver(saver, dsn)
    assert report.refusals == [Refusal("", "its id is empty, which no thread has here")]
    assert report.checkpoints == 3


def test_a_source_without_the_tables(empty_dsn: str, saver: LedgerSaver, dsn: str) -> None:
    with pytest.raises(ConfigurationError, match=r"no table checkpoints, .* on the search path"):
        import_postgres_saver(saver, empty_dsn)
    with pytest.raises(ConfigurationError, match=r"no table checkpoints.* in schema 'elsewhere'"):
        import_postgres_saver(saver, dsn, schema="elsewhere")
    with (
        pytest.warns(DeprecationWarning, match="Shallow"),
        ShallowPostgresSaver.from_conn_string(empty_dsn) as shallow,
    ):
        shallow.setup()
    with pytest.raises(ConfigurationError, match="ShallowPostgresSaver"):
        import_postgres_saver(saver, empty_dsn)


def test_a_source_that_is_not_there(saver: LedgerSaver, dsn: str) -> None:
    with pytest.raises(DatabaseUnavailableError):
        import_postgres_saver(saver, "postgresql://127.0.0.1:1/x?connect_timeout=1")
    with pytest.raises(ConfigurationError, match="DSN is not valid"):
        import_postgres_saver(saver, "no dsn")
    with pytest.raises(ConfigurationError, match="no checkpoints of 'nobody'"):
        import_postgres_saver(saver, dsn, threads=["nobody"])
    assert import_postgres_saver(saver, dsn).ok  # there is nothing, and nothing is done


def test_what_a_task_writes_again_is_known_for_it(
    old: PostgresSaver, saver: LedgerSaver, dsn: str
) -> None:
    say(build(old), "hello")
    config = next(old.list(CONFIG)).config
    writes = [("a", 1), ("__error__", "bad"), ("b", [2]), ("__interrupt__", "wait"), ("c", 3)]
    old.put_writes(config, writes, "task", "path")
    assert import_postgres_saver(saver, dsn).ok
    before = saver.get_tuple(config)
    assert before == old.get_tuple(config)
    saver.put_writes(config, writes, "task", "path")
    assert saver.get_tuple(config) == before


def test_a_source_behind_pgbouncer(
    pooler: Callable[[str], str], empty_dsn: str, saver: LedgerSaver
) -> None:
    with PostgresSaver.from_conn_string(empty_dsn) as old:
        old.setup()
        for turn in range(20):  # more than one page of checkpoints
            say(build(old), f"turn {turn}")
        expected = list(old.list(CONFIG))
    assert import_postgres_saver(saver, pooler("transaction")).ok
    assert list(saver.list(CONFIG)) == expected


def test_a_deleted_thread_comes_back(old: PostgresSaver, saver: LedgerSaver, dsn: str) -> None:
    say(build(old), "hello")
    import_postgres_saver(saver, dsn)
    saver.delete_thread("thread")
    assert import_postgres_saver(saver, dsn).checkpoints == 3
    assert list(saver.list(CONFIG)) == list(old.list(CONFIG))


def test_the_ledger_lists_imported_threads(
    old: PostgresSaver, database: Database, saver: LedgerSaver, dsn: str
) -> None:
    say(build(old), "hello")
    import_postgres_saver(saver, dsn)
    ledger = Ledger(database)
    assert [row["thread_id"] for row in ledger.threads()] == ["thread"]
    assert [entry.message.text for entry in ledger.history("thread")] == ["hello", "answer 1"]
