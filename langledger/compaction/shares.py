"""What each part of a view takes, and which part starves another. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from langledger.compaction.policy import Room
from langledger.compaction.session import Session, View

__all__ = ["Shares", "labelled", "shares_of"]

_HALF = 0.5
_TENTH = 0.1
_TIGHT = 0.72


@dataclass(frozen=True, slots=True)
class Shares:
    """Tokens of a view by part, by our counter.

    Attributes:
        parts: ``system``, ``tools``, ``summary`` (with pins), ``state``, ``recalled``,
            ``recent`` and ``newest``, the user's newest message.
        usable: Window less reserved output.
        warnings: Which part starves another.
    """

    parts: Mapping[str, int]
    usable: int
    warnings: list[str] = field(default_factory=list[str])

    def as_event(self) -> dict[str, Any]:
        """Return them as a stream event tells them."""
        free = self.usable - sum(self.parts.values())
        return {"parts": dict(self.parts), "usable": self.usable, "free": free} | (
            {"warnings": list(self.warnings)} if self.warnings else {}
        )


def shares_of(session: Session, view: View, room: Room, *, tools: int) -> Shares:
    """Return what each part of a view takes.

    Args:
        session: The thread.
        view: What the model is sent.
        room: The space of the call.
        tools: Tokens of the tools.
    """
    request = session.newest_request
    newest = session.shown_tokens(request) if request is not None else 0
    recalled = sum(map(session.count, session.brought_in_view.values()))
    summary, state = session.head_tokens
    parts = {
        "system": room.fixed - tools,
        "tools": tools,
        "summary": summary,
        "state": state,
        "recalled": recalled,
        "recent": max(0, view.tokens - summary - state - recalled - newest),
        "newest": newest,
    }
    return Shares(parts, room.usable, _warnings(parts, room.usable))


def labelled(view: View, session: Session) -> View:
    """Return the view with each message's origin in its ``additional_kwargs["langledger"]``."""
    entries = {id(m.message): m.seq for unit in session.units for m in unit.members}
    messages = [_labelled(message, entries.get(id(message))) for message in view.messages]
    system = view.system and _labelled(view.system, None, origin="system")
    return View(system, messages, view.tokens)


def _labelled(message: Any, entry: int | None, *, origin: str = "history") -> Any:
    given: BaseMessage = message
    known = given.additional_kwargs.get("langledger")
    label: dict[str, object] = {"origin": origin} if known is None else dict(known)
    if entry is not None:
        label["entry"] = entry
    marked = {**given.additional_kwargs, "langledger": label}
    return given.model_copy(update={"additional_kwargs": marked})


def _warnings(parts: Mapping[str, int], usable: int) -> list[str]:
    fixed = parts["system"] + parts["tools"]
    ours = parts["summary"] + parts["state"] + parts["recalled"]
    found: list[str] = []
    if fixed > _HALF * usable:
        found.append(
            f"system message and tools take {fixed / usable:.0%} of the room: offer fewer tools, "
            "or shorten the system message"
        )
    if ours > _HALF * usable:
        found.append(
            f"summary, state and recalled text take {ours / usable:.0%} of the room: lower "
            "max_summary_tokens, max_state_tokens or max_recalled_tokens"
        )
    if parts["newest"] > _HALF * usable:
        found.append(f"the user's newest message takes {parts['newest'] / usable:.0%} of the room")
    full = sum(parts.values()) > _TIGHT * usable
    if not found and full and parts["recent"] + parts["newest"] < _TENTH * usable:
        found.append("the conversation itself has less than a tenth of the room")
    return found
