"""Work that is asked for twice at once; driven by hand, so that no test depends on timing."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from langledger.compaction.flights import shared
from langledger.operations import Call, Executor, Operation, arun, call

NO_DATABASE = cast("Executor", None)


def work(done: list[str], name: str) -> Operation[str]:
    done.append(name)
    return (yield from call(lambda: name))


def begun(key: str, done: list[str], name: str) -> tuple[Any, Call]:
    """Return the operation as a thread runs it, and what it waits for."""
    operation = shared(key, lambda: work(done, name))
    where = next(operation)
    assert isinstance(where, Call)
    assert where.function is not None
    waits = operation.send(where.function())
    assert isinstance(waits, Call)
    return operation, waits


def result_of(operation: Any, outcome: Any) -> Any:
    with pytest.raises(StopIteration) as stopped:
        operation.send(outcome)
    return stopped.value.value


def test_who_comes_second_is_given_the_result_of_the_first() -> None:
    done: list[str] = []
    first, _ = begun("same", done, "first")
    second, waits = begun("same", done, "second")
    other, _ = begun("other", done, "other")
    assert done == ["first", "other"]
    assert result_of(first, "written") == "written"
    assert result_of(second, waits.function()) == "written"
    assert result_of(other, "else") == "else"
    assert begun("same", done, "later")[0]
    assert done == ["first", "other", "later"]


def test_what_comes_to_no_end_is_done_by_who_waited() -> None:
    done: list[str] = []
    first, _ = begun("same", done, "first")
    second, waits = begun("same", done, "second")
    first.close()
    effect = second.send(waits.function())
    assert done == ["first", "second"]
    assert result_of(second, effect.function()) == "second"


async def test_so_it_is_awaited_and_one_that_is_cancelled_takes_nothing_from_the_others() -> None:
    done: list[str] = []
    gate = asyncio.Event()

    def gated(name: str) -> Operation[str]:
        done.append(name)
        yield from call(None, gate.wait)
        return name

    def start(name: str) -> asyncio.Task[str]:
        return asyncio.create_task(arun(shared("awaited", lambda: gated(name)), NO_DATABASE))

    tasks = [start(name) for name in ("first", "second", "third")]
    for _ in range(5):  # each has come to where it waits
        await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [results[0], results[2]] == ["first", "first"]
    assert isinstance(results[1], asyncio.CancelledError)
    assert done == ["first"]
