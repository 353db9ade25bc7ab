"""A backup holds everything, and an upgrade leads from every released schema to this one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from langledger import Ledger
from langledger.database.migrate import Migration, load_migrations, migrate, status
from tests.support.dumps import program, schema_of
from tests.support.scripted import ScriptedModel

CONFIG: Any = {"configurable": {"thread_id": "thread"}}
RELEASED = Path(__file__).parent / "released"


def agent_of(ledger: Ledger) -> Any:
    model = ScriptedModel(script=[AIMessage("The port is 40417. " + "It is so. " * 300)])
    middleware = [ledger.middleware(window=3000)]
    return create_agent(model, [], middleware=middleware, checkpointer=ledger.checkpointer())


def fill(dsn: str) -> None:
    """Have a bit of everything in a database."""
    with Ledger.from_conn_string(dsn) as ledger:
        for turn in range(6):
            agent_of(ledger).invoke({"messages": [HumanMessage(f"turn {turn}")]}, CONFIG)
        ledger.add_to_state("thread", "decision", "Use port 40417.", why="It is free.")
        ledger.store().put(("user", "alice"), "likes", {"text": "tea"})
        ledger.pin("thread", "Never touch production.")
        ledger.flush()


def told(dsn: str) -> dict[str, Any]:
    """Return what a ledger tells of what was filled in."""
    with Ledger.from_conn_string(dsn) as ledger:
        saver, item = ledger.checkpointer(), ledger.store().get(("user", "alice"), "likes")
        return {
            "history": [e.message for e in ledger.history("thread")],
            "checkpoints": [t.checkpoint for t in saver.list(CONFIG)],
            "compactions": ledger.compactions("thread"),
            "state": ledger.state("thread"),
            "pins": ledger.pins("thread"),
            "hits": [(hit.entry_id, hit.text) for hit in ledger.recall("40417", k=3)],
            "item": item.value if item is not None else None,
        }


def test_what_pg_dump_wrote_is_all_there_after_pg_restore(
    dsn: str, empty_dsn: str, tmp_path: Path
) -> None:
    fill(dsn)
    before = told(dsn)
    assert before["compactions"]
    assert before["hits"]
    dump = tmp_path / "backup.dump"
    program("pg_dump", "--format=custom", f"--file={dump}", dsn)
    program("pg_restore", "--no-owner", f"--dbname={empty_dsn}", dump)
    assert told(empty_dsn) == before
    assert schema_of(empty_dsn) == schema_of(dsn)
    with Ledger.from_conn_string(empty_dsn) as ledger:  # and the thread goes on
        agent_of(ledger).invoke({"messages": [HumanMessage("and on")]}, CONFIG)
        assert ledger.count("thread") == len(before["history"]) + 2


def test_data_of_a_release_lives_through_the_upgrade_to_the_next(
    dsn: str, empty_dsn: str, tmp_path: Path
) -> None:
    """How a release's dump is used, shown on the schema of today, which is moved alone."""
    fill(dsn)
    before = told(dsn)
    dump = tmp_path / "today.sql"
    program("pg_dump", "--schema=langledger", "--no-owner", f"--file={dump}", dsn)
    program("psql", "-q", "-d", empty_dsn, "-c", "CREATE EXTENSION vector")
    program("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", empty_dsn, "-f", dump)
    today = load_migrations()
    sql = f"-- works with: {len(today)}\nALTER TABLE thread ADD COLUMN later text;\n"
    digest = hashlib.sha256(sql.encode()).hexdigest()
    later = Migration(version=len(today) + 1, name="later", sql=sql, sha256=digest)
    assert migrate(empty_dsn, migrations=[*today, later]) == [later]
    assert told(empty_dsn) == before  # this release works on beside the next


@pytest.mark.parametrize("dump", sorted(RELEASED.glob("*.sql")), ids=lambda path: path.stem)
def test_every_released_schema_can_be_upgraded(dump: Path, empty_dsn: str, dsn: str) -> None:
    program("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", empty_dsn, "-f", dump)
    migrate(empty_dsn)
    assert status(empty_dsn).pending == ()
    assert schema_of(empty_dsn) == schema_of(dsn)
    assert "40417" in str(told(empty_dsn)["history"])
