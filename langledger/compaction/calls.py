"""A model call before it is made, and what it is to send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage

from langledger.compaction.brought import Brought
from langledger.compaction.policy import Room
from langledger.compaction.records import CompactionReport
from langledger.compaction.session import View
from langledger.compaction.shares import Shares
from langledger.entries import Location

__all__ = ["ModelCall", "Prepared"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A call of the agent's model as it is about to be made.

    Attributes:
        location: The thread.
        messages: Its whole history, oldest first.
        system: The system message, where it is not among the messages.
        tools: What the model is offered, as objects or schemas.
        window: What the model takes in at most, in tokens.
        reserved: Tokens kept free for its output.
        window_told: The window is what the provider's refusal of an earlier call named.
        model_name: How the model's provider names it.
        model_key: What tells the model from every other in this process; its name where empty.
        task_id: Task the messages belong to.
        user_id: User the thread belongs to.
        cwd: The agent's working directory, to which paths are made relative.
        core: Core knowledge of the project, shown with the system message.
        model: Gives what makes the call, its tools bound, for summaries on the agent's prefix.
    """

    location: Location
    messages: Sequence[BaseMessage]
    system: SystemMessage | None = None
    tools: Sequence[Any] = ()
    window: int
    reserved: int = 0
    window_told: bool = False
    model_name: str = ""
    model_key: str = ""
    task_id: str | None = None
    user_id: str | None = None
    cwd: str | None = None
    core: SystemMessage | None = None
    model: Callable[[], Any] | None = None

    @property
    def key(self) -> str:
        """What is learnt of the model is remembered under this."""
        return self.model_key or self.model_name


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the model is to be sent.

    Attributes:
        view: Its messages.
        tokens: Expected size of the call, system and tools included.
        counted: The same by our own counter, uncalibrated.
        report: The compaction that was made, if one was.
        warning: Why a compaction that was due was not made.
        brought: What was recalled for this call, where that was due.
        shares: What each part of the view takes.
        debug: They are told whatever they are.
        waiting: Messages that wait in memory for the database to come back; None: it is there.
    """

    view: View
    tokens: int
    counted: int
    report: CompactionReport | None = None
    warning: str | None = None
    brought: Brought | None = None
    shares: Shares | None = None
    debug: bool = False
    waiting: int | None = None

    @property
    def scale(self) -> float:
        """The provider's tokens to one of ours."""
        return self.tokens / self.counted if self.counted else 1.0

    @property
    def messages(self) -> list[BaseMessage]:
        """The view as one list, its system message first."""
        return [*([self.view.system] if self.view.system else []), *self.view.messages]

    def too_large(self, room: Room) -> str:
        """Say why the call does not fit its window, and what to do."""
        return (
            f"the model call takes about {self.tokens} tokens and the window is {room.window}: the "
            f"system message and tools take {room.fixed}, and the newest message of the user must "
            "stay as it is. Use a model with a larger window, fewer tools, or a shorter message."
        ) + (f" No compaction was made: {self.warning}." if self.warning else "")
