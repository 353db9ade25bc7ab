"""A role that owns nothing, as an application connects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from langledger.database.connection import connect
from langledger.database.roles import make_role


@contextmanager
def role(dsn: str, *, superuser: str | None = None) -> Iterator[str]:
    """Make a role for a database, and give the DSN that connects as it.

    Args:
        dsn: Of the owner.
        superuser: Who takes the role away again, where that is another.
    """
    name = f"langledger_app_{uuid4().hex[:12]}"
    make_role(dsn, name)
    password = conninfo_to_dict(dsn).get("password")
    with connect(superuser or dsn) as connection:
        if password:
            connection.execute(
                SQL("ALTER ROLE {} PASSWORD {}").format(Identifier(name), str(password))
            )
        try:
            yield make_conninfo(dsn, user=name)
        finally:
            # The role is the server's, what it was granted is the database's.
            connection.execute(SQL("DROP OWNED BY {}").format(Identifier(name)))
            connection.execute(SQL("DROP ROLE {}").format(Identifier(name)))


@pytest.fixture
def app_dsn(dsn: str) -> Iterator[str]:
    """The fresh database, as the role."""
    with role(dsn) as connected:
        yield connected


@pytest.fixture(scope="module")
def module_app_dsn(module_dsn: str) -> Iterator[str]:
    """The module's database, as the role."""
    with role(module_dsn) as connected:
        yield connected
