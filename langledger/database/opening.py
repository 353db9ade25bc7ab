"""Which database is meant: that of a DSN, the one the environment names, or the embedded one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, TypeVar

from psycopg.conninfo import make_conninfo

from langledger.arguments import check_switch, check_text, check_whole
from langledger.config import Settings, load_settings
from langledger.database.connection import parsed
from langledger.database.embedded import EmbeddedServer, start_embedded
from langledger.database.pool import AsyncDatabase, Database
from langledger.encryption import key_ring
from langledger.errors import ConfigurationError

__all__ = ["dsn_of", "keys_of", "pooled", "replica_of"]

D = TypeVar("D", Database, AsyncDatabase)


def pooled(
    kind: type[D],
    dsn: str | None,
    data_dir: str | Path | None,
    *,
    schema: str,
    pool_size: int,
    secured: bool = False,
    replica: str | None = None,
    replica_lag: float = 10.0,
    encryption: object = None,
) -> tuple[D, EmbeddedServer | None]:
    """Return a pool that is not open yet, and the embedded server, started, if it is on that.

    Args:
        kind: Of the pool.
        dsn: URL or key=value string; default: what the environment says, else the embedded server.
        data_dir: Where the embedded server keeps its data; default: the settings'.
        schema: Holds the tables.
        pool_size: Most connections open at once.
        secured: Refuse a role that row-level security does not hold for.
        replica: DSN of a read replica; default: where ``dsn`` is the environment's, its replica.
        replica_lag: Most seconds that the replica may be behind.
        encryption: Keys for the content; default: where ``dsn`` is the environment's, its keys.

    Raises:
        ConfigurationError: An argument is not usable, both DSN and ``data_dir`` are given, or a
            replica is and no DSN.
        MissingDependencyError: No DSN, and the extra ``local`` is not installed.
        EmbeddedPostgresError: The embedded server cannot be started.
    """
    options: dict[str, Any] = {
        "schema": schema,
        "max_size": check_whole("pool_size", pool_size, least=1),
        "require_row_security": check_switch("require_row_security", secured),
    }
    if dsn is None and data_dir is None:
        # A server that the environment names, or requires, must not be passed over unseen.
        settings = load_settings()
        dsn = dsn_of(settings)
        encryption = keys_of(settings) if encryption is None else encryption
        if replica is None:
            replica, replica_lag = replica_of(settings), settings.replica_lag
    options["encryption"] = key_ring(encryption)
    if dsn is not None:
        if data_dir is not None:
            raise ConfigurationError("give a DSN or a data_dir for the embedded server, not both")
        return _with_replica(kind(dsn, **options), replica, replica_lag, options), None
    if replica is not None:
        raise ConfigurationError(
            "a replica needs a primary: set LANGLEDGER_DATABASE_URL, or give its DSN; the embedded "
            "server has no replica"
        )
    server = start_embedded(_folder(data_dir))
    try:
        database = kind(server.dsn, trouble=server.trouble, revive=server.revive, **options)
    except BaseException:
        server.stop()
        raise
    return database, server


def dsn_of(settings: Settings) -> str | None:
    """Return the DSN that settings name; None where they mean the embedded server.

    Raises:
        ConfigurationError: They name none, and require one.
    """
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    if settings.require_database_url:
        raise ConfigurationError(
            "LANGLEDGER_REQUIRE_DATABASE_URL is set and LANGLEDGER_DATABASE_URL is not: "
            "set it to postgresql://..."
        )
    return None


def replica_of(settings: Settings) -> str | None:
    """Return the DSN of the replica that settings name, if they name one."""
    return None if settings.replica is None else settings.replica.get_secret_value()


def keys_of(settings: Settings) -> str | None:
    """Return the encryption keys that settings name, if they name some."""
    return None if settings.encryption_keys is None else settings.encryption_keys.get_secret_value()


def _with_replica(primary: D, dsn: str | None, lag: float, options: dict[str, Any]) -> D:
    if dsn is not None:
        from langledger.database.replica import ANSWER_SECONDS, Replica  # noqa: PLC0415 - for those who have one

        seconds = {"connect_timeout": math.ceil(ANSWER_SECONDS), **parsed(dsn)}
        pool = type(primary)(make_conninfo("", **seconds), timeout=ANSWER_SECONDS, **options)
        pool.vaults = primary.vaults  # a standby cannot be given a tenant's first secret
        primary.replica = Replica(pool, lag=lag)
    return primary


def _folder(data_dir: str | Path | None) -> Path:
    if data_dir is None:
        return load_settings().data_dir
    if isinstance(data_dir, Path):
        return data_dir
    return Path(check_text("data_dir", data_dir))  # an empty one would be where we are
