"""The benchmark ``rework``: a real model goes on with a task after a compaction, in a sandbox.

The tasks are the turns of the session that ships. Each is cut off in its middle: the repository is
brought to where it stood, the history is compacted by a strategy, and the model goes on by itself,
with real tools on a copy of its own. What it does again is counted, and what became of the task.
"""

from __future__ import annotations

import json
import posixpath
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from langledger.demo.workspace import Workspace
from langledger.evaluate.asking import limited, reply
from langledger.evaluate.calls import Calls, attempt
from langledger.evaluate.journal import Journal, Record
from langledger.evaluate.meter import Meter
from langledger.evaluate.pace import Pace
from langledger.evaluate.report import markdown, mean, strategies_in, title_of
from langledger.evaluate.sides import Setting, Side
from langledger.evaluate.stand_in import MAX_SUMMARY
from langledger.evaluate.strategies import STRATEGIES, forcible
from langledger.ledger import Ledger
from langledger.replay.session import Session

__all__ = ["Task", "Work", "rework_tables", "run_rework", "tasks_of"]

_SYSTEM = (
    "You are a careful programmer. You work on the repository in the current folder, with the "
    "tools you are given. Run the tests after each change. Say so when the work is done."
)
_WRITES = frozenset({"write_file", "edit_file"})
_TESTS = "python -m unittest"
_LEAST_ROOM = 100  # tokens for an answer, where a view fills the window


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One request of a session, cut off in the middle of its work.

    Attributes:
        name: For a table.
        history: Everything up to the cut, which a tool's result ends.
        before: The calls made for this request before the cut.
        after: The calls that the recorded agent made after it.
    """

    name: str
    history: list[BaseMessage]
    before: list[ToolCall]
    after: list[ToolCall]


def tasks_of(messages: Sequence[BaseMessage]) -> list[Task]:
    """Return the requests that changed files on both sides of their middle."""
    starts = [n for n, message in enumerate(messages) if isinstance(message, HumanMessage)]
    found: list[Task] = []
    for start, end in zip(starts, [*starts[1:], len(messages)], strict=True):
        cut = _middle(messages, start, end)
        before, after = _calls(messages[start:cut]), _calls(messages[cut:end])
        if _written(before) and _written(after):
            name = f"request {len(found) + 1}"
            found.append(Task(name=name, history=list(messages[:cut]), before=before, after=after))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Who goes on with what.

    Attributes:
        model: Writes the summaries and does the work; it must be able to call tools.
        model_name: Its name, for the records.
        strategies: By name; those that cannot be made to compact are left out.
        window: The window in tokens.
        steps: The most calls of the model in one task.
        most_tasks: From the session's beginning; None: all.
        summary_tokens: Most tokens of a summary.
        answer_tokens: Most tokens of an answer; None: what its view leaves of the window.
    """

    model: BaseChatModel
    model_name: str
    strategies: Sequence[str]
    window: int
    steps: int = 20
    most_tasks: int | None = None
    summary_tokens: int = MAX_SUMMARY
    answer_tokens: int | None = None

    def run(self, task: Task, strategy: str) -> dict[str, Any]:
        """Return what a task's record is told by."""
        return {
            "task": task.name, "strategy": strategy, "window": self.window,
            "model": self.model_name, "steps": self.steps,
            "summary_tokens": self.summary_tokens, "answer_tokens": self.answer_tokens or 0,
        }  # fmt: skip

    def room(self, view_tokens: int) -> int:
        """Return how long an answer to a view may be."""
        left = max(self.window - view_tokens, _LEAST_ROOM)
        return left if self.answer_tokens is None else min(left, self.answer_tokens)


def run_rework(
    session: Session,
    ledger: Ledger,
    journal: Journal,
    work: Work,
    *,
    tell: Callable[[str], None],
) -> None:
    """Let a model go on with each task, once for each strategy.

    Args:
        session: The session that ships.
        ledger: Where our sides keep their history.
        journal: Where the results go; what it holds is not run again.
        work: Who goes on with what.
        tell: Takes a line a task.

    Raises:
        ModelError: The model could not be asked; tasks that came to their end are kept.
    """
    tasks = tasks_of([item.message for item in session.messages])[: work.most_tasks]
    strategies = forcible(work.strategies)
    pace = Pace(len(tasks) * len(strategies), tell)
    for task in tasks:
        for strategy in strategies:
            run = work.run(task, strategy)
            if journal.done(run):
                pace.skip()
                continue
            result = _result(task, strategy, ledger, work, tell)
            journal.add(run, [{"kind": "work", **result}], {})
            done = f"{result['again']} done again, tests {result['tests']}"
            pace.step(f"{task.name}  {strategy}  {result['calls']} calls, {done}")


def _result(
    task: Task, strategy: str, ledger: Ledger, work: Work, tell: Callable[[str], None]
) -> Record:
    started = time.perf_counter()
    calls = Calls(tell)
    setting = Setting(
        window=work.window, model=work.model, summary_tokens=work.summary_tokens, calls=calls
    )
    side = STRATEGIES[strategy].make(ledger, setting)
    with TemporaryDirectory(prefix="langledger-rework-") as folder:
        result = _go_on(task, side, work, Workspace(Path(folder)), calls)
    return {**result, **calls.costs(), "seconds": round(time.perf_counter() - started, 1)}


