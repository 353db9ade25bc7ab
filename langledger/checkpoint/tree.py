"""Channel values as trees: small things in place, everything else a reference to an entry.

A *node* is what stands for a value inside a checkpoint's body, ready for msgpack: a scalar as
it is, or a list that begins with a :class:`Tag`. A *reference* is an entry's ``seq``, or
``-1 - place`` for an entry that is only being written, ``place`` being its place among the new
ones (:func:`resolve` puts the seqs in). Messages that follow each other in the thread are one
run of references, so a list that grows by a message costs the same at any length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, TypeAlias, cast

__all__ = [
    "FIRST_VALUE",
    "Node",
    "Tag",
    "add_to_run",
    "expanded",
    "map_leaves",
    "references",
    "resolve",
    "row",
]

Node: TypeAlias = Any

# The seq of the first entry that is no message (migration 0001).
FIRST_VALUE = 1 << 30


class Tag(IntEnum):
    """First item of a node that is no scalar; what follows it."""

    LEAF = 0  # payload[, kind]: a serialised value; msgpack where no kind is given
    ROW = 1  # reference: a serialised value in an entry
    MESSAGES = 2  # (reference, count)...: a list of messages
    BARE = 3  # (reference, count)...: a list of messages, which had no id yet
    MESSAGE = 4  # reference: one message
    BARE_MESSAGE = 5  # reference: one message, which had no id yet
    SAID = 6  # reference, form, role: a message as a dict or a pair of role and text
    LIST = 7  # part...: a list; the parts MESSAGES, BARE and PIECE stand for several elements
    PIECE = 8  # node: the elements of that list
    DICT = 9  # (key, node)...: a dict; with key None, the items of that dict
    SNAPSHOT = 10  # node: LangGraph's _DeltaSnapshot
    SEND = 11  # node, node, node: Send's target, argument and timeout
    OVERWRITE = 12  # node: Overwrite
    VALUE = 13  # seq less FIRST_VALUE: a ROW that is stored, in fewer bytes
    FOLDED = 14  # reference: the node in an entry, which says itself what that refers to
    NAMED = 15  # node, node...: a dict as DICT, its keys in the first node: nobody is to read them


_RUNS = (Tag.MESSAGES, Tag.BARE)
_SINGLE = (Tag.ROW, Tag.MESSAGE, Tag.BARE_MESSAGE, Tag.SAID, Tag.FOLDED)


def add_to_run(run: list[int], reference: int, count: int = 1) -> None:
    """Append references to ``(reference, count)...``, which a tag may precede.

    Neighbours share a pair; new entries (negative references) follow each other downwards.
    """
    if len(run) > 1:
        start, length = run[-2], run[-1]
        following = start + length if start > 0 else start - length
        if reference == following and (start > 0) == (reference > 0):
            run[-1] += count
            return
    run += (reference, count)


def expanded(run: Sequence[int]) -> Iterator[int]:
    """Iterate over the single references of ``(reference, count)...``."""
    for start, count in _pairs(run):
        yield from range(start, start + count) if start > 0 else range(start, start - count, -1)


def row(reference: int) -> Node:
    """Return the node of a serialised value in an entry."""
    if reference < FIRST_VALUE:
        return [Tag.ROW, reference]
    return [Tag.VALUE, reference - FIRST_VALUE]


def references(node: Node) -> Iterator[tuple[int, int]]:
    """Iterate over the runs ``(reference, count)`` that a node is made of."""
    tag, rest = _opened(node)
    if tag in _RUNS:
        yield from _pairs(rest)
    elif tag in _SINGLE:
        yield rest[0], 1
    elif tag == Tag.VALUE:
        yield FIRST_VALUE + rest[0], 1
    else:
        for child in _children(tag, rest):
            yield from references(child)


def resolve(node: Node, seqs: Sequence[int]) -> Node:
    """Return the node with the references to new entries replaced by the seqs they got."""
    tag, rest = _opened(node)
    if tag in _RUNS:
        run: list[int] = []
        for start, count in _pairs(rest):
            if start > 0:
                add_to_run(run, start, count)
            else:
                for place in range(-1 - start, count - 1 - start):
                    add_to_run(run, seqs[place])
        return [tag, *run]
    if tag in _SINGLE:
        given = cast("int", rest[0])
        reference = given if given > 0 else seqs[-1 - given]
        return row(reference) if tag == Tag.ROW else [tag, reference, *rest[1:]]
    return _rebuilt(node, lambda child: resolve(child, seqs))


def map_leaves(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return the node with each of its ``LEAF`` nodes changed."""
    if _opened(node)[0] == Tag.LEAF:
        return change(node)
    return _rebuilt(node, lambda child: map_leaves(child, change))


def _pairs(run: Sequence[int]) -> Iterable[tuple[int, int]]:
    return zip(run[::2], run[1::2], strict=True)


def _opened(node: Node) -> tuple[int | None, list[Any]]:
    """Return a node's tag and what follows; a scalar has neither."""
    if isinstance(node, list) and node:
        tag, *rest = cast("list[Any]", node)
        return tag, rest
    return None, []


def _children(tag: int | None, rest: list[Any]) -> list[Node]:
    if tag == Tag.DICT:
        return rest[1::2]
    return [] if tag in (None, Tag.LEAF, Tag.VALUE, *_RUNS, *_SINGLE) else rest


def _rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    tag, rest = _opened(node)
    if not _children(tag, rest):
        return node
    if tag == Tag.DICT:
        return [tag, *(item if at % 2 == 0 else change(item) for at, item in enumerate(rest))]
    return [tag, *(change(item) for item in rest)]
