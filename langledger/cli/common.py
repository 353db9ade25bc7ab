"""What the commands share: their options, and opening what they ask for."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from langledger.config import Settings, load_settings
from langledger.errors import ConfigurationError

__all__ = [
    "MOST",
    "DataDir",
    "DatabaseUrl",
    "Json",
    "Target",
    "as_text",
    "chosen_settings",
    "duration",
    "opened_server",
]

MOST = 2**63 - 1  # PostgreSQL's largest bigint
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LONGEST = timedelta.max // timedelta(seconds=1)
_DURATION = re.compile(r"([1-9][0-9]{0,8})([smhdw])")


def as_text(value: str | None) -> str | None:
    """Return an argument as its bytes mean it in UTF-8; a C locale reads them as ASCII.

    Raises:
        BadParameter: They are not UTF-8.
    """
    if value is None or not any("\ud800" <= character <= "\udfff" for character in value):
        return value
    try:
        return os.fsencode(value).decode()
    except UnicodeError as error:
        raise typer.BadParameter(f"{value!r} is not UTF-8 text") from error


def duration(option: str, text: str) -> timedelta:
    """Return the time that an option gives, such as ``30d``.

    Raises:
        ConfigurationError: It is none.
    """
    match = _DURATION.fullmatch(text)
    if match:
        seconds = int(match[1]) * _UNITS[match[2]]
        return timedelta(seconds=min(seconds, _LONGEST))
    raise ConfigurationError(
        f"{option} takes a number and s, m, h, d or w (seconds to weeks), such as 30d; not {text!r}"
    )


DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        "--dsn",
        metavar="DSN",
        callback=as_text,
        help="PostgreSQL to use; default: LANGLEDGER_DATABASE_URL, else the embedded server.",
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="FOLDER",
        help="Where the embedded server keeps its data; default: LANGLEDGER_DATA_DIR.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The database a command works on.

    Attributes:
        dsn: Where it is.
        settings: As the environment and the options say.
        data_dir: Of the embedded server; None for any other.
    """

    dsn: str
    settings: Settings
    data_dir: Path | None


def chosen_settings(dsn: str | None, data_dir: Path | None) -> Settings:
    """Return the environment's settings with the options over them.

    ``--data-dir`` asks for the embedded server, whatever the environment says. The
    environment's replica is that of the environment's database.

    Raises:
        ConfigurationError: When both options are given, or the environment is wrong.
    """
    if dsn is not None and data_dir is not None:
        raise ConfigurationError("give --database-url or --data-dir, not both")
    settings = load_settings()
    if dsn is not None:
        return settings.model_copy(update={"database_url": SecretStr(dsn), "replica": None})
    if data_dir is not None:
        embedded = {"database_url": None, "replica": None, "data_dir": data_dir}
        return settings.model_copy(update=embedded)
    return settings


@contextmanager
def opened_server(dsn: str | None, data_dir: Path | None) -> Generator[Target]:
    """Give the database that the options ask for, the embedded server running meanwhile.

    Raises:
        ConfigurationError: When no DSN is given where one is required.
        EmbeddedPostgresError: When the embedded server cannot be used.
        MissingDependencyError: When it is not installed.
    """
    settings = chosen_settings(dsn, data_dir)
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        yield Target(dsn=url, settings=settings, data_dir=None)
        return
    if settings.require_database_url:
        raise ConfigurationError(
            "LANGLEDGER_REQUIRE_DATABASE_URL forbids the embedded server: "
            "set LANGLEDGER_DATABASE_URL or pass --database-url"
        )
    from langledger.database.embedded import start_embedded

    server = start_embedded(settings.data_dir)
    try:
        yield Target(dsn=server.dsn, settings=settings, data_dir=server.data_dir)
    finally:
        server.stop()
