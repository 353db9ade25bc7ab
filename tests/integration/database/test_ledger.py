"""The facade at its edges: arguments that are none, and use before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from langledger import AsyncLedger, Ledger
from langledger.config import Settings
from langledger.database import AsyncDatabase, Database
from langledger.errors import ConfigurationError, DatabaseError, NotSetUpError

NO_TENANTS = ["", None, 5, b"x", "\ud800", "a\x00b", "x" * 501]
both = pytest.mark.parametrize("kind", [Ledger, AsyncLedger])


@pytest.mark.parametrize("tenant", NO_TENANTS)
def test_there_is_no_ledger_without_a_tenant(dsn: str, open_folder: Path, tenant: Any) -> None:
    database = Database(dsn)
    for attempt in (
        lambda: Ledger(database, tenant=tenant),
        lambda: Ledger(database).for_tenant(tenant),
        lambda: AsyncLedger(AsyncDatabase(dsn)).for_tenant(tenant),
        lambda: Ledger.from_conn_string(dsn, tenant=tenant),
        lambda: AsyncLedger.from_conn_string(dsn, tenant=tenant),
        lambda: Ledger.from_conn_string(data_dir=open_folder / "data", tenant=tenant),
    ):
        with pytest.raises(ConfigurationError, match=r"^tenant "):
            attempt()
    assert not (open_folder / "data").exists(), "the embedded server was started for nothing"


@both
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dsn": 5}, "the DSN must be a string, not 5"),
        ({"dsn": b"x"}, "the DSN must be a string, not a bytes"),
        ({"dsn": ""}, "the DSN is empty"),
        ({"dsn": "postgresql://h/d", "pool_size": "x"}, "pool_size must be a whole number"),
        ({"dsn": "postgresql://h/d", "pool_size": 0}, "pool_size must be at least 1"),
        ({"dsn": "postgresql://h/d", "data_dir": "x"}, "not both"),
        ({"dsn": "postgresql://h/d", "schema": None}, "schema must be a non-empty string"),
        ({"data_dir": ""}, "data_dir must be a non-empty string"),
        ({"data_dir": 5}, "data_dir must be a non-empty string, not 5"),
        ({"data_dir": "a\x00b"}, "data_dir holds a NUL character"),
    ],
)
def test_arguments_that_are_none_are_refused_by_name(
    kind: type[Ledger], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        kind.from_conn_string(**options)


def test_a_server_that_was_started_for_nothing_is_stopped(open_folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="schema"):
        Ledger.from_conn_string(data_dir=open_folder / "data", schema="no schema")
    assert not (open_folder / "data" / "cluster" / "postmaster.pid").exists()


def test_an_empty_dsn_in_the_settings_is_not_the_embedded_server(open_folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="LANGLEDGER_DATABASE_URL: the DSN is empty"):
        Settings(database_url="", data_dir=open_folder / "data")
    unchecked = Settings().model_copy(
        update={"database_url": SecretStr(""), "data_dir": open_folder / "data"}
    )
    with pytest.raises(ConfigurationError, match="the DSN is empty"):
        Ledger.from_settings(unchecked)


@pytest.mark.parametrize("at", ["x", "#9223372036854775808", -1, 2**63, 1.5])
async def test_a_place_that_is_no_number_is_refused(dsn: str, at: Any) -> None:
    with Ledger.from_conn_string(dsn) as ledger:
        with pytest.raises(ConfigurationError, match=r"^at must be"):
            ledger.state("t", at=at)
        with pytest.raises(ConfigurationError, match=r"^after must be"):
            ledger.history("t", after=at)
    async with AsyncLedger.from_conn_string(dsn) as twin:
        with pytest.raises(ConfigurationError, match=r"^at must be"):
            await twin.state("t", at=at)


async def test_a_closed_ledger_says_so(dsn: str) -> None:
    ledger = Ledger.from_conn_string(dsn)
    with ledger:
        other = ledger.for_tenant("other")
    for closed in (ledger, other):
        with pytest.raises(DatabaseError, match="not open"):
            closed.count("t")
    twin = AsyncLedger.from_conn_string(dsn)
    async with twin:
        assert await twin.count("t") == 0
    with pytest.raises(DatabaseError, match="not open"):
        await twin.count("t")


def test_without_setup_the_error_says_how_to_have_it(empty_dsn: str) -> None:
    with (
        Ledger.from_conn_string(empty_dsn, setup=False) as ledger,
        pytest.raises(NotSetUpError, match="db upgrade`, or open the ledger with setup=True"),
    ):
        ledger.count("t")
    with Ledger.from_conn_string(empty_dsn) as ledger:
        assert ledger.count("t") == 0
