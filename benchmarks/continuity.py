"""What must hold at every call of a recorded session, and what the truth files say is in view.

    python benchmarks/continuity.py [--transcripts ../shared/transcripts] [--window 32000 ...]
                                    [--only SUBSTRING] [--database-url DSN] [--jsonl FILE]

`langledger bench continuity` scores views after compactions, ours and the others'; this looks at
ours alone, at all calls. Each session is replayed through the real middleware on a real PostgreSQL.
Every view is checked against the pairing property and measured by the exact tokeniser; after each
compaction the files edited so far (truth: edits by a tool that succeeded) are looked for in
the view by their whole path. For sessions whose own agent compacted, ours compacts at the
same message, and the same share is taken of the real summary's text.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.messages import AIMessage, BaseMessage

from langledger import Ledger
from langledger.compaction.validity import provider_problems
from langledger.errors import LangLedgerError
from langledger.replay import run as replay_module
from langledger.replay.run import replay
from langledger.replay.session import Session, load_session
from langledger.tokens import count_message, count_text


@dataclass
class Figures:
    session: str
    window: int
    error: str | None = None
    messages: int = 0
    calls: int = 0
    compactions: int = 0
    invalid_views: int = 0
    largest_share: float = 0.0
    over_85: int = 0
    unstable_views: int = 0
    files_due: int = 0
    files_named: int = 0
    last_actions_due: int = 0
    last_actions_named: int = 0
    largest_head: int = 0
    trigger_shares: list[float] = field(default_factory=list)
    entries_equal: bool = False
    seconds: float = 0.0
    peak_mb: float = 0.0
    missed: list[str] = field(default_factory=list)
    real: list[dict] = field(default_factory=list)


class Watch(replay_module._Player):
    """The player, with an eye on every view."""

    figures: Figures
    sizes: dict[int, int]

    def _call(self, index: int, answer: AIMessage | None) -> list[BaseMessage]:
        before = self._result.compactions[-1:]
        view = super()._call(index, answer)
        figures = type(self).figures
        figures.calls += 1
        figures.invalid_views += bool(provider_problems(view))
        tokens = sum(self._size(m) for m in view)
        figures.largest_share = max(figures.largest_share, tokens / figures.window)
        figures.over_85 += tokens > 0.85 * figures.window
        compacted = self._result.compactions[-1:] != before
        last = getattr(self, "_last_view", [])
        if not compacted and view[: len(last)] != last and not self._late_result(view, last):
            figures.unstable_views += 1
        self._last_view = view
        return view

    def _late_result(self, view: list[BaseMessage], last: list[BaseMessage]) -> bool:
        """A stub that its late result replaced is the one change a view may see."""
        changed = next((m for m, n in zip(last, view, strict=False) if m != n), None)
        return changed is not None and str(changed.id).startswith("unanswered-")

    def _size(self, message: BaseMessage) -> int:
        sizes = type(self).sizes
        if id(message) not in sizes:
            sizes[id(message)] = count_message(message)
            type(self).kept.append(message)  # so that the id stays its own
        return sizes[id(message)]


def measure(path: Path, ledger: Ledger, window: int, compact_at: list[int], name: str) -> Figures:
    figures = Figures(session=f"{path.parent.name}/{path.stem}", window=window)
    truth = json.loads(path.with_suffix("").with_suffix(".truth.json").read_text())
    Watch.figures, Watch.sizes, Watch.kept = figures, {}, []
    replay_module._Player = Watch
    started = time.perf_counter()
    try:
        session = load_session(path)
        result = replay(session, ledger, window=window, thread_id=name, compact_at=compact_at)
    except LangLedgerError as error:
        figures.error = f"{type(error).__name__}: {error}"
        return figures
    figures.seconds = round(time.perf_counter() - started, 2)
    figures.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures.messages, figures.compactions = result.messages, len(result.compactions)
    history = [e.message for e in ledger.history(name)]
    figures.entries_equal = sorted(map(repr, history)) == sorted(
        repr(m.message) for m in session.messages
    )
    for done in result.compactions:
        text = "\n".join(_texts(done.view))
        due = edited_before(truth, done.index)
        missed = [p for p in due if p not in text]
        figures.files_due += len(due)
        figures.files_named += len(due) - len(missed)
        figures.missed += [f"{done.index}:{p}" for p in missed]
        figures.trigger_shares.append(round(done.report.tokens_before / window, 3))
        figures.largest_head = max(
            figures.largest_head, done.report.summary_tokens + done.report.state_tokens
        )
        action = last_action(session, done.index)
        unescaped = text.replace("\\'", "'").replace("\\\\", "\\")
        if action:
            figures.last_actions_due += 1
            figures.last_actions_named += all(part in unescaped for part in action)
        if done.index in compact_at:
            figures.real.append(real_share(session, done.index, due, missed, done))
    return figures


def edited_before(truth: dict, index: int) -> list[str]:
    """Files edited by a tool that succeeded, before message ``index``."""
    found = []
    for name, record in truth["files_touched"].items():
        actions = [
            a for a in record["actions"] if a["via"] == "tool" and a["ok"] and a["i"] < index
        ]
        if actions and result_known(actions, index):
            found.append(name)
    return found


def result_known(actions: list[dict], index: int) -> bool:
    """An edit whose result the agent has not seen yet is not done yet."""
    return any(a["i"] + 1 < index for a in actions)


def last_action(session: Session, index: int) -> list[str] | None:
    """What names the newest tool call before message ``index``: its tool and its arguments."""
    for item in reversed(session.messages[:index]):
        calls = getattr(item.message, "tool_calls", [])
        if item.shown and calls:
            args = [
                value for value in list(calls[-1]["args"].values())[:2] if isinstance(value, str)
            ]
            first_lines = [text.strip().splitlines()[0][:40] for text in args if text.strip()]
            return [calls[-1]["name"], *(line for line in first_lines if line.isprintable())]
    return None


def real_share(session, index, due, missed, done) -> dict:
    summary = session.messages[index].message.text if index < len(session.messages) else ""
    head = next(m.text for m in done.view if "langledger" in m.additional_kwargs)
    readable = bool(summary) and not session.messages[index].shown
    named = [p for p in due if p in summary or Path(p).name in summary]
    return {
        "index": index,
        "files": len(due),
        "ours": len(due) - len(missed),
        "theirs": len(named) if readable else None,
        "their_tokens": count_text(summary) if readable else None,
        "our_tokens": done.report.summary_tokens + done.report.state_tokens,
        "ours_in_head": sum(p in head for p in due),
    }


def _texts(view: list[BaseMessage]) -> list[str]:
    return [f"{m.content}\n{getattr(m, 'tool_calls', '')}" for m in view]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transcripts", type=Path, default=Path("../shared/transcripts"))
    parser.add_argument("--window", type=int, nargs="*", default=[32_000, 128_000])
    parser.add_argument("--only", default="")
    parser.add_argument("--database-url")
    parser.add_argument("--jsonl", type=Path)
    options = parser.parse_args()
    files = sorted(
        path
        for path in options.transcripts.glob("*/*.jsonl")
        if path.parent.name != "raw" and options.only in str(path)
    )
    if not files:
        sys.exit(f"no sessions in {options.transcripts}")
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # run by root, the embedded server is another user
        data_dir = None if options.database_url else Path(folder) / "data"
        with Ledger.from_conn_string(options.database_url, data_dir=data_dir) as ledger:
            rows = [row for path in files for row in run_all(path, ledger, options.window)]
    if options.jsonl:
        options.jsonl.write_text("".join(json.dumps(vars(row)) + "\n" for row in rows))
    report(rows)


def run_all(path: Path, ledger: Ledger, windows: list[int]) -> list[Figures]:
    truth = json.loads(path.with_suffix("").with_suffix(".truth.json").read_text())
    rows = []
    for window in windows:
        rows.append(measure(path, ledger, window, [], f"{path.stem}@{window}"))
        print(line(rows[-1]), file=sys.stderr, flush=True)
    real = [c["i"] for c in truth["compactions"]]
    if real:  # the recorded agents compacted at about 160,000 to 200,000 tokens
        rows.append(measure(path, ledger, 400_000, real, f"{path.stem}@real"))
        rows[-1].window = 0
        print(line(rows[-1]), rows[-1].real, file=sys.stderr, flush=True)
    return rows


def line(row: Figures) -> str:
    name = f"{row.session[:55]:<55} {row.window:>7}"
    if row.error:
        return f"{name} FAILED {row.error}"
    return (
        f"{name} {row.messages:>5} msgs {row.compactions:>3} compactions  max "
        f"{row.largest_share:.2f}  invalid {row.invalid_views}  unstable {row.unstable_views}  "
        f"files {row.files_named}/{row.files_due}  last "
        f"{row.last_actions_named}/{row.last_actions_due}  head {row.largest_head}  "
        f"{row.seconds:.1f} s {row.peak_mb:.0f} MB equal {row.entries_equal}"
    )


def report(rows: list[Figures]) -> None:
    for window in sorted({row.window for row in rows}):
        own = [row for row in rows if row.window == window]
        good = [row for row in own if not row.error]
        print(f"\nwindow {window or 'at the real compactions'}")
        print(f"  sessions {len(own)}, failed {len(own) - len(good)}")
        for text in [*figures_of(good, window), *against_real(good)]:
            print(f"  {text}")


def figures_of(rows: list[Figures], window: int) -> list[str]:
    def total(name: str) -> int:
        return sum(getattr(row, name) for row in rows)

    def most(name: str) -> float:
        return max((getattr(row, name) for row in rows), default=0)

    named, due = total("files_named"), total("files_due")
    shares = sorted(share for row in rows for share in row.trigger_shares)
    texts = [
        f"model calls {total('calls')}, compactions {total('compactions')}",
        (
            f"views over 85 %: {total('over_85')}; invalid: {total('invalid_views')}; "
            f"prefix changed without compaction: {total('unstable_views')}"
        ),
        (
            f"files edited so far, named in the view: {named} of {due} "
            f"({100 * named / max(due, 1):.2f} %)"
        ),
        f"last action named: {total('last_actions_named')} of {total('last_actions_due')}",
        f"largest summary + state: {most('largest_head')} tokens",
        f"entries equal to what went in: {total('entries_equal')} of {len(rows)} sessions",
        (
            f"seconds {total('seconds'):.0f}, slowest {most('seconds'):.1f}; "
            f"peak memory {most('peak_mb'):.0f} MB"
        ),
    ]
    if shares and window:
        middle = shares[len(shares) // 2]
        texts.append(f"share when it fired: {shares[0]} to {shares[-1]}, median {middle}")
    return texts


def against_real(rows: list[Figures]) -> list[str]:
    real = [found for row in rows for found in row.real if found["theirs"] is not None]
    if not real:
        return []
    files, ours, head, theirs, our_size, their_size = (
        sum(found[key] for found in real)
        for key in ("files", "ours", "ours_in_head", "theirs", "our_tokens", "their_tokens")
    )
    return [
        (
            f"against {len(real)} real summaries: files {files}, ours {ours} in the view, "
            f"{head} in summary and state alone "
            f"({100 * ours / files:.1f} %), theirs {theirs} ({100 * theirs / files:.1f} %); "
            f"mean tokens ours {our_size // len(real)}, theirs {their_size // len(real)}"
        )
    ]


if __name__ == "__main__":
    main()
