"""How stable the prefix of the prompt stays, and what a prompt cache would bill.

    python benchmarks/prefix.py [--transcripts ../shared/transcripts] [--window 32000]
                                [--only SUBSTRING] [--most MESSAGES] [--peers NAME ...]
                                [--database-url DSN]

Each recorded session is lived call by call, by langledger and by its peers at the same window
and trigger. A view is compared byte for byte with the one before. Between compactions all of
the earlier view must still stand at the beginning of the new one. A cache bills a tenth of a
token that stood at the same place in the call before. Against the cost stands what the views
hold: of the paths, names and numbers that the recorded agent wrote in its next action and that
had come up before, those in view, over all calls.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from peers import LangMem, Ours, compactions_of, peers

from langledger import Ledger
from langledger.evaluate.facts import actions_of, values_in
from langledger.evaluate.scoring import message_text
from langledger.replay.session import load_session
from langledger.tokens import count_message

CACHED = 0.1


@dataclass
class Figures:
    calls: int = 0
    rewritten: int = 0  # calls whose view does not begin with the whole view before
    announced: int = 0  # compactions
    broken: int = 0  # rewritten without a compaction
    tokens: int = 0
    same: int = 0  # tokens that stood in the view before, at the same place
    over: int = 0  # calls larger than the window
    failed: int = 0
    values: int = 0  # of the next actions, known before
    in_view: int = 0
    seconds: float = 0.0

    @property
    def billed(self) -> float:
        return self.tokens - self.same * (1 - CACHED)


def as_sent(message: BaseMessage) -> bytes:
    """What of a message a provider is sent."""
    calls = getattr(message, "tool_calls", None)
    parts = [message.type, message.content, calls, getattr(message, "tool_call_id", None)]
    return json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str).encode(
        "utf-8", "replace"
    )


class Meter:
    """Compares each view with the one before."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.figures = Figures()
        self.last: list[bytes] = []
        self.sizes: dict[bytes, int] = {}

    def take(self, view: list[BaseMessage], compactions: int) -> None:
        sent = [as_sent(message) for message in view]
        sizes = [self.size(raw, message) for raw, message in zip(sent, view, strict=True)]
        same = 0
        while same < min(len(sent), len(self.last)) and sent[same] == self.last[same]:
            same += 1
        figures = self.figures
        figures.calls += 1
        figures.tokens += sum(sizes)
        figures.same += sum(sizes[:same])
        figures.over += sum(sizes) > self.window
        rewritten = bool(self.last) and same < len(self.last)
        figures.rewritten += rewritten
        figures.broken += rewritten and compactions == figures.announced
        figures.announced = compactions
        self.last = sent

    def size(self, raw: bytes, message: BaseMessage) -> int:
        if raw not in self.sizes:
            self.sizes[raw] = count_message(message)
        return self.sizes[raw]


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


def live(path: Path, make: Callable[[], Any], ledger: Ledger, window: int) -> Figures:
    session = load_session(path)
    messages = [m.message for m in session.messages if m.shown]
    messages = [m for m in messages if not isinstance(m, SystemMessage)]
    side, meter, values = make(), Meter(window), next_values(messages)
    started = time.perf_counter()
    for end, message in enumerate(messages):
        if not isinstance(message, AIMessage) or end == 0:
            continue
        message.usage_metadata = None  # recorded by another agent, of another prompt
        try:
            view = side.view(messages[:end])
        except Exception as error:  # noqa: BLE001 - a peer's failure is a figure
            meter.figures.failed += 1
            print(f"  {path.stem[:40]} call {end}: {error!r:.120}", file=sys.stderr)
            break
        meter.take(view, compactions_of(side, ledger))
        text = "\n".join(map(message_text, view))
        meter.figures.values += len(values[end])
        meter.figures.in_view += sum(value in text for value in values[end])
    meter.figures.seconds = time.perf_counter() - started
    return meter.figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transcripts", type=Path, default=Path("../shared/transcripts"))
    parser.add_argument("--window", type=int, default=32_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=100_000, help="messages of a session")
    parser.add_argument("--peers", nargs="*", help="names to compare with; all by default")
    parser.add_argument("--database-url")
    options = parser.parse_args()
    files = sorted(
        path
        for path in options.transcripts.glob("*/*.jsonl")
        if path.parent.name != "raw"
        and options.only in str(path)
        and sum(1 for _ in path.open(encoding="utf-8")) <= options.most
    )
    if not files:
        sys.exit(f"no sessions in {options.transcripts}")
    totals: dict[str, Figures] = {}
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # run by root, the embedded server is another user
        data_dir = None if options.database_url else Path(folder) / "data"
        with Ledger.from_conn_string(options.database_url, data_dir=data_dir) as ledger:
            sides = {
                "langledger": lambda: Ours(ledger, options.window),
                "langledger, target 0.45, keep 0.2": lambda: Ours(
                    ledger, options.window, target=0.45, keep=0.2
                ),
            }
            for name, kind in peers().items():
                if kind is LangMem:  # it keeps no state of its own between graph runs
                    continue
                if options.peers is not None and name.split()[0] not in options.peers:
                    continue
                sides[name] = lambda kind=kind: kind(options.window)
            for done, path in enumerate(files, 1):
                for name, make in sides.items():
                    add(
                        totals.setdefault(name, Figures()), live(path, make, ledger, options.window)
                    )
                report(totals, done, sys.stderr)  # so far: a long run may be cut short
    report(totals, len(files), sys.stdout)


def add(total: Figures, one: Figures) -> None:
    for name, value in vars(one).items():
        setattr(total, name, getattr(total, name) + value)


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
            f"| {name} | {f.calls:,} | {f.announced:,} | {f.broken:,} | "
            f"{100 * f.same / max(f.tokens, 1):.2f} % | {f.tokens / 1e6:.1f} M | "
            f"{f.billed / 1e6:.2f} M | {100 * f.in_view / max(f.values, 1):.1f} % | {f.over:,} | "
            f"{f.failed} |",
            file=to,
            flush=True,
        )


if __name__ == "__main__":
    main()
