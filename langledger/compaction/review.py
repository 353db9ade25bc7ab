"""A person looks at a compaction before it is applied: accepts it, edits it, or rejects it.

In a graph the run stops with an interrupt and goes on with the person's answer; elsewhere a
function of the host is asked. A graph that goes on runs the node again from its start, maybe in
another process: what was reviewed is in the database by then, so that the same compaction is
applied and no model is paid twice.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast

from langgraph.runtime import get_runtime
from langgraph.types import interrupt
from psycopg.types.json import Jsonb

from langledger.compaction.account import NO_ACCOUNT
from langledger.compaction.host import current_config
from langledger.compaction.records import CompactionReport, cut_of, multirange, pack
from langledger.compaction.view import Cut, with_section
from langledger.database.queries import load_queries
from langledger.encryption import Content
from langledger.encryption.places import DRAFT_REPORT, DRAFT_VIEW
from langledger.entries import Location
from langledger.entries.ranges import Ranges
from langledger.errors import ConfigurationError
from langledger.operations import Operation, Row, call, fetch

__all__ = ["CompactionDraft", "Decision", "Review", "Reviewer", "review_of", "revised"]

_queries = load_queries("langledger.compaction")

_HOW = (
    "Resume with 'accept', 'reject', the summary as it is to be, or "
    "{'action': 'edit', 'summary': ..., 'state': ...}."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionDraft:
    """A compaction that waits for a person.

    Attributes:
        thread_id: The thread.
        scope: The agent within it; empty for the root agent.
        reason: What set it off.
        summary: The text that would stand for the covered entries.
        state: The working state as it would be shown.
        covered: The entries the summary stands for, as first and last of each run of them.
        masked: Tool results that would be shown as a reference, likewise.
        tokens_before: Size of the call without it.
        tokens_after: Size of the call with it.
        problem: What was wrong with the last answer, where there was one.
        how: What an answer may be.
    """

    thread_id: str
    scope: str
    reason: str
    summary: str
    state: str
    covered: list[tuple[int, int]]
    masked: list[tuple[int, int]]
    tokens_before: int
    tokens_after: int
    problem: str = ""
    how: str = _HOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person says to a draft.

    Attributes:
        action: Apply it, apply it with changes, or leave the view as it is.
        summary: The summary as it is to be; None: as it is.
        state: The state as it is to be shown; None: as it is.
    """

    action: Literal["accept", "edit", "reject"]
    summary: str | None = None
    state: str | None = None


_MOST_TASKS = 1024  # remembered at once

_Answer: TypeAlias = Decision | Mapping[str, Any] | str | bool
Reviewer: TypeAlias = Callable[[CompactionDraft], _Answer | Awaitable[_Answer]]
"""Decides on a draft: True, False, the summary as it is to be, or a :class:`Decision`."""


