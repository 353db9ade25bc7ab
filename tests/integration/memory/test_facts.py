"""What a user said in one session is known in the next: on a real PostgreSQL, by a real agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langledger import AsyncLedger, Ledger
from langledger.database import AsyncDatabase, Database
from langledger.operations import run
from tests.support.scripted import ScriptedModel


@pytest.fixture
def ledger(database: Database) -> Iterator[Ledger]:
    made = Ledger(database, tenant="acme")
    yield made
    made.recalling.close()


def talk(
    ledger: Ledger, thread_id: str, *said: str, user_id: str = "ann", window: int = 8000
) -> list[BaseMessage]:
    """Say some things in a thread, and return the last view."""
    model = ScriptedModel(script=["Fine."])
    agent = create_agent(model, middleware=[ledger.middleware(window=window)])
    messages: list[BaseMessage] = []
    for text in said:
        messages.append(HumanMessage(text))
        config = {"configurable": {"thread_id": thread_id, "user_id": user_id}}
        messages = agent.invoke({"messages": messages}, config)["messages"]
    return model.sent[-1]


def test_a_preference_is_there_in_the_next_session(ledger: Ledger) -> None:
    talk(ledger, "monday", "I prefer tabs over spaces.", "Thanks!")
    view = talk(ledger, "tuesday", "Please format the module.")
    assert "I prefer tabs over spaces" in view[0].text
    assert view[0].additional_kwargs["langledger"]["origin"] == "recalled"
    assert view[1].text == "Please format the module."
    assert len(talk(ledger, "other", "Please format the module.", user_id="bob")) == 1
    assert len(talk(ledger.for_tenant("umbrella"), "x", "Please format the module.")) == 1


def test_what_was_said_in_this_thread_is_not_said_again(ledger: Ledger) -> None:
    view = talk(ledger, "monday", "I prefer tabs over spaces.", "Which do I prefer, tabs?")
    assert [m.text for m in view] == [
        "I prefer tabs over spaces.",
        "Fine.",
        "Which do I prefer, tabs?",
    ]


def test_a_fact_is_brought_once_in_a_thread(ledger: Ledger) -> None:
    talk(ledger, "monday", "I'm allergic to peanuts.")
    view = talk(ledger, "tuesday", "Hi!", "A recipe with peanuts?", "Another one with peanuts?")
    assert sum("allergic to peanuts" in m.text for m in view) == 1


def test_a_preference_outlives_the_compactions_of_a_thread(ledger: Ledger) -> None:
    talk(ledger, "monday", "From now on, answer in German.")
    said = [f"Part {n} of the plan. " * 20 for n in range(30)]
    view = talk(ledger, "tuesday", *said, window=2000)
    assert len(ledger.compactions("tuesday")) > 1
    assert sum("answer in German" in m.text for m in view) == 1


def test_each_fact_names_its_sources_and_is_kept_once(ledger: Ledger) -> None:
    talk(ledger, "monday", "Good morning.", "I prefer tabs over spaces.")
    talk(ledger, "tuesday", "i prefer tabs over spaces")
    [fact] = ledger.facts("ann")
    assert fact.kind == "preference"
    assert fact.sources == (
        {"thread_id": "monday", "entry_id": 3},
        {"thread_id": "tuesday", "entry_id": 1},
    )
    entry = ledger.history("monday")[fact.sources[0]["entry_id"] - 1]
    assert entry.message.text == "I prefer tabs over spaces."
    [item] = ledger.store().search(("facts", "ann"))
    assert item.value["text"] == "I prefer tabs over spaces"


def test_what_is_contradicted_is_replaced_and_kept(ledger: Ledger) -> None:
    talk(ledger, "a", "My favourite player is Ronaldo.", "I like mushrooms.")
    talk(ledger, "b", "My favourite player is now Messi.", "I don't like mushrooms.")
    assert {fact.text for fact in ledger.facts("ann")} == {
        "My favourite player is now Messi",
        "I don't like mushrooms",
    }
    every = {fact.text: fact for fact in ledger.facts("ann", superseded=True)}
    old = every["My favourite player is Ronaldo"]
    assert old.status == "superseded"
    assert old.superseded_by == every["My favourite player is now Messi"].key
    assert [fact.text for fact in ledger.facts("ann", query="favourite player")] == [
        "My favourite player is now Messi"
    ]
    view = talk(ledger, "c", "Who is my favourite player?")
    assert "Messi" in view[0].text
    assert "Ronaldo" not in view[0].text


def test_what_is_denied_is_withdrawn_and_stays_so_when_read_again(ledger: Ledger) -> None:
    def hear(text: str, entry_id: int) -> int:
        message = HumanMessage(text)
        learned = ledger.long_term.learn_from("ann", message, thread_id="t", entry_id=entry_id)
        return run(learned, ledger.executor)

    said = [
        "I'm allergic to peanuts. I work at Google. I prefer dark mode.\n我对花生过敏。",
        "From now on, answer in German.",
        "以后用中文回答。",
    ]
    assert [hear(text, at) for at, text in enumerate(said, 1)] == [4, 1, 1]
    assert hear("I no longer work at Acme.", 4) == 0
    denials = "I'm not allergic to peanuts. I no longer work at Google.\n我不对花生过敏了。"
    assert hear(f"{denials}\nForget that I prefer dark mode.", 5) == 4
    assert hear("From now on, answer in English.", 6) == 1
    assert [hear(text, at) for at, text in enumerate(said, 1)] == [0, 0, 0]
    assert [fact.text for fact in ledger.facts("ann")] == ["From now on, answer in English"]
    assert len(ledger.facts("ann", superseded=True)) == 7
    assert hear("I work at Google.", 7) == 1


DIALOGUES = [
    (["My name is Ann. I love tea.", "Forget that."], []),
    (["My name is Ann.", "What is 2 + 2?", "Forget that."], ["My name is Ann"]),
    (["I prefer dark mode.", "Forget that, I prefer light mode."], ["I prefer light mode"]),
    (["My name is Ann. I live in Rome.", "Forget my name."], ["I live in Rome"]),
    (["I'm allergic to nuts. I love tea.", "Forget my nut allergy."], ["I love tea"]),
    (["Always answer in German.", "Stop answering in German."], []),
    (["Always use tabs.", "Don't use tabs anymore."], []),
    (["Always use type hints.", "Never use type hints."], ["Never use type hints"]),
    (["Never push to main.", "Always push to main."], ["Always push to main"]),
    (["Never push to main.", "You can push to main again."], []),
    (["I prefer tabs.", "I love tea.", "I prefer spaces."], ["I love tea", "I prefer spaces"]),
    (
        ["I prefer JSON for tests.", "I prefer YAML in CI."],
        ["I prefer JSON for tests", "I prefer YAML in CI"],
    ),
    (["I prefer tea.", "Actually, I prefer coffee."], ["Actually, I prefer coffee"]),
    (["I prefer tabs.", "Actually, I prefer tea."], ["Actually, I prefer tea", "I prefer tabs"]),
    (["我叫小明。", "忘掉这个"], []),
    (["我叫小明，我喜欢喝茶。", "别记住我的名字"], ["我喜欢喝茶"]),
    (["以后永远不要用分号。", "以后可以用分号了。"], []),
]


def test_what_is_taken_back_or_put_right_holds_no_longer(ledger: Ledger) -> None:
    for number, (said, left) in enumerate(DIALOGUES):
        user_id = f"user-{number}"
        history = ledger.chat_history(user_id, user_id=user_id)
        for text in said:
            history.add_messages([HumanMessage(text), AIMessage("Fine.")])
        assert sorted(fact.text for fact in ledger.facts(user_id)) == left, said


def test_only_the_users_own_words_become_facts(ledger: Ledger) -> None:
    facts = ledger.long_term
    words = "I prefer tabs over spaces."
    for message in (
        ToolMessage(words, tool_call_id="x"),
        SystemMessage(words),
        HumanMessage(words, additional_kwargs={"synthetic": True}),
        HumanMessage(f"```\n{words}\n```\nWhat does this say?"),
        HumanMessage(f"> {words}\n\nHe wrote that."),
    ):
        learned = facts.learn_from("ann", message, thread_id="t", entry_id=1)
        assert run(learned, ledger.executor) == 0
    assert ledger.facts("ann") == []


def test_chinese(ledger: Ledger) -> None:
    talk(ledger, "a", "以后请用中文回答。", "我对花生过敏。")
    view = talk(ledger, "b", "推荐一个菜谱")
    assert "我对花生过敏" in view[0].text
    assert "以后请用中文回答" in view[0].text


def test_a_user_named_by_an_address(ledger: Ledger) -> None:
    talk(ledger, "a", "I live in Lisbon.", user_id="ann.lee@example.org")
    assert [fact.text for fact in ledger.facts("ann.lee@example.org")] == ["I live in Lisbon"]
    assert ledger.facts("ann") == []


async def test_awaited(async_database: AsyncDatabase) -> None:
    ledger = AsyncLedger(async_database, tenant="acme")
    model = ScriptedModel(script=["Fine."])
    agent = create_agent(model, middleware=[ledger.middleware(window=8000, user_id="ann")])
    for thread_id in ("a", "b"):
        config = {"configurable": {"thread_id": thread_id}}
        await agent.ainvoke({"messages": [HumanMessage("My name is Ann.")]}, config)
    [fact] = await ledger.facts("ann")
    assert [source["thread_id"] for source in fact.sources] == ["a", "b"]


def test_a_forgotten_thread_takes_what_was_said_in_it_alone(ledger: Ledger) -> None:
    talk(ledger, "monday", "I prefer tabs over spaces.", "My name is Ann.")
    talk(ledger, "tuesday", "I prefer tabs over spaces.")
    talk(ledger, "monday", "I prefer tea over coffee.", user_id="bob")
    other = ledger.for_tenant("umbrella")
    talk(other, "monday", "I prefer tea over coffee.")
    assert run(ledger.long_term.forget_thread("monday"), ledger.executor) == 2
    assert [(fact.text, fact.sources) for fact in ledger.facts("ann")] == [
        ("I prefer tabs over spaces", ({"thread_id": "tuesday", "entry_id": 1},))
    ]
    assert ledger.facts("bob") == ledger.facts("ann", query="name") == []
    assert len(other.facts("ann")) == 1
    assert run(ledger.long_term.forget_thread("no such thread"), ledger.executor) == 0


def test_a_forgotten_user_leaves_no_fact(ledger: Ledger) -> None:
    talk(ledger, "monday", "I live in Rome.", "I live in Oslo now.", user_id="a.b")
    talk(ledger, "tuesday", "I live in Bern.", user_id="a")
    known = len(ledger.facts("a.b", superseded=True))
    assert known == run(ledger.long_term.forget_user("a.b"), ledger.executor) > 0
    assert ledger.facts("a.b", superseded=True) == []
    assert len(ledger.facts("a")) == 1
    assert run(ledger.long_term.forget_user("a.b"), ledger.executor) == 0


STRANGE: list[dict[str, Any]] = [
    {"content": "I like cats"},
    {"text": None},
    {"text": 7, "sources": 7},
    {"text": {"said": "I like cats"}},
    {"text": "I like cats", "sources": ["crm", None, {"page": 3}], "kind": ["odd"], "slot": 3},
    {"text": "I like dogs", "sources": {"crm": 1}, "status": None, "superseded_by": {}},
    {"text": "I like \ud800 birds", "sources": [{"thread_id": "t", "entry_id": "x"}]},
    {"text": "I like fish", "sources": [{"thread_id": 5}], "said_at": "yesterday"},
    {"text": "I like hens", "sources": ["crm", {"thread_id": "t"}], "said_at": "2026-01-01"},
]


def test_what_an_application_puts_beside_the_facts_may_have_any_shape(ledger: Ledger) -> None:
    store = ledger.store()
    for n, value in enumerate(STRANGE):
        store.put(("facts", "ann"), f"key-{n}", value)
    store.put(("facts", "ann", "more"), "key", {"text": "I like cows"})
    told = {"I like cats", "I like dogs", "I like \ud800 birds", "I like fish", "I like hens"}
    assert {fact.text for fact in ledger.facts("ann")} == told
    assert next(fact.text for fact in ledger.facts("ann", query="Which dogs?")) == "I like dogs"
    shown = talk(ledger, "t", "Hello, do I like cats?", "I like cats.", "I like birds.")
    assert "I like cats" in shown[0].text
    node = ledger.memory_node(user_id="ann")
    config = {"configurable": {"thread_id": "n"}}
    seen = node.invoke({"messages": [HumanMessage("Which dogs?")]}, config)["llm_input_messages"]
    assert "I like dogs" in seen[0].text
    memory = ledger.chat_memory("c", user_id="ann")
    assert "I like dogs" in memory.load_memory_variables({"input": "Which dogs?"})["history"]
    memory.save_context({"input": "I like dogs."}, {"output": "Fine."})


@pytest.mark.parametrize("forget", ["entries", "thread", "facts"])
def test_forgetting_takes_facts_of_any_shape(ledger: Ledger, forget: str) -> None:
    ledger.append([HumanMessage("Hello.")], thread_id="t")
    store = ledger.store()
    for n, value in enumerate(STRANGE):
        store.put(("facts", "ann"), f"key-{n}", value)
    if forget == "facts":
        run(ledger.long_term.forget_thread("t"), ledger.executor)
    else:
        ledger.forget(thread_id="t", entry_ids=[1] if forget == "entries" else None)
    kept = {item.key: item.value for item in store.search(("facts", "ann"), limit=20)}
    # What named that thread alone goes with it; of the entries, what named none of them stays.
    assert ("key-6" in kept) == (forget == "entries")
    assert kept["key-8"]["sources"][0] == "crm"
    assert len(kept["key-8"]["sources"]) == (2 if forget == "entries" else 1)
    store.put(("facts", "ann", "more"), "key", {"text": "I like cows"})
    assert run(ledger.long_term.forget_user("ann"), ledger.executor) == len(kept) + 1
    assert store.search(("facts", "ann")) == []
