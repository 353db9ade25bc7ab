"""A small model reads what was said: in the background, once, and only what it can quote."""

from __future__ import annotations

import json
from threading import Event
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from psycopg.sql import SQL, Identifier
from pydantic import Field

from langledger import Ledger
from langledger.compaction.history import state_of
from langledger.database import Database
from langledger.entries import Location
from langledger.errors import ConfigurationError
from langledger.operations import Batch, Complete, Query
from langledger.redaction import Redactor
from langledger.state.extract.model import Extractor, extract
from tests.support.scripted import ScriptedModel

SAID = "The customers in Bern pay in francs, so amounts are kept in rappen."


class Structured(ScriptedModel):
    """A model that can be asked for structured output, and counts how often it was."""

    asked: list[str] = Field(default_factory=list)

    def with_structured_output(self, schema: Any, *, include_raw: bool = False, **_: Any) -> Any:
        self.asked.append("structured")
        return self


def item(**fields: Any) -> dict[str, Any]:
    known = {
        "kind": "decision",
        "what": "Amounts are kept in rappen",
        "why": "customers pay in francs",
        "quote": "amounts are kept in rappen",
        "entry": 1,
    }
    return {**known, **fields}


def answer(*items: dict[str, Any]) -> str:
    return json.dumps({"items": list(items)})


def talk(ledger: Ledger, reader: Any, *texts: str, **options: Any) -> None:
    model = ScriptedModel(script=["I see."])
    middleware = ledger.middleware(window=4000, state_model=reader, **options)
    agent = create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver())
    for text in texts:
        agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t1"}})
    ledger.flush()


def decided(ledger: Ledger) -> list[str]:
    return [d.what for d in ledger.state("t1").decisions if d.origin == "model"]


def test_structured_output_is_used_where_the_model_has_it(ledger: Ledger) -> None:
    reader = Structured(script=[answer(item())])
    talk(ledger, reader, SAID)
    assert decided(ledger) == ["Amounts are kept in rappen"]
    assert reader.asked


def test_what_it_cannot_quote_is_dropped(ledger: Ledger) -> None:
    bad = [
        item(quote="amounts are kept in euros"),  # not said
        item(quote=""),
        item(what="Deploy on Kubernetes with Helm charts"),  # nothing of it was said
        item(kind="convention", what="Amounts in rappen", quote="I see."),  # the agent's words
        item(what="Nothing"),
        item(what="Store sessions in SQLite"),  # the prompt's own example
        item(kind="wish"),
        {"what": 7},
    ]
    talk(ledger, ScriptedModel(script=[answer(*bad)]), SAID)
    state = ledger.state("t1")
    assert [s for s in (*state.decisions, *state.conventions) if s.origin == "model"] == []


def test_a_bad_answer_does_no_harm_and_is_not_asked_for_again(ledger: Ledger) -> None:
    for text in ("", "I'm sorry, I can't.", "{", "[1, 2", "null", "{}" * 50):
        reader = ScriptedModel(script=[text])
        talk(ledger, reader, f"{SAID} {text}")
        asked = len(reader.sent)
        ledger.flush()
        assert decided(ledger) == []
        assert len(reader.sent) == asked <= 3


def test_no_entry_is_read_twice_and_a_new_process_goes_on(ledger: Ledger) -> None:
    first = ScriptedModel(script=[answer(item())])
    talk(ledger, first, SAID)
    second = ScriptedModel(script=[answer()])
    talk(ledger, second, "Thank you for that.")
    (asked,) = second.sent
    assert "rappen" not in asked[1].text.partition("Messages:")[2]
    assert "d1: Amounts are kept in rappen" in asked[1].text
    assert "Thank you" in asked[1].text


def test_the_agents_call_does_not_wait_for_it(ledger: Ledger) -> None:
    release = Event()

    def late(_: list[BaseMessage]) -> AIMessage:
        assert release.wait(60)
        return AIMessage(answer(item()))

    middleware = ledger.middleware(window=4000, state_model=ScriptedModel(script=[late]))
    model = ScriptedModel(script=["I see."])
    agent = create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t1"}}
    for text in (SAID, *["More of it."] * 12):  # enough that it is read before it is asked for
        agent.invoke({"messages": [HumanMessage(text)]}, config)
    assert decided(ledger) == []
    release.set()
    ledger.flush()
    assert decided(ledger) == ["Amounts are kept in rappen"]


def test_what_a_process_died_over_is_read_by_the_next_once_its_claim_ends(
    ledger: Ledger, database: Database
) -> None:
    ledger.append([HumanMessage(SAID)], thread_id="t1")
    dying = extract(
        Location("acme", "t1"),
        Extractor(model=ScriptedModel(script=["x"])),
        read_state=lambda location: state_of(location, redactor=Redactor()),
        redactor=Redactor(),
    )
    effect = next(dying)
    while isinstance(effect, Batch):
        effect = dying.send(database.execute(effect))
    assert isinstance(effect, Complete)  # it dies while the model is asked
    dying.close()
    reader = ScriptedModel(script=[answer(item())])
    talk(ledger, reader, "Thank you for that.")
    assert reader.sent == []
    ended = SQL("UPDATE {}.state_head SET claimed_till = now()").format(Identifier("langledger"))
    database.execute(Batch([Query(ended)]))
    talk(ledger, reader, "Good.")
    assert decided(ledger) == ["Amounts are kept in rappen"]
    assert len(reader.sent) == 1


