"""The key of the content hashes of a serialiser that encrypts."""

from __future__ import annotations

import os
from contextlib import suppress
from uuid import uuid4

from langgraph.checkpoint.serde.base import SerializerProtocol

from langledger.checkpoint.sealing import Open, Sealed, Sealing, is_open
from langledger.database.queries import load_queries
from langledger.operations import Operation, fetch

__all__ = ["sealing_for"]

_queries = load_queries("langledger.checkpoint")

_LENGTH = 32


def sealing_for(tenant: str, serde: SerializerProtocol) -> Operation[Sealing]:
    """Return how a serialiser's content is stored.

    The key is made once a tenant and serialiser key, and kept in the database as the
    serialiser encrypts it.
    """
    if is_open(serde):
        return Open(serde)
    secret = yield from _find(tenant, serde)
    if secret is None:
        kind, sealed = serde.dumps_typed(os.urandom(_LENGTH))
        yield from fetch(
            _queries["add_secret"], tenant=tenant, secret_id=uuid4(), kind=kind, sealed=sealed
        )
        # Another process may have been first: all take the oldest.
        secret = yield from _find(tenant, serde)
    assert secret is not None, "a serialiser must read back what it wrote"  # noqa: S101
    return Sealed(serde, secret)


def _find(tenant: str, serde: SerializerProtocol) -> Operation[bytes | None]:
    rows = yield from fetch(_queries["secrets"], tenant=tenant)
    for row in rows:
        # Whatever a cipher raises for the key of another, the row is not ours.
        with suppress(Exception):
            secret = serde.loads_typed((row["kind"], row["sealed"]))
            if isinstance(secret, bytes) and len(secret) == _LENGTH:
                return secret
    return None
