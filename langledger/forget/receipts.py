"""What a receipt says, and where receipts are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from langledger.arguments import check_whole
from langledger.database.queries import load_queries
from langledger.operations import Operation, Row, fetch

__all__ = ["Receipt", "receipt_of", "receipts"]

_queries = load_queries("langledger.forget")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was forgotten; nothing of what it said.

    Attributes:
        receipt_id: Its number; None of a dry run, which keeps none.
        what: ``tenant``, ``user``, ``thread``, ``entry`` or ``retention``.
        subject: The id that was given; of entries their thread's.
        requested_by: Who asked, as the caller named them.
        counts: Rows that went, by table; tables of which none went are left out.
        created_at: When; None of a dry run.
        active: Threads among them that were written to within the last minute: an agent that
            still runs there writes what it holds anew. Not kept.
    """

    receipt_id: UUID | None
    what: str
    subject: str
    requested_by: str | None
    counts: Mapping[str, int]
    created_at: datetime | None
    active: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Rows that went, of all tables."""
        return sum(self.counts.values())

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "receipt_id": None if self.receipt_id is None else str(self.receipt_id),
            "what": self.what,
            "subject": self.subject,
            "requested_by": self.requested_by,
            "counts": dict(self.counts),
            "created_at": None if self.created_at is None else self.created_at.isoformat(),
            "active": list(self.active),
        }


def receipts(tenant: str, *, limit: int = 100) -> Operation[list[Receipt]]:
    """Return the receipts that are kept, the latest first.

    Args:
        tenant: Whose.
        limit: Most rows that are read; a receipt has one for each shared thread.
    """
    rows = yield from fetch(
        _queries["receipts"], tenant=tenant, limit=check_whole("limit", limit, least=1)
    )
    parts = groupby(rows, key=lambda row: row["receipt_id"])
    return [receipt_of(list(group)) for _, group in parts]


def receipt_of(parts: list[Row], *, active: Iterable[str] = ()) -> Receipt:
    """Return the receipt that stands in these rows."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part["counts"])
    first = parts[0]
    return Receipt(
        receipt_id=first["receipt_id"],
        what=first["what"],
        subject=first["subject"],
        requested_by=first["requested_by"],
        counts=dict(sorted(counts.items())),
        created_at=first["created_at"],
        active=tuple(active),
    )
