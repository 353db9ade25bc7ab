"""Bringing a worktree's index up to date.

What a file's size, times and inode say unchanged is not read; what is read and has a content that
is known already (a rename, another branch, another worktree) is not parsed. The rest is parsed,
batch by batch, the next one while the last is written. What was read as text since its grammar
failed is parsed once more: the machine may have been at fault. A batch is one transaction: after a
kill, or beside another indexer, what is there is whole, and going on means to index again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

from langledger.database.queries import load_queries
from langledger.operations import Operation, Query, Row, call, fetch, fetch_all
from langledger.repository.reading import Content, read_file
from langledger.repository.rows import blob_columns, file_columns
from langledger.repository.scan import Candidate, Place, Scan, locate, scan
from langledger.repository.types import IndexReport, ParsedFile, Progress, Skipped
from langledger.repository.worker import Parsers

__all__ = ["IndexOptions", "Keys", "index_worktree"]

_queries = load_queries("langledger.repository")

_BATCH_FILES = 100
_BATCH_BYTES = 1_000_000
_ALONE = 30  # files; a worker process takes longer to start than fewer do to parse
_AHEAD = 4  # batches parsed, or being parsed, before they are written
_MOST_PROCESSES = 4
_ONCE = "read as text:"  # how the fault begins of what is worth another try
_TWICE = "read as text, tried twice:"

OnProgress: TypeAlias = Callable[[Progress], None]
Keys: TypeAlias = Mapping[str, Any]
"""``tenant``, ``repository`` and ``worktree``, as parameters of the statements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOptions:
    """How to index.

    Attributes:
        max_file_bytes: Longer files are skipped.
        processes: That parse; None: one a core, four at most; 0: none.
        on_progress: Told after each batch.
    """

    max_file_bytes: int
    processes: int | None = None
    on_progress: OnProgress | None = None


@dataclass(slots=True)
class _Batch:
    """Files of one transaction, and what of them is being parsed."""

    read: list[Content]
    gone: list[str]
    again: list[UUID]  # contents that were read as text, and are tried again
    parsing: Future[list[ParsedFile]] | None = None


@dataclass(slots=True)
class _Tally:
    total: int
    parsed: int = 0
    linked: int = 0
    same: int = 0  # read, but as it was
    done: int = 0
    blobs: dict[str, UUID | None] = field(default_factory=dict[str, "UUID | None"])
    gone: list[str] = field(default_factory=list[str])


def index_worktree(
    keys: Keys, root: Path, name: str, options: IndexOptions
) -> Operation[IndexReport]:
    """Bring a worktree's index up to date; see :meth:`RepositoryMemory.index`."""
    started = time.monotonic()
    found = yield from call(lambda: _scan(root, options.max_file_bytes))
    yield from fetch_all(
        Query(_queries["register"], {**keys, "name": name}),
        Query(_queries["register_worktree"], {**keys, "root": str(root)}),
    )
    rows = yield from fetch(_queries["files"], **keys, once=f"{_ONCE}%")
    stamps = {row["path"]: bytes(row["stamp"]) for row in rows}
    changed = [item for item in found.files if stamps.get(item.path) != item.stamp]
    tally = _Tally(total=len(changed), blobs={row["path"]: row["blob"] for row in rows})
    yield from _index_files(keys, found, changed, options, tally)
    tally.gone += _missing({row["path"] for row in rows}, found)
    indexed, faults = yield from _finish(
        keys, found, tally, {row["path"]: row["fault"] for row in rows}
    )
    return IndexReport(
        files=indexed,
        parsed=tally.parsed,
        linked=tally.linked,
        unchanged=len(found.files) - len(changed) + tally.same,
        removed=len(tally.gone),
        skipped=tuple(Skipped(path=row["path"], reason=row["reason"]) for row in faults),
        commit=found.place.commit,
        branch=found.place.branch,
        seconds=time.monotonic() - started,
    )


def _scan(root: Path, most: int) -> Scan:
    return scan(locate(root), max_file_bytes=most)


def _missing(known: set[str], found: Scan) -> list[str]:
    present = {item.path for item in found.files} | {item.path for item in found.skipped}
    return sorted(known - present)


def _index_files(
    keys: Keys, found: Scan, changed: Sequence[Candidate], options: IndexOptions, tally: _Tally
) -> Operation[None]:
    """Read, parse and write what has changed; parsing runs ahead of writing."""
    parsers = Parsers(_processes(options, len(changed)))
    waiting: list[_Batch] = []
    try:
        for files in _batches(changed):
            batch = yield from _begin(keys, found.place, files, options, parsers)
            waiting.append(batch)
            if len(waiting) > _AHEAD:
                yield from _write(keys, waiting.pop(0), options, tally)
        for batch in waiting:
            yield from _write(keys, batch, options, tally)
    finally:
        parsers.close()


