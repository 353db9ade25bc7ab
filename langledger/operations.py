"""Logic written once, run sync or async.

An *operation* is a generator that yields effects and is sent their results. It
holds the logic and performs no input or output itself, so a test can drive it by
``.send()`` with neither database nor model. Two short drivers perform the
effects: :func:`run` blocks, :func:`arun` awaits.

A facade is one line a method::

    def history(self, thread_id): return run(history(thread_id), self._database)
    async def ahistory(self, thread_id): return await arun(history(thread_id), self._database)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import TYPE_CHECKING, Any, LiteralString, Protocol, TypeAlias, TypeVar

from psycopg.sql import Composed

from langledger.telemetry import model_call
from langledger.thinking import without_thinking

if TYPE_CHECKING:  # importing LangChain takes longer than most commands
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.runnables import RunnableConfig

    from langledger.encryption import Vault

T = TypeVar("T")

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """One SQL statement with named parameters (``%(name)s``).

    Attributes:
        sql: The statement.
        params: Values by name, or marks of :mod:`langledger.encryption`.
        reads: Gives a row what decrypts its content, where that is no column of its own.
    """

    sql: LiteralString | Composed
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reads: Callable[[Row, Mapping[str, Any], Vault], None] | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Statements that commit together, sent in one round trip.

    Attributes:
        queries: Run in order; each sees what the one before it wrote.
        repeatable: The batch may be sent again after a lost connection, because
            running it twice leaves what running it once leaves.
        patience: Seconds to wait for a database that is away, where that is shorter than the
            pool waits.
    """

    queries: Sequence[Query]
    repeatable: bool = True
    patience: float | None = None


@dataclass(frozen=True, slots=True)
class Complete:
    """One call of a chat model that is ours, not the agent's: never streamed to the user.

    Attributes:
        model: What is called.
        messages: What it is sent.
        config: How the call is traced.
        timeout: Seconds after which the call is given up with a :class:`TimeoutError`.
    """

    model: BaseChatModel
    messages: Sequence[BaseMessage]
    config: RunnableConfig
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the host (a handler, a callback) in both its forms.

    Attributes:
        function: Called by :func:`run`; by :func:`arun` too where ``coroutine`` is None,
            then in a worker thread.
        coroutine: Awaited by :func:`arun`.
    """

    function: Callable[[], Any] | None
    coroutine: Callable[[], Awaitable[Any]] | None = None


Effect: TypeAlias = Batch | Complete | Call
Operation: TypeAlias = Generator[Effect, Any, T]


class Executor(Protocol):
    """What performs the database effects: a pool of connections."""

    def execute(self, batch: Batch) -> list[list[Row]]:
        """Run a batch in one transaction and return the rows of each statement."""
        ...

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        """Await :meth:`execute`."""
        ...


def fetch(sql: LiteralString | Composed, /, **params: Any) -> Operation[list[Row]]:
    """Run one statement and return its rows, each a dict by column name."""
    results: list[list[Row]] = yield Batch([Query(sql, params)])
    return results[0]


def fetch_all(*queries: Query, repeatable: bool = True) -> Operation[list[list[Row]]]:
    """Run statements in one transaction and one round trip; return each one's rows."""
    results: list[list[Row]] = yield Batch(queries, repeatable=repeatable)
    return results


def impatient(operation: Operation[T], seconds: float | None) -> Operation[T]:
    """Run an operation whose statements wait no longer than this for a database that is away.

    One that is there may take its time.

    Args:
        operation: Not begun yet.
        seconds: Of each statement; None: as long as the pool waits.
    """
    try:
        effect = next(operation)
        while True:
            if isinstance(effect, Batch):
                effect = replace(effect, patience=seconds)
            try:
                outcome = yield effect
            except BaseException as error:  # noqa: BLE001 - the operation decides, cancellation included
                effect = operation.throw(error)
            else:
                effect = operation.send(outcome)
    except StopIteration as done:
        return done.value


