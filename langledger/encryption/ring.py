"""The keys of the caller, newest first."""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from langledger.errors import ConfigurationError, EncryptionError, MissingDependencyError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["KeyRing", "TenantKey", "key_ring"]

_LENGTH = 32  # bytes, of AES-256
_ID = re.compile(r"[A-Za-z0-9._-]{1,32}")
_TENANTS = 10_000  # whose derived keys are kept


class TenantKey(NamedTuple):
    """What is derived from a key for one tenant.

    Attributes:
        cipher: AES-256-GCM.
        nonces: Key of the hash that nonces are made by.
    """

    cipher: AESGCM
    nonces: bytes


class KeyRing:
    """Keys for content at rest: the first one encrypts, all of them decrypt.

    Each tenant's content is encrypted with keys derived for it (HKDF-SHA256), so that no
    ciphertext of one tenant means anything in another's rows. Neither ``repr`` nor any error
    tells a key.

    Args:
        keys: Key by id, the newest first; 32 bytes each, or their base64. Ids are 1 to 32 letters,
            digits, ``.``, ``_`` and ``-``; they stand beside each ciphertext, in clear.

    Raises:
        ConfigurationError: There is no key, or an id or key is of the wrong form.
        MissingDependencyError: The extra ``encryption`` is not installed.
    """

    def __init__(self, keys: Mapping[str, bytes | str]) -> None:
        if not isinstance(keys, Mapping) or not keys:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
            raise ConfigurationError('encryption needs keys by id, such as {"2026-11": key}')
        self._keys = {_checked_id(name): _checked_key(name, key) for name, key in keys.items()}
        if len(set(self._keys.values())) < len(self._keys):
            raise ConfigurationError("two ids of the key ring have the same key: give each its own")
        _ciphers()
        self.of = lru_cache(maxsize=_TENANTS)(self._of)

    @classmethod
    def parse(cls, text: str) -> KeyRing:
        """Return the ring that a setting writes: ``id:base64``, the newest first, by commas.

        Raises:
            ConfigurationError: It does not.
        """
        pairs = [part.strip().partition(":") for part in text.split(",") if part.strip()]
        if not pairs or not all(colon for _, colon, _ in pairs):
            raise ConfigurationError(
                "give the keys as id:base64, the newest first, separated by commas"
            )
        if len({name for name, _, _ in pairs}) < len(pairs):
            raise ConfigurationError("an id stands twice among the keys: give each key its own")
        return cls({name: key for name, _, key in pairs})

    @staticmethod
    def new_key() -> str:
        """Return a new random key, in base64."""
        return base64.b64encode(os.urandom(_LENGTH)).decode()

    @property
    def newest(self) -> str:
        """The id of the key that encrypts."""
        return next(iter(self._keys))

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __repr__(self) -> str:
        return f"<KeyRing {', '.join(self._keys)}>"

    def __reduce__(self) -> Any:
        raise TypeError("a KeyRing is not pickled: it holds keys")

    def _of(self, key_id: str, tenant: str) -> TenantKey:
        """Return what is derived from a key for a tenant.

        Raises:
            EncryptionError: The ring has no such key.
        """
        if key_id not in self._keys:
            raise EncryptionError(
                f"content of tenant {tenant!r} is encrypted with key {key_id!r}, which is not "
                f"among the keys given ({', '.join(self._keys)}): add it to "
                "LANGLEDGER_ENCRYPTION_KEYS, or to encryption=; or the row was changed: restore it "
                "from a backup"
            )
        derived = _derived(self._keys[key_id], f"langledger content\0{tenant}".encode())
        return TenantKey(_ciphers()(derived[:_LENGTH]), derived[_LENGTH:])


def key_ring(given: object) -> KeyRing | None:
    """Return the ring that an argument means: one, keys by id, or their text; None: none.

    Raises:
        ConfigurationError: It is no such thing.
    """
    if given is None or isinstance(given, KeyRing):
        return given
    if isinstance(given, str):
        return KeyRing.parse(given)
    if isinstance(given, Mapping):
        return KeyRing(given)  # pyright: ignore[reportUnknownArgumentType] - the ring checks it
    raise ConfigurationError("encryption must be a KeyRing, keys by id, or their text")


def _checked_id(name: object) -> str:
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise ConfigurationError(
            "the id of an encryption key has 1 to 32 letters, digits, '.', '_' and '-'"
        )
    return name


def _checked_key(name: str, key: object) -> bytes:
    """Return a key's bytes; an error never shows them."""
    if isinstance(key, str):
        try:
            key = (
                base64.b64decode(key.strip(), altchars=b"-_", validate=True)
                if ("-" in key or "_" in key)
                else base64.b64decode(key.strip(), validate=True)
            )
        except (binascii.Error, ValueError):
            raise ConfigurationError(f"encryption key {name!r} is no base64") from None
    if not isinstance(key, bytes) or len(key) != _LENGTH:
        raise ConfigurationError(
            f"encryption key {name!r} must be 32 bytes, or their base64: "
            "KeyRing.new_key() makes one"
        )
    return key


def _ciphers() -> type[AESGCM]:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingDependencyError(
            'encryption needs the extra: pip install "langledger[encryption]"'
        ) from error
    return AESGCM


def _derived(key: bytes, purpose: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415 - an extra

    return HKDF(algorithm=SHA256(), length=2 * _LENGTH, salt=None, info=purpose).derive(key)
