"""Whether a list of messages is still the one that was seen, told at the speed of C.

A host may hand over the same message objects at each call, or equal copies of them, and may have
changed one in place, text or a block deep inside. That each message is the same object is told at
each call. What could be changed in them is kept flat: every content, every dict and list in it,
and what these held. It is compared newest first and the rest by turns, so that a call costs no
more in a long history; all of it where the objects are others, or somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter, is_
from typing import Any, cast

from langchain_core.messages import BaseMessage

__all__ = ["Known"]

# Of so many messages each call compares texts, blocks and calls, and as many others by turns.
_WIDE = 256
# The same for what takes longer: a block's fields and a call's arguments.
_DEEP = 64

_content = attrgetter("content")
_calls = attrgetter("tool_calls")


@dataclass(slots=True)
class _Held:
    """What can be changed in place, by message, and what it held when it was seen.

    Attributes:
        read: Gives what some of the things hold, one after the other.
        at_once: Messages of which it is compared at each call, and again by turns.
    """

    read: Callable[[list[Any]], Iterable[Any]]
    at_once: int
    _things: list[Any] = field(default_factory=list[Any])
    _values: list[Any] = field(default_factory=list[Any])
    _ends: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])  # after each message
    _next: int = 0  # the older message whose turn it is

    def note(self, things: list[Any]) -> None:
        """Take in what the next message has of them."""
        self._things += things
        self._values += self.read(things)
        self._ends.append((len(self._things), len(self._values)))

    def unchanged(self, *, whole: bool) -> bool:
        """Tell whether they hold what they held, of all messages or of those whose turn it is."""
        messages = len(self._ends) - 1
        if whole:
            return self._same(0, messages)
        older = max(messages - self.at_once, 0)
        at = self._next if self._next < older else 0
        self._next = min(at + self.at_once, older)
        return self._same(older, messages) and self._same(at, self._next)

    def _same(self, first: int, end: int) -> bool:
        # Comparing lists is several times as fast as going through them, and what is the same
        # object is not looked into.
        (thing, value), (things, values) = self._ends[first], self._ends[end]
        return list(self.read(self._things[thing:things])) == self._values[value:values]


def _kinds() -> tuple[_Held, _Held, _Held, _Held]:
    return (
        _Held(lambda messages: map(_content, messages), _WIDE),
        _Held(lambda answers: map(_calls, answers), _WIDE),
        _Held(chain.from_iterable, _WIDE),
        _Held(lambda dicts: chain.from_iterable(map(_values, dicts)), _DEEP),
    )


@dataclass(slots=True)
class Known:
    """The messages last seen, and all that could be changed in them."""

    messages: list[BaseMessage] = field(default_factory=list[BaseMessage])
    _held: tuple[_Held, _Held, _Held, _Held] = field(default_factory=_kinds)
    _given_others: bool = False  # equal messages, not the same objects

    def new_part(self, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage] | None:
        """Return the messages that follow those seen, or None for another history."""
        known = len(self.messages)
        if len(messages) < known:
            return None
        given = messages[:known]
        self._given_others = not all(map(is_, given, self.messages))
        if not self.unchanged(whole=self._given_others):
            return None
        if self._given_others and not all(map(_same, given, self.messages)):
            return None
        return messages[known:]

    def unchanged(self, *, whole: bool = True) -> bool:
        """Tell whether nothing was changed in place, in any message or those whose turn it is."""
        return all(held.unchanged(whole=whole) for held in self._held)

    def take(self, messages: Sequence[BaseMessage]) -> None:
        """Remember these messages, of which those seen are the beginning."""
        if self._given_others:
            self.messages, self._held, self._given_others = [], _kinds(), False
        new = messages[len(self.messages) :]
        self.messages += new
        contents, calls, lists, dicts = self._held
        for message in new:
            contents.note([message])
            calls.note([message] if hasattr(message, "tool_calls") else [])
            within = _containers(message)
            lists.note([held for held in within if isinstance(held, list)])
            dicts.note([held for held in within if isinstance(held, dict)])


_values = cast("Any", dict).values


def _containers(message: BaseMessage) -> list[Any]:
    """Return each dict and list within a message."""
    waiting: list[Any] = [message.content, getattr(message, "tool_calls", None)]
    waiting.append(message.additional_kwargs)
    for value in waiting:  # grows as it is gone through
        if isinstance(value, dict):
            waiting += cast("dict[Any, Any]", value).values()
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)
    return waiting


def _same(new: BaseMessage, old: BaseMessage) -> bool:
    return new is old or (type(new) is type(old) and new.__dict__ == old.__dict__)
