"""A process that does everything that writes, and says what was acknowledged.

    python -m tests.support.fault_workload DSN TENANT HOW SEED [OPTION=VALUE ...]

Content is encrypted where LANGLEDGER_ENCRYPTION_KEYS says so.

Each acknowledgement is a line of JSON on standard output, written after the call returned. An
error of langledger's own tree is a line too, and the work goes on. It ends when standard input
does; what it then still holds (threads, tasks, connections) is its last line.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langledger import AsyncLedger, Ledger
from langledger.errors import LangLedgerError
from langledger.replay.importing import import_files
from tests.support.scripted import ScriptedModel

WINDOW = 2500
WORKERS = 3
LOG = "log line of a build that ran\n" * 30
_saying = threading.Lock()
# A child that was forked while another thread says something would wait for it for ever.
os.register_at_fork(
    before=_saying.acquire, after_in_parent=_saying.release, after_in_child=_saying.release
)


def say(**what: Any) -> None:
    """Tell the harness; one write, so that a kill leaves no half a line before another."""
    with _saying:
        os.write(1, (json.dumps(what) + "\n").encode())


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Write a file, read the result, and say so."""
    if isinstance(messages[-1], HumanMessage):
        call = {"name": "write_file", "args": {"path": "a.py"}, "id": f"c{random.getrandbits(48)}"}
        return AIMessage("Writing.", tool_calls=[call])
    return AIMessage(f"Wrote it. {LOG}")


def write_file(path: str) -> str:
    """Write a file."""
    return f"{path}: {LOG}"


