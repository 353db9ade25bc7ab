"""The same work asked for twice at once is done once in a process.

Nodes of one superstep see the same history, so they want the same summary in the same moment,
before either is kept in the database.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar

from langledger.operations import Operation, call

__all__ = ["shared"]

T = TypeVar("T")

# What is under way: its outcome in a tuple, None where it came to no end.
_flights: dict[Hashable, Future[Any]] = {}


def shared(key: Hashable, work: Callable[[], Operation[T]]) -> Operation[T]:
    """Do the work, or wait for the same work that is under way and return its result.

    What raises or is cancelled is nobody else's result: who waited does the work alone then.

    Args:
        key: What the work is known by; work under one key gives one result.
        work: Makes the operation.
    """
    place = yield from call(lambda: None, _loop)
    # A thread waits only for threads and a task for tasks of its own loop: neither can then keep
    # busy what the other needs to come to its end. A fork inherits what is not under way in it.
    key = (os.getpid(), place, key)
    mine: Future[tuple[T] | None] = Future()
    flight = _flights.setdefault(key, mine)
    if flight is mine:
        return (yield from _flown(key, mine, work))
    outcome: tuple[T] | None = yield from call(
        flight.result,
        # Shielded: to cancel one that waits must not cancel the work for the others.
        lambda: asyncio.shield(asyncio.wrap_future(flight)),
    )
    return outcome[0] if outcome is not None else (yield from work())


def _flown(
    key: Hashable, flight: Future[tuple[T] | None], work: Callable[[], Operation[T]]
) -> Operation[T]:
    outcome: tuple[T] | None = None
    try:
        outcome = ((yield from work()),)
        return outcome[0]
    finally:
        del _flights[key]
        flight.set_result(outcome)


async def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
