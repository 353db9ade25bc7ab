"""The embedded server in containers: small and full disks, process 1, restarts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from langledger.database.connection import connect
from langledger.database.embedded import EmbeddedServer
from langledger.errors import EmbeddedPostgresError

START = """
import sys
from pathlib import Path
from langledger.database.embedded import EmbeddedServer
with EmbeddedServer(Path(sys.argv[1])) as server:
    print("started")
"""

PARALLEL_INDEX = """
import sys
from pathlib import Path
from langledger.database.connection import connect
from langledger.database.embedded import EmbeddedServer
settings = dict(item.split("=") for item in SETTINGS)
with EmbeddedServer(Path(sys.argv[1]), settings=settings) as server:
    with connect(server.dsn) as connection:
        connection.execute("SET min_parallel_table_scan_size = 0")
        connection.execute("SET max_parallel_maintenance_workers = 2")
        connection.execute("CREATE TABLE v (e vector(3))")
        connection.execute(
            "INSERT INTO v SELECT ARRAY[random(), random(), random()] FROM generate_series(1, 2000)"
        )
        connection.execute("CREATE INDEX ON v USING hnsw (e vector_l2_ops)")
    print("built")
"""


def test_a_parallel_index_build_works_with_a_small_dev_shm(root_lab: Any) -> None:
    small = "mount -t tmpfs -o size=8M tmpfs /dev/shm"
    result = root_lab.isolated(small, PARALLEL_INDEX.replace("SETTINGS", "[]"))
    assert result.stdout == "built\n", result.stderr

    # The same with PostgreSQL's default, to see that the build does need the space.
    posix = '["dynamic_shared_memory_type=posix"]'
    shutil.rmtree(root_lab.home)
    result = root_lab.isolated(small, PARALLEL_INDEX.replace("SETTINGS", posix))
    assert "could not resize shared memory segment" in result.stderr


def test_a_full_disk_during_the_first_start_leaves_nothing_half_made(root_lab: Any) -> None:
    prepare = f"mkdir -p {root_lab.home}; mount -t tmpfs -o size=20M tmpfs {root_lab.home}"
    script = """
import sys
from pathlib import Path
from langledger.database.embedded import EmbeddedServer
from langledger.errors import EmbeddedPostgresError
home = Path(sys.argv[1])
try:
    EmbeddedServer(home).start()
except EmbeddedPostgresError as error:
    print(error)
print(sorted(path.name for path in home.iterdir()))
"""
    said, left = root_lab.isolated(prepare, script).stdout.splitlines()
    assert "the disk is full, free some space on it (" in said
    assert "No space left on device" in said
    assert len(said) < 600
    assert "to use your own server instead" in said
    assert left == "['alive.lock', 'start.lock', 'use.lock', 'watch.lock']"


def test_a_read_only_disk_is_named(root_lab: Any) -> None:
    prepare = f"mkdir -p {root_lab.home}; mount -t tmpfs -o ro tmpfs {root_lab.home}"
    said = root_lab.isolated(prepare, START).stderr
    assert "Read-only file system" in said
    assert "to use your own server instead" in said


def test_a_zombie_is_no_server(root_lab: Any) -> None:
    """Process 1 of a container that reaps nobody keeps the number of a dead server in use."""
    script = """
import os, signal, sys, time
from pathlib import Path
from langledger.database.connection import connect
from langledger.database.embedded import EmbeddedServer
home = Path(sys.argv[1])
assert os.getpid() == 1
server = EmbeddedServer(home)
with connect(server.start()) as connection:
    connection.execute("CREATE TABLE kept ()")
pid = int((home / "cluster" / "postmaster.pid").read_text().split()[0])
os.kill(pid, signal.SIGKILL)
while ") Z " not in Path(f"/proc/{pid}/stat").read_text():
    time.sleep(0.01)
server.stop()
with connect(server.start()) as connection:
    connection.execute("SELECT FROM kept")
server.stop()
print("recovered")
"""
    result = root_lab.isolated("true", script)
    assert result.stdout == "recovered\n", result.stderr


def test_a_container_that_is_killed_and_restarted_keeps_its_data(root_lab: Any) -> None:
    """The processes of the next run have the numbers of the last one's."""
    script = """
import os, signal, sys
from pathlib import Path
from langledger.database.connection import connect
from langledger.database.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
with connect(server.start()) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS runs (n serial)")
    connection.execute("INSERT INTO runs DEFAULT VALUES")
    print(connection.execute("SELECT count(*) AS n FROM runs").fetchone()["n"], flush=True)
pid = int((Path(sys.argv[1]) / "cluster" / "postmaster.pid").read_text().split()[0])
print(pid, file=sys.stderr)
os._exit(9)  # process 1 ends, and everything with it
"""
    results = [root_lab.isolated("true", script) for _ in range(3)]
    assert [result.stdout for result in results] == ["1\n", "2\n", "3\n"], results[-1].stderr


def test_a_cpu_that_crashes_on_vectors_is_found_at_the_start(
    open_folder: Path, tmp_path: Path
) -> None:
    """A library that traps when loaded stands for a pgvector built for a newer CPU."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / "vector.c"
    source.write_text("__attribute__((constructor)) void trap(void) { __builtin_trap(); }\n")
    library = open_folder / "vector.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    library.chmod(0o755)
    settings = {"dynamic_library_path": f"{open_folder}:$libdir"}
    with pytest.raises(EmbeddedPostgresError, match=r"crashes here: .* signal 4"):
        EmbeddedServer(open_folder / "data", settings=settings).start()
    # Nobody is left with the server, and without the trap it works.
    with EmbeddedServer(open_folder / "data") as server:
        connect(server.dsn).close()


def test_a_disk_that_fills_up_is_named_and_keeps_what_was_committed(root_lab: Any) -> None:
    """PostgreSQL ends when it cannot write its log; what it had committed is there again."""
    script = """
import sys
from pathlib import Path
from langledger.database import Database
from langledger.database.embedded import EmbeddedServer
from langledger.errors import LangLedgerError
from langledger.operations import Batch, Query
home = Path(sys.argv[1])
write = '''INSERT INTO {schema}.summary_cache (tenant, digest, summary)
SELECT 't', %(n)s, string_agg(md5((random() * g)::text), '') FROM generate_series(1, 300000) g'''
server = EmbeddedServer(home)
written = 0
with Database(server.start(), timeout=5, trouble=server.trouble) as database:
    database.setup()
    try:
        while True:
            database.execute(Batch([Query(write, {"n": bytes([written])})], repeatable=False))
            written += 1
    except LangLedgerError as error:
        print(error)
server.stop()
(home / "lost+found" / "ballast").unlink()  # makes the room that the recovery needs
with EmbeddedServer(home) as server, Database(server.dsn) as database:
    count = database.execute(Batch([Query("SELECT count(*) AS n FROM {schema}.summary_cache")]))
    print(written, count[0][0]["n"])
"""
    prepare = (
        f"mkdir -p {root_lab.home}; mount -t tmpfs -o size=200M tmpfs {root_lab.home}; "
        f"mkdir {root_lab.home}/lost+found; "
        f"head -c 50M /dev/zero >{root_lab.home}/lost+found/ballast"
    )
    result = root_lab.isolated(prepare, script)
    assert result.returncode == 0, result.stderr
    said, counts = result.stdout.splitlines()
    assert "No space left on device" in said
    assert "disk is full" in said or "the embedded server on" in said  # it may outlive that, or not
    written, found = map(int, counts.split())
    assert written == found > 0
