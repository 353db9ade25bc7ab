"""Compaction of other packages, by their own code, as a host drives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, cast
from weakref import finalize

from langchain.agents.middleware.summarization import SummarizationMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables.config import set_config_context
from langgraph.graph.message import add_messages

from langledger.evaluate.sides import Setting, quiet_runtime
from langledger.evaluate.stand_in import StandIn

__all__ = ["DeepAgents", "LangChain", "LangMem", "installed"]

_NOW = ("messages", 1)  # a trigger that always fires: how these are asked to compact now


def installed(package: str) -> str | None:
    """Return the version of a package, None where it is not installed."""
    return version(package) if find_spec(package) else None


class _Peer:
    """What the peers share: their summary model, and how often it was asked."""

    def __init__(self, setting: Setting) -> None:
        self.model = setting.writer()
        self._calls = setting.calls
        self.events = 0
        self.thread_id: str | None = None

    @property
    def asked(self) -> int:
        """How often the summary model was asked."""
        return self.model.asked if isinstance(self.model, StandIn) else self._calls.asked

    def _summarizer(self) -> Mapping[str, Any]:
        # The stand-in reads messages; a real model gets the peer's own prompt.
        return {"summarizer": self.model.summarise} if isinstance(self.model, StandIn) else {}


class LangChain(_Peer):
    """LangChain's ``SummarizationMiddleware``: it rewrites the agent's messages."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting)
        self._middleware = self._made(("fraction", setting.threshold), options)
        self._forced = self._made(_NOW, options)
        self._state: list[BaseMessage] = []
        self._known = 0

    def _made(self, trigger: Any, options: Mapping[str, Any]) -> SummarizationMiddleware:
        return SummarizationMiddleware(
            self.model, trigger=trigger, **self._summarizer(), **cast("Any", options)
        )

    def view(self, messages: Sequence[BaseMessage], *, force: bool = False) -> list[BaseMessage]:
        """Return the agent's messages after ``before_model``."""
        new = [m.model_copy() for m in messages[self._known :]]
        self._known = len(messages)
        self._state = _added(self._state, new)
        chosen = self._forced if force else self._middleware
        update = chosen.before_model(cast("Any", {"messages": self._state}), quiet_runtime())
        if update:
            self._state = _added(self._state, update["messages"])
            self.events += 1
        return list(self._state)


class DeepAgents(_Peer):
    """deepagents' middleware: a view over the agent's messages, the history put into a file."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting)
        keep: dict[str, Any] = {"keep": ("fraction", 0.10), **options}
        self._middleware = self._made(("fraction", setting.threshold), keep)
        self._forced = self._made(_NOW, keep)
        self._state: dict[str, Any] = {}

    def _made(self, trigger: Any, options: Mapping[str, Any]) -> Any:
        from deepagents import backends  # noqa: PLC0415 - of the extra bench
        from deepagents.middleware import summarization  # noqa: PLC0415 - as above

        folder = mkdtemp(prefix="langledger-bench-")
        finalize(self, rmtree, folder, ignore_errors=True)
        return summarization.SummarizationMiddleware(
            self.model,
            backend=backends.FilesystemBackend(root_dir=folder, virtual_mode=True),
            trigger=trigger,
            **self._summarizer(),
            **cast("Any", options),
        )

    def view(self, messages: Sequence[BaseMessage], *, force: bool = False) -> list[BaseMessage]:
        """Return what ``wrap_model_call`` hands on."""
        sent: list[BaseMessage] = []

        def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
            sent[:] = request.messages
            return ModelResponse(result=[AIMessage("ok")])

        request: ModelRequest[Any] = ModelRequest(
            model=self.model,
            messages=cast("Any", list(messages)),
            runtime=quiet_runtime(),
            state=cast("Any", {**self._state, "messages": list(messages)}),
        )
        chosen = self._forced if force else self._middleware
        with set_config_context({"configurable": {"thread_id": "bench"}}) as context:
            response: object = context.run(chosen.wrap_model_call, request, handler)
        self._note(response)
        return sent

    def _note(self, response: object) -> None:
        if isinstance(response, ExtendedModelResponse) and response.command is not None:
            update = dict(cast("Mapping[str, Any]", response.command.update or {}))
            update.pop("messages", None)
            self.events += "_summarization_event" in update
            self._state |= update


class LangMem(_Peer):
    """langmem's ``SummarizationNode``."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting)
        self._node = self._made(setting, options)
        self._context: dict[str, Any] = {}

    def _made(self, setting: Setting, options: Mapping[str, Any]) -> Any:
        from langmem.short_term import SummarizationNode  # noqa: PLC0415 - of the extra bench

        chosen: dict[str, Any] = {
            "max_tokens": setting.window,
            "max_tokens_before_summary": int(setting.threshold * setting.window),
            # It refuses a window that a summary could fill.
            "max_summary_tokens": min(setting.summary_tokens, setting.window // 2),
            **options,
        }
        return SummarizationNode(model=self.model, **chosen)

    def view(self, messages: Sequence[BaseMessage], *, force: bool = False) -> list[BaseMessage]:  # noqa: ARG002 - it cannot be forced
        """Return ``summarized_messages``."""
        given = {"messages": list(messages), "context": self._context}
        found = cast("dict[str, Any]", self._node.invoke(given))
        before = self._context.get("running_summary")
        self._context = found.get("context", self._context)
        self.events += self._context.get("running_summary") is not before
        return list(found["summarized_messages"])


def _added(state: list[BaseMessage], new: Sequence[BaseMessage]) -> list[BaseMessage]:
    return cast("list[BaseMessage]", add_messages(cast("Any", state), cast("Any", list(new))))
