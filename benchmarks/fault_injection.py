"""Faults injected at random moments of every write path, and what was lost.

    python benchmarks/fault_injection.py [--times 5] [--seconds 4] [--only NAME ...] [--seed 1]
        [--encrypted]

A process does what writes (appends, agents' turns with checkpoints and compactions, state, store,
index, imports, pruning, deletion; tests/support/fault_workload.py) on a PostgreSQL of this
program's own, with fsync on. After each fault a fresh process looks for all that was acknowledged,
and for what is there twice, half made or left behind (tests/support/fault_checks.py). Faults of the
disk take root and a tmpfs, those of the clock a C compiler; where these are missing they are left
out, and said to be.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Self
from uuid import uuid4

from checkpoint_proxy import Proxy

from langledger.database import Database
from langledger.database.connection import connect
from langledger.encryption import KeyRing
from tests.support.fault_checks import Told, problems_after
from tests.support.stoppable import StoppableServer

# The wall clock alone, as when somebody sets it. libfaketime (0.9.10) bends the other clock too,
# and then no wait of Python's that has a timeout ever ends by itself.
CLOCK = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static struct timespec start;
int clock_gettime(clockid_t id, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, id, now);
  if (failed || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return failed;
  if (!start.tv_sec) start = *now;
  long long passed = (now->tv_sec - start.tv_sec) * 1000000000LL + now->tv_nsec - start.tv_nsec;
  long long off = atoll(getenv("SKEW_SECONDS")) * 1000000000LL;
  long long then = start.tv_nsec + off + passed * atoll(getenv("SKEW_SPEED"));
  now->tv_sec = start.tv_sec + then / 1000000000LL - (then % 1000000000LL < 0);
  now->tv_nsec = (then % 1000000000LL + 1000000000LL) % 1000000000LL;
  return 0;
}
int gettimeofday(struct timeval *now, void *zone) {
  struct timespec then;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &then)) return -1;
  now->tv_sec = then.tv_sec;
  now->tv_usec = then.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *now) {
  struct timespec then;
  if (clock_gettime(CLOCK_REALTIME, &then)) return -1;
  if (now) *now = then.tv_sec;
  return then.tv_sec;
}
"""


@dataclass
class Run:
    """One process at work, and the server it works on."""

    server: StoppableServer
    how: str
    seed: int
    seconds: float
    dsn: str = ""
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    tenant: str = field(default_factory=lambda: f"t{uuid4().hex[:12]}")

    def __enter__(self) -> Self:
        self.random = random.Random(self.seed)
        arguments = [self.dsn or self.server.dsn, self.tenant, self.how, str(self.seed)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fault_workload", *arguments, *self.options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.environment},  # noqa: TID251 - a process of its own
            start_new_session=True,  # its forked children end with it
        )
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline()]  # it is ready
        self.reader = Thread(target=lambda: self.lines.extend(self.process.stdout or ()))
        self.reader.start()
        self.errors: list[str] = []
        self.listener = Thread(target=lambda: self.errors.extend(self.process.stderr or ()))
        self.listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.process.wait()

    def kill(self) -> None:
        """Kill it, and what it forked."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def pause(self, share: float = 1.0) -> None:
        """Let it work for a while, of any length."""
        time.sleep(self.random.random() * self.seconds * share)

    def finish(self) -> Told:
        """Let it come to its end by itself, and return what it told."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.kill()
            self.errors.append("it did not end: a deadlock")
        self.reader.join()
        self.listener.join()
        told = Told().read(self.lines)
        code = self.process.returncode
        if code not in (0, -signal.SIGKILL):
            told.problems.append(f"exit {code}: {''.join(self.errors)[-400:]}")
        told.problems += [line for line in self.errors if "deadlock" in line]
        return told


def client_killed(run: Run) -> None:
    run.pause()
    run.process.kill()


def server_killed(run: Run) -> None:
    run.pause(0.5)
    run.server.kill()
    run.pause(0.2)
    run.server.start()
    run.pause(0.5)


def server_restarted(run: Run) -> None:
    run.pause(0.5)
    run.server.stop()
    run.server.start()
    run.pause(0.5)


def both_killed(run: Run) -> None:
    run.pause()
    run.server.kill()
    run.process.kill()
    run.server.start()


def sessions_cut(run: Run) -> None:
    for _ in range(8):
        run.pause(0.2)
        with connect(run.server.dsn) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                "current_database() AND pid <> pg_backend_pid()"
            )


def nothing(run: Run) -> None:
    time.sleep(run.seconds)


@contextmanager
def plain(server: StoppableServer, **_: Any) -> Iterator[dict[str, Any]]:
    yield {"server": server}


@contextmanager
def behind_a_slow_network(server: StoppableServer, **_: Any) -> Iterator[dict[str, Any]]:
    with Proxy(server.dsn, delay=0.05) as proxy:
        yield {"server": server, "dsn": proxy.dsn}


