"""What an LLM node gives back, with the state's messages in the place of the view's.

A node that hands on what it was given (its whole list, a part of it, a hand-over to another
agent) hands on the view. None of that may reach the state: neither the summary, nor a result
shown as a reference, nor the absence of what left the view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, cast
from uuid import uuid4

from langchain_core.messages import BaseMessage, RemoveMessage, convert_to_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Overwrite
from pydantic import BaseModel

from langledger.entries.marks import origin_of

__all__ = ["Seen", "State", "as_messages", "read_messages", "with_messages", "without_view"]

State = Any  # what a graph's author chose: a mapping, a dataclass or a pydantic model


def read_messages(state: State, key: str) -> list[Any]:
    """Return the messages of a graph's state as they are there, whatever its kind."""
    found: Any = (
        cast("Mapping[str, Any]", state).get(key)
        if isinstance(state, Mapping)
        else getattr(state, key, None)
    )
    return list(cast("Sequence[Any]", found)) if isinstance(found, (list, tuple)) else []


def with_messages(state: State, key: str, messages: list[Any]) -> State:
    """Return a copy of a graph's state with these messages."""
    if isinstance(state, Mapping):
        return {**cast("Mapping[str, Any]", state), key: messages}
    if isinstance(state, BaseModel):
        return state.model_copy(update={key: messages})
    if is_dataclass(state) and not isinstance(state, type):
        return replace(state, **{key: messages})
    raise TypeError(f"a state of type {type(state).__name__} cannot be given a view")


@dataclass(frozen=True, slots=True)
class Seen:
    """What an LLM node was given in place of the state's messages, to know it again.

    Attributes:
        state: The state's messages, as they are there.
        view: What the node saw instead.
        replaces: Whether the messages of an update replace the state's; else they are merged.
        cached: Whether what the node gave may be given again in place of another run: then a
            message without an id must get one each time, or the second replaces the first.
    """

    state: Sequence[Any]
    view: Sequence[BaseMessage]
    replaces: bool = False
    cached: bool = False

    def restored(self, given: list[Any], *, replaces: bool = False) -> list[Any]:
        """Return messages a node gave back, with the state's in the place of the view's.

        Args:
            given: The messages.
            replaces: They replace the state's, whatever the channel does otherwise.
        """
        start = 1 + max((i for i, item in enumerate(given) if _removes_all(item)), default=-1)
        before, rest = given[:start], given[start:]
        new = [item for item in rest if not self._is_of_view(item)]
        if self._is_whole(rest):
            return [*before, *self.state, *new]
        if replaces or self.replaces or before:
            return [*before, *self._originals(rest)]
        return new

    def _is_whole(self, given: list[Any]) -> bool:
        """Tell whether a list begins as the view does."""
        if not given or not self.view:
            return False
        return origin_of(given[0]) in {"compaction", "opening"} or _same(given[0], self.view[0])

    def _originals(self, given: list[Any]) -> list[Any]:
        """Return the messages with the state's for those that stand for one, ours left out."""
        by_id = {m.id: m for m in self.state if isinstance(m, BaseMessage) and m.id is not None}
        shown = (by_id.get(m.id) if origin_of(m) else m for m in given)
        return [message for message in shown if message is not None]

    def _is_of_view(self, item: Any) -> bool:
        if isinstance(item, RemoveMessage):
            ours = {message.id for message in self.view if origin_of(message)}
            return item.id in ours - {getattr(message, "id", None) for message in self.state}
        if not isinstance(item, BaseMessage):
            return False
        return bool(origin_of(item)) or any(_same(item, message) for message in self.view)


def without_view(output: Any, key: str, seen: Seen) -> tuple[Any, list[BaseMessage]]:
    """Return a node's output without messages of the view, and what is new in it.

    Args:
        output: What the node gave: an update, a command, a list of these, or a state.
        key: The state's key that holds the messages.
        seen: What the node was given.
    """
    if isinstance(output, Command):
        command = cast("Command[Any]", output)
        update, new = without_view(command.update, key, seen)
        return replace(command, update=update), new
    if isinstance(output, Mapping):
        fields = cast("Mapping[str, Any]", output)
        if key not in fields:
            return fields, []
        value, new = _messages_without_view(fields[key], seen)
        return {**fields, key: value}, new
    if isinstance(output, (list, tuple)):
        return _each_without_view(cast("Sequence[Any]", output), key, seen)
    held = getattr(output, key, None)
    if isinstance(held, list):  # a state of the graph's own class
        value, new = _messages_without_view(held, seen)
        return with_messages(output, key, value), new
    return output, []


def _each_without_view(
    output: Sequence[Any], key: str, seen: Seen
) -> tuple[Sequence[Any], list[BaseMessage]]:
    if len(output) == 2 and output[0] == key:  # a command's update may come as pairs
        value, new = _messages_without_view(output[1], seen)
        return (key, value), new
    parts = [without_view(part, key, seen) for part in output]
    rebuilt = [part for part, _ in parts]
    new = [message for _, found in parts for message in found]
    return (tuple(rebuilt) if type(output) is tuple else rebuilt), new


def _messages_without_view(value: Any, seen: Seen) -> tuple[Any, list[BaseMessage]]:
    if isinstance(value, Overwrite):
        inner: Any = value.value
        if not isinstance(inner, list):
            return value, []
        restored = seen.restored(cast("list[Any]", inner), replaces=True)
        return replace(value, value=restored), _new_in(restored, seen)
    if isinstance(value, BaseMessage):
        return value, _new_in([value], seen)
    if not isinstance(value, list):
        return value, []
    restored = seen.restored(cast("list[Any]", value))
    return restored, _new_in(restored, seen)


def _new_in(items: Sequence[Any], seen: Seen) -> list[BaseMessage]:
    """Return the new messages at the end of an update, each with the id it will keep.

    Where what is new is not plain messages, which the state's reducer reads in its own way, there
    are none: they are recorded at the next call, as the state has them then.
    """
    known = {id(message) for message in seen.state}
    new = [item for item in items if id(item) not in known]
    if not all(isinstance(item, BaseMessage) for item in new):
        return []
    if any(isinstance(m, RemoveMessage) or (seen.cached and m.id is None) for m in new):
        return []
    for message in new:
        if message.id is None:
            # The reducer would give one later; then the entry would be another message.
            message.id = str(uuid4())
    return new


def as_messages(items: Sequence[Any]) -> list[BaseMessage]:
    """Return messages given in any of LangChain's forms; those that are messages as they are."""
    if all(isinstance(item, BaseMessage) for item in items):
        return cast("list[BaseMessage]", list(items))
    return convert_to_messages(items)


def _removes_all(item: Any) -> bool:
    return isinstance(item, RemoveMessage) and item.id == REMOVE_ALL_MESSAGES


def _same(one: Any, other: BaseMessage) -> bool:
    return one is other or (isinstance(one, BaseMessage) and one.id == other.id and one == other)
