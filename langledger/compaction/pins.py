"""Pins: what a user wants in every view after a compaction, whatever is summarised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

from langchain_core.messages import HumanMessage
from pydantic import BaseModel, ConfigDict

from langledger.arguments import check_text, check_whole, shown
from langledger.compaction.records import (
    CompactionReport,
    commit,
    cut_of,
)
from langledger.compaction.transcript import is_request, readable_text, request_text
from langledger.compaction.view import Cut, repinned
from langledger.database.queries import load_queries
from langledger.encryption import Content, Named
from langledger.encryption.places import PIN_SAID_BY, PIN_TEXT
from langledger.entries import Entry, Location, load
from langledger.entries.codec import storable
from langledger.errors import ConfigurationError
from langledger.operations import Operation, Row, fetch
from langledger.tokens import count_text

__all__ = ["Pin", "Pinned", "hidden_pins", "pin", "pins_of", "render_pins", "unpin"]

_queries = load_queries("langledger.compaction")

# How often a view is offered again when compactions are faster.
_ATTEMPTS = 5
_NOTICE = 40  # tokens
_NAMED = 5
_SAID_BY = {"human": "the user", "ai": "the assistant", "tool": "a tool", "system": "the system"}


class Pin(BaseModel):
    """Something pinned in a thread.

    Attributes:
        pin_id: Its number in the thread, from 1.
        thread_id: The thread.
        text: What the view shows.
        said_by: Who said it, such as ``the user``; empty for a text that is no message.
        entry_id: The entry whose text it is; None for a text that is no message.
        priority: Where there is not room for all, those of higher priority stay.
        tokens: Size of the text.
        created_at: When it was pinned.
    """

    model_config = ConfigDict(frozen=True)

    pin_id: int
    thread_id: str
    text: str
    said_by: str = ""
    entry_id: int | None = None
    priority: int = 0
    tokens: int
    created_at: datetime

    @property
    def shown(self) -> str:
        """The pin as a view shows it."""
        whose = [f"p{self.pin_id}"]
        whose += [f"said by {self.said_by}"] if self.said_by else []
        whose += [f"entry #{self.entry_id}"] if self.entry_id is not None else []
        return f"[{', '.join(whose)}]\n{self.text}"


@dataclass(frozen=True, slots=True)
class Pinned:
    """The pins of a view as one text.

    Attributes:
        text: Within the budget; empty where nothing is pinned.
        shown: How many pins it shows.
        dropped: The pins there was no room for; the text says so.
    """

    text: str = ""
    shown: int = 0
    dropped: tuple[int, ...] = ()


def pin(
    location: Location,
    text: str | None = None,
    *,
    message_id: str | None = None,
    entry_id: int | None = None,
    priority: int = 0,
) -> Operation[Pin]:
    """Pin a text, or what a message says, to the views of a thread.

    A view that is compacted already shows it from the next call on. What is pinned already is
    not pinned twice; its priority is changed.

    Args:
        location: The thread.
        text: A text of its own.
        message_id: The message whose text is pinned, as the application names it.
        entry_id: The same by its entry.
        priority: Where there is not room for all pins, those of higher priority stay, and of
            equal ones the newest.

    Raises:
        ConfigurationError: Not exactly one of the three is given, or there is no such thread
            or message.
    """
    if sum(given is not None for given in (text, message_id, entry_id)) != 1:
        raise ConfigurationError("give one of text, message_id and entry_id to say what to pin")
    check_whole("priority", priority, least=-1000, most=1000)
    said_by = ""
    if text is not None:
        check_text("text", text.strip() if isinstance(text, str) else text)  # pyright: ignore[reportUnnecessaryIsInstance] - users need not type
    else:
        entry = yield from _entry(location, message_id, entry_id)
        text, said_by, entry_id = _said(entry), _who(entry), entry.entry_id
    identity = f"#{entry_id}" if entry_id is not None else text
    digest = Named(blake2b(identity.encode(), digest_size=16).digest())
    rows = yield from fetch(
        _queries["pin"],
        **location.keys,
        seq=entry_id,
        digest=digest,
        text=Content(PIN_TEXT, text),
        said_by=Content(PIN_SAID_BY, said_by),
        priority=priority,
    )
    if not rows:
        raise ConfigurationError(f"there is no thread {location.thread_id!r} to pin to yet")
    yield from _refresh(location)
    return _pin(location, rows[0])


def unpin(location: Location, pin_id: int) -> Operation[bool]:
    """Take a pin away; False where there is none of this number."""
    check_whole("pin_id", pin_id, least=1, most=2**31 - 1)
    rows = yield from fetch(_queries["unpin"], **location.keys, pin_id=pin_id)
    if rows:
        yield from _refresh(location)
    return bool(rows)


def pins_of(location: Location) -> Operation[list[Pin]]:
    """Return a thread's pins, oldest first."""
    rows = yield from fetch(_queries["pins"], **location.keys)
    return [_pin(location, row) for row in rows]


