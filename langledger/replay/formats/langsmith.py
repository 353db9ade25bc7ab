"""Runs as LangSmith exports them: a list, one a line, or a tree under ``child_runs``.

Each model call repeats the conversation so far, and a later one may have been sent less of it,
after a compaction. So the calls of a thread are read in order, and of each what is new: a message
that it holds more often than it was met before. Where the outermost runs are of a graph whose
state holds ``messages``, those are read instead: they are whole.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage

from langledger.replay.formats.base import Draft, Format
from langledger.replay.formats.langchain import is_message, read_message
from langledger.replay.formats.openai_chat import read_chat_message
from langledger.replay.formats.shapes import Json, ShapeError, at, items, optional_mapping

__all__ = ["LANGSMITH"]

# Names under which LangSmith looks for a thread's id in a run's metadata, in its order.
_THREAD = ("session_id", "thread_id", "conversation_id")


def _recognises(record: Json) -> bool:
    return isinstance(record.get("run_type"), str) and "inputs" in record and "id" in record


def _parts(records: Iterable[Json]) -> Iterable[tuple[str, Sequence[Json]]]:
    """Divide runs by their thread, else by their trace."""
    runs = [run for record in records for run in _with_children(record)]
    traces = {_trace(run): thread for run in runs if (thread := _thread(run))}
    parts: dict[str, list[Json]] = {}
    for run in runs:
        trace = _trace(run)
        parts.setdefault(traces.get(trace, trace), []).append(run)
    return parts.items()


def _read(records: Iterable[Json], draft: Draft) -> None:
    runs = [run for record in records for run in _with_children(record)]
    runs.sort(key=lambda run: str(run.get("start_time")))
    outermost = [run for run in runs if not run.get("parent_run_id")]
    whole = any(_listed(run, "outputs") for run in outermost)
    seen: Counter[str] = Counter()
    for run in outermost if whole else runs:
        if whole or run.get("run_type") == "llm":
            with at(f"run {run.get('id')}"):
                _add_new(run, seen, draft)


def _with_children(run: Json) -> Iterator[Json]:
    yield run
    for child in items(run, "child_runs"):
        yield from _with_children({"trace_id": _trace(run), **child})


def _trace(run: Json) -> str:
    return str(run.get("trace_id") or run.get("id"))


def _thread(run: Json) -> str | None:
    metadata = optional_mapping(optional_mapping(run, "extra"), "metadata")
    return next((str(metadata[name]) for name in _THREAD if metadata.get(name)), None)


def _add_new(run: Json, seen: Counter[str], draft: Draft) -> None:
    """Add the messages that a run holds more often than those before it did."""
    names: dict[str, str] = {}
    sent = _listed(run, "outputs") or [*_listed(run, "inputs"), *_answers(run)]
    met: Counter[str] = Counter()
    for record in sent:
        message = _message(record, names)
        key = _identity(message)
        met[key] += 1
        if met[key] > seen[key]:
            seen[key] = met[key]
            draft.add(message)


def _identity(message: BaseMessage) -> str:
    """Tell a message by what was said: its id may be given after the call that was recorded."""
    calls = [(c["name"], c["args"]) for c in getattr(message, "tool_calls", ())]
    answered = getattr(message, "tool_call_id", None)
    told: list[Any] = [message.type, message.text, calls, answered]
    return json.dumps(told, sort_keys=True, default=str)


def _message(record: Json, names: dict[str, str]) -> BaseMessage:
    return read_message(record) if is_message(record) else read_chat_message(record, names)


def _side(run: Json, side: str) -> Json:
    """Return a run's inputs or outputs; a bulk export has them as JSON in a string."""
    value = run.get(side)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ShapeError(side, "an object, or JSON of one", value) from error
    return cast("Json", value) if isinstance(value, dict) else {}


def _listed(run: Json, side: str) -> list[Json]:
    """Return the messages on a side of a run; a chat model is sent a list of lists."""
    found = _side(run, side).get("messages")
    if isinstance(found, list) and found and isinstance(found[0], list):
        found = cast("list[Any]", found)[0]
    return items({"messages": found if isinstance(found, list) else None}, "messages")


def _answers(run: Json) -> list[Json]:
    """Return what a model said, as LangChain or a wrapped client of OpenAI's puts it down."""
    outputs = _side(run, "outputs")
    generations = outputs.get("generations")
    if isinstance(generations, list) and generations and isinstance(generations[0], list):
        generations = cast("list[Any]", generations)[0]
    answers = items({"generations": generations}, "generations")[:1]
    answers += items(outputs, "choices")[:1]
    return [found for answer in answers if (found := optional_mapping(answer, "message"))]


LANGSMITH = Format(
    name="langsmith",
    title="an export of LangSmith runs",
    recognises=_recognises,
    read=_read,
    parts=_parts,
)
