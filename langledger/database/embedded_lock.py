"""Locks between processes that the kernel drops when their holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from langledger.database.embedded_account import Account

__all__ = ["FileLock"]


class FileLock:
    """An open lock file; two of them exclude each other, in one process as well.

    Raises:
        OSError: When the file cannot be opened, or its file system knows no locks.
    """

    def __init__(self, path: Path, account: Account) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        account.give(path)

    def share(self) -> None:
        """Take it together with others; waits for one that has it alone."""
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def take(self, *, within: float = 0.0) -> bool:
        """Try for a number of seconds to have it alone, and return whether it was got."""
        deadline = time.monotonic() + within
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(0.02)
            else:
                return True

    def close(self) -> None:
        """Let go of it."""
        os.close(self._file)
