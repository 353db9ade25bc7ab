"""Which message objects are known to be which entries.

LangGraph keeps message objects from step to step, so most of a long list need not be
serialised to be recognised. Messages can be changed in place: an object counts only while its
fields hold what they held.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast
from weakref import ReferenceType, ref

from langchain_core.messages import BaseMessage

__all__ = ["Identities", "Known", "Master", "Snapshot", "snapshot_of"]

_IMMUTABLE = frozenset({type(None), str, bool, int, float, bytes})


class Snapshot(NamedTuple):
    """What a message's fields hold; containers in it are copies that nobody else has.

    Attributes:
        values: Of the declared fields.
        extra: The other fields.
        bare: The message has no id.
    """

    values: tuple[Any, ...]
    extra: Any
    bare: bool


@dataclass(frozen=True, slots=True)
class Known:
    """An entry that a message object is.

    Attributes:
        items: The thread's items it was learned with; forgotten with them.
        seq: The entry.
        draft: It still waits for its id.
        snapshot: What the fields held.
    """

    items: object
    seq: int
    draft: bool
    snapshot: Snapshot


class Identities:
    """Message objects by identity, as long as somebody else keeps them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ReferenceType[BaseMessage], Known]] = {}

    def find(self, message: BaseMessage, items: object) -> Known | None:
        """Return what is known of an object that has not changed since."""
        reference, known = self._known.get(id(message), (None, None))
        if reference is None or known is None or known.items is not items:
            return None
        return known if reference() is message and _holds(message, known.snapshot) else None

    def remember(self, message: BaseMessage, known: Known) -> None:
        """Remember an object."""
        number = id(message)
        self._known[number] = (ref(message, self._forgetting(number)), known)

    def _forgetting(self, number: int) -> Callable[[ReferenceType[BaseMessage]], None]:
        def forget(reference: ReferenceType[BaseMessage]) -> None:
            entry = self._known.get(number)
            if entry is not None and entry[0] is reference:  # the number may be another's by now
                del self._known[number]

        return forget


class Master:
    """A message that is never given out, only copies of it."""

    __slots__ = ("_changeable", "_message", "snapshot")

    def __init__(self, message: BaseMessage) -> None:
        self._message = message
        self._changeable = [k for k, v in message.__dict__.items() if type(v) not in _IMMUTABLE]
        self.snapshot = snapshot_of(message)

    def copy(self) -> BaseMessage:
        """Return a copy that shares nothing changeable."""
        if self.snapshot is None:
            return copy.deepcopy(self._message)
        twin = copy.copy(self._message)
        fields = cast("dict[str, Any]", twin.__dict__)
        for name in self._changeable:
            fields[name] = _fresh(fields[name])
        if twin.__pydantic_extra__:
            object.__setattr__(twin, "__pydantic_extra__", _fresh(twin.__pydantic_extra__))
        return twin


def snapshot_of(message: BaseMessage) -> Snapshot | None:
    """Return what a message's fields hold; None if they hold what cannot be compared safely."""
    try:
        values = tuple(_fresh(value) for value in message.__dict__.values())
        return Snapshot(values, _fresh(message.__pydantic_extra__), message.id is None)
    except TypeError:
        return None


def _holds(message: BaseMessage, snapshot: Snapshot) -> bool:
    try:
        values = tuple(message.__dict__.values())
        return bool(values == snapshot.values and message.__pydantic_extra__ == snapshot.extra)
    except Exception:  # noqa: BLE001 - whatever a changed field's comparison raises, it has changed
        return False


def _fresh(value: Any) -> Any:
    kind = cast("type[object]", type(value))
    if kind in _IMMUTABLE:
        return value
    if kind is list:
        return [_fresh(item) for item in cast("list[Any]", value)]
    if kind is dict:
        return {key: _fresh(item) for key, item in cast("dict[Any, Any]", value).items()}
    raise TypeError(f"{kind.__name__} is not of the kinds JSON knows")
