"""A recorded session fed through the real middleware, call by call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.runtime import Runtime

from langledger.compaction.middleware import LedgerMiddleware
from langledger.compaction.records import CompactionReport
from langledger.errors import ConfigurationError
from langledger.ledger import Ledger
from langledger.replay.claims import claimed, describe
from langledger.replay.session import Session
from langledger.state.records import WorkingState

__all__ = ["Replay", "ReplayedCompaction", "replay"]

# The recorded answers take the model's place; the middleware asks it for nothing.
_RECORDED = FakeListChatModel(responses=[""])


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCompaction:
    """One compaction of a replay.

    Attributes:
        index: Messages of the session that had been lived when it fired.
        report: What it did.
        view: What the model was sent then, system message first.
        state: The working state then.
    """

    index: int
    report: CompactionReport
    view: list[BaseMessage]
    state: WorkingState


@dataclass(slots=True, kw_only=True)
class Replay:
    """What a replay gave.

    Attributes:
        thread_id: The thread that holds the session's entries now.
        format: The session's format.
        messages: How many messages it has.
        window: The window it was replayed at, in tokens.
        trigger: The share of it that sets off a compaction.
        compactions: In order.
        final_view: What the model would be sent next.
        state: The working state at the end.
    """

    thread_id: str
    format: str
    messages: int
    window: int
    trigger: float
    compactions: list[ReplayedCompaction] = field(default_factory=list[ReplayedCompaction])
    final_view: list[BaseMessage] = field(default_factory=list[BaseMessage])
    state: WorkingState = field(default_factory=WorkingState)


def replay(
    session: Session,
    ledger: Ledger,
    *,
    window: int,
    thread_id: str,
    trigger: float = 0.72,
    compact_at: Sequence[int] = (),
    model: BaseChatModel | str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Let an agent with the middleware live a recorded session again.

    Before each recorded answer the middleware prepares the model call from the messages so
    far; the recorded answer is what the model says.

    Args:
        session: What was recorded.
        ledger: Where the entries and compactions go.
        window: The model's context window, in tokens.
        thread_id: The thread to write; it must be new, or left by a replay that was killed.
        trigger: Share of the window that sets off a compaction.
        compact_at: Compact before these messages too, whatever the size.
        model: Writes summaries; None: extractive.
        progress: Told how many messages of how many are done.

    Raises:
        ConfigurationError: The thread exists, or an option cannot be used; nothing is written.
        SerializationError: A message holds a value that cannot be stored; nothing is written.
        NothingToShrinkError: The session cannot be lived within this window.

    Whatever is raised, Ctrl-C included, the thread is removed, and a note on the error says so.
    """
    total = len(session.messages)
    wrong = [index for index in compact_at if not 0 < index <= total]
    if wrong:
        raise ConfigurationError(f"--compact-at {wrong[0]} is outside the session's 1 to {total}")
    middleware = ledger.middleware(
        window=window, reserved_output=0, trigger=trigger, model=model, cwd=session.cwd
    )
    result = Replay(
        thread_id=thread_id,
        format=session.format,
        messages=total,
        window=window,
        trigger=trigger,
    )
    with claimed(ledger, thread_id, describe(session, window=window)):
        _play(session, _Player(ledger, middleware, result), frozenset(compact_at), progress)
    return result


def _play(
    session: Session,
    player: _Player,
    compact_at: Collection[int],
    progress: Callable[[int, int], None] | None,
) -> None:
    total = len(session.messages)
    for done, item in enumerate(session.messages):
        if done in compact_at:
            player.compact(done)
        player.live(done, item.message, shown=item.shown)
        if progress is not None:
            progress(done + 1, total)
    if total in compact_at:
        player.compact(total)
    player.finish(total)


class _Player:
    """Plays messages into the middleware and notes what it does."""

    def __init__(self, ledger: Ledger, middleware: LedgerMiddleware, result: Replay) -> None:
        self._ledger = ledger
        self._middleware = middleware
        self._result = result
        self._history: list[BaseMessage] = []
        self._recorded = 0  # how many of them a call has made entries
        self._reports: list[CompactionReport] = []
        self._config = RunnableConfig(configurable={"thread_id": result.thread_id})
        self._runtime: Runtime[Any] = Runtime(stream_writer=self._listen)

    def live(self, index: int, message: BaseMessage, *, shown: bool) -> None:
        """Take in the next message; the model's own are what it answers to a call."""
        if not shown:  # the recorded agent's own summary: kept, never shown to ours
            messages = [*self._history[self._recorded :], message]  # in the order they were lived
            self._ledger.append(messages, thread_id=self._result.thread_id)
        elif isinstance(message, AIMessage) and self._history:
            self._call(index, message)
            self._history.append(message)
        else:
            self._history.append(message)

    def compact(self, index: int) -> None:
        """Compact now, as a user who asks for it."""
        if self._history:
            self._middleware.compact_next(self._result.thread_id)
            self._call(index, None)

    def finish(self, index: int) -> None:
        """Note the view and state that the next call would have."""
        if self._history:
            self._result.final_view = self._call(index, None)
        self._result.state = self._ledger.state(self._result.thread_id)

    def _call(self, index: int, answer: AIMessage | None) -> list[BaseMessage]:
        """Make the model call at this point; None: the session has no answer to it."""
        sent: list[BaseMessage] = []

        def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
            system = [request.system_message] if request.system_message else []
            sent.extend([*system, *request.messages])
            return ModelResponse(result=[answer] if answer is not None else [])

        request: ModelRequest[Any] = ModelRequest(
            model=_RECORDED,
            messages=cast("Any", list(self._history)),
            runtime=cast("Any", self._runtime),
        )
        with set_config_context(self._config) as context:
            context.run(self._middleware.wrap_model_call, request, handler)
        self._recorded = len(self._history)
        while self._reports:
            self._note(index, self._reports.pop(0), sent)
        return sent

    def _note(self, index: int, report: CompactionReport, view: list[BaseMessage]) -> None:
        state = self._ledger.state(self._result.thread_id)
        self._result.compactions.append(
            ReplayedCompaction(index=index, report=report, view=view, state=state)
        )

    def _listen(self, event: Any) -> None:
        told = cast("dict[str, dict[str, Any]]", event).get("langledger", {})
        if "compaction" in told:
            self._reports.append(CompactionReport.model_validate(told["compaction"]))
