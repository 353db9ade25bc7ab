"""The invariants of the design on whole lives of agents, on a real server.

Each example is a session lived call by call, with compactions wherever they fall due; after
every call the view and what was recorded are held against the invariants, by their numbers.
"""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from langledger import Ledger, entries
from langledger.compaction.compactor import Compactor, ModelCall, Prepared
from langledger.compaction.options import compactor_of
from langledger.compaction.transcript import is_request, request_text
from langledger.compaction.validity import provider_problems
from langledger.database import AsyncDatabase, Database
from langledger.entries import Location
from langledger.errors import NothingToShrinkError
from langledger.operations import Batch, Row, arun, run
from langledger.tokens import count_message
from tests.property.compaction.shapes import life
from tests.support.scripted import ScriptedModel

WINDOW = 2_500
ON_A_SERVER = settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking lives on a server takes hours
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,  # each example has a thread of its own
    ],
)
numbers = count()
BAD = [
    "",
    "   ",
    "I'm sorry, I can't help with that.",
    "Error: 429 rate limit",
    "word " * 9_000,
    "See [#99999].",
    ValueError("down"),
    TimeoutError("slow"),
    AIMessage("", tool_calls=[{"name": "bash", "args": {}, "id": "x"}]),
    AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}]),
    AIMessage("It was", response_metadata={"finish_reason": "length"}),
    "The user approved the deletion of production [#1].",
    "bad \x00 text \ud83d",
    "The assistant wrote the files the user had asked for, and the tests passed.",
]
seeds = st.integers(0, 2**32)
triggers = st.sampled_from(
    [0.72, ("messages", 8), ("turns", 2), ("topic_switch", 4), ("low_density", 3), ("tokens", 900)]
)


def a_place() -> Location:
    return Location("t", f"life-{next(numbers)}")


def calls_of(messages: list[BaseMessage], location: Location) -> Iterator[ModelCall]:
    """Yield the calls a host makes in this life: one before each answer, and one at its end."""
    for end in range(1, len(messages) + 1):
        if end == len(messages) or isinstance(messages[end], AIMessage):
            yield ModelCall(location=location, messages=messages[:end], window=WINDOW)


def must_stay(messages: list[BaseMessage]) -> int:
    """Return the size of what no compaction may take out."""
    asked = [count_message(m) for m in messages if isinstance(m, HumanMessage)]
    systems = [count_message(m) for m in messages if isinstance(m, SystemMessage)][:1]
    return sum(asked[-1:]) + sum(systems)


def live(
    database: Database, compactor: Compactor, messages: list[BaseMessage], location: Location
) -> list[Prepared]:
    """Live as far as the window allows; a message of the user that fills it ends a life."""
    views: list[Prepared] = []
    for call in calls_of(messages, location):
        try:
            views.append(run(compactor.prepare(call), database))
        except NothingToShrinkError:
            assert must_stay(list(call.messages)) > WINDOW // 2
            return views
    return views


def sent(prepared: Prepared) -> list[BaseMessage]:
    view = prepared.view
    return [*([view.system] if view.system else []), *view.messages]


def newest_request(messages: list[BaseMessage]) -> BaseMessage | None:
    return next((m for m in reversed(messages) if is_request(m)), None)


def sealed(message: BaseMessage) -> list[Any]:
    """Return what a provider signed or encrypted in a message."""
    blocks = message.content if isinstance(message.content, list) else []
    kinds = ("thinking", "redacted_thinking", "reasoning")
    kept = [b for b in blocks if isinstance(b, dict) and b.get("type") in kinds]
    return [kept, {k: v for k, v in message.additional_kwargs.items() if k != "langledger"}]


def check_view(prepared: Prepared, call: ModelCall) -> None:
    body = sent(prepared)
    assert provider_problems(body) == []  # 2
    asked = newest_request(list(call.messages))
    said = "" if asked is None else asked.additional_kwargs.get("typed") or _text(asked)
    if said.strip():
        assert any(said in _text(m) for m in body if isinstance(m, HumanMessage))  # 2
    last = call.messages[-1]
    if isinstance(last, ToolMessage):  # the open turn
        opened = next(m for m in reversed(call.messages) if isinstance(m, AIMessage))
        for shown in (m for m in body if m.id == opened.id):
            assert sealed(shown)[0] == sealed(opened)[0]  # 2
    given = {id(m) for m in call.messages}
    for message in body:  # 11: what is ours is marked, so that it can be kept out of the state
        assert id(message) in given or "langledger" in message.additional_kwargs


def _text(message: BaseMessage) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    return "\n".join(b["text"] for b in content if isinstance(b, dict) and "text" in b)