def render_pins(pins: Iterable[Pin], *, max_tokens: int) -> Pinned:
    """Return pins as one text within a budget; the oldest of the lowest priority are left out.

    Of one that comes first and is larger than all the room its beginning is shown. What is left
    out is told in the text, so that nobody takes it for the whole.
    """
    pins = list(pins)
    room = max_tokens - (_NOTICE if sum(map(_cost, pins)) > max_tokens else 0)
    kept: list[Pin] = []
    for item in sorted(pins, key=lambda item: (item.priority, item.pin_id), reverse=True):
        fitting = item if kept or _cost(item) <= room else _beginning(item, room)
        if _cost(fitting) <= room:
            kept.append(fitting)
            room -= _cost(fitting)
    kept.sort(key=lambda item: item.pin_id)
    in_view = {item.pin_id for item in kept}
    dropped = tuple(item.pin_id for item in pins if item.pin_id not in in_view)
    parts = [item.shown for item in kept]
    if dropped:
        parts.append(_notice(dropped, max_tokens))
    return Pinned("\n\n".join(parts), len(kept), dropped)


def hidden_pins(pins: Sequence[Pin], cut: Cut) -> list[Pin]:
    """Return the pins that this compaction does not leave in view as messages."""

    def is_in_view(seq: int) -> bool:
        present = seq in cut.history or seq > cut.seen
        return present and not (seq in cut.covered or seq in cut.masked or seq in cut.clipped)

    return [item for item in pins if item.entry_id is None or not is_in_view(item.entry_id)]


def _cost(item: Pin) -> int:
    return count_text(item.shown) + 2


def _beginning(item: Pin, room: int) -> Pin:
    """Return as much of a pin as there is room for, and where the whole is."""
    where = f"; all of it is entry #{item.entry_id}" if item.entry_id is not None else ""
    note = f"\n[Cut here: it has {count_text(item.text)} tokens{where}.]"
    cut, length = item, len(item.text)
    while length > 1 and _cost(cut) > room:
        length = min(length - 1, int(length * room / _cost(cut)))
        cut = item.model_copy(update={"text": item.text[:length].rstrip() + note})
    return cut


def _notice(dropped: Sequence[int], max_tokens: int) -> str:
    names = ", ".join(f"p{number}" for number in dropped[:_NAMED])
    more = f" and {len(dropped) - _NAMED} more" if len(dropped) > _NAMED else ""
    return f"[Pinned too, but not shown: {names}{more}; pins have {max_tokens} tokens.]"


def _entry(location: Location, message_id: str | None, entry_id: int | None) -> Operation[Entry]:
    named = f"message {shown(message_id)}" if entry_id is None else f"entry #{shown(entry_id)}"
    if entry_id is None:
        wanted = check_text("message_id", message_id)
        rows = yield from fetch(_queries["seq_of"], **location.keys, message_id=wanted)
        entry_id = rows[0]["seq"] if rows else 0
    found = yield from load(location, [check_whole("entry_id", entry_id)])
    if not found or not _said(found[0]):
        raise ConfigurationError(
            f"the thread {location.thread_id!r} has no {named} that says anything; "
            "`langledger show` lists its entries"
        )
    return found[0]


def _said(entry: Entry) -> str:
    message = entry.message
    text = request_text(message) if isinstance(message, HumanMessage) else readable_text(message)
    return storable(text).strip()


def _who(entry: Entry) -> str:
    if isinstance(entry.message, HumanMessage) and not is_request(entry.message):
        return "the host"
    return _SAID_BY.get(entry.role, entry.role)


def _pin(location: Location, row: Row) -> Pin:
    return Pin(
        pin_id=row["pin_id"],
        thread_id=location.thread_id,
        text=row["text"],
        said_by=row["said_by"],
        entry_id=row["seq"],
        priority=row["priority"],
        tokens=count_text(row["text"]),
        created_at=row["created_at"],
    )


def _refresh(location: Location) -> Operation[None]:
    """Show the pins as they are now in the views of a thread that is compacted already."""
    for _ in range(_ATTEMPTS):
        pins = yield from pins_of(location)
        rows = yield from fetch(_queries["newest"], **location.keys)
        won = True
        for row in rows:
            scoped = replace(location, scope=row["scope"])
            won &= yield from _show(scoped, cut_of(row), row["report"], pins)
        if won:
            return


def _show(location: Location, cut: Cut, report: Row, pins: Sequence[Pin]) -> Operation[bool]:
    pinned = render_pins(hidden_pins(pins, cut), max_tokens=cut.pinned_tokens)
    head = repinned(cut.head, pinned.text)
    if head == cut.head:
        return True
    grown = count_text(head) - count_text(cut.head)
    after = replace(cut, generation=cut.generation + 1, head=head, size=cut.size + grown)
    before = CompactionReport(thread_id=location.thread_id, **report)
    changes: dict[str, Any] = {
        "generation": after.generation,
        "reason": "pinned",
        "tokens_before": before.tokens_after,
        "tokens_after": before.tokens_after + grown,
        "seconds": 0.0,
        "model_calls": 0,
        "newly_covered": 0,
        "rejected": [],
        "pinned": pinned.shown,
        "pins_dropped": len(pinned.dropped),
    }
    return (yield from commit(location, after, before.model_copy(update=changes)))
