"""Indexing files as they are saved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from langledger.errors import MissingDependencyError, RepositoryError
from langledger.repository.types import IndexReport

__all__ = ["watch"]

_QUIET_MS = 200  # an editor saves in several steps, a checkout many files
_LONGEST_MS = 1000
_LOOK_MS = 1000
_AWAY_SECONDS = 1.0

_Identity: TypeAlias = tuple[int, int] | None


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
        RepositoryError: The folder cannot be indexed. One that goes away later is waited for.
    """
    stop = stop or threading.Event()
    told = False
    while not stop.is_set():
        folder = _identity(root)
        try:
            for report in _until_moved(root, folder, index, stop):
                if not told or report.parsed or report.linked or report.removed:
                    told = True
                    yield report
        except (RepositoryError, FileNotFoundError):
            if not told or (folder is not None and _identity(root) == folder):
                raise
        stop.wait(_AWAY_SECONDS)  # it may come back, as after a rename or a new clone


def _until_moved(
    root: Path, folder: _Identity, index: Callable[[], IndexReport], stop: threading.Event
) -> Iterator[IndexReport]:
    """Index, then whenever something changed, as long as the folder at the path is the same."""
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
        if _identity(root) != folder or any(Path(path) == root for _, path in files):
            return
        if files:
            yield index()


def _identity(root: Path) -> _Identity:
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
