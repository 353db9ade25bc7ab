"""OpenHands' event histories: actions and observations, each tied to the call it belongs to.

A file is a list of events, one conversation; or evaluation outputs, one ``{"instance_id",
"history"}`` a line. What the model said stands in the ``model_response`` of its first action.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from langchain_core.messages import SystemMessage

from langledger.replay.formats.base import Draft, Format
from langledger.replay.formats.building import (
    Calls,
    Turn,
    compaction_summary,
    human,
    tool_result,
)
from langledger.replay.formats.shapes import (
    Json,
    ShapeError,
    content_of,
    items,
    known,
    mapping,
    optional_mapping,
    optional_text,
    text,
)

__all__ = ["OPENHANDS"]

_METADATA = "tool_call_metadata"
# What the host says to itself.
_SILENT = frozenset({"agent_state_changed", "change_agent_state", "null", "recall", "condensation"})


def _recognises(record: Json) -> bool:
    if _is_output(record):
        return True
    return "source" in record and "id" in record and ("action" in record or "observation" in record)


def _is_output(record: Json) -> bool:
    return "instance_id" in record and isinstance(record.get("history"), list)


def _parts(records: Iterable[Json]) -> Iterable[tuple[str, Sequence[Json]]]:
    """Divide evaluation outputs into their instances; a list of events is one conversation."""
    events: list[Json] = []
    for record in records:
        if _is_output(record):
            yield str(record["instance_id"]), [record]
        else:
            events.append(record)
    if events:
        yield "events", events


def _read(records: Iterable[Json], draft: Draft) -> None:
    events = _Events(draft)
    for record in records:
        if not _is_output(record):
            events.add(record)
            continue
        if draft.messages:
            raise ShapeError("the record", "one conversation in the file", "a second one")
        for event in _flat(record):
            events.add(event)
    events.finish()


def _flat(record: Json) -> Iterable[Json]:
    """Yield an output's events; older ones come in pairs of action and observation."""
    history = cast("list[Any]", record["history"])
    listed: list[Any] = []
    for event in history:
        listed += cast("list[Any]", event) if isinstance(event, list) else [event]
    return items({"history": listed}, "history")


class _Events:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._turn = Turn(draft)
        self._response: str | None = None  # the answer that is being acted on
        self._answer: Json = {}
        self._calls = Calls()
        self._stamp: str | None = None

    def add(self, event: Json) -> None:
        if "action" in event:
            self._action(event, text(event, "action"))
        elif "observation" in event:
            self._observation(event, text(event, "observation"))

    def finish(self) -> None:
        if not self._answer:
            self._turn.release(None)
            return
        metadata = known(timestamp=self._stamp)
        content = content_of(self._answer)
        message = self._calls.message(content, metadata=metadata)
        self._answer, self._calls, self._response = {}, Calls(), None
        self._turn.release(message)

    def _action(self, event: Json, action: str) -> None:
        args, stamp = optional_mapping(event, "args"), optional_text(event, "timestamp")
        call = optional_mapping(event, _METADATA)
        if event.get("source") == "agent" and call:
            self._call(event, call, args)
        elif action == "system":
            self._turn.hold(
                SystemMessage(
                    content=text(args, "content"), response_metadata=known(timestamp=stamp)
                )
            )
            self._draft.tools = self._draft.tools or items(args, "tools")
        elif action == "message" and event.get("source") == "agent":
            self.finish()
            self._answer, self._stamp = {"content": content_of(args)}, stamp
            self.finish()
        elif action == "message":
            self.finish()
            self._turn.hold(human(content_of(args), timestamp=stamp))
        elif action == "condensation" and optional_text(args, "summary"):
            self._turn.hold(
                compaction_summary(text(args, "summary"), timestamp=stamp, details={}), shown=False
            )
        elif action not in _SILENT and event.get("source") == "agent":
            self._call(event, {}, args)

    def _call(self, event: Json, call: Json, args: Json) -> None:
        response = optional_mapping(call, "model_response")
        ours = optional_text(response, "id") or f"event-{event.get('id')}"
        if ours != self._response:
            self.finish()
            choices = items(response, "choices")
            self._answer = optional_mapping(choices[0], "message") if choices else {}
            self._answer = self._answer or {"content": optional_text(args, "thought") or ""}
            self._response, self._stamp = ours, optional_text(event, "timestamp")
        call_id = optional_text(call, "tool_call_id") or f"event-{event.get('id')}"
        name = optional_text(call, "function_name") or text(event, "action")
        self._calls.add(call_id=call_id, name=name, arguments=self._arguments(call_id, args))

    def _arguments(self, call_id: str, args: Json) -> object:
        """Return what the model passed; what the host made of it, where that is not recorded."""
        for asked in items(self._answer, "tool_calls"):
            if asked.get("id") == call_id:
                return mapping(asked, "function").get("arguments")
        return {key: value for key, value in args.items() if key != "thought"}

    def _observation(self, event: Json, kind: str) -> None:
        if kind in _SILENT:
            return
        call = optional_mapping(event, _METADATA)
        call_id = optional_text(call, "tool_call_id") or f"event-{event.get('cause')}"
        if call_id not in self._calls.names():
            return
        extras = optional_mapping(event, "extras")
        code = optional_mapping(extras, "metadata").get("exit_code", extras.get("exit_code"))
        code = code if isinstance(code, int) else None
        self._turn.hold(
            tool_result(
                content_of(event),
                call_id=call_id,
                name=self._calls.names()[call_id],
                failed=kind == "error" or code not in {None, 0, -1},
                timestamp=optional_text(event, "timestamp"),
                exit_code=code,
            )
        )


OPENHANDS = Format(
    name="openhands",
    title="an OpenHands event history",
    recognises=_recognises,
    read=_read,
    parts=_parts,
)