def _processes(options: IndexOptions, files: int) -> int:
    if files < _ALONE:
        return 0
    wanted = options.processes
    return min(os.cpu_count() or 1, _MOST_PROCESSES) if wanted is None else wanted


def _batches(files: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    batch: list[Candidate] = []
    size = 0
    for file in files:
        if batch and (len(batch) >= _BATCH_FILES or size + file.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.size
    if batch:
        yield batch


def _begin(
    keys: Keys, place: Place, files: list[Candidate], options: IndexOptions, parsers: Parsers
) -> Operation[_Batch]:
    """Read files, and begin to parse those whose content is new."""
    most = options.max_file_bytes
    contents = yield from call(lambda: [read_file(place.root, file, most=most) for file in files])
    read = [item for item in contents if item is not None]
    gone = [file.path for file, item in zip(files, contents, strict=True) if item is None]
    blobs = sorted({item.blob for item in read if item.blob is not None})
    rows = yield from fetch(_queries["known_blobs"], blobs=blobs, once=f"{_ONCE}%", **keys)
    fresh = _distinct(read, {row["blob"] for row in rows if not row["again"]})
    again = [row["blob"] for row in rows if row["again"]]
    return _Batch(read, gone, again, parsers.submit(_tasks(fresh)) if fresh else None)


def _distinct(read: Sequence[Content], known: set[UUID]) -> list[Content]:
    return list({c.blob: c for c in read if c.blob is not None and c.blob not in known}.values())


def _tasks(contents: Sequence[Content]) -> list[tuple[UUID, str, str, str]]:
    return [(c.blob, c.language, c.encoding, c.text) for c in contents if c.blob is not None]


def _write(keys: Keys, batch: _Batch, options: IndexOptions, tally: _Tally) -> Operation[None]:
    parsing = batch.parsing
    parsed = (yield from call(parsing.result)) if parsing is not None else []
    parsed = [_tried(item) if item.blob in batch.again else item for item in parsed]
    put = yield from _put(keys, parsed, batch.read, batch.again)
    left = [item for item in batch.read if item.file.path not in put]
    if left:  # their content was pruned while they waited here: it is parsed once more
        again = Parsers(0)
        more = yield from call(lambda: again.submit(_tasks(_distinct(left, set()))).result())
        again.close()
        yield from _put(keys, more, left)
    tally.gone += batch.gone
    tally.parsed += len(parsed)
    indexed = [item for item in batch.read if item.blob is not None]
    new = {item.blob for item in parsed}
    same = sum(tally.blobs.get(i.file.path) == i.blob and i.blob not in new for i in indexed)
    tally.same += same
    tally.linked += len(indexed) - len(parsed) - same
    tally.done += len(batch.read) + len(batch.gone)
    if options.on_progress is not None and batch.read:
        told = Progress(done=tally.done, total=tally.total, path=batch.read[-1].file.path)
        notify = options.on_progress
        yield from call(lambda: notify(told))


def _tried(parsed: ParsedFile) -> ParsedFile:
    """Say of what failed again that it did, so that it is let be."""
    fault = parsed.fault
    return replace(parsed, fault=fault.replace(_ONCE, _TWICE, 1)) if fault else parsed


def _put(
    keys: Keys,
    parsed: Sequence[ParsedFile],
    read: Sequence[Content | Skipped],
    again: Sequence[UUID] = (),
) -> Operation[set[str]]:
    """Write contents and the files that have them, in one transaction; return the files' paths."""
    ordered = sorted(parsed, key=lambda item: item.blob)
    anew = {**keys, "again": list(again), "once": f"{_ONCE}%"}
    contents = [Query(_queries["put_blobs"], {**anew, **blob_columns(ordered)})]
    cleared = [Query(_queries["clear_blobs"], anew)]
    files = Query(_queries["put_files"], {**keys, **file_columns(read)})
    results = yield from fetch_all(
        *(cleared if again else []), *(contents if ordered else []), files
    )
    return {row["path"] for row in results[-1]}


def _finish(
    keys: Keys, found: Scan, tally: _Tally, known: dict[str, str | None]
) -> Operation[tuple[int, list[Row]]]:
    """Note what is skipped and what is gone, and that the worktree is indexed to the end.

    Returns:
        How many files are indexed now, and those that are not, or not wholly.
    """
    new = [item for item in found.skipped if known.get(item.path) != item.reason]
    if new:
        yield from _put(keys, [], new)
    place = found.place
    done = {**keys, "commit": place.commit, "branch": place.branch}
    removal = Query(_queries["remove_files"], {**keys, "paths": tally.gone})
    *_, count, faults = yield from fetch_all(
        *([removal] if tally.gone else []),
        *([Query(_queries["tidy"])] if tally.parsed else []),
        Query(_queries["finish"], done),
        Query(_queries["indexed"], {**keys}),
        Query(_queries["faults"], {**keys}),
    )
    return count[0]["n"], faults
