from __future__ import annotations

from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from langledger.database import AsyncDatabase, Database
from langledger.database.connection import address, conninfo
from langledger.errors import ConfigurationError


def test_what_the_dsn_says_wins_over_our_defaults() -> None:
    parts = conninfo_to_dict(conninfo("postgresql://h/d?keepalives_idle=5&application_name=mine"))
    assert parts["keepalives_idle"] == "5"
    assert parts["connect_timeout"] == "10"
    assert parts["application_name"] == "mine"


@pytest.mark.parametrize(
    "dsn", ["postgres//user:s3cret@host/db", "postgresql://user:s3cret@host:x y/db", "s3cret"]
)
def test_a_dsn_that_cannot_be_read_is_refused_without_its_password(dsn: str) -> None:
    with pytest.raises(ConfigurationError, match="DSN is not valid") as error:
        Database(dsn)
    assert "s3cret" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_a_pool_shows_no_password() -> None:
    dsn = "postgresql://user:s3cret@host:1234/db"
    assert address(dsn) == "host:1234/db"
    assert repr(Database(dsn)) == "<Database host:1234/db schema='langledger'>"
    assert "s3cret" not in repr(AsyncDatabase(dsn))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_size": 0}, "max_size must be at least 1"),
        ({"max_size": "x"}, "max_size must be a whole number, not 'x'"),
        ({"min_size": -1}, "min_size must be at least 0"),
        ({"min_size": 5, "max_size": 4}, "min_size must be at most 4"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0"),
        ({"timeout": "x"}, "timeout must be a number of seconds above 0"),
        ({"timeout": float("nan")}, "timeout must be a number of seconds above 0"),
        ({"timeout": float("inf")}, "timeout must be a number of seconds above 0"),
        ({"schema": 5}, "schema must be a non-empty string"),
        ({"schema": ""}, "schema must be a non-empty string"),
    ],
)
def test_sizes_out_of_range_are_refused(options: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Database("postgresql://h/d", **options)


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("", "the DSN is empty"),
        (" \n", "the DSN is empty"),
        (5, "the DSN must be a string, not 5"),
        (None, "the DSN must be a string, not None"),
        (b"host=h", "the DSN must be a string, not a bytes"),
        ("postgresql://h/d\x00", "the DSN holds a NUL character"),
        ("postgresql://h/\ud800", "the DSN holds half of a surrogate pair"),
    ],
)
@pytest.mark.parametrize("kind", [Database, AsyncDatabase])
def test_what_is_no_dsn_is_refused(kind: type[Database], dsn: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        kind(dsn)
