"""How values become bytes, and what identifies them, with and without encryption.

LangGraph's own serialiser leaves content readable: equal bytes are equal content, and
messages are the ledger's entries. Any other serialiser may encrypt, with other bytes each
time, so content is identified by a keyed hash of its plain form and stored as the serialiser
gives it.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import blake2b
from typing import Any, Protocol

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langledger.entries.codec import digest, dump_value, load_value
from langledger.entries.compression import EXACT_JSON
from langledger.errors import SerializationError

__all__ = ["Open", "Sealed", "Sealing", "is_open"]

_GIGABYTE = 1 << 30
# PostgreSQL holds up to 1 GB in one value, and needs some for what surrounds it.
_LARGEST = _GIGABYTE - (1 << 20)
# Before the kind of a plain form that the serialiser seals as it seals any bytes.
_EXACT = f"{EXACT_JSON}:"


def is_open(serde: SerializerProtocol) -> bool:
    """Tell whether a serialiser leaves content readable."""
    return type(serde) is JsonPlusSerializer


class Sealing(Protocol):
    """What a checkpointer needs to know of its serialiser.

    Attributes:
        is_open: Content is readable by whoever can read the rows.
        message_kind: Kind of the entries that messages become.
    """

    is_open: bool
    message_kind: str

    def plain(self, value: Any) -> tuple[str, bytes]:
        """Serialise a value so that equal values give equal bytes.

        Raises:
            SerializationError: It cannot be stored.
        """
        ...

    def seal(self, value: Any, kind: str, payload: bytes) -> tuple[str, bytes]:
        """Return what is stored for a value whose plain form is given."""
        ...

    def digest(self, kind: str, payload: bytes) -> bytes:
        """Return the identity of a plain form, 16 bytes."""
        ...

    def load(self, kind: str, payload: bytes) -> Any:
        """Return the value of what :meth:`seal` gave.

        Raises:
            SerializationError: The bytes are damaged, or sealed with another key.
        """
        ...


class Open:
    """``JsonPlusSerializer``, made exact where it is not."""

    is_open = True
    message_kind = "message"

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde

    def plain(self, value: Any) -> tuple[str, bytes]:
        """Serialise a value; what is stored is the same."""
        return _checked(*dump_value(value, self._serde))

    def seal(self, value: Any, kind: str, payload: bytes) -> tuple[str, bytes]:  # noqa: ARG002 - Sealing's
        """Return the plain form itself."""
        return kind, payload

    def digest(self, kind: str, payload: bytes) -> bytes:
        """Return the same identity as the ledger's entries have."""
        return digest(kind, payload)

    def load(self, kind: str, payload: bytes) -> Any:
        """Return the value."""
        return load_value(kind, payload, self._serde)


class Sealed:
    """A serialiser that encrypts, or that nothing is known about.

    Args:
        serde: The serialiser.
        secret: Key of the content hashes, 32 bytes: without it nobody can tell from the rows
            whether they hold a text he guesses.
    """

    is_open = False
    message_kind = "sealed"

    def __init__(self, serde: SerializerProtocol, secret: bytes) -> None:
        self._serde = serde
        self._secret = secret
        # Of LangGraph's own inside, the kind is a "msgpack+aes".
        self._is_msgpack = serde.dumps_typed("")[0].startswith("msgpack")

    def plain(self, value: Any) -> tuple[str, bytes]:
        """Serialise a value in clear; it is hashed and measured, never stored."""
        try:
            return _checked(*dump_value(value))
        except SerializationError:
            # Only the user's serialiser can carry it. If it encrypts, equal values differ.
            with suppress(SerializationError):
                sealed = self.seal(value, "", b"")
                if not sealed[0].startswith("msgpack"):  # which changes what was refused
                    return sealed
            raise

    def seal(self, value: Any, kind: str, payload: bytes) -> tuple[str, bytes]:
        """Serialise a value as it is stored."""
        if kind == EXACT_JSON and self._is_msgpack:  # which would change it, or cannot carry it
            name, exact = self._serde.dumps_typed(payload)
            return _checked(_EXACT + name, exact)
        try:
            return _checked(*self._serde.dumps_typed(value))
        except (TypeError, ValueError, RecursionError) as error:
            raise SerializationError(
                f"a value of type {type(value).__name__} cannot be stored: {error}"
            ) from error

    def digest(self, kind: str, payload: bytes) -> bytes:
        """Return the keyed identity."""
        return blake2b(
            payload, digest_size=16, key=self._secret, person=kind.encode()[:16]
        ).digest()

    def load(self, kind: str, payload: bytes) -> Any:
        """Decrypt and return the value."""
        if kind.startswith(_EXACT):
            plain = load_value(kind.removeprefix(_EXACT), payload, self._serde)
            return load_value(EXACT_JSON, plain, self._serde)
        return load_value(kind, payload, self._serde)


def _checked(kind: str, payload: bytes) -> tuple[str, bytes]:
    if len(payload) > _LARGEST:
        raise SerializationError(
            f"a value of {len(payload) / _GIGABYTE:.2f} GB is too large: PostgreSQL stores up to "
            "1 GB in one value; keep it in a file and put its path into the state"
        )
    return kind, bytes(payload)
