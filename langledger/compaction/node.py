"""Compaction in any ``StateGraph``: a visible node, and a guard around the LLM node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, TypeVar, Unpack, cast
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.config import get_stream_writer
from langgraph.types import Command
from pydantic import BaseModel

from langledger.compaction.compactor import Compactor, ModelCall, Prepared
from langledger.compaction.host import (
    Host,
    is_overflow,
    locate,
    model_name,
    reserved_output,
    window_of,
)
from langledger.compaction.options import CompactionOptions, compactor_of
from langledger.compaction.telemetry import announce
from langledger.operations import Operation, arun, call, run

__all__ = ["CompactionNode", "Guard", "Viewer"]

T = TypeVar("T")
State = Any  # what a graph's author chose: a mapping, a dataclass or a pydantic model


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Makes views of a graph's state; shared by the node and the guard of one LLM node.

    Attributes:
        host: The ledger.
        compactor: When and how to compact.
        window: The model's window in tokens.
        reserved: Tokens kept free for its output.
        model: The name its usage reports are known by.
        messages_key: The state's key that holds the messages.
    """

    host: Host
    compactor: Compactor
    window: int
    reserved: int
    model: str
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
        """Return a viewer for calls of ``llm``, or of a model with this window."""
        size = window_of(llm, window)
        return cls(
            host=host,
            compactor=compactor_of(can_look_up=lookup, **options),
            window=size,
            reserved=reserved_output(llm, size),
            model=model_name(llm),
            messages_key=messages_key,
        )

    def call(self, state: State, config: RunnableConfig) -> ModelCall:
        """Return the model call that a node is about to make on this state."""
        messages = read_messages(state, self.messages_key)
        return ModelCall(
            location=locate(self.host.tenant, config, messages),
            messages=messages,
            window=self.window,
            reserved=self.reserved,
            model_name=self.model,
        )

    def prepare(
        self, planned: ModelCall, *, force: str | None = None, below: int | None = None
    ) -> Operation[tuple[list[BaseMessage], Prepared]]:
        """Record, compact where due, and return the messages the model is to be sent."""
        prepared = yield from self.compactor.prepare(planned, force=force, below=below)
        announce(prepared, _stream_writer())
        view = prepared.view
        return [*([view.system] if view.system else []), *view.messages], prepared


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
        self._output_key = output_messages_key

    @classmethod
    def sharing(cls, viewer: Viewer) -> CompactionNode:
        """Return a node that compacts for a guard and changes nothing in the state."""
        node = cls.__new__(cls)
        node._viewer, node._output_key = viewer, None  # noqa: SLF001 - its own constructor
        return node

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
        messages, _ = yield from self._viewer.prepare(self._viewer.call(state, config))
        return {} if self._output_key is None else {self._output_key: messages}


class Guard:
    """Gives an LLM node the view in place of the state's messages.

    The node keeps its name, its policies and its output; messages of the view that it
    hands back (a subgraph returns its whole list) are left out of the state.
    """

    def __init__(self, inner: Runnable[Any, Any], viewer: Viewer) -> None:
        self.inner = inner
        self._viewer = viewer

    def as_runnable(self) -> Runnable[Any, Any]:
        """Return the guard as what a graph runs, sync and async."""
        return RunnableLambda(self._invoke, afunc=self._ainvoke, name=self.inner.get_name())

    def _invoke(self, state: State, config: RunnableConfig) -> Any:
        def send(view: State) -> Operation[Any]:
            return call(lambda: self.inner.invoke(view, config))

        return run(self._around(state, config, send), self._viewer.host.executor)

    async def _ainvoke(self, state: State, config: RunnableConfig) -> Any:
        def send(view: State) -> Operation[Any]:
            return call(None, lambda: cast("Awaitable[Any]", self.inner.ainvoke(view, config)))

        return await arun(self._around(state, config, send), self._viewer.host.executor)

    def _around(
        self, state: State, config: RunnableConfig, send: Callable[[State], Operation[Any]]
    ) -> Operation[Any]:
        viewer = self._viewer
        planned = viewer.call(state, config)
        messages, prepared = yield from viewer.prepare(planned)
        try:
            output = yield from send(with_messages(state, viewer.messages_key, messages))
        except Exception as error:
            if not is_overflow(error):
                raise
            messages, smaller = yield from viewer.prepare(
                planned, force="overflow", below=prepared.counted
            )
            if smaller.counted >= prepared.counted:
                raise
            output = yield from send(with_messages(state, viewer.messages_key, messages))
        seen = Seen(planned.messages, messages)
        output, answer = _without_view(output, viewer.messages_key, seen)
        if answer:
            yield from viewer.compactor.record(planned, answer)
        return output


