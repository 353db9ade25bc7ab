"""A streaming replica of a test's server, made with pg_basebackup from the same programs."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from psycopg.conninfo import make_conninfo

from langledger.database.connection import connect
from langledger.database.embedded_account import account_for
from langledger.database.embedded_binaries import find_binaries
from tests.support.stoppable import StoppableServer, until

_SETTINGS = {
    "dynamic_shared_memory_type": "mmap",
    "fsync": "off",
    "listen_addresses": "",
    "max_connections": "200",  # as many as the primary, or it does not start
}


class Standby:
    """A copy of a running server that follows it.

    Args:
        primary: Runs.
        home: An empty folder that everybody may enter.
    """

    def __init__(self, primary: StoppableServer, home: Path) -> None:
        self._account = account_for(home)
        self._programs = find_binaries(self._account).folder
        self._primary = primary.dsn
        self._home = home
        self._account.give(home)
        copy = ("--wal-method=stream", "--checkpoint=fast", "--write-recovery-conf", "--no-sync")
        self._run("pg_basebackup", f"--dbname={primary.dsn}", f"--pgdata={home}/data", *copy)
        self.dsn = make_conninfo("", host=str(home), dbname="postgres", user="postgres")

    def start(self) -> None:
        settings = {**_SETTINGS, "unix_socket_directories": str(self._home)}
        options = " ".join(f"-c {name}={value!r}" for name, value in settings.items())
        log = f"{self._home}/log"
        self._run("pg_ctl", "start", "-w", "-D", f"{self._home}/data", "-l", log, "-o", options)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", f"{self._home}/data")

    def pause(self) -> None:
        """Have it apply nothing more until it is told to."""
        with connect(self.dsn) as connection:
            connection.execute("SELECT pg_wal_replay_pause()")
            asked = "SELECT pg_get_wal_replay_pause_state() AS state"
            until(lambda: connection.execute(asked).fetchall() == [{"state": "paused"}])

    def resume(self) -> None:
        with connect(self.dsn) as connection:
            connection.execute("SELECT pg_wal_replay_resume()")

    def promote(self) -> None:
        with connect(self.dsn) as connection:
            connection.execute("SELECT pg_promote(wait => true, wait_seconds => 60)")

    def catch_up(self) -> None:
        """Wait until it has all that the primary has now."""
        with connect(self._primary) as connection:
            (row,) = connection.execute("SELECT pg_current_wal_lsn()::text AS lsn").fetchall()
        with connect(self.dsn) as connection:
            asked = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn AS there"
            until(lambda: connection.execute(asked, [row["lsn"]]).fetchall() == [{"there": True}])

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if (self._home / "data" / "postmaster.pid").exists():
            self.stop()

    def _run(self, program: str, *arguments: str) -> None:
        ran = self._account.run([self._programs / program, *arguments])
        assert ran.returncode == 0, ran.stdout + ran.stderr
