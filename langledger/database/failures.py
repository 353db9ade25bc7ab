"""From psycopg's errors to ours, and which of them a retry can mend.

Error codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from langledger.errors import DatabaseError, DatabaseUnavailableError, NotSetUpError

__all__ = ["is_lost", "is_rolled_back", "real_error", "translate", "translated"]

# The server went away, or closes this connection: shutdown, crash, not up yet, idle for too long.
_GOING_AWAY = frozenset({"57P01", "57P02", "57P03", "57P05"})
# Serialisation failure and deadlock: the server undid the whole transaction.
_ROLLED_BACK = frozenset({"40001", "40P01"})

_UNAVAILABLE = {
    "53300": "the server has no connection left: lower pool_size or raise max_connections",
    "57P03": "the server is starting up or shutting down: try again in a moment",
}
_TENANT = '"langledger.tenant"'  # as PostgreSQL names a setting that it does not know
_NO_TENANT = (
    "row-level security holds for the role, and the statement names no tenant: if it was switched "
    "on after this ledger was opened, open it again"
)
_NOT_SET_UP = frozenset({"3F000", "42P01", "42703"})
_REFUSED = {
    "25006": (
        "the server is read-only: point the DSN at the primary, or turn off "
        "default_transaction_read_only; nothing was written"
    ),
    "42501": "the role lacks a privilege: grant it, or connect as the owner of the schema",
    "53100": "the server's disk is full: free some space there; nothing was written",
    "53200": "the server is out of memory; nothing was written",
    "57014": "the statement was cancelled (statement_timeout or an administrator)",
}


# While a connection is being made libpq gives no code, only the server's words; those are of
# its own language, so what is not recognised is passed on as it is.
_AT_THE_DOOR = re.compile(r"FATAL: +(.*)")
_ADVICE = (
    (
        re.compile(r"is (starting up|shutting down)|in recovery mode|not (yet )?accepting"),
        "it is starting up or shutting down: try again in a moment",
    ),
    (
        re.compile(r"not currently accepting connections"),  # said of a database, not of a server
        "allow them with ALTER DATABASE ... ALLOW_CONNECTIONS true, or name another in the DSN",
    ),
    (
        re.compile(r"too many (clients|connections)|connection slots"),
        "lower pool_size or raise max_connections",
    ),
    (
        re.compile(r"database .* does not exist|no such database"),
        "create the database, or correct its name in the DSN",
    ),
    (
        re.compile(r"role .* does not exist|not permitted to log in|no such user"),
        "create the role, or correct the user in the DSN",
    ),
    (
        re.compile(r"password|authentication|pg_hba\.conf"),
        "check user and password in the DSN, and the server's pg_hba.conf",
    ),
    (re.compile(""), "check database, user and password in the DSN"),
)


def real_error(error: BaseException) -> BaseException:
    """Return what made a pipeline abort instead of the abort itself.

    psycopg raises ``PipelineAborted`` for the statements behind the failed one, and
    keeps the failure as its context.
    """
    found = error
    while isinstance(found, psycopg.errors.PipelineAborted) and found.__context__ is not None:
        found = found.__context__
    return found


def is_lost(error: BaseException) -> bool:
    """Tell whether the connection is gone, so that nobody knows what the server did."""
    if not isinstance(error, psycopg.OperationalError) or isinstance(
        error, PoolTimeout | PoolClosed
    ):
        return False
    state = error.sqlstate
    return state is None or state.startswith("08") or state in _GOING_AWAY


def is_rolled_back(error: BaseException) -> bool:
    """Tell whether the server undid the transaction and asks to run it again."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _ROLLED_BACK


def translate(error: psycopg.Error) -> DatabaseError:
    """Return the error of our tree for one of psycopg's; the caller chains them."""
    state = error.sqlstate or ""
    said = " ".join((error.diag.message_primary or str(error)).split())
    if isinstance(error, PoolClosed):
        return DatabaseError("the database is not open: use it in a with statement or call open()")
    if state in _NOT_SET_UP:
        return NotSetUpError(
            f"{said}: run `langledger db upgrade`, or open the ledger with setup=True; "
            "of a checkpointer call setup()"
        )
    if state in _UNAVAILABLE:
        return DatabaseUnavailableError(f"{_UNAVAILABLE[state]} ({said})")
    if is_lost(error):
        return DatabaseUnavailableError(_unreached(state, said))
    refusal = _NO_TENANT if _TENANT in said else _REFUSED.get(state)
    if refusal is not None:
        return DatabaseError(f"{refusal} ({said})")
    return DatabaseError(f"PostgreSQL refused a statement: {said}")


def _unreached(state: str, said: str) -> str:
    if said == "query_wait_timeout":
        return (
            "PgBouncer had no session of the server free within its query_wait_timeout: raise its "
            "default_pool_size, or find what holds the sessions"
        )
    door = None if state else _AT_THE_DOOR.search(said)
    if door is None:
        return f"PostgreSQL cannot be reached; check the DSN and that the server is up ({said})"
    advice = next(advice for pattern, advice in _ADVICE if pattern.search(door[1]))
    return f"the server is up, but refuses the connection: {door[1]}; {advice}"


@contextmanager
def translated() -> Generator[None]:
    """Raise psycopg's errors of the block as ours, the cause chained.

    Raises:
        DatabaseError: Or one of its subclasses, for any ``psycopg.Error``.
    """
    try:
        yield
    except psycopg.Error as error:
        cause = real_error(error)
        if not isinstance(cause, psycopg.Error):
            raise
        raise translate(cause) from cause
