"""Ids and times as the checkpoint table stores them: half as wide as their text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from langchain_core.runnables import RunnableConfig

from langledger.arguments import check_text, spelled
from langledger.entries import Location
from langledger.entries.codec import has_lone_surrogate
from langledger.entries.scopes import agent_of, configurable_of, scope_of
from langledger.errors import ConfigurationError

__all__ = ["Target", "pack_id", "pack_time", "unpack_id", "unpack_time"]

# Bytes. With the tenant they are a key of an index, which holds 2,704.
_LONGEST_ID = 500
_LONGEST_NAMESPACE = 1600

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@lru_cache(maxsize=4096)
def pack_id(text: str) -> bytes:
    """Return an id as bytes that sort like it; a UUID in its usual spelling takes 16.

    Raises:
        ConfigurationError: The id is no string, is empty, is longer than 500 bytes, or holds a
            character PostgreSQL cannot store.
    """
    try:
        if _UUID.fullmatch(text):
            return bytes.fromhex(text.replace("-", ""))
        packed = text.encode()
    except (TypeError, UnicodeEncodeError):
        packed = b""
    if not packed or b"\x00" in packed:
        raise ConfigurationError(f"{text!r} cannot be an id: give a non-empty string without NUL")
    if len(packed) > _LONGEST_ID:
        raise ConfigurationError(f"an id is longer than {_LONGEST_ID} bytes: {text[:50]!r}...")
    # The end marks keep other ids apart from UUIDs, which alone are 16 bytes long.
    return packed + (b"\x00\x00" if len(packed) == 15 else b"\x00")


@lru_cache(maxsize=4096)
def unpack_id(packed: bytes) -> str:
    """Return the id that :func:`pack_id` packed."""
    if len(packed) != 16:
        return packed.rstrip(b"\x00").decode()
    digits = packed.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@lru_cache(maxsize=64)
def _time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None and unpack_time(moment) == text else None


def pack_time(text: object) -> datetime | None:
    """Return a checkpoint's ``ts`` as a time, or None if the time would not give the text back."""
    return _time(text) if isinstance(text, str) else None


def unpack_time(moment: datetime) -> str:
    """Return a time as LangGraph writes it in ``ts``."""
    return moment.astimezone(UTC).isoformat()


@lru_cache(maxsize=4096)
def _location(tenant: str, thread_id: str, checkpoint_ns: str, agent: str | None) -> Location:
    return Location(tenant, thread_id, scope_of(checkpoint_ns, agent))


@dataclass(frozen=True, slots=True)
class Target:
    """What a config points at.

    Attributes:
        location: Tenant and thread.
        checkpoint_ns: Empty for the root graph.
        checkpoint_id: None for the latest.
    """

    location: Location
    checkpoint_ns: str
    checkpoint_id: str | None

    @classmethod
    def of(cls, tenant: str, config: RunnableConfig | Mapping[str, Any]) -> Target:
        """Read a config.

        Raises:
            ConfigurationError: It names no thread, or something by what cannot be an id.
        """
        configurable = configurable_of(config)
        thread_id = configurable.get("thread_id")
        if thread_id is None:
            raise ConfigurationError(
                'the config names no thread: pass {"configurable": {"thread_id": "..."}}'
            )
        namespace = spelled("checkpoint_ns", configurable.get("checkpoint_ns") or "")
        if "\x00" in namespace or has_lone_surrogate(namespace):
            raise ConfigurationError("checkpoint_ns holds a character PostgreSQL cannot store")
        if len(namespace.encode()) > _LONGEST_NAMESPACE:
            raise ConfigurationError(
                f"checkpoint_ns is longer than {_LONGEST_NAMESPACE} bytes: nest fewer subgraphs"
            )
        checkpoint_id = configurable.get("checkpoint_id") or None
        if checkpoint_id is not None:
            pack_id(check_text("checkpoint_id", checkpoint_id))
        location = _location(tenant, spelled("thread_id", thread_id), namespace, agent_of(config))
        return cls(location, namespace, checkpoint_id)

    def at(self, checkpoint_id: str | None) -> Target:
        """Return another checkpoint of the same namespace."""
        return Target(self.location, self.checkpoint_ns, checkpoint_id)

    @property
    def keys(self) -> dict[str, Any]:
        """Parameters ``tenant``, ``thread_key`` and ``checkpoint_ns`` of a statement."""
        return {**self.location.keys, "checkpoint_ns": self.checkpoint_ns}

    @property
    def config(self) -> RunnableConfig:
        """The config that points here."""
        return {
            "configurable": {
                "thread_id": self.location.thread_id,
                "checkpoint_ns": self.checkpoint_ns,
                "checkpoint_id": self.checkpoint_id,
            }
        }
