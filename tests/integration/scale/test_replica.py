"""Reads that a real streaming replica answers, and who answers while it cannot."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import HumanMessage
from psycopg.conninfo import make_conninfo

from langledger import AsyncLedger, Ledger
from langledger.config import Settings
from langledger.database import Database
from langledger.database.connection import connect
from langledger.database.doctor import Check, diagnose
from langledger.errors import ConfigurationError, DatabaseError
from tests.conftest import CITUS, _open_folder
from tests.support.standby import Standby
from tests.support.stoppable import StoppableServer, until

pytestmark = pytest.mark.skipif(CITUS is not None, reason="servers of its own")


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[StoppableServer, Standby]]:
    with _open_folder() as folder, StoppableServer(folder / "primary") as primary:
        Database(primary.dsn).setup()
        home = folder / "standby"
        home.mkdir()
        with Standby(primary, home) as standby:
            yield primary, standby


@pytest.fixture
def primary(servers: tuple[StoppableServer, Standby]) -> StoppableServer:
    return servers[0]


@pytest.fixture
def standby(servers: tuple[StoppableServer, Standby]) -> Standby:
    return servers[1]


@pytest.fixture
def ledger(
    request: pytest.FixtureRequest,
    primary: StoppableServer,
    standby: Standby,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Ledger]:
    monkeypatch.setattr("langledger.database.replica._REST_SECONDS", 0.05)
    lag = getattr(request, "param", 3600.0)
    opened = Ledger.from_conn_string(
        primary.dsn, tenant=uuid4().hex, replica=standby.dsn, replica_lag=lag
    )
    with opened:
        assert opened.replica is not None
        assert opened.replica.reads
        yield opened


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who answered each read, in order."""
    told: list[str] = []
    monkeypatch.setattr(
        "langledger.database.replica.count_replica",
        lambda *, used: told.append("replica" if used else "primary"),
    )
    return told


def say(ledger: Ledger, text: str, thread_id: str = "t") -> None:
    ledger.append([HumanMessage(text)], thread_id=thread_id)


def found(ledger: Ledger, query: str, thread_id: str | None = "t") -> list[str]:
    return [hit.text for hit in ledger.recall(query, thread_id=thread_id)]


def texts(ledger: Ledger) -> list[str]:
    return [entry.message.text for entry in ledger.history("t")]


def test_what_the_replica_has_it_answers(
    ledger: Ledger, standby: Standby, answers: list[str]
) -> None:
    say(ledger, "the parser of dates")
    assert found(ledger, "parser") == ["the parser of dates"]
    assert answers == ["primary"]  # it was not indexed
    standby.catch_up()
    assert found(ledger, "parser") == ["the parser of dates"]
    assert found(ledger, "parser", thread_id=None) == ["the parser of dates"]
    assert texts(ledger) == ["the parser of dates"]
    assert [row["thread_id"] for row in ledger.threads()] == ["t"]
    assert answers == ["primary", *["replica"] * 4]


def test_what_was_just_written_is_found_by_everybody(
    ledger: Ledger, primary: StoppableServer, standby: Standby, answers: list[str]
) -> None:
    say(ledger, "the parser of dates")
    found(ledger, "parser")
    standby.catch_up()
    standby.pause()
    try:
        with Ledger.from_conn_string(primary.dsn, tenant=ledger.tenant) as other:
            say(other, "the parser of times")
        assert len(found(ledger, "parser")) == 2
        assert len(found(ledger, "parser", thread_id=None)) == 2
        assert texts(ledger) == ["the parser of dates", "the parser of times"]
        ledger.forget(thread_id="t")
        assert found(ledger, "parser", thread_id=None) == []
        assert texts(ledger) == []
        assert set(answers) == {"primary"}
    finally:
        standby.resume()


