"""What views hold of the next action, over all calls, beside what a prompt cache would bill.

    python benchmarks/prefix.py [--transcripts ../shared/transcripts] [--window 32000]
                                [--only SUBSTRING] [--least MESSAGES] [--most MESSAGES]
                                [--peers NAME ...] [--database-url DSN]

Each recorded session is lived call by call, by langledger and by its peers at the same window
and trigger. What is sent and cached is counted as `langledger bench continuity` does it. Between
compactions all of the earlier view must still stand at the beginning of the new one. Of the paths,
names and numbers that the recorded agent wrote in its next action and that had come up before,
those in view are counted over all calls, not at compactions alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from langchain_core.messages import AIMessage, BaseMessage
from peers import sides

from langledger import Ledger
from langledger.evaluate.facts import actions_of, values_in
from langledger.evaluate.meter import Cost, Meter
from langledger.evaluate.samples import conversation, sessions_of
from langledger.evaluate.scoring import message_text


@dataclass
class Figures(Cost):
    compactions: int = 0
    broken: int = 0  # calls whose view does not begin with the one before, without a compaction
    values: int = 0  # of the next actions, known before
    in_view: int = 0
    failed: int = 0

    def add(self, other: Cost) -> None:
        for each in fields(other):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def next_values(messages: list[BaseMessage]) -> dict[int, list[str]]:
    """Return by place of an answer what its first action takes up from before."""
    found: dict[int, list[str]] = {}
    before = ""
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            actions = actions_of(messages, start=place, most=1)
            values = dict.fromkeys(values_in(actions[0])) if actions else ()
            found[place] = [value for value in values if value in before]
        before += f"\n{message_text(message)}"
    return found


def live(name: str, messages: list[BaseMessage], side: Any, window: int) -> Figures:
    figures, meter, last = Figures(), Meter(window), list[Any]()
    for place, values in next_values(messages).items():
        if place == 0:
            continue
        events = side.events
        try:
            view = side.view(messages[:place])
        except Exception as error:  # noqa: BLE001 - a peer's failure is a figure
            figures.failed += 1
            print(f"  {name} call {place}: {error!r:.120}", file=sys.stderr)
            break
        meter.take(view)
        shown = [(m.type, m.content, getattr(m, "tool_calls", None)) for m in view]
        figures.broken += side.events == events and shown[: len(last)] != last
        text = "\n".join(map(message_text, view))
        figures.values += len(values)
        figures.in_view += sum(value in text for value in values)
        last = shown
    figures.compactions = side.events
    figures.add(meter.cost)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transcripts", type=Path, default=Path("../shared/transcripts"))
    parser.add_argument("--window", type=int, default=32_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--least", type=int, default=0, help="messages of a session")
    parser.add_argument("--most", type=int, default=100_000, help="messages of a session")
    parser.add_argument("--peers", nargs="*", help="names to compare with; all by default")
    parser.add_argument("--database-url")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # run by root, the embedded server is another user
        data_dir = None if options.database_url else Path(folder) / "data"
        with Ledger.from_conn_string(options.database_url, data_dir=data_dir) as ledger:
            compare(options, ledger)


def compare(options: argparse.Namespace, ledger: Ledger) -> None:
    makers = chosen(sides(ledger, options.window), options.peers)
    totals = {name: Figures() for name in makers}
    done = 0
    for name, session in sessions_of([options.transcripts], ledger, tell=print):
        size = len(session.messages)
        if options.only not in name or not options.least <= size <= options.most:
            continue
        messages, _ = conversation(session)
        for side, make in makers.items():
            totals[side].add(live(name, messages, make(), options.window))
        done += 1
        report(totals, done, sys.stderr)  # so far: a long run may be cut short
    if not done:
        sys.exit(f"no such sessions in {options.transcripts}")
    report(totals, done, sys.stdout)


def chosen(
    makers: dict[str, Callable[..., Any]], peers: list[str] | None
) -> dict[str, Callable[[], Any]]:
    """Ours, once more with a higher aim, and the peers asked for."""
    ours = makers["langledger"]
    others = {
        name: make
        for name, make in makers.items()
        if name != "langledger" and (peers is None or name.split()[0] in peers)
    }
    aim = {"langledger, target 0.45, keep 0.2": lambda: ours(target=0.45, keep=0.2)}
    return {"langledger": ours, **aim, **others}


def report(totals: dict[str, Figures], sessions: int, to: TextIO) -> None:
    print(f"{sessions} sessions", file=to)
    print(
        "| | calls | compactions | views rewritten without one | prefix kept | tokens sent | "
        "billed with a cache | values in view | over the window | sessions ended by an error |",
        file=to,
    )
    print("|---|---|---|---|---|---|---|---|---|---|", file=to)
    for name, f in totals.items():
        print(
            f"| {name} | {f.calls:,} | {f.compactions:,} | {f.broken:,} | "
            f"{100 * f.cached_tokens / max(f.prompt_tokens, 1):.2f} % | "
            f"{f.prompt_tokens / 1e6:.1f} M | {f.billed / 1e6:.2f} M | "
            f"{100 * f.in_view / max(f.values, 1):.1f} % | {f.over_window:,} | {f.failed} |",
            file=to,
            flush=True,
        )


if __name__ == "__main__":
    main()
