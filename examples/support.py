"""A support assistant that knows a customer again, weeks and conversations later.

    python examples/support.py

Offline the model is scripted; with OPENAI_API_KEY or OPENAI_BASE_URL it is a real one. The
database is the one LANGLEDGER_DATABASE_URL names, else the embedded PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from _offline import call, chat_model
from langchain import agents
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from langledger import Ledger

CONVERSATIONS = {
    "march": "I prefer to be called in the morning. My router is a Fritz 7590, and it restarts.",
    "april": "It restarts again. What did we try the last time?",
}


def script() -> Iterator[AIMessage | str]:
    """Answer two conversations; the second looks into what was said in the first."""
    yield "Firmware 8.02 has a fault there: please install 8.03. I will call in the morning."
    yield call("search_cases", "c1", query="router restarts firmware")
    yield "Last time it was the firmware: 8.03 instead of 8.02. Is it installed?"


def main() -> None:
    """Hold both conversations, and print what was known in the second."""
    user_id = f"customer-{uuid4().hex[:6]}"
    with Ledger.from_settings() as ledger:
        store = ledger.store()

        @tool
        def search_cases(query: str) -> str:
            """Search what was said in all conversations with customers."""
            return "\n".join(hit.text for hit in ledger.recall(query, k=3))

        agent: Any = agents.create_agent(
            chat_model(script()),
            [search_cases],
            middleware=[ledger.middleware(window=8000, update_state=False)],
            checkpointer=ledger.checkpointer(),
            store=store,
        )
        result: dict[str, Any] = {}
        for month, said in CONVERSATIONS.items():
            thread_id = f"{user_id}-{month}"
            config = {"configurable": {"thread_id": thread_id, "user_id": user_id}}
            result = agent.invoke({"messages": [{"role": "user", "content": said}]}, config)
        found = next((m.text for m in result["messages"] if m.type == "tool"), "")
        print("found in an earlier conversation:", "8.03" in found)
        print("answer:", result["messages"][-1].text)
        for fact in ledger.facts(user_id):
            print(f"known for good: {fact.text} ({fact.kind})")

        store.put(("routers",), "fritz-7590", {"fault": "restarts with firmware 8.02"})
        (item,) = store.search(("routers",), query="8.02", limit=1)
        print("known of the device:", item.value["fault"])


if __name__ == "__main__":
    main()
