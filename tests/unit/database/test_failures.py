from __future__ import annotations

import re

import psycopg
import pytest
from psycopg_pool import PoolClosed, PoolTimeout

from langledger.database.failures import (
    is_lost,
    is_rolled_back,
    real_error,
    translate,
    translated,
)
from langledger.errors import DatabaseError, DatabaseUnavailableError, NotSetUpError


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (psycopg.errors.UndefinedTable("no entry"), NotSetUpError, "langledger db upgrade"),
        (psycopg.errors.InvalidSchemaName("no schema"), NotSetUpError, "langledger db upgrade"),
        (psycopg.errors.DiskFull("full"), DatabaseError, "disk is full.*nothing was written"),
        (psycopg.errors.ReadOnlySqlTransaction("ro"), DatabaseError, "read-only.*primary"),
        (psycopg.errors.TooManyConnections("53300"), DatabaseUnavailableError, "pool_size"),
        (psycopg.errors.AdminShutdown("bye"), DatabaseUnavailableError, "cannot be reached"),
        (psycopg.OperationalError("server closed"), DatabaseUnavailableError, "cannot be reached"),
        (psycopg.errors.DivisionByZero("1/0"), DatabaseError, "refused a statement: 1/0"),
        (PoolClosed("closed"), DatabaseError, "not open"),
    ],
)
def test_each_error_becomes_one_of_ours_that_says_what_to_do(
    error: psycopg.Error, kind: type[DatabaseError], said: str
) -> None:
    with pytest.raises(DatabaseError, match=said) as caught, translated():
        raise error
    assert type(caught.value) is kind
    assert caught.value.__cause__ is error


def test_a_message_is_one_line() -> None:
    assert "\n" not in str(translate(psycopg.OperationalError("failed:\n\tConnection refused\n")))


def test_the_failure_behind_an_aborted_pipeline_is_what_is_reported() -> None:
    cause = psycopg.errors.DivisionByZero("1/0")
    aborted = psycopg.errors.PipelineAborted("aborted")
    aborted.__context__ = psycopg.errors.PipelineAborted("aborted")
    aborted.__context__.__context__ = cause
    with pytest.raises(DatabaseError, match="1/0") as caught, translated():
        raise aborted
    assert caught.value.__cause__ is cause
    assert real_error(cause) is cause


def test_only_a_lost_connection_or_an_undone_transaction_is_worth_a_retry() -> None:
    assert is_lost(psycopg.OperationalError("server closed the connection"))
    assert is_lost(psycopg.errors.AdminShutdown())
    assert is_lost(psycopg.errors.IdleSessionTimeout())
    assert not is_lost(psycopg.errors.DiskFull())
    assert not is_lost(PoolTimeout())
    assert not is_lost(PoolClosed())
    assert not is_lost(ValueError())
    assert is_rolled_back(psycopg.errors.DeadlockDetected())
    assert is_rolled_back(psycopg.errors.SerializationFailure())
    assert not is_rolled_back(psycopg.errors.UniqueViolation())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('database "x" does not exist', "create the database, or correct its name in the DSN"),
        ('role "x" does not exist', "create the role, or correct the user in the DSN"),
        ('role "x" is not permitted to log in', "create the role, or correct the user"),
        ('password authentication failed for user "x"', "check user and password in the DSN"),
        ('no pg_hba.conf entry for host "h"', r"and the server's pg_hba\.conf"),
        ("sorry, too many clients already", "lower pool_size or raise max_connections"),
        ("the database system is starting up", "try again in a moment"),
        ('database "x" is not currently accepting connections', "ALLOW_CONNECTIONS true"),
        ("\u8cc7\u6599\u5eab\u4e0d\u5b58\u5728", "check database, user and password in the DSN"),
    ],
)
def test_a_server_that_refuses_is_told_from_one_that_is_down(words: str, said: str) -> None:
    """libpq gives only words here, no code."""
    error = translate(psycopg.OperationalError(f'connection to "h" failed: FATAL:  {words}\n'))
    assert type(error) is DatabaseUnavailableError
    assert str(error).startswith(f"the server is up, but refuses the connection: {words}; ")
    assert re.search(said, str(error))
    assert "cannot be reached" not in str(error)
