"""Files that a session without a known directory names in two ways: absolute and relative."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from langledger.state.paths import is_absolute
from langledger.state.records import FileChange, FileRecord, ReadRecord, WorkingState

__all__ = ["merge_spellings"]

MAX_RANGES = 12
"""Ranges kept of one file that was read."""


def merge_spellings(state: WorkingState) -> None:
    """Give each file one name where the session's directory is not known.

    A relative path is taken for the one known absolute path that ends in it. A bare name says
    too little by itself: the directory must be one that a longer relative path started from.
    """
    if state.cwd is not None:
        return
    names = _absolute_names({*state.files_touched, *state.files_read})
    if not names:
        return
    state.files_read = _reads(state.files_read, names)
    if any(name in names for name in state.files_touched):
        state.files_touched = _files(state.files_touched, names)


def _absolute_names(paths: Iterable[str]) -> dict[str, str]:
    """Return, by relative path, the absolute path that is the same file."""
    by_name: dict[str, list[str]] = {}
    relative: list[str] = []
    for path in paths:
        if is_absolute(path):
            by_name.setdefault(posixpath.basename(path), []).append(path)
        else:
            relative.append(path)
    found: dict[str, str] = {}
    for path in relative:
        same = [p for p in by_name.get(posixpath.basename(path), ()) if p.endswith(f"/{path}")]
        if len(same) == 1:
            found[path] = same[0]
    starts = {full.removesuffix(path) for path, full in found.items() if "/" in path}
    return {p: full for p, full in found.items() if full.removesuffix(p) in starts}


def _files(files: Mapping[str, FileRecord], names: Mapping[str, str]) -> dict[str, FileRecord]:
    changes: dict[str, list[FileChange]] = {}
    for path, record in files.items():
        moved = (
            c.model_copy(update={"other": names[c.other]}) if c.other and c.other in names else c
            for c in record.actions
        )
        changes.setdefault(names.get(path, path), []).extend(moved)
    return {path: FileRecord.of(actions) for path, actions in changes.items()}


def _reads(reads: Mapping[str, ReadRecord], names: Mapping[str, str]) -> dict[str, ReadRecord]:
    merged: dict[str, ReadRecord] = {}
    for path, record in reads.items():
        name = names.get(path, path)
        known = merged.get(name)
        merged[name] = record if known is None else _read_twice(known, record)
    return merged


def _read_twice(one: ReadRecord, other: ReadRecord) -> ReadRecord:
    source, index = max((one.source, one.index), (other.source, other.index))
    return ReadRecord(
        ranges=tuple(sorted({*one.ranges, *other.ranges}))[:MAX_RANGES],
        reads=one.reads + other.reads,
        source=source,
        index=index,
    )
