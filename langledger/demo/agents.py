"""The session lived twice: with langledger, and with LangChain's own summarisation."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import langsmith
from langchain import agents
from langchain.agents.middleware import SummarizationMiddleware, TodoListMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from langledger.compaction.extractive import extract_summary
from langledger.demo.model import ModelCall, ScriptedChatModel
from langledger.demo.script import Turn, read_session
from langledger.demo.workspace import Workspace
from langledger.ledger import Ledger

__all__ = ["KEEP", "TRIGGER", "Run", "run_with_langchain", "run_with_ledger"]

TRIGGER = 0.72
KEEP = 0.20

_SYSTEM = (
    "You are a careful programmer. You work on the repository in the current folder, with the "
    "tools you are given. Run the tests after each change, and tell the user what you did and why."
)
_TODO_PROMPT = "Keep the list of your steps with write_todos."
_TODO_TOOL = "Replace the list of your steps; each has a content and a status."
_REFERENCE = re.compile(r" \[#\d+(?:, #\d+)*\]")

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What an agent's run of the session gave.

    Attributes:
        thread_id: The thread.
        calls: Each model call.
        messages: The messages in the agent's state at the end.
        recalled: What ``recall_history`` answered.
        changed: The files that differ from the start at the end.
        tests: What the repository's tests print at the end.
        seconds: Wall time.
    """

    thread_id: str
    calls: list[ModelCall]
    messages: list[BaseMessage]
    recalled: list[str]
    changed: frozenset[str]
    tests: str
    seconds: float


def run_with_ledger(
    ledger: Ledger, folder: Path, *, window: int, thread_id: str, progress: Progress | None = None
) -> Run:
    """Let the agent live the session with ``ledger.middleware``.

    Args:
        ledger: Where the history goes.
        folder: Where the repository is written.
        window: The model's window in tokens.
        thread_id: The thread.
        progress: Told after each turn how many of how many are done.
    """
    middleware = ledger.middleware(window=window, trigger=TRIGGER, keep=("fraction", KEEP))
    return _live(lambda _: middleware, folder, window, thread_id, progress)


def run_with_langchain(
    folder: Path, *, window: int, thread_id: str, summary_tokens: int, trim: int | None = None
) -> Run:
    """Let the agent live the session with LangChain's ``SummarizationMiddleware``.

    It gets the same window, trigger and share to keep. Its summariser answers with what
    langledger's extractive summary makes of the messages it is handed.

    Args:
        folder: Where the repository is written.
        window: The model's window in tokens.
        thread_id: The thread.
        summary_tokens: The most tokens of a summary.
        trim: Its ``trim_tokens_to_summarize``; None: the summariser is handed everything.
    """

    def summarise(messages: Sequence[BaseMessage]) -> str:
        numbered = list(enumerate(messages, start=1))
        # The numbers would be places in its input, which name nothing later.
        return _REFERENCE.sub("", extract_summary(numbered, max_tokens=summary_tokens))

    def middleware(model: ScriptedChatModel) -> AgentMiddleware[Any, Any, Any]:
        return SummarizationMiddleware(
            model,
            trigger=("fraction", TRIGGER),
            keep=("fraction", KEEP),
            trim_tokens_to_summarize=trim,
            summarizer=cast("Any", summarise),
        )

    return _live(middleware, folder, window, thread_id, None)


def _live(
    middleware: Callable[[ScriptedChatModel], AgentMiddleware[Any, Any, Any]],
    folder: Path,
    window: int,
    thread_id: str,
    progress: Progress | None,
) -> Run:
    turns = read_session()
    workspace = Workspace(folder)
    model = _model(turns, workspace, window)
    agent: Any = agents.create_agent(
        model,
        workspace.tools(),
        system_prompt=_SYSTEM,
        middleware=[
            TodoListMiddleware(system_prompt=_TODO_PROMPT, tool_description=_TODO_TOOL),
            middleware(model),
        ],
        checkpointer=InMemorySaver(),
    )
    config = RunnableConfig(configurable={"thread_id": thread_id}, recursion_limit=500)
    started = time.perf_counter()
    state: dict[str, Any] = {}
    with langsmith.tracing_context(
        enabled=False
    ):  # the demo sends nothing anywhere, whatever is set
        for number, turn in enumerate(turns, start=1):
            state = agent.invoke({"messages": [HumanMessage(turn.user)]}, config)
            if progress is not None:
                progress(number, len(turns))
    seconds = time.perf_counter() - started
    return Run(
        thread_id=thread_id,
        calls=model.calls,
        messages=state["messages"],
        recalled=_recalled(state["messages"]),
        changed=workspace.changed(),
        tests=workspace.run_command("python -m unittest"),
        seconds=seconds,
    )


def _model(turns: Sequence[Turn], workspace: Workspace, window: int) -> ScriptedChatModel:
    return ScriptedChatModel(
        answers=[answer for turn in turns for answer in turn.answers],
        changed=workspace.changed,
        profile={"max_input_tokens": window},
    )


def _recalled(messages: Sequence[BaseMessage]) -> list[str]:
    return [
        message.text
        for message in messages
        if isinstance(message, ToolMessage) and message.name == "recall_history"
    ]
