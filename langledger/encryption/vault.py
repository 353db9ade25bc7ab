"""What encrypts and decrypts the content of one tenant.

A ciphertext is a mark, the number of its place (:mod:`langledger.encryption.places`), the id of
its key, a nonce, and what AES-256-GCM makes of the content. Authenticated with it are the tenant,
the place, and the keys of the row: moved anywhere else, it is refused.

The nonce is a keyed hash of all of that and of the content, so it is never used for two contents;
and the same content at the same place is the same ciphertext: a statement that is sent again, or
writes what is there already, is seen to change nothing.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any
from uuid import UUID

import ormsgpack

from langledger.encryption.ring import KeyRing
from langledger.errors import EncryptionError

__all__ = ["MARK", "Vault", "no_keys", "opened_bytes", "place_of", "sealed_bytes"]

MARK = b"\xe7\x4c"
"""Begins a ciphertext; nothing else that is stored does."""
_HEAD = len(MARK) + 2  # with the place and the length of the key's id, which comes next
_ID = re.compile(rb"[A-Za-z0-9._-]{1,32}")
_NONCE = 12
_NAME = 16
_SPELLING = 6  # bytes, 8 letters: as long as a word; one in a million words is taken for another


def place_of(cell: bytes) -> int:
    """Return the number of the place that a ciphertext was made for."""
    return cell[len(MARK)]


def key_of(cell: bytes) -> str:
    """Return the id of a ciphertext's key.

    Raises:
        EncryptionError: There is none.
    """
    length = cell[_HEAD - 1] if len(cell) >= _HEAD else 0
    name = cell[_HEAD : _HEAD + length]
    if len(name) < length or not _ID.fullmatch(name):
        raise EncryptionError("a ciphertext was changed: restore the row from a backup")
    return name.decode()


def no_keys(cell: bytes) -> EncryptionError:
    """Return the error of a ciphertext that nothing was given to decrypt."""
    return EncryptionError(
        f"the content is encrypted with key {key_of(cell)!r}, and no keys were given: set "
        "LANGLEDGER_ENCRYPTION_KEYS, or pass encryption="
    )


class Vault:
    """Encrypts and decrypts the content of one tenant.

    Args:
        ring: The keys.
        tenant: Whose content.
        secret: Key of the hashes that stand for content where equal content must be found again.
        keyed: Rows hold these hashes; False: they still hold what they held in clear.
        strict: Everything is encrypted, so that content in clear is not genuine.
    """

    def __init__(
        self, ring: KeyRing, tenant: str, secret: bytes, *, keyed: bool, strict: bool = False
    ) -> None:
        self.ring = ring
        self.tenant = tenant
        self.keyed = keyed
        self.strict = strict
        self._secret = secret

    def seal(self, place: int, keys: Sequence[Any], content: bytes) -> bytes:
        """Encrypt content for one place, with the newest key.

        Args:
            place: Number of the place.
            keys: What the row is found by.
            content: To be encrypted.
        """
        return sealed_bytes(self.ring, self.tenant, place, keys, content)

    def open(self, place: int, keys: Sequence[Any], cell: bytes) -> bytes:
        """Decrypt what :meth:`seal` made for this place.

        Raises:
            EncryptionError: Its key is not given, or it was changed, or made for another place.
        """
        return opened_bytes(self.ring, self.tenant, place, keys, cell)

    def refuse_clear(self) -> None:
        """Refuse content that is in clear.

        Raises:
            EncryptionError: Everything of the tenant is encrypted.
        """
        if self.strict:
            raise EncryptionError(
                f"content of tenant {self.tenant!r}, which is encrypted, is in clear: it was put "
                "there by other means, or by a process without keys. Restore it from a backup; "
                "or, if it is known to be genuine, run `langledger db rotate-keys --accept-clear`"
            )

    def name(self, digest: bytes) -> bytes:
        """Return what stands for the digest of a content."""
        if not self.keyed:
            return digest
        return blake2b(digest, digest_size=_NAME, key=self._secret, person=b"name").digest()

    def spell(self, term: str) -> str:
        """Return what stands for a word, a path or another text that is searched for."""
        if not self.keyed:
            return term
        hashed = blake2b(term.encode(), digest_size=_SPELLING, key=self._secret, person=b"term")
        return base64.urlsafe_b64encode(hashed.digest()).decode()


def sealed_bytes(
    ring: KeyRing, tenant: str, place: int, keys: Sequence[Any], content: bytes
) -> bytes:
    """Encrypt content of a tenant for one place; see :meth:`Vault.seal`."""
    key_id = ring.newest
    cipher, nonces = ring.of(key_id, tenant)
    head = MARK + bytes([place, len(key_id)]) + key_id.encode()
    bound = _bound(tenant, head, keys)
    told = len(bound).to_bytes(8, "big") + bound + content
    nonce = hmac.digest(nonces, told, "sha256")[:_NONCE]
    return head + nonce + cipher.encrypt(nonce, content, bound)


def opened_bytes(ring: KeyRing, tenant: str, place: int, keys: Sequence[Any], cell: bytes) -> bytes:
    """Decrypt what :func:`sealed_bytes` made; see :meth:`Vault.open`."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra

    key_id = key_of(cell)
    at = _HEAD + len(key_id)
    refusal = EncryptionError(
        f"a ciphertext of tenant {tenant!r} cannot be decrypted: it was changed, or moved from "
        f"another row, thread or tenant, or key {key_id!r} is not the one it was made with: "
        "check the key, then restore the row from a backup"
    )
    if place_of(cell) != place:
        raise refusal
    cipher = ring.of(key_id, tenant).cipher
    nonce, ciphertext = cell[at : at + _NONCE], cell[at + _NONCE :]
    try:
        return cipher.decrypt(nonce, ciphertext, _bound(tenant, cell[:at], keys))
    except (InvalidTag, ValueError):
        raise refusal from None


def _bound(tenant: str, head: bytes, keys: Sequence[Any]) -> bytes:
    """Return the bytes that a ciphertext is authenticated with; no two places have the same."""
    return ormsgpack.packb(
        [tenant, head, *(key.bytes if isinstance(key, UUID) else key for key in keys)]
    )
