"""Calls of many tasks in few batches.

While some batches are on their way to the database, calls wait, and go together in the next. A
call that finds none before it goes at once, so that one task is not slowed down. Where a batch
fails, its calls are run one by one, so that an error is its own call's alone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias
from weakref import WeakKeyDictionary

from langgraph.store.base import Op, Result

__all__ = ["Gathering"]

# Batches on their way at once, and operations in one.
_MOST_RUNNING = 4
_MOST_TOGETHER = 500

_Run: TypeAlias = Callable[[Sequence[Op]], Awaitable[list[Result]]]
_Call: TypeAlias = "tuple[list[Op], asyncio.Future[list[Result]]]"


class Gathering:
    """Runs the operations of an event loop's tasks together, where there are many.

    Args:
        run: Runs a batch.
    """

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = WeakKeyDictionary()

    async def call(self, ops: list[Op]) -> list[Result]:
        """Run operations, and return their results in order."""
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = _Waiting(self._run)
        return await self._loops[loop].call(ops)


class _Waiting:
    def __init__(self, run: _Run) -> None:
        self._run = run
        self._calls: deque[_Call] = deque()
        self._running: set[asyncio.Task[None]] = set()

    async def call(self, ops: list[Op]) -> list[Result]:
        settled: asyncio.Future[list[Result]] = asyncio.get_running_loop().create_future()
        self._calls.append((ops, settled))
        self._start()
        return await settled

    def _start(self) -> None:
        while self._calls and len(self._running) < _MOST_RUNNING:
            # A task of its own: who asked may be cancelled, and others wait for it too.
            task = asyncio.create_task(self._settle(self._next()))
            self._running.add(task)
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._start()

    def _next(self) -> list[_Call]:
        together, size = [self._calls.popleft()], 0
        while self._calls and size < _MOST_TOGETHER:
            call = self._calls.popleft()
            size += len(call[0])
            together.append(call)
        return together

    async def _settle(self, calls: Sequence[_Call]) -> None:
        calls = [call for call in calls if not call[1].done()]  # somebody gave up waiting
        try:
            results = await self._run([op for ops, _ in calls for op in ops])
        except BaseException as error:
            if len(calls) > 1 and isinstance(error, Exception):
                for call in calls:
                    await self._settle([call])
                return
            for _, settled in calls:
                if not settled.done():
                    settled.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for ops, settled in calls:
            own, results = results[: len(ops)], results[len(ops) :]
            if not settled.done():
                settled.set_result(own)
