"""A session that writes many files, in a window so small that it goes through compactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from langledger import Ledger
from tests.support.scripted import ScriptedModel

THREAD = "work"
REQUEST = "Write all the parts. Never touch deploy.yml."


def write_parts(
    ledger: Ledger,
    *,
    many: int = 20,
    request: str = REQUEST,
    say: str = "I decided to write part {} as one file, because the plan says so.",
    log: str = "log line of the tool\n",
    usage: Callable[[int], Any] = lambda _: None,
) -> str:
    """Let an agent write so many parts, each with a long answer of the tool; return its thread."""

    @tool
    def write_file(file_path: str, content: str) -> str:
        """Write a file."""
        return f"wrote {file_path}\n" + log * 60

    steps = [
        AIMessage(
            say.format(n),
            tool_calls=[{
                "name": "write_file",
                "args": {"file_path": f"src/part_{n}.py", "content": "x = 1\n" * 20},
                "id": f"call-{n}",
            }],
            usage_metadata=usage(n),
        )
        for n in range(many)
    ]  # fmt: skip
    model = ScriptedModel(script=[*steps, AIMessage("All parts are written.")])
    agent = create_agent(model, [write_file], middleware=[ledger.middleware(window=4000)])
    agent.invoke({"messages": [HumanMessage(request)]}, {"configurable": {"thread_id": THREAD}})
    return THREAD
