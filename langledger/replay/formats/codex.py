"""Codex's rollout file: one JSON object a line.

Since autumn 2025 a line is ``{timestamp, type, payload}`` and the conversation is in
``response_item`` payloads (OpenAI's Responses API); before, a line was the item itself.
``event_msg`` lines repeat the items for the screen and are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from langchain_core.messages import BaseMessage, SystemMessage

from langledger.replay.formats.base import Draft, Format
from langledger.replay.formats.building import (
    Calls,
    Turn,
    as_blocks,
    compaction_summary,
    human,
    simplify,
    tool_result,
)
from langledger.replay.formats.shapes import (
    Content,
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

__all__ = ["CODEX", "response_content"]

_LINES = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"}
)
_ITEMS = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
    }
)
# In a result's header lines, before the output itself.
_EXIT_CODE = re.compile(r"(?:Exit code:|Process exited with code) (-?\d{1,9})\b")
_FAILURES = (
    "apply_patch verification failed",
    "execution error",
    "failed to parse function arguments",
    "Script failed",
    "unsupported call",
)
_BOOKKEEPING = "internal_chat_message_metadata_passthrough"


def _recognises(record: Json) -> bool:
    kind = record.get("type")
    if isinstance(kind, str) and isinstance(record.get("payload"), dict):
        return kind in _LINES
    if kind is None:
        return "record_type" in record or {"id", "timestamp", "instructions"} <= record.keys()
    if kind == "message":
        return "role" in record and "content" in record
    return isinstance(kind, str) and kind in _ITEMS


def _read(records: Iterable[Json], draft: Draft) -> None:
    rollout = _Rollout(draft)
    for record in records:
        kind, payload, stamp = _unwrap(record)
        rollout.add(kind, payload, stamp)
    rollout.finish()


def _unwrap(record: Json) -> tuple[str, Json, str | None]:
    """Return a line's kind, payload and time, in the new and in the old shape."""
    kind, stamp = optional_text(record, "type"), optional_text(record, "timestamp")
    if "payload" in record:
        return kind or "", mapping(record, "payload"), stamp
    if kind is None:
        return "" if "record_type" in record else "session_meta", record, stamp
    return "response_item", record, stamp


@dataclass(slots=True)
class _Answer:
    """The assistant message that is still growing."""

    stamp: str | None
    item_id: str | None = None
    blocks: list[str | Json] = field(default_factory=list[str | Json])
    calls: Calls = field(default_factory=Calls)


