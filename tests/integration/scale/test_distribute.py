"""``langledger db distribute``: refused without Citus; on a cluster, proved by every plan.

The cluster is that of ``LANGLEDGER_TEST_CITUS_DSN``: a database on the coordinator, with its
workers added. Each test there has a schema of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from langchain_core.messages import HumanMessage
from psycopg.sql import SQL, Identifier
from typer.testing import CliRunner

from langledger import Ledger
from langledger.cli import build_app
from langledger.database import Database
from langledger.database.connection import connect
from langledger.database.distribute import distribute
from langledger.database.distribute_proof import plans
from langledger.errors import ConfigurationError, DatabaseError, NotSetUpError
from tests.conftest import CITUS

on_cluster = pytest.mark.skipif(CITUS is None, reason="LANGLEDGER_TEST_CITUS_DSN names no cluster")
TENANTS = [f"tenant {number}" for number in range(8)]


@pytest.fixture
def schema() -> Iterator[str]:
    """A schema of the cluster that is up to date and not distributed."""
    assert CITUS is not None
    name = f"test_{uuid4().hex[:12]}"
    Database(CITUS, schema=name).setup()
    yield name
    with connect(CITUS) as connection:
        connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(name)))


def ledger_of(schema: str, tenant: str) -> Ledger:
    assert CITUS is not None
    return Ledger.from_conn_string(CITUS, schema=schema, tenant=tenant, setup=False)


@pytest.mark.skipif(CITUS is not None, reason="there is Citus")
def test_a_server_without_citus_is_refused(dsn: str) -> None:
    with pytest.raises(DatabaseError, match="has no Citus: add citus"):
        distribute(dsn)
    ran = CliRunner().invoke(build_app(), ["db", "distribute", "--database-url", dsn])
    assert ran.exit_code != 0
    assert isinstance(ran.exception, DatabaseError)


@pytest.mark.skipif(CITUS is not None, reason="it is up to date")
def test_a_schema_that_is_not_up_to_date_is_refused(empty_dsn: str) -> None:
    with pytest.raises(NotSetUpError, match="db upgrade"):
        distribute(empty_dsn)


@pytest.mark.parametrize("shards", [0, -1, 1.5, True])
def test_shards_are_a_whole_number(shards: int) -> None:
    with pytest.raises(ConfigurationError, match="shards"):
        distribute("postgresql://nobody", shards=shards)


@on_cluster
def test_what_was_there_before_is_there_after(schema: str) -> None:
    assert CITUS is not None
    for tenant in TENANTS:
        with ledger_of(schema, tenant) as ledger:
            ledger.append([HumanMessage(f"of {tenant}", id="1")], thread_id="t")
            assert [hit.message_id for hit in ledger.recall(tenant, thread_id="t")] == ["1"]
    found = distribute(CITUS, schema=schema, shards=4)
    assert found.shards == 4
    assert found.made >= len(found.tables) + len(found.functions)
    for tenant in TENANTS:
        with ledger_of(schema, tenant) as ledger:
            assert [entry.message.text for entry in ledger.history("t")] == [f"of {tenant}"]
            ledger.append([HumanMessage("more", id="2")], thread_id="t")
            assert ledger.count("t") == 2
            assert [hit.message_id for hit in ledger.recall("more", thread_id="t")] == ["2"]
    assert distribute(CITUS, schema=schema).made == 0


@on_cluster
def test_what_was_interrupted_goes_on(schema: str) -> None:
    assert CITUS is not None
    with connect(CITUS) as connection:  # as one that was killed leaves it
        connection.execute(
            SQL(
                "ALTER TABLE {unit} ADD FOREIGN KEY (tenant, space, ref) REFERENCES {entry} "
                "ON DELETE CASCADE; DROP TRIGGER recall_forget ON {entry}"
            ).format(unit=Identifier(schema, "recall_unit"), entry=Identifier(schema, "entry"))
        )
    space = SQL("{}").format(Identifier(schema, "recall_space"))
    with connect(CITUS) as connection:
        connection.execute(
            SQL("INSERT INTO {} (tenant, space) VALUES ('t', gen_random_uuid())").format(space)
        )
    with pytest.raises(DatabaseError, match="foreign key"):  # to a thread, which is not there
        distribute(CITUS, schema=schema, shards=4)
    with connect(CITUS) as connection:
        connection.execute(SQL("DELETE FROM {}").format(space))
    found = distribute(CITUS, schema=schema, shards=4)
    assert found.made >= len(found.tables) + len(found.functions)


@on_cluster
def test_two_calls_take_turns(schema: str) -> None:
    assert CITUS is not None
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(distribute, CITUS, schema=schema, shards=4) for _ in range(2)]
        first, second = (run.result() for run in runs)
    assert first.tables == second.tables
    assert 0 <= first.made + second.made - len(first.tables) - len(first.functions) <= 2


@on_cluster
def test_every_statement_is_planned_on_the_shard_of_its_tenant(schema: str) -> None:
    assert CITUS is not None
    distribute(CITUS, schema=schema, shards=4)
    found = {plan.name: plan for plan in plans(CITUS, schema=schema)}
    assert {
        name for name, plan in found.items() if plan.where in ("all shards", "refused")
    } == set()
    for hot in (
        "entries.lock_thread",
        "entries.append",
        "entries.history",
        "checkpoint.record",
        "checkpoint.read",
        "compaction.news",
        "compaction.commit",
        "recall.missing",
        "recall.search",
        "state.events",
        "memory.search_items",
    ):
        assert (hot, found[hot].where, found[hot].tasks) == (hot, "shard", 1)


@on_cluster
def test_the_command_reports(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CITUS is not None
    monkeypatch.setenv("LANGLEDGER_DB_SCHEMA", schema)
    command = ["db", "distribute", "--shards", "4", "--database-url", CITUS]
    ran = CliRunner().invoke(build_app(), command)
    assert ran.exit_code == 0, ran.output
    assert "in 4 shards" in ran.output
    told = json.loads(CliRunner().invoke(build_app(), [*command, "--json"]).output)
    assert told["made"] == 0
    assert all(plan["where"] != "refused" for plan in told["plans"])


@on_cluster
def test_a_thread_takes_all_that_is_its_own(schema: str) -> None:
    assert CITUS is not None
    distribute(CITUS, schema=schema, shards=4)
    with ledger_of(schema, "acme") as ledger:
        ledger.append([HumanMessage("the parser of dates", id="1")], thread_id="t")
        assert ledger.recall("parser", thread_id="t")
        ledger.checkpointer().delete_thread("t")
    with connect(CITUS) as connection:
        for table in ("thread", "entry", "recall_unit", "recall_space"):
            count = SQL("SELECT count(*) AS n FROM {}").format(Identifier(schema, table))
            assert connection.execute(count).fetchall() == [{"n": 0}], table
