"""The benchmark ``continuity``: recorded sessions, lived by each strategy, scored at each event."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langledger.compaction.validity import provider_problems
from langledger.entries.log import thread_key
from langledger.evaluate.calls import attempt
from langledger.evaluate.facts import Action, actions_of, facts_of, task_type
from langledger.evaluate.journal import Journal, Record
from langledger.evaluate.meter import Meter
from langledger.evaluate.samples import conversation
from langledger.evaluate.scoring import Scores, View, message_text, score
from langledger.evaluate.sides import Setting, Side
from langledger.evaluate.skipping import Skipping
from langledger.evaluate.strategies import RECORDED, STRATEGIES, forcible
from langledger.ledger import Ledger
from langledger.operations import run as run_operation
from langledger.recall.types import SearchRequest
from langledger.replay.session import Session

__all__ = ["Searching", "run_session"]

_NEXT_ACTIONS = 10


@dataclass(slots=True)
class Searching:
    """Recall as an agent would use it, five hits a question, without leaving a trace."""

    ledger: Ledger
    thread_id: str | None

    def __call__(self, question: str) -> str:
        """Return the text of the hits; empty for a side without recall."""
        if self.thread_id is None or not question.strip():
            return ""
        space = thread_key(self.ledger.tenant, self.thread_id)
        request = SearchRequest(query=question, k=5, spaces=[space], touch=False)
        found = run_operation(self.ledger.recalling.search(request), self.ledger.executor)
        return "\n".join(hit.text for hit in found.hits)


def run_session(
    name: str,
    session: Session,
    ledger: Ledger,
    journal: Journal,
    *,
    strategies: Sequence[str],
    windows: Sequence[int],
    thresholds: Sequence[float],
    model: BaseChatModel | None = None,
    model_name: str = "",
    skipping: bool = False,
    tell: Callable[[str], None],
) -> None:
    """Let each strategy live a session at each window and threshold; write what it gave.

    What the journal holds already is not run again. The session's own compactions, where their
    text can be read, are scored as ``recorded``, and each strategy is made to compact at the
    same messages (``at`` is ``recorded``). ``skipping`` leaves out those calls of ours at which
    nothing can happen: what is written stays the same, but for the seconds.
    """
    live = _Session(name, session)
    grid: list[tuple[int, float, str]] = [(w, t, "window") for w in windows for t in thresholds]
    if live.summaries and RECORDED in strategies:
        grid.append((max(*windows, live.tokens * 2), 0.95, "recorded"))
    for window, threshold, at in grid:
        for strategy in _able(strategies, at):
            run = {
                "session": name, "strategy": strategy, "at": at, "threshold": threshold,
                "window": window if at == "window" else 0, "model": model_name,
            }  # fmt: skip
            if journal.done(run):
                continue
            setting = Setting(window=window, threshold=threshold, model=model, cwd=session.cwd)
            points = frozenset(live.summaries) if at == "recorded" else frozenset[int]()
            if strategy == RECORDED:
                records, closing = live.recorded(setting)
            else:
                side = STRATEGIES[strategy].make(ledger, setting)
                if skipping and strategy.startswith("langledger"):
                    side = Skipping(side, setting)
                records, closing = _Run(live, side, setting, ledger, points).live()
            journal.add(run, records, {**closing, "task_type": live.task_type})
            tell(_line(run, closing))


def _able(strategies: Sequence[str], at: str) -> list[str]:
    """Return the strategies that can be compared at a kind of place."""
    if at == "window":
        return [name for name in strategies if name != RECORDED]
    return [*forcible(strategies), RECORDED]


class _Session:
    """A session, and what is the same for every strategy."""

    def __init__(self, name: str, session: Session) -> None:
        self.name = name
        self.cwd = session.cwd
        self.messages, self.summaries = conversation(session)
        self.ids: AbstractSet[str] = {str(m.id) for m in self.messages}
        self.texts = [message_text(m) for m in self.messages]
        self.task_type = task_type(self.messages, cwd=self.cwd)
        meter = Meter(1)
        self.tokens = sum(meter.size(message) for message in self.messages)

    def event(
        self, index: int, view: Sequence[BaseMessage], reach: Callable[[str], str]
    ) -> tuple[Record, Scores]:
        """Score a view at a place; return the record's part that is about the session."""
        facts = facts_of(self.messages[:index], cwd=self.cwd)
        upcoming = actions_of(self.messages, start=index, most=_NEXT_ACTIONS)
        seen = View(view, self.ids)
        history = "\n".join(self.texts[:index])
        scores = score(facts, upcoming, seen, history=history, reach=reach)
        snapshot = {
            "edited": facts.edited, "deleted": facts.deleted, "read": len(facts.read),
            "commands": len(facts.commands), "requests": len(facts.requests),
            "steps": [asdict(step) for step in facts.steps.values()],
        }  # fmt: skip
        record = {
            "session": self.name,
            "task_type": self.task_type,
            "index": index,
            "state_snapshot": snapshot,
            "last_action": _brief(facts.last),
            "next_action": _brief(upcoming[0] if upcoming else None),
            "head": seen.head,
            **asdict(scores),
        }
        return record, scores

    def recorded(self, setting: Setting) -> tuple[list[Record], Record]:
        """Score the summaries that the recorded agent wrote."""
        records: list[Record] = []
        for number, (index, text) in enumerate(sorted(self.summaries.items()), start=1):
            view = [HumanMessage(text)]
            record, _ = self.event(index, view, lambda _: "")
            size = Meter(setting.window).size(view[0])
            records.append({
                **record, "kind": "event", "time": _now(), "event": number,
                "tokens_before": 0, "tokens_after": size, "seconds": 0.0, "problems": [],
            })  # fmt: skip
        return records, {"events": len(records), "error": "", "messages": len(self.messages)}


