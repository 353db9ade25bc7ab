"""Read an agent's list of steps from the tools that keep it.

Whole lists (``TodoWrite``, ``write_todos``, ``update_plan``, a task tracker, a checklist in
Markdown) and single steps by id (``TaskCreate``, ``TaskUpdate``).
"""

from __future__ import annotations

import re
from typing import Any

from langledger.state.arguments import Arguments, name_words
from langledger.state.records import PlannedStep, StepStatus
from langledger.state.text import one_line

__all__ = ["MAX_STEPS", "created_step", "planned_steps", "updated_step"]

MAX_STEPS = 200
"""Steps kept of one list."""

_LISTS = ("todos", "plan", "tasklist", "todolist", "tasks", "steps", "items", "checklist")
_LIST_WORDS = frozenset(("todo", "todos", "plan", "task", "tasks", "checklist"))
_TEXT = ("content", "step", "title", "subject", "text", "task", "description", "name")
_STATUS = ("status", "state")
_STATUSES: dict[str, StepStatus] = {
    **dict.fromkeys(("completed", "complete", "done", "finished", "closed"), "completed"),
    **dict.fromkeys(("in_progress", "inprogress", "active", "doing", "started"), "in_progress"),
    **dict.fromkeys(("cancelled", "canceled", "skipped", "deleted", "removed"), "cancelled"),
    **dict.fromkeys(("pending", "todo", "open", "not_started", "blocked", "queued"), "pending"),
}
_MARKS: dict[str, StepStatus] = {" ": "pending", "-": "in_progress", "~": "in_progress"}
_CHECKBOX = re.compile(r"^\s*(?:[-*]\s+)?\[([ xX~-])\]\s*(\S.*)$", re.MULTILINE)
_CREATED = re.compile(r"Task #(\w+) created successfully(?:: *([^\n]+))?")
_UPDATED = re.compile(r"^Updated task #(\w+)\b[^\n]*\bstatus\b", re.MULTILINE)


def planned_steps(tool: str, arguments: Arguments) -> tuple[list[PlannedStep], bool] | None:
    """Return the steps a call sets, and whether they are the whole list.

    Returns:
        None where the call does not keep a list of steps.
    """
    words = name_words(tool)
    if not words & _LIST_WORDS:
        return None
    if "id" in arguments or "taskid" in arguments:
        return _one_step(arguments), False
    for name in _LISTS:
        if (steps := _whole_list(arguments, name)) is not None:
            return steps, True
    if words & {"create", "add"}:
        text = arguments.text("subject", "title", "content")
        return [PlannedStep(step=one_line(text or ""), status="pending")], False
    # an export of a session may leave out which step it was; its result may tell
    return ([PlannedStep()], False) if words & {"update"} and not arguments.path() else None


def created_step(result: str) -> tuple[str, str] | None:
    """Return the id that a result gives to a new step, and the step's text if it says it."""
    match = _CREATED.search(result[:4000])
    return (match[1], one_line(match[2] or "")) if match else None


def updated_step(result: str) -> str | None:
    """Return the id of the step whose status a result says was changed, not to what."""
    match = _UPDATED.search(result[:4000])
    return match[1] if match else None


def _one_step(arguments: Arguments) -> list[PlannedStep]:
    key = arguments.text("taskid", "id") or str(arguments.number("taskid", "id") or "")
    text = arguments.text("subject", "title", "content")
    status = _status(arguments.values.get("status", arguments.values.get("state")))
    step = PlannedStep(key=one_line(key, 40), step=one_line(text) if text else None, status=status)
    return [step] if key else []


def _whole_list(arguments: Arguments, name: str) -> list[PlannedStep] | None:
    checklist = arguments.text(name)
    if checklist is not None:
        steps: list[tuple[str, StepStatus]]
        steps = [(m[2], _mark(m[1])) for m in _CHECKBOX.finditer(checklist[:100_000])]
        if not steps:  # a plan in prose is no list of steps
            return None
    elif isinstance(arguments.values.get(name), list):
        steps = [_item(item) for item in arguments.items(name)]
    else:
        return None
    planned = [PlannedStep(step=one_line(t), status=s) for t, s in steps if t.strip()]
    return planned[:MAX_STEPS]


def _mark(box: str) -> StepStatus:
    return _MARKS.get(box, "completed")


def _item(item: Any) -> tuple[str, StepStatus]:
    if isinstance(item, str):
        return item, "pending"
    if not isinstance(item, dict):
        return "", "pending"
    fields = Arguments(item)  # pyright: ignore[reportUnknownArgumentType] - any JSON object
    done = fields.values.get("completed", fields.values.get("done")) is True
    status = _status(fields.text(*_STATUS))
    return fields.text(*_TEXT) or "", "completed" if done else status or "pending"


def _status(value: object) -> StepStatus | None:
    if not isinstance(value, str):
        return None
    return _STATUSES.get(value.strip().lower().replace(" ", "_").replace("-", "_"))
