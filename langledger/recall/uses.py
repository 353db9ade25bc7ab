"""What was given to somebody, and when last."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias
from uuid import UUID

from langledger.database.queries import load_queries
from langledger.operations import Operation, fetch

__all__ = ["Place", "Uses", "touch"]

_queries = load_queries("langledger.recall")

Place: TypeAlias = tuple[UUID, int, int]
"""Space, ref and part of a unit."""
Uses: TypeAlias = Counter[Place]
"""How often each was given."""


def touch(tenant: str, uses: Uses) -> Operation[None]:
    """Note that units were used just now; their age counts from then on."""
    if uses:
        yield from fetch(
            _queries["touch"],
            tenant=tenant,
            spaces=[space for space, _, _ in uses],
            refs=[ref for _, ref, _ in uses],
            parts=[part for _, _, part in uses],
            times=list(uses.values()),
        )
