"""Trajectories of SWE-agent and moatless-tools: one JSON document a run.

SWE-agent keeps the conversation under ``history`` and each step under ``trajectory``; before it
called tools, an action was a line of shell. moatless-tools keeps a tree of ``nodes``, each an
action with its observation; the branch that ends with the last node is what came of the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from langchain_core.messages import SystemMessage

from langledger.replay.formats.base import Draft, Format
from langledger.replay.formats.building import Calls, human, plain_text, tool_result
from langledger.replay.formats.normalised import read_calls
from langledger.replay.formats.shapes import (
    Json,
    ShapeError,
    at,
    content_of,
    items,
    mapping,
    optional_mapping,
    optional_text,
    text,
)

__all__ = ["MOATLESS", "SWE_AGENT"]

# SWE-agent's own commands; any other line goes to the shell.
_COMMANDS = re.compile(
    r"\s*(open|goto|scroll_up|scroll_down|create|edit|insert|submit|search_file|search_dir"
    r"|find_file|str_replace_editor|exit_\w+|skip)\b"
)


# An edit is of the file that was opened before.
_NAMES = {"edit": "edit_open_file"}


def _is_swe_agent(record: Json) -> bool:
    return isinstance(record.get("trajectory"), list) and isinstance(record.get("history"), list)


def _read_swe_agent(records: Iterable[Json], draft: Draft) -> None:
    for record in records:
        if draft.messages:
            raise ShapeError("the record", "one trajectory in the file", "a second one")
        history = _History(draft)
        for position, entry in enumerate(items(record, "history")):
            with at(f"history[{position}]"):
                history.add(entry)
        steps = items(record, "trajectory")
        if steps:
            history.close(optional_text(steps[-1], "observation"))


class _History:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._waiting: list[tuple[str, str]] = []  # id and tool of calls without a result
        self._step = 0

    def add(self, entry: Json) -> None:
        role, content = text(entry, "role"), content_of(entry)
        if role == "system":
            self._draft.add(SystemMessage(content=content))
        elif role == "assistant":
            self._answer(entry)
        elif role == "tool" or (role == "user" and self._waiting):
            self._results(plain_text(content))
        elif role == "user":
            self._draft.add(human(content, synthetic=entry.get("is_demo") is True))
        else:
            raise ShapeError("role", "one of assistant, system, tool, user", role)

    def close(self, observation: str | None) -> None:
        """Add the result of the last action, which ends the run before it is sent back."""
        if self._waiting and observation is not None:
            self._results(observation)

    def _answer(self, entry: Json) -> None:
        calls = read_calls(entry)
        action = optional_text(entry, "action")
        if not calls.names() and action is not None:
            own = _COMMANDS.match(action)
            name = _NAMES.get(own[1], own[1]) if own else "bash"
            calls.add(call_id=f"step-{self._step}", name=name, arguments={"command": action})
        self._step += 1
        self._waiting = [*calls.names().items()]
        self._draft.add(calls.message(content_of(entry), metadata={}))

    def _results(self, words: str) -> None:
        """Give the first waiting call what came back; a step has one."""
        if self._waiting:
            call_id, name = self._waiting.pop(0)
            self._draft.add(tool_result(words, call_id=call_id, name=name, failed=False))


def _is_moatless(record: Json) -> bool:
    nodes = record.get("nodes")
    if not isinstance(nodes, list) or not nodes:
        return False
    first = cast("list[Any]", nodes)[0]
    return isinstance(first, dict) and "node_id" in first


def _read_moatless(records: Iterable[Json], draft: Draft) -> None:
    for record in records:
        if draft.messages:
            raise ShapeError("the record", "one trajectory in the file", "a second one")
        prompt = optional_text(optional_mapping(record, "agent"), "system_prompt")
        if prompt is not None:
            draft.add(SystemMessage(content=prompt))
        for node in _branch(items(record, "nodes")):
            with at(f"node {node.get('node_id')}"):
                _add_node(node, draft)


def _branch(nodes: Sequence[Json]) -> list[Json]:
    """Return the nodes from the root to the last one."""
    by_id = {node.get("node_id"): node for node in nodes}
    branch: list[Json] = []
    node: Json | None = nodes[-1] if nodes else None
    while node is not None and node not in branch:
        branch.append(node)
        node = by_id.get(node.get("parent_id"))
    return branch[::-1]


def _add_node(node: Json, draft: Draft) -> None:
    message = optional_text(node, "message") or optional_text(node, "user_message")
    if message is not None:
        draft.add(human(message))
    if not optional_mapping(node, "action"):
        return
    action = dict(mapping(node, "action"))
    thought = action.pop("scratch_pad", None) or action.pop("thoughts", None) or ""
    name = text(action, "action_args_class").rpartition(".")[2].removesuffix("Args")
    del action["action_args_class"]
    calls, call_id = Calls(), f"node-{node.get('node_id')}"
    calls.add(call_id=call_id, name=name, arguments=action)
    draft.add(calls.message(thought if isinstance(thought, str) else "", metadata={}))
    observed = optional_mapping(node, "observation")
    if observed:
        draft.add(
            tool_result(
                optional_text(observed, "message") or "",
                call_id=call_id,
                name=name,
                failed=observed.get("expect_correction") is True,
            )
        )


SWE_AGENT = Format(
    name="swe-agent",
    title="a SWE-agent .traj",
    recognises=_is_swe_agent,
    read=_read_swe_agent,
)
MOATLESS = Format(
    name="moatless",
    title="a moatless-tools trajectory",
    recognises=_is_moatless,
    read=_read_moatless,
)
