"""Recall as an agent would have it, with every score and reason, and why an entry is not found.

Looking on leaves no trace: what is found here does not count as recalled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from langledger.entries import Location
from langledger.entries.log import thread_key as key_of
from langledger.recall.tags import HIDDEN
from langledger.recall.types import Found, Hit, SearchRequest
from langledger.ui import reading
from langledger.ui.desk import At, Desk, Thread, whole

__all__ = ["router"]

router = APIRouter()
_HITS = 10
_PAGE = 50
_NOTHING_OF_IT = (
    "Recall holds nothing of it: there is no such entry, it says nothing, it repeats a recall, or "
    "a checkpointer sealed it."
)
_ROLES = ("human", "ai", "tool", "system")


@router.get("/threads/{thread_key}/recall")
def recall(
    request: Request,
    desk: At,
    here: Thread,
    *,
    q: str = "",
    role: str = "",
    tag: str = "",
    why: str = "",
) -> HTMLResponse:
    """Search a thread; with ``why``, tell why an entry is not among the hits."""
    wanted = _filter(role, tag)
    found = _search(desk, here.location, q, wanted) if q.strip() else None
    missed, wrong = _asked_for(why)
    reasons = (
        _why_not(desk, here.location, q, wanted, found=found, entry_id=missed)
        if found and missed is not None
        else None
    )
    part = "hx-request" in request.headers
    return desk.page(
        request,
        "recall_hits" if part else "recall",
        status=400 if wrong and not part else 200,  # htmx shows no answer that is an error
        here=here,
        tab="recall",
        q=q,
        role=role,
        tag=tag,
        roles=_ROLES,
        tags=desk.run(reading.tags(here.location)),
        found=found,
        why=why if wrong else missed,
        wrong=wrong,
        reasons=reasons,
    )


@router.get("/search")
def search(request: Request, desk: At, q: str = "") -> HTMLResponse:
    """Search all threads of the tenant."""
    found = _search(desk, None, q, {}) if q.strip() else None
    keys = (
        {h.thread_id: key_of(desk.ledger.tenant, h.thread_id) for h in found.hits} if found else {}
    )
    name = "search_hits" if "hx-request" in request.headers else "search"
    return desk.page(request, name, q=q, found=found, keys=keys)


@router.get("/threads/{thread_key}/memory")
def memory(
    request: Request,
    desk: At,
    here: Thread,
    *,
    tag: str = "",
    never: str = "",
    after: str = "",
) -> HTMLResponse:
    """Show what recall holds of a thread: value tags, and what was never recalled."""
    desk.run(desk.ledger.recalling.index(here.location.thread_id))
    units = desk.run(
        reading.units(
            here.location,
            after=_place(after),
            tag=tag or None,
            never=bool(never),
            limit=_PAGE + 1,
        )
    )
    more, units = len(units) > _PAGE, units[:_PAGE]
    return desk.page(
        request,
        "memory",
        here=here,
        tab="memory",
        tag=tag,
        never=never,
        units=units,
        after=f"{units[-1].entry_id}.{units[-1].part}" if more else None,
        counts=desk.run(reading.unit_counts(here.location)),
        tags=desk.run(reading.tags(here.location)),
    )


def _asked_for(why: str) -> tuple[int | None, str]:
    """Return the entry that was typed, and what is wrong with it."""
    try:
        return whole(why, "“why not entry”"), ""
    except HTTPException as error:
        return None, error.detail


def _place(after: str) -> tuple[int, int]:
    entry, _, part = after.partition(".")
    return whole(entry, "after") or 0, whole(part, "after") or (0 if part else -1)


def _filter(role: str, tag: str) -> dict[str, Any]:
    asked = {"role": role if role in _ROLES else "", "tag": tag}
    return {name: value for name, value in asked.items() if value}


def _search(
    desk: Desk, location: Location | None, q: str, wanted: Mapping[str, Any], *, k: int = _HITS
) -> Found:
    spaces = None if location is None else [location.keys["thread_key"]]
    request = SearchRequest(
        query=q, k=k, spaces=spaces, filter=wanted or None, explain=True, touch=False
    )
    return desk.run(desk.ledger.recalling.search(request))


def _why_not(
    desk: Desk,
    location: Location,
    q: str,
    wanted: Mapping[str, Any],
    *,
    found: Found,
    entry_id: int,
) -> tuple[list[str], list[Hit]]:
    """Return why an entry is not among the hits, in words, and its own scores where it has some."""
    for place, hit in enumerate(found.hits, start=1):
        if hit.entry_id == entry_id:
            return [f"It is found: hit {place}."], [hit]
        if entry_id in hit.metadata.get("same_as", ()):
            return [f"It says the same as hit {place} (#{hit.entry_id}), which stands for it."], [
                hit
            ]
    units = desk.run(reading.units_of(location, entry_id))
    if not units:
        return [_NOTHING_OF_IT], []
    reasons: list[str] = []
    tags = sorted({tag for unit in units for tag in unit.tags} & HIDDEN)
    if tags and all(set(unit.tags) & HIDDEN for unit in units):
        reasons.append(
            f"It is tagged {', '.join(tags)}, which is left out unless asked for by tag."
        )
    reasons += _filtered_out(wanted, units)
    alone = {"entry_id": entry_id} | ({"tag": tags} if reasons and tags else {})
    scored = _search(desk, location, q, alone).hits
    reasons += _outscored(scored, found)
    return reasons, scored


def _filtered_out(wanted: Mapping[str, Any], units: list[reading.Unit]) -> list[str]:
    reasons: list[str] = []
    if "role" in wanted and units[0].role != wanted["role"]:
        reasons.append(f"The filter asks for {wanted['role']}, and it was said by {units[0].role}.")
    if "tag" in wanted and not any(wanted["tag"] in unit.tags for unit in units):
        reasons.append(f"The filter asks for the tag {wanted['tag']}, which it has not.")
    return reasons


def _outscored(scored: list[Hit], found: Found) -> list[str]:
    if not scored:
        return ["It shares no word and no exact name with the question, and no vector is near."]
    best, last = scored[0], found.hits[-1] if found.hits else None
    told = [f"By itself its score is {_told(best)}."]
    if last is not None:
        told.append(f"The last of the {len(found.hits)} hits, #{last.entry_id}, has {_told(last)}.")
    if last is not None and best.score >= last.score:
        told.append("Of equal ones the newer stands first, and what is near is told by comparison.")
    return told


def _told(hit: Hit) -> str:
    parts = ("terms", "cosine", "decay", "importance", "superseded")
    factors = (f"{name} {hit.scores[name]:.3f}" for name in parts if name in hit.scores)
    return f"{hit.score:.3f} ({', '.join(factors)})"
