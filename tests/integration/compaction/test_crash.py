"""Killed at any step, a thread has the old view or the new one, and every message."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger import Ledger, entries
from langledger.compaction.compactor import ModelCall
from langledger.compaction.options import compactor_of
from langledger.compaction.validity import provider_problems
from langledger.database import Database
from langledger.entries import Location
from langledger.operations import Batch, Row, run
from tests.support.scripted import ScriptedModel

WINDOW = 3000


class Killed(BaseException):
    """The process ends here."""


class Dying:
    """An executor that dies at one of the effects, before or after it was carried out."""

    def __init__(self, database: Database, *, at: int, after: bool) -> None:
        self._database = database
        self._left = at
        self._after = after

    def execute(self, batch: Batch) -> list[list[Row]]:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Killed
        rows = self._database.execute(batch)
        if self._left == 0:
            raise Killed
        return rows

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        raise NotImplementedError


def history() -> list[BaseMessage]:
    messages: list[BaseMessage] = [HumanMessage("Write the files.", id="h")]
    for n in range(14):
        call = {
            "name": "write_file",
            "args": {"file_path": f"f{n}.py", "content": "x"},
            "id": f"c{n}",
        }
        messages.append(AIMessage(f"Writing f{n}.py.", tool_calls=[call], id=f"a{n}"))
        messages.append(ToolMessage("log line\n" * 60, tool_call_id=f"c{n}", id=f"t{n}"))
    return messages


def call(location: Location, messages: list[BaseMessage]) -> ModelCall:
    return ModelCall(location=location, messages=messages, window=WINDOW)


def deaths() -> Iterator[tuple[int, bool]]:
    for at in range(1, 7):
        yield at, False
        yield at, True


@pytest.mark.parametrize(("at", "after"), list(deaths()))
@pytest.mark.parametrize("summarised_by", ["extractive", "model"])
def test_killed_at_an_effect(database: Database, at: int, after: bool, summarised_by: str) -> None:
    text = "The assistant wrote several files, as the user had asked it to do."
    writer = ScriptedModel(script=[text]) if summarised_by == "model" else None
    location, messages = Location("t", f"{at}-{after}"), history()
    dying = Dying(database, at=at, after=after)
    compactor = compactor_of(can_look_up=False, model=writer)
    died = False
    try:
        run(compactor.prepare(call(location, messages)), dying)
    except Killed:
        died = True
    before = len(writer.sent) if writer else 0
    again = run(
        compactor_of(can_look_up=False, model=writer).prepare(call(location, messages)), database
    )
    assert provider_problems(again.view.messages) == []
    assert again.tokens < 0.72 * WINDOW
    recorded = [e.message for e in run(entries.history(location), database)]
    assert recorded == messages
    reports = Ledger(database, tenant="t").compactions(location.thread_id)
    assert [r.generation for r in reports] == [1]
    if writer is not None and before and died:
        # A summary that was paid for and kept is not paid for again.
        assert len(writer.sent) - before <= 1


def test_killed_views_are_the_same_as_those_of_a_life_without_death(database: Database) -> None:
    messages = history()
    views: list[Any] = []
    for at, after in [(99, False), (3, True), (4, False)]:
        location = Location("t", f"same-{at}")
        with contextlib.suppress(Killed):
            run(
                compactor_of(can_look_up=False).prepare(call(location, messages)),
                Dying(database, at=at, after=after),
            )
        views.append(
            run(compactor_of(can_look_up=False).prepare(call(location, messages)), database).view
        )
    assert views[0] == views[1] == views[2]
