"""What each side still had in view, counted by string search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from langledger.demo.agents import Run
from langledger.demo.model import ModelCall
from langledger.demo.script import read_session
from langledger.entries.marks import origin_of
from langledger.tokens import count_message

__all__ = ["REASON", "RULE", "Kept", "compaction_points", "is_stand_in", "measure", "view_text"]

RULE = "Never use date.today() or datetime.now()"
"""The user's rule, as said in the first message."""

REASON = "because the due day alone cannot tell how often it was moved"
"""The reason of a decision, as the agent gave it in the second turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a run's model calls still had in view.

    Attributes:
        model_calls: How many there were.
        compactions: The calls, from 1, whose view was compacted anew.
        largest_call: The largest call's share of the window.
        files_changed: Files that differ from the start at the end.
        files_named: Those the last call's view names.
        least_named: After a compaction, the least share of the files changed so far that a
            view named.
        last_action_named: Compactions after which the view named the last action before it.
        first_request: Whether the last view holds the first request word for word.
        rule: Whether it holds the user's rule word for word.
        reason: Whether it holds the reason of the decision word for word.
        stand_in_tokens: Size of the message that stands for the past in the last view.
        messages: Messages of the session.
        messages_in_state: Those in the agent's state at the end.
        seconds: Wall time of the run.
    """

    model_calls: int
    compactions: list[int]
    largest_call: float
    files_changed: int
    files_named: int
    least_named: float
    last_action_named: int
    first_request: bool
    rule: bool
    reason: bool
    stand_in_tokens: int
    messages: int
    messages_in_state: int
    seconds: float


def measure(run: Run, *, window: int) -> Kept:
    """Count what a run kept."""
    points = compaction_points(run.calls)
    view = run.calls[-1].messages
    last = view_text(view)
    after = run.calls[points[0] - 1 :] if points else run.calls
    request = read_session()[0].user
    return Kept(
        model_calls=len(run.calls),
        compactions=points,
        largest_call=round(max(call.tokens for call in run.calls) / window, 4),
        files_changed=len(run.changed),
        files_named=_named(run.changed, last),
        least_named=round(min(_share_named(call) for call in after), 4),
        last_action_named=sum(_names_last_action(run.calls, point) for point in points),
        first_request=_flat(request) in last,
        rule=RULE in last,
        reason=REASON in last,
        stand_in_tokens=sum(count_message(message) for message in view if is_stand_in(message)),
        messages=len(read_session()) + sum(1 + len(c.answer.tool_calls) for c in run.calls),
        messages_in_state=sum(not is_stand_in(message) for message in run.messages),
        seconds=round(run.seconds, 2),
    )


def compaction_points(calls: Sequence[ModelCall]) -> list[int]:
    """Return the numbers, from 1, of the calls that were sent a new compaction."""
    seen: set[str] = set()
    points: list[int] = []
    for number, call in enumerate(calls, start=1):
        stand_ins = {str(message.id) for message in call.messages if is_stand_in(message)}
        if stand_ins - seen:
            points.append(number)
        seen |= stand_ins
    return points


def is_stand_in(message: BaseMessage) -> bool:
    """Tell whether a message stands for others, ours or LangChain's."""
    lc_source = message.additional_kwargs.get("lc_source")
    return origin_of(message) == "compaction" or lc_source == "summarization"


def view_text(messages: Sequence[BaseMessage]) -> str:
    """Return all a view says, tool calls included, on one line."""
    parts: list[str] = []
    for message in messages:
        parts.append(message.text)
        if isinstance(message, AIMessage):
            parts += [_call_text(call["args"]) for call in message.tool_calls]
    return _flat("\n".join(parts))


def _call_text(args: dict[str, Any]) -> str:
    return "\n".join(
        value if isinstance(value, str) else json.dumps(value) for value in args.values()
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def _named(files: frozenset[str], text: str) -> int:
    return sum(name in text for name in files)


def _share_named(call: ModelCall) -> float:
    return _named(call.changed, view_text(call.messages)) / max(len(call.changed), 1)


def _names_last_action(calls: Sequence[ModelCall], point: int) -> bool:
    """Tell whether the view of a compaction names the newest tool call before it.

    By its command where it has one, else by its file or what it searched for.
    """
    answers = [call.answer for call in calls[: point - 1] if call.answer.tool_calls]
    if not answers:
        return True
    args = answers[-1].tool_calls[-1]["args"]
    words = args.get("command") or args.get("path") or args.get("pattern") or _call_text(args)
    return _flat(words) in view_text(calls[point - 1].messages)
