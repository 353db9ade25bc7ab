"""What `langledger doctor` looks at: whether this database can hold a ledger, and how well.

:func:`diagnose` never writes.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, LiteralString, TypeAlias

import psycopg

from langledger.database import connection as connections
from langledger.database.doctor_checks import (
    SETTINGS,
    Check,
    Verdict,
    judge_age,
    judge_clock,
    judge_indexes,
    judge_objects,
    judge_pool,
    judge_protection,
    judge_replica,
    judge_rights,
    judge_setting,
    judge_transport,
)
from langledger.database.failures import translated
from langledger.database.migrate import Status, load_migrations, status
from langledger.database.queries import load_queries
from langledger.errors import DatabaseError, MigrationError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Row

__all__ = ["Check", "Report", "Verdict", "diagnose", "nothing_yet", "pooling"]

Pooling: TypeAlias = Literal["none", "session", "transaction"]

_queries = load_queries("langledger.database")

_PACKAGES = ("langledger", "psycopg", "psycopg-pool", "pgvector", "langgraph", "langchain")
_EXTENSIONS = ("vector", "pg_trgm")
_SETTINGS = ("server_version", "max_connections", "shared_buffers", *SETTINGS)
_LITTLE_DISK = 1_000_000_000  # bytes
_SECONDS = 10.0  # that a server has to answer
_MADE = re.compile(
    r"^(CREATE|DROP) (?:OR REPLACE )?(?:(?:UNIQUE )?INDEX|TABLE|VIEW|FUNCTION) (?:IF EXISTS )?(\w+)"
    r"|^CREATE TRIGGER (\w+) AFTER \w+ ON (\w+)",
    re.MULTILINE,
)
_ITERATIVE_SCAN = (0, 8)  # pgvector; halfvec came with 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All checks, and the worst verdict among them."""

    checks: tuple[Check, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of the checks."""
        found = {check.verdict for check in self.checks}
        return "error" if "error" in found else "warning" if "warning" in found else "ok"

    def as_dict(self) -> dict[str, Any]:
        """Return ``{"verdict": ..., "checks": [{"name", "value", "verdict", "advice"}]}``."""
        return {"verdict": self.verdict, "checks": [asdict(check) for check in self.checks]}


def diagnose(
    dsn: str,
    *,
    schema: str = "langledger",
    data_dir: Path | None = None,
    pool_size: int = 10,
    replica: str | None = None,
    replica_lag: float = 10.0,
) -> Report:
    """Look at everything that can be seen from here.

    Args:
        dsn: The database.
        schema: Holds the tables.
        data_dir: Of the embedded server, when that is what the DSN names.
        pool_size: Most connections that a process is to open.
        replica: DSN of its read replica, if it has one.
        replica_lag: Most seconds that the replica may be behind.

    Returns:
        The report; a server that cannot be reached is a check that failed, not an error.
    """
    checks = [*_packages(), _server(dsn, data_dir), *_disk(data_dir)]
    try:
        found = _schema(dsn, schema)
        with connections.connect(dsn, seconds=_SECONDS) as connection:
            checks += [*_server_checks(connection, schema, pool_size), found]
            checks += _schema_checks(connection, schema) if found.verdict == "ok" else []
        checks += [_pooler(dsn), _transport(dsn)]
    except DatabaseError as error:
        checks.append(Check(name="connection", value="failed", verdict="error", advice=str(error)))
    else:
        checks += [] if replica is None else [_replica(dsn, replica, replica_lag)]
    return Report(checks=tuple(checks))


def nothing_yet(data_dir: Path) -> Report | None:
    """Return what is told of an embedded server that never ran; None where one did.

    Looking at it would make it.
    """
    try:
        if (data_dir / "cluster").exists():
            return None
    except OSError:  # starting it says what is wrong
        return None
    server = Check(
        name="server",
        value=f"embedded, nothing in {data_dir} yet",
        verdict="warning",
        advice="run `langledger db upgrade`; so does whatever opens a ledger",
    )
    return Report(checks=(*_packages(), server))


def pooling(dsn: str) -> Pooling:
    """Tell what stands between us and the server.

    A pooler makes up the process number that the protocol announces. In transaction mode
    a second client is given the server process that the first one has just used, or the
    first one another while the second keeps it.

    Raises:
        DatabaseUnavailableError: When the server cannot be reached.
    """
    with connections.connect(dsn) as first, translated():
        used = _backend(first)
        if used == first.info.backend_pid:
            return "none"
        with connections.connect(dsn) as second, second.transaction():
            shared = _backend(second) == used or _backend(first) != used
    return "transaction" if shared else "session"


def _backend(connection: psycopg.Connection[Row]) -> int:
    row = connection.execute("SELECT pg_backend_pid() AS pid").fetchone()
    return 0 if row is None else int(row["pid"])


def _packages() -> Iterable[Check]:
    names = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    yield Check(
        name="packages", value=f"{names}, libpq {psycopg.pq.version_pretty(psycopg.pq.version())}"
    )


def _server(dsn: str, data_dir: Path | None) -> Check:
    if data_dir is not None:
        return Check(name="server", value=f"embedded, data in {data_dir}")
    return Check(name="server", value=connections.address(dsn))


def _disk(data_dir: Path | None) -> Iterable[Check]:
    """The disk of another machine cannot be seen from here."""
    if data_dir is None:
        return
    free = shutil.disk_usage(data_dir).free
    little = free < _LITTLE_DISK
    yield Check(
        name="disk",
        value=f"{_size(free)} free",
        verdict="warning" if little else "ok",
        advice="free some space, PostgreSQL stops when the disk is full" if little else "",
    )


def _server_checks(connection: psycopg.Connection[Row], schema: str, pool_size: int) -> list[Check]:
    settings = _rows(connection, "settings", names=list(_SETTINGS))
    extensions = _rows(connection, "extensions", names=list(_EXTENSIONS))
    (situation,) = _rows(connection, "situation")
    (health,) = _rows(connection, "health", schema=schema)
    values = {row["name"]: str(row["value"]) for row in settings}
    found = {row["name"]: row for row in extensions}
    return [
        Check(name="postgresql", value=values["server_version"]),
        _vector(found.get("vector")),
        _trigrams(found.get("pg_trgm")),
        *(judge_setting(name, values[name]) for name in SETTINGS if name in values),
        Check(name="shared_buffers", value=values["shared_buffers"]),
        _connections(situation, int(values["max_connections"])),
        judge_pool(pool_size, free=situation["free"]),
        judge_clock(float(health["clock"]) - time.time()),
        judge_age(health["age"]),
        judge_indexes(health["half_built"]),
        judge_rights(health["forbidden"]),
        Check(name="database", value=_describe(situation)),
    ]


def _schema_checks(connection: psycopg.Connection[Row], schema: str) -> list[Check]:
    """Look whether a schema that is up to date is still as the migrations left it."""
    (found,) = _rows(connection, "protection", schema=schema)
    there = {row["name"] for row in _rows(connection, "objects", schema=schema)}
    exempt = {"superuser": found["superuser"], "bypasses": found["bypasses"]}
    return [
        judge_objects(sorted(_made() - there)),
        judge_protection(found["exposed"], **exempt),
    ]


def _made() -> set[str]:
    """Return the names of what the migrations make: relations, functions, and triggers by table."""
    made: set[str] = set()
    for migration in load_migrations():
        for verb, name, trigger, table in _MADE.findall(migration.sql):
            if verb == "DROP":
                made.discard(name)
            else:
                made.add(name or f"{trigger} on {table}")
    return made


def _vector(row: Row | None) -> Check:
    if row is None:
        return Check(
            name="pgvector",
            value="not available",
            verdict="error",
            advice="install pgvector on the server (Debian: postgresql-NN-pgvector)",
        )
    if row["installed"] is None:
        return Check(
            name="pgvector",
            value=f"{row['available']} available, not created in this database",
            verdict="warning",
            advice="run `langledger db upgrade`",
        )
    old = _numbers(row["installed"]) < _ITERATIVE_SCAN
    return Check(
        name="pgvector",
        value=row["installed"],
        verdict="warning" if old else "ok",
        advice="filtered search needs 0.8: ALTER EXTENSION vector UPDATE" if old else "",
    )


def _trigrams(row: Row | None) -> Check:
    return Check(name="pg_trgm", value="not available (optional)" if row is None else "available")


def _connections(row: Row, most: int) -> Check:
    few = row["sessions"] > 0.8 * most
    return Check(
        name="connections",
        value=f"{row['sessions']} of {most}",
        verdict="warning" if few else "ok",
        advice="raise max_connections, or put a pooler in front" if few else "",
    )


def _describe(row: Row) -> str:
    kind = ", a standby" if row["standby"] else ""
    return f"{row['database']} as {row['role']}, {_size(row['bytes'])}{kind}"


def _schema(dsn: str, schema: str) -> Check:
    try:
        found: Status = status(dsn, schema=schema)
    except MigrationError as error:
        return Check(name="schema", value=schema, verdict="error", advice=str(error))
    value = f"{schema}, version {found.version} of {found.head}"
    if found.version > found.head:
        value = f"{schema}, version {found.version}; this langledger knows {found.head}"
        advice = "it works on; upgrade the package when you can"
        return Check(name="schema", value=value, verdict="warning", advice=advice)
    if not found.pending:
        return Check(name="schema", value=value)
    return Check(
        name="schema", value=value, verdict="warning", advice="run `langledger db upgrade`"
    )


def _pooler(dsn: str) -> Check:
    found = pooling(dsn)
    value = "none, connected directly" if found == "none" else f"a pooler in {found} mode"
    return Check(name="pooler", value=value)


def _replica(dsn: str, replica: str, lag: float) -> Check:
    try:
        with connections.connect(dsn) as primary, connections.connect(replica) as standby:
            (place,) = _rows(primary, "place")
            (standing,) = _rows(standby, "standing", **place, late=place["lsn"])
            names = {
                row["identity"]
                for server in (primary, standby)
                for row in _rows(server, "identity")
            }
    except DatabaseError as error:
        return Check(name="replica", value="failed", verdict="warning", advice=str(error))
    return judge_replica(
        same=len(names - {None}) < 2,
        standby=standing["standby"],
        seconds=0.0 if standing["current"] else standing["seconds"],
        most=lag,
    )


def _rows(connection: psycopg.Connection[Row], name: LiteralString, **params: Any) -> list[Row]:
    with translated():
        return connection.execute(_queries[name], params).fetchall()


def _transport(dsn: str) -> Check:
    with connections.connect(dsn) as connection:
        info = connection.info
        return judge_transport(info.host, encrypted=connection.pgconn.ssl_in_use)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _size(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.1f} MB"
