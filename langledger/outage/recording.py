"""Recording that goes on while the database is away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import BaseMessage

from langledger import entries
from langledger.entries import Location, Recorded
from langledger.entries.checks import checked_messages
from langledger.operations import Operation
from langledger.outage.buffer import Held, Outage

__all__ = ["append"]


def append(
    outage: Outage | None,
    location: Location,
    messages: Sequence[BaseMessage],
    *,
    from_start: bool = False,
    **facts: Any,
) -> Operation[Recorded]:
    """Record messages; see :func:`langledger.entries.append`.

    Args:
        outage: Where they wait while the database is away; None: that is an error.
        location: The thread.
        messages: What to record, in order. Those without an id are given one where they may have
            to wait, so that they are recorded once however often that is tried.
        from_start: The list begins at the thread's beginning.
        facts: What else the append is to be given.

    Raises:
        DatabaseUnavailableError: The database is away, and no more may wait.
    """
    if outage is None:
        return (yield from entries.append(location, messages, from_start=from_start, **facts))
    messages = checked_messages(messages)
    if not from_start:
        messages = [m if m.id else m.model_copy(update={"id": str(uuid4())}) for m in messages]
    held = Held(
        location=location,
        messages=list(messages),
        new=len(messages),
        from_start=from_start,
        facts=facts,
    )

    def wait() -> Operation[Recorded]:
        outage.hold(held)
        yield from ()
        return Recorded([], 0, waiting=len(messages))

    operation = entries.append(location, messages, from_start=from_start, **facts)
    return (yield from outage.bridge(operation, wait))
