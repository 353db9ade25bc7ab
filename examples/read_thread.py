"""Messages recorded without an agent, read back exactly, with the state they tell.

    python examples/read_thread.py

The database is the one LANGLEDGER_DATABASE_URL names, else the embedded PostgreSQL.
"""

from __future__ import annotations

from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger import Ledger

MESSAGES: list[BaseMessage] = [
    HumanMessage("Rename the module `log` to `journal`.", id="m1"),
    AIMessage(
        "I move it with git.",
        tool_calls=[{"name": "bash", "args": {"command": "git mv log.py journal.py"}, "id": "c1"}],
        id="m2",
    ),
    ToolMessage("exit code 0", tool_call_id="c1", name="bash", id="m3"),
    AIMessage("Done: `log.py` is now `journal.py`.", id="m4"),
]


def main() -> None:
    """Record, then read."""
    thread_id = f"rename-{uuid4().hex[:6]}"
    with Ledger.from_settings() as ledger:
        recorded = ledger.append(MESSAGES, thread_id=thread_id)
        again = ledger.append(MESSAGES, thread_id=thread_id)
        print(f"new entries: {recorded.added}, when sent again: {again.added}")

        for entry in ledger.history(thread_id):
            print(f"#{entry.entry_id} {entry.role}: {entry.message.text}")
        print("unchanged:", [entry.message for entry in ledger.history(thread_id)] == MESSAGES)

        state = ledger.state(thread_id)
        for path, record in state.files_touched.items():
            print(f"{path}: {record.last_action}")
        if state.last_action is not None:
            print(f"last action: {state.last_action.args} -> {state.last_action.status}")


if __name__ == "__main__":
    main()