def test_a_model_that_cannot_be_reached_is_asked_again_later(ledger: Ledger) -> None:
    talk(ledger, ScriptedModel(script=[ConnectionError("no route")]), SAID)
    assert decided(ledger) == []
    talk(ledger, ScriptedModel(script=[answer(item())]), "Thank you for that.")
    assert decided(ledger) == ["Amounts are kept in rappen"]


def test_a_larger_model_is_asked_only_about_what_the_small_one_doubts(ledger: Ledger) -> None:
    small = ScriptedModel(script=[answer(item(sure=False))])
    large = ScriptedModel(script=[answer(item())])
    talk(ledger, small, SAID, state_review_model=large)
    assert decided(ledger) == ["Amounts are kept in rappen"]
    assert len(large.sent) == 1
    talk(ledger, ScriptedModel(script=[answer()]), "Thanks.", state_review_model=large)
    assert len(large.sent) == 1


def test_what_is_sure_does_not_wait_for_a_larger_model_that_cannot_be_asked(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    doubted = item(what="Customers pay in francs", quote="pay in francs", sure=False)
    small = ScriptedModel(script=[answer(item(), doubted)])
    large = ScriptedModel(script=[ConnectionError("no route")])
    talk(ledger, small, SAID, state_review_model=large)
    assert decided(ledger) == ["Amounts are kept in rappen"]
    assert "the state review model failed: ConnectionError\n" in caplog.text
    assert len(small.sent) == 1


def test_of_a_larger_model_only_sure_answers_to_what_was_asked_count(ledger: Ledger) -> None:
    small = ScriptedModel(script=[answer(item(sure=False))])
    unasked = item(what="Customers pay in francs", quote="customers in Bern pay in francs")
    talk(
        ledger,
        small,
        SAID,
        state_review_model=ScriptedModel(script=[answer(item(sure=False), unasked)]),
    )
    assert decided(ledger) == []


def test_a_model_that_hangs_is_given_up(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    release = Event()

    def stuck(_: list[BaseMessage]) -> AIMessage:
        release.wait(60)
        return AIMessage(answer(item()))

    talk(ledger, ScriptedModel(script=[stuck]), SAID, state_timeout=0.2)
    release.set()
    assert decided(ledger) == []
    assert "the state model failed: TimeoutError from TimeoutError" in caplog.text


def test_a_model_out_of_time_is_not_asked_in_another_mode() -> None:
    model = ScriptedModel(script=["x"])
    asking = Extractor(model=model, timeout=30.0).ask(model, [HumanMessage("x")])
    effect = next(asking)
    assert isinstance(effect, Complete)
    assert effect.timeout == 30.0
    with pytest.raises(TimeoutError, match="no answer within 30 s"):
        asking.throw(TimeoutError())


def test_without_a_larger_model_what_is_doubted_is_dropped(ledger: Ledger) -> None:
    talk(ledger, ScriptedModel(script=[answer(item(sure=False))]), SAID)
    assert decided(ledger) == []


def test_it_can_close_an_order_only_with_the_users_later_words(ledger: Ledger) -> None:
    close = item(kind="close", id="c1", what="", quote="go ahead and push to main")
    said = ["Never push to main.", "Good work, go ahead and push to main."]
    talk(ledger, ScriptedModel(script=[answer(close)]), *said)
    assert [c.status for c in ledger.state("t1").conventions] == ["expired"]


def test_findings_are_part_of_the_next_compaction(ledger: Ledger) -> None:
    reader = ScriptedModel(script=[answer(item()), answer()])
    model = ScriptedModel(script=["I see. " * 150])
    middleware = ledger.middleware(window=4000, state_model=reader)
    agent = create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver())
    for text in (SAID, *(f"Tell me about number {n}. " + "More. " * 200 for n in range(12))):
        agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t1"}})
        ledger.flush()
    assert ledger.compactions("t1")
    head = next(m for m in model.sent[-1] if "langledger" in m.additional_kwargs)
    assert "Amounts are kept in rappen" in head.text.partition("<working_state>")[2]


def test_options_that_do_not_fit_are_refused(ledger: Ledger) -> None:
    with pytest.raises(ConfigurationError, match="state_timeout must be a number of seconds"):
        ledger.middleware(window=4000, state_timeout=0)
    with pytest.raises(ConfigurationError, match="state_review_model reviews"):
        ledger.middleware(window=4000, state_review_model=ScriptedModel(script=["x"]))
    with pytest.raises(ConfigurationError, match="world_probe"):
        ledger.middleware(window=4000, world_probe="git")  # type: ignore[arg-type] - a mistake
    with pytest.raises(ConfigurationError, match="project"):
        ledger.middleware(window=4000, project="")
