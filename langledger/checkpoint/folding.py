"""Long containers in few bytes: what their checkpoints have in common gets entries of its own.

A dict that gains a key at each step would otherwise be written down key by key in each checkpoint.
Neighbours that are stored already, and so stay as they are, are put into one entry together; of
very many, such entries are put together again. Where one ends is decided by the content around, so
that a change makes one of them new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias
from zlib import crc32

import ormsgpack

from langledger.checkpoint.tree import Node, Tag, references

__all__ = ["Folding"]

# Sizes in bytes of nodes. An entry costs some 300 beside its content, once; what is in place costs
# its size in every checkpoint.
_LEAST = 512
_MOST = 1024

Run: TypeAlias = tuple[int, int]


class Folding:
    """Folds the nodes of containers.

    Args:
        store: Takes in a node and the runs it is made of; returns its reference.
    """

    def __init__(self, store: Callable[[Node, Sequence[Run]], int]) -> None:
        self._store = store
        self._inside: dict[int, set[Run]] = {}

    def dict_nodes(self, nodes: list[Node]) -> list[Node]:
        """Return ``(key, node)...`` of a dict in less bytes, if they are many."""
        return self._folded(nodes, 2, lambda part: [None, self._fold(Tag.DICT, part)])

    def list_nodes(self, nodes: list[Node]) -> list[Node]:
        """Return the nodes of a list in less bytes, if they are many."""
        return self._folded(nodes, 1, lambda part: [[Tag.PIECE, self._fold(Tag.LIST, part)]])

    def _folded(
        self, nodes: list[Node], width: int, fold: Callable[[list[Node]], list[Node]]
    ) -> list[Node]:
        while len(nodes) > width:
            shorter: list[Node] = []
            for part, full in self._parts(nodes, width):
                shorter += fold(part) if full else part
            if shorter == nodes:
                break
            nodes = shorter
        return nodes

    def _parts(self, nodes: list[Node], width: int) -> list[tuple[list[Node], bool]]:
        """Part the elements; of each part, tell whether it is large enough to be folded."""
        parts: list[tuple[list[Node], bool]] = []
        part: list[Node] = []
        size = 0
        for at in range(0, len(nodes), width):
            element = nodes[at : at + width]
            part += element
            if self._runs(element[-1]) is None:
                parts.append((part, False))
                part, size = [], 0
                continue
            packed = ormsgpack.packb(element)
            size += len(packed)
            if size >= _MOST or (
                size >= _LEAST and crc32(packed) % (_LEAST // len(packed) + 1) == 0
            ):
                parts.append((part, True))
                part, size = [], 0
        return [*parts, (part, False)]

    def _fold(self, tag: Tag, part: list[Node]) -> Node:
        node = [tag, *part]
        runs = self._runs(node) or set()
        reference = self._store(node, sorted(runs))
        self._inside[reference] = runs
        return [Tag.FOLDED, reference]

    def _runs(self, node: Node) -> set[Run] | None:
        """Return what a node is made of; None if some of that is only being stored."""
        runs: set[Run] = set()
        for start, count in references(node):
            if start < 0:
                return None
            runs.add((start, count))
            runs |= self._inside.get(start, set())
        return runs
