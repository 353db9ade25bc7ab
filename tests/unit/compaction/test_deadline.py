"""A call of a model that is given up, blocking and awaited."""

from __future__ import annotations

import asyncio
from threading import enumerate as enumerate_threads

import pytest

from langledger.compaction.summary_model import Deadline
from langledger.operations import Executor, arun, complete, own_run, run
from tests.support.scripted import ScriptedModel, StuckModel

ABOUT = own_run("compaction", thread_id="t")
NOBODY: Executor = None  # pyright: ignore[reportAssignmentType] - no effect here needs one


def test_a_blocking_call_leaves_a_thread_that_ends_with_it() -> None:
    model = StuckModel(script=["late"])
    with pytest.raises(TimeoutError):
        run(complete(model, [], ABOUT, timeout=0.05), NOBODY)
    [thread] = [t for t in enumerate_threads() if t.name == "langledger-model-call"]
    assert thread.daemon  # it keeps no process from ending
    model.released.set()
    thread.join(60)
    assert not thread.is_alive()


async def test_an_awaited_call_is_cancelled() -> None:
    with pytest.raises(TimeoutError):
        await arun(complete(StuckModel(), [], ABOUT, timeout=0.05), NOBODY)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("seconds", [None, 600])
async def test_an_answer_and_an_error_come_as_they_are(seconds: float | None) -> None:
    model = ScriptedModel(script=["yes", "yes", KeyError("x")])
    assert run(complete(model, [], ABOUT, timeout=seconds), NOBODY).text == "yes"
    assert (await arun(complete(model, [], ABOUT, timeout=seconds), NOBODY)).text == "yes"
    with pytest.raises(KeyError):
        run(complete(model, [], ABOUT, timeout=seconds), NOBODY)


def test_a_deadline_without_seconds_is_never_over() -> None:
    assert (Deadline.after(None).left, Deadline.after(None).is_over) == (None, False)
    over = Deadline(seconds=5, ends=0.0)
    assert (over.left, over.is_over) == (0.0, True)
    assert over.missed == "no answer in time: it took longer than 5 s (summary_timeout)"
