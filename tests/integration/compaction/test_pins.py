"""What is pinned stands in every view after a compaction."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables.config import set_config_context

from langledger import AsyncLedger, Ledger
from langledger.compaction.middleware import LedgerMiddleware
from langledger.compaction.validity import provider_problems
from langledger.database import AsyncDatabase, Database
from langledger.errors import ConfigurationError
from langledger.tokens import count_text
from tests.support.scripted import ScriptedModel

WINDOW = 3_000
RULE = "Never use npm here; pnpm alone, for the lockfile's sake."


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database)


def history(turns: int, first: str = "Write the files.") -> list[BaseMessage]:
    messages: list[BaseMessage] = [HumanMessage(first, id="h0"), AIMessage("Noted.", id="a0")]
    messages.append(HumanMessage("Then begin.", id="h1"))
    for n in range(turns):
        call = {"name": "write_file", "args": {"file_path": f"f{n}.py"}, "id": f"c{n}"}
        messages.append(AIMessage(f"Writing f{n}.py.", tool_calls=[call], id=f"ai{n}"))
        messages.append(ToolMessage("log line\n" * 60, tool_call_id=f"c{n}", id=f"t{n}"))
    return messages


def see(middleware: LedgerMiddleware, messages: list[BaseMessage]) -> list[BaseMessage]:
    seen: list[BaseMessage] = []

    def handler(request: ModelRequest) -> ModelResponse:
        seen.extend(request.messages)
        return ModelResponse(result=[])

    request = ModelRequest(model=ScriptedModel(), messages=messages)
    with set_config_context({"configurable": {"thread_id": "t"}}) as context:
        context.run(middleware.wrap_model_call, request, handler)
    assert provider_problems(seen) == []
    return seen


def pinned(view: list[BaseMessage]) -> str:
    return view[0].text.partition("<pinned>\n")[2].partition("\n</pinned>")[0]


def test_a_text_stands_in_every_view_after_a_compaction(ledger: Ledger) -> None:
    messages = history(60)
    middleware = ledger.middleware(window=WINDOW)
    see(middleware, messages[:3])
    found = ledger.pin("t", RULE)
    assert (found.pin_id, found.tokens) == (1, count_text(RULE))
    for end in range(3, len(messages), 2):
        view = see(middleware, messages[:end])
        if "langledger" in view[0].additional_kwargs:
            assert pinned(view) == f"[p1]\n{RULE}"
    assert len(ledger.compactions("t")) >= 3
    assert {r.pinned for r in ledger.compactions("t")} == {1}


def test_a_message_is_shown_once_it_left_the_view(ledger: Ledger) -> None:
    messages = history(14, first=RULE)
    middleware = ledger.middleware(window=WINDOW)
    see(middleware, messages[:5])
    found = ledger.pin("t", message_id="h0")
    assert (found.text, found.said_by, found.entry_id) == (RULE, "the user", 1)
    assert str(see(middleware, messages[:5])).count(RULE) == 1  # in its own place
    assert pinned(see(middleware, messages)) == f"[p1, said by the user, entry #1]\n{RULE}"


def test_a_pin_made_after_a_compaction_shows_at_the_next_call(ledger: Ledger) -> None:
    messages = history(14)
    live, other = ledger.middleware(window=WINDOW), ledger.middleware(window=WINDOW)
    before = see(live, messages)
    see(other, messages)
    found = ledger.pin("t", RULE)
    for middleware in (live, other, ledger.middleware(window=WINDOW)):
        view = see(middleware, messages)
        assert pinned(view) == f"[p1]\n{RULE}"
        assert view[1:] == before[1:]
    assert ledger.unpin("t", found.pin_id)
    after = see(live, messages)
    assert [m.text for m in after] == [m.text for m in before]
    assert [r.reason for r in ledger.compactions("t")][1:] == ["pinned", "pinned"]
    assert not ledger.unpin("t", found.pin_id)


def test_pins_survive_a_restart(dsn: str) -> None:
    messages = history(30)
    with Ledger.from_conn_string(dsn) as first:
        see(first.middleware(window=WINDOW), messages[:25])
        first.pin("t", RULE)
    with Ledger.from_conn_string(dsn) as second:
        assert [found.text for found in second.pins("t")] == [RULE]
        for end in range(25, len(messages), 2):
            assert RULE in pinned(see(second.middleware(window=WINDOW), messages[:end]))


def test_where_there_is_no_room_the_oldest_of_the_lowest_give_way_and_the_view_says_so(
    ledger: Ledger,
) -> None:
    middleware = ledger.middleware(window=WINDOW, max_pinned_tokens=200)
    messages = history(14)
    see(middleware, messages[:3])
    ledger.pin("t", "first " * 50, priority=5)
    for n in range(2, 9):
        ledger.pin("t", f"rule {n} " * 15)
    shown = pinned(see(middleware, messages))
    assert count_text(shown) <= 200
    assert "first" in shown
    assert "rule 8" in shown
    assert "rule 2" not in shown
    assert "[Pinned too, but not shown: p2, p3" in shown
    report = ledger.compactions("t")[-1]
    assert report.pinned + report.pins_dropped == 8
    assert report.pins_dropped > 0


def test_of_a_pin_larger_than_the_budget_the_beginning_is_shown(ledger: Ledger) -> None:
    middleware = ledger.middleware(window=WINDOW, max_pinned_tokens=200)
    messages = history(14)
    see(middleware, messages[:3])
    ledger.pin("t", "a rule of less weight")
    ledger.pin("t", f"Read this first. {'Then this. ' * 300}", priority=10)
    shown = pinned(see(middleware, messages))
    assert count_text(shown) <= 200
    assert "[p2]\nRead this first. Then this." in shown
    assert "[Cut here: it has 9" in shown
    assert ledger.pins("t")[1].text.count("Then this.") == 300


def test_what_is_pinned_already_is_not_pinned_twice(ledger: Ledger) -> None:
    ledger.append([HumanMessage(RULE, id="h")], thread_id="t")
    for _ in range(2):
        ledger.pin("t", "a rule", priority=1)
        ledger.pin("t", entry_id=1)
        assert ledger.pin("t", message_id="h", priority=3).priority == 3
    assert [found.pin_id for found in ledger.pins("t")] == [1, 2]


def test_pins_are_of_one_thread_and_tenant(ledger: Ledger) -> None:
    for thread_id in ("t", "other"):
        ledger.append([HumanMessage("hi")], thread_id=thread_id)
    ledger.pin("t", RULE)
    assert ledger.pins("other") == []
    assert ledger.for_tenant("b").pins("t") == []
    assert not ledger.for_tenant("b").unpin("t", 1)


def test_text_cannot_close_its_section(ledger: Ledger) -> None:
    messages = history(14)
    see(ledger.middleware(window=WINDOW), messages)
    ledger.pin("t", "a </pinned> b </working_state>")
    ledger.pin("t", "second")
    head = see(ledger.middleware(window=WINDOW), messages)[0].text
    assert head.count("</pinned>") == 1
    assert "second" in head
    ledger.unpin("t", 1)
    ledger.unpin("t", 2)
    assert "<pinned>" not in see(ledger.middleware(window=WINDOW), messages)[0].text


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"text": "a", "entry_id": 1},
        {"text": " "},
        {"text": "a\x00b"},
        {"message_id": "nobody"},
        {"entry_id": 99},
        {"entry_id": "1"},
        {"text": "a", "priority": 1.5},
        {"text": "a", "thread_id": "nowhere"},
    ],
)
def test_what_cannot_be_pinned_is_refused(ledger: Ledger, wrong: dict[str, Any]) -> None:
    ledger.append([HumanMessage("hi", id="h")], thread_id="t")
    with pytest.raises(ConfigurationError):
        ledger.pin(**({"thread_id": "t"} | wrong))
    assert ledger.pins("t") == []


async def test_the_same_awaited(async_database: AsyncDatabase) -> None:
    ledger = AsyncLedger(async_database)
    await ledger.append([HumanMessage(RULE, id="h")], thread_id="t")
    found = await ledger.pin("t", message_id="h")
    assert await ledger.pins("t") == [found]
    assert await ledger.unpin("t", found.pin_id)
    assert await ledger.pins("t") == []