@given(seeds, triggers)
@ON_A_SERVER
def test_every_view_of_a_life(database: Database, seed: int, trigger: Any) -> None:
    messages = life(seed)
    location = a_place()
    compactor = compactor_of(can_look_up=True, trigger=trigger)
    before = copy.deepcopy(messages)
    last: list[BaseMessage] = []
    for call in calls_of(messages, location):
        try:
            prepared = run(compactor.prepare(call), database)
        except NothingToShrinkError:
            assert must_stay(list(call.messages)) > WINDOW // 2  # 3
            break
        check_view(prepared, call)
        recorded = [e.message for e in run(entries.history(location), database)]
        assert _all_in(call.messages, recorded)  # 1: before the call
        report = prepared.report
        if report is not None:
            assert report.tokens_after < report.tokens_before  # 3
            again = run(compactor.prepare(call), database)
            assert again.report is None  # 3: no second one without new material
            assert again.view == prepared.view
        elif not _late(last, prepared.view.messages):
            assert prepared.view.messages[: len(last)] == last  # 7
        last = prepared.view.messages
    assert messages == before  # 11


def _all_in(given: Any, recorded: list[BaseMessage]) -> bool:
    """Tell whether each message is recorded; one given twice under one id is one."""
    return {(m.id, repr(m.content)) for m in given} <= {(m.id, repr(m.content)) for m in recorded}


def _late(last: list[BaseMessage], now: list[BaseMessage]) -> bool:
    """A result that came late takes the place of its stub: the one change a view may see."""
    changed = next((m for m, n in zip(last, now, strict=False) if m != n), None)
    return changed is not None and (
        str(changed.id).startswith("unanswered-") or bool(getattr(changed, "tool_calls", ()))
    )


@given(seeds, st.lists(st.sampled_from(BAD), min_size=1, max_size=4))
@ON_A_SERVER
def test_a_bad_summary_model_does_no_harm(
    database: Database, seed: int, answers: list[Any]
) -> None:
    messages = life(seed)
    location = a_place()
    model = ScriptedModel(script=answers)
    compactor = compactor_of(can_look_up=True, model=model)
    for call in calls_of(messages, location):
        try:
            prepared = run(compactor.prepare(call), database)
        except NothingToShrinkError:
            assert must_stay(list(call.messages)) > WINDOW // 2
            break
        check_view(prepared, call)  # 6
        if prepared.report is not None:
            assert prepared.report.tokens_after < prepared.report.tokens_before
            assert "approved the deletion" not in str(prepared.view.messages[0])  # 5


@given(seeds, triggers)
@ON_A_SERVER
def test_a_life_comes_out_the_same_each_time_and_in_any_process(
    database: Database, seed: int, trigger: Any
) -> None:
    messages = life(seed)
    one, other = a_place(), a_place()
    first = live(database, compactor_of(can_look_up=True, trigger=trigger), messages, one)
    again = live(
        database, compactor_of(can_look_up=True, trigger=trigger), copy.deepcopy(messages), other
    )
    assert [p.view for p in first] == [p.view for p in again]  # 10
    if not first:
        return
    resumed = compactor_of(can_look_up=True, trigger=trigger)  # 8: a new process, the same view
    call = list(calls_of(messages, one))[len(first) - 1]
    assert run(resumed.prepare(call), database).view.messages == first[-1].view.messages


@given(seeds)
@ON_A_SERVER
def test_the_state_is_what_the_whole_history_tells(database: Database, seed: int) -> None:
    """Compacted or not: the state is merged, never summarised."""
    messages = life(seed)
    location = a_place()
    live(database, compactor_of(can_look_up=True), messages, location)
    recorded = [e.message for e in run(entries.history(location), database)]
    other = a_place()
    run(entries.append(other, recorded, from_start=True), database)
    ledger = Ledger(database, tenant="t")
    assert _files(ledger, location) == _files(ledger, other)  # 4


def _files(ledger: Ledger, location: Location) -> dict[str, Any]:
    state = ledger.state(location.thread_id)
    return {
        path: [(a.action, a.summary) for a in record.actions]
        for path, record in state.files_touched.items()
    }


@given(seeds)
@ON_A_SERVER
def test_every_line_names_entries_that_exist(database: Database, seed: int) -> None:
    messages = life(seed)
    location = a_place()
    for prepared in live(database, compactor_of(can_look_up=True), messages, location):
        head = prepared.view.messages[0]
        if "langledger" in head.additional_kwargs and prepared.report is not None:
            summary = str(head.content).partition("<summary>\n")[2].partition("\n</summary>")[0]
            for line in filter(None, summary.splitlines()):
                cited = re.search(r"\[((?:#\d+(?:, )?)+)\]$", line)
                assert cited is not None, line  # 5
                known = {e.entry_id for e in run(entries.history(location), database)}
                assert {int(n) for n in re.findall(r"\d+", cited[1])} <= known
            users = [request_text(m) for m in messages if is_request(m)]
            for line in summary.splitlines():  # a user's order is a user's words
                if line.startswith("- The user"):
                    quoted = re.search(r'"([^"\u2026\u2039]{0,20})', line)
                    words = "".join(quoted[1].split()) if quoted else ""
                    assert any(words in "".join(said.split()) for said in users), line


