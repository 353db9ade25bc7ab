"""Whether the database can hold a ledger, and how large it is."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from langledger.database import Database
from langledger.database.doctor import diagnose
from langledger.rotation import with_keys
from langledger.ui import reading
from langledger.ui.desk import At

__all__ = ["router"]

router = APIRouter()
_RECEIPTS = 50


@router.get("/health")
def health(request: Request, desk: At) -> HTMLResponse:
    """Show what `langledger doctor` tells, the tables' sizes, and what was forgotten."""
    ledger, options = desk.ledger, desk.options
    embedder = ledger.recalling.embedder
    report = diagnose(ledger.dsn, schema=options.schema, data_dir=options.data_dir)
    pool = ledger.executor
    ring = pool.vaults.ring if isinstance(pool, Database) else None
    return desk.page(
        request,
        "health",
        report=with_keys(report, ledger.dsn, ring, tenant=ledger.tenant, schema=options.schema),
        receipts=ledger.receipts(limit=_RECEIPTS),
        tables=desk.run(reading.tables()),
        embedder=embedder.name if embedder else None,
    )
