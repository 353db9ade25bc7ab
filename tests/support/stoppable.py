"""A PostgreSQL server of a test's own, to be stopped, killed and started again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from langledger.database.embedded_account import account_for
from langledger.database.embedded_binaries import find_binaries
from langledger.database.embedded_cluster import Cluster, prepare_home


class StoppableServer:
    """Serves one folder; its DSN stays the same.

    Args:
        home: Made if it is not there; everybody may enter what is above it.
        settings: Of PostgreSQL.
    """

    def __init__(self, home: Path, settings: Mapping[str, str] | None = None) -> None:
        account = account_for(home)
        self.home = home
        prepare_home(home, account)
        self._cluster = Cluster(
            home=home,
            account=account,
            binaries=find_binaries(account),
            settings=settings or {"fsync": "off"},
            patience=120.0,
        )
        self._cluster.ensure_created()
        self.dsn = self._cluster.launch()

    @property
    def pid(self) -> int | None:
        running = self._cluster.server.pid_file()
        return None if running is None else running.pid

    def start(self) -> None:
        self._cluster.launch()

    def stop(self) -> None:
        """End it as an administrator does who does not wait for clients."""
        self._cluster.server.shutdown()

    def kill(self) -> None:
        """Kill the postmaster; its children notice and end."""
        pid = self.pid
        assert pid is not None, "it does not run"
        os.kill(pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{pid}").exists())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            if self.pid is not None:
                self.stop()


def until(condition: object, *, seconds: float = 60.0) -> None:
    """Wait for something to become true; a failure, not a timing, where it never does."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
