"""What the working state knows of what was said on recorded sessions.

    python benchmarks/state_said.py [TRANSCRIPTS] [--sample N] [--growth]

- decisions: answers to question tools and approved plans (truth: ``decisions``), recall;
- steps: the last list (``todo_last``), and that before each real compaction;
- user directives: every hit of the patterns in a user message, a sample for a reader to judge;
- tasks noticed; size of the state over the messages; milliseconds a message.

The sample is printed for a reader; what one said of each hit is in benchmarks/state_judged.md.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langledger.replay.session import load_session
from langledger.state.fold import StateFold
from langledger.state.records import KINDS, WorkingState
from langledger.state.render import render_state
from langledger.state.statements.patterns import user_statements
from langledger.state.statements.proposal import Noted
from langledger.state.statements.prose import user_text
from langledger.tokens import count_text

# what the truth files list as answers and approvals though nobody answered or approved
_REFUSED = ("doesn't want to proceed", "tool use was rejected", "No response after")


def sessions(root: Path) -> Iterator[tuple[Path, Any, dict[str, Any]]]:
    """Yield each session's file, messages and truth."""
    for truth in sorted(root.glob("*/*.truth.json")):
        session = truth.with_name(truth.name.replace(".truth.json", ".jsonl"))
        yield session, load_session(session), json.loads(truth.read_text(encoding="utf-8"))


def answered(truth: dict[str, Any]) -> list[int]:
    """Return the calls of question tools that the user answered."""
    found = (truth.get("decisions") or {}).get("asked_and_answered") or []
    return [
        item["i"]
        for item in found
        if item.get("answer") and not any(word in item["answer"] for word in _REFUSED)
    ]


def _rejected(session: Any, index: int) -> bool:
    following = session.messages[index + 1].message.text
    return any(word in following for word in _REFUSED)


def steps_known(state: WorkingState, listed: list[dict[str, Any]]) -> tuple[int, int]:
    """Return how many listed steps the state has with their status, and how many there are."""
    ours = Counter((s.step, s.status) for s in state.task_progress if not s.archived)
    theirs = [found for item in listed if (found := _step(item))[0]]
    known = 0
    for text, status in theirs:
        match = next((k for k in ours if ours[k] and _same_step(k, text, status)), None)
        if match is not None:
            ours[match] -= 1
            known += 1
    return known, len(theirs)


def _step(item: dict[str, Any]) -> tuple[str, str]:
    text = next((item[k] for k in ("content", "step", "subject", "title") if item.get(k)), "")
    return " ".join(str(text).split()), str(item.get("status", "pending"))


def _same_step(ours: tuple[str, str], text: str, status: str) -> bool:
    shown = ours[0].rstrip("…")  # a long one was cut
    return ours[1] == status and (ours[0] == text or shown == text[: len(shown)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("transcripts", type=Path, nargs="?", default=Path("../shared/transcripts"))
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--growth", action="store_true")
    options = parser.parse_args()
    hits: list[str] = []
    totals: Counter[str] = Counter()
    milliseconds: list[float] = []
    tasks: list[str] = []
    growth: dict[int, list[tuple[int, int]]] = {}
    slowest = ("", 0.0)
    for path, session, truth in sessions(options.transcripts):
        fold = StateFold(cwd=truth.get("cwd"))
        due = {c["i"]: c["before"] for c in truth["compactions"] if c.get("before")}
        for entry in session.messages:
            if entry.index in due:
                before = due[entry.index].get("todo") or due[entry.index].get("todo_last") or []
                known, listed = steps_known(fold.state, before)
                totals["steps before compactions known"] += known
                totals["steps before compactions"] += listed
            if not entry.shown:
                continue
            started = time.process_time()
            fold.add(entry.message, entry.index)
            took = (time.process_time() - started) * 1000
            milliseconds.append(took)
            slowest = max(slowest, (f"{path.stem} #{entry.index}", took), key=lambda s: s[1])
            if entry.message.type == "human":
                for said in user_statements(user_text(entry.message), entry.index):
                    name = said.kind if isinstance(said, Noted) else "revoked"
                    hits.append(f"{path.stem[:24]} #{entry.index} {name}: {said.what}")
            if (entry.index + 1) % 250 == 0:
                size = count_text(render_state(fold.state, max_tokens=1500, count=count_text))
                json_size = len(fold.state.model_dump_json())
                growth.setdefault(entry.index + 1, []).append((json_size, size))
        state = fold.state
        sources = {s for d in state.decisions for s in d.sources}
        asked = answered(truth)
        totals["answers due"] += len(asked)
        totals["answers known"] += sum(i in sources for i in asked)
        plans = (truth.get("decisions") or {}).get("plans") or []
        approved = [p for p in plans if p.get("accepted") and not _rejected(session, p["i"])]
        totals["plans due"] += len(approved)
        totals["plans known"] += sum(p["i"] in sources for p in approved)
        known, listed = steps_known(state, truth.get("todo_last") or [])
        totals["last steps known"] += known
        totals["last steps"] += listed
        for kind in KINDS:
            totals[f"records: {kind}"] += len(state.statements(kind))
        tasks += [f"{path.stem}: {name or 'the first'}" for name in state.other_tasks]
    distinct = sorted(set(hits))
    print(f"pattern hits in user messages: {len(hits)}, distinct sentences {len(distinct)}")
    sample = sorted(random.Random(5).sample(distinct, min(options.sample, len(distinct))))
    for number, hit in enumerate(sample, 1):
        print(f"  {number:>3} {hit[:200]}")
    for name, count in sorted(totals.items()):
        print(f"{name}: {count}")
    print(f"tasks noticed: {tasks or 'none'}")
    ordered = sorted(milliseconds)
    print(
        f"milliseconds a message: median {statistics.median(ordered):.3f}, "
        f"p95 {ordered[int(len(ordered) * 0.95)]:.3f}, slowest {slowest[1]:.1f} ({slowest[0]})"
    )
    if options.growth:
        for at, sizes in sorted(growth.items()):
            kilobytes = statistics.median(s[0] for s in sizes) / 1000
            shown = statistics.median(s[1] for s in sizes)
            most = max(s[0] for s in sizes) / 1000
            print(
                f"after {at} messages ({len(sizes)} sessions): JSON median {kilobytes:.0f} kB, "
                f"most {most:.0f} kB; shown {shown:.0f} tokens"
            )


if __name__ == "__main__":
    main()
