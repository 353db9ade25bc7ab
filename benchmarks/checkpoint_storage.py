"""Bytes, WAL and latency of checkpointers over the turns of one conversation.

    python benchmarks/checkpoint_storage.py [--turns 1000] [--savers memory,ledger,postgres,...]
                                            [--dsn DSN] [--plot FILE.png] [--json FILE]

All savers live through the same conversation turn by turn, one after the other within each
turn, so that a busy machine is busy for all. A turn is a human message of 1,200 characters and
an answer half prose, half JSON, in a graph of one node with LangGraph's default durability.
Bytes are those of all tables with indexes and TOAST after VACUUM, over the bytes of the messages
serialised once each. What PostgreSQL needs for the first row of each table (maps of free space,
pages of indexes) is a large part of a short conversation alone in its database: a second part lets
some short conversations share one.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

from checkpoint_workload import (
    Contender,
    Text,
    chat,
    contenders,
    human,
    machine,
    message_bytes,
    server,
)

CONFIG = {"configurable": {"thread_id": "the-thread"}}
MARKS = (10, 100, 300, 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument(
        "--savers", default="memory,ledger,ledger-delta,postgres,postgres-delta,sqlite"
    )
    parser.add_argument("--style", choices=("message", "dict"), default="message")
    parser.add_argument("--dsn")
    parser.add_argument("--crowd", default="ledger,postgres", help="savers of the second part")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with server(options.dsn) as dsn:
        print(machine(dsn))
        with contenders(dsn, options.savers.split(",")) as savers:
            result = live(savers, options.turns, options.style)
            for contender in savers:
                result["operations"][contender.name] = operations(contender)
        report(result, options)
        if options.crowd:
            with contenders(dsn, options.crowd.split(",")) as savers:
                crowd(savers, conversations=10, turns=100)


def live(savers: list[Contender], turns: int, style: str) -> dict[str, Any]:
    """Let every saver live through the conversation."""
    text = Text()
    graphs = {c.name: chat(text, c.saver, delta=c.delta) for c in savers}
    sizes: dict[str, dict[int, int]] = {c.name: {} for c in savers}
    once: dict[int, int] = {}
    for turn in range(turns):
        for c in savers:
            before, busy = c.wal(), c.clock()
            started = time.perf_counter()
            state = graphs[c.name].invoke({"messages": [human(text, turn, style)]}, CONFIG)
            c.times.append(time.perf_counter() - started)
            c.busy.append(busy())
            c.written.append(c.wal() - before)
        if turn + 1 in MARKS or turn + 1 == turns:
            once[turn + 1] = message_bytes(state["messages"])
            for c in savers:
                sizes[c.name][turn + 1] = c.size()
            print(f"turn {turn + 1}", flush=True)
    return {
        "turns": turns,
        "style": style,
        "once": once,
        "sizes": sizes,
        "times": {c.name: c.times for c in savers},
        "busy": {c.name: c.busy for c in savers},
        "wal": {c.name: sum(c.written) for c in savers},
        "operations": {},
    }


def operations(contender: Contender) -> dict[str, tuple[float, float]]:
    """Milliseconds of single calls on the finished thread: of the clock, and of the processor."""
    timed = functools.partial(timed_of, contender)
    saver = contender.saver
    channels = {"config": CONFIG, "channels": ["messages"]}
    found = {
        "get_tuple warm": timed(lambda: saver.get_tuple(CONFIG)),
        "get_tuple cold": timed(lambda: contender.cold().get_tuple(CONFIG)),
        "list(10)": timed(lambda: list(saver.list(CONFIG, limit=10))),
        "list(10) cold": timed(lambda: list(contender.cold().list(CONFIG, limit=10))),
    }
    if contender.delta:
        found["delta history"] = timed(lambda: saver.get_delta_channel_history(**channels))
    found["delete_thread"] = timed(lambda: saver.delete_thread("the-thread"), times=1)
    return found


def crowd(savers: list[Contender], *, conversations: int, turns: int) -> None:
    """Let short conversations share a database; print the bytes."""
    text = Text()
    print(f"\nbytes over those of the messages: {conversations} conversations of {turns} turns")
    for c in savers:
        graph = chat(text, c.saver, delta=c.delta)
        once = 0
        for number in range(conversations):
            config = {"configurable": {"thread_id": f"thread {number}"}}
            for turn in range(turns):
                said = {"messages": [human(text, number * turns + turn, "message")]}
                state = graph.invoke(said, config)
            once += message_bytes(state["messages"])
        print(f"{c.name:16}{c.size() / once:.2f}", flush=True)


def timed_of(contender: Contender, call: Any, times: int = 5) -> tuple[float, float]:
    """Median milliseconds of a call; of fewer calls where they take long."""
    taken: list[float] = []
    busy: list[float] = []
    while len(taken) < times and sum(taken) < 10_000:
        clock, started = contender.clock(), time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1000)
        busy.append(clock() * 1000)
    return median(taken), median(busy)


def around(times: list[float], turn: int) -> float:
    """Median milliseconds of the turns around one."""
    reach = max(2, turn // 20)
    window = times[max(0, turn - reach) : turn + reach]
    return median(window) * 1000 if window else float("nan")


def report(result: dict[str, Any], options: argparse.Namespace) -> None:
    """Print the figures; write them and a plot where asked."""
    marks = list(result["sizes"][next(iter(result["sizes"]))])
    print(f"\nbytes over those of the messages stored once ({result['style']} input)")
    print(f"{'':16}" + "".join(f"{mark:>10}" for mark in marks) + "   MB at the end   WAL MB")
    for name, sizes in result["sizes"].items():
        ratios = "".join(f"{sizes[mark] / result['once'][mark]:>10.2f}" for mark in marks)
        end = sizes[marks[-1]] / 1e6
        print(f"{name:16}{ratios}{end:>16.2f}{result['wal'][name] / 1e6:>9.1f}")
    print(f"messages once:  {[round(result['once'][mark] / 1e6, 3) for mark in marks]} MB")
    for what, title in (("times", "milliseconds"), ("busy", "processor milliseconds")):
        print(f"\n{title} a turn; in brackets what the saver adds to InMemorySaver's turn")
        print_turns(result[what], marks)
    print("\nmilliseconds a call at the end, in brackets of the processor (client and server)")
    for name, found in result["operations"].items():
        cells = (f"{what} {ms:.1f} ({busy:.1f})" for what, (ms, busy) in found.items())
        print(f"{name:16}" + "  ".join(cells))
    if options.json:
        options.json.write_text(json.dumps(result))
    if options.plot:
        draw(result, options.plot)


def print_turns(taken_by: dict[str, list[float]], marks: list[int]) -> None:
    """A line a saver, the turns at the marks."""
    floor = taken_by.get("memory")
    for name, times in taken_by.items():
        cells = []
        for mark in marks:
            taken = around(times, mark)
            added = "" if floor is None else f" ({taken - around(floor, mark):+.1f})"
            cells.append(f"{taken:.1f}{added}")
        print(f"{name:16}" + "".join(f"{cell:>20}" for cell in cells))


def draw(result: dict[str, Any], file: Path) -> None:
    """Bytes and latency over turns, as PNG."""
    import matplotlib.pyplot as plt  # of the group "bench"; the figures can be had without

    figure, (bytes_, latency) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    once = result["once"]
    colours = {name: f"C{place}" for place, name in enumerate(result["busy"])}
    bytes_.plot(once.keys(), [n / 1e6 for n in once.values()], "k--", label="messages once")
    for name, sizes in result["sizes"].items():
        if any(sizes.values()):
            bytes_.plot(
                sizes.keys(), [n / 1e6 for n in sizes.values()], "o-", c=colours[name], label=name
            )
    for name, times in result["busy"].items():
        turns = range(5, len(times), max(1, len(times) // 40))
        latency.plot(turns, [around(times, turn) for turn in turns], c=colours[name], label=name)
    for axes, title in ((bytes_, "MB stored"), (latency, "processor milliseconds a turn")):
        axes.set(xscale="log", yscale="log", xlabel="turns", title=title)
        axes.grid(visible=True, which="both", alpha=0.2)
        axes.legend(fontsize="small")
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
