"""Follows a folder of session logs: what a host appends to them becomes entries soon after."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from langledger import Ledger
from langledger.errors import SessionFileError
from langledger.replay.importing import FileImport, find_files, import_file

__all__ = ["default_folder", "follow", "look"]

_EVERY = 2.0  # seconds between two looks
_Seen = dict[Path, tuple[int, int]]


def default_folder() -> Path:
    """Return where Codex keeps its sessions."""
    return Path.home() / ".codex" / "sessions"


def follow(
    ledger: Ledger, folder: Path, told: Callable[[FileImport], None], *, every: float = _EVERY
) -> None:
    """Record what is appended to the logs of a folder, until interrupted.

    Args:
        ledger: An open ledger.
        folder: Searched to the bottom at each look; it may come to be later.
        told: Called with each file that was taken.
        every: Seconds between two looks.
    """
    seen: _Seen = {}
    while True:
        for result in look(ledger, folder, seen):
            told(result)
        time.sleep(every)


def look(ledger: Ledger, folder: Path, seen: _Seen) -> Iterator[FileImport]:
    """Take what was appended since the last look; yield each file that had something.

    Args:
        ledger: An open ledger.
        folder: The folder.
        seen: What is known of each file; it is kept up to date.
    """
    for path in find_files(folder):
        try:
            found = path.stat()
        except OSError:  # it was moved away meanwhile
            continue
        mark = (found.st_size, found.st_mtime_ns)
        if seen.get(path) == mark:
            continue
        try:
            result = import_file(ledger, path)
        except SessionFileError as error:  # no session, or its first line is being written
            result = FileImport(path=path, failed=str(error))
        # What was held back is looked at again until nothing is written any more.
        if not any(session.held for session in result.sessions):
            seen[path] = mark
        if any(session.added for session in result.sessions):
            yield result
