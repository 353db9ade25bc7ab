"""The ways to make a view that are compared, each driven as a host drives it.

A side is handed the whole history before a model call and returns what the model would be
sent. Peers are in :mod:`langledger.evaluate.peers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast
from uuid import uuid4

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, trim_messages
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.runtime import Runtime

from langledger.compaction.options import CompactionOptions
from langledger.compaction.summary_model import for_summaries
from langledger.evaluate.calls import Calls
from langledger.evaluate.stand_in import MAX_SUMMARY, StandIn
from langledger.ledger import Ledger
from langledger.tokens import count_message

__all__ = ["Codex", "FullHistory", "Ours", "Setting", "Side", "Trimming", "quiet_runtime"]

_CODEX_USER_TOKENS = 20_000
_TRIM_TO = 0.45  # of the window
_LEAST_OUTPUT = 100  # tokens; what the option takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What every side of one comparison is told.

    Attributes:
        window: The model's window in tokens.
        threshold: Share of it at which a compaction is due.
        model: Writes summaries; None: :class:`StandIn`.
        cwd: The session's working directory.
        summary_tokens: Most tokens of a summary.
        calls: Counts what is asked of ``model``.
    """

    window: int
    threshold: float = 0.72
    model: BaseChatModel | None = None
    cwd: str | None = None
    summary_tokens: int = MAX_SUMMARY
    calls: Calls = field(default_factory=Calls)

    def writer(self) -> BaseChatModel:
        """Return what writes summaries, within a limit and with the window in its profile."""
        profile: Any = {"max_input_tokens": self.window}
        if self.model is None:
            return StandIn(profile=profile)
        model = for_summaries(self.model, max_output=self.summary_tokens)
        return self.calls.of(model).model_copy(update={"profile": profile})


class Side(Protocol):
    """One way to make a view."""

    @property
    def events(self) -> int:
        """How many compactions there were."""
        ...

    @property
    def asked(self) -> int:
        """How often a summary model was asked."""
        ...

    @property
    def thread_id(self) -> str | None:
        """The thread that recall searches; None: the side has no recall."""
        ...

    def view(self, messages: Sequence[BaseMessage], *, force: bool = False) -> list[BaseMessage]:
        """Return what the model is sent, from the whole history; ``force``: compact now."""
        ...


class _Sizes:
    """Tells when the history since the last event has reached the threshold."""

    def __init__(self, setting: Setting) -> None:
        self.due_at = setting.threshold * setting.window
        self.sizes: dict[int, tuple[BaseMessage, int]] = {}

    def size(self, message: BaseMessage) -> int:
        # The message is kept so that its identity stays its own.
        known = self.sizes.setdefault(id(message), (message, count_message(message)))
        return known[1]

    def due(self, view: Sequence[BaseMessage]) -> bool:
        return sum(self.size(message) for message in view) >= self.due_at


@dataclass(slots=True)
class FullHistory:
    """Nothing is compacted; an event is each time another threshold's worth has come."""

    setting: Setting
    events: int = 0
    thread_id: str | None = None
    asked: int = 0
    _sized: _Sizes = field(init=False)

    def __post_init__(self) -> None:
        self._sized = _Sizes(self.setting)

    def view(self, messages: Sequence[BaseMessage], *, force: bool = False) -> list[BaseMessage]:
        """Return the history."""
        size = sum(self._sized.size(message) for message in messages)
        self.events += force or size >= (self.events + 1) * self._sized.due_at
        return list(messages)


