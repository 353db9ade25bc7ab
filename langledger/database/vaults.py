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

    def steps(self, batch: Batch) -> Steps:
        """Run a batch: yield what is sent, be sent what came back, return the rows in clear."""
        tenant = tenant_of(batch.queries)
        if self.ring is None or tenant is None:
            return readable((yield in_clear(batch)))
        vault = yield from self._vault(self.ring, tenant)
        closed = sealed(batch, vault)
        if vault.keyed or not any(says_something(query.params) for query in batch.queries):
            return opened(closed, (yield closed), vault)
        results = yield from self._guarded(closed, tenant)
        return opened(closed, results, vault)

    def _guarded(self, batch: Batch, tenant: str) -> Steps:
        """Write under names in clear, unless these are replaced at this moment."""
        from langledger.operations import Batch, Query  # noqa: PLC0415 - see above

        guard = Query(_queries["hold_clear"], {"tenant": tenant})
        try:
            return (yield Batch([guard, *batch.queries], repeatable=batch.repeatable))[1:]
        except DatabaseError as error:
            if isinstance(error.__cause__, psycopg.errors.DivisionByZero):
                raise _converted(tenant) from None
            raise

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


def _converted(tenant: str) -> ConfigurationError:
    return ConfigurationError(
        f"the rows of tenant {tenant!r} are being encrypted: let `langledger db rotate-keys` "
        "finish, or run it again where it was interrupted"
    )
