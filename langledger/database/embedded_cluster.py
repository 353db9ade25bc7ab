"""One PostgreSQL data directory: created, attached to, started."""

from __future__ import annotations

import logging
import os
import re
import select
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from langledger.database import connection as connections
from langledger.database.embedded_account import Account, make_folder
from langledger.database.embedded_binaries import Binaries
from langledger.database.embedded_log import ServerLog, reason
from langledger.database.embedded_platform import failure
from langledger.database.embedded_running import PidFile, RunningServer
from langledger.database.embedded_socket import PORT, clear_stale, dsn_of, socket_folder
from langledger.database.failures import is_lost
from langledger.errors import DatabaseError

__all__ = ["Cluster", "prepare_home"]

logger = logging.getLogger("langledger.database")

_OURS = re.compile(
    r"cluster|socket|(start|use|alive|watch)\.lock|server\.(place|log(\.1)?)|initdb-.*|lost\+found"
)

# sh leaves the server to init, so that it is nobody's zombie, and starts it without a shell
# in between that would have to quote a path.
_DETACH = 'umask 077; log=$1; shift; "$@" </dev/null >>"$log" 2>&1 &'

_SETTINGS = {
    "cluster_name": "langledger",
    "dynamic_shared_memory_type": "mmap",  # containers have a /dev/shm of 64 MB
    "fsync": "on",
    "listen_addresses": "",
    "log_checkpoints": "off",
    "logging_collector": "off",
    "max_connections": "200",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
}


