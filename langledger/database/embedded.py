"""The embedded PostgreSQL: the server for those who have none.

Any number of processes use one data directory. The first starts the server, the
others attach, the last one out stops it. "In use" is a lock that the kernel drops when
its holder dies, so a killed process neither stops the server under the others nor
keeps it running: a watcher stops it when no holder is left (``embedded_watch.py``). A
forked child is a holder like any other.

Locks in the data directory: ``start.lock`` is held while a server is started or stopped;
holders share ``use.lock``, and who has it alone is the only one; they share
``alive.lock`` too, which only the watcher waits for; it holds ``watch.lock``.

Data is as safe as with any PostgreSQL: nothing that protects it is turned off.
"""

from __future__ import annotations

import atexit
import errno
import logging
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from langledger.database.embedded_platform import Platform, check_platform, failure
from langledger.errors import EmbeddedPostgresError

if sys.platform != "win32":  # these need fcntl and pwd; start() says so there
    from langledger.database.embedded_account import Account, account_for
    from langledger.database.embedded_binaries import find_binaries
    from langledger.database.embedded_cluster import Cluster, prepare_home
    from langledger.database.embedded_lock import FileLock
    from langledger.database.forks import tell_of_forks

__all__ = ["EmbeddedServer", "start_embedded"]

logger = logging.getLogger("langledger.database")

_WATCHER = Path(__file__).with_name("embedded_watch.py")
# sh leaves the watcher to init, so that it is nobody's zombie.
_DETACH = '"$@" </dev/null >/dev/null 2>&1 &'


def start_embedded(data_dir: Path) -> EmbeddedServer:
    """Start the embedded server, or attach to it, because no DSN was given.

    It says so in the log, with the place of the data: as a warning where the data folder is made,
    for that a mistyped setting leads here must not go unseen; later for information.

    Raises:
        EmbeddedPostgresError: When it cannot be used here; ends with how to use another.
        MissingDependencyError: When the extra ``local`` is not installed.
    """
    server = EmbeddedServer(data_dir)
    server.start()
    level = logging.WARNING if server.made_data else logging.INFO
    logger.log(level, "no DSN given: using the embedded PostgreSQL in %s", server.data_dir)
    return server


