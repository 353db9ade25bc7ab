"""Bring a database to the schema this version needs.

Migrations are the files ``migrations/NNNN_name.sql``: numbered without gaps, forward
only, never changed once released. All that are missing run in one transaction under
an advisory lock, so any number of processes may start at once, and one that is
killed leaves the database as it was.

A migration that older releases can go on working with says so: ``-- works with: 8`` on a line of
its own means those that know migrations up to 8. So a rolling upgrade migrates first, while the
release before it runs and restarts; without the line older ones refuse to open the database.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, LiteralString, cast

import psycopg
from psycopg.sql import SQL, Composed, Identifier

from langledger.database import connection as connections
from langledger.database.failures import translate
from langledger.database.partitions import in_partitions, partitions_of
from langledger.errors import DatabaseUnavailableError, MigrationError, SchemaTooNewError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Row

__all__ = [
    "Migration",
    "Status",
    "apply_missing",
    "changing",
    "load_migrations",
    "migrate",
    "status",
]

_WORKS_WITH = re.compile(r"^-- works with: (\d+)$", re.MULTILINE)
_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_LOCK = 0x6C616E676C656467  # "langledg": one lock a database, because the extension is shared
_PRIVILEGE = "42501"
_NO_EXTENSION = frozenset({"0A000", "58P01"})  # not available: no control file, no library


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    r"""One numbered file.

    Attributes:
        version: Its number, from 1.
        name: What follows the number.
        sql: Statements that name tables without a schema.
        sha256: Of the text with ``\n`` line ends, as 64 hexadecimal digits.
    """

    version: int
    name: str
    sql: str
    sha256: str

    @property
    def oldest(self) -> int:
        """The last migration that a langledger must know to work with the schema after this."""
        said = _WORKS_WITH.search(self.sql)
        return self.version if said is None else int(said[1])

    @property
    def label(self) -> str:
        """The file name without its ending: ``0001_entries``."""
        return f"{self.version:04}_{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How far a database is.

    Attributes:
        version: The last migration applied; 0 for none. Above ``head`` where a newer langledger
            was here that lets this one go on.
        head: The last one this langledger knows.
        pending: Labels of those to apply, in order.
    """

    version: int
    head: int
    pending: tuple[str, ...]


def load_migrations() -> list[Migration]:
    """Read the migrations of this version, in order.

    Raises:
        MigrationError: When a file is misnamed or a number is missing or doubled.
    """
    found: list[Migration] = []
    folder = files("langledger.database").joinpath("migrations")
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        match = _FILE.fullmatch(file.name)
        if match is None or int(match[1]) != len(found) + 1:
            raise MigrationError(f"migrations are numbered 0001, 0002, ...: {file.name} is not")
        sql = "\n".join(file.read_text(encoding="utf-8").splitlines()) + "\n"
        digest = hashlib.sha256(sql.encode()).hexdigest()
        found.append(Migration(version=int(match[1]), name=match[2], sql=sql, sha256=digest))
    return found


def status(dsn: str, *, schema: str = "langledger") -> Status:
    """Tell how far a database is; reads only.

    Raises:
        MigrationError: When what was applied is not what this version would have applied, or
            the role may not read it.
        SchemaTooNewError: When a newer langledger was here.
        DatabaseUnavailableError: When the server cannot be reached.
    """
    known = load_migrations()
    with connections.connect(dsn) as connection, _reading(schema):
        missing = _missing(connection, schema, known)
        version = len(_applied(connection, schema))
    return Status(
        version=version,
        head=len(known),
        pending=tuple(migration.label for migration in missing),
    )


def migrate(
    dsn: str, *, schema: str = "langledger", migrations: Sequence[Migration] | None = None
) -> list[Migration]:
    """Create the schema, and apply what is missing; nothing at all when nothing is.

    A role that may not create anything can call it on a database that is up to date.

    Args:
        dsn: Of the server itself, where a pooler stands before it.
        schema: Holds the tables.
        migrations: Instead of this version's own.

    Returns:
        What was applied, in order.

    Raises:
        MigrationError: When it cannot be applied; the database is then as it was before.
        SchemaTooNewError: When a newer langledger was here.
        DatabaseUnavailableError: When the server cannot be reached.
    """
    known = load_migrations() if migrations is None else migrations
    with connections.connect(dsn) as connection:
        with _reading(schema):
            if not _missing(connection, schema, known):
                return []
        with changing(), connection.transaction():
            return apply_missing(connection, schema, known)


def apply_missing(
    connection: psycopg.Connection[Row],
    schema: str,
    known: Sequence[Migration],
    *,
    partitions: int | None = None,
) -> list[Migration]:
    """Apply what is missing, in the transaction of a connection; return what that was, in order.

    Args:
        connection: In a transaction; others who call this wait until its end.
        schema: Holds the tables.
        known: All migrations.
        partitions: To make each large table of; default: as many as the schema has.

    Raises:
        ConfigurationError: The session would read the migrations otherwise than they are written.
    """
    connections.check_quoting(connection)
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    missing = _missing(connection, schema, known)
    if missing:
        _prepare(connection, schema)
    if partitions is None:
        partitions = partitions_of(connection, schema)
    for migration in missing:
        _apply(connection, schema, migration, partitions)
    return missing


