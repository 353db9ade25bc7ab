"""From trees back to channel values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

from langgraph.checkpoint.serde.types import (
    _DeltaSnapshot,  # pyright: ignore[reportPrivateUsage] - what LangGraph hands to savers
)
from langgraph.types import Overwrite, Send

from langledger.checkpoint.sealing import Sealing
from langledger.checkpoint.tree import FIRST_VALUE, Node, Tag, expanded
from langledger.errors import SerializationError

__all__ = ["Decoder", "Shelf"]


class Shelf(Protocol):
    """Gives out what references stand for."""

    def message(self, reference: int, *, bare: bool) -> Any:
        """Return a message that nobody else has; ``bare``: without its id."""
        ...

    def value(self, reference: int) -> Any:
        """Return a value that nobody else has."""
        ...


class Decoder:
    """Turns nodes into values."""

    def __init__(self, sealing: Sealing, shelf: Shelf) -> None:
        self._sealing = sealing
        self._shelf = shelf
        self._forms: dict[int, Callable[[list[Any]], Any]] = {
            Tag.LEAF: self._leaf,
            Tag.ROW: lambda rest: shelf.value(rest[0]),
            Tag.VALUE: lambda rest: shelf.value(FIRST_VALUE + rest[0]),
            Tag.MESSAGES: lambda rest: [shelf.message(r, bare=False) for r in expanded(rest)],
            Tag.BARE: lambda rest: [shelf.message(r, bare=True) for r in expanded(rest)],
            Tag.MESSAGE: lambda rest: shelf.message(rest[0], bare=False),
            Tag.BARE_MESSAGE: lambda rest: shelf.message(rest[0], bare=True),
            Tag.SAID: self._said,
            Tag.LIST: lambda rest: list(self._elements(rest)),
            Tag.DICT: lambda rest: dict(self._items(rest[::2], rest[1::2])),
            Tag.NAMED: lambda rest: dict(self._items(self.decode(rest[0]), rest[1:])),
            Tag.FOLDED: lambda rest: self.decode(shelf.value(rest[0])),
            Tag.SNAPSHOT: lambda rest: _DeltaSnapshot(self.decode(rest[0])),
            Tag.SEND: self._send,
            Tag.OVERWRITE: lambda rest: Overwrite(self.decode(rest[0])),
        }

    def decode(self, node: Node) -> Any:
        """Return the value of a node.

        Raises:
            SerializationError: It cannot be read back.
        """
        if not isinstance(node, list):
            return dict(cast("dict[str, Any]", node)) if isinstance(node, dict) else node
        tag, *rest = cast("list[Any]", node)
        if tag not in self._forms:
            raise SerializationError(
                f"a checkpoint holds a piece of form {tag!r}: upgrade langledger"
            )
        return self._forms[tag](rest)

    def _leaf(self, rest: list[Any]) -> Any:
        return self._sealing.load(rest[1] if len(rest) > 1 else "msgpack", rest[0])

    def _said(self, rest: list[Any]) -> Any:
        reference, form, role = rest
        text = self._shelf.message(reference, bare=True).content
        if form == "list":
            return [role, text]
        return {"role": role, "content": text} if form == "rc" else {"content": text, "role": role}

    def _send(self, rest: list[Any]) -> Send:
        node, arg, timeout = (self.decode(part) for part in rest)
        return Send(node, arg, timeout=timeout)

    def _elements(self, parts: Sequence[Node]) -> Iterator[Any]:
        for part in parts:
            if part[0] == Tag.PIECE:
                yield from self.decode(part[1])
            elif part[0] in (Tag.MESSAGES, Tag.BARE):
                yield from self.decode(part)
            else:
                yield self.decode(part)

    def _items(self, keys: list[Any], nodes: list[Node]) -> Iterator[tuple[str, Any]]:
        for key, node in zip(keys, nodes, strict=True):
            if key is None:
                yield from self.decode(node).items()
            else:
                yield key, self.decode(node)
