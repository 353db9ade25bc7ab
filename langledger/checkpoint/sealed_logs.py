"""Logs of checkpoints whose records are encrypted.

Of a record its values are: what it says of the state. What stands before them, ids and the number
of the layout, is authenticated with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from langledger.checkpoint.wire import Reader
from langledger.encryption import Vault, no_keys
from langledger.encryption.places import CHECKPOINT_RECORD
from langledger.encryption.vault import MARK
from langledger.operations import Row

__all__ = ["Seal", "SealedLog", "open_log", "seal_of", "unsealed"]

Seal: TypeAlias = Callable[[bytes, bytes], bytes]
"""Takes what stands before the values of a record, and these, and gives them encrypted or back."""


class SealedLog(bytes):
    """A log with what decrypts the values of its records."""

    unseal: Seal


def open_log(row: Row, params: Mapping[str, Any], vault: Vault) -> None:
    """Give the log in a row what decrypts it; see :class:`langledger.operations.Query`.

    Raises:
        EncryptionError: An entry beside it is in clear, and must not be.
    """
    kind = row.get("what", "stretch")
    if kind == "entry" and not (row["body"] or MARK).startswith(MARK):
        vault.refuse_clear()
    if kind == "stretch":
        keys = [row["thread_key"] if "thread_key" in row else params["thread_key"], row["name"]]
        log = row["body"] = SealedLog(row["body"])
        log.unseal = lambda head, values: _opened(vault, [*keys, head], values)


def _opened(vault: Vault, keys: list[Any], values: bytes) -> bytes:
    if values.startswith(MARK):
        return vault.open(CHECKPOINT_RECORD.number, keys, values)
    vault.refuse_clear()
    return values


def seal_of(vault: Vault | None, keys: Mapping[str, Any]) -> Seal | None:
    """Return what encrypts values of a thread's namespace; None: they stay in clear."""
    if vault is None:
        return None
    found_by = [keys["thread_key"], keys["checkpoint_ns"]]
    return lambda head, values: vault.seal(CHECKPOINT_RECORD.number, [*found_by, head], values)


def unsealed(raw: bytes, start: int, unseal: Seal | None) -> bytes:
    """Return the values of a record, which begin at ``start``, in clear.

    Raises:
        EncryptionError: They cannot be decrypted, or are in clear and must not be.
    """
    values = raw[start:]
    if unseal is None:
        if values.startswith(MARK):
            raise no_keys(values)
        return values
    reader = Reader(raw, 1 + 4 * raw[0])
    reader.number()
    return unseal(raw[reader.at : start], values)
