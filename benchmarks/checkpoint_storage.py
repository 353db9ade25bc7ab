"""Bytes, WAL and latency of checkpointers over the turns of one conversation.

    python benchmarks/checkpoint_storage.py [--turns 1000] [--savers memory,ledger,postgres,...]
                                            [--dsn DSN] [--svg FILE] [--json FILE]

All savers live through the same conversation turn by turn, one after the other within each
turn, so that a busy machine is busy for all. A turn is a human message of 1,200 characters and
an answer half prose, half JSON, in a graph of one node with LangGraph's default durability.
Bytes are those of all tables with indexes and TOAST after VACUUM, over the bytes of the messages
serialised once each.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

from checkpoint_plot import Line, plot
from checkpoint_workload import (
    Contender,
    Text,
    chat,
    contenders,
    human,
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
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with server(options.dsn) as dsn, contenders(dsn, options.savers.split(",")) as savers:
        result = live(savers, options.turns, options.style)
        for contender in savers:
            result["operations"][contender.name] = operations(contender)
    report(result, options)


def live(savers: list[Contender], turns: int, style: str) -> dict[str, Any]:
    """Let every saver live through the conversation."""
    text = Text()
    graphs = {c.name: chat(text, c.saver, delta=c.delta) for c in savers}
    sizes: dict[str, dict[int, int]] = {c.name: {} for c in savers}
    once: dict[int, int] = {}
    for turn in range(turns):
        for c in savers:
            before = c.wal()
            started = time.perf_counter()
            state = graphs[c.name].invoke({"messages": [human(text, turn, style)]}, CONFIG)
            c.times.append(time.perf_counter() - started)
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
        "wal": {c.name: sum(c.written) for c in savers},
        "operations": {},
    }


def operations(contender: Contender) -> dict[str, float]:
    """Milliseconds of single calls on the finished thread."""
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


def timed(call: Any, times: int = 5) -> float:
    """Median milliseconds of a call."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1000)
    return median(taken)


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
    print("\nmilliseconds a turn; in brackets what the saver adds to InMemorySaver's turn")
    floor = result["times"].get("memory")
    for name, times in result["times"].items():
        cells = []
        for mark in marks:
            taken = around(times, mark)
            added = "" if floor is None else f" ({taken - around(floor, mark):+.1f})"
            cells.append(f"{taken:.1f}{added}")
        print(f"{name:16}" + "".join(f"{cell:>20}" for cell in cells))
    print("\nmilliseconds a call at the end")
    for name, found in result["operations"].items():
        print(f"{name:16}" + "  ".join(f"{what} {ms:.1f}" for what, ms in found.items()))
    if options.json:
        options.json.write_text(json.dumps(result))
    if options.svg:
        options.svg.write_text(drawing(result))


def drawing(result: dict[str, Any]) -> str:
    """Bytes and latency over turns."""
    sizes = [
        Line(name, [(turn, size / 1e6) for turn, size in found.items() if size])
        for name, found in result["sizes"].items()
    ]
    times = [
        Line(name, [(t, around(found, t)) for t in range(5, len(found), max(1, len(found) // 40))])
        for name, found in result["times"].items()
    ]
    once = Line("messages once", [(t, size / 1e6) for t, size in result["once"].items()])
    return plot(
        [
            ("MB stored after this many turns", [once, *(line for line in sizes if line.points)]),
            ("milliseconds a turn", times),
        ]
    )


if __name__ == "__main__":
    main()