def test_a_search_of_all_threads_waits_a_moment_for_what_it_indexed(
    ledger: Ledger, standby: Standby, answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langledger.recall.search._PATIENCE", 60.0)
    say(ledger, "the parser of dates")
    assert found(ledger, "parser", thread_id=None) == ["the parser of dates"]
    assert answers == ["replica"]


@pytest.mark.parametrize("ledger", [0.3], indirect=True)
def test_one_too_far_behind_is_left_with_one_warning_and_read_again(
    ledger: Ledger, standby: Standby, answers: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    replica = ledger.replica
    assert replica is not None
    say(ledger, "the parser of dates")
    found(ledger, "parser")
    standby.catch_up()
    standby.pause()
    try:
        say(ledger, "something", thread_id="other")

        def left() -> bool:
            assert texts(ledger) == ["the parser of dates"]
            return not replica.reads

        until(left)
        until(lambda: len(texts(ledger)) == 1 and len(caplog.records) >= 1)
    finally:
        standby.resume()
    until(lambda: texts(ledger) == ["the parser of dates"] and replica.reads)
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "more than 0.3 s behind" in caplog.messages[0]
    assert "is read again" in caplog.messages[1]


def test_one_that_is_away_is_left_and_found_again(
    ledger: Ledger, standby: Standby, answers: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    replica = ledger.replica
    assert replica is not None
    say(ledger, "the parser of dates")
    found(ledger, "parser")
    standby.catch_up()
    assert texts(ledger)
    standby.stop()
    assert texts(ledger) == ["the parser of dates"]
    assert not replica.reads
    with Ledger.from_conn_string(
        ledger.dsn, tenant=ledger.tenant, replica=standby.dsn
    ) as opened:  # that it is away is no reason not to begin
        assert texts(opened) == ["the parser of dates"]
    standby.start()
    until(lambda: texts(ledger) == ["the parser of dates"] and replica.reads)
    assert sum("primary answers" in message for message in caplog.messages) == 2


async def test_the_same_awaited(
    primary: StoppableServer, standby: Standby, answers: list[str]
) -> None:
    opened = AsyncLedger.from_conn_string(primary.dsn, tenant=uuid4().hex, replica=standby.dsn)
    async with opened as ledger:
        await ledger.append([HumanMessage("the parser of dates")], thread_id="t")
        assert await ledger.recall("parser", thread_id="t")
        await asyncio.to_thread(standby.catch_up)
        assert [hit.text for hit in await ledger.recall("parser", thread_id="t")] == [
            "the parser of dates"
        ]
        assert len(await ledger.history("t")) == 1
        assert answers == ["primary", "replica", "replica"]
        other = ledger.for_tenant("another")
        assert await other.recall("parser") == []


def test_the_settings_name_it(
    primary: StoppableServer, standby: Standby, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", primary.dsn)
    monkeypatch.setenv("LANGLEDGER_REPLICA", standby.dsn)
    monkeypatch.setenv("LANGLEDGER_REPLICA_LAG", "2.5")
    for ledger in (Ledger.from_settings(), Ledger.from_conn_string()):
        with ledger:
            assert ledger.replica is not None
            assert (ledger.replica.reads, ledger.replica.lag) == (True, 2.5)
    with Ledger.from_conn_string(primary.dsn) as ledger:  # not that of another database
        assert ledger.replica is None


def test_a_primary_is_no_replica(
    primary: StoppableServer, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Ledger.from_conn_string(primary.dsn, tenant="p", replica=primary.dsn) as ledger:
        say(ledger, "the parser of dates")
        assert texts(ledger) == ["the parser of dates"]
        assert ledger.replica is not None
        assert not ledger.replica.reads
    assert "it is no standby; was it promoted?" in caplog.text
    with (
        pytest.raises(ConfigurationError, match="another server"),
        Ledger.from_conn_string(primary.dsn, replica=dsn),
    ):
        pass


def test_doctor_looks_at_it(
    primary: StoppableServer, standby: Standby, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(replica: str, lag: float) -> Check:
        checks = diagnose(primary.dsn, replica=replica, replica_lag=lag).checks
        return next(check for check in checks if check.name == "replica")

    assert told(standby.dsn, 3600.0).verdict == "ok"
    assert "no standby" in told(primary.dsn, 3600.0).advice
    assert "another server" in told(dsn, 3600.0).advice
    assert told("postgresql://127.0.0.1:1/x", 3600.0).value == "failed"
    standby.pause()
    try:
        Database(primary.dsn, schema="another").setup()
        assert "so far behind" in told(standby.dsn, 1e-9).advice
    finally:
        standby.resume()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dsn": "postgresql:///x", "replica": ""}, "DSN is empty"),
        ({"dsn": "postgresql:///x", "replica": "nonsense"}, "not valid"),
        ({"dsn": "postgresql:///x", "replica": "postgresql:///y", "replica_lag": 0}, "replica_lag"),
        ({"data_dir": "somewhere", "replica": "postgresql:///y"}, "needs a primary"),
    ],
)
def test_wrong_arguments_are_told(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Ledger.from_conn_string(**arguments)


def test_nothing_is_written_there(standby: Standby) -> None:
    with pytest.raises(ConfigurationError):
        Settings(replica_lag=0)
    with Database(standby.dsn) as database, pytest.raises(DatabaseError, match="read-only"):
        say(Ledger(database, setup=False), "something")


def test_one_that_was_promoted_is_left(ledger: Ledger, standby: Standby) -> None:
    """The last: there is no way back."""
    say(ledger, "the parser of dates")
    found(ledger, "parser")
    standby.catch_up()
    standby.promote()
    replica = ledger.replica
    assert replica is not None
    with connect(make_conninfo(standby.dsn)) as connection:
        connection.execute("DELETE FROM langledger.thread")
    until(lambda: texts(ledger) == ["the parser of dates"] and not replica.reads)
    assert found(ledger, "parser") == ["the parser of dates"]
