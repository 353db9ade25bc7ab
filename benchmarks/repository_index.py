"""How long indexing takes, what it stores, and what it needs of memory.

::

    python benchmarks/repository_index.py FOLDER [--saves 10]

FOLDER is a work tree, or holds several, which are indexed as one. An embedded server with its own
data directory is used. Processor time is ours with the parsers', without the server's.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path

from langledger.database import Database
from langledger.database.embedded import EmbeddedServer
from langledger.operations import Batch, Query
from langledger.repository.memory import RepositoryMemory

SIZES = Query(
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::int8 AS n FROM pg_class "
    "WHERE relkind = 'r' AND relname LIKE 'repository%%'"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--saves", type=int, default=10)
    parser.add_argument("--processes", type=int)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="langledger-bench-") as folder:
        Path(folder).chmod(0o755)
        with (
            EmbeddedServer(Path(folder) / "data") as server,
            Database(server.dsn) as database,
        ):
            database.setup()
            measure(database, arguments)


def measure(database: Database, arguments: argparse.Namespace) -> None:
    memory = RepositoryMemory(database, tenant="bench", path=arguments.folder)
    before = processor()
    report = memory.index(processes=arguments.processes)
    spent = processor() - before
    stats = memory.stats()
    print(f"load average             {os.getloadavg()[0]:10.1f}")
    print(f"files                    {stats.files:10,}   skipped {stats.skipped:,}")
    print(f"lines                    {stats.lines:10,}")
    print(f"chunks, symbols          {stats.chunks:10,}   {stats.symbols:,}")
    print(f"first index              {report.seconds:10.1f} s")
    print(f"  processor, ours        {spent:10.1f} s")
    size = database.execute(Batch([SIZES]))[0][0]["n"]
    print(f"tables and indexes       {size / 1e6:10.1f} MB   {size / stats.lines:.0f} bytes a line")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    parsers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak memory              {own:10.0f} MB   a parser {parsers:.0f} MB")
    print(f"nothing changed          {memory.index().seconds:10.2f} s")
    saves(memory, arguments)


def saves(memory: RepositoryMemory, arguments: argparse.Namespace) -> None:
    files = sorted(arguments.folder.rglob("*.py"))[:: max(1, 400 // arguments.saves)]
    seconds: list[float] = []
    for file in files[: arguments.saves]:
        text = file.read_text("utf-8", "replace")
        file.write_text(text + "\n# saved\n", "utf-8")
        seconds.append(memory.index().seconds)
        file.write_text(text, "utf-8")
    memory.index()
    print(
        f"one file saved           {statistics.median(seconds):10.2f} s   most {max(seconds):.2f} s"
    )


def processor() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"all of it                {time.perf_counter() - started:10.1f} s")
