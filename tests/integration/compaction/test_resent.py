"""A client that sends its whole conversation at each turn, under no ids or new ones."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from langledger import Ledger
from langledger.database import Database
from tests.support.scripted import ScriptedModel

CONFIG: Any = {"configurable": {"thread_id": "chat"}}


def answer(number: int) -> AIMessage:
    """An answer with what a provider reports, which the client does not send back."""
    return AIMessage(
        f"answer {number}: " + "words " * 150, response_metadata={"model_name": f"m{number}"}
    )


def talk(ledger: Ledger, turns: int, first: str = "Never mention cats.") -> list[dict[str, str]]:
    model = ScriptedModel(script=[answer(n) for n in range(turns)])
    agent = create_agent(model, [], middleware=[ledger.middleware(window=4000)])
    said: list[dict[str, str]] = []
    for turn in range(turns):
        said.append({"role": "user", "content": "continue" if turn else first})
        state = agent.invoke({"messages": said}, CONFIG)
        said.append({"role": "assistant", "content": state["messages"][-1].text})
    return said


@pytest.mark.parametrize("reopened", [False, True])
def test_each_message_is_recorded_once(database: Database, reopened: bool) -> None:
    ledger = Ledger(database)
    said = talk(ledger, 16)
    if reopened:  # another process goes on
        ledger = Ledger(database)
        model = ScriptedModel(script=[AIMessage("the end")])
        agent = create_agent(model, [], middleware=[ledger.middleware(window=4000)])
        said.append({"role": "user", "content": "continue"})
        agent.invoke({"messages": said}, CONFIG)
        said.append({"role": "assistant", "content": "the end"})
    history = ledger.history("chat")
    assert [(e.message.type, e.message.text) for e in history] == [
        ("human" if m["role"] == "user" else "ai", m["content"]) for m in said
    ]
    assert 1 <= len(ledger.compactions("chat")) <= 4  # not one at every turn


def test_what_the_client_changed_is_recorded_too(database: Database) -> None:
    ledger = Ledger(database)
    said = talk(ledger, 4)
    said[2] = {"role": "user", "content": "continue, but shorter"}
    model = ScriptedModel(script=[AIMessage("ok")])
    agent = create_agent(model, [], middleware=[ledger.middleware(window=4000)])
    agent.invoke({"messages": [*said, {"role": "user", "content": "go on"}]}, CONFIG)
    texts = [e.message.text for e in ledger.history("chat")]
    assert len(texts) == 8 + 3
    assert texts[8:] == ["continue, but shorter", "go on", "ok"]
    assert [m.text for m in model.sent[0] if m.text] == [
        *(m["content"] for m in said),
        "go on",
    ]


def test_another_conversation_in_the_thread_is_its_own(database: Database) -> None:
    ledger = Ledger(database)
    talk(ledger, 2)
    talk(ledger, 2, first="Mention cats.")
    humans = [e.message for e in ledger.history("chat") if isinstance(e.message, HumanMessage)]
    assert [m.text for m in humans[:3]] == ["Never mention cats.", "continue", "Mention cats."]
    assert len({m.id for m in humans}) == len(humans)