class EmbeddedServer:
    """A share in the server of a data directory.

    Args:
        data_dir: Empty, or one of ours. Made if it is not there.
        settings: Of PostgreSQL, over our own; they count for the process that starts it.
        patience: Seconds to wait for another process, or for a server that recovers.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        settings: Mapping[str, str] | None = None,
        patience: float = 120.0,
    ) -> None:
        self.data_dir = data_dir.expanduser().resolve()
        self._settings = dict(settings or {})
        self._patience = patience
        self._owner = 0
        self.made_data = False  # when it was started there was none yet
        self._dsn: str | None = None
        self._account: Account | None = None
        self._cluster: Cluster | None = None
        self._use: FileLock | None = None
        self._alive: FileLock | None = None
        self._spare: tuple[FileLock, FileLock] | None = None

    @property
    def dsn(self) -> str:
        """Where the server is, once started.

        Raises:
            EmbeddedPostgresError: When it is not.
        """
        if self._dsn is None:
            raise EmbeddedPostgresError("the embedded server is not started: call start()")
        return self._dsn

    def start(self) -> str:
        """Start the server or attach to it, and return its DSN.

        Raises:
            EmbeddedPostgresError: When it cannot be used here; ends with how to use another.
            MissingDependencyError: When the extra ``local`` is not installed.
        """
        if self._dsn is not None:
            return self._dsn
        check_platform(Platform.current())
        with self._explained():
            account = account_for(self.data_dir)
            binaries = find_binaries(account)
            prepare_home(self.data_dir, account)
            cluster = Cluster(
                home=self.data_dir,
                account=account,
                binaries=binaries,
                settings=self._settings,
                patience=self._patience,
            )
            with self._turn(account):
                self._enter(cluster)
        self._owner = os.getpid()
        tell_of_forks(self)
        atexit.register(self.stop)
        return self.dsn

    def stop(self) -> None:
        """Give up the share; the last one stops the server. Does nothing when not started.

        Raises:
            EmbeddedPostgresError: When the server does not stop within a minute.
        """
        if self._use is None or self._cluster is None or self._owner != os.getpid():
            return  # a forked child without a share leaves the server to its parent
        use, self._use, self._dsn = self._use, None, None
        atexit.unregister(self.stop)
        try:
            with self._explained(), self._turn(self._cluster.account):
                if use.take() and use.is_in_place():
                    self._cluster.server.shutdown()
        finally:
            use.close()
            if self._alive is not None:
                self._alive.close()

    def before_fork(self) -> None:
        """Prepare a share for the child, which may outlive its parent.

        It is there before the child is: the parent may leave at once.
        """
        if self._use is not None and self._alive is not None:
            with suppress(OSError):
                self._spare = (self._use.twin(), self._alive.twin())

    def after_fork(self, *, in_child: bool) -> None:
        """Take the prepared share, in the child; the parent keeps its own."""
        spare, self._spare = self._spare, None
        if spare is None or self._use is None or self._alive is None:
            return
        left = spare
        if in_child:
            left = (self._use, self._alive)
            self._use, self._alive = spare
            self._owner = os.getpid()
        for lock in left:
            lock.close()

    def revive(self) -> None:
        """Start the server again where it has ended under us, killed for its memory for one.

        Called before each new connection: it looks at one file while the server is there. Where
        it cannot be started, a warning says why, and the connection fails.
        """
        cluster = self._cluster
        if cluster is None or self._use is None or self._owner != os.getpid():
            return
        try:
            if not cluster.is_gone():
                return
            with self._explained(), self._turn(cluster.account):
                if cluster.attach(alone=False) is None:
                    logger.warning("the embedded PostgreSQL in %s had ended", self.data_dir)
                    cluster.launch()
        except (EmbeddedPostgresError, OSError) as error:
            logger.warning("the embedded PostgreSQL cannot be started again: %s", error)

    def trouble(self) -> str | None:
        """Say why the server is gone, a full disk for one; None while it is there."""
        return self._cluster.trouble() if self._cluster is not None else None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _enter(self, cluster: Cluster) -> None:
        use = FileLock(self.data_dir / "use.lock", cluster.account)
        alive = FileLock(self.data_dir / "alive.lock", cluster.account)
        try:
            alone = use.take()
            use.share()
            alive.share()
            self._have_it_watched(cluster.account)
            self.made_data = cluster.ensure_created()
            self._dsn = cluster.attach(alone=alone) or cluster.launch()
        except BaseException:
            use.close()
            alive.close()
            raise
        self._cluster, self._use, self._alive = cluster, use, alive

    def _have_it_watched(self, account: Account) -> None:
        """Start a watcher where there is none."""
        duty = FileLock(self.data_dir / "watch.lock", account)
        try:
            if not duty.take():
                return
        finally:
            duty.close()
        packages = [Path(path).resolve() for path in (_WATCHER.parents[2], *sys.path)]
        command = [sys.executable, "-I", "-S", _WATCHER, self.data_dir, *packages]
        subprocess.run(
            ["/bin/sh", "-c", _DETACH, "sh", *map(str, command)],
            cwd="/",
            start_new_session=True,  # what a terminal or a supervisor sends to us is not for it
            check=False,
        )

    @contextmanager
    def _turn(self, account: Account) -> Generator[None]:
        """One process at a time starts or stops the server."""
        lock = FileLock(self.data_dir / "start.lock", account)
        try:
            if not lock.take(within=self._patience):
                raise failure(
                    f"another process has been starting or stopping the server on "
                    f"{self.data_dir} for {self._patience:g} s"
                )
            yield
        finally:
            lock.close()

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise failure(
                    f"the disk is full: free some space on the one with {self.data_dir}"
                ) from error
            where = error.filename or self.data_dir
            raise failure(
                f"the embedded PostgreSQL cannot use {self.data_dir}: {error.strerror} ({where})"
            ) from error