class Worker:
    """Works on threads of its own, one step after the other."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.random = random.Random(f"{seed}-{name}")
        self.n = 0
        self.model = ScriptedModel(script=[answer])

    def agent(self, ledger: Ledger | AsyncLedger) -> Any:
        middleware = ledger.middleware(window=WINDOW, trigger=0.6)
        saver = ledger.checkpointer()
        return create_agent(self.model, [write_file], middleware=[middleware], checkpointer=saver)

    def config(self) -> Any:
        return {"configurable": {"thread_id": f"{self.name}-agent"}}

    def text(self) -> str:
        self.n += 1
        return f"{self.name} says w{self.n}q{self.random.getrandbits(40):x}"

    def steps(self, ledger: Ledger) -> list[Callable[[Ledger], None]]:
        heavy = [self.turn, self.turn, self.append, self.append, self.append]
        others = [self.note, self.keep, self.index, self.take_over, self.prune, self.delete]
        return [*heavy, *others]

    def step(self, ledger: Ledger, *, agents: bool = True) -> None:
        chosen = self.random.choice(self.steps(ledger))
        if chosen == self.turn and not agents:
            chosen = self.append
        try:
            chosen(ledger)
        except LangLedgerError as error:
            say(error=type(error).__name__, of=chosen.__name__, text=f"{error}"[:160])

    def append(self, ledger: Ledger) -> None:
        texts = [self.text() for _ in range(self.random.randint(1, 4))]
        messages = [HumanMessage(text, id=text) for text in texts]
        ledger.append(messages, thread_id=self.name)
        say(op="append", thread=self.name, texts=texts)

    def turn(self, ledger: Ledger) -> None:
        asked = {"messages": [HumanMessage(self.text())]}
        state: Any = {}
        for state in self.agent(ledger).stream(  # noqa: B007 - the last one is what counts
            asked, self.config(), stream_mode="values", durability="sync"
        ):
            pass
        say(op="turn", thread=f"{self.name}-agent", ids=[m.id for m in state["messages"]])

    def note(self, ledger: Ledger) -> None:
        what = f"Use {self.text()}"
        ledger.append([HumanMessage(what, id=what)], thread_id=f"{self.name}-notes")
        ledger.add_to_state(f"{self.name}-notes", "decision", what)
        say(op="note", thread=f"{self.name}-notes", what=what)

    def keep(self, ledger: Ledger) -> None:
        what = self.text()
        ledger.store().put((self.name, "kept"), what, {"text": what})
        say(op="keep", thread=self.name, what=what)

    def index(self, ledger: Ledger) -> None:
        ledger.flush()
        say(op="index")

    def take_over(self, ledger: Ledger) -> None:
        thread = f"{self.name}-session-{self.n}"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{thread}.jsonl")
            lines = [
                json.dumps({"role": ("user", "assistant")[n % 2], "content": self.text()})
                for n in range(40)
            ]
            path.write_text("\n".join(lines), encoding="utf-8")
            for done in import_files(ledger, [path]):
                for session in done.sessions:
                    say(op="import", thread=session.thread_id, messages=40)

    def prune(self, ledger: Ledger) -> None:
        ledger.checkpointer().prune([f"{self.name}-agent"])
        say(op="prune")

    def delete(self, ledger: Ledger) -> None:
        thread = f"{self.name}-gone-{self.n}"
        ledger.append([HumanMessage(self.text()) for _ in range(20)], thread_id=thread)
        ledger.checkpointer().delete_thread(thread)
        say(op="delete", thread=thread)


class AsyncWorker(Worker):
    """The same awaited; appends and turns."""

    async def astep(self, ledger: AsyncLedger) -> None:
        try:
            await (self.aappend(ledger) if self.random.random() < 0.5 else self.aturn(ledger))
        except LangLedgerError as error:
            say(error=type(error).__name__, of="astep", text=f"{error}"[:160])

    async def aappend(self, ledger: AsyncLedger) -> None:
        texts = [self.text() for _ in range(self.random.randint(1, 4))]
        messages = [HumanMessage(text, id=text) for text in texts]
        await ledger.append(messages, thread_id=self.name)
        say(op="append", thread=self.name, texts=texts)

    async def aturn_on(self, ledger: Ledger) -> None:
        """Await a turn with the parts of a blocking ledger."""
        try:
            await self.aturn(ledger)
        except LangLedgerError as error:
            say(error=type(error).__name__, of="aturn_on", text=f"{error}"[:160])

    async def aturn(self, ledger: Ledger | AsyncLedger) -> None:
        asked = {"messages": [HumanMessage(self.text())]}
        state = await self.agent(ledger).ainvoke(asked, self.config(), durability="sync")
        say(op="turn", thread=f"{self.name}-agent", ids=[m.id for m in state["messages"]])


def main(dsn: str, tenant: str, how: str, seed: str, *options: str) -> None:
    given = dict(option.split("=", 1) for option in options)
    ended = threading.Event()
    threading.Thread(target=wait_for_the_end, args=(ended,), daemon=True).start()
    open_ledger: dict[str, Any] = {"tenant": tenant, "pool_size": int(given.get("pool", 4))}
    open_ledger |= {"embeddings": "off", "encryption": os.environ.get("LANGLEDGER_ENCRYPTION_KEYS")}
    timeout = float(given.get("timeout", 30))
    modes = {"threads": in_threads, "forks": in_forks, "loops": in_loops, "cancel": cancelled}
    modes["processes"] = in_processes
    modes[how](dsn, open_ledger, int(seed), ended, timeout)
    left = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    say(left=[name for name in left if name.startswith(("langledger", "pool"))])


def wait_for_the_end(ended: threading.Event) -> None:
    """Tell when standard input ends.

    Not through ``sys.stdin``: whoever reads that holds its lock, and a child that multiprocessing
    forks meanwhile waits for ever to close it.
    """
    while os.read(0, 4096):
        pass
    ended.set()


def in_threads(
    dsn: str, options: dict[str, Any], seed: int, ended: threading.Event, timeout: float
) -> None:
    """Several threads on one ledger."""
    with Ledger.from_conn_string(dsn, **options) as ledger:
        set_timeout(ledger, timeout)
        say(ready=os.getpid())
        work_in_threads(ledger, "t", seed, ended)


def work_in_threads(ledger: Ledger, name: str, seed: int, ended: threading.Event) -> None:
    def work(worker: Worker) -> None:
        while not ended.is_set():
            worker.step(ledger)

    workers = [Worker(f"{name}{n}", seed) for n in range(WORKERS)]
    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_forks(
    dsn: str, options: dict[str, Any], seed: int, ended: threading.Event, timeout: float
) -> None:
    """Fork while threads are at work; both sides go on.

    Children run no agents. To build one, pydantic takes locks of Python 3.11's cached_property,
    which a thread of the parent may have held at the fork: nobody gives them back in the child.
    """
    with Ledger.from_conn_string(dsn, **options) as ledger:
        set_timeout(ledger, timeout)
        do_each_once(ledger, seed)
        say(ready=os.getpid())
        stop = threading.Event()
        working = threading.Thread(target=work_in_threads, args=(ledger, "p", seed, stop))
        working.start()
        for generation in range(5):
            ended.wait(0.3)
            child = fork()
            if child == 0:
                worker = Worker(f"child{generation}-", seed)
                for _ in range(6):
                    worker.step(ledger, agents=False)
                say(forked=generation)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            say(child=os.waitstatus_to_exitcode(status))
        ended.wait()
        stop.set()
        working.join()


def in_processes(
    dsn: str, options: dict[str, Any], seed: int, ended: threading.Event, timeout: float
) -> None:
    """Processes that multiprocessing forks, several at once, while threads are at work."""
    forked = multiprocessing.get_context("fork")
    with Ledger.from_conn_string(dsn, **options) as ledger:
        set_timeout(ledger, timeout)
        do_each_once(ledger, seed)
        say(ready=os.getpid())
        stop = threading.Event()
        working = threading.Thread(target=work_in_threads, args=(ledger, "p", seed, stop))
        working.start()
        for generation in range(3):
            ended.wait(0.3)
            children = [
                forked.Process(target=work_in_child, args=(ledger, f"c{generation}{n}-", seed))
                for n in range(3)
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for child in children:
                    child.start()
            for child in children:
                child.join()
                say(child=child.exitcode)
        ended.wait()
        stop.set()
        working.join()


def do_each_once(ledger: Ledger, seed: int) -> None:
    """Have all imported that is imported at its first use.

    A child that is forked while a thread imports something waits for that import for ever.
    """
    worker = Worker("w", seed)
    for step in dict.fromkeys(worker.steps(ledger)):
        step(ledger)


def work_in_child(ledger: Ledger, name: str, seed: int) -> None:
    worker = Worker(name, seed)
    for _ in range(3):
        worker.step(ledger, agents=False)
    ledger.close()


def fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
        return os.fork()


def in_loops(
    dsn: str, options: dict[str, Any], seed: int, ended: threading.Event, timeout: float
) -> None:
    """One event loop after the other, all with the same two ledgers.

    The awaited one is opened in each, and every other loop ends without closing it; parts of the
    blocking one are awaited in all of them.
    """
    workers = [AsyncWorker(f"a{n}", seed) for n in range(WORKERS)]
    awaited = AsyncLedger.from_conn_string(dsn, **options)
    set_timeout(awaited, timeout)

    async def once(blocking: Ledger, *, close: bool) -> None:
        await awaited.open()
        await asyncio.gather(*(worker.astep(awaited) for worker in workers))
        await AsyncWorker(f"b{workers[0].n}-", seed).aturn_on(blocking)
        if close:
            await awaited.close()
        say(tasks=len(asyncio.all_tasks()) - 1 if close else 0)  # an open pool has some

    with Ledger.from_conn_string(dsn, **options) as blocking:
        set_timeout(blocking, timeout)
        say(ready=os.getpid())
        rounds = 0
        while not ended.is_set():
            rounds += 1
            asyncio.run(once(blocking, close=rounds % 2 == 0))
        asyncio.run(awaited.close())


def cancelled(
    dsn: str, options: dict[str, Any], seed: int, ended: threading.Event, timeout: float
) -> None:
    """Tasks that are cancelled somewhere; the pool is whole afterwards."""
    chance = random.Random(seed)

    async def run() -> None:
        async with AsyncLedger.from_conn_string(dsn, **options) as ledger:
            set_timeout(ledger, timeout)
            say(ready=os.getpid())
            workers = [AsyncWorker(f"c{n}", seed) for n in range(WORKERS)]
            while not ended.is_set():
                tasks = [asyncio.create_task(worker.astep(ledger)) for worker in workers]
                await asyncio.sleep(chance.random() * 0.15)
                for task in tasks:
                    task.cancel()
                done = await asyncio.gather(*tasks, return_exceptions=True)
                wrong = [d for d in done if isinstance(d, Exception)]
                if wrong:
                    say(unexpected=repr(wrong[0])[:300])
            for worker in workers:  # everything is as usable as before
                await worker.aappend(ledger)
            say(held=await held_connections(ledger))
        say(tasks=len(asyncio.all_tasks()) - 1)

    asyncio.run(run())


async def held_connections(ledger: AsyncLedger) -> int:
    """Return how many connections nobody gives back; those being opened anew are waited for."""
    pool: Any = ledger._database._pool
    held = 0
    for _ in range(300):
        stats = pool.get_stats()
        held = stats["pool_size"] - stats["pool_available"]
        if not held:
            break
        await asyncio.sleep(0.1)
    return held


def set_timeout(ledger: Ledger | AsyncLedger, timeout: float) -> None:
    executor: Any = ledger.executor
    executor.timeout = timeout


if __name__ == "__main__":
    main(*sys.argv[1:])
