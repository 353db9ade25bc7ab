"""The guard of an LLM node: it gives the node a view in place of the state's messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from operator import is_
from typing import Any, TypeVar, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.errors import ParentCommand

from langledger.compaction.calls import ModelCall, Prepared
from langledger.compaction.node import Viewer
from langledger.compaction.provider import send_fitting
from langledger.compaction.recording import record_answer
from langledger.compaction.returned import Seen, State, read_messages, with_messages, without_view
from langledger.operations import Operation, arun, call, run

__all__ = ["Guard"]

T = TypeVar("T")
# How the two forms of a node differ: sending the view on, and running a part as a step of its own.
_Send = Callable[[State], Operation[Any]]
_Within = Callable[[Operation[T]], Operation[T]]


class Guard(RunnableLambda[Any, Any]):
    """What runs in the place of an LLM node: it compacts where due, then runs the node.

    The node keeps its name, its policies and its output, and is reached as it was: edges,
    commands, sends and joins lead to it directly, so that no route can pass compaction by and
    none runs the node twice.

    It is a ``RunnableLambda`` so that LangGraph finds a subgraph inside, but leaves no run of
    its own in traces and streams; with ``step`` the compaction before the node leaves one.

    Args:
        inner: What the node ran so far.
        viewer: Makes the views.
        step: Name of the compaction in traces and in the graph's drawing; None: it has none.
        replaces: Messages of an update replace the state's; else they are merged.
        cached: Tells whether the node's output may be given again in place of another run.
    """

    def __init__(
        self,
        inner: Runnable[Any, Any],
        viewer: Viewer,
        *,
        step: str | None,
        replaces: bool,
        cached: Callable[[], bool],
    ) -> None:
        super().__init__(self.invoke, afunc=self.ainvoke, name=inner.get_name())
        self.inner = inner
        self.step = step
        self._viewer = viewer
        self._replaces = replaces
        self._cached = cached

    @property
    def deps(self) -> list[Runnable[Any, Any]]:  # pyright: ignore[reportIncompatibleVariableOverride] - a cached property there
        """What runs inside, where LangGraph looks for subgraphs."""
        return [self.inner]

    # As any runnable's: RunnableLambda's own would leave a run in traces and event streams.
    stream = Runnable[Any, Any].stream
    astream = Runnable[Any, Any].astream
    transform = Runnable[Any, Any].transform
    atransform = Runnable[Any, Any].atransform

    def invoke(
        self,
        input: Any,  # noqa: A002 - the name Runnable gives it
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - the signature of Runnable
    ) -> Any:
        """Run the node on the view."""
        surrounding, executor = config or {}, self._viewer.host.executor

        def send(view: State) -> Operation[Any]:
            return call(lambda: self.inner.invoke(view, surrounding))

        def within(operation: Operation[T]) -> Operation[T]:
            outcome: list[T] = []

            def compact(_: object) -> dict[str, Any]:
                outcome.append(run(operation, executor))
                return {}

            step = RunnableLambda(compact, name=self.step)
            yield from call(lambda: step.invoke({}, surrounding))
            return outcome[0]

        return run(self._around(input, surrounding, send, within), executor)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - the name Runnable gives it
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - the signature of Runnable
    ) -> Any:
        """Await :meth:`invoke`."""
        surrounding, executor = config or {}, self._viewer.host.executor

        def send(view: State) -> Operation[Any]:
            return call(None, lambda: cast("Awaitable[Any]", self.inner.ainvoke(view, surrounding)))

        def within(operation: Operation[T]) -> Operation[T]:
            outcome: list[T] = []

            async def compact(_: object) -> dict[str, Any]:
                outcome.append(await arun(operation, executor))
                return {}

            step = RunnableLambda(compact, name=self.step)
            yield from call(None, lambda: step.ainvoke({}, surrounding))
            return outcome[0]

        return await arun(self._around(input, surrounding, send, within), executor)

    def _around(
        self, state: State, config: RunnableConfig, send: _Send, within: _Within[Any]
    ) -> Operation[Any]:
        viewer = self._viewer
        given = read_messages(state, viewer.messages_key)
        if not given:  # what a Send carries need not be a state
            return (yield from send(state))
        planned = viewer.call(state, config)
        prepared = yield from self._prepare(planned, within)
        output, prepared = yield from send_fitting(
            viewer.compactor.learnt,
            planned,
            prepared,
            send=lambda view: self._send(state, given, view.messages, send),
            smaller=lambda size: self._prepare(planned, within, force="overflow", below=size),
        )
        seen = Seen(given, prepared.messages, self._replaces, self._cached())
        output, new = without_view(output, viewer.messages_key, seen)
        yield from record_answer(viewer.compactor, planned, new)
        return output

    def _prepare(
        self,
        planned: ModelCall,
        within: _Within[Any],
        *,
        force: str | None = None,
        below: int | None = None,
    ) -> Operation[Prepared]:
        operation = self._viewer.prepare(planned, force=force, below=below)
        return operation if self.step is None else within(operation)

    def _send(
        self, state: State, given: list[Any], messages: list[BaseMessage], send: _Send
    ) -> Operation[Any]:
        """Run the node on the view; on the state itself where the view is nothing else."""
        unchanged = len(given) == len(messages) and all(map(is_, given, messages))
        view = state if unchanged else with_messages(state, self._viewer.messages_key, messages)
        try:
            return (yield from send(view))
        except ParentCommand as handover:
            # A subgraph that hands over to another agent hands on what it was given.
            seen = Seen(given, messages)
            command, _ = without_view(handover.args[0], self._viewer.messages_key, seen)
            raise ParentCommand(command) from handover
