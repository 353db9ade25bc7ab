"""A graph of your own with compaction before its LLM node.

    python examples/graph.py

Offline: the LLM node answers by itself. The database is the one LANGLEDGER_DATABASE_URL
names, else the embedded PostgreSQL.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph

from langledger import Ledger, insert_compaction

QUESTIONS = 30


def llm(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Answer; a real node would call a model with ``state["messages"]``."""
    seen = len(state["messages"])
    return {"messages": [AIMessage(f"I was sent {seen} messages. " + "Here is detail. " * 40)]}


def main() -> None:
    """Hold a conversation that is larger than the window."""
    thread_id = f"talk-{uuid4().hex[:6]}"
    config = RunnableConfig(configurable={"thread_id": thread_id})
    with Ledger.from_settings() as ledger:
        builder = StateGraph(MessagesState)
        builder.add_node("llm", llm)
        builder.add_edge(START, "llm")
        insert_compaction(builder, before=["llm"], ledger=ledger, window=4000)
        graph = builder.compile(checkpointer=ledger.checkpointer())
        drawn = graph.get_graph().nodes
        print("nodes:", ", ".join(name for name in drawn if not name.startswith("__")))

        result: dict[str, Any] = {}
        for number in range(1, QUESTIONS + 1):
            question = HumanMessage(f"Question {number}: " + "what about this? " * 10)
            result = graph.invoke({"messages": [question]}, config)

        print("last answer:", result["messages"][-1].text[:30])
        print("messages in the graph's state:", len(result["messages"]))
        for report in ledger.compactions(thread_id):
            print(f"compacted: {report.tokens_before} -> {report.tokens_after} tokens")


if __name__ == "__main__":
    main()