class _Rollout:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._turn = Turn(draft)
        self._answer: _Answer | None = None
        self._names: dict[str, str] = {}
        self._model: str | None = None
        self._begun = False

    def add(self, kind: str, payload: Json, stamp: str | None) -> None:
        match kind:
            case "session_meta":
                self._begin(payload, stamp)
            case "turn_context":
                self._model = optional_text(payload, "model") or self._model
                self._draft.cwd = self._draft.cwd or optional_text(payload, "cwd")
            case "response_item":
                self._item(payload, stamp)
            case "compacted":
                self._compacted(payload, stamp)
            case _:
                pass

    def finish(self) -> None:
        answer, self._answer = self._answer, None
        if answer is None:
            self._turn.release(None)
            return
        metadata = known(timestamp=answer.stamp, model_provider="openai", model_name=self._model)
        self._turn.release(
            answer.calls.message(answer.blocks, message_id=answer.item_id, metadata=metadata)
        )

    def _begin(self, payload: Json, stamp: str | None) -> None:
        """Read the head; a resumed or forked session repeats it, and the first one counts."""
        if self._begun:
            return
        self._begun = True
        self._draft.cwd = optional_text(payload, "cwd")
        self._draft.tools = items(payload, "dynamic_tools")
        prompt = optional_text(optional_mapping(payload, "base_instructions"), "text")
        if prompt is not None:
            self._hold(SystemMessage(content=prompt, response_metadata=known(timestamp=stamp)))

    def _item(self, item: Json, stamp: str | None) -> None:
        match text(item, "type"):
            case "message":
                self._message(item, stamp)
            case "reasoning":
                self._grow(stamp).blocks.append(_without_bookkeeping(item))
            case "function_call":
                self._call(item, stamp, arguments=item.get("arguments"))
            case "custom_tool_call":
                self._call(item, stamp, arguments={"input": text(item, "input")})
            case "local_shell_call":
                self._call(item, stamp, arguments=mapping(item, "action"), name="local_shell")
            case "function_call_output" | "custom_tool_call_output":
                self._hold(self._output(item, stamp))
            case kind if kind.endswith("_call"):
                # The provider's own tools (web search): their results are never sent back.
                self._grow(stamp).blocks.append(_without_bookkeeping(item))
            case _:
                pass

    def _message(self, item: Json, stamp: str | None) -> None:
        role, content = text(item, "role"), response_content(content_of(item))
        if role == "assistant":
            answer = self._grow(stamp)
            answer.item_id = answer.item_id or optional_text(item, "id")
            answer.blocks.extend(as_blocks(content))
        elif role == "user":
            self._hold(human(content, message_id=optional_text(item, "id"), timestamp=stamp))
        elif role in {"developer", "system"}:
            self._hold(SystemMessage(content=content, response_metadata=known(timestamp=stamp)))
        else:
            raise ShapeError("role", "one of assistant, developer, system, user", role)

    def _grow(self, stamp: str | None) -> _Answer:
        """Return the answer that an item belongs to; a result or a user ends the one before."""
        if self._answer is None or self._turn.waiting:
            self.finish()
            self._answer = _Answer(stamp=stamp)
        return self._answer

    def _call(
        self, item: Json, stamp: str | None, *, arguments: object, name: str | None = None
    ) -> None:
        call_id = optional_text(item, "call_id") or text(item, "id")
        name = name or text(item, "name")
        self._names[call_id] = name
        self._grow(stamp).calls.add(call_id=call_id, name=name, arguments=arguments)

    def _output(self, item: Json, stamp: str | None) -> BaseMessage:
        call_id = text(item, "call_id")
        content, code, failed = _result(item)
        return tool_result(
            content,
            call_id=call_id,
            name=self._names.get(call_id),
            failed=failed or code not in {None, 0},
            message_id=optional_text(item, "id"),
            timestamp=stamp,
            exit_code=code,
        )

    def _compacted(self, payload: Json, stamp: str | None) -> None:
        # The newer summary is encrypted, and ``message`` empty.
        details = known(kept_messages=len(items(payload, "replacement_history")) or None)
        summary = compaction_summary(
            optional_text(payload, "message") or "", timestamp=stamp, details=details
        )
        self._hold(summary, shown=False)

    def _hold(self, message: BaseMessage, *, shown: bool = True) -> None:
        self._turn.hold(message, shown=shown)


def _result(item: Json) -> tuple[Content, int | None, bool]:
    """Return a result's content, its exit code where told, and whether it says it failed."""
    output = item.get("output")
    if isinstance(output, dict):  # {content, success} for a while in 2025
        wrapped = cast("Json", output)
        return response_content(content_of(wrapped)), None, wrapped.get("success") is False
    content = response_content(content_of(item, "output"))
    if not isinstance(content, str):
        first = content[0] if content else ""
        head = first if isinstance(first, str) else str(first.get("text", ""))
        return content, None, head.startswith(_FAILURES)
    unwrapped = _unwrap_output(content)
    if unwrapped is not None:
        return *unwrapped, False
    code = _EXIT_CODE.search(content.partition("\nOutput:")[0][:400])
    return content, int(code[1]) if code else None, content.startswith(_FAILURES)


def _unwrap_output(content: str) -> tuple[str, int | None] | None:
    """Return the output and exit code of the JSON that older shells answer with."""
    if not content.startswith('{"output":'):
        return None
    try:
        wrapped = json.loads(content)
        output, code = wrapped["output"], wrapped["metadata"]["exit_code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(output, str):
        return None
    return output, code if isinstance(code, int) else None


def response_content(content: Content) -> Content:
    """Return the Responses API's blocks as LangChain's: plain text blocks and images."""
    if isinstance(content, str):
        return content
    return simplify([block if isinstance(block, str) else _block(block) for block in content])


def _block(block: Json) -> Json:
    kind = block.get("type")
    if kind in ("input_text", "output_text", "text"):
        return {"type": "text", "text": block["text"]}
    if kind == "input_image" and isinstance(block.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": block["image_url"]}}
    return block


def _without_bookkeeping(item: Json) -> Json:
    return {key: value for key, value in item.items() if key != _BOOKKEEPING}


CODEX = Format(
    name="codex",
    title="a Codex rollout .jsonl",
    recognises=_recognises,
    read=_read,
    grows=True,
)
