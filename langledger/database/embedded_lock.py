"""Locks between processes that the kernel drops when their holder dies."""

from __future__ import annotations

import copy
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
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        account.give(path)

    def is_in_place(self) -> bool:
        """Tell whether it is still the file of that name: the folder may have been made anew."""
        try:
            return os.path.samestat(os.fstat(self._file), self._path.stat())
        except FileNotFoundError:
            return False

    def twin(self) -> FileLock:
        """Open the file once more and share the lock: for a child that is to be forked.

        What is inherited would count as one with the parent's.

        Raises:
            OSError: When the file is gone, or somebody has it alone.
        """
        made = copy.copy(self)
        made._file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)  # noqa: SLF001 - of its own class
        try:
            fcntl.flock(made._file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # noqa: SLF001
        except OSError:
            made.close()
            raise
        return made

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
