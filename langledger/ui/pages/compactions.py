"""What a compaction covered, kept, masked and cut, and what it said in place of it."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from langledger.compaction.inspection import sections
from langledger.compaction.view import Cut
from langledger.entries import load
from langledger.entries.ranges import Ranges
from langledger.errors import CompactionError, ConfigurationError
from langledger.state.diff import state_diff
from langledger.state.records import WorkingState
from langledger.tokens import count_text
from langledger.ui import reading
from langledger.ui.desk import At, Desk, Form, Here, Thread, back
from langledger.ui.said import said

__all__ = ["router"]

router = APIRouter()
_PAGE = 100


@router.get("/threads/{thread_key}/compactions")
def compactions(request: Request, desk: At, here: Thread) -> HTMLResponse:
    """List the compactions of an agent."""
    return desk.page(
        request,
        "compactions",
        here=here,
        tab="compactions",
        compactions=desk.run(reading.compactions(here.location)),
        scopes=desk.run(reading.scopes(here.location)),
    )


@router.get("/threads/{thread_key}/compactions/{generation}")
def compaction(
    request: Request,
    desk: At,
    here: Thread,
    *,
    generation: int,
    fate: str = "newly covered",
    after: int = 0,
) -> HTMLResponse:
    """Show one compaction with the entries of one fate."""
    return _page(request, desk, here, generation, fate=fate, after=after)


def _page(
    request: Request,
    desk: Desk,
    here: Here,
    generation: int,
    *,
    fate: str = "newly covered",
    after: int = 0,
    text: str | None = None,
    refused: str = "",
) -> HTMLResponse:
    """Return the page of a compaction; with what was typed as its summary where it was refused."""
    found = desk.run(reading.cuts(here.location, [generation - 1, generation]))
    if generation not in found:
        raise HTTPException(404, f"There is no compaction {generation} of this agent.")
    cut, row = found[generation]
    old = found[generation - 1][0] if generation - 1 in found else None
    fates = _fates(cut, old)
    chosen = fates.get(fate, Ranges())
    ids = [seq for seq in chosen if seq > after][: _PAGE + 1]
    return desk.page(
        request,
        "compaction",
        status=400 if refused else 200,
        here=here,
        tab="compactions",
        cut=cut,
        report=row["report"],
        made_at=row["created_at"],
        sections=_sections(cut),
        fates={name: len(ranges) for name, ranges in fates.items()},
        fate=fate,
        entries=_entries(desk, here, ids[:_PAGE]),
        more=ids[_PAGE - 1] if len(ids) > _PAGE else None,
        last=desk.run(reading.compactions(here.location))[-1]["generation"],
        around=desk.run(reading.calls_around(here.location, cut.seen)),
        summary_diff=_summary_diff(cut, old),
        state_diff=_state_diff(cut, old),
        text=cut.summary if text is None else text,
        refused=refused,
    )


@router.post("/threads/{thread_key}/compactions/{generation}/summary")
def edit(request: Request, desk: At, here: Thread, generation: int, form: Form) -> Response:
    """Replace a summary; that is a compaction of its own, which is shown."""
    text = form.get("text", "")
    try:
        report = desk.ledger.edit_summary(
            here.location.thread_id, generation, text, scope=here.scope
        )
    except (ConfigurationError, CompactionError) as error:
        if not desk.run(reading.cuts(here.location, [generation])):
            raise
        return _page(request, desk, here, generation, text=text, refused=str(error))
    return back(here.to(f"compactions/{report.generation}"))


def _fates(cut: Cut, old: Cut | None) -> dict[str, Ranges]:
    """Return the entries of a history by what became of them."""
    before = old.covered if old else Ranges()
    kept = [seq for seq in cut.history if seq not in cut.covered]
    return {
        "newly covered": Ranges.of(seq for seq in cut.covered if seq not in before),
        "covered before": Ranges.of(seq for seq in cut.covered if seq in before),
        "masked": cut.masked,
        "shown in part": Ranges.of(cut.clipped),
        "kept": Ranges.of(seq for seq in kept if seq not in cut.masked and seq not in cut.clipped),
    }


def _entries(desk: Desk, here: Here, ids: list[int]) -> list[Any]:
    return [(e, said(e.message, most=300)) for e in desk.run(load(here.location, ids))]


def _sections(cut: Cut) -> list[tuple[str, str, int]]:
    """Return the parts of the message that stands for what left: name, text, tokens."""
    return [(name, text, count_text(text)) for name, text in sections(cut.head)]


def _summary_diff(cut: Cut, old: Cut | None) -> list[str]:
    if old is None or not old.summary:
        return []
    lines = unified_diff(old.summary.splitlines(), cut.summary.splitlines(), lineterm="", n=1)
    return [line for line in lines if not line.startswith(("---", "+++"))]


def _state_diff(cut: Cut, old: Cut | None) -> list[str]:
    before = WorkingState.model_validate(old.state) if old and old.state else WorkingState()
    return state_diff(before, WorkingState.model_validate(cut.state) if cut.state else before)
