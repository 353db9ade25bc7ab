"""A thread's working state, now or as it was, how it came to be, and a person's changes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from langledger.compaction.history import entry_at, state_of, unread
from langledger.state.base import StatementKind
from langledger.state.diff import state_diff
from langledger.state.records import KINDS, WorkingState
from langledger.ui import reading
from langledger.ui.desk import At, Desk, Form, Here, Thread, back, whole

__all__ = ["router"]

router = APIRouter()
_STATUSES = ("active", "superseded", "expired")
_MOST = 40  # compactions whose changes are told
_AT_ONCE = 300  # entries that are read anew


@router.get("/threads/{thread_key}/state")
def show(request: Request, desk: At, here: Thread, at: str = "", since: str = "") -> HTMLResponse:
    """Show the state after an entry, and what changed since an earlier one."""
    point, start = _entry(desk, here, at, "at"), _entry(desk, here, since, "since")
    read_first = unread(here.location, at=point, redactor=desk.ledger.redactor)
    count = desk.run(read_first)
    # Where so much is read first, the page comes before it.
    read = _read(desk, here, point, start) if count <= _AT_ONCE else {}
    return desk.page(
        request,
        "state",
        here=here,
        tab="state",
        at=point,
        since=start,
        unread=count,
        scopes=desk.run(reading.scopes(here.location)),
        **read,
    )


@router.get("/threads/{thread_key}/state/records")
def records(
    request: Request, desk: At, here: Thread, at: str = "", since: str = ""
) -> HTMLResponse:
    """Show the records of the state alone."""
    point, start = _entry(desk, here, at, "at"), _entry(desk, here, since, "since")
    read = _read(desk, here, point, start)
    return desk.page(request, "state_records", here=here, at=point, since=start, **read)


def _entry(desk: Desk, here: Here, typed: str, name: str) -> int | None:
    """Return the entry that a field names; errors name the field."""
    number = whole(typed, name)
    return desk.run(entry_at(here.location, number, name=name)) if number else None


def _read(desk: Desk, here: Here, at: int | None, since: int | None) -> dict[str, Any]:
    state = _state(desk, here, at)
    return {
        "state": state,
        "changed": state_diff(_state(desk, here, since), state) if since else None,
        "kinds": [(kind, name, state.statements(kind)) for kind, name in KINDS.items()],
        "statuses": _STATUSES,
        "pins": desk.ledger.pins(here.location.thread_id),
    }


@router.get("/threads/{thread_key}/state/story")
def story(request: Request, desk: At, here: Thread) -> HTMLResponse:
    """Tell what changed between compactions, the newest first."""
    rows = desk.run(reading.compactions(here.location))
    wanted = [row["generation"] for row in rows][-_MOST - 1 :]
    found = desk.run(reading.cuts(here.location, wanted))
    empty = wanted[:1] == [1]
    stages: list[tuple[str, int, WorkingState]] = [("", 0, WorkingState())] if empty else []
    for number, (cut, _) in found.items():
        stages.append((f"compaction {number}", cut.seen, WorkingState.model_validate(cut.state)))
    if stages:
        stages.append(("now", 0, _state(desk, here, None)))
    told = [
        (name, seen, state_diff(before, state))
        for (_, _, before), (name, seen, state) in pairwise(stages)
    ]
    return desk.page(request, "story", here=here, stages=told[::-1])


@router.post("/threads/{thread_key}/state/edit")
def edit(desk: At, here: Thread, form: Form) -> Response:
    """Change a statement; what is left as it was counts as no change."""
    changes: dict[str, Any] = {
        name: form[name]
        for name in ("what", "why", "status")
        if name in form and form[name] != form.get(f"old_{name}")
    }
    if form.get("archived") in ("yes", "no"):
        changes["archived"] = form["archived"] == "yes"
    if changes.get("status", "active") not in _STATUSES:
        raise HTTPException(400, f"The status must be one of {', '.join(_STATUSES)}.")
    if changes:
        record = form.get("id", "")
        desk.ledger.edit_state(here.location.thread_id, record, scope=here.scope, **changes)
    return back(here.to("state"))


@router.post("/threads/{thread_key}/state/add")
def add(desk: At, here: Thread, form: Form) -> Response:
    """Add a statement of a person."""
    desk.ledger.add_to_state(
        here.location.thread_id,
        cast("StatementKind", form.get("kind", "")),
        form.get("what", ""),
        why=form.get("why", ""),
        scope=here.scope,
    )
    return back(here.to("state"))


@router.post("/threads/{thread_key}/pins")
def pin(desk: At, here: Thread, form: Form) -> Response:
    """Pin an entry, or a text."""
    entry_id = whole(form.get("entry"), "The entry")
    text = form.get("text") or None
    desk.ledger.pin(here.location.thread_id, text, entry_id=entry_id)
    return back(here.to("state") if entry_id is None else here.to(f"entries/{entry_id}"))


@router.post("/threads/{thread_key}/pins/{pin_id}/delete")
def unpin(desk: At, here: Thread, pin_id: int, form: Form) -> Response:
    """Take a pin away."""
    desk.ledger.unpin(here.location.thread_id, pin_id)
    entry_id = whole(form.get("entry"), "The entry")
    return back(here.to("state") if entry_id is None else here.to(f"entries/{entry_id}"))


def _state(desk: Desk, here: Here, at: int | None) -> WorkingState:
    redactor = desk.ledger.redactor

    def read() -> WorkingState:
        # of an agent that is not there it is empty, and the page names those that are
        return desk.run(state_of(here.location, at=at, redactor=redactor))

    if (at or here.thread["entries"]) <= _AT_ONCE:
        return read()
    # A thread that does not change has the same state; who reloads does not have it read again.
    pulse = desk.run(reading.pulse(desk.ledger.tenant, here.thread["thread_key"]))
    return desk.kept.get((here.location, at, pulse), read)
