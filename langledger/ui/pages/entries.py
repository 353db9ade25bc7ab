"""A thread's entries, and each of them whole."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from langledger.entries import Entry, load
from langledger.ui import reading
from langledger.ui.desk import At, Desk, Here, Thread, whole
from langledger.ui.said import said
from langledger.ui.text import message_json, visible

__all__ = ["router"]

router = APIRouter()
_PAGE = 50
_RAW = 100_000  # characters on a page
_ROLES = ("human", "ai", "tool", "system")


@router.get("/threads/{thread_key}/entries")
def entries(
    request: Request,
    desk: At,
    here: Thread,
    *,
    after: str = "",
    before: str = "",
    role: str = "",
    at: str = "",
) -> Response:
    """List entries; with ``at``, lead to one."""
    if (wanted := whole(at, "The entry")) is not None:
        return RedirectResponse(here.to(f"entries/{wanted}"), status_code=303)
    page = desk.run(
        reading.entries_page(
            here.location,
            after=whole(after, "after"),
            before=whole(before, "before"),
            role=role if role in _ROLES else None,
            limit=_PAGE,
        )
    )
    name = "entries_rows" if "hx-request" in request.headers else "entries"
    told = [(entry, said(entry.message)) for entry in page.entries]
    return desk.page(
        request, name, here=here, tab="entries", page=page, told=told, role=role, roles=_ROLES
    )


@router.get("/threads/{thread_key}/entries/{entry_id}")
def entry(request: Request, desk: At, here: Thread, entry_id: int, start: int = 0) -> HTMLResponse:
    """Show one entry with all that is known of it, its text in pages."""
    found = _entry(desk, here, entry_id)
    raw = message_json(found.message)
    start = min(max(start, 0), max(len(raw) - 1, 0))
    pins = [pin for pin in desk.ledger.pins(here.location.thread_id) if pin.entry_id == entry_id]
    return desk.page(
        request,
        "entry",
        here=here,
        tab="entries",
        entry=found,
        told=said(found.message, most=_RAW),
        raw=raw[start : start + _RAW],
        start=start,
        stop=start + _RAW if start + _RAW < len(raw) else None,
        step=_RAW,
        length=len(raw),
        around=desk.run(reading.entries_around(here.location, entry_id)),
        units=desk.run(reading.units_of(here.location, entry_id)),
        pins=pins,
    )


@router.get("/threads/{thread_key}/entries/{entry_id}/raw")
def raw(desk: At, here: Thread, entry_id: int) -> Response:
    """Give one entry as a JSON file; hidden characters as their escapes."""
    told = str(visible(message_json(_entry(desk, here, entry_id).message)))
    name = f'attachment; filename="entry-{entry_id}.txt"'
    headers = {"content-disposition": name}
    return Response(told, media_type="text/plain; charset=utf-8", headers=headers)


def _entry(desk: Desk, here: Here, entry_id: int) -> Entry:
    if not 0 < entry_id < 2**62:
        raise HTTPException(404, "There is no such entry.")
    found = desk.run(load(here.location, [entry_id]))
    if not found:
        raise HTTPException(404, f"The thread has no entry {entry_id}.")
    return found[0]
