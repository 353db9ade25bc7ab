"""A thread or an entry forgotten for good: what would go first, and then the receipt."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from langledger.forget.receipts import Receipt
from langledger.ui.desk import At, Desk, Form, Here, Thread, whole

__all__ = ["router"]

router = APIRouter()


@router.get("/threads/{thread_key}/forget")
def preview(request: Request, desk: At, here: Thread, entry: str = "") -> HTMLResponse:
    """Show what would go; nothing goes yet."""
    wanted = whole(entry, "The entry")
    receipt = _forget(desk, here, wanted, dry_run=True)
    if not receipt.total:
        raise HTTPException(404, f"The thread has no entry {wanted}.")
    return desk.page(request, "forget", here=here, tab="", entry=wanted, receipt=receipt)


@router.post("/threads/{thread_key}/forget")
def forget(request: Request, desk: At, here: Thread, form: Form) -> HTMLResponse:
    """Forget it, and show the receipt."""
    if form.get("sure") != "yes":
        raise HTTPException(400, "Nothing was forgotten: the box was not ticked.")
    entry = whole(form.get("entry"), "The entry")
    receipt = _forget(desk, here, entry, dry_run=False, by=form.get("by") or None)
    return desk.page(request, "receipt", receipt=receipt, thread_key=here.thread["thread_key"])


def _forget(
    desk: Desk, here: Here, entry: int | None, *, dry_run: bool, by: str | None = None
) -> Receipt:
    return desk.ledger.forget(
        thread_id=here.location.thread_id, entry_ids=entry, requested_by=by, dry_run=dry_run
    )
