"""A place to start, kill and watch processes that use an embedded server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from langledger.database.connection import connect

ROOT = Path(__file__).resolve().parents[3]

HOLD = """
import sys
from pathlib import Path
from langledger.database.embedded import EmbeddedServer
with EmbeddedServer(Path(sys.argv[1])) as server:
    print(server.dsn, flush=True)
    sys.stdin.readline()
"""


@dataclass(frozen=True)
class Who:
    """As whom processes run, with an interpreter that user can read."""

    name: str
    python: str = sys.executable
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Holder:
    """A process with a share in the server."""

    process: subprocess.Popen[str]
    dsn: str

    def leave(self) -> None:
        """Give up the share, as at the end of a program."""
        out, err = self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0, out + err

    def signal(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.communicate(timeout=60)


class Lab:
    """Processes that use one data directory.

    Attributes:
        who: As whom they run.
        folder: Everybody may enter it; it belongs to ``who``.
        home: The data directory in it.
    """

    def __init__(self, who: Who, folder: Path) -> None:
        self.who = who
        self.folder = folder
        self.home = folder / "data"
        self._started: list[subprocess.Popen[str]] = []

    def begin(self, script: str = HOLD, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start a process of its own group; it is given the data directory first."""
        process = subprocess.Popen(
            [self.who.python, "-c", script, str(self.home), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            start_new_session=True,
            env=_environment(),
            **self.who.options,
        )
        self._started.append(process)
        return process

    def hold(self) -> Holder:
        """Start a process and wait until it has its share."""
        process = self.begin()
        assert process.stdout is not None
        dsn = process.stdout.readline().strip()
        if not dsn:
            pytest.fail(f"no server: {process.communicate()[1]}")
        return Holder(process, dsn)

    def run(self, script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        process = self.begin(script, *arguments)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess([], process.returncode, out, err)

    def isolated(self, prepare: str, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script as process 1 of a container, after a line of shell."""
        isolate = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if os.geteuid() != 0 or subprocess.run([*isolate, "true"], check=False).returncode != 0:
            pytest.skip("namespaces cannot be made here")
        shell = f'set -e; {prepare}; exec "$@"'
        return subprocess.run(
            [*isolate, "sh", "-c", shell, "sh", self.who.python, "-c", script, self.home],
            capture_output=True,
            text=True,
            timeout=120,
            env=_environment(),
            check=False,
        )

    def server(self) -> int:
        """The process that serves the data; 0 for none. PostgreSQL works in its data."""
        try:
            pid = int((self.home / "cluster" / "postmaster.pid").read_text().splitlines()[0])
            served = Path(f"/proc/{pid}/cwd").readlink()
        except (OSError, IndexError, ValueError):
            return 0
        return pid if served == (self.home / "cluster").resolve() else 0

    def kill_server(self) -> None:
        """Kill the server, if one is left; os.kill(0) would hit the tests themselves."""
        if pid := self.server():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self.until(lambda: not Path(f"/proc/{pid}").exists())

    def watchers(self) -> list[int]:
        """The processes that watch over the data directory."""
        found: list[int] = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
                if os.fsencode(self.home) in arguments and arguments[3].endswith(b"_watch.py"):
                    found.append(int(entry.name))
        return found

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()
        self.kill_server()

    @staticmethod
    def until(condition: Callable[[], Any], *, seconds: float = 20.0) -> Any:
        """Wait for something to become true."""
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.01)
        return found

    @staticmethod
    def write(dsn: str, text: str) -> None:
        with connect(dsn) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS kept (text text)")
            connection.execute("INSERT INTO kept VALUES (%s)", [text])

    @staticmethod
    def read(dsn: str) -> list[str]:
        with connect(dsn) as connection:
            return [row["text"] for row in connection.execute("SELECT text FROM kept ORDER BY 1")]

    @staticmethod
    def answers(dsn: str) -> bool:
        try:
            with psycopg.Connection.connect(dsn, connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False


@pytest.fixture(params=["root", "user"])
def lab(request: pytest.FixtureRequest, open_folder: Path) -> Iterator[Lab]:
    """For root, then for somebody else."""
    who = _root() if request.param == "root" else _somebody()
    if "user" in who.options:
        shutil.chown(open_folder, who.options["user"])
    yield (made := Lab(who, open_folder))
    made.end()


@pytest.fixture
def root_lab(open_folder: Path) -> Iterator[Lab]:
    """For root alone."""
    yield (made := Lab(_root(), open_folder))
    made.end()


@pytest.fixture
def stranger_lab(open_folder: Path) -> Iterator[Lab]:
    """For a user id that has no name."""
    somebody = _somebody()
    if os.geteuid() != 0:
        pytest.skip("only root can become a user that does not exist")
    os.chown(open_folder, 54321, 54321)
    identity = {"user": 54321, "group": 54321, "extra_groups": []}
    yield (made := Lab(Who("stranger", somebody.python, identity), open_folder))
    made.end()


@pytest.fixture
def any_lab(open_folder: Path) -> Iterator[Lab]:
    """For whoever runs the tests."""
    yield (made := Lab(Who("whoever"), open_folder))
    made.end()


def _root() -> Who:
    if os.geteuid() != 0:
        pytest.skip("only root can be root")
    return Who("root")


def _somebody() -> Who:
    """Whoever runs the tests; nobody where that is root."""
    if os.geteuid() != 0:
        return Who("user")
    options = {"user": "nobody", "group": 65534, "extra_groups": []}
    minor = f"python3.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{minor}", f"/usr/local/bin/{minor}"):
        command = [python, "-c", "import langledger.database"]
        try:
            subprocess.run(command, check=True, cwd="/", env=_environment(), **options)
        except (OSError, subprocess.CalledProcessError):
            continue
        return Who("user", python, options)
    pytest.skip(f"no {minor} that another user than root can read")


def _environment() -> dict[str, str]:
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    return {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{packages}"}
