"""Whether the files of an answer are still as they were indexed: by their contents, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

from langledger.database.queries import load_queries
from langledger.operations import Operation, call, fetch
from langledger.repository.candidates import Keys
from langledger.repository.reading import read_file
from langledger.repository.scan import Candidate

__all__ = ["remark_on_changes"]

_queries = load_queries("langledger.repository")
_MOST_BYTES = 16_000_000  # a file that has grown to more has changed


def remark_on_changes(keys: Keys, root: str, paths: Sequence[str]) -> Operation[list[str]]:
    """Return a line that names the files which are not as they were indexed; nothing if all are.

    Args:
        keys: Of the worktree.
        root: Its folder.
        paths: Below it.
    """
    wanted = sorted(set(paths))
    if not wanted:
        return []
    rows = yield from fetch(_queries["blobs_of"], **keys, paths=wanted)
    indexed = {row["path"]: row["blob"] for row in rows}
    changed, gone = yield from call(lambda: _compared(Path(root), indexed))
    told = [
        f"{', '.join(files)} {what} since indexing"
        for files, what in ((changed, "changed"), (gone, "deleted"))
        if files
    ]
    return [f"Old text and lines: {'; '.join(told)}. Read the file itself."] if told else []


def _compared(root: Path, indexed: Mapping[str, UUID]) -> tuple[list[str], list[str]]:
    """Return which files have another content now, and which are gone."""
    found = {
        path: read_file(root, Candidate(path, b"", 0), most=_MOST_BYTES) for path in sorted(indexed)
    }
    changed = [path for path, now in found.items() if now and now.blob != indexed[path]]
    return changed, [path for path, now in found.items() if now is None]
