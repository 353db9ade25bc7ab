"""An agent of ``create_agent`` that works through compactions.

    python examples/agent.py

Offline: the model is scripted. The database is the one LANGLEDGER_DATABASE_URL names, else
the embedded PostgreSQL. With a model of your own, leave `window` out if its profile tells it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from langchain import agents
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from langledger import Ledger

CHAPTERS = 24


class ScriptedModel(GenericFakeChatModel):
    """Says its messages one after the other."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ARG002 - it has a script
        """Return the model itself."""
        return self


@tool
def write_file(path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {path}: {len(content)} characters\n" + "checked a line\n" * 40


def script() -> Iterator[AIMessage | str]:
    """Write one chapter after the other, then say so."""
    for number in range(1, CHAPTERS + 1):
        args = {"path": f"book/chapter_{number}.md", "content": f"# Chapter {number}\n" * 20}
        call = {"name": "write_file", "args": args, "id": f"call-{number}"}
        yield AIMessage(f"Chapter {number} follows.", tool_calls=[call])
    yield AIMessage("The book is written.")


def main() -> None:
    """Run the agent and print what happened."""
    thread_id = f"book-{uuid4().hex[:6]}"
    with Ledger.from_settings() as ledger:
        agent: Any = agents.create_agent(
            ScriptedModel(messages=script()),
            [write_file],
            middleware=[ledger.middleware(window=4000)],
            checkpointer=ledger.checkpointer(),
        )
        task = {"messages": [{"role": "user", "content": "Write the book, chapter by chapter."}]}
        config = {"configurable": {"thread_id": thread_id}, "recursion_limit": 100}
        result = agent.invoke(task, config)

        for report in ledger.compactions(thread_id):
            print(f"compacted: {report.tokens_before} -> {report.tokens_after} tokens")
        print(f"files: {len(ledger.state(thread_id).files_touched)} of {CHAPTERS} known")
        print(f"messages in the agent's state: {len(result['messages'])}, none rewritten")
        print(f"entries: {ledger.count(thread_id)}")


if __name__ == "__main__":
    main()
