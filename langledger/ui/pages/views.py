"""What a model call was sent, message by message, and how two calls differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from langledger.compaction.inspection import Viewed, ViewedCall, placed, view_for
from langledger.ui import reading
from langledger.ui.desk import At, Desk, Here, Thread, whole
from langledger.ui.said import Said, said

__all__ = ["router"]

router = APIRouter()
_PAGE = 100
_MOST_LINES = 2_000
_AT_END = 2**62


@router.get("/threads/{thread_key}/view")
def view(
    request: Request, desk: At, here: Thread, answer: str = "", until: str = ""
) -> HTMLResponse:
    """Show the view of the call that an entry answers; without one, that of the next call."""
    wanted = whole(answer, "The call")
    found = _viewed(desk, here, wanted)
    stop = min(whole(until, "until") or len(found.messages), len(found.messages))
    start = max(stop - _PAGE, 0)
    every = list(placed(found))
    head = every[:2] if start else []
    shown = [
        *((m, place) for m, place in head if place in ("system", "compaction")),
        *every[start:stop],
    ]
    return desk.page(
        request,
        "view",
        here=here,
        tab="view",
        call=found,
        shown=[(viewed, place, said(viewed.message)) for viewed, place in shown],
        start=start,
        stop=stop,
        around=desk.run(reading.calls_around(here.location, wanted or _AT_END)),
        parts=_parts(found.messages),
        scopes=desk.run(reading.scopes(here.location)),
    )


@router.get("/threads/{thread_key}/diff")
def diff(request: Request, desk: At, here: Thread, a: str = "", b: str = "") -> HTMLResponse:
    """Show what a call was sent that another was not."""
    first, second = whole(a, "The first call"), whole(b, "The second call")
    old, new = _viewed(desk, here, first), _viewed(desk, here, second)
    return desk.page(
        request,
        "diff",
        here=here,
        tab="view",
        a=first,
        b=second,
        old=old,
        new=new,
        changes=_changes(old.messages, new.messages),
    )


def _viewed(desk: Desk, here: Here, answer: int | None) -> ViewedCall:
    return desk.run(view_for(here.location, answer, redactor=desk.ledger.redactor))


def _parts(messages: Sequence[Viewed]) -> list[tuple[str, int]]:
    """Return the tokens of a view by origin, what was said word for word by role."""
    sizes: Counter[str] = Counter()
    for viewed in messages:
        name = viewed.message.type if viewed.origin == "entry" else viewed.origin
        sizes[name] += viewed.tokens
    return sizes.most_common()


@dataclass(frozen=True, slots=True)
class _Change:
    """One message of two views.

    Attributes:
        kind: In both, in the new one only, in the old one only, or shown otherwise.
        viewed: The message.
        told: Its parts.
        lines: A unified diff, of one shown otherwise.
    """

    kind: Literal["same", "added", "removed", "changed"]
    viewed: Viewed
    told: Said
    lines: tuple[str, ...] = ()


def _changes(old: Sequence[Viewed], new: Sequence[Viewed]) -> list[_Change]:
    mine, theirs = [_key(v) for v in old], [_key(v) for v in new]
    found: list[_Change] = []
    for mark, i, j, k, m in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if mark == "equal":
            pairs = zip(old[i:j], new[k:m], strict=True)
            found += [_same_or_changed(one, other) for one, other in pairs]
            continue
        found += [_Change("removed", viewed, said(viewed.message)) for viewed in old[i:j]]
        found += [_Change("added", viewed, said(viewed.message)) for viewed in new[k:m]]
    return found


def _key(viewed: Viewed) -> tuple[str, int | str]:
    """Return what a message is known by in another view."""
    if viewed.entry_id is not None:
        return "entry", viewed.entry_id
    return viewed.origin, "" if viewed.origin in ("system", "compaction") else str(
        viewed.message.id
    )


def _same_or_changed(one: Viewed, other: Viewed) -> _Change:
    before, now = said(one.message, most=_AT_END), said(other.message, most=_AT_END)
    if before == now:
        return _Change("same", other, now)
    lines = unified_diff(before.text.splitlines(), now.text.splitlines(), lineterm="", n=2)
    kept = [line for line in lines if not line.startswith(("---", "+++"))]
    return _Change("changed", other, now, tuple(kept[:_MOST_LINES]))
