"""Numbers and ids in as few bytes as they need."""

from __future__ import annotations

from langledger.checkpoint.keys import pack_id, unpack_id

__all__ = ["Reader", "Writer", "time_in"]

_UUID_BYTES = 16
_SHORT = 0x80  # below it, a number is one byte
# UUIDs of version 6 begin with their time: 100 ns since the Gregorian calendar.
_GREGORIAN = 0x01B21DD213814000


class Writer:
    """Writes a sequence of bytes, numbers and ids."""

    def __init__(self) -> None:
        self._parts = bytearray()

    def number(self, value: int) -> None:
        """Write a number, which is not negative: seven bits a byte, lowest first."""
        while value >= _SHORT:
            self._parts.append(value & 0x7F | _SHORT)
            value >>= 7
        self._parts.append(value)

    def signed(self, value: int) -> None:
        """Write a number that may be negative; small ones either way are short."""
        self.number(value << 1 if value >= 0 else (-value << 1) - 1)

    def data(self, data: bytes) -> None:
        """Write bytes, their length before them."""
        self.number(len(data))
        self._parts += data

    def rest(self, data: bytes) -> None:
        """Write bytes to the end."""
        self._parts += data

    def identifier(self, text: str | None) -> None:
        """Write an id: none, a UUID, or its length and bytes."""
        packed = b"" if text is None else pack_id(text)
        # A UUID's length, the commonest, is written as 1, which no other id has.
        self._parts.append(1) if len(packed) == _UUID_BYTES else self.number(len(packed))
        self._parts += packed

    def bytes(self) -> bytes:
        """Return what was written."""
        return bytes(self._parts)


class Reader:
    """Reads what :class:`Writer` wrote.

    Raises:
        IndexError, ValueError: The bytes end too early, or are no id.
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self.at = at

    def number(self) -> int:
        """Read a number."""
        value = shift = 0
        while True:
            byte = self._data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < _SHORT:
                return value
            shift += 7

    def signed(self) -> int:
        """Read a number that may be negative."""
        value = self.number()
        return value >> 1 if value % 2 == 0 else -((value + 1) >> 1)

    def data(self) -> bytes:
        """Read bytes."""
        return self.take(self.number())

    def take(self, length: int) -> bytes:
        """Read so many bytes."""
        data = self._data[self.at : self.at + length]
        if len(data) < length:
            raise ValueError("the bytes end too early")
        self.at += length
        return data

    def skip_to(self, end: int) -> None:
        """Pass over the bytes before ``end``."""
        if not self.at <= end <= len(self._data):
            raise ValueError("the bytes end too early")
        self.at = end

    def identifier(self) -> str | None:
        """Read an id."""
        length = self.number()
        return None if length == 0 else unpack_id(self.take(_UUID_BYTES if length == 1 else length))


def time_in(identifier: str) -> int:
    """Return the time in a UUID of version 6, in microseconds since 1970; 0 for other ids."""
    packed = pack_id(identifier)
    if len(packed) != _UUID_BYTES or packed[6] >> 4 != 6:
        return 0
    ticks = int.from_bytes(packed[:6], "big") << 12 | int.from_bytes(packed[6:8], "big") & 0xFFF
    return (ticks - _GREGORIAN) // 10
