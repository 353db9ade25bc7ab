"""Calls that were seen at run time: what no reading of a dynamic language finds.

A trace is a list of ``{"source": {"path", "name"}, "target": {"path", "name"}, "times"}``: paths
below the worktree's root, names as the index has them (``Class.method``; empty: the file itself).
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias, cast

from langledger.arguments import check_text, check_whole
from langledger.database.queries import load_queries
from langledger.errors import RepositoryError
from langledger.operations import Operation, fetch
from langledger.repository.indexing import Keys
from langledger.repository.rows import hash_of

__all__ = ["Call", "calls_of", "put_calls", "traced"]

_queries = load_queries("langledger.repository")
_MOST_TIMES = 2**31  # of a call in one trace; the sums of many are kept

Call: TypeAlias = tuple[str, str, str, str]
"""Path and name of who calls, path and name of who is called."""


@contextmanager
def traced(root: Path) -> Generator[Counter[Call]]:
    """Count the calls between files of a worktree while the block runs, in this thread.

    It uses Python's profiling hook, which takes one user at a time, and makes calls about five
    times as slow.

    Args:
        root: Of the worktree.
    """
    calls: Counter[Call] = Counter()
    prefix = str(root) + os.sep
    before = sys.getprofile()

    def seen(frame: FrameType, event: str, _: object) -> None:
        caller = frame.f_back
        if event != "call" or caller is None:
            return
        source, target = caller.f_code, frame.f_code
        if source.co_filename.startswith(prefix) and target.co_filename.startswith(prefix):
            calls[
                source.co_filename[len(prefix) :],
                _name(source.co_qualname),
                target.co_filename[len(prefix) :],
                _name(target.co_qualname),
            ] += 1

    sys.setprofile(seen)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def calls_of(text: str) -> Counter[Call]:
    """Read a trace that was written as JSON.

    Raises:
        RepositoryError: It is not the JSON of a trace.
    """
    try:
        items: Any = json.loads(text)
        listed = cast("Sequence[Mapping[str, Any]]", items if isinstance(items, list) else [items])
        return Counter({_call(item): _times(item) for item in listed})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RepositoryError(
            "the trace must be a JSON list of "
            '{"source": {"path", "name"}, "target": {"path", "name"}, "times"}: '
            f"{type(error).__name__} {error}"
        ) from error


def _call(item: Mapping[str, Any]) -> Call:
    ends = [item[end][part] for end in ("source", "target") for part in ("path", "name")]
    source, caller, target, called = (
        check_text("a path or name", str(one), empty=True) for one in ends
    )
    return source, caller, target, called


def _times(item: Mapping[str, Any]) -> int:
    return check_whole("times", int(item.get("times", 1)), most=_MOST_TIMES)


def put_calls(keys: Keys, calls: Mapping[Call, int]) -> Operation[int]:
    """Keep calls that were seen; return how many different ones."""
    items = [(call, times) for call, times in calls.items() if times > 0]
    if items:
        yield from fetch(
            _queries["put_traces"],
            tenant=keys["tenant"],
            repository=keys["repository"],
            edges=[hash_of(*call) for call, _ in items],
            source_paths=[call[0] for call, _ in items],
            source_names=[call[1] for call, _ in items],
            target_paths=[call[2] for call, _ in items],
            target_names=[call[3] for call, _ in items],
            times=[times for _, times in items],
        )
    return len(items)


def _name(qualified: str) -> str:
    """Return a code object's name as the index has it: nothing of comprehensions and lambdas."""
    parts = [part for part in qualified.split(".") if not part.startswith("<")]
    return ".".join(parts)
