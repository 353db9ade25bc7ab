"""What an agent keeps across conversations: facts of its user, and items of a store.

    python examples/memory.py

Offline: the model answers from a script. The database is the one LANGLEDGER_DATABASE_URL names,
else the embedded PostgreSQL.
"""

from __future__ import annotations

from uuid import uuid4

from langchain import agents
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableConfig

from langledger import Ledger


def main() -> None:
    """Hold two conversations, and look at what the second one knew."""
    user_id = f"ann-{uuid4().hex[:6]}"
    model = FakeListChatModel(responses=["Noted.", "Formatted with tabs."])
    with Ledger.from_settings() as ledger:
        store = ledger.store()
        # This model takes no tools; a real one may have recall_history and update_state.
        memory = ledger.middleware(window=8000, lookup=False, update_state=False)
        agent = agents.create_agent(model, middleware=[memory], store=store)
        for day, text in (("monday", "I prefer tabs over spaces."), ("tuesday", "Format it.")):
            config = RunnableConfig(
                configurable={"thread_id": f"{user_id}-{day}", "user_id": user_id}
            )
            agent.invoke({"messages": [{"role": "user", "content": text}]}, config)

        for fact in ledger.facts(user_id):
            print(f"known of {user_id}: {fact.text} ({fact.kind})")

        store.put((user_id, "projects"), "billing", {"port": 8431, "note": "getUserById first"})
        for item in store.search((user_id,), query="get_user_by_id"):
            print(f"found by an identifier: {item.key} {item.value}")
        print(
            "by a number:", [i.key for i in store.search((user_id,), filter={"port": {"$gt": 1}})]
        )


if __name__ == "__main__":
    main()
