"""A supervisor with two subagents, each with a view of its own, all on one thread.

    python examples/supervisor.py

Offline the models are scripted; with OPENAI_API_KEY or OPENAI_BASE_URL they are real ones. The
database is the one LANGLEDGER_DATABASE_URL names, else the embedded PostgreSQL.
"""

from __future__ import annotations

from typing import Any, cast
from uuid import uuid4

from _offline import call, chat_model
from langchain import agents
from langchain_core.tools import tool

from langledger import Ledger

NOTES = {topic: f"About {topic}: " + "the moon draws the sea. " * 60 for topic in ("ebb", "flood")}


@tool
def look_up(topic: str) -> str:
    """Look a topic up: ebb or flood."""
    return NOTES.get(topic, "nothing is known")


@tool
def write_file(path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {path}: {len(content)} characters"


def main() -> None:
    """Have the team answer, and print what each of them did."""
    thread_id = f"team-{uuid4().hex[:6]}"
    with Ledger.from_settings() as ledger:
        agent = cast("Any", agents).create_agent
        researcher = agent(
            chat_model(
                [*(call("look_up", f"l{n}", topic=("ebb", "flood")[n % 2]) for n in range(8)), "."]
            ),
            [look_up],
            name="researcher",
            middleware=[ledger.middleware(window=4000)],
            checkpointer=False,  # it is asked anew each time
        )
        writer = agent(
            chat_model([call("write_file", "w", path="tides.md", content="# Tides\n"), "Written."]),
            [write_file],
            name="writer",
            middleware=[ledger.middleware(window=4000)],
            checkpointer=False,
        )

        @tool
        def research(question: str) -> str:
            """Have the researcher answer a question."""
            return researcher.invoke({"messages": [("user", question)]})["messages"][-1].text

        @tool
        def write(order: str) -> str:
            """Have the writer write something."""
            return writer.invoke({"messages": [("user", order)]})["messages"][-1].text

        supervisor = agent(
            chat_model(
                [
                    call("research", "s1", question="What are tides?"),
                    call("write", "s2", order="Write tides.md."),
                    "tides.md tells what is known.",
                ]
            ),
            [research, write],
            middleware=[ledger.middleware(window=4000)],
            checkpointer=ledger.checkpointer(),
        )
        config = {"configurable": {"thread_id": thread_id}}
        question = {"messages": [{"role": "user", "content": "Write down what tides are."}]}
        print(supervisor.invoke(question, config)["messages"][-1].text)

        scopes = sorted({entry.scope or "" for entry in ledger.history(thread_id)})
        print("agents:", ", ".join(scope or "supervisor" for scope in scopes))
        for report in ledger.compactions(thread_id):
            print(f"compacted: {report.scope}")
        for scope in scopes:
            for path in ledger.state(thread_id, scope=scope).files_touched:
                print(f"written by {scope}: {path}")


if __name__ == "__main__":
    main()
