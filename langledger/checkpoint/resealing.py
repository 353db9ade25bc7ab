"""Logs under another key."""

from __future__ import annotations

from langledger.checkpoint.records import Kind, Record, read_log
from langledger.checkpoint.sealed_logs import Seal
from langledger.checkpoint.wire import Reader, Writer

__all__ = ["resealed"]


def resealed(log: bytes, seal: Seal) -> bytes:
    """Return a log whose values are encrypted anew.

    Args:
        log: As it is stored, with what decrypts it.
        seal: Encrypts values.

    Raises:
        EncryptionError: It cannot be decrypted.
    """
    return b"".join(_resealed(record, seal) for record in read_log(log))


def _resealed(record: Record, seal: Seal) -> bytes:
    if record.kind not in (Kind.CHECKPOINT, Kind.WRITES):  # a mark, which says nothing
        return record.raw
    numbers = 1 + 4 * record.raw[0]
    reader = Reader(record.raw, numbers)
    reader.number()
    head = record.raw[reader.at : record.details.start]
    framed = Writer()
    framed.data(head + seal(head, record.details.values))
    return record.raw[:numbers] + framed.bytes()
