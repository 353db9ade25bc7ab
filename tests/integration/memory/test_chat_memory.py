"""LangChain's memory classes on a real PostgreSQL, in the chains they were made for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_classic.chains import ConversationChain
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables.history import RunnableWithMessageHistory

from langledger import AsyncLedger, Ledger, LedgerChatMemory, LedgerChatMessageHistory
from langledger.compaction.validity import provider_problems
from langledger.database import AsyncDatabase, Database
from langledger.errors import ConfigurationError
from langledger.tokens import count_messages
from tests.support.scripted import ScriptedModel

LIMIT = 800
FACT = "The billing-gateway listens on port 8431."
QUESTION = "Which port does the billing-gateway listen on?"


@pytest.fixture
def ledger(database: Database) -> Iterator[Ledger]:
    made = Ledger(database, tenant="acme")
    yield made
    made.recalling.close()


def filled(ledger: Ledger, **options: Any) -> LedgerChatMemory:
    memory = LedgerChatMemory(ledger=ledger, session_id="s", max_token_limit=LIMIT, **options)
    early: list[BaseMessage] = [HumanMessage(FACT), AIMessage("Noted.")]
    for n in range(24):
        early += [HumanMessage(f"Turn {n}: " + "nothing of interest. " * 9), AIMessage("Yes.")]
    memory.chat_memory.add_messages(early)
    return memory


def conversation(model: ScriptedModel, memory: LedgerChatMemory, **options: Any) -> Any:
    with warnings.catch_warnings():  # the chain is deprecated upstream; the memory adds no noise
        warnings.simplefilter("ignore")
        return ConversationChain(llm=model, memory=memory, **options)


def run_chain(chain: Any, inputs: dict[str, Any]) -> Any:
    return chain.invoke(inputs)


def test_it_remembers_in_a_conversation_chain(ledger: Ledger) -> None:
    model = ScriptedModel(script=["Hello Ann.", "Your name is Ann."])
    memory = ledger.chat_memory("s")
    chain = conversation(model, memory)
    run_chain(chain, {"input": "I am Ann."})
    run_chain(chain, {"input": "Who am I?"})
    assert "Human: I am Ann.\nAI: Hello Ann." in model.sent[-1][0].text
    said = [(entry.role, entry.message.text) for entry in ledger.history("s")]
    assert said == [
        ("human", "I am Ann."),
        ("ai", "Hello Ann."),
        ("human", "Who am I?"),
        ("ai", "Your name is Ann."),
    ]


def test_messages_in_a_chat_prompt(ledger: Ledger) -> None:
    model = ScriptedModel(script=["Yes."])
    memory = filled(ledger, return_messages=True, memory_key="so_far", input_key="question")
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Answer."), MessagesPlaceholder("so_far"), ("human", "{question}")]
    )
    chain = conversation(model, memory, prompt=prompt, input_key="question")
    run_chain(chain, {"question": QUESTION})
    [view] = model.sent
    assert isinstance(view[0], SystemMessage)
    assert view[-1].text == QUESTION
    assert provider_problems(view) == []
    assert any("8431" in message.text for message in view)


@pytest.mark.parametrize("limit", [300, 400, 800, 3000])
def test_the_context_stays_within_its_limit(ledger: Ledger, limit: int) -> None:
    memory = filled(ledger, return_messages=True)
    memory.max_token_limit = limit
    context = memory.load_memory_variables({"input": QUESTION})["history"]
    assert 0 < count_messages(context) <= limit
    assert FACT in context[0].text
    assert len(ledger.history("s")) == 50


def test_what_bears_on_the_input_is_recalled_and_nothing_else(ledger: Ledger) -> None:
    memory = filled(ledger)
    assert "<recalled-history>" in memory.load_memory_variables({"input": QUESTION})["history"]
    for other in ("hi", "", "zzz qqq"):
        assert "<recalled-history>" not in memory.load_memory_variables({"input": other})["history"]
    memory.recall = False
    assert "<recalled-history>" not in memory.load_memory_variables({"input": QUESTION})["history"]


@pytest.mark.parametrize("limit", [300, 400])
def test_the_newest_answer_is_always_there(ledger: Ledger, limit: int) -> None:
    memory = ledger.chat_memory("s", max_token_limit=limit, recall=False)
    for n in range(12):
        asked = f"Question {n}: why does the wind blow over the hills today, and topic {n}?"
        memory.save_context({"input": asked}, {"output": f"Answer {n}: the sun warms the ground."})
        context = memory.load_memory_variables({"input": "x"})["history"]
        assert asked in context
        assert f"Answer {n}:" in context


def test_a_long_paste_is_cut_and_hides_nothing_else(ledger: Ledger) -> None:
    memory = filled(ledger, return_messages=True)
    memory.save_context({"input": "Read: " + "line of log " * 1200}, {"output": "An error."})
    context = memory.load_memory_variables({"input": QUESTION})["history"]
    assert count_messages(context) <= LIMIT
    said = [message.text for message in context]
    assert any(FACT in text for text in said)
    pasted = next(text for text in said if text.startswith("Read: line of log"))
    assert said[said.index(pasted) + 1] == "An error."
    assert provider_problems(context) == []


def test_what_its_user_says_is_known_in_the_next_conversation(ledger: Ledger) -> None:
    first = ledger.chat_memory("monday", user_id="ann")
    first.save_context({"input": "I prefer tabs over spaces."}, {"output": "Noted."})
    assert [fact.text for fact in ledger.facts("ann")] == ["I prefer tabs over spaces"]
    second = ledger.chat_memory("tuesday", user_id="ann")
    asked = {"input": "Do I prefer tabs or spaces?"}
    assert "I prefer tabs" in second.load_memory_variables(asked)["history"]
    assert ledger.chat_memory("other", user_id="bob").load_memory_variables(asked)["history"] == ""


def test_loading_it_records_nothing_twice(ledger: Ledger) -> None:
    ledger.append([HumanMessage("yes"), AIMessage("yes"), HumanMessage("yes")], thread_id="s")
    memory = ledger.chat_memory("s")
    for _ in range(3):
        memory.load_memory_variables({"input": "x"})
        memory.save_context({"input": "yes"}, {"output": "yes"})
    assert len(ledger.history("s")) == 9


def test_clear_shows_nothing_and_deletes_nothing(ledger: Ledger) -> None:
    memory = filled(ledger)
    memory.clear()
    assert memory.buffer == ""
    memory.save_context({"input": "Again."}, {"output": "Hello."})
    assert memory.buffer == "Human: Again.\nAI: Hello."
    assert len(ledger.history("s")) == 52


def test_keys_and_prefixes(ledger: Ledger) -> None:
    memory = ledger.chat_memory(
        "s", input_key="q", output_key="a", human_prefix="User", ai_prefix="Bot"
    )
    memory.save_context({"q": "One?", "other": 1}, {"a": "Two.", "sources": "x"})
    assert (
        memory.load_memory_variables({"q": "x", "other": 2})["history"] == "User: One?\nBot: Two."
    )
    template = PromptTemplate.from_template("{history}|{q}")
    assert template.format(**memory.load_memory_variables({}), q="y").endswith("Bot: Two.|y")
    for wrong in (5, None, ["q"], HumanMessage("x")):
        with pytest.raises(ConfigurationError, match="inputs are a dict, not"):
            memory.load_memory_variables(wrong)  # type: ignore[arg-type]  - what is wrong


async def test_awaited(async_database: AsyncDatabase) -> None:
    ledger = AsyncLedger(async_database, tenant="acme")
    memory = ledger.chat_memory("s")
    await memory.asave_context({"input": "I am Ann."}, {"output": "Hello."})
    found = await memory.aload_memory_variables({"input": "x"})
    assert found["history"] == "Human: I am Ann.\nAI: Hello."
    history = ledger.chat_history("s")
    assert [m.text for m in await history.aget_messages()] == ["I am Ann.", "Hello."]
    await history.aclear()
    assert await history.aget_messages() == []


def test_a_history_in_a_runnable(ledger: Ledger) -> None:
    model = ScriptedModel(script=["Hello Ann.", "Ann."])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated upstream
        runnable = RunnableWithMessageHistory(
            model, lambda session_id: LedgerChatMessageHistory(ledger, session_id=session_id)
        )
    config = {"configurable": {"session_id": "r"}}
    runnable.invoke([HumanMessage("I am Ann.")], config)
    runnable.invoke([HumanMessage("Who am I?")], config)
    assert [m.text for m in model.sent[-1]] == ["I am Ann.", "Hello Ann.", "Who am I?"]
    assert [m.text for m in ledger.chat_history("r").messages] == [
        "I am Ann.",
        "Hello Ann.",
        "Who am I?",
        "Ann.",
    ]
