"""How one connection is made, described and looked after."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg
from pgvector.psycopg import register_vector
from psycopg.adapt import AdaptersMap
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import PGconn, Ping
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

from langledger.arguments import check_text
from langledger.database.failures import translated
from langledger.errors import ConfigurationError, DatabaseError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Row

__all__ = [
    "NEEDED",
    "Probe",
    "address",
    "check_quoting",
    "connect",
    "conninfo",
    "is_alive",
    "is_starting",
    "options",
    "parsed",
    "probe",
]

# Not by to_regclass, which needs a right to the schema even to say that there is no table.
_IS_SECURED = """
SELECT row_security_active(c.oid) AS secured
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = 'thread'
"""

# Settings of a role or a database under which values are stored otherwise than they were sent, or
# nothing is found; all of them are on by default.
NEEDED = {
    "standard_conforming_strings": "bytes would be stored as other bytes",
    "array_nulls": "what is not there would be stored as the text NULL",
    "row_security": "statements would fail where row-level security holds for the role",
}
_EXTENSION = """
SELECT n.nspname AS schema
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
"""
_SETTINGS = "SELECT name, setting FROM pg_settings WHERE name = ANY(%(names)s) ORDER BY name"

AnyConnection: TypeAlias = "psycopg.Connection[Row] | psycopg.AsyncConnection[Row]"

_OLDEST_SERVER = 140000  # the first with multiranges

# Used where the DSN says nothing. Keepalives find a peer that a firewall dropped in silence.
_DEFAULTS: dict[str, str | int] = {
    "fallback_application_name": "langledger",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found out about a database.

    Attributes:
        adapters: Of its types.
        secured: Whether row-level security holds for our role; None: there are no tables yet.
    """

    adapters: AdaptersMap
    secured: bool | None


def parsed(dsn: str) -> dict[str, Any]:
    """Return what a DSN says, by libpq's names.

    Raises:
        ConfigurationError: It is empty, or libpq cannot read it.
    """
    if not check_text("the DSN", dsn, empty=True).strip():
        # libpq would connect to whatever its defaults are.
        raise ConfigurationError("the DSN is empty: give postgresql://...")
    try:
        return dict(conninfo_to_dict(dsn))
    except psycopg.ProgrammingError:
        # Not chained and not quoted: libpq's message repeats the text, password included.
        raise ConfigurationError(
            "the DSN is not valid; write postgresql://user:password@host:5432/database"
        ) from None


def conninfo(dsn: str) -> str:
    """Return the connection string with our defaults for what the DSN leaves open.

    Raises:
        ConfigurationError: When it is empty, or libpq cannot read it.
    """
    # Whatever the role, the database or PGCLIENTENCODING say: other encodings lack characters.
    return make_conninfo("", **{**_DEFAULTS, **parsed(dsn), "client_encoding": "UTF8"})


def address(dsn: str) -> str:
    """Return ``host:port/database`` of a DSN, for people: no password in it."""
    parts = parsed(dsn)
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    port = parts.get("port") or 5432
    return f"{host}:{port}/{parts.get('dbname') or parts.get('user') or ''}"


def options(adapters: AdaptersMap | None) -> dict[str, Any]:
    """Return what every connection of a pool is opened with.

    Server-side prepared statements stay off, because behind PgBouncer in transaction
    mode a name may stand for the statement of somebody else.
    """
    return {
        "autocommit": True,
        "row_factory": dict_row,
        "prepare_threshold": None,
        "context": adapters,
    }


def connect(dsn: str, *, seconds: float | None = None) -> psycopg.Connection[Row]:
    """Open one connection outside of the pool.

    Args:
        dsn: As libpq takes it.
        seconds: Longest wait for an answer; default: what the DSN says, else ten.

    Raises:
        DatabaseUnavailableError: When nobody answers, or the server refuses us.
        DatabaseError: When the server is older than PostgreSQL 14.
    """
    with translated():
        connection = psycopg.Connection[dict[str, Any]].connect(
            _hurried(dsn, seconds), autocommit=True, row_factory=dict_row, prepare_threshold=None
        )
    version = connection.info.server_version
    if version < _OLDEST_SERVER:
        connection.close()
        raise DatabaseError(f"PostgreSQL {version // 10000} is too old: 14 or newer is needed")
    return connection


def _hurried(dsn: str, seconds: float | None) -> str:
    """Return the connection string with a shorter wait, where it has a longer one."""
    text = conninfo(dsn)
    usual = int(parsed(text)["connect_timeout"])  # 0: for ever
    if seconds is None or 0 < usual <= seconds:
        return text
    return make_conninfo(text, connect_timeout=max(2, math.ceil(seconds)))  # libpq's least is 2


def is_starting(dsn: str) -> bool:
    """Tell whether a server answers that it is starting up, shutting down or recovering."""
    return PGconn.ping(conninfo(dsn).encode()) == Ping.REJECT


def probe(dsn: str, schema: str) -> Probe:
    """Connect once, and return what all connections to this database share.

    pgvector's types have other numbers in each database. They are asked for here, not
    by each connection of the pool, and are absent until the extension is created.

    Raises:
        DatabaseUnavailableError: As :func:`connect`; so a wrong DSN is found at once.
        ConfigurationError: A setting would damage what is stored.
    """
    with connect(dsn) as connection, translated():
        for row in connection.execute(_SETTINGS, {"names": list(NEEDED)}):
            _check_setting(row["name"], row["setting"])
        # Without the extension there is nothing to register; setup() creates it, and asks again.
        place = connection.execute(_EXTENSION).fetchone()
        if place is not None:
            with connection.transaction():  # its types are looked for on the path alone
                connection.execute(
                    SQL("SET LOCAL search_path TO {}").format(Identifier(place["schema"]))
                )
                register_vector(connection)
        row = connection.execute(_IS_SECURED, {"schema": schema}).fetchone()
        return Probe(AdaptersMap(connection.adapters), None if row is None else row["secured"])


def check_quoting(connection: AnyConnection) -> None:
    """Refuse a session in which a backslash is no longer one; costs no round trip.

    Raises:
        ConfigurationError: It is such a one; nothing was sent.
    """
    name = "standard_conforming_strings"
    _check_setting(name, connection.info.parameter_status(name) or "on")


def _check_setting(name: str, value: str) -> None:
    if value != "on":
        raise ConfigurationError(
            f"{name} is {value} in sessions of this role, and {NEEDED[name]}: take it back with "
            f"ALTER ROLE ... RESET {name}, or ALTER DATABASE, wherever it was set"
        )


def is_alive(connection: AnyConnection, deadline: float) -> bool:
    """Tell whether the server has not closed an idle connection; costs no round trip.

    Reading what has arrived, without waiting, finds the end of a closed stream. So a
    statement that may not be sent twice goes only to a connection seen alive just before.

    Args:
        connection: Of the pool, which no statement is running on.
        deadline: Of the monotonic clock, when to stop looking for one that is alive.

    Raises:
        psycopg.OperationalError: It is dead, and the time is over; nothing was sent.
    """
    try:
        connection.pgconn.consume_input()  # the server's parting message, if any
        connection.pgconn.consume_input()  # the end of the stream
    except psycopg.OperationalError:
        if time.monotonic() >= deadline:
            raise
        return False
    return True
