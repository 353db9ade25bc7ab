"""Compaction in any ``StateGraph``: views of its state, and a node that gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_stream_writer

from langledger.arguments import check_optional, check_switch, check_text
from langledger.compaction.compactor import Compactor, ModelCall, Prepared
from langledger.compaction.host import (
    Host,
    check_host,
    check_llm,
    locate,
    model_key,
    model_name,
    reserved_output,
    task_of,
    user_of,
    window_of,
)
from langledger.compaction.options import CompactionOptions, compactor_of
from langledger.compaction.returned import State, as_messages, read_messages
from langledger.compaction.telemetry import announce
from langledger.errors import ConfigurationError
from langledger.operations import Operation, arun, run

__all__ = ["CompactionNode", "Viewer", "stream_writer"]

_NOT_ALIGNED = (
    "cache_aligned writes the summary on the agent's own call, which only the middleware of "
    "create_agent is told: use ledger.middleware(cache_aligned=True), or name a model that writes "
    "summaries with model="
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Makes views of a graph's state.

    Attributes:
        host: The ledger.
        compactor: When and how to compact.
        window: The model's window in tokens.
        reserved: Tokens kept free for its output.
        model: The model's name.
        model_key: What it is known by in this process.
        messages_key: The state's key that holds the messages.
    """

    host: Host
    compactor: Compactor
    window: int
    reserved: int
    model: str
    model_key: str
    messages_key: str

    @classmethod
    def of(
        cls,
        host: Host,
        *,
        window: int | None,
        llm: BaseChatModel | None,
        messages_key: str,
        lookup: bool = False,
        **options: Unpack[CompactionOptions],
    ) -> Viewer:
        """Return a viewer for calls of ``llm``, or of a model with this window.

        Raises:
            ConfigurationError: An argument cannot be used, ``cache_aligned`` for one: a node is
                not told how the model is called.
            WindowUnknownError: Neither ``window`` nor ``llm`` tells the window.
        """
        check_host(host)
        check_llm(llm)
        check_text("messages_key", messages_key)
        check_switch("lookup", lookup)
        if options.get("cache_aligned") is True:
            raise ConfigurationError(_NOT_ALIGNED)
        size = window_of(llm, window)
        return cls(
            host=host,
            compactor=compactor_of(
                can_look_up=lookup,
                redactor=host.redactor,
                keeper=host.keeper,
                recalling=host.recalling,
                long_term=host.long_term,
                defaults=host.compaction_defaults,
                outage=host.outage,
                **options,
            ),
            window=size,
            reserved=reserved_output(llm, size),
            model=model_name(llm),
            model_key=model_key(llm),
            messages_key=messages_key,
        )

    def call(self, state: State, config: RunnableConfig) -> ModelCall:
        """Return the model call that a node is about to make on this state."""
        messages = as_messages(read_messages(state, self.messages_key))
        return ModelCall(
            location=locate(self.host.tenant, config, messages, messages_key=self.messages_key),
            task_id=task_of(config),
            user_id=user_of(config),
            messages=messages,
            window=self.window,
            reserved=self.reserved,
            model_name=self.model,
            model_key=self.model_key,
        )

    def prepare(
        self, planned: ModelCall, *, force: str | None = None, below: int | None = None
    ) -> Operation[Prepared]:
        """Record, compact where due, and return the view the model is to be sent."""
        prepared = yield from self.compactor.prepare(planned, force=force, below=below)
        announce(prepared, stream_writer())
        return prepared


class CompactionNode(Runnable[Any, dict[str, Any]]):
    """A node that puts the view of the state's messages under another key.

    The messages themselves stay as they are; the LLM node reads the view. To have a
    graph's edges redirected and the LLM node read the view by itself, use
    :func:`~langledger.compaction.insert.insert_compaction`.

    Args:
        ledger: Where the history is kept.
        window: The model's window in tokens; default: as the profile of ``llm`` tells.
        llm: The model the LLM node calls.
        messages_key: Key of the state that holds the messages.
        output_messages_key: Key the view is put under; None: the node only compacts.
        lookup: The model has the tool ``recall_history`` (``ledger.recall_tool()``).
        options: See :class:`~langledger.compaction.options.CompactionOptions`.
    """

    def __init__(
        self,
        ledger: Host,
        *,
        window: int | None = None,
        llm: BaseChatModel | None = None,
        messages_key: str = "messages",
        output_messages_key: str | None = "llm_input_messages",
        lookup: bool = False,
        **options: Unpack[CompactionOptions],
    ) -> None:
        self._viewer = Viewer.of(
            ledger, window=window, llm=llm, messages_key=messages_key, lookup=lookup, **options
        )
        self._output_key = check_optional("output_messages_key", output_messages_key)

    def invoke(
        self,
        input: Any,  # noqa: A002 - the name Runnable gives it
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - the signature of Runnable
    ) -> dict[str, Any]:
        """Compact where due; return the view under the output key."""
        return run(self._view(input, config or {}), self._viewer.host.executor)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - the name Runnable gives it
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - the signature of Runnable
    ) -> dict[str, Any]:
        """Await :meth:`invoke`."""
        return await arun(self._view(input, config or {}), self._viewer.host.executor)

    def _view(self, state: State, config: RunnableConfig) -> Operation[dict[str, Any]]:
        prepared = yield from self._viewer.prepare(self._viewer.call(state, config))
        messages = prepared.messages
        _keep_out_of_streams(config, messages)
        return {} if self._output_key is None else {self._output_key: messages}


def _keep_out_of_streams(config: RunnableConfig, messages: list[BaseMessage]) -> None:
    """Let ``stream_mode="messages"`` pass over what the view holds of ours.

    LangGraph streams the messages a node gives that it has not seen before; it would show the
    user the summary.
    """
    ours = {message.id for message in messages if "langledger" in message.additional_kwargs}
    callbacks: Any = config.get("callbacks")
    for handler in getattr(callbacks, "handlers", callbacks) or ():
        seen = getattr(handler, "seen", None)
        if isinstance(seen, set):
            cast("set[Any]", seen).update(ours)


def stream_writer() -> Callable[[Any], None] | None:
    """Return what writes custom stream events of the surrounding run; None outside of one."""
    try:
        return get_stream_writer()
    except RuntimeError:
        return None