def _missing(
    connection: psycopg.Connection[Row], schema: str, known: Sequence[Migration]
) -> list[Migration]:
    applied = _applied(connection, schema)
    for row, migration in zip(applied, known, strict=False):
        if (row["version"], row["sha256"]) != (migration.version, migration.sha256):
            raise MigrationError(
                f"migration {migration.label} was changed after it was applied to schema "
                f"{schema!r}: install the langledger that applied it"
            )
    beyond = [row["oldest"] or row["version"] for row in applied[len(known) :]]
    if max(beyond, default=0) > len(known):
        raise SchemaTooNewError(
            f"schema {schema!r} is at version {len(applied)}, this langledger knows "
            f"{len(known)}: upgrade the package"
        )
    return list(known[len(applied) :])


def _applied(connection: psycopg.Connection[Row], schema: str) -> list[Row]:
    # Not to_regclass: it answers from a cache, which waiting for the lock does not renew.
    table = SQL(
        "pg_class JOIN pg_namespace n ON n.oid = relnamespace "
        "WHERE relname = 'migration' AND nspname = {}"
    ).format(schema)
    if not _exists(connection, table):
        return []
    return connection.execute(
        SQL("SELECT version, sha256, oldest FROM {} ORDER BY version").format(
            Identifier(schema, "migration")
        )
    ).fetchall()


def _prepare(connection: psycopg.Connection[Row], schema: str) -> None:
    """Create the extension, the schema and the list of migrations where they are not there.

    Each is looked for first: CREATE ... IF NOT EXISTS asks for the privilege even when
    there is nothing to create.
    """
    if not _exists(connection, SQL("pg_extension WHERE extname = 'vector'")):
        _create_extension(connection)
    if not _exists(connection, SQL("pg_namespace WHERE nspname = {}").format(schema)):
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
    connection.execute(
        SQL(
            "CREATE TABLE IF NOT EXISTS {} (version integer PRIMARY KEY, name text NOT NULL, "
            "sha256 text NOT NULL, oldest integer, applied_at timestamptz NOT NULL DEFAULT now())"
        ).format(Identifier(schema, "migration"))
    )
    # SET LOCAL ends with the transaction. The extension may stand in a schema of its own. Functions
    # keep this path: what a session made for itself is never taken for a table of ours.
    connection.execute(
        SQL("SET LOCAL search_path TO {}, {}, pg_temp").format(
            Identifier(schema), Identifier(_extension_schema(connection))
        )
    )
    connection.execute("SET LOCAL lock_timeout = '30s'")
    # Loads pgvector's library: only then may anybody but a superuser name its settings.
    connection.execute("SELECT '[1]'::vector")


def _exists(connection: psycopg.Connection[Row], what: SQL | Composed) -> bool:
    return connection.execute(SQL("SELECT FROM {}").format(what)).rowcount > 0


def _create_extension(connection: psycopg.Connection[Row]) -> None:
    try:
        connection.execute("CREATE EXTENSION vector")
    except psycopg.Error as error:
        if error.sqlstate == _PRIVILEGE:
            raise MigrationError(
                "the role may not create the pgvector extension: have an administrator run "
                "CREATE EXTENSION vector in this database, then try again"
            ) from error
        if error.sqlstate in _NO_EXTENSION:
            major = connection.info.server_version // 10000
            raise MigrationError(
                "the server does not have pgvector: install it (Debian: "
                f"postgresql-{major}-pgvector; Docker: pgvector/pgvector:pg{major}), then try again"
            ) from error
        raise


def _extension_schema(connection: psycopg.Connection[Row]) -> str:
    row = connection.execute(
        "SELECT extnamespace::regnamespace::text AS name FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    return "public" if row is None else str(row["name"])


def _apply(
    connection: psycopg.Connection[Row], schema: str, migration: Migration, partitions: int
) -> None:
    try:
        connection.execute(cast("LiteralString", in_partitions(migration.sql, partitions)))
    except psycopg.Error as error:
        if error.sqlstate == _PRIVILEGE or connection.closed:
            raise
        said = error.diag.message_primary or error
        raise MigrationError(
            f"migration {migration.label} failed, the schema is as it was before: {said}"
        ) from error
    connection.execute(
        SQL("INSERT INTO {} (version, name, sha256, oldest) VALUES (%s, %s, %s, %s)").format(
            Identifier(schema, "migration")
        ),
        [migration.version, migration.name, migration.sha256, migration.oldest],
    )


@contextmanager
def _reading(schema: str) -> Generator[None]:
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate == _PRIVILEGE:
            raise MigrationError(
                f"the role may not read the schema {schema!r} ({error.diag.message_primary}): "
                "grant it USAGE on the schema and rights on its tables, or use the owner's DSN"
            ) from error
        raise translate(error) from error


@contextmanager
def changing() -> Generator[None]:
    """Raise what goes wrong in changing a schema as what it means for who asked for it.

    Raises:
        MigrationError: For any error of the server's.
        DatabaseUnavailableError: It went away.
    """
    try:
        yield
    except psycopg.Error as error:
        failure = translate(error)
        if isinstance(failure, DatabaseUnavailableError):
            raise failure from error
        if error.sqlstate == _PRIVILEGE:
            raise MigrationError(
                f"the role may not change the schema ({error.diag.message_primary}): run "
                "`langledger db upgrade` once with the DSN of the owner"
            ) from error
        raise MigrationError(f"{failure}; the schema is as it was before") from error
