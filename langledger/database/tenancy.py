"""Row-level security as a client sees it: each transaction names its tenant.

The setting ends with the transaction, so that a pooler may stand in between. It travels in the
same pipeline as the statements: no further round trip. Not ``set_config``, which Citus does not
pass on to the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from psycopg.sql import SQL, Composed

from langledger.errors import DatabaseError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Query

__all__ = ["set_tenant", "tenant_of"]


def set_tenant(tenant: str) -> Composed:
    """Return the statement that names the tenant of a transaction."""
    return SQL("SET LOCAL langledger.tenant = {}").format(tenant)


def tenant_of(queries: Sequence[Query]) -> str | None:
    """Return the tenant that statements are about; None for those about none, such as catalogs.

    Raises:
        DatabaseError: They are about several; nothing was sent.
    """
    tenants = {query.params["tenant"] for query in queries if "tenant" in query.params}
    if len(tenants) > 1:
        raise DatabaseError(
            "statements of several tenants cannot share a transaction: send them one by one"
        )
    return tenants.pop() if tenants else None
