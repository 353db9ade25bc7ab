"""Indexing files as they are saved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from langledger.errors import MissingDependencyError
from langledger.repository.types import IndexReport

__all__ = ["watch"]

_QUIET_MS = 200  # an editor saves in several steps, a checkout many files
_LONGEST_MS = 1000
_LOOK_MS = 1000


def watch(
    root: Path, index: Callable[[], IndexReport], stop: threading.Event | None
) -> Iterator[IndexReport]:
    """Index, then again whenever something below a folder has changed; yield each report.

    Args:
        root: Of the worktree.
        index: Brings the index up to date; it finds out itself what has changed.
        stop: Ends it when set.

    Raises:
        MissingDependencyError: The extra ``repo`` is not installed.
    """
    try:
        from watchfiles import watch as changes  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingDependencyError(
            "watching files needs watchfiles: pip install 'langledger[repo]'"
        ) from error
    # Watched before the first look, so that nothing saved in between is missed.
    seen = changes(
        root,
        debounce=_LONGEST_MS,
        step=_QUIET_MS,
        rust_timeout=_LOOK_MS,
        stop_event=stop,
        yield_on_timeout=True,
        raise_interrupt=True,
        ignore_permission_denied=True,
    )
    next(seen, None)
    yield index()
    for files in seen:
        if files:
            report = index()
            if report.parsed or report.linked or report.removed:
                yield report
