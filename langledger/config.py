"""Settings, and the only place that reads the environment.

The command line, the web page and :meth:`Ledger.from_settings` use them; classes
take explicit arguments instead.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from langledger.errors import ConfigurationError

__all__ = ["PREFIX", "Settings", "load_settings"]

PREFIX = "LANGLEDGER_"


def _default_data_dir() -> Path:
    # PostgreSQL does not run as root, and the user it then runs as does not get into /root.
    if os.name == "posix" and os.geteuid() == 0:
        return Path("/var/lib/langledger/data")
    return Path(platformdirs.user_data_dir("langledger", appauthor=False))


class Settings(BaseSettings):
    """What the environment (``LANGLEDGER_*``) sets.

    Attributes:
        database_url: DSN of a PostgreSQL server with pgvector. Unset: the embedded server.
        require_database_url: Refuse the embedded server; for production.
        data_dir: Where the embedded server keeps its data.
        db_schema: The schema that holds langledger's tables.
        tenant: Whose rows are read and written.
        pool_size: Most connections open at once.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    database_url: SecretStr | None = None
    require_database_url: bool = False
    data_dir: Path = Field(default_factory=_default_data_dir)
    db_schema: str = "langledger"
    tenant: str = "default"
    pool_size: int = Field(default=10, ge=1)


def load_settings() -> Settings:
    """Read the settings from the environment.

    Raises:
        ConfigurationError: For a value out of range, or an unknown ``LANGLEDGER_*`` name:
            a mistyped setting must never fall back to a default in silence.
    """
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    unknown = sorted(
        name
        for name in os.environ  # noqa: TID251 - this module is the one that reads it
        if name.startswith(PREFIX) and name not in known and name != PREFIX + "TEST_DSN"
    )
    if unknown:
        raise ConfigurationError(
            f"unknown setting {', '.join(unknown)}; the known ones are {', '.join(sorted(known))}"
        )
    try:
        return Settings()
    except ValidationError as error:
        raise ConfigurationError(f"invalid LANGLEDGER_* setting: {error}") from error