class _Run:
    """One strategy living one session."""

    def __init__(
        self, live: _Session, side: Side, setting: Setting, ledger: Ledger, points: AbstractSet[int]
    ) -> None:
        self.session = live
        self.side = side
        self.meter = Meter(setting.window)
        self.window = setting.window
        self.calls = setting.calls
        self.points = points
        self.reach = Searching(ledger, side.thread_id)
        self.records: list[Record] = []
        self.seconds = 0.0
        self.before = 0
        self.taken = 0

    def live(self) -> tuple[list[Record], Record]:
        """Make each call of the session; a side that fails ends here, and that is a figure."""
        messages, error = self.session.messages, ""
        started = time.perf_counter()
        for index, message in enumerate(messages):
            if index == 0 or not (isinstance(message, AIMessage) or index in self.points):
                continue
            _, ended = attempt(self.calls, partial(self._call, index))
            if ended:
                error = f"call at {index}: {ended}"
                break
        return self.records, {
            **asdict(self.meter.cost),
            "billed": round(self.meter.cost.billed),
            "events": self.side.events,
            "model_calls": self.side.asked,
            "seconds_compacting": round(self.seconds, 3),
            "seconds": round(time.perf_counter() - started, 2),
            "messages": len(messages),
            "error": error,
        }

    def _call(self, index: int) -> None:
        history = self.session.messages[:index]
        events, started = self.side.events, time.perf_counter()
        view = self.side.view(history, force=index in self.points)
        spent = time.perf_counter() - started
        before = self.before + sum(self.meter.size(message) for message in history[self.taken :])
        size = self.meter.take(view)
        if self.side.events > events:
            self.seconds += spent
            self._note(index, view, before, size, spent)
        self.before, self.taken = size, index

    def _note(
        self, index: int, view: list[BaseMessage], before: int, after: int, spent: float
    ) -> None:
        record, scores = self.session.event(index, view, self.reach)
        problems = [*provider_problems(view)]
        if after > self.window:
            problems.append(f"{after} tokens in a window of {self.window}")
        usable = not problems
        self.records.append({
            **record, "kind": "event", "time": _now(), "event": len(self.records) + 1,
            "tokens_before": before, "tokens_after": after, "seconds": round(spent, 4),
            "problems": problems, "continuity": scores.continuity if usable else 1.0,
        })  # fmt: skip


def _brief(action: Action | None) -> dict[str, Any] | None:
    if action is None:
        return None
    return {"tool": action.tool, "args": action.text[:200], "index": action.index}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _line(run: Record, closing: Record) -> str:
    window = run["window"] or "recorded points"
    ended = f"; ended by {closing['error']}" if closing["error"] else ""
    return (
        f"{run['session']}  {run['strategy']}  {window}  {closing['events']} events  "
        f"{closing.get('seconds', 0)} s{ended}"
    )
