"""Several processes on one embedded server, and what happens when they are killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest


def test_a_second_process_attaches_and_the_last_one_out_stops_the_server(lab: Any) -> None:
    first = lab.hold()
    server = lab.server()
    second = lab.hold()
    assert second.dsn == first.dsn
    assert lab.server() == server

    first.leave()
    assert lab.server() == server
    lab.write(second.dsn, "while the second is still in use")

    second.leave()
    assert lab.server() == 0
    assert not lab.answers(second.dsn)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_the_server_ends_with_its_last_holder_however_that_ends(lab: Any, number: int) -> None:
    first, second = lab.hold(), lab.hold()
    server = lab.server()
    lab.write(first.dsn, "kept")
    first.signal(number)
    time.sleep(1.5)  # longer than the watcher would need
    assert lab.server() == server, "stopped under the second"
    assert lab.read(second.dsn) == ["kept"]

    second.signal(number)
    lab.until(lambda: lab.server() == 0, seconds=10)
    lab.until(lambda: lab.watchers() == [], seconds=10)

    following = lab.hold()
    assert lab.read(following.dsn) == ["kept"]
    following.leave()
    assert lab.server() == 0


def test_one_watcher_is_enough_and_none_stays(any_lab: Any) -> None:
    for _ in range(3):
        holders = [any_lab.hold() for _ in range(3)]
        any_lab.until(lambda: len(any_lab.watchers()) == 1)
        for holder in holders:
            holder.leave()
    any_lab.until(lambda: any_lab.watchers() == [])


def test_a_watcher_that_was_killed_is_replaced_by_the_next_to_come(any_lab: Any) -> None:
    first = any_lab.hold()
    (watcher,) = any_lab.until(any_lab.watchers)
    os.kill(watcher, signal.SIGKILL)
    any_lab.until(lambda: any_lab.watchers() == [])
    second = any_lab.hold()
    any_lab.until(any_lab.watchers)
    first.signal(signal.SIGKILL)
    second.signal(signal.SIGKILL)
    any_lab.until(lambda: any_lab.server() == 0, seconds=10)


def test_who_comes_while_the_watcher_stops_the_server_gets_one(any_lab: Any) -> None:
    for delay in (0.0, 0.2, 0.4, 0.6, 0.8):
        any_lab.hold().signal(signal.SIGKILL)
        time.sleep(delay)
        holder = any_lab.hold()
        time.sleep(1.0)  # the watcher must have seen that somebody is here
        assert any_lab.answers(holder.dsn)
        holder.leave()
        assert any_lab.server() == 0


def test_a_folder_made_anew_is_not_touched_by_the_watcher_of_the_old_one(any_lab: Any) -> None:
    old = any_lab.hold()
    any_lab.until(any_lab.watchers)
    any_lab.kill_server()
    subprocess.run(["rm", "-r", any_lab.home], check=True)
    new = any_lab.hold()
    old.signal(signal.SIGKILL)
    any_lab.until(lambda: len(any_lab.watchers()) == 1)
    assert any_lab.answers(new.dsn)
    new.leave()


def test_a_watcher_costs_little(any_lab: Any) -> None:
    holder = any_lab.hold()
    (watcher,) = any_lab.until(any_lab.watchers)
    time.sleep(1.0)  # it has loaded what it needs
    before = _cpu_ticks(watcher)
    time.sleep(1.0)
    assert _cpu_ticks(watcher) == before
    status = Path(f"/proc/{watcher}/status").read_text()
    assert int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) < 10_000
    holder.leave()


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_ctrl_c_stops_the_server(lab: Any) -> None:
    owner = lab.hold()
    os.killpg(owner.process.pid, signal.SIGINT)  # what a terminal does
    owner.process.communicate(timeout=60)
    assert lab.server() == 0


def test_committed_data_survives_the_death_of_owner_and_server(lab: Any) -> None:
    owner = lab.hold()
    lab.write(owner.dsn, "committed")
    owner.process.kill()
    lab.kill_server()
    owner.process.communicate()

    following = lab.hold()
    assert lab.read(following.dsn) == ["committed"]
    following.leave()


def test_a_server_that_dies_alone_is_replaced_by_the_next_to_come(lab: Any) -> None:
    owner = lab.hold()
    lab.write(owner.dsn, "committed")
    lab.kill_server()
    following = lab.hold()
    assert following.dsn == owner.dsn
    assert lab.read(owner.dsn) == ["committed"]
    following.leave()
    assert lab.server(), "stopped under the first"
    owner.leave()
    assert lab.server() == 0


def test_a_server_that_may_run_elsewhere_is_not_replaced(any_lab: Any) -> None:
    """In another container, whose processes cannot be seen from here."""
    owner = any_lab.hold()
    any_lab.kill_server()
    (any_lab.home / "server.place").write_text("another")
    process = any_lab.begin()
    out, err = process.communicate(timeout=60)
    assert "its server does not answer: stop that process" in err, out
    owner.leave()
    any_lab.hold().leave()


@pytest.mark.parametrize("kind", ["Database", "AsyncDatabase"])
def test_a_pool_has_a_server_that_died_started_again(any_lab: Any, kind: str) -> None:
    script = """
import asyncio, os, signal, sys
from pathlib import Path
from langledger.database import pool
from langledger.database.embedded import EmbeddedServer
from langledger.operations import Batch, Query

home = Path(sys.argv[1])
kind = getattr(pool, sys.argv[2])

