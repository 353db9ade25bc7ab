"""How long the check takes at a call where no compaction is due.

    python benchmarks/idle.py [--database-url DSN] [--calls 200]

A thread of so many messages gets one more of the user, or a tool call and its result, then the
view is prepared as before any model call. Given are the median and the 95th percentile of the
check itself, in processor time, so that other work on the machine does not count, and by the
clock with the round trip that records the message.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from peers import sides

from langledger import Ledger
from langledger.compaction.compactor import ModelCall
from langledger.compaction.options import compactor_of
from langledger.entries import Location
from langledger.operations import Batch, Row, run

SIZES = (10, 100, 1_000, 10_000)
WINDOW = 100_000_000


class Timed:
    """A pool that adds up the time spent in it."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.seconds = inner, 0.0  # of this thread's own work

    def execute(self, batch: Batch) -> list[list[Row]]:
        started = time.thread_time()
        try:
            return self.inner.execute(batch)
        finally:
            self.seconds += time.thread_time() - started

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        return await self.inner.aexecute(batch)


def asked(n: int) -> list[BaseMessage]:
    return [HumanMessage(f"Go on {n}.", id=f"go{n}")]


def worked(n: int) -> list[BaseMessage]:
    call = {"name": "bash", "args": {"command": f"pytest tests/test_{n}.py"}, "id": f"c{n}"}
    text = [{"type": "text", "text": "I run the test."}, {"type": "tool_use", **call}]
    result = ToolMessage("12 passed in 0.3 s\n" * 3, tool_call_id=f"c{n}", id=f"t{n}")
    return [AIMessage(text, tool_calls=[call], id=f"a{n}"), result]


def history(size: int) -> list[BaseMessage]:
    messages: list[BaseMessage] = [HumanMessage("Write the files.", id="h")]
    for n in range(size // 2):
        messages += worked(n)
    return messages


def ours(
    ledger: Ledger, size: int, calls: int, added: Callable[[int], list[BaseMessage]]
) -> tuple[list[float], list[float]]:
    compactor, messages = compactor_of(can_look_up=True), history(size)
    location = Location("bench", f"idle-{size}-{added.__name__}")
    timed = Timed(ledger.executor)
    checks, totals = [], []
    for n in range(size, size + calls + 5):
        messages += added(n)
        timed.seconds = 0.0
        started, busy = time.perf_counter(), time.thread_time()
        call = ModelCall(location=location, messages=messages, window=WINDOW)
        run(compactor.prepare(call), timed)
        checks.append(time.thread_time() - busy - timed.seconds)
        totals.append(time.perf_counter() - started)
    return checks[5:], totals[5:]  # the first open the session and the caches


def theirs(make: Callable[[], Any], size: int, calls: int) -> list[float]:
    side, messages, times = make(), history(size), []
    for n in range(calls + 2):
        messages.append(HumanMessage(f"Go on {n}.", id=f"go{n}"))
        started = time.thread_time()
        side.view(messages)
        times.append(time.thread_time() - started)
    return times[2:]


def shown(times: list[float]) -> str:
    high = statistics.quantiles(times, n=20)[-1]
    return f"{1_000 * statistics.median(times):.2f} / {1_000 * high:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--database-url")
    options = parser.parse_args()
    print(f"ms, median / 95th percentile of {options.calls} calls")
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # run by root, the embedded server is another user
        data_dir = None if options.database_url else Path(folder) / "data"
        with Ledger.from_conn_string(options.database_url, data_dir=data_dir) as ledger:
            found = {k: make for k, make in sides(ledger, WINDOW).items() if k != "langledger"}
            print(f"| messages | check | with recording | a tool's turn | {' | '.join(found)} |")
            print(f"|---|---|---|---|{'---|' * len(found)}")
            for size in SIZES:
                checks, totals = ours(ledger, size, options.calls, asked)
                turns, _ = ours(ledger, size, options.calls, worked)
                few = max(options.calls // max(size // 100, 1), 5)
                cells = [shown(theirs(make, size, few)) for make in found.values()]
                cells = [shown(checks), shown(totals), shown(turns), *cells]
                print(f"| {size:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
