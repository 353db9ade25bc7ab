"""Settings, and the only place that reads the environment.

The command line, the web page and :meth:`Ledger.from_settings` use them; classes
take explicit arguments instead.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, Literal, cast

import platformdirs
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from langledger.arguments import check_seconds, check_tenant, check_text
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
        require_row_security: Refuse a role that `langledger db role` did not make.
        data_dir: Where the embedded server keeps its data.
        db_schema: The schema that holds langledger's tables.
        tenant: Whose rows are read and written.
        embeddings: Model of the vectors of recall: ``auto`` (the local one, where installed),
            ``local``, ``sentence-encoder`` or ``off``.
        pool_size: Most connections open at once.
        replica: DSN of a read replica of that server, for what may lag; unset: there is none.
        replica_lag: Most seconds that the replica may be behind.
        encryption_keys: Keys that content is encrypted with, ``id:base64``, the newest first, by
            commas; unset: it is stored in clear.
        outage_buffer: Most messages that wait in memory while the database is away; 0: none do.
        trigger: What sets off a compaction where code says nothing, as JSON: a share, a pair, or
            an object or list of these.
        hard_trigger: Share at which one is made whatever the trigger says.
        wait_for_turn: The trigger waits until the user speaks.
        keep: How much of the newest history stays verbatim, as JSON: a share or a pair.
        summary_timeout: Seconds an agent waits for a summary; ``none``: as long as it takes.
        state_timeout: Seconds that an answer of the state's models may take; ``none``: as long as
            it takes.
        tag_model: Name of a small model that tags what rules leave open, for ``init_chat_model``.
        fact_model: Name of a small model that reads facts of users that rules miss.
        memory_timeout: Seconds that an answer of these two may take; ``none``: as long as it takes.
        embedding_batch: Texts of one request to the embedding model, and new entries that set it
            off.
        embedding_delay: Seconds after which fewer do.
        recall_timeout: Seconds that recall before a call waits for a database that is away;
            ``none``: as long as recording does.
        redact: Take secrets out of summaries, working state and index.
        redact_patterns: Regular expressions of more secrets, a JSON list.

    Raises:
        ConfigurationError: When values are not usable, with a line for each setting.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    database_url: SecretStr | None = None
    require_database_url: bool = False
    require_row_security: bool = False
    data_dir: Path = Field(default_factory=_default_data_dir)
    db_schema: str = "langledger"
    tenant: str = "default"
    embeddings: Literal["auto", "local", "sentence-encoder", "off"] = "auto"
    pool_size: int = Field(default=10, ge=1)
    replica: SecretStr | None = None
    replica_lag: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    encryption_keys: SecretStr | None = None
    outage_buffer: int = Field(default=0, ge=0)
    trigger: Any = None
    hard_trigger: float | None = None
    wait_for_turn: bool | None = None
    keep: Any = None
    summary_timeout: float | None = None
    state_timeout: float | None = None
    recall_timeout: float | None = None
    tag_model: str | None = None
    fact_model: str | None = None
    memory_timeout: float | None = None
    embedding_batch: int | None = Field(default=None, ge=1, le=1000)
    embedding_delay: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    redact: bool = True
    redact_patterns: list[str] = Field(default_factory=list[str])

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            # Not chained: pydantic's own text repeats what was given, a password included.
            raise ConfigurationError(_in_words(error)) from None

    @field_validator("database_url", "replica")
    @classmethod
    def _has_an_address(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().strip():
            raise ValueError("the DSN is empty: give postgresql://..., or unset it")
        return value

    @field_validator("encryption_keys")
    @classmethod
    def _are_keys(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().strip():
            raise ValueError("there is no key: give id:base64, or unset it")
        return value

    @field_validator("data_dir", mode="before")
    @classmethod
    def _is_a_folder(cls, value: object) -> object:
        # An empty one would be the folder we happen to be in.
        if isinstance(value, str) and not value.strip():
            raise ValueError("the folder is empty: give a path, or unset it")
        return check_text("the path", value) if isinstance(value, str) else value

    @field_validator("trigger", "keep", mode="before")
    @classmethod
    def _is_json(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return _pairs(json.loads(value))
        except ValueError as error:
            raise ValueError('give JSON, such as 0.8 or ["turns", 20]') from error

    @field_validator(
        "summary_timeout", "state_timeout", "recall_timeout", "memory_timeout", mode="before"
    )
    @classmethod
    def _is_seconds(cls, value: object) -> object:
        if value is None:
            return None
        try:
            return math.inf if value == "none" else check_seconds("it", float(cast("Any", value)))
        except (TypeError, ValueError) as error:
            raise ValueError("give a number of seconds above 0, or none") from error

    @property
    def compaction(self) -> dict[str, Any]:
        """Those of compaction and state that are set, as options."""
        timeouts = ("summary_timeout", "state_timeout", "recall_timeout")
        return self._set("trigger", "hard_trigger", "wait_for_turn", "keep", *timeouts)

    @property
    def memory(self) -> dict[str, Any]:
        """Those of what works on memory in the background that are set, as options."""
        models = ("tag_model", "fact_model", "memory_timeout")
        return self._set(*models, "embedding_batch", "embedding_delay")

    def _set(self, *names: str) -> dict[str, Any]:
        chosen = {name: value for name in names if (value := getattr(self, name)) is not None}
        return {name: None if value == math.inf else value for name, value in chosen.items()}

    @field_validator("tenant", mode="before")
    @classmethod
    def _is_a_tenant(cls, value: object) -> str:
        return check_tenant(value)


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
        if _is_unknown(name.upper(), known)  # pydantic-settings takes names in any case
    )
    if unknown:
        raise ConfigurationError(
            f"unknown setting {', '.join(unknown)}; the known ones are {', '.join(sorted(known))}"
        )
    return Settings()


def _pairs(value: Any) -> Any:
    """Return what JSON writes as a list of kind and value as the pair that it is."""
    if not isinstance(value, list):
        return value
    items = cast("list[Any]", value)
    if items and isinstance(items[0], str):
        return tuple(items)
    return [_pairs(item) for item in items]


def _is_unknown(name: str, known: set[str]) -> bool:
    return name.startswith(PREFIX) and name not in known and not name.startswith(PREFIX + "TEST_")


def _in_words(error: ValidationError) -> str:
    """Return one line a setting: its name, and what is wrong with it."""
    lines: list[str] = []
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        name = PREFIX + "_".join(str(part) for part in item["loc"]).upper()
        lines.append(f"{name}: {item['msg'].removeprefix('Value error, ')}")
    return "\n".join(lines)
