"""Which database is meant: that of a DSN, the one the environment names, or the embedded one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from langledger.arguments import check_switch, check_text, check_whole
from langledger.config import Settings, load_settings
from langledger.database.embedded import EmbeddedServer, start_embedded
from langledger.database.pool import AsyncDatabase, Database
from langledger.errors import ConfigurationError

__all__ = ["dsn_of", "pooled"]

D = TypeVar("D", Database, AsyncDatabase)


def pooled(
    kind: type[D],
    dsn: str | None,
    data_dir: str | Path | None,
    *,
    schema: str,
    pool_size: int,
    secured: bool = False,
) -> tuple[D, EmbeddedServer | None]:
    """Return a pool that is not open yet, and the embedded server, started, if it is on that.

    Args:
        kind: Of the pool.
        dsn: URL or key=value string; default: what the environment says, else the embedded server.
        data_dir: Where the embedded server keeps its data; default: the settings'.
        schema: Holds the tables.
        pool_size: Most connections open at once.
        secured: Refuse a role that row-level security does not hold for.

    Raises:
        ConfigurationError: An argument is not usable, or both DSN and ``data_dir`` are given.
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
        dsn = dsn_of(load_settings())
    if dsn is not None:
        if data_dir is not None:
            raise ConfigurationError("give a DSN or a data_dir for the embedded server, not both")
        return kind(dsn, **options), None
    server = start_embedded(_folder(data_dir))
    try:
        database = kind(server.dsn, trouble=server.trouble, **options)
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


def _folder(data_dir: str | Path | None) -> Path:
    if data_dir is None:
        return load_settings().data_dir
    if isinstance(data_dir, Path):
        return data_dir
    return Path(check_text("data_dir", data_dir))  # an empty one would be where we are
