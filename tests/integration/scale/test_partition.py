"""``langledger db partition``: all is there after, and each tenant is in one partition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier
from typer.testing import CliRunner

from langledger import Ledger
from langledger.cli import build_app
from langledger.database import Database
from langledger.database.connection import connect
from langledger.database.distribute import distribute
from langledger.database.doctor import diagnose
from langledger.database.migrate import Migration, load_migrations, migrate, status
from langledger.database.partition import partition
from langledger.database.partition_proof import touched
from langledger.database.partitions import TABLES
from langledger.errors import ConfigurationError, DatabaseError, MigrationError, NotSetUpError
from tests.conftest import CITUS, PARTITIONS, _new_database
from tests.integration.security.conftest import role
from tests.support.lived import config, live

pytestmark = pytest.mark.skipif(
    CITUS is not None or PARTITIONS is not None, reason="it is about tables that are neither yet"
)

N = 4
TENANTS = ("acme", "umbrella's \\ corp", "initech")


@pytest.fixture(scope="module")
def fresh(server_dsn: str) -> Iterator[str]:
    """A database whose schema was made of partitions."""
    with _new_database(server_dsn) as name:
        dsn = make_conninfo(server_dsn, dbname=name)
        made = partition(dsn, partitions=N)
        assert (made.made, made.moved, made.partitions) == (True, 0, N)
        yield dsn


def held(dsn: str) -> dict[str, str]:
    """Return a hash of all rows of each table."""
    with connect(dsn) as connection:
        rows = connection.execute(
            "SELECT c.oid::regclass::text AS name FROM pg_class c WHERE c.relkind IN ('r', 'p') "
            "AND c.relnamespace = 'langledger'::regnamespace AND NOT c.relispartition "
            "AND c.relname <> 'migration'"
        ).fetchall()
        each = SQL("SELECT md5(string_agg(t::text, '' ORDER BY t::text)) AS hash FROM {} t")
        return {
            row["name"]: connection.execute(
                each.format(Identifier(*row["name"].split(".")))
            ).fetchall()[0]["hash"]
            for row in rows
        }


def parts(dsn: str) -> dict[str, int]:
    """Return how many partitions each table has."""
    with connect(dsn) as connection:
        rows = connection.execute(
            "SELECT inhparent::regclass::text AS name, count(*)::int AS n FROM pg_inherits "
            "JOIN pg_class c ON c.oid = inhparent WHERE c.relkind = 'p' GROUP BY 1"
        ).fetchall()
    return {row["name"].rpartition(".")[2]: row["n"] for row in rows}


def test_every_statement_touches_one_partition(fresh: str) -> None:
    assert parts(fresh) == dict.fromkeys(TABLES, N)
    found = {one.name: one.partitions for one in touched(fresh)}
    assert {name: of for name, of in found.items() if max(of.values(), default=0) > 1} == {}
    assert found["entries.count"] == {"entry": 1}
    assert found["recall.search"] == {"recall_unit": 1, "recall_vector": 1}


def test_a_tenant_lives_in_one_partition_of_each(fresh: str) -> None:
    """What functions do is in no plan: the server counts it."""
    with connect(fresh) as connection:
        connection.execute("SELECT pg_stat_reset()")  # indexes were built on all
    with Ledger.from_conn_string(fresh, tenant="acme") as ledger:
        live(ledger, "t", word="kazoo")
        ledger.checkpointer().get_tuple(config("t"))
        ledger.forget(thread_id="t")
        assert ledger.recall("kazoo") == []
    with connect(fresh) as connection:
        connection.execute("SELECT pg_stat_clear_snapshot()")
        rows = connection.execute(
            "SELECT relname AS name FROM pg_stat_user_tables WHERE relname ~ '_p[0-9]+$' "
            "AND seq_scan + coalesce(idx_scan, 0) + n_tup_ins > 0"
        ).fetchall()
    used = sorted(row["name"].rpartition("_p")[0] for row in rows)
    assert used == sorted(TABLES)


def test_all_that_was_there_is_there_after(dsn: str) -> None:
    for tenant in TENANTS:
        with Ledger.from_conn_string(dsn, tenant=tenant) as ledger:
            live(ledger, "t", word="kazoo")
    with role(dsn) as app:
        with connect(dsn) as connection:
            for tenant in TENANTS:
                connection.execute(
                    "INSERT INTO langledger.recall_model VALUES (%s, 9, 'm', 2)", [tenant]
                )
                connection.execute(
                    "INSERT INTO langledger.recall_vector "
                    "SELECT tenant, space, ref, part, 9, digest, '[1,2]' "
                    "FROM langledger.recall_unit WHERE tenant = %s",
                    [tenant],
                )
                connection.execute("SELECT langledger.recall_build_index(%s, 9, 2)", [tenant])
        before = held(dsn)
        moved = partition(dsn, partitions=N)
        assert held(dsn) == before
        assert moved.made
        assert moved.moved > 100
        assert partition(dsn, partitions=N).made is False
        for connected in (dsn, app):
            with Ledger.from_conn_string(connected, tenant=TENANTS[1], setup=False) as ledger:
                ledger.append([HumanMessage("the kazoo of Tuesday")], thread_id="t")
                assert ledger.recall("kazoo Tuesday", thread_id="t")
                assert ledger.checkpointer().get_tuple(config("t")) is not None
        assert "missing on" not in str(diagnose(app).as_dict())
        with connect(app) as connection, pytest.raises(psycopg.Error, match=r"langledger\.tenant"):
            connection.execute("SELECT count(*) FROM langledger.entry_p0")
        with connect(dsn) as connection:
            rows = connection.execute(
                "SELECT tablename AS name FROM pg_indexes WHERE indexname LIKE 'recall_hnsw_%'"
            ).fetchall()
            assert (
                connection.execute(
                    "SELECT FROM pg_namespace WHERE nspname LIKE 'langledger_%'"
                ).fetchall()
                == []
            )
    assert all(row["name"].startswith("recall_vector_p") for row in rows)
    assert len(rows) == len(TENANTS)


def test_what_cannot_be_done_changes_nothing(dsn: str) -> None:
    with Ledger.from_conn_string(dsn) as ledger:
        ledger.append([HumanMessage("hello")], thread_id="t")
    with connect(dsn) as connection:
        connection.execute("CREATE VIEW public.mine AS SELECT * FROM langledger.entry")
        with pytest.raises(MigrationError, match=r"depend.*as it was before"):
            partition(dsn, partitions=N)
        connection.execute("DROP VIEW public.mine")
        connection.execute("CREATE TABLE langledger.mine ()")
        with pytest.raises(MigrationError, match=r"depend.*as it was before"):
            partition(dsn, partitions=N)
        connection.execute("DROP TABLE langledger.mine")
        with Ledger.from_conn_string(dsn) as ledger:
            assert ledger.count("t") == 1
        assert parts(dsn) == {}
        connection.execute(
            SQL("DELETE FROM langledger.migration WHERE version = {}").format(status(dsn).head)
        )
    with pytest.raises(NotSetUpError, match="db upgrade"):
        partition(dsn, partitions=N)


@pytest.mark.parametrize("partitions", [0, 1, 1025, 2.5, True, "4"])
def test_the_number_is_checked(partitions: int) -> None:
    with pytest.raises(ConfigurationError, match="partitions"):
        partition("postgresql://nobody", partitions=partitions)


def test_the_number_stays(fresh: str) -> None:
    with pytest.raises(DatabaseError, match=f"have {N} partitions already"):
        partition(fresh, partitions=N + 1)
    with pytest.raises(DatabaseError, match="Citus splits by tenant itself"):
        distribute(fresh)


def test_two_calls_take_turns(dsn: str) -> None:
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(partition, dsn, partitions=N) for _ in range(2)]
        assert sorted(run.result().made for run in runs) == [False, True]
    assert parts(dsn) == dict.fromkeys(TABLES, N)


def test_later_migrations_reach_the_partitions(empty_dsn: str) -> None:
    partition(empty_dsn, partitions=N)
    known = load_migrations()
    sql = "ALTER TABLE entry ADD COLUMN later text; CREATE INDEX ON entry (tenant, later);"
    later = Migration(version=len(known) + 1, name="later", sql=sql, sha256="0" * 64)
    assert migrate(empty_dsn, migrations=[*known, later]) == [later]
    with connect(empty_dsn) as connection:
        rows = connection.execute(
            "SELECT attrelid::regclass::text AS name FROM pg_attribute a JOIN pg_class c "
            "ON c.oid = attrelid WHERE attname = 'later' AND relkind IN ('r', 'p')"
        ).fetchall()
    assert len(rows) == N + 1


def test_the_command_reports(empty_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGLEDGER_DB_SCHEMA", "Other")
    command = ["db", "partition", "--partitions", str(N), "--database-url", empty_dsn]
    ran = CliRunner().invoke(build_app(), command)
    assert ran.exit_code == 0, ran.output
    assert f"are made of {N} partitions each (made now, 0 rows moved)" in ran.output
    told = json.loads(CliRunner().invoke(build_app(), [*command, "--json"]).output)
    assert told["made"] is False
    assert {"name": "entries.count", "partitions": {"entry": 1}} in told["statements"]
    with connect(empty_dsn) as connection:
        assert connection.execute(
            SQL("SELECT count(*) AS n FROM {}").format(Identifier("Other", "entry"))
        ).fetchall() == [{"n": 0}]
    Database(empty_dsn, schema="Other").setup()
