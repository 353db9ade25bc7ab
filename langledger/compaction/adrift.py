"""Model calls while the database is away: the view is made of what is in memory.

The messages of the run wait to be recorded; until then they have no entries, so the numbers they
are shown by are those they get if nobody else writes to the thread. Once the database is back the
view is made of what is recorded, as after any other restart.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import BaseMessage

from langledger.compaction.calls import ModelCall, Prepared
from langledger.compaction.pairing import track
from langledger.compaction.session import Session
from langledger.compaction.step import Step
from langledger.entries import Location
from langledger.errors import DatabaseUnavailableError
from langledger.operations import Operation
from langledger.outage import Held

__all__ = ["Adrift", "compact_adrift", "held"]

_CAPACITY = 256
_UNREAD = "what the compaction would stand for cannot be read while the database is away"


@dataclass(slots=True)
class Adrift:
    """The threads that go on without a database, the least recently used dropped first."""

    _threads: OrderedDict[Location, tuple[Session, int]] = field(
        default_factory=OrderedDict[Location, tuple[Session, int]]
    )

    def join(
        self,
        call: ModelCall,
        known: Session | None,
        begin: Callable[[], Session],
        sizes: Callable[[Sequence[BaseMessage]], list[int]],
    ) -> tuple[Session, int]:
        """Return a thread's session with the call's messages, and how many are not recorded.

        Args:
            call: The call about to be made.
            known: The session from before the outage, if this process has it.
            begin: Makes an empty one.
            sizes: Counts messages, in tokens.
        """
        session, recorded = self._threads.pop(call.location, (known, _length(known)))
        new = session.new_part(call.messages) if session is not None else None
        if session is None or new is None:
            session, recorded, new = begin(), 0, call.messages
        seqs = range(session.last_seq + 1, session.last_seq + 1 + len(new))
        if call.task_id is not None:
            session.tasks |= dict.fromkeys(seqs, call.task_id)
        session.extend(call.messages, track(seqs, new, sizes(new)))
        self._threads[call.location] = session, recorded
        while len(self._threads) > _CAPACITY:
            self._threads.popitem(last=False)
        return session, len(call.messages) - recorded

    def leave(self, location: Location) -> None:
        """Forget a thread: the database is back."""
        self._threads.pop(location, None)


def held(call: ModelCall, session: Session, *, new: int, about: Mapping[str, Any]) -> Held:
    """Return the messages of a call as they are to wait."""
    return Held(
        location=call.location,
        messages=list(call.messages),
        new=new,
        from_start=True,
        facts={
            "task_id": call.task_id,
            "user_id": call.user_id,
            "tokens": [item.tokens for item in session.tracked],
            "about": about,
        },
    )


def compact_adrift(step: Step) -> Operation[Prepared]:
    """Compact a view in memory: by extraction, for answers of a model cannot be kept."""
    step.summariser = replace(step.summariser, model=None, cache_aligned=False)
    try:
        made = yield from step.make()
    except DatabaseUnavailableError:  # what the application took out of its history
        made = _UNREAD
    return step.decline(made) if isinstance(made, str) else made[0]


def _length(session: Session | None) -> int:
    return 0 if session is None else len(session.known.messages)