@dataclass(slots=True)
class Trimming:
    """LangChain's ``trim_messages`` at the threshold, to 45 % of the window; no summary.

    What is left begins in the middle of a turn mostly; the newest user message before it is put
    in front, for providers refuse a request that begins with an answer of the model.
    """

    setting: Setting
    events: int = 0
    thread_id: str | None = None
    asked: int = 0
    _start: int = 0
    _sized: _Sizes = field(init=False)

    def __post_init__(self) -> None:
        self._sized = _Sizes(self.setting)

    def view(self, messages: Sequence[BaseMessage], *, force: bool = False) -> list[BaseMessage]:
        """Return the newest messages."""
        if force or self._sized.due(messages[self._start :]):
            self._start = len(messages) - len(self._trimmed(messages))
            self.events += 1
        newest = messages[self._start :]
        spoken = [m for m in messages[: self._start] if isinstance(m, HumanMessage)]
        begins_amid = bool(newest) and not isinstance(newest[0], HumanMessage)
        return [*spoken[-1:], *newest] if begins_amid else list(newest)

    def _trimmed(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        def size(given: list[BaseMessage]) -> int:
            return sum(self._sized.size(message) for message in given)

        return trim_messages(
            list(messages),
            max_tokens=int(_TRIM_TO * self.setting.window),
            token_counter=size,
            strategy="last",
            start_on=("human", "ai"),
        )


@dataclass(slots=True)
class Codex:
    """Codex's rule: the newest user messages, 20,000 tokens of them at most, and a summary.

    The rule is written here after Codex's own; its program is not run.
    """

    setting: Setting
    events: int = 0
    thread_id: str | None = None
    asked: int = 0
    _head: list[BaseMessage] = field(default_factory=list[BaseMessage])
    _start: int = 0
    _sized: _Sizes = field(init=False)

    def __post_init__(self) -> None:
        self._sized = _Sizes(self.setting)

    def view(self, messages: Sequence[BaseMessage], *, force: bool = False) -> list[BaseMessage]:
        """Return user messages, summary, and what came since."""
        view = [*self._head, *messages[self._start :]]
        if not force and not self._sized.due(view):
            return view
        summary = HumanMessage(self._summary(view), additional_kwargs={"lc_source": "codex"})
        self._head = [*self._said(messages), summary]
        self._start = len(messages)
        self.events += 1
        return list(self._head)

    def _summary(self, view: list[BaseMessage]) -> str:
        self.asked += 1
        if self.setting.model is None:
            return StandIn().summarise(view)
        order = HumanMessage("Write a handoff summary of this work for the model that resumes it.")
        return self.setting.writer().invoke([*view, order]).text

    def _said(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        kept: list[BaseMessage] = []
        room = min(_CODEX_USER_TOKENS, self.setting.window // 2)
        for message in reversed(messages):
            if isinstance(message, HumanMessage):
                room -= self._sized.size(message)
                if room < 0:
                    break
                kept.append(message)
        return kept[::-1]


class Ours:
    """langledger's middleware.

    Args:
        ledger: Where the history goes.
        setting: As for every side.
        searched: Whether recall counts for this side.
        options: Of the middleware.
    """

    def __init__(self, ledger: Ledger, setting: Setting, *, searched: bool, **options: Any) -> None:
        chosen: dict[str, Any] = {
            "trigger": setting.threshold,
            "hard_trigger": max(setting.threshold, 0.95),
            "model": None if setting.model is None else setting.writer(),
            "max_summary_tokens": setting.summary_tokens,
            "summary_output_tokens": max(setting.summary_tokens, _LEAST_OUTPUT),
            "summary_timeout": None,  # what it writes is measured, on whatever machine
            **options,
        }
        self._ledger = ledger
        self._middleware = ledger.middleware(
            window=setting.window,
            reserved_output=0,
            cwd=setting.cwd,
            **cast("CompactionOptions", chosen),
        )
        self._model = setting.writer()
        self._thread = f"bench-{uuid4()}"
        self._config = RunnableConfig(configurable={"thread_id": self._thread})
        self._told: list[dict[str, Any]] = []
        self.thread_id: str | None = self._thread if searched else None

    @property
    def events(self) -> int:
        """How many compactions there were."""
        return len(self._told)

    @property
    def asked(self) -> int:
        """How often the summary model was asked."""
        return sum(report["model_calls"] for report in self._told)

    def view(self, messages: Sequence[BaseMessage], *, force: bool = False) -> list[BaseMessage]:
        """Return what the middleware hands on."""
        sent: list[BaseMessage] = []

        def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
            sent.extend([request.system_message] if request.system_message else [])
            sent.extend(request.messages)
            return ModelResponse(result=[])

        if force:
            self._middleware.compact_next(self._thread)
        request: ModelRequest[Any] = ModelRequest(
            model=self._model,
            messages=cast("Any", list(messages)),
            runtime=cast("Any", Runtime(stream_writer=self._listen)),
        )
        with set_config_context(self._config) as context:
            context.run(lambda: self._middleware.wrap_model_call(request, handler))
        return sent

    def _listen(self, event: Any) -> None:
        report = cast("dict[str, dict[str, Any]]", event).get("langledger", {}).get("compaction")
        if report is not None:
            self._told.append(report)


def quiet_runtime() -> Any:
    """Return a runtime whose stream nobody reads."""
    return Runtime(stream_writer=lambda _: None)
