"""Serialised content to the bytes of a ``body`` column and back.

Stored bytes start with one header byte::

    high nibble  compression: 0 none, 1 zstd with the shipped dictionary
    low nibble   serialisation: 0 named (a length byte and the name follow), else _CODES
"""

from __future__ import annotations

import threading
from functools import cache
from importlib.resources import files

import zstandard

from langledger.errors import SerializationError

__all__ = ["EXACT_JSON", "compress", "decompress"]

EXACT_JSON = "langledger.json"

_CODES = {"msgpack": 1, EXACT_JSON: 2, "json": 3, "bytes": 4, "null": 5, "pickle": 6}
_NAMES = {code: name for name, code in _CODES.items()}
_ZSTD = 1 << 4
# Below this size the frame costs more than it saves.
_MIN_COMPRESSED = 48
# Up to this size the dictionary does most of the work and a better level is cheap.
_SMALL = 64 * 1024


def compress(kind: str, payload: bytes) -> bytes:
    """Pack serialised content into the bytes of an entry's ``body``.

    Args:
        kind: Name of the serialisation, as a LangGraph serde's ``dumps_typed`` gives it.
        payload: The serialised content.
    """
    code = _CODES.get(kind, 0)
    name = b"" if code else _name_bytes(kind)
    # What carries a cipher's name ("msgpack+aes") is encrypted, and does not shrink.
    if len(payload) >= _MIN_COMPRESSED and "+" not in kind:
        compressor = _local.small if len(payload) <= _SMALL else _local.large
        packed = compressor.compress(payload)
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
            return kind, _local.decompressor.decompress(rest)
        if compression == 0:
            return kind, rest
    except (IndexError, KeyError, UnicodeDecodeError, zstandard.ZstdError) as error:
        raise SerializationError(f"a stored entry cannot be read back: {error}") from error
    raise SerializationError("a stored entry uses a newer format; upgrade langledger")


def _name_bytes(kind: str) -> bytes:
    name = kind.encode()
    if len(name) > 255:
        raise SerializationError(f"the serialisation's name is too long: {kind[:40]}...")
    return bytes([len(name)]) + name


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(
        files("langledger.entries").joinpath("dictionary_1.bin").read_bytes()
    )


def _compressor(level: int) -> zstandard.ZstdCompressor:
    # Frames carry neither magic number, checksum nor dictionary id: our header byte and
    # PostgreSQL's own checksums do that work.
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level,
        format=zstandard.FORMAT_ZSTD1_MAGICLESS,
        write_content_size=True,
        write_checksum=False,
        write_dict_id=False,
    )
    return zstandard.ZstdCompressor(dict_data=_dictionary(), compression_params=parameters)


class _Local(threading.local):
    """One set a thread: they are not safe to share, and loading the dictionary takes time."""

    def __init__(self) -> None:
        self.small = _compressor(6)
        self.large = _compressor(3)
        self.decompressor = zstandard.ZstdDecompressor(
            dict_data=_dictionary(), format=zstandard.FORMAT_ZSTD1_MAGICLESS
        )


_local = _Local()
