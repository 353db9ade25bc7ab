"""PostgreSQL: the pool, the embedded server, migrations and named statements."""

from __future__ import annotations

from langledger.database.pool import AsyncDatabase, Database

__all__ = ["AsyncDatabase", "Database"]
