"""What left the view comes back where the user asks for it: a real agent, a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langledger import Ledger
from langledger.compaction.validity import provider_problems
from langledger.database import Database
from langledger.errors import EmbeddingError
from langledger.operations import Query, fetch_all, run
from langledger.recall import RECALLED, Embedder, Recall
from langledger.tokens import count_message, count_text, count_tools
from tests.support.scripted import ScriptedModel

WINDOW = 4000
FACT = "The retry budget of parameter-301-61 is 4817 milliseconds, measured on the staging cluster."
FACT_ELSEWHERE = "The proxy of the staging cluster has another name now."
QUESTION = "What is the retry budget of parameter-301-61?"
CHATTER = "We talked about the weather in general and about nothing else that matters much. " * 9


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return f"nothing special in {where}"


def looking(n: int) -> AIMessage:
    call = {"name": "look", "args": {"where": f"place {n}"}, "id": f"look-{n}"}
    return AIMessage("I shall look.", tool_calls=[call])


class Talk:
    """A conversation with an agent whose early part leaves the view."""

    def __init__(self, ledger: Ledger, **options: Any) -> None:
        self.model = ScriptedModel(script=["Noted."])
        self.checkpointer = InMemorySaver()
        self.events: list[dict[str, Any]] = []
        self.start(ledger, **options)

    def start(self, ledger: Ledger, **options: Any) -> None:
        """Begin with middleware that remembers nothing, as a new process does."""
        self.agent = create_agent(
            self.model,
            [look],
            middleware=[ledger.middleware(window=WINDOW, **options)],
            checkpointer=self.checkpointer,
        )

    def say(self, text: str, *answers: AIMessage | str) -> list[list[BaseMessage]]:
        """Say something, and return the views that the model was sent."""
        return self.run([HumanMessage(text)], *answers)

    def run(self, messages: list[BaseMessage], *answers: Any) -> list[list[BaseMessage]]:
        before = len(self.model.sent)
        if answers:
            self.model.script = [*["Noted."] * before, *answers]
        config = {"configurable": {"thread_id": "t1"}}
        for event in self.agent.stream({"messages": messages}, config, stream_mode="custom"):
            self.events.append(event["langledger"])
        return self.model.sent[before:]

    def forget_the_beginning(self, first: str = FACT) -> None:
        early: list[BaseMessage] = [HumanMessage(first)]
        for n in range(18):
            early += [AIMessage("Noted."), HumanMessage(f"Part {n}. {CHATTER}")]
        [view] = self.run(early)
        assert not any(m.content in (FACT, first) for m in view)


def brought(view: list[BaseMessage]) -> list[int]:
    return [at for at, m in enumerate(view) if m.additional_kwargs.get(RECALLED)]


@pytest.fixture
def ledger(database: Database) -> Iterator[Ledger]:
    made = Ledger(database, tenant="acme")
    yield made
    made.recalling.close()


def test_an_exact_answer_comes_back_before_the_question(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    talk.forget_the_beginning()
    first, second, third = talk.say(QUESTION, looking(1), looking(2), "4817")
    [at] = brought(first)
    assert "4817 milliseconds" in first[at].text
    assert "#1 (human)" in first[at].text
    assert first[at + 1].content == QUESTION  # right before the newest user message
    assert provider_problems(first) == provider_problems(third) == []
    assert second[: len(first)] == first  # the prefix is stable within the turn
    assert third[: len(second)] == second
    told = [event["recall"] for event in talk.events if "recall" in event][-1]
    assert 1 in told["entries"]
    assert 0 < told["tokens"] <= 1500
    assert not told["failed"]
    assert f"langledger-recalled-{told['message']}" == first[at].id


def test_the_report_of_a_compaction_counts_what_was_brought_beside_it(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    early: list[BaseMessage] = [HumanMessage(FACT)]
    for n in range(18):
        early += [AIMessage("Noted."), HumanMessage(f"Part {n}. {CHATTER}")]
    [view] = talk.run([*early, AIMessage("Noted."), HumanMessage(QUESTION)])
    [at] = brought(view)
    [report] = ledger.compactions("t1")
    assert report.recalled_tokens == count_message(view[at])
    tools = [look, *ledger.middleware(window=WINDOW).tools]
    assert report.tokens_after == sum(map(count_message, view)) + count_tools(tools)
    assert report.model_dump(mode="json") in [event.get("compaction") for event in talk.events]


def test_what_the_summary_quotes_is_not_brought_again(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=1200)
    talk.forget_the_beginning(FACT.replace(" is ", "\nis ").replace(", ", ",\n\n"))
    [view] = talk.say(QUESTION)
    assert f'"{FACT}" [#1]' in view[0].text
    assert not any("#1 (human)" in view[at].text for at in brought(view))


def test_of_a_long_text_what_bears_on_the_question_comes_back(ledger: Ledger) -> None:
    values = "; ".join(f"parameter-{n}=value-{n * 7919:010x}" for n in range(36))
    talk = Talk(ledger, max_summary_tokens=100)
    talk.forget_the_beginning(f"Keep these: {values}.")
    [view] = talk.say("What is the exact value of parameter-17?")
    [at] = brought(view)
    assert f"parameter-17=value-{17 * 7919:010x}" in view[at].text
    assert count_text(view[at].text) < 400


@pytest.mark.parametrize(
    ("removed", "comes_back"), [(["fact"], False), (["hello", "hi", "fact"], True)]
)
def test_what_was_taken_out_is_not_brought_back_and_what_was_trimmed_off_is(
    ledger: Ledger, removed: list[str], comes_back: bool
) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    opening = [HumanMessage("Hello.", id="hello"), AIMessage("Hello.", id="hi")]
    talk.run([*opening, HumanMessage(FACT, id="fact")])
    talk.forget_the_beginning(FACT_ELSEWHERE)
    config = {"configurable": {"thread_id": "t1"}}
    talk.agent.update_state(config, {"messages": [RemoveMessage(id=name) for name in removed]})
    [view] = talk.say(QUESTION)
    assert any("4817 milliseconds" in view[at].text for at in brought(view)) is comes_back


def test_what_was_brought_is_noted_as_used_in_the_background(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    talk.forget_the_beginning()
    assert 1 in {hit.entry_id for hit in ledger.never_recalled("t1")}
    talk.say(QUESTION)
    ledger.recalling.close()  # waits for what is under way
    left = {hit.entry_id for hit in ledger.never_recalled("t1")}
    assert left
    assert 1 not in left


def test_it_stays_in_the_turns_that_follow_and_in_a_new_process(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    talk.forget_the_beginning()
    [view] = talk.say(QUESTION)
    [after] = talk.say("Thanks.")
    assert after[: len(view)] == view
    talk.start(ledger, max_summary_tokens=100)
    [resumed] = talk.say("Bye.")
    assert resumed[: len(after)] == after


def test_it_is_neither_recorded_nor_indexed_nor_in_the_state(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    talk.forget_the_beginning()
    for _ in range(3):
        assert brought(talk.say(QUESTION)[0])
    recorded = [entry.message for entry in ledger.history("t1")]
    assert not [m for m in recorded if RECALLED in m.additional_kwargs]
    hits = ledger.recall(QUESTION, thread_id="t1", k=10)
    assert [hit.entry_id for hit in hits if "4817" in hit.text] == [1]


def test_what_the_view_shows_is_not_brought_again(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    talk.forget_the_beginning()
    for _ in range(3):
        [view] = talk.say(QUESTION)
    assert sum(f"#1 (human): {FACT}" in message.text for message in view) == 1
    assert len(brought(view)) == 1  # and nothing worse in its place


def test_what_is_pinned_is_not_brought_too(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    talk.forget_the_beginning()
    ledger.pin("t1", entry_id=1)
    [view] = talk.say(QUESTION)
    assert FACT in view[0].text
    assert not [at for at in brought(view) if FACT in view[at].text]


def test_processes_that_take_turns_send_the_same_prefix(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    talk.forget_the_beginning()
    one = talk.agent
    talk.start(ledger, max_summary_tokens=100)
    talk.say("Hello there.")
    other, talk.agent = talk.agent, one
    [first] = talk.say(QUESTION)
    assert brought(first)
    talk.agent = other
    [second] = talk.say("Thanks.")
    assert second[: len(first)] == first
    talk.agent = one
    [third] = talk.say("Bye.")
    assert third[: len(second)] == second


@pytest.mark.parametrize("text", ["hi", "ok", "PHRASE_THAT_DOES_NOT_APPEAR_QQQQ", "go on"])
def test_nothing_is_brought_where_nothing_bears_on_it(ledger: Ledger, text: str) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    talk.forget_the_beginning()
    assert brought(talk.say(text)[0]) == []


def test_nothing_is_searched_while_the_view_shows_everything(ledger: Ledger) -> None:
    talk = Talk(ledger)
    talk.say(FACT)
    assert brought(talk.say(QUESTION)[0]) == []


def test_it_can_be_switched_off(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100, recall=False)
    talk.forget_the_beginning()
    assert brought(talk.say(QUESTION)[0]) == []


def test_a_deleted_thread_leaves_nothing_that_was_recalled(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100)
    talk.forget_the_beginning()
    assert brought(talk.say(QUESTION)[0])
    count = Query("SELECT count(*) AS n FROM {schema}.brought")
    assert run(fetch_all(count), ledger.executor)[0][0]["n"] == 1
    ledger.checkpointer().delete_thread("t1")
    assert run(fetch_all(count), ledger.executor)[0][0]["n"] == 0


class Failing(Recall):
    """A search that breaks down."""

    def search(self, request: Any) -> Any:
        raise EmbeddingError("the embedding service is gone")
        yield


def test_a_search_that_fails_costs_no_answer(database: Database, ledger: Ledger) -> None:
    broken = Ledger(
        database, tenant="acme", recalling=Failing(database, tenant="acme", embedder=None)
    )
    talk = Talk(broken, max_summary_tokens=100)
    talk.forget_the_beginning()
    [view] = talk.say(QUESTION, "I do not know.")
    assert brought(view) == []
    told = [event["recall"] for event in talk.events if "recall" in event][-1]
    assert told["failed"]
    assert "the embedding service is gone" in told["reasons"][0]


def test_a_failing_model_leaves_the_words(database: Database) -> None:
    class Down:
        model = "down"

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise ConnectionError("down")

        def embed_query(self, text: str) -> list[float]:
            raise ConnectionError("down")

    engine = Recall(database, tenant="acme", embedder=Embedder(Down()))
    try:
        talk = Talk(Ledger(database, tenant="acme", recalling=engine), max_summary_tokens=100)
        talk.forget_the_beginning()
        assert brought(talk.say(QUESTION)[0])
    finally:
        engine.close()


def test_debug_labels_every_message_and_tells_what_each_part_takes(ledger: Ledger) -> None:
    talk = Talk(ledger, max_summary_tokens=100, debug=True)
    talk.forget_the_beginning()
    [view] = talk.say(QUESTION)
    labels = [message.additional_kwargs["langledger"] for message in view]
    assert [label["origin"] for label in labels[:1]] == ["compaction"]
    assert {label["origin"] for label in labels} == {"compaction", "history", "recalled"}
    entries = {entry.entry_id: entry.message.text for entry in ledger.history("t1")}
    for message, label in zip(view, labels, strict=True):
        if label["origin"] == "history":
            assert entries[label["entry"]] == message.text
    told = [event["view"] for event in talk.events if "view" in event][-1]
    assert set(told["parts"]) == {
        "system",
        "tools",
        "summary",
        "state",
        "recalled",
        "recent",
        "newest",
    }
    assert told["parts"]["recalled"] > 0
    assert told["free"] == told["usable"] - sum(told["parts"].values())
    assert not [
        e.message for e in ledger.history("t1") if "langledger" in e.message.additional_kwargs
    ]


def test_a_part_that_starves_the_others_is_named(ledger: Ledger) -> None:
    talk = Talk(ledger)
    talk.say("Long. " * 1500)
    [told] = [event["view"] for event in talk.events if "view" in event]
    assert "newest message takes" in told["warnings"][0]
