"""The server that runs on a data directory: recognised and stopped.

Which server runs is never concluded from a process number, which may have been given
to another program since. The server whose socket the data directory names is asked
for its ``data_directory``. That it is dead is concluded only where its process number means
the same as here: in the boot and the process namespace it was started in.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psycopg

from langledger.database import connection as connections
from langledger.database.embedded_platform import failure
from langledger.database.embedded_socket import dsn_of, is_listening, leave_folder
from langledger.errors import DatabaseError

__all__ = ["PidFile", "RunningServer"]

# "Fast" rolls open transactions back and writes all to disk; "immediate" leaves that to the
# recovery of the next start. Both keep what was committed.
_STOP_SIGNALS = (signal.SIGINT, signal.SIGQUIT)
_GRACE = 1.0  # seconds from the server's pid file to its socket, plenty


@dataclass(frozen=True, slots=True, kw_only=True)
class PidFile:
    """What a running server writes down: its process, and the folder of its socket."""

    pid: int
    socket_dir: str


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The server of a data directory, if one runs.

    Attributes:
        home: The data directory; PostgreSQL's own is its folder ``cluster``.
    """

    home: Path

    @property
    def path(self) -> Path:
        """PostgreSQL's own data directory."""
        return self.home / "cluster"

    def pid_file(self) -> PidFile | None:
        """Return what the server wrote down; None where none runs."""
        try:
            lines = (self.path / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return None
        pid = int(lines[0]) if lines and lines[0].strip().isdigit() else 0
        # Cut short, it is being written, or its writer died: nobody answers there.
        return PidFile(pid=pid, socket_dir=lines[4] if len(lines) > 4 else "/nonexistent")

    def ask(self, running: PidFile) -> Literal["ours", "busy", "silent"]:
        """Ask the server at the socket whose data it serves.

        A copied data directory names the socket of the original.
        """
        if not is_listening(running.socket_dir):
            return "silent"
        try:
            with connections.connect(
                f"{dsn_of(running.socket_dir)}&connect_timeout=2"
            ) as connection:
                row = connection.execute("SHOW data_directory").fetchone()
        except (DatabaseError, psycopg.Error):
            return "busy"
        served = Path(row["data_directory"]) if row else Path()
        return "ours" if served.resolve() == self.path.resolve() else "silent"

    def is_starting(self, running: PidFile, *, waited: float) -> bool:
        """Tell whether a silent server may yet open its socket, after so many seconds."""
        return _exists(running.pid) and waited <= _GRACE

    def note_place(self) -> None:
        """Write down where the server that is about to start runs.

        Raises:
            OSError: For a full or read-only disk.
        """
        self._place.write_text(_place() or "", encoding="utf-8")

    def is_dead(self, running: PidFile) -> bool:
        """Tell whether the server is surely gone, though others still use the data.

        In another container it would be invisible from here, and its process number another's.
        """
        here = _place()
        try:
            is_of_here = here is not None and self._place.read_text(encoding="utf-8") == here
        except FileNotFoundError:
            return False
        return is_of_here and not _works_in(running.pid, self.path)

    @property
    def _place(self) -> Path:
        return self.home / "server.place"

    def shutdown(self) -> None:
        """Stop the server; its sessions are ended.

        Raises:
            EmbeddedPostgresError: When it does not stop.
        """
        begun = time.monotonic()
        running = self.pid_file()
        while running is not None and self.ask(running) == "silent":
            if not self.is_starting(running, waited=time.monotonic() - begun):
                return
            time.sleep(0.05)
            running = self.pid_file()
        if running is not None:
            self._stop(running)

    def _stop(self, running: PidFile) -> None:
        # Told to stop while it recovers from a crash, PostgreSQL 18 can wait for good.
        _until(lambda: self.ask(running) != "busy", seconds=10.0)
        for number in _STOP_SIGNALS:
            with suppress(ProcessLookupError):
                os.kill(running.pid, number)
            if _until(lambda: self.pid_file() is None, seconds=30.0):
                leave_folder(Path(running.socket_dir), self.home)
                return
        raise failure(f"process {running.pid}, the server on {self.home}, does not stop")


def _exists(pid: int) -> bool:
    """Tell whether a process has this number, be it a zombie."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _place() -> str | None:
    """Name this boot and this process namespace; None where the system has no such names."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None


def _works_in(pid: int, folder: Path) -> bool:
    """Tell whether a process has this number and folder, as a server has its data directory."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == folder.resolve()
    except OSError:  # there is none, it is a zombie, or it belongs to somebody else
        return False


def _until(condition: Callable[[], bool], *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return met
