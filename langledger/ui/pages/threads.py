"""The threads, with their sizes, and what tells that something changed."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, PlainTextResponse

from langledger.ui import reading
from langledger.ui.desk import At

__all__ = ["router"]

router = APIRouter()
_PAGE = 40


@router.get("/")
def threads(request: Request, desk: At, q: str = "", before: str = "") -> HTMLResponse:
    """List the threads whose names contain what was typed, the latest first."""
    rows = desk.run(
        reading.threads(desk.ledger.tenant, search=q, before=_place(before), limit=_PAGE + 1)
    )
    more, rows = len(rows) > _PAGE, rows[:_PAGE]
    after = f"{rows[-1]['updated_at'].isoformat()} {rows[-1]['thread_key']}" if more else None
    name = "threads_rows" if "hx-request" in request.headers else "threads"
    tenant = desk.ledger.tenant
    return desk.page(request, name, threads=rows, q=q, before=after, tenant=tenant)


@router.get("/threads/{thread_key}/size")
def size(request: Request, desk: At, thread_key: UUID) -> HTMLResponse:
    """Show how large a thread is, which takes longer to count than to list it."""
    return desk.page(request, "size", size=desk.run(reading.size(desk.ledger.tenant, thread_key)))


@router.get("/pulse")
def pulse_of_all(desk: At) -> PlainTextResponse:
    """Tell by another text that any thread changed."""
    return PlainTextResponse(desk.run(reading.pulse(desk.ledger.tenant)))


@router.get("/threads/{thread_key}/pulse")
def pulse(desk: At, thread_key: UUID) -> PlainTextResponse:
    """Tell by another text that a thread changed."""
    return PlainTextResponse(desk.run(reading.pulse(desk.ledger.tenant, thread_key)))


def _place(before: str) -> tuple[datetime, UUID] | None:
    if not before:
        return None
    moment, _, key = before.rpartition(" ")
    try:
        return datetime.fromisoformat(moment), UUID(key)
    except ValueError as error:
        raise HTTPException(400, "That place in the list is not known; open the list anew.") from (
            error
        )
