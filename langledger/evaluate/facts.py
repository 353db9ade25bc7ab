"""What happened in a session until a point, read from its messages.

Deliberately simple, and nothing of :mod:`langledger.state`: what is graded must not write its
own answers. Only what a tool call says outright counts: a shell command that changes a file
is a command here, no edit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

__all__ = ["Action", "Facts", "Step", "actions_of", "facts_of", "flat", "task_type", "values_in"]

_EDITORS = {
    "edit", "multiedit", "write", "create", "notebookedit", "apply_edits", "apply_patch",
    "edit_file", "write_file", "replace", "str_replace_editor", "str_replace_based_edit_tool",
    "editactionarguments",
}  # fmt: skip
_READERS = {"read", "view", "open", "viewcode", "read_file"}
_LOOKS = {"view"}  # the command of an editor that only shows
_PATH_KEYS = ("file_path", "path", "notebook_path", "filename", "files")
_PATCHED = re.compile(r"\*\*\* (Add|Update|Delete) File: ([^\n\"\\]+)")
_REMOVED = re.compile(r"(?:^|&&|;)\s*(?:git )?rm (?:-\w+ )*([^\s;&|]+)")
# What an agent has to write exactly: paths, names of several parts, numbers, hashes.
_VALUE = re.compile(
    r"[\w.@~-]*(?:/[\w.@~-]+)+|\w+(?:[._:-]\w+)+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+|\b[0-9a-f]{7,}\b"
    r"|\b\d{4,}\b"
)
_DONE = {"completed", "complete", "done", "finished"}
_MANIFEST = re.compile(
    r"(?:^|/)(?:package(?:-lock)?\.json|go\.(?:mod|sum)|pyproject\.toml|requirements[\w.-]*\.txt|"
    r"Cargo\.(?:toml|lock)|Gemfile|pom\.xml|build\.gradle|setup\.(?:py|cfg))$"
)
_UPGRADE = re.compile(r"(?i)\b(?:upgrade|bump|dependenc|migrat\w+ to|update to v?\d)")
_BUG = re.compile(r"(?i)\b(?:fix|bug|fail|error|crash|broken|wrong|issue|regression)|问题|修复")


@dataclass(frozen=True, slots=True)
class Action:
    """One tool call: where it stands, what it was, and what was said with it."""

    index: int
    tool: str
    args: Mapping[str, Any]
    said: str

    @property
    def text(self) -> str:
        """The arguments as text."""
        return _text(self.args)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the agent's list."""

    text: str
    done: bool


@dataclass(slots=True)
class Facts:
    """What an agent must still know at a point of its session.

    Attributes:
        edited: Files that a tool edited and that are still there, in order.
        deleted: Files that were edited and then deleted.
        read: Files that a tool read.
        commands: Shell commands, each once, in order.
        steps: The agent's list of steps as it stands.
        requests: What the user said.
        last: The newest tool call.
    """

    edited: list[str] = field(default_factory=list[str])
    deleted: list[str] = field(default_factory=list[str])
    read: list[str] = field(default_factory=list[str])
    commands: list[str] = field(default_factory=list[str])
    steps: dict[str, Step] = field(default_factory=dict[str, Step])
    requests: list[str] = field(default_factory=list[str])
    last: Action | None = None


def facts_of(messages: Sequence[BaseMessage], *, cwd: str | None = None) -> Facts:
    """Return what the messages tell; a call counts once its result is there and is no error."""
    results = {
        m.tool_call_id: m.status == "success" for m in messages if isinstance(m, ToolMessage)
    }
    facts = Facts()
    for message in messages:
        if isinstance(message, HumanMessage) and not message.additional_kwargs.get("synthetic"):
            facts.requests.append(message.text)
    for action, call_id in _actions(messages):
        facts.last = action
        if results.get(call_id, False):
            _take(facts, action, cwd)
    return facts


def actions_of(messages: Sequence[BaseMessage], *, start: int, most: int) -> list[Action]:
    """Return the next tool calls from a message on."""
    found: list[Action] = []
    for action, _ in _actions(messages[start:]):
        found.append(action)
        if len(found) == most:
            break
    return found


def values_in(action: Action) -> list[str]:
    """Return the paths, names and numbers of a call's arguments, each once."""
    return list(dict.fromkeys(m.strip(".:-") for m in _VALUE.findall(action.text) if len(m) > 3))