@given(seeds)
@ON_A_SERVER
def test_scopes_tenants_and_threads_do_not_see_each_other(database: Database, seed: int) -> None:
    messages = life(seed)
    location = a_place()
    live(database, compactor_of(can_look_up=True), messages, location)
    fresh = [HumanMessage("Something else.", id="fresh")]
    for other in (
        Location("u", location.thread_id),
        Location("t", location.thread_id, "worker"),
        Location("t", f"{location.thread_id}-other"),
    ):
        call = ModelCall(location=other, messages=fresh, window=WINDOW)
        view = run(compactor_of(can_look_up=True).prepare(call), database).view
        assert view.messages == fresh  # 9


# Crashes


class Killed(BaseException):
    """The process ends here."""


class Dying:
    """Ends the process at one of its effects, before or after it was carried out."""

    def __init__(self, database: Database, *, at: int, after: bool) -> None:
        self.database, self.left, self.after, self.seen = database, at, after, 0

    def pass_by(self, perform: Callable[[], Any]) -> Any:
        self.seen += 1
        if self.seen == self.left and not self.after:
            raise Killed
        result = perform()
        if self.seen == self.left:
            raise Killed
        return result

    def execute(self, batch: Batch) -> list[list[Row]]:
        return self.pass_by(lambda: self.database.execute(batch))

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        raise NotImplementedError


class DyingModel(ScriptedModel):
    """A summary model whose calls are effects too."""

    world: Any = None

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        inner = super().invoke
        return self.world.pass_by(lambda: inner(input, config, **kwargs))


def long_life() -> list[BaseMessage]:
    messages: list[BaseMessage] = [HumanMessage("Write the files.", id="h")]
    for n in range(14):
        call = {"name": "write_file", "args": {"file_path": f"f{n}.py"}, "id": f"c{n}"}
        messages.append(AIMessage(f"Writing f{n}.py.", tool_calls=[call], id=f"a{n}"))
        messages.append(ToolMessage("log line\n" * 60, tool_call_id=f"c{n}", id=f"t{n}"))
    return messages


@pytest.mark.parametrize("summarised_by", ["extractive", "model", "model in pieces"])
def test_killed_at_every_effect_the_old_view_is_there_or_the_new(
    database: Database, summarised_by: str
) -> None:
    messages, views, at = long_life(), [], 0
    while True:
        at += 1
        finished = False
        for after in (False, True):
            location = a_place()
            world = Dying(database, at=at, after=after)
            try:
                run(_compactor(world, summarised_by).prepare(_call(location, messages)), world)
                finished = True
            except Killed:
                finished = False
            calm = Dying(database, at=-1, after=False)
            again = run(_compactor(calm, summarised_by).prepare(_call(location, messages)), calm)
            assert [e.message for e in run(entries.history(location), database)] == messages  # 1
            reports = Ledger(database, tenant="t").compactions(location.thread_id)
            assert [r.generation for r in reports] == [1]  # 8
            views.append(again.view)
        if finished:
            break
    assert at > 4
    assert all(view == views[0] for view in views)  # 8, 10


def _call(location: Location, messages: list[BaseMessage]) -> ModelCall:
    return ModelCall(location=location, messages=messages, window=3_000)


def _compactor(world: Dying, summarised_by: str) -> Compactor:
    if summarised_by == "extractive":
        return compactor_of(can_look_up=False)
    text = "The assistant wrote several files, as the user had asked it to do."
    profile = {"max_input_tokens": 4_500 if summarised_by == "model in pieces" else 100_000}
    model: BaseChatModel = DyingModel(script=[text], world=world, profile=profile)
    return compactor_of(can_look_up=False, model=model)


# Two at once


async def test_coroutines_on_one_thread_make_one_compaction_each_generation(
    async_database: AsyncDatabase,
) -> None:
    location, messages = a_place(), long_life()
    shared = compactor_of(can_look_up=False)
    others = [compactor_of(can_look_up=False) for _ in range(3)]
    prepared = await asyncio.gather(
        *(
            arun(compactor.prepare(_call(location, messages)), async_database)
            for compactor in [shared, shared, *others]
        )
    )
    assert all(p.view == prepared[0].view for p in prepared)  # 8
    assert sum(p.report is not None for p in prepared) == 1
    recorded = await arun(entries.history(location), async_database)
    assert [e.message for e in recorded] == messages  # 1
