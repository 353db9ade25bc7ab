"""Messages and other values to serialised bytes and back, exactly.

They are serialised as LangGraph's checkpointers do it (``JsonPlusSerializer``,
msgpack), so that a checkpoint and the ledger can share one row. What msgpack
cannot carry or would change in silence (lone surrogates, integers beyond 64 bits)
goes through JSON with marks instead (:mod:`langledger.entries.exact`).
"""

from __future__ import annotations

import logging
from hashlib import blake2b
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langledger.entries import exact
from langledger.entries.compression import EXACT_JSON, compress, decompress
from langledger.entries.inside import has_lone_surrogate
from langledger.entries.revival import revived
from langledger.entries.twins import twin_of
from langledger.errors import SerializationError

__all__ = [
    "compress",
    "decompress",
    "digest",
    "dump_message",
    "dump_value",
    "has_lone_surrogate",
    "load_message",
    "load_value",
    "split_id",
    "storable",
]

logger = logging.getLogger("langledger.entries")

_serde = JsonPlusSerializer()

# The kind of what was encrypted names the cipher behind a plus.
_ENCRYPTED = "; it was encrypted: give the checkpointer the serde and the key it was written with"


def digest(kind: str, payload: bytes) -> bytes:
    """Return the 16-byte identity of serialised content."""
    return blake2b(payload, digest_size=16, person=kind.encode()[:16]).digest()


def dump_value(value: Any, serde: SerializerProtocol = _serde) -> tuple[str, bytes]:
    """Serialise any value that ``serde`` or exact JSON can carry.

    Returns:
        Name of the serialisation, and the bytes.

    Raises:
        SerializationError: Neither can carry it.
    """
    try:
        kind, payload = serde.dumps_typed(value)
        # msgpack writes a question mark for half a surrogate pair, so without one there was none.
        if kind != "msgpack" or b"?" not in payload or not has_lone_surrogate(value):
            return kind, payload
    except (TypeError, ValueError, RecursionError):
        pass  # exact JSON may carry it, and says else why not
    try:
        return EXACT_JSON, exact.dump(value, serde)
    except (TypeError, ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        reason = "it is nested too deeply, or holds itself" if deep else str(error)
        raise SerializationError(
            f"a value of type {type(value).__name__} cannot be stored: {reason}"
        ) from error


def load_value(kind: str, payload: bytes, serde: SerializerProtocol = _serde) -> Any:
    """Return the value that :func:`dump_value` serialised.

    Raises:
        SerializationError: The bytes are damaged, or of another serialisation.
    """
    try:
        if kind == EXACT_JSON:
            return exact.load(payload, serde)
        message = revived(payload) if kind == "msgpack" and _is_langgraphs(serde) else None
        return serde.loads_typed((kind, payload)) if message is None else message
    except Exception as error:
        advice = _ENCRYPTED if "+" in kind else ""
        raise SerializationError(f"a stored value cannot be read back: {error}{advice}") from error


def _is_langgraphs(serde: SerializerProtocol) -> bool:
    """Tell whether a serialiser makes messages as LangGraph's own does."""
    return type(serde) is JsonPlusSerializer and not getattr(serde, "_custom_unpack_ext_hook", True)


def dump_message(message: BaseMessage) -> tuple[str, bytes]:
    """Serialise a message so that :func:`load_message` gives an equal one back.

    A ``ToolMessage.artifact`` that no serialisation can carry is left out with a warning:
    it is never sent to a model, and losing the message over it would be worse.

    Raises:
        SerializationError: Another field holds a value that cannot be stored.
    """
    try:
        return dump_value(message)
    except SerializationError as error:
        if getattr(message, "artifact", None) is None:
            raise SerializationError(
                f"{type(message).__name__} {message.id or ''} holds a value that cannot be stored: "
                f"{error}"
            ) from error
    logger.warning(
        "the artifact of tool message %s cannot be serialised and is not recorded", message.id
    )
    return dump_value(message.model_copy(update={"artifact": None}))


def storable(text: str) -> str:
    """Return text as a PostgreSQL column can hold it; what it cannot is shown as a mark."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def split_id(message: BaseMessage) -> tuple[BaseMessage, str | None]:
    """Return the message without its id, and the id.

    The id stands beside the content, so that a message is stored once though it gets its id
    only after it was first recorded. An id that PostgreSQL's ``text`` cannot hold stays in
    the message; what is returned for it serves to search.
    """
    message_id = message.id
    if message_id is None:
        return message, None
    searchable = storable(message_id)
    if searchable != message_id:
        return message, searchable
    bare = twin_of(message)
    cast("dict[str, Any]", bare.__dict__)["id"] = None  # as assignment does, but quicker
    return bare, message_id


def load_message(kind: str, payload: bytes, message_id: str | None = None) -> BaseMessage:
    """Return the message that :func:`dump_message` serialised.

    Args:
        kind: Name of the serialisation.
        payload: The serialised content.
        message_id: The id that :func:`split_id` put beside the content.

    Raises:
        SerializationError: The bytes are damaged, or the message's class is gone.
    """
    message = load_value(kind, payload)
    if not isinstance(message, BaseMessage):
        raise SerializationError(
            f"a stored message came back as {type(message).__name__}: its class is not importable "
            "or not allowed here (see LANGGRAPH_STRICT_MSGPACK)"
        )
    if message.id is None:
        message.id = message_id
    return message