def task_type(messages: Sequence[BaseMessage], *, cwd: str | None = None) -> str:
    """Return which kind of task a session is.

    By rule: ``dependency upgrade`` (a manifest was edited and an upgrade asked for), ``bug fix``
    (the first request speaks of one), ``cross-file refactor`` (several files were edited),
    ``single-file edit``, else ``no edit``.
    """
    facts = facts_of(messages, cwd=cwd)
    first = facts.requests[0] if facts.requests else ""
    files = [*facts.edited, *facts.deleted]
    if any(map(_MANIFEST.search, files)) and _UPGRADE.search(first):
        return "dependency upgrade"
    if _BUG.search(first):
        return "bug fix"
    if not files:
        return "no edit"
    return "cross-file refactor" if len(files) > 1 else "single-file edit"


def flat(text: str) -> str:
    """Return a text with each run of blanks as one space."""
    return " ".join(text.split())


def _actions(messages: Sequence[BaseMessage]) -> Iterator[tuple[Action, str]]:
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                action = Action(index, call["name"], call["args"], message.text)
                yield action, call["id"] or ""


def _take(facts: Facts, action: Action, cwd: str | None) -> None:
    tool, args = action.tool.lower(), action.args
    patched = _PATCHED.findall(action.text)
    paths = [_relative(path, cwd) for path in _paths(args)]
    if patched:
        for what, path in patched:
            _edit(facts, _relative(path.strip(), cwd), deleted=what == "Delete")
    elif tool in _EDITORS and args.get("command") not in _LOOKS:
        for path in paths:
            _edit(facts, path, deleted=False)
    elif tool in _READERS or tool in _EDITORS:
        facts.read += [path for path in paths if path not in facts.read]
    else:
        _run(facts, args, cwd)
    _plan(facts, action)


def _edit(facts: Facts, path: str, *, deleted: bool) -> None:
    gone, here = facts.deleted, facts.edited
    if path in (here if deleted else gone):
        (here if deleted else gone).remove(path)
    into = gone if deleted else here
    if path not in into:
        into.append(path)


def _run(facts: Facts, args: Mapping[str, Any], cwd: str | None) -> None:
    given = args.get("command", args.get("cmd"))
    if isinstance(given, list):
        given = str(cast("list[object]", given)[-1])
    if not isinstance(given, str) or not given.strip():
        return
    command = given.strip()
    if command not in facts.commands:
        facts.commands.append(command)
    for path in _REMOVED.findall(command):
        if (name := _relative(path.strip("'\""), cwd)) in facts.edited:
            _edit(facts, name, deleted=True)


def _plan(facts: Facts, action: Action) -> None:
    """Follow the agent's list of steps: replaced as a whole, or kept up step by step."""
    args = action.args
    listed = args.get("todos", args.get("plan"))
    if isinstance(listed, list):
        records = [
            cast("dict[str, Any]", r) for r in cast("list[object]", listed) if isinstance(r, dict)
        ]
        facts.steps = {
            str(n): Step(str(r.get("content", r.get("step", ""))), _done(r.get("status")))
            for n, r in enumerate(records)
        }
    elif action.tool == "TaskCreate" and "subject" in args:
        facts.steps[str(len(facts.steps) + 1)] = Step(str(args["subject"]), done=False)
    elif action.tool == "TaskUpdate" and (key := str(args.get("taskId"))) in facts.steps:
        if args.get("status") == "deleted":
            del facts.steps[key]
        elif "status" in args:
            facts.steps[key] = Step(facts.steps[key].text, _done(args["status"]))


def _done(status: object) -> bool:
    return str(status).lower() in _DONE


def _paths(args: Mapping[str, Any]) -> Iterator[str]:
    for key in _PATH_KEYS:
        value: Any = args.get(key)
        if isinstance(value, str) and value.strip():
            yield value.strip()
        elif isinstance(value, list):
            for item in cast("list[Any]", value):
                path: object = (
                    cast("dict[str, Any]", item).get("file_path")
                    if isinstance(item, dict)
                    else item
                )
                if isinstance(path, str):
                    yield path


def _relative(path: str, cwd: str | None) -> str:
    path = path.replace("\\", "/")
    if cwd:
        path = path.removeprefix(cwd.replace("\\", "/").rstrip("/") + "/")
    return path.removeprefix("./")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "\n".join(_text(v) for v in cast("Mapping[str, Any]", value).values())
    if isinstance(value, list):
        return "\n".join(_text(v) for v in cast("list[Any]", value))
    return json.dumps(value, default=str)