@dataclass(frozen=True, slots=True)
class Review:
    """Asks a person about compactions.

    Attributes:
        reviewer: A function of the host; None: by an interrupt of the graph.
    """

    reviewer: Reviewer | None = None
    # The run of each task that was taken up last: a node may call its model several times in one.
    _runs: OrderedDict[str, object] = field(default_factory=OrderedDict[str, object], compare=False)

    def resume(self, location: Location) -> Operation[str | None]:
        """Take up a graph's task where it waited for a person, once in each of its runs.

        A graph that goes on after an interrupt gives its answers by the order of the questions:
        one that was answered must be asked again, or the node's own question would get its answer.

        Returns:
            What set off the compaction that waits to be decided; None where none does.
        """
        if self.reviewer is not None or not self._is_new_run(_task()):
            return None
        reason = None
        for row in (yield from self._drafts(location)):
            if row["decided"]:
                yield from self._ask({})
            else:
                reason = row["report"]["report"]["reason"]
        return reason

    def _is_new_run(self, task: str) -> bool:
        if not task:
            return False
        info = get_runtime().execution_info
        this = (info.node_first_attempt_time, info.node_attempt) if info else None
        known = self._runs.pop(task, None)
        self._runs[task] = this
        while len(self._runs) > _MOST_TASKS:
            self._runs.popitem(last=False)
        return known is None or known != this

    def held(self, location: Location) -> Operation[tuple[Cut, CompactionReport] | None]:
        """Return the compaction that was shown to a person and is not decided yet, or None."""
        for row in (yield from self._drafts(location)):
            if not row["decided"]:
                report = {"thread_id": location.thread_id, **row["report"]["report"]}
                return _cut_of(row), CompactionReport.model_validate(report)
        return None

    def rejected(self, location: Location, history: Ranges, *, reason: str) -> Operation[bool]:
        """Tell whether this task's person rejected a compaction of this very history already.

        Asked for anew, as after a provider's refusal, it would be shown again for ever.
        """
        rows = yield from self._drafts(location)
        return any(
            row["report"].get("action") == "reject"
            and row["report"]["report"]["reason"] == reason
            and _ranges(row["report"]["history"]) == history
            for row in rows
        )

    def decide(self, location: Location, cut: Cut, report: CompactionReport) -> Operation[Decision]:
        """Show a compaction to a person and return the decision.

        Raises:
            ConfigurationError: A reviewer decided nothing, or a graph's run cannot be resumed.
        """
        draft = _draft(location, cut, report)
        if self.reviewer is not None:
            return _decision((yield from self._call(self.reviewer, draft)))
        place = yield from self._keep(location, cut, report)
        decision = yield from self._ask(asdict(draft))
        said = Content(DRAFT_REPORT, Jsonb({"action": decision.action}))
        yield from fetch(_queries["decided"], **_keys(location), place=place, said=said)
        return decision

    def _call(self, reviewer: Reviewer, draft: CompactionDraft) -> Operation[Any]:
        async def awaited() -> Any:
            answer = reviewer(draft)
            return await answer if inspect.isawaitable(answer) else answer

        def called() -> Any:
            answer = reviewer(draft)
            if inspect.isawaitable(answer):
                cast("Any", answer).close()
                raise ConfigurationError(
                    "review is a coroutine function and the run is not awaited: give a plain one"
                )
            return answer

        return (yield from call(called, awaited))

    def _ask(self, draft: Mapping[str, Any]) -> Operation[Decision]:
        """Interrupt the graph until the answer is one."""
        problem = ""
        while True:
            shown = {"type": "compaction_review", **draft, "problem": problem}
            try:
                return _decision((yield from _interrupted(shown)))
            except ConfigurationError as error:
                problem = str(error)

    def _keep(self, location: Location, cut: Cut, report: CompactionReport) -> Operation[int]:
        """Keep a draft under its number among the task's; return the number."""
        _require_checkpointer()
        rows = yield from self._drafts(location)
        place = sum(row["decided"] for row in rows)
        kept = {
            "report": report.model_dump(mode="json", exclude={"thread_id"}),
            "covered": cut.covered.spans,
            "masked": cut.masked.spans,
            "history": cut.history.spans,
            "generation": cut.generation,
            "boundary": cut.boundary,
        }
        yield from fetch(
            _queries["draft"],
            **_keys(location),
            place=place,
            view=Content(DRAFT_VIEW, pack(cut)),
            report=Content(DRAFT_REPORT, Jsonb(kept)),
        )
        return place

    def _drafts(self, location: Location) -> Operation[list[Row]]:
        if self.reviewer is not None or not _task():
            return []
        return (yield from fetch(_queries["drafts"], **_keys(location)))


def revised(cut: Cut, *, summary: str | None = None, state: str | None = None) -> Cut:
    """Return a compaction with a person's changes.

    Args:
        cut: The compaction.
        summary: The summary as it is to be; None: as it is.
        state: The state as it is to be shown; None: as it is.
    """
    if summary is not None:
        text = summary.strip()
        cut = replace(
            cut,
            summary=text,
            head=with_section(cut.head, "summary", text),
            edits=cut.edits.with_summary(text, cut.covered),
            account=NO_ACCOUNT,  # the model's own must not come back through the next summary
        )
    if state is not None:
        cut = replace(
            cut,
            head=with_section(cut.head, "working_state", state.strip()),
            edits=cut.edits.with_state(cut.shown_state, state),
        )
    return cut


