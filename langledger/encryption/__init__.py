"""Encryption at rest: content is stored as AES-256-GCM ciphertext, under keys of the caller.

It is done once, where statements go to the database and rows come back: a feature marks the
parameters that say something (:class:`Content`), or by which equal content is found again
(:class:`Named`, :class:`Spelled`, :class:`Hashed`), and a pool that has a :class:`KeyRing`
encrypts the first and replaces the second by keyed hashes. Rows come back in clear.
"""

from __future__ import annotations

from langledger.encryption.marks import Content, Hashed, Later, Named, Spelled, contents, named
from langledger.encryption.ring import KeyRing, key_ring
from langledger.encryption.vault import Vault, no_keys

__all__ = [
    "Content",
    "Hashed",
    "KeyRing",
    "Later",
    "Named",
    "Spelled",
    "Vault",
    "contents",
    "key_ring",
    "named",
    "no_keys",
]
