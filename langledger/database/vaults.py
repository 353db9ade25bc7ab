"""Encryption as a pool does it: what encrypts for each tenant, and its secret in the database.

Equal content is found again by keyed hashes. Their key is random, one a tenant, and stands in the
database encrypted with the caller's keys: it stays the same when these change. A tenant that had
rows before encryption was switched on keeps finding them as they are in clear, until `langledger db
rotate-keys` has given all of them their hashes.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import psycopg

from langledger.database.cells import in_clear, opened, readable, sealed
from langledger.database.queries import load_queries
from langledger.database.tenancy import tenant_of
from langledger.encryption import KeyRing, Vault
from langledger.encryption.marks import says_something
from langledger.encryption.places import SECRET
from langledger.encryption.vault import opened_bytes, sealed_bytes
from langledger.errors import ConfigurationError, DatabaseError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Batch, Row

__all__ = ["Vaults"]

_queries = load_queries("langledger.database", "encryption.sql")

_SECRET_BYTES = 32
_MARK = "!langledger"
_TENANTS = 10_000  # remembered

Steps: TypeAlias = "Generator[Batch, list[list[Row]], list[list[Row]]]"


class Vaults:
    """Encrypts the batches of a pool, and decrypts what comes back.

    Args:
        ring: The keys; None: nothing is encrypted.
        converting: It is this pool that gives rows in clear their hashes.
    """

    def __init__(self, ring: KeyRing | None, *, converting: bool = False) -> None:
        self.ring = ring
        self._converting = converting
        self._known: dict[str, Vault] = {}
        self._in_clear: set[str] = set()  # tenants that nobody encrypted for

    def steps(self, batch: Batch) -> Steps:
        """Run a batch: yield what is sent, be sent what came back, return the rows in clear."""
        writes = any(says_something(query.params) for query in batch.queries)
        if self.ring is None:
            return readable((yield from self._keyless(in_clear(batch), writes=writes)))
        tenant = tenant_of(batch.queries)
        if tenant is None:
            return readable((yield in_clear(batch)))
        vault = yield from self._vault(self.ring, tenant)
        closed = sealed(batch, vault)
        if vault.keyed or not writes:
            return opened(closed, (yield closed), vault)
        # Under names in clear, unless these are replaced at this moment.
        results = yield from _guarded(closed, "hold_clear", tenant, _converted(tenant))
        return opened(closed, results, vault)

    def _keyless(self, batch: Batch, *, writes: bool) -> Steps:
        """Run a batch in clear; the first that writes asks whether others encrypt."""
        tenant = tenant_of(batch.queries) if writes else None
        if tenant is None or tenant in self._in_clear:
            return (yield batch)
        results = yield from _guarded(batch, "unsealed", tenant, _keys_needed(tenant))
        self._in_clear.add(tenant)
        return results

    def _vault(self, ring: KeyRing, tenant: str) -> Generator[Batch, list[list[Row]], Vault]:
        known = self._known.get(tenant)
        if known is not None:
            return known
        row = yield from self._row(ring, tenant)
        secret = opened_bytes(ring, tenant, SECRET.number, (), cast("bytes", row["sealed"]))
        if row["state"] == "converting" and not self._converting:
            raise _converted(tenant)
        keyed = self._converting or row["state"] == "keyed"
        vault = Vault(ring, tenant, secret, keyed=keyed)
        if keyed:
            if len(self._known) >= _TENANTS:
                self._known.pop(next(iter(self._known)), None)
            self._known[tenant] = vault
        return vault

    def _row(self, ring: KeyRing, tenant: str) -> Generator[Batch, list[list[Row]], Row]:
        from langledger.operations import Batch, Query  # noqa: PLC0415 - see above

        params: dict[str, Any] = {"tenant": tenant}
        rows = (yield Batch([Query(_queries["secret"], params)]))[0]
        if not rows:
            fresh = sealed_bytes(ring, tenant, SECRET.number, (), os.urandom(_SECRET_BYTES))
            add = Query(_queries["add_secret"], {**params, "sealed": fresh})
            rows = (yield Batch([add, Query(_queries["secret"], params)]))[1]
        return rows[0]


def _guarded(batch: Batch, guard: str, tenant: str, refusal: ConfigurationError) -> Steps:
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


def _keys_needed(tenant: str) -> ConfigurationError:
    return ConfigurationError(
        f"the content of tenant {tenant!r} is encrypted, and no keys were given: set "
        "LANGLEDGER_ENCRYPTION_KEYS, or pass encryption="
    )


def _converted(tenant: str) -> ConfigurationError:
    return ConfigurationError(
        f"the rows of tenant {tenant!r} are being encrypted: let `langledger db rotate-keys` "
        "finish, or run it again where it was interrupted"
    )
