"""Makes the role an application connects as: it reads and writes rows, one tenant at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
from psycopg.sql import SQL, Identifier

from langledger.arguments import check_text
from langledger.database import connection as connections
from langledger.database.failures import translate
from langledger.database.migrate import status
from langledger.errors import ConfigurationError, DatabaseError, NotSetUpError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Row

__all__ = ["AppRole", "make_role"]

_LONGEST = 63  # bytes; PostgreSQL would cut a longer name off
_OLDEST = 150000  # the first whose views read with the rights of whoever asks
_PRIVILEGE = "42501"

_ABOUT_ROLE = """
SELECT r.rolsuper OR r.rolbypassrls AS exempt, r.oid = c.relowner AS owner,
       pg_has_role(r.oid, c.relowner, 'MEMBER') AS member
FROM pg_roles r, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE r.rolname = %(role)s AND n.nspname = %(schema)s AND c.relname = 'thread'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppRole:
    """A role for applications.

    Attributes:
        name: Of the role.
        created: Whether it was made now; it has no password then.
        schema: Whose tables it may use.
    """

    name: str
    created: bool
    schema: str


def make_role(dsn: str, name: str, *, schema: str = "langledger") -> AppRole:
    """Make a role that may use the tables and owns none, and put them under row-level security.

    The owner is put under it too (``FORCE``), unless it is a superuser. Called again, it grants
    what is missing.

    Args:
        dsn: Of the owner of the schema.
        name: Of the role; one that exists keeps its password and what else it may do.
        schema: Holds the tables.

    Raises:
        ConfigurationError: The name is no usable one, or the role owns the tables or is exempt
            from row-level security.
        NotSetUpError: The schema is not up to date.
        DatabaseError: The server is older than PostgreSQL 15, or refuses.
    """
    if len(check_text("the role", name).encode()) > _LONGEST:
        raise ConfigurationError(f"the role's name is longer than {_LONGEST} bytes")
    if status(dsn, schema=schema).pending:
        raise NotSetUpError("the schema is not up to date: run `langledger db upgrade` first")
    with connections.connect(dsn) as connection:
        if connection.info.server_version < _OLDEST:
            raise DatabaseError("row-level security needs PostgreSQL 15 or newer")
        try:
            with connection.transaction():
                created = _create(connection, name)
                _check(connection, name, schema)
                _grant(connection, name, schema)
                connection.execute(SQL("SELECT {}(true)").format(_in(schema, "secure_tables")))
        except psycopg.Error as error:
            if error.sqlstate == _PRIVILEGE:
                said = error.diag.message_primary
                raise DatabaseError(
                    f"the role of the DSN may not do this ({said}): use the DSN of the owner of "
                    "the schema, and have an administrator create the role first if need be"
                ) from error
            raise translate(error) from error
    return AppRole(name=name, created=created, schema=schema)


def _create(connection: psycopg.Connection[Row], name: str) -> bool:
    known = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [name]).rowcount
    if not known:
        connection.execute(SQL("CREATE ROLE {} LOGIN").format(Identifier(name)))
    return not known


def _check(connection: psycopg.Connection[Row], name: str, schema: str) -> None:
    row = connection.execute(_ABOUT_ROLE, {"role": name, "schema": schema}).fetchone()
    if row is None or row["exempt"]:
        raise ConfigurationError(
            f"role {name!r} is a superuser or has BYPASSRLS: no row-level security holds for it; "
            "take another name"
        )
    if row["owner"] or row["member"]:
        raise ConfigurationError(
            f"role {name!r} owns the tables of schema {schema!r} or is a member of the role that "
            "does, and could switch row-level security off: take another name"
        )


def _grant(connection: psycopg.Connection[Row], name: str, schema: str) -> None:
    role, space = Identifier(name), Identifier(schema)
    rights = SQL("SELECT, INSERT, UPDATE, DELETE ON")
    statements = [
        SQL("GRANT USAGE ON SCHEMA {} TO {}").format(space, role),
        SQL("GRANT {} ALL TABLES IN SCHEMA {} TO {}").format(rights, space, role),
        # It runs as the owner, so that nobody may call it who was not allowed to.
        SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(_in(schema, "recall_build_index"), role),
        # What later migrations make.
        SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA {} GRANT {} TABLES TO {}").format(
            space, rights, role
        ),
        # Which migrations were applied is read; what was forgotten is noted once.
        SQL("REVOKE INSERT, UPDATE, DELETE ON {} FROM {}").format(_in(schema, "migration"), role),
        SQL("REVOKE UPDATE, DELETE ON {} FROM {}").format(_in(schema, "forget_receipt"), role),
    ]
    for statement in statements:
        connection.execute(statement)


def _in(schema: str, name: str) -> Identifier:
    return Identifier(schema, name)
