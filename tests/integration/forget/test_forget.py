"""What is forgotten is gone, with all that was derived from it; what is not, is as it was."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from langledger import AsyncLedger, Ledger
from langledger.compaction.recalled import keep_brought
from langledger.database import AsyncDatabase
from langledger.entries import Location
from langledger.errors import ConfigurationError
from langledger.forget.parts import TENANT_TABLES, THREAD_TABLES
from langledger.operations import fetch_all, run
from langledger.recall.index import index_page, missing_query
from tests.support.lived import config, live
from tests.support.scripted import ScriptedModel
from tests.support.told import tables, told

SECRET = "the safe opens with zanzibar 4711"


def test_no_table_is_left_out(module_dsn: str) -> None:
    assert set(TENANT_TABLES) == tables(module_dsn) - {"forget_receipt", "encryption_key"}
    assert set(THREAD_TABLES) == tables(module_dsn, "thread_key")


def test_a_thread_is_forgotten_with_all_that_was_made_of_it(
    ledger: Ledger, module_dsn: str
) -> None:
    live(ledger, "one", word="zanzibar", user_id="ann")
    ledger.append([HumanMessage("this is timbuktu")], thread_id="two", user_id="bob")
    ledger.store().put(("notes", "bob"), "word", {"text": "timbuktu"})
    assert ledger.recall("timbuktu", thread_id="two")
    others = told(module_dsn, "timbuktu", tenant=ledger.tenant)
    assert set(told(module_dsn, "zanzibar", tenant=ledger.tenant)) > {"entry", "recall_unit", "pin"}
    counted = ledger.forget(thread_id="one", dry_run=True)
    assert counted.receipt_id is None
    assert ledger.receipts() == []
    receipt = ledger.forget(thread_id="one", requested_by="ann")
    assert receipt.counts == counted.counts
    assert receipt.counts["thread"] == 1
    assert receipt.active == ("one",)
    # What the user's own items of the store say is the user's, not the thread's.
    assert told(module_dsn, "zanzibar", tenant=ledger.tenant) == ["store_item", "store_unit"]
    ledger.forget(user_id="ann")
    assert told(module_dsn, "zanzibar", tenant=ledger.tenant) == []
    assert told(module_dsn, "timbuktu", tenant=ledger.tenant) == others
    assert ledger.recall("timbuktu")
    kept = ledger.receipts()
    assert [(r.what, r.subject, r.requested_by) for r in kept] == [
        ("user", "ann", None),
        ("thread", "one", "ann"),
    ]
    assert "zanzibar" not in repr(kept)


def test_an_entry_is_forgotten_and_the_agent_goes_on(ledger: Ledger, module_dsn: str) -> None:
    model = ScriptedModel(script=["I keep it.", "Good morning.", "All is well."])
    agent = create_agent(
        model, middleware=[ledger.middleware(window=8000)], checkpointer=ledger.checkpointer()
    )
    for text in (SECRET, "Good morning."):
        agent.invoke({"messages": [{"role": "user", "content": text}]}, config("t"))
    assert ledger.recall("zanzibar", thread_id="t")
    before = [entry.message_id for entry in ledger.history("t")]
    counted = ledger.forget(thread_id="t", entry_ids=[1], dry_run=True)
    assert ledger.forget(thread_id="t", entry_ids=[1]).counts == counted.counts
    assert told(module_dsn, "zanzibar", tenant=ledger.tenant) == []

    history = ledger.history("t")
    assert [entry.message_id for entry in history] == before
    assert history[0].message.text == "[entry 1 was forgotten]"
    for asked in ("zanzibar", "forgotten entry 1", "was forgotten"):  # nor is the note a hit
        hits = ledger.recall(asked, thread_id="t")
        assert not [h for h in hits if "zanzibar" in h.text or "forgotten" in h.text]
    agent.invoke({"messages": [{"role": "user", "content": "How are you?"}]}, config("t"))
    shown = [message.text for message in model.sent[-1]]
    assert "[entry 1 was forgotten]" in shown
    assert "zanzibar" not in str(model.sent[-1])
    assert told(module_dsn, "zanzibar", tenant=ledger.tenant) == []
    assert ledger.count("t") == 6


def test_what_was_made_after_an_entry_goes_with_it(ledger: Ledger, module_dsn: str) -> None:
    live(ledger, "t", word="zanzibar")
    said = [e.entry_id for e in ledger.history("t") if "zanzibar" in str(e.message)]
    ledger.forget(thread_id="t", entry_ids=said)
    ledger.unpin("t", 1)
    ledger.store().delete(("notes", "ann"), "word")
    # A person's own record of the state names no source: it is that person's.
    assert told(module_dsn, "zanzibar", tenant=ledger.tenant) == ["state_event"]
    assert ledger.compactions("t") == []
    assert ledger.facts("ann") == []


def test_calls_and_results_still_fit_together(ledger: Ledger) -> None:
    call = {"name": "read", "args": {"path": SECRET}, "id": "c1"}
    messages = [
        HumanMessage("read it", id="h"),
        AIMessage(f"I read {SECRET}", id="a", tool_calls=[call]),
        ToolMessage(SECRET, tool_call_id="c1", id="r", artifact={"raw": SECRET}),
    ]
    ledger.append(messages, thread_id="t", metadata={"about": SECRET})
    ledger.forget(thread_id="t", entry_ids=[2, 3])
    _, answer, result = (entry.message for entry in ledger.history("t"))
    assert isinstance(answer, AIMessage)
    assert answer.tool_calls == [{**call, "args": {}, "type": "tool_call"}]
    assert isinstance(result, ToolMessage)
    assert (result.tool_call_id, result.artifact, result.id) == ("c1", None, "r")
    assert SECRET not in str([entry.message for entry in ledger.history("t")])


class _Asked(TypedDict):
    messages: Annotated[list[Any], add_messages]
    question: str


def _graph(ledger: Ledger) -> Any:
    builder = StateGraph(_Asked)
    builder.add_node("answer", lambda state: {"messages": [AIMessage("I see.", id="a")]})
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=ledger.checkpointer())


@pytest.mark.parametrize("question", [SECRET, "4711", SECRET + " and much more" * 200])
def test_checkpoints_go_where_they_hold_the_text_themselves(
    ledger: Ledger, module_dsn: str, question: str
) -> None:
    graph = _graph(ledger)
    asked = {"messages": [HumanMessage(question, id="h")], "question": question}
    graph.invoke(asked, config("t"))
    ledger.forget(thread_id="t", entry_ids=1)
    assert told(module_dsn, "4711", tenant=ledger.tenant) == []
    assert graph.get_state(config("t")).values == {}
    assert ledger.count("t") == 2


def test_checkpoints_stay_where_only_messages_hold_it(ledger: Ledger, module_dsn: str) -> None:
    graph = _graph(ledger)
    graph.invoke({"messages": [HumanMessage(SECRET, id="h")], "question": "?"}, config("t"))
    ledger.forget(thread_id="t", entry_ids=1)
    assert told(module_dsn, "4711", tenant=ledger.tenant) == []
    kept = graph.get_state(config("t")).values
    assert [m.text for m in kept["messages"]] == ["[entry 1 was forgotten]", "I see."]
    assert kept["question"] == "?"


@tool
def ask(q: str) -> str:
    """Ask a person."""
    return f"a person said: {interrupt({'q': q})}"


def test_checkpoints_go_where_arguments_and_answers_stand_in_them(
    ledger: Ledger, module_dsn: str
) -> None:
    todo = {"todos": [{"content": "Bob, zanzibar", "status": "pending"}]}
    script = [
        AIMessage("", tool_calls=[{"name": "write_todos", "args": todo, "id": "call-1"}]),
        "noted",
        AIMessage("", tool_calls=[{"name": "ask", "args": {"q": "pin?"}, "id": "call-2"}]),
        "thanks",
    ]
    agent = create_agent(
        ScriptedModel(script=script),
        [ask],
        middleware=[TodoListMiddleware(), ledger.middleware(window=8000)],
        checkpointer=ledger.checkpointer(),
    )
    for thread in ("todo", "resumed"):
        agent.invoke({"messages": [HumanMessage("go on")]}, config(thread))
    agent.invoke(Command(resume="timbuktu"), config("resumed"))
    held = {thread: ledger.history(thread) for thread in ("todo", "resumed")}
    assert agent.get_state(config("todo")).values["todos"]
    for thread, word in (("todo", "zanzibar"), ("resumed", "timbuktu")):
        assert "checkpoint" in told(module_dsn, word, tenant=ledger.tenant)
        about = [e.entry_id for e in held[thread] if word in str(e.message)]
        assert "checkpoint" in ledger.forget(thread_id=thread, entry_ids=about).counts
        assert told(module_dsn, word, tenant=ledger.tenant) == []
        assert agent.get_state(config(thread)).values == {}


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", additional_kwargs={"reasoning_content": SECRET}),
        AIMessage("", invalid_tool_calls=[{"name": "f", "args": SECRET, "id": "1", "error": "no"}]),
        ToolMessage("done", tool_call_id="1", artifact={"seen": [SECRET]}),
        AIMessage("", tool_calls=[{"name": "f", "args": {"n": {"q": "zanzibar 4711"}}, "id": "1"}]),
    ],
)
def test_all_that_a_message_says_is_looked_for_in_checkpoints(
    ledger: Ledger, module_dsn: str, message: BaseMessage
) -> None:
    graph = _graph(ledger)
    text = "zanzibar 4711" if isinstance(message, AIMessage) and message.tool_calls else SECRET
    said = [AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}]), message]
    asked = said if isinstance(message, ToolMessage) else [message]
    graph.invoke({"messages": asked, "question": text}, config("t"))
    ledger.forget(thread_id="t", entry_ids=len(asked))
    assert told(module_dsn, "4711", tenant=ledger.tenant) == []


def test_a_user_goes_and_the_others_in_a_thread_stay(ledger: Ledger, module_dsn: str) -> None:
    ledger.append([HumanMessage(SECRET)], thread_id="own", user_id="ann")
    ledger.append([HumanMessage(f"{SECRET}, says ann")], thread_id="both", user_id="ann")
    ledger.append([HumanMessage("bob says hello")], thread_id="both", user_id="bob")
    ledger.store().put(("memories", "ann"), "k", {"text": SECRET})
    ledger.store().put(("memories", "annabel"), "k", {"text": "another"})
    counted = ledger.forget(user_id="ann", dry_run=True)
    receipt = ledger.forget(user_id="ann")
    assert receipt.counts == counted.counts
    assert (receipt.counts["thread"], receipt.counts["entry text"]) == (1, 1)
    assert told(module_dsn, "4711", tenant=ledger.tenant) == []
    assert [entry.message.text for entry in ledger.history("both")][1:] == ["bob says hello"]
    assert [thread["thread_id"] for thread in ledger.threads()] == ["both"]
    assert ledger.store().get(("memories", "annabel"), "k") is not None
    assert ledger.forget(user_id="ann").counts == {}
    assert len(ledger.receipts()) == 2


def test_a_fact_shown_in_another_thread_goes_there_too(ledger: Ledger, module_dsn: str) -> None:
    model = ScriptedModel(script=["Noted.", "Here you are."])
    agent = create_agent(model, middleware=[ledger.middleware(window=16_000)])
    said = "My favourite editor is zanzibar."
    agent.invoke({"messages": [HumanMessage(said)]}, config("first", "ann"))
    asked = "Which editor do I like, my favourite editor?"
    talk = agent.invoke({"messages": [HumanMessage(asked)]}, config("second", "ann"))
    assert "zanzibar" in str(model.sent[-1])
    assert "brought" in told(module_dsn, "zanzibar", tenant=ledger.tenant)
    ledger.forget(thread_id="first")
    assert told(module_dsn, "zanzibar", tenant=ledger.tenant) == []
    agent.invoke({"messages": [*talk["messages"], HumanMessage("Why?")]}, config("second", "ann"))
    assert model.sent[-1][-1].text == "Why?"
    assert "zanzibar" not in str(model.sent[-1])


def test_a_fact_that_was_said_elsewhere_too_stays(ledger: Ledger) -> None:
    agent = create_agent(
        ScriptedModel(script=["Noted."]), middleware=[ledger.middleware(window=16_000)]
    )
    for thread_id in ("first", "second"):
        said = [HumanMessage("My favourite editor is vim.")]
        agent.invoke({"messages": said}, config(thread_id, "ann"))
    ledger.forget(thread_id="first")
    (fact,) = ledger.facts("ann")
    assert [source["thread_id"] for source in fact.sources] == ["second"]
    ledger.forget(thread_id="second", entry_ids=1)
    assert ledger.facts("ann") == []


def test_a_tenant_goes_and_the_receipts_stay(ledger: Ledger, module_dsn: str) -> None:
    neighbour = ledger.for_tenant(f"{ledger.tenant}-2")
    for one in (ledger, neighbour):
        one.append([HumanMessage(SECRET)], thread_id="t")
        one.store().put(("a",), "k", {"text": SECRET})
        one.share("plan", "decision", SECRET)
    counted = ledger.forget(tenant=ledger.tenant, dry_run=True)
    assert ledger.forget(tenant=ledger.tenant).counts == counted.counts
    assert told(module_dsn, ledger.tenant, tenant=ledger.tenant) == ["forget_receipt"]
    assert neighbour.count("t") == 1
    assert "project_record" in told(module_dsn, "4711", tenant=neighbour.tenant)


def test_an_agent_that_still_runs_is_not_disturbed_and_is_named(
    ledger: Ledger, module_dsn: str
) -> None:
    @tool
    def forget_me() -> str:
        """Forget this conversation while it goes on."""
        receipts.append(ledger.forget(thread_id="t"))
        return "forgotten"

    receipts: list[Any] = []
    call = AIMessage("", tool_calls=[{"name": "forget_me", "args": {}, "id": "c1"}])
    agent = create_agent(
        ScriptedModel(script=[call, "It is done."]),
        [forget_me],
        middleware=[ledger.middleware(window=8000)],
        checkpointer=ledger.checkpointer(),
    )
    ended = agent.invoke({"messages": [HumanMessage(SECRET)]}, config("t"))
    assert ended["messages"][-1].text == "It is done."
    assert receipts[0].active == ("t",)
    assert told(module_dsn, "4711", tenant=ledger.tenant)  # it recorded anew what it held
    ledger.forget(thread_id="t")
    assert told(module_dsn, "4711", tenant=ledger.tenant) == []
    assert agent.get_state(config("t")).values == {}


def test_what_was_read_before_is_not_indexed_after(ledger: Ledger, module_dsn: str) -> None:
    ledger.append([HumanMessage(SECRET, id="h"), HumanMessage("The harbour opens.")], thread_id="t")
    space = ledger._at("t").keys["thread_key"]
    (rows,) = ledger._run(fetch_all(missing_query(ledger.tenant, space)))
    ledger.forget(thread_id="t", entry_ids=1)
    ledger._run(index_page(ledger.tenant, space, rows))
    assert told(module_dsn, "4711", tenant=ledger.tenant) == []
    assert ledger.recall("harbour", thread_id="t")  # and what is still there is
    assert not ledger.recall("forgotten", thread_id="t")


def test_writers_and_forgetters_take_turns(ledger: Ledger, module_dsn: str) -> None:
    def write(n: int) -> None:
        for number in range(8):
            said = HumanMessage(f"{SECRET} {n} {number}", id=f"{n}-{number}")
            ledger.append([said], thread_id="t", user_id="ann")
            ledger.store().put(("notes", "ann"), str(number % 2), {"text": SECRET})

    def forget(n: int) -> None:
        for _ in range(4):
            ledger.forget(user_id="ann", requested_by=str(n))

    with ThreadPoolExecutor(4) as threads:
        works = [threads.submit(work, n) for n in (1, 2) for work in (write, forget)]
        assert [work.result() for work in works] == [None] * 4
    ledger.forget(user_id="ann")
    assert told(module_dsn, "4711", tenant=ledger.tenant) == []
    assert len(ledger.receipts()) == 9


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"thread_id": "t", "user_id": "ann"},
        {"entry_ids": 1},
        {"user_id": "ann", "entry_ids": 1},
        {"thread_id": "t", "entry_ids": []},
        {"thread_id": "t", "entry_ids": 0},
        {"thread_id": "t", "entry_ids": ["1"]},
        {"thread_id": ""},
        {"thread_id": 7},
        {"tenant": "somebody else"},
        {"thread_id": "t", "requested_by": ""},
        {"thread_id": "t", "dry_run": "no"},
    ],
)
def test_what_cannot_be_meant_is_refused(ledger: Ledger, given: dict[str, Any]) -> None:
    ledger.append([HumanMessage("hello")], thread_id="t", user_id="ann")
    with pytest.raises(ConfigurationError):
        ledger.forget(**given)
    assert ledger.count("t") == 1
    assert ledger.receipts() == []


def test_nothing_of_it_is_no_error(ledger: Ledger) -> None:
    for given in ({"thread_id": "x"}, {"user_id": "x"}, {"thread_id": "x", "entry_ids": 5}):
        assert ledger.forget(**given).counts == {}


async def test_awaited_it_is_the_same(module_dsn: str, ledger: Ledger) -> None:
    ledger.append([HumanMessage(SECRET)], thread_id="t", user_id="ann")
    ledger.store().put(("notes", "ann"), "k", {"n": 1})
    exported = list(ledger.export(user_id="ann"))
    async with AsyncDatabase(module_dsn) as database:
        it = AsyncLedger(database, tenant=ledger.tenant)
        assert [record async for record in it.export(user_id="ann")] == exported
        receipt = await it.forget(user_id="ann")
        assert await it.receipts() == [receipt.__class__(**{**_fields(receipt), "active": ()})]
    assert [record["type"] for record in exported] == ["thread", "entry", "item"]
    assert json.loads(json.dumps(receipt.as_dict()))["counts"] == receipt.counts
    assert receipt.total == sum(receipt.counts.values())


def _fields(receipt: Any) -> dict[str, Any]:
    return {name: getattr(receipt, name) for name in receipt.__dataclass_fields__}


def test_what_was_recalled_before_an_older_message_goes_with_its_entry(
    ledger: Ledger, module_dsn: str
) -> None:
    """After a compaction recall stands before the user's newest message, which may be the first."""
    said = [
        HumanMessage("Look after it."),
        AIMessage("The gate's code is zanzibar."),
        HumanMessage("Good."),
    ]
    first, told_it, last = ledger.append(said, thread_id="gate").entry_ids
    recalled = f"#{told_it} (ai): The gate's code is zanzibar."
    location = Location(ledger.tenant, "gate")
    run(keep_brought(location, first, recalled, seen=last), ledger.executor)
    assert "brought" in told(module_dsn, "zanzibar", tenant=ledger.tenant)
    ledger.forget(thread_id="gate", entry_ids=[told_it])
    assert told(module_dsn, "zanzibar", tenant=ledger.tenant) == []
