"""Every way into langledger, called with what nobody means.

    python benchmarks/fuzz_entry_points.py [--times 60] [--seed 1] [--only NAME ...]
        [--sessions FILE ...]

Methods of a ledger and of all it hands out, sync and async, agents' tools, commands, the tools of
the MCP server, addresses of the debug page, and files of recorded sessions (see fuzz_surfaces.py).
Arguments are drawn from what programs pass by mistake: other types, half characters, NULs, numbers
beyond any column, deep and endless values. A call may succeed, or raise an error of langledger's
tree (of LangGraph's or pydantic's, where these check first) whose message says more than a class's
default. Anything else is a finding, and so is a ledger that does not work afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from checkpoint_workload import new_database
from fuzz_surfaces import (
    Attempt,
    awaited,
    commands,
    environment,
    files,
    methods,
    pages,
    served,
)
from langchain_core.messages import HumanMessage

from langledger import AsyncLedger, Ledger
from langledger.database import Database
from tests.support.stoppable import StoppableServer


def works(ledger: Ledger) -> bool:
    with_tenant = ledger.for_tenant("still")
    before = with_tenant.count("works")
    with_tenant.append([HumanMessage("one more")], thread_id="works")
    return with_tenant.count("works") == before + 1


@contextmanager
def surfaces(sessions: list[Path]) -> Iterator[tuple[Ledger, Iterator[tuple[str, Attempt]]]]:
    """Open one of each on a server of its own; commands have a database of their own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="langledger-fuzz-")))
        folder.chmod(0o755)
        server = stack.enter_context(StoppableServer(folder / "data"))
        Database(server.dsn).setup()
        ledger = stack.enter_context(Ledger.from_conn_string(server.dsn, embeddings="off"))
        ledger.append([HumanMessage("hi", id="h")], thread_id="thread", user_id="user")
        runner = stack.enter_context(asyncio.Runner())
        other = AsyncLedger.from_conn_string(server.dsn, embeddings="off")
        runner.run(other.open())
        stack.callback(lambda: runner.run(other.close()))
        environment(stack.enter_context(new_database(server.dsn)))
        (folder / "here").mkdir()
        os.chdir(folder / "here")  # what a command writes, it writes there

        def all_of_them() -> Iterator[tuple[str, Attempt]]:
            yield from methods(ledger)
            yield from awaited(other, runner)
            yield from served(ledger, runner)
            yield from pages(ledger, runner)
            yield from files(folder, sessions)
            yield from commands()

        yield ledger, all_of_them()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--sessions", nargs="*", type=Path, default=[])
    given = parser.parse_args()
    calls, total, entered = 0, 0, 0
    with surfaces([path.resolve() for path in given.sessions]) as (ledger, found):
        for name, attempt in found:
            if given.only and not any(word in name for word in given.only):
                continue
            kinds: Counter[str] = Counter()
            for n in range(given.times):
                what = attempt(random.Random(f"{given.seed}-{name}-{n}"))
                kinds.update([what] if what is not None else [])
            calls, total, entered = calls + given.times, total + kinds.total(), entered + 1
            if not works(ledger):
                print(f"{name}: the ledger does not work any more")
            for what, times in kinds.most_common(4):
                print(f"{name}: {times} x {what}", flush=True)
    print(f"{calls} calls of {entered} entry points, {total} findings")


if __name__ == "__main__":
    main()