def complete(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    config: RunnableConfig,
    *,
    timeout: float | None = None,
) -> Operation[AIMessage]:
    """Ask a chat model and return its answer, without thinking that stands before it.

    Raises:
        TimeoutError: It took longer than ``timeout`` seconds.
    """
    answer: Any = yield Complete(model, messages, config, timeout)
    return without_thinking(answer)


def own_run(purpose: str, *, thread_id: str) -> RunnableConfig:
    """Return the config of a model call of ours: never streamed, and found again in LangSmith.

    Its ``callbacks`` are an empty list, not None: handlers of the surrounding run would stream
    the answer to the user.

    Args:
        purpose: What it is for, such as ``compaction``.
        thread_id: The thread it is about; LangSmith groups runs by it.
    """
    from langgraph.constants import TAG_NOSTREAM  # noqa: PLC0415 - loading LangGraph takes longer than most commands

    return {
        "callbacks": [],
        "run_name": f"langledger {purpose}",
        "tags": [TAG_NOSTREAM, f"langledger:{purpose}"],
        "metadata": {"thread_id": thread_id, "langledger_purpose": purpose},
    }


def call(
    function: Callable[[], T] | None, coroutine: Callable[[], Awaitable[T]] | None = None
) -> Operation[T]:
    """Call the host's function, or await its coroutine, and return the result."""
    result: T = yield Call(function, coroutine)
    return result


def run(operation: Operation[T], executor: Executor) -> T:
    """Drive an operation to its result, blocking on each effect.

    An effect's exception is thrown into the operation, so ``try`` works there.
    """
    try:
        effect = next(operation)
        while True:
            try:
                outcome = _perform(effect, executor)
            except BaseException as error:  # noqa: BLE001 - the operation decides, cancellation included
                effect = operation.throw(error)
            else:
                effect = operation.send(outcome)
    except StopIteration as done:
        return done.value
    finally:
        operation.close()


async def arun(operation: Operation[T], executor: Executor) -> T:
    """Drive an operation to its result, awaiting each effect."""
    try:
        effect = next(operation)
        while True:
            try:
                outcome = await _aperform(effect, executor)
            except BaseException as error:  # noqa: BLE001 - the operation decides, cancellation included
                effect = operation.throw(error)
            else:
                effect = operation.send(outcome)
    except StopIteration as done:
        return done.value
    finally:
        operation.close()


def _perform(effect: Effect, executor: Executor) -> Any:
    match effect:
        case Batch():
            return executor.execute(effect)
        case Complete(model, messages, config, timeout):
            with model_call(model) as made:
                answer = _within(timeout, lambda: model.invoke(list(messages), config))
                made.usage = getattr(answer, "usage_metadata", None)
            return answer
        case Call(function):
            if function is None:
                msg = "only an async form was given: use the async method (ainvoke, aappend, ...)"
                raise TypeError(msg)
            return function()


async def _aperform(effect: Effect, executor: Executor) -> Any:
    match effect:
        case Batch():
            return await executor.aexecute(effect)
        case Complete(model, messages, config, timeout):
            with model_call(model) as made:
                async with asyncio.timeout(timeout):
                    answer = await model.ainvoke(list(messages), config)
                made.usage = getattr(answer, "usage_metadata", None)
            return answer
        case Call(function, coroutine):
            if coroutine is not None:
                return await coroutine()
            assert function is not None, "Call needs a function or a coroutine"  # noqa: S101
            return await asyncio.to_thread(function)


def _within(timeout: float | None, work: Callable[[], T]) -> T:
    """Return what the work gives, or raise where that takes longer.

    Nothing can end a thread from outside: the work's own ends with it, unheard. It keeps no
    process from ending.
    """
    if timeout is None:
        return work()
    outcome: Future[T] = Future()
    context = copy_context()

    def attempt() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 - whoever waits is told, whatever it is
            outcome.set_exception(error)

    Thread(target=attempt, name="langledger-model-call", daemon=True).start()
    return outcome.result(timeout)
