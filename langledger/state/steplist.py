"""Apply changes to the agent's list of steps."""

from __future__ import annotations

from langledger.state.records import PendingCall, PlannedStep, TaskStep, WorkingState
from langledger.state.steps import created_step, updated_step
from langledger.state.text import one_line

__all__ = ["MAX_ARCHIVED", "StepList"]

MAX_ARCHIVED = 200
MAX_SOURCES = 20
MAX_EVIDENCE = 80
_CHECKS = ("test", "build", "lint")


class StepList:
    """The steps of a state, changed in place."""

    def __init__(self, state: WorkingState) -> None:
        self._state = state

    def apply(self, call: PendingCall, result: str) -> None:
        """Note what a settled call did to the list.

        Args:
            call: With the steps it sets.
            result: Its result, which names the id of a new step.
        """
        if call.replaces_steps:
            self._replace(call)
        else:
            for step in call.steps:
                if identified := _identified(step, call, result):
                    self._set(identified, call)
        self._state.task_progress.sort(key=lambda s: (s.archived, s.order, s.position, s.step))

    def prune(self) -> None:
        """Drop the oldest steps that are no longer on the list, above a cap."""
        steps = self._state.task_progress
        gone = sorted((s for s in steps if s.archived), key=lambda s: (s.position, s.step))
        for step in gone[:-MAX_ARCHIVED]:
            steps.remove(step)

    def _replace(self, call: PendingCall) -> None:
        """Take a whole list: what the newest list leaves out is archived."""
        state = self._state
        steps = {step.step: step for step in state.task_progress if step.key is None}
        for order, planned in enumerate(call.steps):
            text = planned.step or ""
            shown = self._evidence(steps.get(text), call)
            steps[text] = _merged(steps.get(text), planned, call, order, shown)
        state.steps_position = max(state.steps_position, call.position)
        listed = [
            step.model_copy(update={"archived": step.position != state.steps_position})
            for step in steps.values()
        ]
        state.task_progress = [s for s in state.task_progress if s.key is not None] + listed

    def _set(self, planned: PlannedStep, call: PendingCall) -> None:
        steps = self._state.task_progress
        at = next((i for i, step in enumerate(steps) if step.key == planned.key), None)
        key = planned.key or ""
        order = int(key) if key.isdecimal() and len(key) < 9 else 0
        before = None if at is None else steps[at]
        merged = _merged(before, planned, call, order, self._evidence(before, call))
        if at is None:
            steps.append(merged)
        else:
            steps[at] = merged

    def _evidence(self, before: TaskStep | None, call: PendingCall) -> str:
        """Return the check that went well since a step was last spoken of.

        Only earlier turns count, so that the order of results cannot matter.
        """
        since = max((s for s in before.sources if s < call.source), default=-1) if before else -1
        if since < 0:
            return ""
        checks = [
            (command.position, command.command)
            for command in self._state.commands.values()
            if command.ok and command.kind in _CHECKS and since < command.position[0] < call.source
        ]
        return one_line(max(checks)[1], MAX_EVIDENCE) if checks else ""


def _identified(step: PlannedStep, call: PendingCall, result: str) -> PlannedStep | None:
    """Return a step with the id its result gives it; None where nothing tells what it is."""
    if step.status is None and (updated := updated_step(result)):
        return step.model_copy(update={"key": step.key or updated, "status": "updated"})
    if step.key is not None or step.step is None:
        return step if step.step or step.status else None
    key, text = created_step(result) or (f"{call.source}.{call.index}", "")
    text = step.step or text
    return step.model_copy(update={"key": key, "step": text}) if text else None


def _merged(
    before: TaskStep | None, planned: PlannedStep, call: PendingCall, order: int, evidence: str
) -> TaskStep:
    """Return a step as the newer of what is known and what the call says has it."""
    if before is None:
        return TaskStep(
            step=planned.step or "",
            status=planned.status or "pending",
            key=planned.key,
            completed=call.source if planned.status == "completed" else -1,
            order=order,
            sources=(call.source,),
            index=call.index,
        )
    sources = tuple(sorted({*before.sources, call.source})[-MAX_SOURCES:])
    if call.position < before.position:
        text = before.step or planned.step or ""
        done = _completed_after(before, planned, call)
        shown = before.evidence if done == before.completed else evidence
        return before.model_copy(
            update={"sources": sources, "step": text, "completed": done, "evidence": shown}
        )
    status = planned.status or before.status
    was_done = before.status == "completed"
    return before.model_copy(
        update={
            "step": planned.step or before.step,
            "status": status,
            "evidence": (before.evidence if was_done else evidence)
            if status == "completed"
            else "",
            "completed": (before.completed if was_done else call.source)
            if status == "completed"
            else -1,
            "order": order,
            "sources": sources,
            "index": call.index,
        }
    )


def _completed_after(before: TaskStep, planned: PlannedStep, call: PendingCall) -> int:
    """Return which entry completed a step, of which an earlier call's result comes late.

    A call that had it open, in the entry whose later call has it completed, makes that entry
    the one that completed it.
    """
    opened = planned.status not in (None, "completed") and call.source == before.sources[-1]
    return call.source if opened and before.status == "completed" else before.completed
