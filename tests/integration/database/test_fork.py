"""A forked child and its parent use the same ledger, and neither harms the other.

Each case is a program of its own: a test runner is not to be forked.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

COMMON = """
import asyncio, os, sys, time, traceback
from langchain_core.messages import HumanMessage
from langledger import AsyncLedger, Ledger
dsn = sys.argv[1]

def in_child(function):
    pid = os.fork()
    if pid == 0:
        try:
            function()
        except Exception:
            traceback.print_exc()
            os._exit(1)
        sys.exit(0)  # not os._exit: what runs at the end of a program must do no harm either
    return pid

def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""

BOTH_WRITE = """
with Ledger.from_conn_string(dsn) as ledger:
    ledger.append([HumanMessage("before")], thread_id="t")
    def write(name):
        for n in range(50):
            ledger.append([HumanMessage(f"{name}-{n}")], thread_id="t")
            assert ledger.count("t") > n
    children = [in_child(lambda name=name: write(name)) for name in ("a", "b")]
    write("parent")
    assert [ended(child) for child in children] == [0, 0]
    assert ledger.count("t") == 151  # also on the connections from before
print("fine")
"""

CHILD_ENDS_FIRST = """
ledger = Ledger.from_conn_string(dsn).open()
ledger.count("t")
backend = '''SELECT pid FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND datname = current_database()'''
from langledger.database.connection import connect
watcher = connect(dsn)
before = {row["pid"] for row in watcher.execute(backend)}
assert before
assert ended(in_child(lambda: None)) == 0
assert ended(in_child(lambda: (ledger.count("t"), ledger.close()))) == 0
assert ended(in_child(ledger.close)) == 0
time.sleep(0.3)
assert {row["pid"] for row in watcher.execute(backend)} == before, "a child ended the parent's"
assert ledger.count("t") == 0
watcher.close()
ledger.close()
print("fine")
"""

GRANDCHILD_AND_THREADS = """
from concurrent.futures import ThreadPoolExecutor
with Ledger.from_conn_string(dsn, pool_size=4) as ledger:
    ledger.count("t")
    def busy():
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(lambda _: ledger.count("t"), range(64))) == [0] * 64
    def child():
        assert ended(in_child(busy)) == 0
        busy()
    pid = in_child(child)
    busy()
    assert ended(pid) == 0
print("fine")
"""

CLOSED_IN_CHILD = """
from langledger.errors import DatabaseError
ledger = Ledger.from_conn_string(dsn).open()
def child():
    ledger.close()
    try:
        ledger.count("t")
    except DatabaseError as error:
        assert "not open" in str(error)
        return
    raise AssertionError("a closed ledger was used")
assert ended(in_child(child)) == 0
ledger.close()
print("fine")
"""

ASYNC = """
async def many(ledger):
    return await asyncio.gather(*(ledger.count("t") for _ in range(20)))

async def main():
    async with AsyncLedger.from_conn_string(dsn) as ledger:
        await ledger.append([HumanMessage("before")], thread_id="t")
        def child():
            loop = asyncio.new_event_loop()
            assert loop.run_until_complete(many(ledger)) == [1] * 20
            loop.run_until_complete(ledger.close())
            loop.close()
            os._exit(0)  # its parent's loop is not to be unwound in it
        pid = in_child(child)
        assert await many(ledger) == [1] * 20
        assert await asyncio.to_thread(ended, pid) == 0
        assert await many(ledger) == [1] * 20
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()
print("fine")
"""

BACKGROUND = """
import threading
release = threading.Event()
def job():
    release.wait()
    yield from ()
with Ledger.from_conn_string(dsn, embeddings="off") as ledger:
    ledger.keeper.notice("one", job, items=20)
    while not ledger.keeper._busy:
        time.sleep(0.01)
    ledger.keeper.notice("two", job, items=20)
    with ledger.keeper._changed:  # as a thread of the parent may hold it
        pid = in_child(ledger.flush)
    assert ended(pid) == 0
    release.set()
    ledger.flush()
print("fine")
"""

MULTIPROCESSING = """
import multiprocessing, threading
def work(ledger, name):
    for n in range(10):
        ledger.append([HumanMessage(f"{name}-{n}")], thread_id=name)
    assert ledger.recall(f"{name}-7", thread_id=name, k=1)[0].text == f"{name}-7"
with Ledger.from_conn_string(dsn, embeddings="off") as ledger:
    work(ledger, "before")
    forked = multiprocessing.get_context("fork")
    for generation in range(2):
        names = [f"{generation}.{n}" for n in range(3)]
        beside = threading.Thread(target=work, args=(ledger, f"beside {generation}"))
        children = [forked.Process(target=work, args=(ledger, name)) for name in names]
        children[0].start()
        beside.start()  # the others are forked while it writes
        for child in children[1:]:
            child.start()
        for child in children:
            child.join()
        beside.join()
        assert [child.exitcode for child in children] == [0, 0, 0]
        assert [ledger.count(name) for name in names] == [10] * 3
        assert ledger.count(f"beside {generation}") == 10
print("fine")
"""


@pytest.mark.parametrize(
    "script",
    [
        BOTH_WRITE,
        CHILD_ENDS_FIRST,
        GRANDCHILD_AND_THREADS,
        CLOSED_IN_CHILD,
        ASYNC,
        BACKGROUND,
        MULTIPROCESSING,
    ],
    ids=[
        "both-write",
        "child-ends-first",
        "grandchild",
        "closed-in-child",
        "async",
        "background",
        "processes",
    ],
)
def test_a_child_opens_connections_of_its_own(dsn: str, script: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", COMMON + script, dsn],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stderr == ""
    assert (result.stdout, result.returncode) == ("fine\n", 0)
