"""A thread's timeline: the window's use over its calls, its compactions, its cost."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse

from langledger.ui import reading
from langledger.ui.desk import At, Thread
from langledger.ui.timeline import cost_of, timeline

__all__ = ["router"]

router = APIRouter()


@router.get("/threads/{thread_key}/")
def show(request: Request, desk: At, here: Thread) -> HTMLResponse:
    """Show the chart's frame, the numbers and the compactions."""
    shown, reported = desk.run(timeline(here.location))
    return desk.page(
        request,
        "timeline",
        here=here,
        tab="timeline",
        scopes=desk.run(reading.scopes(here.location)),
        size=desk.run(reading.size(desk.ledger.tenant, here.thread["thread_key"])),
        compactions=desk.run(reading.compactions(here.location)),
        shown=shown,
        cost=cost_of(shown, reported, desk.options.price),
        priced=desk.options.price is not None,
    )


@router.get("/threads/{thread_key}/timeline.json")
def chart(desk: At, here: Thread) -> JSONResponse:
    """Return the chart's columns."""
    shown, reported = desk.run(timeline(here.location))
    told: dict[float, int] = dict(zip(reported.seqs, reported.input, strict=True))
    return JSONResponse(shown.as_json() | {"reported": [told.get(seq) for seq in shown.seqs]})
