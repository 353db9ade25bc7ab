"""The working state of a session, read from its messages when somebody asks for it.

Reading what a message did takes longer than all else that is done with it before a call, and
most calls need no state. What is new waits until one does; read together or one by one, it
gives the same state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from langledger.compaction.pairing import Tracked
from langledger.redaction import Redactor
from langledger.state.edits import apply_event
from langledger.state.fold import StateFold
from langledger.state.records import WorkingState
from langledger.state.store import Event

__all__ = ["Folding"]


@dataclass(slots=True)
class Folding:
    """Folds messages into a state, no earlier than it must.

    Attributes:
        cwd: The session's directory.
        redactor: Takes secrets out of what is read.
        tasks: The tasks that entries were given; more may come.
    """

    cwd: str | None
    redactor: Redactor
    tasks: Mapping[int, str]
    _fold: StateFold = field(init=False)
    _waiting: list[Tracked] = field(default_factory=list[Tracked])

    def __post_init__(self) -> None:
        self.begin(None)

    def begin(self, state: WorkingState | None) -> None:
        """Start from a state, before any message."""
        self._fold = StateFold(state, cwd=self.cwd)
        self._waiting = []

    def add(self, item: Tracked) -> None:
        """Take in the next message."""
        self._waiting.append(item)

    def merge(self, event: Event) -> None:
        """Take in what a model or a person said of the messages so far."""
        apply_event(self._read(), event.number, event.body, at=event.created_at)

    @property
    def state(self) -> WorkingState:
        """The state after the newest message."""
        return self._read().state

    def _read(self) -> StateFold:
        waiting, self._waiting = self._waiting, []
        for item in waiting:
            message = self.redactor.message(item.message)
            self._fold.add(message, item.seq, task_id=self.tasks.get(item.seq))
        return self._fold
