"""Facts of users that a model reads: what the rules miss, held against what the user typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from langledger import AsyncLedger, Ledger
from langledger.database import AsyncDatabase, Database
from langledger.memory.facts import facts_in
from tests.support.scripted import ScriptedModel, StuckModel

ANN: Any = {"configurable": {"thread_id": "monday", "user_id": "ann"}}


@pytest.fixture
def ledger(database: Database) -> Iterator[Ledger]:
    made = Ledger(database, tenant="acme", embeddings="off")
    yield made
    made.keeper.close()
    made.recalling.close()


def fact(quote: str, about: str = "", **more: Any) -> dict[str, Any]:
    return {"quote": quote, "kind": "profile", "about": about, **more}


def answer(*facts: dict[str, Any]) -> str:
    return f"Here you are:\n{json.dumps({'facts': facts})}"


def say(ledger: Ledger, *texts: str, thread_id: str = "monday", user_id: str = "ann") -> None:
    messages = [HumanMessage(text) for text in texts]
    ledger.chat_history(thread_id, user_id=user_id).add_messages(messages)
    ledger.flush()


def known(ledger: Ledger, user_id: str = "ann") -> dict[str, str]:
    return {fact.text: fact.slot for fact in ledger.facts(user_id)}


HOME = "Been in Lisbon for three years now, never leaving."
MOVED = "The boxes are unpacked in Porto, where we settled."
DIET = "肉我早就不碰了。"


def test_what_rules_miss_is_read_with_its_source(ledger: Ledger) -> None:
    assert facts_in(HOME) == facts_in(DIET) == []
    model = ScriptedModel(script=[answer(fact(HOME[:30], "Home"), fact("肉我早就不碰了", "diet"))])
    ledger.with_memory(fact_model=model)
    say(ledger, "Hello!", HOME, DIET)
    assert known(ledger) == {HOME[:30]: "home", "肉我早就不碰了": "diet"}
    assert [one.sources for one in ledger.facts("ann")] == [
        ({"thread_id": "monday", "entry_id": 3},),
        ({"thread_id": "monday", "entry_id": 2},),
    ]
    assert ledger.facts("bob") == []


def test_each_message_is_read_once_and_by_the_next_process(
    ledger: Ledger, database: Database
) -> None:
    say(ledger, HOME)  # before there was a model
    model = ScriptedModel(script=[answer(fact(HOME, "home")), answer()])
    ledger.with_memory(fact_model=model)
    say(ledger, "And the port?")
    say(ledger, "Thanks.")
    assert known(ledger) == {HOME: "home"}
    assert [HOME in messages[-1].text.split("Messages:")[1] for messages in model.sent] == [
        True,
        False,
    ]


def test_what_contradicts_supersedes(ledger: Ledger) -> None:
    model = ScriptedModel(
        script=[
            answer(fact(HOME, "home"), fact("肉我早就不碰了", "饮食")),
            answer(fact(MOVED, "where they live", replaces="f2")),
            answer(fact("我又开始吃肉了", "饮食")),
            answer(fact("forget where I live", replaces="f2", withdrawn=True)),
        ]
    )
    ledger.with_memory(fact_model=model)
    say(ledger, HOME, DIET)
    say(ledger, MOVED, thread_id="tuesday")
    assert f"f2 (home): {HOME}" in model.sent[-1][-1].text
    assert list(known(ledger)) == [MOVED, "肉我早就不碰了"]
    say(ledger, "我又开始吃肉了。", thread_id="tuesday")
    assert list(known(ledger)) == ["我又开始吃肉了", MOVED]
    say(ledger, "Oh, and forget where I live.", thread_id="tuesday")
    assert list(known(ledger)) == ["我又开始吃肉了"]
    everything = ledger.facts("ann", superseded=True)
    assert {one.text: one.status for one in everything}[HOME] == "superseded"


DROPPED = [
    ("Do I live in Rome?", fact("I live in Rome", "home")),
    ("Suppose I live in Rome.", fact("I live in Rome", "home")),
    ("```\nI live in Rome\n```", fact("I live in Rome", "home")),
    ("> I live in Rome", fact("I live in Rome", "home")),
    ("We talked of Rome.", fact("I live in Rome", "home")),
    ("I sleep in Rome.", fact("", "home")),
    ("I sleep in Rome.", fact("I", "home")),
    ("I sleep in Rome.", fact("I sleep in Rome", "home", withdrawn=True)),
    ("I sleep in Rome.", {"quote": None}),
    ("I sleep in Rome.", {"quote": ["I sleep"], "about": {}}),
]


def test_what_is_no_plain_quotation_is_dropped(ledger: Ledger) -> None:
    model = ScriptedModel(script=[answer(found) for _, found in DROPPED])
    ledger.with_memory(fact_model=model)
    for number, (said, _) in enumerate(DROPPED):
        say(ledger, said, thread_id=f"{number}")
    assert len(model.sent) == len(DROPPED)
    assert known(ledger) == {}


def test_a_model_adds_nothing_to_what_rules_have_read(ledger: Ledger) -> None:
    quote = fact("I prefer tabs over spaces", "indentation")
    ledger.with_memory(fact_model=ScriptedModel(script=[answer(quote)]))
    say(ledger, "I prefer tabs over spaces.")
    assert known(ledger) == {"I prefer tabs over spaces": ""}


def test_a_model_that_reads_late_replaces_nothing_newer(ledger: Ledger) -> None:
    ledger.with_memory(fact_model=ScriptedModel(script=[answer(fact(HOME, "home"))]))
    say(ledger, HOME, "I live in Porto.")
    assert known(ledger) == {"I live in Porto": "home"}


def test_a_model_that_fails_or_hangs_is_asked_again(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    good = answer(fact(HOME, "home"))
    ledger.with_memory(fact_model=ScriptedModel(script=[ValueError("no key"), "I can't."]))
    say(ledger, HOME)
    assert "the fact model failed: ValueError" in caplog.text
    stuck = StuckModel(script=[good])
    ledger.with_memory(fact_model=stuck, memory_timeout=0.1)
    say(ledger, "Thanks.")
    assert "the fact model failed: TimeoutError" in caplog.text
    assert known(ledger) == {}
    ledger.with_memory(fact_model=ScriptedModel(script=[good]))
    say(ledger, "Bye.")
    stuck.released.set()
    assert known(ledger) == {HOME: "home"}


def test_no_call_of_an_agent_waits_for_it(ledger: Ledger) -> None:
    stuck = StuckModel(script=[answer(fact(HOME, "home"))])
    ledger.with_memory(fact_model=stuck, memory_timeout=None)
    agent = create_agent(
        ScriptedModel(script=["Fine."]), middleware=[ledger.middleware(window=4000)]
    )
    agent.invoke({"messages": [HumanMessage(HOME)]}, ANN)
    assert stuck.sent == []
    stuck.released.set()
    ledger.flush()
    assert known(ledger) == {HOME: "home"}


async def test_awaited_and_for_another_tenant(async_database: AsyncDatabase) -> None:
    ledger = AsyncLedger(async_database, tenant="acme", embeddings="off")
    ledger.with_memory(fact_model=ScriptedModel(script=[answer(fact(HOME, "home"))]))
    other = ledger.for_tenant("umbrella")
    await other.chat_history("t", user_id="ann").aadd_messages(
        [HumanMessage(HOME), AIMessage("ok")]
    )
    await other.flush()
    assert [fact.text for fact in await other.facts("ann")] == [HOME]
    assert await ledger.facts("ann") == []
    ledger.keeper.close()
