"""From channel values to trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypeAlias, TypeGuard, cast
from zlib import crc32

import ormsgpack
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
)
from langgraph.checkpoint.serde.types import (
    _DeltaSnapshot,  # pyright: ignore[reportPrivateUsage] - what LangGraph hands to savers
)
from langgraph.types import Overwrite, Send

from langledger.checkpoint.cache import Stage
from langledger.checkpoint.folding import Folding
from langledger.checkpoint.sealing import Sealing
from langledger.checkpoint.tree import Node, Tag, add_to_run, row
from langledger.entries.codec import has_lone_surrogate
from langledger.entries.marks import origin_of

__all__ = ["SAID_CLASSES", "Encoder", "Intake"]

# Sizes in bytes of serialised content. A row costs some 270 beside its content; what stands in
# place costs its size in every checkpoint that holds it.
_ROW = 256
_SPLIT = 2048  # containers from here on are split, so that a change rewrites only a part
_PIECE = 512
_LARGEST_PIECE = 1024
_LONGEST_SCALAR = 128  # characters
_NUMBERS = 256  # elements of a piece of numbers
_DEEPEST = 32  # containers inside each other; what is deeper down is not split

_SCALARS = frozenset({type(None), bool, int, float, str})
_NUMERIC = frozenset({type(None), bool, int, float})

# Messages as people type them; LangGraph makes these classes of them.
SAID_CLASSES: dict[str, type[BaseMessage]] = {
    "user": HumanMessage,
    "human": HumanMessage,
    "assistant": AIMessage,
    "ai": AIMessage,
    "system": SystemMessage,
}


class Intake(Protocol):
    """Takes in content and returns references to it; what is known already is not taken again."""

    def message(self, message: BaseMessage, stage: Stage) -> tuple[int, bool]:
        """Return the reference, and whether the message has no id."""
        ...

    def value(self, value: Any, kind: str, payload: bytes) -> int:
        """Return the reference of a value whose plain form is given."""
        ...

    def node(self, node: Node, runs: Sequence[tuple[int, int]]) -> int:
        """Return the reference of a node, and of what it is made of."""
        ...


@dataclass(slots=True)
class _Small:
    """A value small enough to stand in place, or to share an entry with its neighbours."""

    value: Any
    kind: str
    payload: bytes


_Visited: TypeAlias = "Node | _Small"


class Encoder:
    """Turns values into nodes.

    Args:
        sealing: Serialises what is neither container nor message.
        intake: Takes in what becomes entries.
        stage: How messages without id stand.
    """

    def __init__(self, sealing: Sealing, intake: Intake, stage: Stage) -> None:
        self._sealing = sealing
        self._intake = intake
        self._stage = stage
        self._depth = 0
        self._folding = Folding(intake.node)

    def encode(self, value: Any) -> Node:
        """Return the node of a value.

        Raises:
            SerializationError: It cannot be stored.
        """
        visited = self._visit(value)
        return self._in_place(visited) if isinstance(visited, _Small) else visited

    def leaf(self, value: Any) -> Node:
        """Return a value serialised in place, whatever its size."""
        return self._in_place(self._small(value))

    def _visit(self, value: Any) -> _Visited:
        if type(value) in _SCALARS:
            return self._scalar(value)
        if type(value) is list or type(value) is dict:
            return self._container(value)
        if _is_message(value):
            return self._message(value)
        return self._wrapped(value) or self._plain(value)

    def _scalar(self, value: Any) -> _Visited:
        exact = (
            -(1 << 63) <= value < 1 << 63
            if type(value) is int
            else type(value) is not str
            or (len(value) <= _LONGEST_SCALAR and not has_lone_surrogate(value))
        )
        return value if exact and self._sealing.is_open else self._plain(value)

    def _message(self, message: BaseMessage) -> Node:
        reference, bare = self._intake.message(message, self._stage)
        return [Tag.BARE_MESSAGE if bare else Tag.MESSAGE, reference]

    def _wrapped(self, value: Any) -> Node:
        if type(value) is _DeltaSnapshot:
            return [Tag.SNAPSHOT, self.encode(value.value)]
        if type(value) is Overwrite:
            return [Tag.OVERWRITE, self.encode(value.value)]
        if type(value) is Send:
            return [Tag.SEND, *(self.encode(v) for v in (value.node, value.arg, value.timeout))]
        return None

    def _plain(self, value: Any) -> _Visited:
        small = self._small(value)
        return small if len(small.payload) < _ROW else self._row(small)

    def _small(self, value: Any) -> _Small:
        return _Small(value, *self._sealing.plain(value))

    def _in_place(self, small: _Small) -> Node:
        kind, payload = self._sealing.seal(small.value, small.kind, small.payload)
        return [Tag.LEAF, payload] if kind == "msgpack" else [Tag.LEAF, payload, kind]

    def _row(self, small: _Small) -> Node:
        return row(self._intake.value(small.value, small.kind, small.payload))

    def _container(self, value: Any) -> _Visited:
        """Split a container, unless it is so deep inside others that the stack would run out."""
        if self._depth == _DEEPEST:
            return self._plain(value)
        self._depth += 1
        try:
            if type(value) is list:
                return self._list(cast("list[Any]", value))
            return self._dict(value)
        finally:
            self._depth -= 1

    def _list(self, values: list[Any]) -> _Visited:
        if len(values) > _NUMBERS and all(type(value) in _NUMERIC for value in values):
            return self._numbers(values)
        parts = _Parts(lambda elements, last: [[Tag.PIECE, self._piece(elements, last)]])
        for value in values:
            if _is_message(value):  # nearly all there is in a long thread
                reference, bare = self._intake.message(value, self._stage)
                parts.add_message(Tag.BARE_MESSAGE if bare else Tag.MESSAGE, reference)
                continue
            visited = self._said(value) or self._visit(value)
            if not isinstance(visited, list):
                parts.add_small(value, _weight(visited))
                continue
            node = cast("list[Any]", visited)
            parts.add([Tag.LIST, node] if node[0] in (Tag.MESSAGES, Tag.BARE) else node)
        nodes = parts.finish()
        if nodes is None:
            return self._plain(values)
        alone = len(nodes) == 1 and nodes[0][0] in (Tag.MESSAGES, Tag.BARE)
        return nodes[0] if alone else [Tag.LIST, *self._folding.list_nodes(nodes)]

    def _dict(self, items: dict[Any, Any]) -> _Visited:
        if not all(type(key) is str and not has_lone_surrogate(key) for key in items):
            return self._plain(items)
        if not items and self._sealing.is_open:
            return {}
        parts = _Parts(lambda pairs, last: [None, self._piece(dict(pairs), last)])
        for key, value in items.items():
            visited = self._visit(value)
            if isinstance(visited, list):
                parts.add(key, visited)
            else:
                parts.add_small((key, value), key.encode() + _weight(visited))
        nodes = parts.finish()
        if nodes is None:
            return self._plain(items)
        nodes = self._folding.dict_nodes(nodes)
        if self._sealing.is_open:
            return [Tag.DICT, *nodes]
        return [Tag.NAMED, self.leaf(nodes[::2]), *nodes[1::2]]

    def _piece(self, elements: Any, last: bool) -> Node:  # noqa: FBT001 - called by _Parts
        """Give some elements an entry of their own; the last ones, which still change, none."""
        small = self._small(elements)
        own = not last and len(small.payload) >= _ROW
        return self._row(small) if own else self._in_place(small)

    def _numbers(self, values: list[Any]) -> Node:
        pieces = (values[at : at + _NUMBERS] for at in range(0, len(values), _NUMBERS))
        return [
            Tag.LIST,
            *([Tag.PIECE, self._piece(piece, len(piece) < _NUMBERS)] for piece in pieces),
        ]

    def _said(self, value: Any) -> Node:
        """Return the node of an input message as people type it, or None.

        Its text is the same entry as the message that LangGraph makes of it.
        """
        if self._stage == Stage.SETTLED:
            return None
        match value:
            case {"role": str(role), "content": str(text), **rest} if (
                not rest and type(value) is dict
            ):
                form = "".join(key[0] for key in cast("dict[str, Any]", value))
            case (str(role), str(text)) if type(value) in {tuple, list}:
                form = "list"  # which is what msgpack makes of a tuple
            case _:
                return None
        if role not in SAID_CLASSES or not type(role) is type(text) is str:
            return None
        reference, _ = self._intake.message(SAID_CLASSES[role](text), self._stage)
        return [Tag.SAID, reference, form, role]


class _Parts:
    """Collects the nodes of a container's elements.

    Small neighbours share a piece. Where one ends is decided by the content around, not by
    position: an element added or removed changes its own piece only.

    Args:
        piece: Makes nodes of small elements; told whether they are the container's last.
    """

    def __init__(self, piece: Callable[[list[Any], bool], list[Node]]) -> None:
        self._piece = piece
        self._nodes: list[Node] = []
        self._pending: list[Any] = []
        self._pending_size = 0
        self._size = 0
        self._all_small = True

    def add(self, *nodes: Node) -> None:
        """Add an element that has a node of its own."""
        self._close(last=False)
        self._all_small = False
        self._nodes += nodes

    def add_message(self, tag: Tag, reference: int) -> None:
        """Add a message; it joins the run before it."""
        if self._pending:
            self._close(last=False)
        self._all_small = False
        many = Tag.MESSAGES if tag == Tag.MESSAGE else Tag.BARE
        if not self._nodes or self._nodes[-1][0] != many:
            self._nodes.append([many])
        add_to_run(self._nodes[-1], reference)

    def add_small(self, element: Any, payload: bytes) -> None:
        """Add an element that may share a piece; ``payload`` is its plain form."""
        self._pending.append(element)
        self._pending_size += len(payload)
        self._size += len(payload)
        chance = max(1, _PIECE // max(1, len(payload)))
        if self._pending_size >= _LARGEST_PIECE or (
            self._pending_size >= _ROW and crc32(payload) % chance == 0
        ):
            self._close(last=False)

    def finish(self) -> list[Node] | None:
        """Return the nodes; None when the container is small enough to be one value."""
        if self._all_small and self._size < _SPLIT:
            return None
        self._close(last=True)
        return self._nodes

    def _close(self, *, last: bool) -> None:
        if self._pending:
            self._nodes += self._piece(self._pending, last)
            self._pending = []
            self._pending_size = 0


def _is_message(value: object) -> TypeGuard[BaseMessage]:
    """Tell whether a value becomes an entry: what a view put in place of others was never said."""
    return _are_messages(type(value)) and origin_of(value) is None


@cache
def _are_messages(kind: type) -> bool:
    """Tell it of a class; to ask an abstract class for each value would take longer."""
    return issubclass(kind, BaseMessage) and not issubclass(kind, RemoveMessage)


def _weight(visited: _Visited) -> bytes:
    return visited.payload if isinstance(visited, _Small) else ormsgpack.packb(visited)