def rework_tables(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Return what was done again and what became of the tasks, by strategy."""
    work = [r for r in records if r["kind"] == "work"]
    columns = (
        "", "tasks", "ended by an error", "model calls", "done again", "read again",
        "files changed that were due", "tests pass", "calls with summaries", "read", "written", "s",
    )  # fmt: skip
    rows: list[list[str]] = []
    for strategy in strategies_in(work):
        own = [r for r in work if r["run"]["strategy"] == strategy]
        due, reached = (sum(r[key] for r in own) for key in ("due", "reached"))
        rows.append([
            title_of(strategy), str(len(own)), str(sum(bool(r["error"]) for r in own)),
            f"{mean(r['calls'] for r in own):.1f}", f"{mean(r['again'] for r in own):.1f}",
            f"{mean(r['reread'] for r in own):.1f}", f"{reached} of {due}",
            f"{sum(r['tests'] == 'pass' for r in own)} of {len(own)}",
            *(f"{mean(r[key] for r in own):,.0f}" for key in ("asked", "read", "written")),
            f"{mean(r['seconds'] for r in own):,.0f}",
        ])  # fmt: skip
    return [("Going on after a compaction, means a task", markdown(columns, rows))]


def _go_on(task: Task, side: Side, work: Work, workspace: Workspace, asked: Calls) -> Record:
    tools = {tool.name: tool for tool in workspace.tools()}
    for call in _calls(task.history):
        if call["name"] in tools:
            tools[call["name"]].invoke(call)
    stood = {path: _content(workspace, path) for path in _written(task.before)}
    made: list[ToolCall] = []
    error, calls = "", 0
    messages = list(task.history)
    meter, model = Meter(work.window), asked.of(work.model)
    while calls < work.steps:
        view, error = attempt(asked, partial(side.view, messages, force=calls == 0))
        if view is None:
            break
        able = limited(model, work.room(meter.take(view)))
        answer = reply(able.bind_tools(list(tools.values())), [SystemMessage(_SYSTEM), *view])
        if answer is None:
            error = "the view is too long for the model"
            break
        calls += 1
        messages.append(answer)
        if not answer.tool_calls:
            break
        made += answer.tool_calls
        messages += [_answered(call, tools) for call in answer.tool_calls]
    return {**_counted(task, made, workspace, stood), "calls": calls, "error": error}


def _answered(call: ToolCall, tools: Mapping[str, Any]) -> ToolMessage:
    tool = tools.get(call["name"])
    if tool is None:
        said = f"error: there is no tool {call['name']}; there are {', '.join(tools)}"
        return ToolMessage(said, tool_call_id=call["id"] or "", name=call["name"])
    try:
        return tool.invoke(call)
    except Exception as error:  # noqa: BLE001 - whatever a model's arguments bring about
        return ToolMessage(f"error: {error}", tool_call_id=call["id"] or "", name=call["name"])


def _counted(
    task: Task, made: Sequence[ToolCall], workspace: Workspace, stood: Mapping[str, str | None]
) -> Record:
    """Hold what was done against what had been done and what was left to do."""
    known = {_key(call) for call in task.before}
    left = {_key(call) for call in task.after}
    due = _written(task.after)
    again = [
        call
        for call in made
        if call["name"] in _WRITES
        and _key(call) not in left
        and (_key(call) in known or _path(call) in stood.keys() - due)
    ]
    read = {_path(call) for call in task.before if call["name"] == "read_file"}
    reread = [c for c in made if c["name"] == "read_file" and _path(c) in read]
    changed = {path for path in due if _path_changed(path, workspace, made, stood)}
    passed = workspace.run_command(_TESTS).endswith("exit code 0")
    return {
        "again": len(again), "reread": len(reread), "due": len(due), "reached": len(changed),
        "tests": "pass" if passed else "fail",
        "made": [{"tool": call["name"], "args": call["args"]} for call in made],
    }  # fmt: skip


def _path_changed(
    path: str, workspace: Workspace, made: Sequence[ToolCall], stood: Mapping[str, str | None]
) -> bool:
    wrote = any(call["name"] in _WRITES and _path(call) == path for call in made)
    return wrote and _content(workspace, path) != stood.get(path)


def _middle(messages: Sequence[BaseMessage], start: int, end: int) -> int:
    """Return the place of the first model call after half of a request's changes."""
    changes = [
        n
        for n in range(start, end)
        if any(call["name"] in _WRITES for call in _calls(messages[n : n + 1]))
    ]
    half = changes[(len(changes) - 1) // 2] if changes else end - 1
    following = (n for n in range(half + 1, end) if isinstance(messages[n], AIMessage))
    return next(following, end)


def _calls(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    return [call for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]


def _written(calls: Sequence[ToolCall]) -> set[str]:
    return {_path(call) for call in calls if call["name"] in _WRITES}


def _path(call: ToolCall) -> str:
    return posixpath.normpath(str(call["args"].get("path", "")))


def _key(call: ToolCall) -> str:
    return json.dumps([call["name"], call["args"]], sort_keys=True)


def _content(workspace: Workspace, path: str) -> str | None:
    file = workspace.folder / path
    return file.read_text(encoding="utf-8") if file.is_file() else None