def read_messages(state: State, key: str) -> list[BaseMessage]:
    """Return the messages of a graph's state, whatever its kind."""
    found: Any = (
        cast("Mapping[str, Any]", state).get(key)
        if isinstance(state, Mapping)
        else getattr(state, key, None)
    )
    return convert_to_messages(found or ())


def with_messages(state: State, key: str, messages: list[BaseMessage]) -> State:
    """Return a copy of a graph's state with these messages."""
    if isinstance(state, Mapping):
        return {**cast("Mapping[str, Any]", state), key: messages}
    if isinstance(state, BaseModel):
        return state.model_copy(update={key: messages})
    if is_dataclass(state) and not isinstance(state, type):
        return replace(state, **{key: messages})
    raise TypeError(f"a state of type {type(state).__name__} cannot be given a view")


@dataclass(frozen=True, slots=True)
class Seen:
    """What an LLM node was given in place of the state's messages, to know it again.

    Attributes:
        state: The state's messages.
        view: What the node saw instead.
    """

    state: Sequence[BaseMessage]
    view: Sequence[BaseMessage]

    def restored(self, given: list[Any]) -> list[Any]:
        """Return messages a node gave back, with the state's in the place of the view's.

        A node that hands back its whole list hands back the view; the state must get its own
        messages then, whether its channel appends or is overwritten.
        """
        new = [item for item in given if not self._is_of_view(item)]
        whole = bool(given) and bool(self.view) and _same(given[0], self.view[0])
        return [*self.state, *new] if whole else new

    def _is_of_view(self, item: Any) -> bool:
        if isinstance(item, RemoveMessage):
            ours = [message for message in self.view if "langledger" in message.additional_kwargs]
            return item.id in {message.id for message in ours} - {m.id for m in self.state}
        if not isinstance(item, BaseMessage):
            return False
        return "langledger" in item.additional_kwargs or any(_same(item, m) for m in self.view)


def _same(one: Any, other: BaseMessage) -> bool:
    return one is other or (isinstance(one, BaseMessage) and one.id == other.id and one == other)


def _without_view(output: Any, key: str, seen: Seen) -> tuple[Any, list[BaseMessage]]:
    """Return a node's output without messages of the view, and the answers in it."""
    if isinstance(output, list):
        parts = [_without_view(part, key, seen) for part in cast("list[Any]", output)]
        return [part for part, _ in parts], [m for _, answer in parts for m in answer]
    if isinstance(output, Command):
        command = cast("Command[Any]", output)
        update, answer = _without_view(command.update, key, seen)
        return replace(command, update=update), answer
    if not isinstance(output, Mapping):
        return output, []
    fields = cast("Mapping[str, Any]", output)
    given = fields.get(key)
    if isinstance(given, BaseMessage):
        return fields, _answers([given], seen)
    if not isinstance(given, list):
        return fields, []
    restored = seen.restored(cast("list[Any]", given))
    return {**fields, key: restored}, _answers(restored, seen)


def _answers(items: Sequence[Any], seen: Seen) -> list[BaseMessage]:
    """Return the model's new messages, each with the id it will keep in the state."""
    known = {id(message) for message in seen.state}
    answers = [item for item in items if isinstance(item, AIMessage) and id(item) not in known]
    for message in answers:
        if message.id is None:
            message.id = str(uuid4())
    return list(answers)


def _stream_writer() -> Callable[[Any], None] | None:
    try:
        return get_stream_writer()
    except RuntimeError:
        return None
