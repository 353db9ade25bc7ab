"""Calls, results and the state they leave, for the tests of the fold."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.state.fold import StateFold
from langledger.state.records import WorkingState

CWD = "/home/me/project"
SUCCESS = "The file a.py has been updated successfully."


def call(tool: str, args: Any, call_id: str = "c1") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": args, "id": call_id}])


def result(text: str, call_id: str = "c1", *, error: bool = False) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, status="error" if error else "success")


def run(*messages: BaseMessage, cwd: str | None = CWD) -> WorkingState:
    folding = StateFold(cwd=cwd)
    for source, message in enumerate(messages):
        folding.add(message, source)
    return folding.state


def after(tool: str, args: Any, text: str = "ok", *, error: bool = False) -> WorkingState:
    return run(call(tool, args), result(text, error=error))


def done(state: WorkingState) -> list[tuple[str, str]]:
    return [(path, record.last_action) for path, record in state.files_touched.items()]
