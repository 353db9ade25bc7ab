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

__all__ = [
    "Tracked",
    "Unit",
    "call_ids",
    "close_unit",
    "recent_growth",
    "track",
    "units_of",
]

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


def track(
    seqs: Iterable[int], messages: Iterable[BaseMessage], sizes: Iterable[int]
) -> list[Tracked]:
    """Return messages with their entries and sizes."""
    return [Tracked(*item) for item in zip(seqs, messages, sizes, strict=True)]


def recent_growth(tracked: Sequence[Tracked]) -> int:
    """Return by how many tokens calls have grown last: the lesser of the last two steps.

    A step is an answer of the model and what followed it; one of two may be a huge result.
    """
    steps: list[int] = []
    size = 0
    for item in reversed(tracked):
        size += item.tokens
        if isinstance(item.message, AIMessage):
            steps.append(size)
            size = 0
            if len(steps) == 2:
                return min(steps)
    return 0


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
    """Return the id of each tool call of a message, in order, invalid calls included.

    Content blocks that are calls count too: a provider sees them as such. An id may be empty
    or there twice; hosts have recorded both.
    """
    if not isinstance(message, AIMessage):
        return []
    ids = [call["id"] or "" for call in (*message.tool_calls, *message.invalid_tool_calls)]
    blocks = [_block_id(block) for block in _blocks(message) if _is_call(block)]
    return ids + [call_id for call_id in blocks if call_id not in ids]


def units_of(messages: Iterable[Tracked]) -> list[Unit]:
    """Group messages into units, each result joined to the newest call of its id before it.

    A second result for one call is left out; a result without a call becomes a unit of its own.
    System messages are units too.
    """
    groups: list[list[Tracked]] = []
    waiting: dict[str, list[list[Tracked]]] = {}  # call id -> the groups that wait for a result
    answered: set[str] = set()
    for tracked in messages:
        message = tracked.message
        if isinstance(message, ToolMessage):
            group = next(iter(waiting.get(message.tool_call_id, ())), None)
            if group is not None:
                waiting[message.tool_call_id].pop(0)
                group.append(tracked)
                answered.add(message.tool_call_id)
                continue
            if message.tool_call_id in answered:
                continue
        group = [tracked]
        groups.append(group)
        ids = call_ids(message)
        waiting |= {call_id: [group] * ids.count(call_id) for call_id in ids}
    return [Unit(_in_call_order(group)) for group in groups]


def close_unit(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return a unit's messages as a provider accepts them.

    An unanswered call gets a stub, a result without a call becomes a note, a system message in
    the middle becomes a note of the user's side: providers take one, first. Calls without an id
    of their own get one. A message that says nothing is left out, or said to be empty.
    """
    head = messages[0]
    if isinstance(head, ToolMessage):
        name = f" of {head.name}" if head.name else ""
        return [note(head, f"[Result{name}; its call is no longer in view]", head.content)]
    if isinstance(head, SystemMessage):
        return [note(head, "[System message]", head.content)]
    ids = call_ids(head)
    if not ids:
        return _said(head)
    results: list[BaseMessage] = []
    given = list(messages[1:])
    names = _call_names(head)
    for call_id in ids:
        result = next((m for m in given if _answers(m, call_id)), None)
        if result is not None:
            given.remove(result)
        results.append(result or _stub(head, call_id, names.get(call_id)))
    if "" in ids or len(set(ids)) < len(ids):
        return _with_ids_of_their_own(cast("AIMessage", head), results)
    return [head, *results]


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
    order = call_ids(group[0].message)

    def place(member: Tracked) -> int:
        return order.index(cast("ToolMessage", member.message).tool_call_id)

    return (group[0], *sorted(group[1:], key=place))


def _answers(message: BaseMessage, call_id: str) -> bool:
    return isinstance(message, ToolMessage) and message.tool_call_id == call_id


def _said(message: BaseMessage) -> list[BaseMessage]:
    """Return a message without calls; some providers refuse one that says nothing."""
    said = message.content if isinstance(message.content, list) else message.content.strip()
    if said or message.additional_kwargs.keys() - {"synthetic", "langledger"}:
        return [message]
    if isinstance(message, AIMessage):
        return []
    return [note(message, "[An empty message]", "")]


def _stub(head: BaseMessage, call_id: str, name: str | None) -> ToolMessage:
    return ToolMessage(
        UNANSWERED,
        tool_call_id=call_id,
        name=name,
        id=f"unanswered-{head.id}-{call_id}",
        additional_kwargs={"langledger": {"origin": "stub"}},
    )


def _with_ids_of_their_own(head: AIMessage, results: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return a call message and its results, in order, under ids that are there once."""
    ids = [f"{call_id or 'call'}-{place}" for place, call_id in enumerate(call_ids(head), 1)]
    fresh = iter(ids)
    tool_calls = [{**call, "id": next(fresh)} for call in head.tool_calls]
    invalid = [{**call, "id": next(fresh)} for call in head.invalid_tool_calls]
    # The content's own call blocks would contradict the calls: a provider takes either.
    content: Any = head.content
    if isinstance(content, list):
        content = [block for block in cast("list[Any]", content) if not _is_call(block)]
    marked = {"langledger": {"origin": "ids"}}
    kwargs = {key: value for key, value in head.additional_kwargs.items() if key != "tool_calls"}
    changed = {
        "tool_calls": tool_calls,
        "invalid_tool_calls": invalid,
        "content": content,
        "additional_kwargs": kwargs | marked,
    }
    return [
        head.model_copy(update=changed),
        *(
            result.model_copy(
                update={
                    "tool_call_id": call_id,
                    "additional_kwargs": result.additional_kwargs | marked,
                    "id": f"{result.id}-{place}" if _is_stub(result) else result.id,
                }
            )
            for place, (call_id, result) in enumerate(zip(ids, results, strict=False), 1)
        ),
    ]


def _is_stub(message: BaseMessage) -> bool:
    return str(message.id).startswith("unanswered-")


def _block_id(block: dict[str, Any]) -> str:
    # An OpenAI Responses item has an id of its own beside the id of its call.
    return str(block.get("call_id") or block.get("id") or "")


def _is_call(block: Any) -> bool:
    kind = cast("dict[str, Any]", block).get("type") if isinstance(block, dict) else None
    return kind in ("tool_use", "tool_call", "function_call")


def _blocks(message: BaseMessage) -> list[dict[str, Any]]:
    if isinstance(message.content, str):
        return []
    return [block for block in message.content if isinstance(block, dict)]


def _call_names(message: BaseMessage) -> dict[str, str]:
    if not isinstance(message, AIMessage):
        return {}
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    return {call["id"] or "": call["name"] or "" for call in calls}
