"""What the commands share: their options, opening what they ask for, printing.

Data goes to stdout, everything else to stderr.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import SecretStr

from langledger.config import Settings, load_settings
from langledger.errors import ConfigurationError

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

__all__ = [
    "DataDir",
    "DatabaseUrl",
    "Json",
    "Target",
    "chosen_settings",
    "message_json",
    "opened_server",
    "print_json",
    "progress",
]

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        "--dsn",
        metavar="DSN",
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
_ROLES = {"human": "user", "ai": "assistant"}

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

    ``--data-dir`` asks for the embedded server, whatever the environment says.

    Raises:
        ConfigurationError: When both options are given, or the environment is wrong.
    """
    if dsn is not None and data_dir is not None:
        raise ConfigurationError("give --database-url or --data-dir, not both")
    settings = load_settings()
    if dsn is not None:
        return settings.model_copy(update={"database_url": SecretStr(dsn)})
    if data_dir is not None:
        return settings.model_copy(update={"database_url": None, "data_dir": data_dir})
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


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object to stdout; what JSON does not know becomes text."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 has no bytes for
        text = json.dumps(value, indent=2, default=str)
    typer.echo(text)


def message_json(message: BaseMessage) -> dict[str, Any]:
    """Return a message as ``{"role", "content", "tool_calls"?, "tool_call_id"?}``."""
    found: dict[str, Any] = {
        "role": _ROLES.get(message.type, message.type),
        "content": message.content,
    }
    if message.type == "tool":
        found["tool_call_id"] = getattr(message, "tool_call_id", None)
    calls: list[dict[str, Any]] = getattr(message, "tool_calls", [])
    if calls:
        found["tool_calls"] = [{"id": c["id"], "name": c["name"], "args": c["args"]} for c in calls]
    return found


def progress(text: str) -> None:
    """Tell people at the terminal what goes on: stderr, a line."""
    typer.echo(text, file=sys.stderr)
