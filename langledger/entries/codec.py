"""Messages to stored bytes and back, exactly.

A message is serialised as LangGraph's checkpointers do it (``JsonPlusSerializer``,
msgpack), so that a checkpoint and the ledger can share one row. What msgpack
cannot carry or would change in silence (lone surrogates, integers beyond 64 bits)
goes through JSON with escapes instead. Stored bytes start with one header byte::

    high nibble  compression: 0 none, 1 zstd with the shipped dictionary
    low nibble   serialisation: 0 named (a length byte and the name follow), else _CODES
"""

from __future__ import annotations

import base64
import importlib
import json
import logging
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any, cast

import zstandard
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langledger.errors import SerializationError

__all__ = [
    "compress",
    "decompress",
    "digest",
    "dump_message",
    "has_lone_surrogate",
    "load_message",
]

logger = logging.getLogger("langledger.entries")

EXACT_JSON = "langledger.json"

_CODES = {"msgpack": 1, EXACT_JSON: 2, "json": 3, "bytes": 4, "null": 5, "pickle": 6}
_NAMES = {code: name for name, code in _CODES.items()}
_ZSTD = 1 << 4
# Below this size the frame costs more than it saves.
_MIN_COMPRESSED = 48

_serde = JsonPlusSerializer()


def digest(kind: str, payload: bytes) -> bytes:
    """Return the 16-byte identity of serialised content."""
    return blake2b(payload, digest_size=16, person=kind.encode()[:16]).digest()


def compress(kind: str, payload: bytes) -> bytes:
    """Pack serialised content into the bytes of an entry's ``body``.

    Args:
        kind: Name of the serialisation, as a LangGraph serde's ``dumps_typed`` gives it.
        payload: The serialised content.
    """
    code = _CODES.get(kind, 0)
    name = b"" if code else _name_bytes(kind)
    if len(payload) >= _MIN_COMPRESSED:
        packed = _compressor().compress(payload)
        if len(packed) < len(payload):
            return bytes([_ZSTD | code]) + name + packed
    return bytes([code]) + name + payload


def decompress(body: bytes) -> tuple[str, bytes]:
    """Unpack what :func:`compress` packed.

    Raises:
        SerializationError: The bytes are damaged or of a newer format.
    """
    try:
        header, rest = body[0], body[1:]
        code = header & 0x0F
        if code:
            kind = _NAMES[code]
        else:
            kind, rest = rest[1 : 1 + rest[0]].decode(), rest[1 + rest[0] :]
        compression = header & 0xF0
        if compression == _ZSTD:
            return kind, _decompressor().decompress(rest)
        if compression == 0:
            return kind, rest
    except (IndexError, KeyError, UnicodeDecodeError, zstandard.ZstdError) as error:
        raise SerializationError(f"a stored entry cannot be read back: {error}") from error
    raise SerializationError("a stored entry uses a newer format; upgrade langledger")


def dump_message(message: BaseMessage) -> tuple[str, bytes]:
    """Serialise a message so that :func:`load_message` gives an equal one back.

    A ``ToolMessage.artifact`` that no serialisation can carry is left out with a warning:
    it is never sent to a model, and losing the message over it would be worse.

    Raises:
        SerializationError: Another field holds a value that cannot be stored.
    """
    try:
        return _dump_exact(message)
    except (TypeError, ValueError) as error:
        if getattr(message, "artifact", None) is None:
            raise SerializationError(
                f"{type(message).__name__} {message.id or ''} holds a value that cannot be stored: "
                f"{error}"
            ) from error
    logger.warning(
        "the artifact of tool message %s cannot be serialised and is not recorded", message.id
    )
    return _dump_exact(message.model_copy(update={"artifact": None}))


def load_message(kind: str, payload: bytes) -> BaseMessage:
    """Return the message that :func:`dump_message` serialised.

    Raises:
        SerializationError: The bytes are damaged, or the message's class is gone.
    """
    try:
        if kind == EXACT_JSON:
            return _load_json(payload)
        message = _serde.loads_typed((kind, payload))
    except Exception as error:
        raise SerializationError(f"a stored message cannot be read back: {error}") from error
    if not isinstance(message, BaseMessage):
        raise SerializationError(
            f"a stored message came back as {type(message).__name__}: its class is not importable "
            "or not allowed here (see LANGGRAPH_STRICT_MSGPACK)"
        )
    return message


def has_lone_surrogate(value: object) -> bool:
    """Tell whether any string inside ``value`` cannot be encoded as UTF-8."""
    if isinstance(value, str):
        if value.isascii():
            return False
        try:
            value.encode()
        except UnicodeEncodeError:
            return True
        return False
    if isinstance(value, dict):
        items = cast("dict[object, object]", value)
        return any(has_lone_surrogate(k) or has_lone_surrogate(v) for k, v in items.items())
    if isinstance(value, (list, tuple)):
        return any(has_lone_surrogate(item) for item in cast("list[object]", value))
    return False


def _dump_exact(message: BaseMessage) -> tuple[str, bytes]:
    if has_lone_surrogate(_fields(message)):  # msgpack would turn them into question marks
        return EXACT_JSON, _dump_json(message)
    try:
        return _serde.dumps_typed(message)
    except TypeError:
        return EXACT_JSON, _dump_json(message)


def _fields(message: BaseMessage) -> dict[str, Any]:
    return {**message.__dict__, **(message.__pydantic_extra__ or {})}


def _dump_json(message: BaseMessage) -> bytes:
    document = {
        "module": type(message).__module__,
        "class": type(message).__qualname__,
        "fields": _tag(_fields(message)),
    }
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode()


def _load_json(payload: bytes) -> BaseMessage:
    document = json.loads(payload)
    cls = getattr(importlib.import_module(document["module"]), document["class"])
    if not (isinstance(cls, type) and issubclass(cls, BaseMessage)):
        raise TypeError(f"{document['class']} is not a message class")
    return cls.model_construct(**_untag(document["fields"]))


def _tag(value: Any) -> Any:
    """Turn a value into JSON, marking what JSON has no type for."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [_tag(item) for item in cast("list[Any]", value)]
    if isinstance(value, tuple):
        return {"$tuple": [_tag(item) for item in cast("tuple[Any, ...]", value)]}
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        if all(isinstance(key, str) and not key.startswith("$") for key in items):
            return {key: _tag(item) for key, item in items.items()}
        return {"$pairs": [[_tag(key), _tag(item)] for key, item in items.items()]}
    raise TypeError(f"a value of type {type(value).__name__} cannot be serialised")


def _untag(value: Any) -> Any:
    if isinstance(value, list):
        return [_untag(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Any]", value)
    if "$bytes" in items:
        return base64.b64decode(items["$bytes"])
    if "$tuple" in items:
        return tuple(_untag(item) for item in items["$tuple"])
    if "$pairs" in items:
        return {_untag(key): _untag(item) for key, item in items["$pairs"]}
    return {key: _untag(item) for key, item in items.items()}


def _name_bytes(kind: str) -> bytes:
    name = kind.encode()
    if len(name) > 255:
        raise SerializationError(f"the serialisation's name is too long: {kind[:40]}...")
    return bytes([len(name)]) + name


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    data = files("langledger.entries").joinpath("dictionary_1.bin").read_bytes()
    return zstandard.ZstdCompressionDict(data, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _compressor() -> zstandard.ZstdCompressor:
    # A compressor is not safe to share between threads; making one costs microseconds.
    return zstandard.ZstdCompressor(level=3, dict_data=_dictionary())


def _decompressor() -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(dict_data=_dictionary())
