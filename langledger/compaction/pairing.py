"""Tool calls and their results as units that no cut can split.

Providers refuse a request in which a tool result has no call before it or a call
lacks a result. Histories break that rule in many ways: parallel calls answered out
of order, an id used twice, results that never came or came late, calls removed by
an application's own trimming. :func:`units_of` puts such a history in order, and
:func:`close_unit` makes each unit valid on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

__all__ = ["Tracked", "Unit", "call_ids", "close_unit", "units_of"]

UNANSWERED = "[No result was recorded for this call.]"


@dataclass(frozen=True, slots=True)
class Tracked:
    """A message of the thread with what is known of it.

    Attributes:
        seq: The entry it is recorded as.
        tokens: Its size by our counter, uncalibrated.
    """

    seq: int
    message: BaseMessage
    tokens: int


@dataclass(frozen=True, slots=True)
class Unit:
    """What must stay or go together: one message, or a tool-calling turn with its results."""

    members: tuple[Tracked, ...]

    @property
    def head(self) -> Tracked:
        """The message that opens the unit."""
        return self.members[0]

    @property
    def last_seq(self) -> int:
        """The newest entry in the unit."""
        return max(member.seq for member in self.members)

    @property
    def tokens(self) -> int:
        """Size of all its messages."""
        return sum(member.tokens for member in self.members)

    @property
    def is_tool_turn(self) -> bool:
        """Whether it is a message with tool calls."""
        return bool(call_ids(self.head.message))

    @property
    def is_open(self) -> bool:
        """Whether a call still waits for its result."""
        return self.is_tool_turn and len(self.members) - 1 < len(call_ids(self.head.message))


def call_ids(message: BaseMessage) -> list[str]:
    """Return the ids of a message's tool calls, invalid ones included, without repeats.

    Content blocks of type ``tool_use`` count too: a provider sees them as calls.
    """
    if not isinstance(message, AIMessage):
        return []
    ids = [call["id"] for call in message.tool_calls]
    ids += [call["id"] for call in message.invalid_tool_calls]
    ids += [block.get("id") for block in _blocks(message) if block.get("type") == "tool_use"]
    return list(dict.fromkeys(call_id for call_id in ids if call_id))


def units_of(messages: Iterable[Tracked]) -> list[Unit]:
    """Group messages into units, each result joined to the newest call of its id before it.

    A second result for one call is left out; a result without a call becomes a unit of its own.
    System messages are units too.
    """
    groups: list[list[Tracked]] = []
    waiting: dict[str, list[Tracked]] = {}  # call id -> the group that waits for its result
    answered: set[str] = set()
    for tracked in messages:
        message = tracked.message
        if isinstance(message, ToolMessage):
            group = waiting.pop(message.tool_call_id, None)
            if group is not None:
                group.append(tracked)
                answered.add(message.tool_call_id)
                continue
            if message.tool_call_id in answered:
                continue
        group = [tracked]
        groups.append(group)
        for call_id in call_ids(message):
            waiting[call_id] = group
    return [Unit(_in_call_order(group)) for group in groups]


def close_unit(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return a unit's messages as a provider accepts them.

    An unanswered call gets a stub, a result without a call becomes a note, a system message in
    the middle becomes a note of the user's side: providers take one, first.
    """
    head = messages[0]
    if isinstance(head, ToolMessage):
        name = f" of {head.name}" if head.name else ""
        return [note(head, f"[Result{name}; its call is no longer in view]", head.content)]
    if isinstance(head, SystemMessage):
        return [note(head, "[System message]", head.content)]
    answered = {m.tool_call_id for m in messages[1:] if isinstance(m, ToolMessage)}
    names = _call_names(head)
    stubs: list[BaseMessage] = [
        ToolMessage(
            UNANSWERED,
            tool_call_id=call_id,
            name=names.get(call_id),
            id=f"unanswered-{head.id}-{call_id}",
            additional_kwargs={"langledger": {"origin": "stub"}},
        )
        for call_id in call_ids(head)
        if call_id not in answered
    ]
    return [*messages, *stubs]


def note(source: BaseMessage, label: str, content: str | list[Any]) -> HumanMessage:
    """Return what a message says as a labelled message of the user's side."""
    if isinstance(content, str):
        text: Any = f"{label}\n{content}"
    else:
        text = [{"type": "text", "text": label}, *content]
    return HumanMessage(
        text,
        id=source.id and f"note-{source.id}",
        additional_kwargs={"langledger": {"origin": "note"}},
    )


def _in_call_order(group: list[Tracked]) -> tuple[Tracked, ...]:
    order = {call_id: place for place, call_id in enumerate(call_ids(group[0].message))}

    def place(member: Tracked) -> int:
        return order[cast("ToolMessage", member.message).tool_call_id]

    return (group[0], *sorted(group[1:], key=place))


def _blocks(message: BaseMessage) -> list[dict[str, Any]]:
    if isinstance(message.content, str):
        return []
    return [block for block in message.content if isinstance(block, dict)]


def _call_names(message: BaseMessage) -> dict[str, str]:
    if not isinstance(message, AIMessage):
        return {}
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    return {call["id"]: call["name"] or "" for call in calls if call["id"]}