def review_of(value: object) -> Review | None:
    """Return how compactions are reviewed, as the option ``review`` says.

    Raises:
        ConfigurationError: It is neither a truth value nor a function.
    """
    if value is None or value is False:
        return None
    if value is True:
        return Review()
    if callable(value):
        return Review(cast("Reviewer", value))
    raise ConfigurationError(
        "review must be True, for an interrupt of the graph, or a function of the draft"
    )


def _decision(answer: Any) -> Decision:
    """Return what a person's answer means.

    Raises:
        ConfigurationError: It means nothing.
    """
    if isinstance(answer, Decision):
        answer = {name: value for name, value in asdict(answer).items() if value is not None}
    if isinstance(answer, bool):
        answer = {"action": "accept" if answer else "reject"}
    if isinstance(answer, str):
        word = answer.strip()
        said = {"action": word} if word in {"accept", "reject"} else {"summary": answer}
        answer = {"action": "edit", **said}
    if not isinstance(answer, Mapping):
        raise ConfigurationError(f"a {type(answer).__name__} is no decision. {_HOW}")
    fields = cast("Mapping[str, Any]", answer)
    unknown = fields.keys() - {"action", "summary", "state"}
    action: Any = fields.get("action", "edit")
    if unknown or action not in ("accept", "edit", "reject"):
        what = ", ".join(sorted(unknown)) or f"action {action!r}"
        raise ConfigurationError(f"the decision is not understood: {what}. {_HOW}")
    return _edit(fields) if action == "edit" else Decision(action=action)


def _edit(fields: Mapping[str, Any]) -> Decision:
    """Return an edit that changes something, to texts that can be shown."""
    changes = {name: fields.get(name) for name in ("summary", "state")}
    for name, text in changes.items():
        if not isinstance(text, str | None):
            raise ConfigurationError(f"the {name} of an edit must be a text. {_HOW}")
    if changes["summary"] is not None and not changes["summary"].strip():
        raise ConfigurationError(f"an edited summary cannot be empty. {_HOW}")
    if changes == {"summary": None, "state": None}:
        raise ConfigurationError(f"the decision edits nothing. {_HOW}")
    return Decision(action="edit", **changes)


def _draft(location: Location, cut: Cut, report: CompactionReport) -> CompactionDraft:
    return CompactionDraft(
        thread_id=location.thread_id,
        scope=location.scope,
        reason=report.reason,
        summary=cut.summary,
        state=cut.shown_state,
        covered=[(start, stop - 1) for start, stop in cut.covered.spans],
        masked=[(start, stop - 1) for start, stop in cut.masked.spans],
        tokens_before=report.tokens_before,
        tokens_after=report.tokens_after,
    )


def _cut_of(row: Row) -> Cut:
    kept: dict[str, Any] = {**row["report"], "view": row["view"]}
    for name in ("covered", "masked"):
        kept[name] = multirange(_ranges(kept[name]))
    return cut_of(kept)


def _ranges(spans: Iterable[tuple[int, int]]) -> Ranges:
    """Return ranges as JSON gave them back."""
    return Ranges(tuple((start, stop) for start, stop in spans))


def _interrupted(shown: dict[str, Any]) -> Operation[Any]:
    async def awaited() -> Any:
        return interrupt(shown)

    return (yield from call(lambda: interrupt(shown), awaited))


def _task() -> str:
    """Return the graph's task that runs now, the same when it runs again; empty outside of one."""
    configurable = current_config().get("configurable") or {}
    return str(configurable.get("checkpoint_ns") or "")


def _require_checkpointer() -> None:
    configurable = current_config().get("configurable") or {}
    if not _task():
        raise ConfigurationError(
            "review=True asks by an interrupt, and this is no graph: give review=<a function>"
        )
    # Absent only where LangGraph has given it another name; then the run tells by itself.
    if configurable.get("__pregel_checkpointer", True) is None:
        raise ConfigurationError(
            "review=True asks by an interrupt, which needs a checkpointer: compile the graph with "
            "checkpointer=ledger.checkpointer(), or give review=<a function>"
        )


def _keys(location: Location) -> dict[str, Any]:
    return {**location.keys, "scope": location.scope, "task": _task()}
