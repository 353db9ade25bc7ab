"""Which tenants have keys: of all statements the one that is of none."""

from __future__ import annotations

from psycopg.sql import SQL, Identifier

from langledger.database.connection import connect, probe
from langledger.database.failures import translated
from langledger.errors import ConfigurationError

__all__ = ["tenants_of"]


def tenants_of(dsn: str, *, schema: str) -> dict[str, str]:
    """Return the state of each tenant that something was encrypted for, by its name.

    Args:
        dsn: The database.
        schema: Holds the tables.

    Raises:
        ConfigurationError: The role is under row-level security, and sees one tenant at a time.
        DatabaseError: The table cannot be read.
    """
    if probe(dsn, schema).secured:
        raise ConfigurationError(
            "the role of the DSN sees one tenant at a time: connect as a superuser, or a role with "
            "BYPASSRLS, for all tenants; or name one with LANGLEDGER_TENANT"
        )
    statement = SQL("SELECT tenant, state FROM {}.{} ORDER BY tenant").format(
        Identifier(schema), Identifier("encryption_key")
    )
    with connect(dsn) as connection, translated():
        return {row["tenant"]: row["state"] for row in connection.execute(statement)}
