"""Encryption as a pool does it: what encrypts for each tenant, and its secret in the database.

Equal content is found again by keyed hashes. Their key is random, one a tenant, and stands in the
database encrypted with the caller's keys: it stays the same when these change. A tenant that had
rows before encryption was switched on keeps finding them as they are in clear, until `langledger db
rotate-keys` has given all of them their hashes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import psycopg
from psycopg.sql import Composed

from langledger.database.cells import in_clear, opened, readable, sealed
from langledger.database.queries import load_queries
from langledger.database.tenancy import tenant_of
from langledger.encryption import KeyRing, Vault
from langledger.encryption.marks import finds_by_hash, says_something
from langledger.encryption.places import SECRET
from langledger.encryption.vault import opened_bytes, sealed_bytes
from langledger.errors import ConfigurationError, DatabaseError, EncryptionError, LangLedgerError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Batch, Row

__all__ = ["Vaults"]

_queries = load_queries("langledger.database", "encryption.sql")

_SECRET_BYTES = 32
_MARK = "!langledger"
_TENANTS = 10_000  # remembered
_WRITES = re.compile(r"\b(?:INSERT|UPDATE|DELETE)\b|\{+schema\}+\.(?:append|collect|record)_")

Steps: TypeAlias = "Generator[Batch, list[list[Row]], list[list[Row]]]"


class Vaults:
    """Encrypts the batches of a pool, and decrypts what comes back.

    Args:
        ring: The keys; None: nothing is encrypted.
        converting: It is this pool that gives rows in clear their hashes.
        accept_clear: Content in clear is taken as genuine in an encrypted tenant too.
    """

    def __init__(
        self, ring: KeyRing | None, *, converting: bool = False, accept_clear: bool = False
    ) -> None:
        self.ring = ring
        self._converting = converting
        self._accept_clear = accept_clear
        self._known: dict[str, Vault] = {}
        self._in_clear: set[str] = set()  # tenants that nobody encrypted for
        self._unhashed: set[str] = set()  # tenants whose words and digests are in clear

    def steps(self, batch: Batch) -> Steps:
        """Run a batch: yield what is sent, be sent what came back, return the rows in clear."""
        writes = any(says_something(query.params) for query in batch.queries)
        if self.ring is None:
            return readable((yield from self._keyless(batch, writes=writes)))
        tenant = tenant_of(batch.queries)
        if tenant is None:
            return readable((yield in_clear(batch)))
        vault = yield from self._vault(self.ring, tenant, batch)
        closed = sealed(batch, vault)
        if vault.keyed or not writes:
            return opened(closed, (yield closed), vault)
        # Under names in clear, unless these are replaced at this moment.
        results = yield from _guarded(closed, "hold_clear", tenant, _converted(tenant))
        return opened(closed, results, vault)

    def _keyless(self, batch: Batch, *, writes: bool) -> Steps:
        """Run a batch in clear; the first that writes asks whether others encrypt.

        So does the first that is found by words or digests: of an encrypted tenant it would find
        nothing.
        """
        plain = in_clear(batch)
        tenant = tenant_of(batch.queries)
        searches = not writes and any(finds_by_hash(query.params) for query in batch.queries)
        known = self._unhashed if searches else self._in_clear
        if tenant is None or tenant in known or not (writes or searches):
            return (yield plain)
        if searches:
            guard, refusal = "unhashed", EncryptionError(_keys_needed(tenant))
        else:
            guard, refusal = "unsealed", ConfigurationError(_keys_needed(tenant))
        results = yield from _guarded(plain, guard, tenant, refusal)
        known.add(tenant)
        return results

    def _vault(
        self, ring: KeyRing, tenant: str, batch: Batch
    ) -> Generator[Batch, list[list[Row]], Vault]:
        known = self._known.get(tenant)
        if known is not None:
            return known
        row = yield from self._row(ring, tenant, batch)
        if row is None:  # Nothing is encrypted: a secret of no use, so that reading writes nothing.
            return Vault(ring, tenant, os.urandom(_SECRET_BYTES), keyed=False)
        secret = opened_bytes(ring, tenant, SECRET.number, (), cast("bytes", row["sealed"]))
        if row["state"] == "converting" and not self._converting:
            raise _converted(tenant)
        keyed = self._converting or row["state"] == "keyed"
        strict = row["state"] == "keyed" and not self._accept_clear
        vault = Vault(ring, tenant, secret, keyed=keyed, strict=strict)
        if keyed:
            if len(self._known) >= _TENANTS:
                self._known.pop(next(iter(self._known)), None)
            self._known[tenant] = vault
        return vault

    def _row(
        self, ring: KeyRing, tenant: str, batch: Batch
    ) -> Generator[Batch, list[list[Row]], Row | None]:
        from langledger.operations import Batch, Query  # noqa: PLC0415 - see above

        params: dict[str, Any] = {"tenant": tenant}
        rows = (yield Batch([Query(_queries["secret"], params)]))[0]
        content = any(says_something(query.params) for query in batch.queries)
        if not rows and (content or _changes(batch)):
            fresh = sealed_bytes(ring, tenant, SECRET.number, (), os.urandom(_SECRET_BYTES))
            params |= {"sealed": fresh, "content": content or self._converting}
            add = Query(_queries["add_secret"], params)
            rows = (yield Batch([add, Query(_queries["secret"], params)]))[1]
        return rows[0] if rows else None


def _changes(batch: Batch) -> bool:
    """Tell whether a batch changes rows."""
    sqls = (query.sql for query in batch.queries)
    texts = (sql.as_string(None) if isinstance(sql, Composed) else sql for sql in sqls)
    return any(_WRITES.search(text) for text in texts)


def _guarded(batch: Batch, guard: str, tenant: str, refusal: LangLedgerError) -> Steps:
    """Run a batch unless a statement before it, which then reads a mark as a number, refuses."""
    from langledger.operations import Batch, Query  # noqa: PLC0415 - see above

    first = Query(_queries[guard], {"tenant": tenant})
    try:
        return (yield Batch([first, *batch.queries], repeatable=batch.repeatable))[1:]
    except DatabaseError as error:
        cause = error.__cause__
        if isinstance(cause, psycopg.errors.InvalidTextRepresentation) and _MARK in str(cause):
            raise refusal from None
        raise


def _keys_needed(tenant: str) -> str:
    return (
        f"the content of tenant {tenant!r} is encrypted, and no keys were given: set "
        "LANGLEDGER_ENCRYPTION_KEYS, or pass encryption="
    )


def _converted(tenant: str) -> ConfigurationError:
    return ConfigurationError(
        f"the rows of tenant {tenant!r} are being encrypted: let `langledger db rotate-keys` "
        "finish, or run it again where it was interrupted"
    )
