"""A thread in which everything happened that leaves a row, with one word in all of it."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from langledger import Ledger
from tests.support.scripted import ScriptedModel

__all__ = ["STEPS", "config", "live"]

STEPS = 8


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {file_path}\n" + "log line of the tool\n" * 60


def config(thread_id: str, user_id: str | None = None) -> dict[str, Any]:
    """Return the config of a run."""
    named = {} if user_id is None else {"user_id": user_id}
    return {"configurable": {"thread_id": thread_id, **named}}


def live(
    ledger: Ledger, thread_id: str, *, word: str, user_id: str = "ann", stores: bool = True
) -> None:
    """Let an agent work through compactions, and people pin, note and store, all about a word.

    The word is in the user's first message, in what tools are given and return, in a fact about
    the user, in the working state, a pin, an item of the store (if it ``stores``) and a cached
    summary.
    """
    script = [*(_step(n, word) for n in range(STEPS)), AIMessage(f"All of {word} is written.")]
    agent = create_agent(
        ScriptedModel(script=script),
        [write_file],
        middleware=[ledger.middleware(window=3000)],
        checkpointer=ledger.checkpointer(),
    )
    opening = f"My favourite editor is {word}. We must never delete {word}.txt. Write all parts."
    agent.invoke({"messages": [HumanMessage(opening)]}, config(thread_id, user_id))
    ledger.add_to_state(thread_id, "decision", f"keep {word}")
    ledger.pin(thread_id, f"the word is {word}")
    ledger.pin(thread_id, entry_id=1)
    if stores:
        ledger.store().put(("notes", user_id), "word", {"text": f"it is {word}"})
    ledger.compact(thread_id)
    ledger.flush()
    assert ledger.recall(word, thread_id=thread_id)


def _step(n: int, word: str) -> AIMessage:
    args = {"file_path": f"src/{word}_{n}.py", "content": f"{word} = {n}\n" * 20}
    call = {"name": "write_file", "args": args, "id": f"call-{n}"}
    return AIMessage(f"Writing part {n} of {word}, as the plan says.", tool_calls=[call])