def prepare_home(home: Path, account: Account) -> None:
    """Make the data directory, or see that it is one of ours or empty.

    Raises:
        EmbeddedPostgresError: When it holds something else, or the account cannot reach it.
        OSError: When it cannot be made or read.
    """
    make_folder(home, mode=0o700)
    names = sorted(path.name for path in home.iterdir())
    if "PG_VERSION" in names:
        raise failure(f"{home} is a PostgreSQL data directory itself: choose an empty folder")
    strange = [name for name in names if not _OURS.fullmatch(name)]
    if strange:
        raise failure(
            f"{home} holds {strange[0]!r} and is no data directory of langledger: "
            "choose an empty folder"
        )
    account.give(home)
    if not account.can_enter(home):
        raise failure(
            f"the user {account.name}, as whom PostgreSQL runs for root, cannot reach {home}: "
            "choose another folder with LANGLEDGER_DATA_DIR"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The cluster in a data directory.

    Attributes:
        home: The data directory; the cluster proper is its folder ``cluster``.
        account: As whom the server runs.
        binaries: What runs it.
        settings: Of PostgreSQL, over our own.
        patience: Seconds to wait for a server that is starting or recovering.
    """

    home: Path
    account: Account
    binaries: Binaries
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    patience: float = 120.0

    @property
    def path(self) -> Path:
        """PostgreSQL's own data directory."""
        return self.home / "cluster"

    @property
    def server(self) -> RunningServer:
        """What runs on it."""
        return RunningServer(self.home)

    @property
    def log(self) -> ServerLog:
        """What the server writes."""
        return ServerLog(self.home / "server.log")

    def ensure_created(self) -> bool:
        """Run initdb where there is no cluster; it then appears whole or not at all.

        Returns:
            Whether there was none.

        Raises:
            EmbeddedPostgresError: When initdb fails, or the cluster is of another version.
            OSError: For a full or read-only disk.
        """
        for leftover in self.home.glob("initdb-*"):
            shutil.rmtree(leftover)
        if self.path.exists():
            self._check_version()
            return False
        building = Path(tempfile.mkdtemp(prefix="initdb-", dir=self.home))
        try:
            self.account.give(building)
            self._initdb(building)
            building.rename(self.path)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        _sync(self.home)
        return True

    def _initdb(self, folder: Path) -> None:
        result = self.account.run(
            [
                self.binaries.folder / "initdb",
                f"--pgdata={folder}",
                "--username=postgres",
                "--auth=trust",  # the socket's folder is closed to everybody else
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",  # the same order on every machine
                "--no-instructions",
            ]
        )
        if result.returncode != 0:
            said = reason(f"{result.stdout}\n{result.stderr}", lines=6)
            raise failure(f"the database could not be created in {self.home}: {said}")

    def _check_version(self) -> None:
        try:
            found = (self.path / "PG_VERSION").read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise failure(
                f"{self.path} is damaged: it has no PG_VERSION. Restore it from a backup"
            ) from None
        if found != str(self.binaries.major):
            raise failure(
                f"the data in {self.home} is of PostgreSQL {found}, the embedded server is "
                f"PostgreSQL {self.binaries.major}; the data was not touched: dump it with "
                f"PostgreSQL {found} and restore it, or choose another folder"
            )

    def attach(self, *, alone: bool) -> str | None:
        """Return the DSN of the server that runs on this cluster; None where none does.

        Args:
            alone: No other process uses the data directory.

        Raises:
            EmbeddedPostgresError: When one runs, or may, that does not answer.
        """
        begun = time.monotonic()
        while (running := self.server.pid_file()) is not None:
            answer = self.server.ask(running)
            waited = time.monotonic() - begun
            if answer == "ours":
                return dsn_of(running.socket_dir)
            if answer == "silent" and not self.server.is_starting(running, waited=waited):
                self._forget(running, alone=alone)
                return None
            if waited > self.patience:
                raise failure(
                    f"the server on {self.home} runs as process {running.pid}, but does not accept "
                    f"connections after {self.patience:g} s"
                )
            time.sleep(0.05)
        return None

    def _forget(self, running: PidFile, *, alone: bool) -> None:
        """Remove the pid file of a server that is gone.

        PostgreSQL would do so by itself, except where the file is cut short, or the number
        is in use again or a zombie's. Not while somebody uses the data, if the server may
        run where it is invisible from here.
        """
        if not alone and not self.server.is_dead(running):
            raise failure(
                f"another process uses {self.home}, but its server does not answer: "
                "stop that process, or its container, and try again"
            )
        (self.path / "postmaster.pid").unlink(missing_ok=True)

    def is_gone(self) -> bool:
        """Tell at once whether the server that was here has surely ended."""
        running = self.server.pid_file()
        return running is None or self.server.is_dead(running)

    def launch(self) -> str:
        """Start the server, see that it accepts connections, and return its DSN.

        Raises:
            EmbeddedPostgresError: When it does not; with the end of its log.
            OSError: When a file or folder cannot be made.
        """
        folder = socket_folder(self.home, self.account)
        clear_stale(folder)
        self.server.note_place()
        deadline = time.monotonic() + self.patience
        while (said := self._started(folder, deadline)) is not None:
            # Orphans of a killed server hold its memory for a moment.
            if "shared memory block" not in said or time.monotonic() > deadline:
                raise failure(f"the embedded PostgreSQL did not start on {self.home}: {said}")
            time.sleep(0.2)
        try:
            self._self_test(dsn_of(folder))
        except BaseException:
            self.server.shutdown()
            raise
        return dsn_of(folder)

    def _started(self, folder: Path, deadline: float) -> str | None:
        """Start the server once; return None, or the end of its log where it ended."""
        begin = self.log.turn_over()
        alive, held = os.pipe()  # the server keeps the other end: it breaks when all of it is gone
        try:
            try:
                said = self._detach(folder, held)
            finally:
                os.close(held)
            if self._wait(alive, deadline):
                return None
            return reason(said + self.log.text(begin), lines=12)
        finally:
            os.close(alive)

    def _detach(self, folder: Path, held: int) -> str:
        """Run the server in the background; return what the shell complained about."""
        settings = {**_SETTINGS, "unix_socket_directories": str(folder), **self.settings}
        command = [self.binaries.folder / "postgres", "-D", self.path]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        result = self.account.run(
            ["/bin/sh", "-c", _DETACH, "sh", self.log.path, *command],
            pass_fds=(held,),
            start_new_session=True,
        )
        return result.stderr

    def _wait(self, alive: int, deadline: float) -> bool:
        """Wait until the server accepts connections (True) or has ended (False)."""
        while not select.select([alive], [], [], 0.02)[0]:
            running = self.server.pid_file()
            if running is not None and self.server.ask(running) == "ours":
                return True
            if time.monotonic() > deadline:
                raise failure(
                    f"the embedded PostgreSQL on {self.home} does not accept connections after "
                    f"{self.patience:g} s; see {self.log.path}"
                )
        return False

    def _self_test(self, dsn: str) -> None:
        """Compute with a vector once: that is where a CPU that is too old shows."""
        try:
            with connections.connect(dsn) as connection:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                connection.execute("SELECT '[1,2,3]'::vector <=> '[3,2,1]'::vector")
        except (psycopg.Error, DatabaseError) as error:
            if not is_lost(error):
                raise failure(f"the embedded PostgreSQL cannot load pgvector: {error}") from error
            raise failure(
                f"the pgvector of the embedded PostgreSQL crashes here: {self.log.crash()}. "
                "It is compiled for a newer CPU"
            ) from error

    def trouble(self) -> str | None:
        """Say why the server is gone; None while it is there."""
        running = self.server.pid_file()
        if running is not None and self.server.ask(running) == "ours":
            return None
        words = self.log.last_words()
        return f"the embedded server on {self.home} has ended: {words}" if words else None


def _sync(folder: Path) -> None:
    """Make a rename in the folder survive a power cut."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
