"""What users write; pyright strict must find nothing in it, and the mistakes in it.

Never run. A line that ends in ``pyright: ignore`` is a mistake that must be reported: were it
not, the comment would be unnecessary, which is an error here.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import Any, assert_type

from langchain import agents
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph

from langledger import (
    AsyncLedger,
    CompactionNode,
    CompactionReport,
    Entry,
    LangLedgerError,
    Ledger,
    LedgerChatMemory,
    LedgerMiddleware,
    LedgerRetriever,
    LedgerSaver,
    LedgerStore,
    Recorded,
    WorkingState,
    insert_compaction,
)
from langledger.errors import ConfigurationError, DatabaseError, WindowUnknownError


def reads(messages: list[BaseMessage]) -> None:
    with Ledger.from_conn_string("postgresql://", tenant="acme", pool_size=4) as ledger:
        assert_type(ledger.append(messages, thread_id="t", metadata={"k": 1}), Recorded)
        entries = ledger.history("t", after=10, until=20)
        assert_type(entries, list[Entry])
        assert_type(entries[0].message, BaseMessage)
        assert_type(ledger.count("t"), int)
        state = ledger.state("t", at=7)
        assert_type(state, WorkingState)
        assert_type(ledger.compactions("t"), list[CompactionReport])
        assert_type(ledger.compactions("t")[0].tokens_after, int)
        assert_type(ledger.summary("t", scope="worker"), str)
        assert_type(ledger.edit_summary("t", 1, "What was done."), CompactionReport)
        ledger.compact("t", scope="worker")
        assert_type(ledger.for_tenant("umbrella"), Ledger)
        assert_type(ledger.dsn, str)
        for path, record in state.files_touched.items():
            assert_type(path, str)
            assert_type(record.deleted, bool)


async def awaits(messages: list[BaseMessage]) -> None:
    async with AsyncLedger.from_conn_string() as ledger:
        assert_type(await ledger.append(messages, thread_id="t"), Recorded)
        assert_type(await ledger.history("t"), list[Entry])
        assert_type(await ledger.state("t"), WorkingState)
        assert_type(await ledger.summary("t"), str)
        await ledger.compact("t")
        assert_type(ledger.middleware(), LedgerMiddleware)


def memory(ledger: Ledger, state: dict[str, Any]) -> None:
    assert_type(ledger.store(index={"dims": 3, "embed": "openai:x", "fields": ["a"]}), LedgerStore)
    assert_type(ledger.chat_memory("alice", max_token_limit=500), LedgerChatMemory)
    assert_type(ledger.chat_history("alice").messages, list[BaseMessage])
    assert_type(ledger.retriever(k=3, filter={"role": "ai"}), LedgerRetriever)
    assert_type(ledger.memory_node(user_id="ann").invoke(state), dict[str, Any])
    for fact in ledger.facts("ann", query="tabs"):
        assert_type(fact.text, str)
    ledger.retriever(top_k=3)  # pyright: ignore[reportCallIssue]


def agent(model: BaseChatModel, tools: list[BaseTool], ledger: Ledger) -> None:
    middleware = ledger.middleware(
        window=128_000,
        trigger=[("fraction", 0.72), ("messages", 200)],
        keep=("tokens", 20_000),
        model="openai:gpt-5-mini",
        max_summary_tokens=1000,
    )
    assert_type(middleware, LedgerMiddleware)
    checkpointer = ledger.checkpointer()
    assert_type(checkpointer, LedgerSaver)
    agents.create_agent(model, tools, middleware=[middleware], checkpointer=checkpointer)
    LedgerMiddleware(ledger, window=128_000, trigger=0.8, lookup=False).compact_next("t")
    ledger.middleware(review=lambda draft: draft.tokens_after < 1000, compact_tool=True)


def graph(model: BaseChatModel, ledger: Ledger) -> None:
    def llm(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("llm", llm)
    builder.add_edge(START, "llm")
    insert_compaction(builder, before=["llm"], ledger=ledger, llm=model, visible=False)
    assert_type(ledger.compaction_node(window=8000, output_messages_key=None), CompactionNode)
    assert_type(ledger.pre_model_hook(llm=model, review=True), CompactionNode)
    assert_type(ledger.compact_tool(), BaseTool)


def errors(ledger: Ledger) -> str:
    try:
        ledger.count("t")
    except WindowUnknownError as error:
        assert_type(error, WindowUnknownError)
    except (ConfigurationError, DatabaseError) as error:
        return str(error)
    except LangLedgerError:
        raise
    return ""


def mistakes(ledger: Ledger, messages: list[BaseMessage]) -> None:
    ledger.middleware(windw=128_000)  # pyright: ignore[reportCallIssue]
    ledger.middleware(128_000)  # pyright: ignore[reportCallIssue]
    ledger.middleware(keep="0.2")  # pyright: ignore[reportArgumentType]
    ledger.middleware(trigger=("fractions", 0.72))  # pyright: ignore[reportArgumentType]
    ledger.append(messages)  # pyright: ignore[reportCallIssue]
    ledger.history(thread="t")  # pyright: ignore[reportCallIssue]
    insert_compaction(StateGraph(MessagesState), before=["llm"])  # pyright: ignore[reportCallIssue]
