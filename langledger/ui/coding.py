"""What the pages on repositories read; operations, and no parser is needed for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langledger.database.queries import load_queries
from langledger.operations import Operation, Query, Row, fetch, fetch_all
from langledger.recall.build import text_of
from langledger.repository.graph import Node, edges_from, edges_to
from langledger.repository.types import Edge

__all__ = ["CodeFile", "Neighbour", "code_file", "neighbours", "overview", "worktree", "worktrees"]

_queries = load_queries("langledger.ui", "code.sql")
_REMARKS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFile:
    """An indexed file with its definitions.

    Attributes:
        row: Its ``path``, ``language``, ``lines``, ``tokens``, ``is_test``, ``fault``, ...
        definitions: In the order of their lines; the first is the file itself.
        text: As it was when it was indexed.
    """

    row: Row
    definitions: list[Row]
    text: str

    def lines_of(self, number: int) -> str:
        """Return the lines of a definition."""
        row = self.definitions[number]
        return "\n".join(self.text.split("\n")[row["start_line"] - 1 : row["end_line"]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A definition that another one refers to, or is referred to by.

    Attributes:
        row: Its ``path``, ``symbol``, ``qualified``, ``signature`` and ``start_line``.
        edge: How, and how sure that is.
    """

    row: Row
    edge: Edge


def worktrees(tenant: str, *, limit: int) -> Operation[list[Row]]:
    """Return what is indexed, the latest first."""
    return (yield from fetch(_queries["worktrees"], tenant=tenant, limit=limit))


def worktree(tenant: str, repository: UUID, tree: UUID) -> Operation[Row | None]:
    """Return a worktree's row, or None."""
    keys = {"tenant": tenant, "repository": repository, "worktree": tree}
    rows = yield from fetch(_queries["worktree"], **keys)
    return rows[0] if rows else None


def overview(keys: dict[str, Any]) -> Operation[tuple[list[Row], list[Row]]]:
    """Return the languages of a worktree, and the files of which there is something to remark."""
    languages, remarks = yield from fetch_all(
        Query(_queries["languages"], keys), Query(_queries["remarks"], {**keys, "limit": _REMARKS})
    )
    return languages, remarks


def code_file(keys: dict[str, Any], path: str) -> Operation[CodeFile | None]:
    """Return an indexed file, or None."""
    rows = yield from fetch(_queries["file"], **keys, path=path)
    if not rows:
        return None
    definitions = yield from fetch(_queries["definitions"], **keys, blob=rows[0]["blob"])
    return CodeFile(row=rows[0], definitions=definitions, text=text_of(rows[0]["body"]))


def neighbours(
    keys: dict[str, Any], node: Node
) -> Operation[tuple[list[Neighbour], list[Neighbour]]]:
    """Return what a definition refers to, and what refers to it, the surest first."""
    forward = yield from edges_from(keys, [node], ambiguous=True)
    backward = yield from edges_to(keys, [node], ambiguous=True)
    known = yield from _described(keys, [e.target for e in forward] + [e.source for e in backward])
    return (
        _sorted(Neighbour(row=known[e.target], edge=e) for e in forward if e.target in known),
        _sorted(Neighbour(row=known[e.source], edge=e) for e in backward if e.source in known),
    )


def _described(keys: dict[str, Any], nodes: Sequence[Node]) -> Operation[dict[Node, Row]]:
    wanted = list(dict.fromkeys(nodes))
    paths, numbers = [path for path, _ in wanted], [number for _, number in wanted]
    rows = yield from fetch(_queries["described"], **keys, paths=paths, numbers=numbers)
    return {(row["path"], row["symbol"]): row for row in rows}


def _sorted(found: Any) -> list[Neighbour]:
    return sorted(found, key=lambda n: (-n.edge.confidence, n.row["path"], n.row["start_line"]))
