"""The demo as a whole: the runs, what each kept, and the checks that must hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import BaseMessage

from langledger.compaction.records import CompactionReport
from langledger.compaction.validity import provider_problems
from langledger.demo.agents import TRIGGER, Run, run_with_langchain, run_with_ledger
from langledger.demo.measure import REASON, RULE, Kept, measure
from langledger.ledger import Ledger
from langledger.state.records import WorkingState

__all__ = ["WINDOW", "Check", "Outcome", "run_demo"]

WINDOW = 12_000
"""Tokens of the demo's window: small, so that a short session fills it more than once."""

# What langledger gives summary and state together at this window, for a summary alone.
_SUMMARY_TOKENS = 2 * WINDOW // 10
_LANGCHAIN_TRIM = 4000  # its default


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold.

    Attributes:
        name: What it is.
        passed: Whether it holds.
        detail: The figure behind it.
    """

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the demo gave.

    Attributes:
        run: The run with langledger.
        ours: What it kept.
        theirs: What LangChain's middleware kept, its summariser handed everything.
        theirs_by_default: The same with its default for what the summariser is handed.
        reports: The compactions.
        state: The working state at the end.
        checks: What must hold.
    """

    run: Run
    ours: Kept
    theirs: Kept
    theirs_by_default: Kept
    reports: list[CompactionReport]
    state: WorkingState
    checks: list[Check]

    @property
    def passed(self) -> bool:
        """Whether everything holds."""
        return all(check.passed for check in self.checks)


def run_demo(
    ledger: Ledger, folder: Path, *, thread_id: str, progress: Callable[[str], None]
) -> Outcome:
    """Live the session with langledger and with LangChain's middleware, and compare.

    Args:
        ledger: Where the history goes.
        folder: Where the repositories are written, one for each run.
        thread_id: The thread to write; it must be new.
        progress: Told what goes on, a line at a time.
    """
    progress("An agent works on a small repository, with langledger ...")
    run = run_with_ledger(
        ledger,
        folder / "with-langledger",
        window=WINDOW,
        thread_id=thread_id,
        progress=lambda done, total: progress(f"  turn {done} of {total}"),
    )
    progress("The same session with LangChain's SummarizationMiddleware ...")
    theirs, by_default = (
        measure(_langchain_run(folder, trim), window=WINDOW) for trim in (None, _LANGCHAIN_TRIM)
    )
    ours = measure(run, window=WINDOW)
    entries = [entry.message for entry in ledger.history(thread_id)]
    return Outcome(
        run=run,
        ours=ours,
        theirs=theirs,
        theirs_by_default=by_default,
        reports=ledger.compactions(thread_id),
        state=ledger.state(thread_id),
        checks=_checks(run, ours, entries),
    )


def _langchain_run(folder: Path, trim: int | None) -> Run:
    name = "with-langchain" if trim is None else "with-langchain-defaults"
    return run_with_langchain(
        folder / name,
        window=WINDOW,
        thread_id=name,
        summary_tokens=_SUMMARY_TOKENS,
        trim=trim,
    )


def _checks(run: Run, kept: Kept, entries: list[BaseMessage]) -> list[Check]:
    invalid = sum(bool(provider_problems(call.messages)) for call in run.calls)
    recalled = " ".join(run.recalled)
    compactions = len(kept.compactions)
    limit = TRIGGER + 0.13
    return [
        Check("compacted at least twice", compactions >= 2, f"{compactions} compactions"),
        Check(
            f"no model call over {limit:.0%} of the window",
            kept.largest_call <= limit,
            f"largest {kept.largest_call:.0%}",
        ),
        Check("every view valid for every provider", not invalid, f"{invalid} invalid"),
        Check(
            "files changed so far named after each compaction",
            kept.least_named == 1.0,
            f"at least {kept.least_named:.0%}",
        ),
        Check(
            "last action named after each compaction",
            kept.last_action_named == compactions,
            f"{kept.last_action_named} of {compactions}",
        ),
        Check(
            "every message kept, unchanged",
            entries == run.messages and len(entries) == kept.messages,
            f"{len(entries)} entries",
        ),
        Check(
            "rule and reason read back by reference",
            RULE in recalled and REASON in recalled,
            f"{len(recalled):,} characters",
        ),
        Check(
            "the agent's work is right: the repository's tests pass",
            run.tests.endswith("exit code 0"),
            run.tests.splitlines()[-2] if len(run.tests.splitlines()) > 1 else run.tests,
        ),
    ]
