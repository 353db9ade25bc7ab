"""Compaction of langledger and of its peers, each as a host drives it, for the benchmarks here.

Each takes the whole history before a model call and returns what the model would be sent.
`deepagents` and `langmem` are compared where they are installed; langledger needs neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

from langchain.agents.middleware.summarization import SummarizationMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables.config import set_config_context
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from pydantic import Field

from langledger import Ledger

PROVIDER = "bench"
SUMMARY = (
    "The assistant worked on the task the user had asked for. It read the files, changed some of "
    "them, ran the tests, mended what failed and decided to keep the interface as it was. "
) * 6


class Writer(BaseChatModel):
    """A model of a given window that writes the same summary each time, numbered."""

    model_name: str = "writer"
    answer: Any = None
    sent: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "writer"

    def _get_ls_params(self, *args: Any, **kwargs: Any) -> Any:
        # Peers use a report only where it names this provider.
        return {**super()._get_ls_params(*args, **kwargs), "ls_provider": PROVIDER}

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.sent.append(messages)
        said = self.answer if self.answer is not None else f"{SUMMARY} [{len(self.sent)}]"
        if isinstance(said, Exception):
            raise said
        message = said if isinstance(said, AIMessage) else AIMessage(said)
        return ChatResult(generations=[ChatGeneration(message=message.model_copy())])


def writer(window: int, answer: Any = None) -> Writer:
    return Writer(profile={"max_input_tokens": window}, answer=answer, sent=[])


class Ours:
    """langledger's middleware."""

    name = "langledger"

    def __init__(self, ledger: Ledger, window: int, answer: Any = None, **options: Any) -> None:
        self.model = writer(window, answer)
        self.options = options | ({"model": self.model} if answer is not None else {})
        self.middleware = ledger.middleware(window=window, **self.options)
        self.thread = f"peer-{uuid4()}"

    def view(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        sent: list[BaseMessage] = []

        def handler(request: Any) -> Any:
            sent.extend([*([request.system_message] if request.system_message else [])])
            sent.extend(request.messages)
            return ModelResponse(result=[])

        request = ModelRequest(model=self.model, messages=list(messages), runtime=silent())
        with set_config_context({"configurable": {"thread_id": self.thread}}) as context:
            context.run(self.middleware.wrap_model_call, request, handler)
        return sent


class LangChain:
    """LangChain's SummarizationMiddleware: it rewrites the state."""

    name = "langchain"

    def __init__(self, window: int, answer: Any = None, **options: Any) -> None:
        self.model = writer(window, answer)
        self.middleware = SummarizationMiddleware(
            self.model, **({"trigger": ("fraction", 0.72)} | options)
        )
        self.state: list[BaseMessage] = []
        self.known = 0

    def view(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        new = [m.model_copy() for m in messages[self.known :]]
        self.known = len(messages)
        self.state = add_messages(self.state, new)
        update = self.middleware.before_model({"messages": self.state}, silent())
        if update:
            self.state = add_messages(self.state, update["messages"])
        return list(self.state)


class DeepAgents:
    """deepagents' middleware: a view over the state, history put into a file."""

    name = "deepagents"

    def __init__(self, window: int, answer: Any = None, **options: Any) -> None:
        from deepagents.backends import FilesystemBackend
        from deepagents.middleware.summarization import SummarizationMiddleware as Deep

        self.model = writer(window, answer)
        backend = FilesystemBackend(root_dir=mkdtemp(), virtual_mode=True)
        defaults: dict[str, Any] = {"trigger": ("fraction", 0.72), "keep": ("fraction", 0.10)}
        self.middleware = Deep(self.model, backend=backend, **(defaults | options))
        self.state: dict[str, Any] = {}
        self.events = 0  # it compacts without asking the model where it leaves it nothing to read

    def view(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        sent: list[BaseMessage] = []

        def handler(request: Any) -> Any:
            sent[:] = request.messages
            return ModelResponse(result=[AIMessage("ok")])

        request = ModelRequest(
            model=self.model,
            messages=list(messages),
            runtime=silent(),
            state={**self.state, "messages": list(messages)},
        )
        with set_config_context({"configurable": {"thread_id": "peer"}}) as context:
            response = context.run(self.middleware.wrap_model_call, request, handler)
        if isinstance(response, ExtendedModelResponse) and response.command is not None:
            update = dict(response.command.update or {})
            update.pop("messages", None)
            self.events += "_summarization_event" in update
            self.state |= update
        return sent


class LangMem:
    """langmem's summarize_messages, as its SummarizationNode calls it."""

    name = "langmem"

    def __init__(self, window: int, answer: Any = None, **options: Any) -> None:
        self.model = writer(window, answer)
        self.options = {
            "max_tokens": window,
            "max_tokens_before_summary": int(0.72 * window),
            "max_summary_tokens": 1_500,
        } | options
        self.summary: Any = None

    def view(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        from langmem.short_term import summarize_messages

        found = summarize_messages(
            list(messages), running_summary=self.summary, model=self.model, **self.options
        )
        self.summary = found.running_summary or self.summary
        return list(found.messages)


def compactions_of(side: Any, ledger: Ledger) -> int:
    """How often a side has compacted."""
    if isinstance(side, Ours):
        return len(ledger.compactions(side.thread))
    return side.events if isinstance(side, DeepAgents) else len(side.model.sent)


def silent() -> Any:
    return Runtime(stream_writer=lambda _: None)


def peers() -> dict[str, Callable[..., Any]]:
    """The peers that are installed, by name and version."""
    found: dict[str, Callable[..., Any]] = {f"langchain {version('langchain')}": LangChain}
    if find_spec("deepagents"):
        found[f"deepagents {version('deepagents')}"] = DeepAgents
    if find_spec("langmem"):
        found[f"langmem {version('langmem')}"] = LangMem
    return found
