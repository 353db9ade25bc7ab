"""What an answer must have: the best hit, and whole what a brief question names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from langledger.operations import Operation, Row, fetch
from langledger.recall.build import text_of
from langledger.repository.candidates import Keys, queries
from langledger.repository.hits import CodeHit
from langledger.repository.packing import Whole

__all__ = ["wholes_of"]

_MOST = 8  # definitions


def wholes_of(keys: Keys, hits: Sequence[CodeHit]) -> Operation[list[Whole]]:
    """Return the best hit, and the definitions that a brief question names with all their pieces.

    Of a report's best hit the rest of its definition is worth less than other definitions.

    Args:
        keys: Of the worktree.
        hits: Best first.
    """
    firm: dict[tuple[str, int, int], CodeHit] = {}
    for place, hit in enumerate(hits):
        if place == 0 or hit.metadata["asked"]:
            number = hit.metadata["definition"]
            firm.setdefault((hit.path, number, 0 if number else hit.start_line), hit)
    chosen = list(firm.values())[:_MOST]
    cut = [hit for hit in chosen if _is_cut(hit)]
    found = yield from _pieces(keys, cut)
    return [Whole(hit, found.get(_key(hit)) or [hit]) for hit in chosen]


def _is_cut(hit: CodeHit) -> bool:
    """Say whether there is more of a definition that was asked for than the hit."""
    first, last = hit.metadata["first_line"], hit.metadata["last_line"]
    return bool(hit.symbol and hit.metadata["asked"]) and (
        hit.start_line > first or hit.end_line < last
    )


def _key(hit: CodeHit) -> tuple[str, int]:
    return hit.path, hit.metadata["definition"]


def _pieces(
    keys: Keys, hits: Sequence[CodeHit]
) -> Operation[Mapping[tuple[str, int], list[CodeHit]]]:
    """Return all chunks of the hits' definitions."""
    found: dict[tuple[str, int], list[CodeHit]] = {_key(hit): [] for hit in hits}
    if not hits:
        return found
    paths, numbers = [path for path, _ in found], [number for _, number in found]
    rows = yield from fetch(queries["whole"], **keys, paths=paths, numbers=numbers)
    blobs = list({row["blob"] for row in rows})
    bodies = yield from fetch(queries["texts"], **keys, blobs=blobs)
    texts: dict[UUID, bytes] = {row["blob"]: text_of(row["body"]).encode() for row in bodies}
    of = {_key(hit): hit for hit in hits}
    for row in rows:
        if row["blob"] in texts:  # else it was indexed anew meanwhile
            key = row["path"], row["whole"]
            found[key].append(_piece(of[key], row, texts[row["blob"]]))
    return found


def _piece(hit: CodeHit, row: Row, body: bytes) -> CodeHit:
    return replace(
        hit,
        start_line=row["start_line"],
        end_line=row["end_line"],
        symbol=row["qualified"] if row["symbol"] else "",
        kind=row["kind"],
        text=body[row["start_byte"] : row["end_byte"]].decode("utf-8", "replace"),
        tokens=row["tokens"],
        metadata={
            **hit.metadata,
            "definition": row["symbol"],
            "signature": row["signature"],
            "first_line": row["symbol_start"],
            "last_line": row["symbol_end"],
        },
    )
