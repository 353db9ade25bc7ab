"""Serialised content to the bytes of a ``body`` column and back.

Stored bytes start with one header byte::

    high nibble  compression: 0 none, 1 zstd with the shipped dictionary
    low nibble   serialisation: 0 named (a length byte and the name follow), else _CODES
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Generic, TypeVar

import zstandard

from langledger.errors import SerializationError

__all__ = ["EXACT_JSON", "compress", "decompress"]

T = TypeVar("T")

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
        compressors = _small if len(payload) <= _SMALL else _large
        packed = compressors.lend(lambda compressor: compressor.compress(payload))
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
            return kind, _decompressors.lend(lambda decompressor: decompressor.decompress(rest))
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


class _Spares(Generic[T]):
    """Objects that one thread at a time may use, and that take long to make.

    Not one a thread: LangGraph starts new threads for each run.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._spare: deque[T] = deque()

    def lend(self, use: Callable[[T], bytes]) -> bytes:
        """Let one be used, and return the result."""
        try:
            lent = self._spare.pop()
        except IndexError:
            lent = self._make()
        try:
            return use(lent)
        finally:
            self._spare.append(lent)


@cache
def _dictionary(level: int) -> zstandard.ZstdCompressionDict:
    """Return the dictionary, made ready for a level; each level needs its own."""
    data = files("langledger.entries").joinpath("dictionary_1.bin").read_bytes()
    dictionary = zstandard.ZstdCompressionDict(data)
    if level:
        dictionary.precompute_compress(compression_params=_parameters(level))
    return dictionary


def _parameters(level: int) -> zstandard.ZstdCompressionParameters:
    # Frames carry neither magic number, checksum nor dictionary id: our header byte and
    # PostgreSQL's own checksums do that work.
    return zstandard.ZstdCompressionParameters.from_level(
        level,
        format=zstandard.FORMAT_ZSTD1_MAGICLESS,
        write_content_size=True,
        write_checksum=False,
        write_dict_id=False,
    )


def _compressor(level: int) -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(
        dict_data=_dictionary(level), compression_params=_parameters(level)
    )


def _decompressor() -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(
        dict_data=_dictionary(0), format=zstandard.FORMAT_ZSTD1_MAGICLESS
    )


_small = _Spares(lambda: _compressor(5))
_large = _Spares(lambda: _compressor(3))
_decompressors = _Spares(_decompressor)
