"""Whether a list of messages is still the one that was seen, told at the speed of C.

A host may hand over the same message objects at each call, or equal copies of them, and may have
changed one in place, text or a block deep inside. At each of a thousand calls no message may be
looked at by Python code, so what can change is kept flat: every content, every dict and list in
it, and what these held. Texts, blocks and calls are compared at each call; the dicts of a long
history, a block's fields and a call's arguments, newest first and the rest by turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter, is_
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage

__all__ = ["Known"]

# Dicts compared at each call: so many of the newest, and as many of the others by turns.
_AT_ONCE = 256

_content = attrgetter("content")
_calls = attrgetter("tool_calls")


@dataclass(slots=True)
class Known:
    """The messages last seen, and all that could be changed in them."""

    messages: list[BaseMessage] = field(default_factory=list[BaseMessage])
    _contents: list[Any] = field(default_factory=list[Any])
    _answers: list[AIMessage] = field(default_factory=list[AIMessage])
    _calls: list[Any] = field(default_factory=list[Any])
    _dicts: list[dict[Any, Any]] = field(default_factory=list[dict[Any, Any]])
    _lists: list[list[Any]] = field(default_factory=list[list[Any]])
    _starts: list[int] = field(default_factory=lambda: [0])  # of each dict's values, and the end
    _next: int = 0  # the older dict that is compared next
    _values: list[Any] = field(default_factory=list[Any])
    _items: list[Any] = field(default_factory=list[Any])

    def new_part(self, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage] | None:
        """Return the messages that follow those seen, or None for another history."""
        known = len(self.messages)
        if len(messages) < known or not self._unchanged():
            return None
        # The same objects are the common case.
        given = messages[:known]
        if not all(map(is_, given, self.messages)) and not all(map(_same, given, self.messages)):
            return None
        return messages[known:]

    def take(self, messages: Sequence[BaseMessage]) -> None:
        """Remember these messages, of which those seen are the beginning."""
        if not all(map(is_, messages, self.messages)):
            self._forget()
        new = messages[len(self.messages) :]
        self.messages = list(messages)
        self._contents += map(_content, new)
        answers = [message for message in new if isinstance(message, AIMessage)]
        self._answers += answers
        self._calls += map(_calls, answers)
        for message in new:
            self._flatten(message)

    def _forget(self) -> None:
        for kept in (self.messages, self._contents, self._answers, self._calls):
            kept.clear()
        for kept in (self._dicts, self._lists, self._values, self._items):
            kept.clear()
        self._starts, self._next = [0], 0

    def _flatten(self, message: BaseMessage) -> None:
        """Note each dict and list within a message, and what it holds."""
        waiting: list[Any] = [message.content, getattr(message, "tool_calls", None)]
        waiting.append(message.additional_kwargs)
        for value in waiting:  # grows as it is gone through
            if isinstance(value, dict):
                held = cast("dict[Any, Any]", value)
                self._dicts.append(held)
                self._values += held.values()
                self._starts.append(len(self._values))
                waiting += held.values()
            elif isinstance(value, list):
                items = cast("list[Any]", value)
                self._lists.append(items)
                self._items += items
                waiting += items

    def _unchanged(self) -> bool:
        # Comparing lists is several times as fast as going through them, and what is the same
        # object is not looked into.
        return (
            list(map(_content, self.messages)) == self._contents
            and list(map(_calls, self._answers)) == self._calls
            and list(chain.from_iterable(self._lists)) == self._items
            and self._dicts_unchanged()
        )

    def _dicts_unchanged(self) -> bool:
        older = max(len(self._dicts) - _AT_ONCE, 0)
        at = self._next if self._next < older else 0
        self._next = min(at + _AT_ONCE, older)
        return self._hold(older, len(self._dicts)) and self._hold(at, self._next)

    def _hold(self, first: int, end: int) -> bool:
        """Tell whether these dicts hold what they held."""
        then = self._values[self._starts[first] : self._starts[end]]
        return list(chain.from_iterable(map(_held, self._dicts[first:end]))) == then


_held = cast("Any", dict).values


def _same(new: BaseMessage, old: BaseMessage) -> bool:
    return new is old or (type(new) is type(old) and new.__dict__ == old.__dict__)