@contextmanager
def with_another_clock(
    server: StoppableServer, *, folder: Path, seed: int
) -> Iterator[dict[str, Any]]:
    """The client's clock is off by days, and now and then runs ten times as fast, or backwards."""
    library = folder / "clock.so"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=CLOCK, text=True, check=True)
    seconds, speed = (("-259200", "1"), ("259200", "-1"), ("0", "10"))[seed % 3]
    skew = {"LD_PRELOAD": str(library), "SKEW_SECONDS": seconds, "SKEW_SPEED": speed}
    yield {"server": server, "environment": skew}


@contextmanager
def on_a_small_disk(folder: Path, **_: Any) -> Iterator[dict[str, Any]]:
    """A server of its own on a disk that another program fills up meanwhile."""
    disk = folder / "disk"
    disk.mkdir()
    disk.chmod(0o755)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m,mode=755", "none", disk], check=True)
    try:
        with StoppableServer(disk / "data", {"fsync": "on"}) as server:
            Database(server.dsn).setup()
            yield {"server": server}
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
        disk.rmdir()


def disk_full(run: Run) -> None:
    run.pause(0.4)
    disk = run.server.home.parent
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        try:
            while True:
                file.write(b"\0" * (1 << 20))
                file.flush()
        except OSError:
            pass
    run.pause(0.5)
    ballast.unlink()
    time.sleep(1)
    if run.server.pid is None:  # it may give up where it cannot write its log ahead
        run.server.start()
    run.pause(0.5)


FAULTS: dict[str, tuple[str, Callable[..., Any], Callable[[Run], None], tuple[str, ...]]] = {
    "client killed (kill -9)": ("threads", plain, client_killed, ()),
    "server killed (kill -9), started again": ("threads", plain, server_killed, ()),
    "server stopped (fast), started again": ("threads", plain, server_restarted, ()),
    "client and server killed": ("threads", plain, both_killed, ()),
    "sessions ended by an administrator": ("threads", plain, sessions_cut, ()),
    "slow network, 50 ms": ("threads", behind_a_slow_network, nothing, ()),
    "slow network, sessions ended": ("threads", behind_a_slow_network, sessions_cut, ()),
    "disk full": ("threads", on_a_small_disk, disk_full, ("timeout=3",)),
    "pool exhausted: 1 connection, 3 threads": ("threads", plain, nothing, ("pool=1", "timeout=1")),
    "clock off by days, backwards, or ten times as fast": (
        "threads",
        with_another_clock,
        nothing,
        (),
    ),
    "process forks at work": ("forks", plain, nothing, ()),
    "process forks at work, sessions ended": ("forks", plain, sessions_cut, ()),
    "multiprocessing forks three at once": ("processes", plain, nothing, ()),
    "event loops closed, one ledger opened in each": ("loops", plain, nothing, ()),
    "event loops, sessions ended": ("loops", plain, sessions_cut, ()),
    "event loops, server killed": ("loops", plain, server_killed, ()),
    "tasks cancelled": ("cancel", plain, nothing, ()),
    "tasks cancelled, sessions ended": ("cancel", plain, sessions_cut, ()),
}


def possible(name: str) -> str | None:
    """Return why a fault cannot be made here, or None."""
    if "disk" in name and (os.geteuid() != 0 or shutil.which("mount") is None):
        return "takes root and mount"
    if "clock" in name and shutil.which("cc") is None:
        return "takes a C compiler"
    return None


def tried(fault: str, server: StoppableServer, folder: Path, given: argparse.Namespace) -> str:
    """Inject a fault so many times, and return the table's row."""
    how, place, inject, options = FAULTS[fault]
    keys = f"k:{KeyRing.new_key()}" if given.encrypted else None
    total, problems = Told(), list[str]()
    for seed in range(given.seed, given.seed + given.times):
        with place(server=server, folder=folder, seed=seed) as where:
            run = Run(how=how, seed=seed, seconds=given.seconds, options=options, **where)
            run.environment |= {"LANGLEDGER_ENCRYPTION_KEYS": keys} if keys else {}
            with run:
                inject(run)
                told = run.finish()
            problems += problems_after(run.server.dsn, run.tenant, told, encryption=keys)
        total.acknowledged += told.acknowledged
        total.errors += told.errors
    for problem in problems[:8]:
        print(f"  ! {problem}", file=sys.stderr, flush=True)
    errors = ", ".join(f"{n} {e}" for e, n in total.errors.most_common(4)) or "none"
    return f"{given.times} | {len(total.acknowledged)} | {errors} | {len(problems)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--encrypted", action="store_true", help="content is encrypted at rest")
    given = parser.parse_args()
    print("| fault | times | acknowledged | errors told | lost, doubled, half, left |")
    print("|---|--:|--:|---|--:|")
    with tempfile.TemporaryDirectory(prefix="langledger-faults-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with StoppableServer(folder / "data", {"fsync": "on"}) as server:
            Database(server.dsn).setup()
            for fault in FAULTS:
                if given.only and not any(word in fault for word in given.only):
                    continue
                why = possible(fault)
                row = tried(fault, server, folder, given) if why is None else f"0: {why} | | | |"
                print(f"| {fault} | {row}", flush=True)


if __name__ == "__main__":
    main()
