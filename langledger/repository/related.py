"""What the definitions of a search refer to, and what refers to them: signatures, a section apart.

Edges of which nobody knows where they lead are not followed: of several definitions of a name it
could mean any, and all of them fill the view with strangers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langledger.arguments import check_whole
from langledger.operations import Operation, Row, fetch
from langledger.repository.candidates import Keys, queries
from langledger.repository.graph import Node, edges_from, edges_to
from langledger.repository.packing import Related
from langledger.repository.types import Edge

__all__ = ["related_to"]

_SEEDS = 8
_MOST = 60
_CALLERS = 5  # of one definition; one with more is a utility, and any of them tells as much
_FORWARD = {"call": "called by", "inherit": "base of", "use": "used by"}
_BACKWARD = {"call": "calls", "inherit": "inherits from", "use": "uses"}


def related_to(keys: Keys, nodes: Sequence[Node], *, hops: int = 1) -> Operation[list[Related]]:
    """Return what definitions refer to and what refers to them, nearest first, the surest first.

    Args:
        keys: Of the worktree.
        nodes: The definitions, best first; eight are followed.
        hops: How far; 0: nothing.

    Raises:
        ConfigurationError: ``hops`` is no whole number up to 3.
    """
    check_whole("hops", hops, most=3)
    seeds = list(dict.fromkeys(node for node in nodes if node[1]))[:_SEEDS]
    seen, found = set(seeds), list[Related]()
    for _ in range(hops):
        if not seeds or len(found) >= _MOST:
            break
        near = yield from _neighbours(keys, seeds)
        fresh = {node: how for node, how in near.items() if node not in seen}
        seen.update(fresh)
        found += yield from _described(keys, fresh)
        seeds = list(fresh)[:_SEEDS]
    return found[:_MOST]


def _neighbours(keys: Keys, seeds: Sequence[Node]) -> Operation[dict[Node, tuple[Node, str]]]:
    """Return each neighbour with the seed that it is one of, and how."""
    forward = yield from edges_from(keys, seeds)
    backward = yield from edges_to(keys, seeds)
    found: dict[Node, tuple[Node, str]] = {}
    for edge in sorted(forward, key=lambda edge: -edge.confidence):
        if edge.target[1]:
            found.setdefault(edge.target, (edge.source, _FORWARD[edge.kind]))
    for edge in _some(backward):
        found.setdefault(edge.source, (edge.target, _BACKWARD[edge.kind]))
    return found


def _some(edges: Sequence[Edge]) -> list[Edge]:
    taken: dict[Node, int] = {}
    chosen: list[Edge] = []
    for edge in sorted(edges, key=lambda edge: (-edge.confidence, edge.source)):
        taken[edge.target] = taken.get(edge.target, 0) + 1
        if edge.source[1] and taken[edge.target] <= _CALLERS:
            chosen.append(edge)
    return chosen


def _described(keys: Keys, near: Mapping[Node, tuple[Node, str]]) -> Operation[list[Related]]:
    nodes = list(dict.fromkeys([*near, *(seed for seed, _ in near.values())]))
    paths, numbers = [path for path, _ in nodes], [number for _, number in nodes]
    rows = yield from fetch(queries["described"], **keys, paths=paths, numbers=numbers)
    known: dict[Node, Row] = {(row["path"], row["symbol"]): row for row in rows}
    return [
        Related(
            path=node[0],
            line=known[node]["start_line"],
            symbol=known[node]["qualified"],
            signature=known[node]["signature"],
            how=f"{how} {known[seed]['qualified']}",
        )
        for node, (seed, how) in near.items()
        if node in known and seed in known and not known[node]["is_test"]
    ]
