"""Stops the embedded server when its last user has died, in whatever way.

A program of its own, started beside the server and asleep until then: whoever uses the
data shares ``alive.lock``, and the kernel gives it to the watcher when nobody does. It
loads nothing of ours before, so that it costs a few megabytes and no time.

    python embedded_watch.py DATA_DIRECTORY PACKAGES...
"""

from __future__ import annotations

import fcntl
import os
import sys
import time

__all__ = ["watch"]


def watch(home: str) -> None:
    """Wait until nobody uses a data directory, then stop its server.

    Raises:
        OSError: When the data directory is gone.
    """
    # Files that are there: making one anew could be the end of somebody's removal of the folder.
    alive, duty, turn, use = (
        os.open(os.path.join(home, f"{name}.lock"), os.O_RDWR)  # noqa: PTH118 - pathlib costs memory
        for name in ("alive", "watch", "start", "use")
    )
    if not _take(duty):
        return  # another one watches
    while True:
        fcntl.flock(alive, fcntl.LOCK_EX)
        fcntl.flock(alive, fcntl.LOCK_UN)  # who comes now must not wait for it
        from pathlib import Path  # noqa: PLC0415 - not before

        from langledger.database.embedded_running import RunningServer  # noqa: PLC0415 - not before

        fcntl.flock(turn, fcntl.LOCK_EX)
        if _take(use):
            if _is_in_place(use, os.path.join(home, "use.lock")):  # noqa: PTH118
                RunningServer(Path(home)).shutdown()
            # Before the turn ends: who comes next must not take this one for its watcher.
            os.close(duty)
            return
        fcntl.flock(turn, fcntl.LOCK_UN)
        time.sleep(0.1)


def _take(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_in_place(lock: int, path: str) -> bool:
    """Tell whether the lock is still the one of that name, the folder not made anew."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(path))  # noqa: PTH116
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    sys.path += sys.argv[2:]
    watch(sys.argv[1])
