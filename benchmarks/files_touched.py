"""How well the working state knows what recorded agents did.

Folds every recorded session and compares the state with the session's truth file:

- files edited by the agents' tools: recall and precision, by format;
- files changed through a shell, where the truth is itself a heuristic: recall;
- for mini-swe-agent, whose every edit is a shell command: recall of the submitted patch;
- the last list of steps, the last action, and milliseconds of processor time per message.

Run from the project's root::

    python benchmarks/files_touched.py [TRANSCRIPTS] [--misses] [--no-status]

``--no-status`` drops the recorded error flags and exit codes, so that only words tell of failures.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from langledger.replay.session import load_session
from langledger.state.fold import StateFold
from langledger.state.records import FileChange, WorkingState

# codex's exec runs scripts that hand commands to a shell, or patches to apply_patch; what the
# commands redirect is a "write", which a patch never is
SCRIPTED = "exec"
SHELLS = {"Bash", "bash", "execute_bash", "shell", "shell_command", "exec_command", "Monitor"}


@dataclass
class Score:
    """Counts of one format."""

    sessions: int = 0
    messages: int = 0
    expected: int = 0
    found: int = 0
    claimed: int = 0
    right: int = 0
    shell_expected: int = 0
    shell_found: int = 0
    patch_expected: int = 0
    patch_found: int = 0
    todo_expected: int = 0
    todo_found: int = 0
    last_expected: int = 0
    last_found: int = 0
    milliseconds: list[float] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)


def load(path: Path, *, status: bool = True) -> list[BaseMessage]:
    """Return the messages of a session; message ``i`` is line ``i`` of the normalised format."""
    messages = [entry.message for entry in load_session(path).messages]
    return messages if status else [_without_status(message) for message in messages]


def _without_status(message: BaseMessage) -> BaseMessage:
    """Return a result with nothing but its words to tell how the call ended."""
    if not isinstance(message, ToolMessage):
        return message
    return message.model_copy(update={"status": "success", "additional_kwargs": {}})


def sessions(root: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Yield each session's format, file and truth."""
    for truth in sorted(root.glob("*/*.truth.json")):
        session = truth.with_name(truth.name.replace(".truth.json", ".jsonl"))
        yield truth.parent.name, session, json.loads(truth.read_text(encoding="utf-8"))


def measure(session: Path, truth: dict[str, Any], score: Score, *, status: bool) -> None:
    """Fold one session and add what it shows to the score."""
    folding = StateFold(cwd=truth.get("cwd"))
    for seq, message in enumerate(load(session, status=status)):
        start = time.process_time()
        folding.add(message, seq)
        score.milliseconds.append((time.process_time() - start) * 1000)
        score.messages += 1
    score.sessions += 1
    state = folding.state
    _files(session, truth, state, score)
    _steps(session, truth, state, score)
    _last_action(session, truth, state, score)


def _files(session: Path, truth: dict[str, Any], state: WorkingState, score: Score) -> None:
    touched = truth["files_touched"]
    by_tool = {p for p, r in touched.items() if _done(r, "tool")}
    by_shell = {p for p, r in touched.items() if _done(r, "shell")} - by_tool
    ours = {_as_truth(path, touched): record for path, record in state.files_touched.items()}
    claimed = {p for p, record in ours.items() if any(map(_by_tool, record.actions))}
    score.expected += len(by_tool)
    score.found += len(by_tool & ours.keys())
    score.claimed += len(claimed)
    score.right += len(claimed & by_tool)
    score.shell_expected += len(by_shell)
    score.shell_found += len(by_shell & ours.keys())
    patch = set(truth.get("final_patch_files") or ())
    score.patch_expected += len(patch)
    score.patch_found += len(patch & ours.keys())
    missing = {
        "missed": by_tool - ours.keys(),
        "not in truth": claimed - by_tool,
        "shell missed": by_shell - ours.keys(),
        "patch missed": patch - ours.keys(),
    }
    for kind, paths in missing.items():
        score.misses += [f"{session.stem}: {kind}: {path}" for path in sorted(paths)]


def _as_truth(path: str, truth: Iterable[str]) -> str:
    """Return the path as the truth has it.

    Where a session worked in several directories the truth makes paths relative to each of
    them; the state, which knows one, leaves the others absolute.
    """
    if not path.startswith("/") or path in truth:
        return path
    return next((known for known in truth if path.endswith("/" + known)), path)


def _by_tool(change: FileChange) -> bool:
    if change.tool == SCRIPTED:
        return change.action != "write"
    return change.tool not in SHELLS


def _done(record: dict[str, Any], via: str) -> bool:
    return any(a["via"] == via and a["ok"] for a in record["actions"])


def _steps(session: Path, truth: dict[str, Any], state: WorkingState, score: Score) -> None:
    listed = [s for s in state.task_progress if not s.archived]
    have = {(step.step, step.status) for step in listed}
    for item in truth.get("todo_last") or ():
        if not item["content"]:
            continue
        score.todo_expected += 1
        wanted = (" ".join(item["content"].split()), item["status"])
        if any(s == wanted[1] and (t == wanted[0] or t[:150] == wanted[0][:150]) for t, s in have):
            score.todo_found += 1
        else:
            score.misses.append(f"{session.stem}: step missed: {wanted}")


def _last_action(session: Path, truth: dict[str, Any], state: WorkingState, score: Score) -> None:
    wanted, last = truth.get("last_action"), state.last_action
    if not wanted:
        return
    score.last_expected += 1
    if last and (last.source, last.tool) == (wanted["i"], wanted["tool"]):
        score.last_found += 1
    else:
        score.misses.append(f"{session.stem}: last action {wanted['i']} {wanted['tool']}: {last}")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f} %" if whole else "      –"


def report(scores: dict[str, Score]) -> None:
    """Print one line a format."""
    print(
        f"{'format':16} {'n':>2} {'msgs':>5} {'files':>5} {'recall':>7} {'precis.':>7}"
        f" {'shell':>11} {'patch':>9} {'steps':>9} {'last':>6} {'ms p50':>7} {'p99':>6} {'max':>6}"
    )
    for name, s in scores.items():
        times = sorted(s.milliseconds)
        print(
            f"{name:16} {s.sessions:2} {s.messages:5} {s.expected:5} {_share(s.found, s.expected)}"
            f" {_share(s.right, s.claimed)} {s.shell_found:5}/{s.shell_expected:<5}"
            f" {s.patch_found:4}/{s.patch_expected:<4} {s.todo_found:4}/{s.todo_expected:<4}"
            f" {s.last_found:3}/{s.last_expected:<2} {statistics.median(times):7.3f}"
            f" {times[int(len(times) * 0.99)]:6.2f} {times[-1]:6.1f}"
        )


def _total(scores: dict[str, Score]) -> Score:
    total = Score()
    for score in scores.values():
        for name, value in vars(score).items():
            setattr(total, name, getattr(total, name) + value)
    return total


def main() -> None:
    """Measure all sessions and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("transcripts", type=Path, nargs="?", default=Path("../shared/transcripts"))
    parser.add_argument("--misses", action="store_true", help="list every difference")
    parser.add_argument("--no-status", action="store_true", help="ignore the error flags")
    options = parser.parse_args()
    scores: dict[str, Score] = defaultdict(Score)
    for name, session, truth in sessions(options.transcripts):
        measure(session, truth, scores[name], status=not options.no_status)
    if not scores:
        parser.error(f"no sessions in {options.transcripts}; give the folder of transcripts")
    report({**scores, "all": _total(scores)})
    if options.misses:
        print("\n".join(line for score in scores.values() for line in score.misses))


if __name__ == "__main__":
    main()
