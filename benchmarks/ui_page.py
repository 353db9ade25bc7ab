"""How long the debug page takes to be seen, for threads of a thousand and of many entries.

    python benchmarks/ui_page.py [--database-url DSN] [--entries 1000 100000] [--runs 5]

Chromium opens each page of a thread several times, every time with an empty cache. Given are, in
milliseconds and as the median, when the server's answer began, when something was painted first,
when all was there (the chart drawn, the lists filled), and the processor time that this process
spent on it, the server among it, which other work on the machine does not change. A long state is
read after its page is there; that is not waited for.
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from playwright.sync_api import Browser, sync_playwright

from langledger import Ledger
from langledger.entries import Location, append
from langledger.entries.log import thread_key
from langledger.operations import run
from langledger.ui import build_app

PAGES = {
    "threads": "",
    "timeline": "threads/{key}/",
    "entries": "threads/{key}/entries",
    "newest entries": "threads/{key}/entries?before={last}",
    "one entry": "threads/{key}/entries/500",
    "view": "threads/{key}/view",
    "view of a call": "threads/{key}/view?answer=500",
    "compactions": "threads/{key}/compactions",
    "state": "threads/{key}/state",
    "recall": "threads/{key}/recall?q=test_500.py",
    "memory": "threads/{key}/memory",
    "health": "health",
}
SHOWN = """() => document.readyState === 'complete'
    && !document.querySelector('figure.chart:not([data-drawn])')"""
TIMES = """() => [performance.getEntriesByType('navigation')[0].responseStart,
    performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
    performance.now()]"""


def messages(first: int, count: int) -> Iterator[BaseMessage]:
    for n in range(first, first + count, 4):
        call = {"name": "bash", "args": {"command": f"pytest tests/test_{n}.py"}, "id": f"c{n}"}
        yield HumanMessage(f"Go on with step {n}, and mind parameter-{n}.", id=f"h{n}")
        yield AIMessage("I run the test.", tool_calls=[call], id=f"a{n}")
        yield ToolMessage("12 passed in 0.3 s\n" * 20, tool_call_id=f"c{n}", id=f"t{n}")
        yield AIMessage(f"Step {n} is done: all 12 tests pass.", id=f"d{n}")


def fill(ledger: Ledger, thread_id: str, entries: int) -> None:
    for first in range(0, entries, 2000):
        part = list(messages(first, min(2000, entries - first)))
        sizes = [120 if isinstance(m, ToolMessage) else 20 for m in part]
        run(append(Location(ledger.tenant, thread_id), part, tokens=sizes), ledger.executor)


@contextmanager
def serving(ledger: Ledger) -> Iterator[str]:
    token = secrets.token_urlsafe(24)
    config = uvicorn.Config(
        build_app(ledger, token=token), port=0, log_level="warning", lifespan="off"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/{token}/"
    finally:
        server.should_exit = True
        thread.join()


def timed(browser: Browser, address: str, runs: int) -> list[float]:
    found: list[list[float]] = []
    for _ in range(runs):
        page = browser.new_page()
        before = time.process_time()
        page.goto(address, timeout=300_000)
        page.wait_for_function(SHOWN, timeout=300_000)
        spent = (time.process_time() - before) * 1000
        found.append([*page.evaluate(TIMES), spent])
        page.close()
    return [statistics.median(column) for column in zip(*found, strict=True)]


def measure(browser: Browser, ledger: Ledger, entries: int, runs: int) -> None:
    name = f"bench-{entries}"
    if not ledger.count(name):
        fill(ledger, name, entries)
    key = thread_key(ledger.tenant, name)
    print(f"\n{entries:,} entries{'':>10} {'answer':>8} {'painted':>8} {'whole':>8} {'cpu':>8}  ms")
    with serving(ledger) as address:
        for page, path in PAGES.items():
            where = address + path.format(key=key, last=2**62)
            first, *_ = timed(browser, where, 1)  # indexes, where a search is the first one
            times = "".join(f"{time:9.0f}" for time in timed(browser, where, runs))
            print(f"{page:<18}{times}   (the first answer {first:.0f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url")
    parser.add_argument("--entries", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    given: Any = parser.parse_args()
    folder = TemporaryDirectory() if given.database_url is None else nullcontext()
    with folder as name:
        if name is not None:
            Path(name).chmod(0o755)
        home = Path(name) / "data" if name is not None else None
        with (
            Ledger.from_conn_string(
                given.database_url, data_dir=home, tenant="bench-ui", embeddings="off"
            ) as ledger,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(
                executable_path=given.chromium, args=["--no-sandbox"]
            )
            for entries in given.entries:
                measure(browser, ledger, entries, given.runs)
            browser.close()


if __name__ == "__main__":
    main()