async def main(server):
    database = kind(server.start(), trouble=server.trouble, revive=server.revive, timeout=60)
    awaited = kind is pool.AsyncDatabase
    await (database.open() if awaited else asyncio.to_thread(database.open))
    for number in range(3):
        batch = Batch((Query("SELECT %(n)s::int AS n", {"n": number}),), repeatable=True)
        print((await database.aexecute(batch))[0][0]["n"], flush=True)
        pid = int((home / "cluster" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
    await (database.close() if awaited else asyncio.to_thread(database.close))

with EmbeddedServer(home) as server:
    asyncio.run(main(server))
"""
    result = any_lab.run(script, kind)
    assert result.stdout == "0\n1\n2\n", result.stderr
    assert any_lab.server() == 0


def test_a_pid_file_that_was_cut_short_is_made_up_for(any_lab: Any) -> None:
    """As a power cut or a full disk leaves it."""
    owner = any_lab.hold()
    any_lab.write(owner.dsn, "kept")
    owner.process.kill()
    any_lab.kill_server()
    owner.process.communicate()
    (any_lab.home / "cluster" / "postmaster.pid").write_text("")
    following = any_lab.hold()
    assert any_lab.read(following.dsn) == ["kept"]
    following.leave()


def test_a_process_number_that_was_given_to_another_program_is_no_server(lab: Any) -> None:
    owner = lab.hold()
    lab.write(owner.dsn, "kept")
    owner.process.kill()
    lab.kill_server()
    owner.process.communicate()
    pid_file = lab.home / "cluster" / "postmaster.pid"
    uid = pid_file.stat().st_uid
    as_server = {"user": uid} if os.geteuid() == 0 else {}
    with subprocess.Popen(["sleep", "60"], **as_server) as stranger:
        try:
            for file in (pid_file, lab.home / "socket" / ".s.PGSQL.5432.lock"):
                lines = file.read_text().splitlines()
                file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
            following = lab.hold()
            assert lab.read(following.dsn) == ["kept"]
            following.leave()
            assert stranger.poll() is None, "the stranger was killed"
        finally:
            stranger.kill()


def test_four_cold_starts_at_once_make_one_server(lab: Any) -> None:
    processes = [lab.begin() for _ in range(4)]
    found = {process.stdout.readline().strip() for process in processes}
    assert len(found) == 1, [process.communicate() for process in processes]
    assert lab.answers(found.pop())
    for process in processes:
        _, err = process.communicate("\n", timeout=60)
        assert process.returncode == 0, err
    assert lab.server() == 0


def test_a_first_start_killed_at_any_moment_is_made_up_for(any_lab: Any) -> None:
    """As when a container is killed during initdb: nothing half made is taken for a cluster."""
    for delay in (0.0, 0.15, 0.3, 0.6):
        process = any_lab.begin()
        any_lab.until(lambda process=process: any_lab.home.exists() or process.poll() is not None)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        any_lab.kill_server()
        holder = any_lab.hold()
        any_lab.write(holder.dsn, "whole")
        holder.leave()
        assert not list(any_lab.home.glob("initdb-*"))
        subprocess.run(["rm", "-r", any_lab.home], check=True)


def test_a_server_that_does_not_answer_is_left_alone(any_lab: Any) -> None:
    owner = any_lab.hold()
    server = any_lab.server()
    os.kill(server, signal.SIGSTOP)
    try:
        attach = """
import sys
from pathlib import Path
from langledger.database.embedded import EmbeddedServer
EmbeddedServer(Path(sys.argv[1]), patience=1).start()
"""
        said = any_lab.run(attach).stderr
        assert f"runs as process {server}, but does not accept connections after 1 s" in said
        assert "set LANGLEDGER_DATABASE_URL=postgresql://" in said
    finally:
        os.kill(server, signal.SIGCONT)
    owner.leave()
    assert any_lab.server() == 0


def test_a_lock_that_another_process_holds_is_not_waited_for_forever(any_lab: Any) -> None:
    any_lab.hold().leave()
    block = """
import fcntl, sys
lock = open(sys.argv[1] + "/start.lock")
fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.readline()
"""
    blocker = any_lab.begin(block)
    assert blocker.stdout.readline() == "locked\n"
    start = """
import sys
from pathlib import Path
from langledger.database.embedded import EmbeddedServer
EmbeddedServer(Path(sys.argv[1]), patience=0.3).start()
"""
    assert "another process has been starting or stopping the server" in any_lab.run(start).stderr


def test_a_forked_child_does_not_stop_the_server_of_its_parent(any_lab: Any) -> None:
    fork = """
import os, sys
from pathlib import Path
from langledger.database.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
server.start()
if os.fork() == 0:
    sys.exit()  # runs what is registered for the end of a program
os.wait()
from langledger.database.connection import connect
connect(server.dsn).close()
print("alive")
"""
    assert any_lab.run(fork).stdout == "alive\n"
    assert any_lab.server() == 0, "the parent stopped it at its own end"


def test_a_forked_child_keeps_the_server_when_its_parent_leaves(any_lab: Any) -> None:
    fork = """
import os, sys, time
from pathlib import Path
from langledger.database.connection import connect
from langledger.database.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
server.start()
if os.fork() == 0:
    time.sleep(1.5)
    connect(server.dsn).close()
    print("alive after its parent", flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), 9)
"""
    for end in ("killed", "leaves"):
        result = any_lab.run(fork, end)
        assert (result.stdout, result.stderr) == ("alive after its parent\n", "")
        any_lab.until(lambda: any_lab.server() == 0, seconds=10)
