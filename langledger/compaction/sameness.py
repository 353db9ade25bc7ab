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
from operator import attrgetter
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage

__all__ = ["Known"]

# Compared at each call, of contents, of calls, of lists and of dicts: so many of the newest, and so
# many of the others by turns.
_NEWEST, _BY_TURNS = 128, 128

_content = attrgetter("content")
_calls = attrgetter("tool_calls")


@dataclass(slots=True)
class _Held:
    """Things of one kind that can be changed in place, and what they held when they were seen.

    Attributes:
        read: Gives what some of the things hold, one after the other.
    """

    read: Callable[[list[Any]], Iterable[Any]]
    _things: list[Any] = field(default_factory=list[Any])
    _values: list[Any] = field(default_factory=list[Any])
    _starts: list[int] = field(default_factory=lambda: [0])  # of each thing's values, and the end
    _next: int = 0  # the older thing whose turn it is

    def note(self, thing: Any) -> None:
        """Take in the next one."""
        self._things.append(thing)
        self._values += self.read([thing])
        self._starts.append(len(self._values))

    def unchanged(self, *, whole: bool) -> bool:
        """Tell whether all of them hold what they held, or those whose turn it is."""
        count = len(self._things)
        older = 0 if whole else max(count - _NEWEST, 0)
        at = self._next if self._next < older else 0
        self._next = min(at + _BY_TURNS, older)
        return self._same(older, count) and self._same(at, self._next)

    def _same(self, first: int, end: int) -> bool:
        # Comparing lists is several times as fast as going through them, and what is the same
        # object is not looked into.
        then = self._values[self._starts[first] : self._starts[end]]
        return list(self.read(self._things[first:end])) == then


def _kinds() -> tuple[_Held, _Held, _Held, _Held]:
    return (
        _Held(lambda messages: map(_content, messages)),
        _Held(lambda answers: map(_calls, answers)),
        _Held(chain.from_iterable),
        _Held(lambda dicts: chain.from_iterable(map(_values, dicts))),
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
        self._given_others = not self._begins(messages)
        if not self.unchanged(whole=self._given_others):
            return None
        if self._given_others and not all(map(_same, messages, self.messages)):
            return None
        return messages[known:]

    def _begins(self, messages: Sequence[BaseMessage]) -> bool:
        """Tell whether these messages begin with those seen, the same objects."""
        seen = self.messages
        # Lists of the same objects are compared in no time, those of copies slowly; where the
        # newest is the same object, the others are too, or hardly any is another.
        if not seen or messages[len(seen) - 1] is not seen[-1]:
            return not seen
        if not isinstance(messages, list):
            return list(messages[: len(seen)]) == seen
        try:
            # What is longer and begins with a list is greater than it. Cutting out the beginning
            # to compare would take ten times as long: each reference is counted up and down.
            return cast("list[Any]", messages) >= cast("list[Any]", seen)
        except TypeError:  # at the first two that differ: messages have no order
            return False

    def unchanged(self, *, whole: bool = True) -> bool:
        """Tell whether nothing was changed in place, anywhere or in what has its turn."""
        return all(held.unchanged(whole=whole) for held in self._held)

    def take(self, messages: Sequence[BaseMessage]) -> None:
        """Remember these messages, of which those seen are the beginning."""
        if self._given_others:
            self.messages, self._held, self._given_others = [], _kinds(), False
        new = messages[len(self.messages) :]
        self.messages += new
        for message in new:
            self._note(message)

    def _note(self, message: BaseMessage) -> None:
        contents, calls, lists, dicts = self._held
        contents.note(message)
        if isinstance(message, AIMessage):
            calls.note(message)
        waiting: list[Any] = [message.content, getattr(message, "tool_calls", None)]
        waiting.append(message.additional_kwargs)
        for value in waiting:  # grows as it is gone through
            if isinstance(value, dict):
                dicts.note(value)
                waiting += cast("dict[Any, Any]", value).values()
            elif isinstance(value, list):
                lists.note(value)
                waiting += cast("list[Any]", value)


_values = cast("Any", dict).values


def _same(new: BaseMessage, old: BaseMessage) -> bool:
    return new is old or (type(new) is type(old) and new.__dict__ == old.__dict__)
