"""Whether a change of topic is noticed, and what goes on is left alone, on recorded sessions.

    python benchmarks/task_switches.py [TRANSCRIPTS] [--show]

- own: each message of a user within its own session; a switch is false, or the session really
  turned to something else (a reader tells: they are printed);
- foreign: the first request of each session, put into the middle of each session of another
  project; all of them should be noticed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from langchain_core.messages import BaseMessage

from langledger.replay.session import load_session
from langledger.state.fold import StateFold
from langledger.state.records import WorkingState
from langledger.state.statements.prose import user_text
from langledger.state.tasks import belongs_to

NEXT = 10**6  # the entry a message put in would be
# names of files: what stands before a hash, an issue or a dash and a number is the project
PROJECT = re.compile(r"[-_.]?[0-9a-f]{8,}$|-\d+.*$")


def sessions(root: Path) -> Iterator[tuple[str, list[tuple[int, BaseMessage]]]]:
    """Yield each session's name and what was shown in it."""
    for truth in sorted(root.glob("*/*.truth.json")):
        session = load_session(truth.with_name(truth.name.replace(".truth.json", ".jsonl")))
        yield session_name(truth), [(e.index, e.message) for e in session.messages if e.shown]


def session_name(truth: Path) -> str:
    return truth.name.removesuffix(".truth.json")


def said(message: BaseMessage) -> str:
    """Return what a user typed; empty for any other message."""
    return user_text(message).strip() if message.type == "human" else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("transcripts", type=Path, nargs="?", default=Path("../shared/transcripts"))
    parser.add_argument("--show", action="store_true", help="name what was noticed, by request")
    options = parser.parse_args()
    middles: dict[str, WorkingState] = {}
    requests: dict[str, str] = {}
    own = 0
    for name, messages in sessions(options.transcripts):
        fold = StateFold()
        for position, (index, message) in enumerate(messages):
            if position == len(messages) // 2:
                middles[name] = fold.state
            before = fold.state.task_id
            fold.add(message, index)
            text = said(message)
            if not text:
                continue
            requests.setdefault(name, text)
            own += 1
            if fold.state.task_id != before:
                print(f"switched: {name} #{index} {text[:120]!r}")
    noticed = asked = 0
    for other, request in requests.items():
        project = PROJECT.sub("", other)
        places = [state for name, state in middles.items() if PROJECT.sub("", name) != project]
        found = sum(belongs_to(state, request, NEXT) != state.task_id for state in places)
        noticed, asked = noticed + found, asked + len(places)
        if options.show:
            print(f"{found:>3} of {len(places)}: {other} {request[:80]!r}")
    print(f"messages of users within their own session: {own}")
    print(f"first requests of another project: {noticed} of {asked} noticed")


if __name__ == "__main__":
    main()
