"""Claude Code's session log: one JSON object a line.

An answer is spread over lines, one for each content block, that share ``message.id``;
tool results come as ``user`` lines. Only what stands in the conversation is read:

- subagents (``isSidechain``) are left out, unless the file holds nothing else;
- ``attachment`` lines are left out, except commands the user queued while the agent
  worked: those are the user's own words;
- snapshots, progress, titles, hooks and the queue itself are not part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from langledger.replay.formats.base import Draft, Format
from langledger.replay.formats.building import (
    Calls,
    Turn,
    as_blocks,
    compaction_summary,
    human,
    tool_result,
)
from langledger.replay.formats.injected import typed_part
from langledger.replay.formats.shapes import (
    Content,
    Json,
    content_of,
    known,
    mapping,
    optional_mapping,
    optional_text,
    text,
)

__all__ = ["CLAUDE_CODE"]

_CONVERSATION = frozenset({"user", "assistant", "system"})
# What Claude Code itself writes into the user's place.
_WRITTEN_BY_THE_TOOL = re.compile(
    r"\s*(?:<(?:command-name|command-message|command-args|local-command-[a-z]+"
    r"|bash-(?:input|stdout|stderr)|task-notification)\b"
    r"|\[Request interrupted by user|Operation stopped by hook)"
)
_COMMAND_WORDS = re.compile(r"<command-args>\s*[^\s<]")
_EXIT_CODE = re.compile(r"Exit code (\d{1,9})\b")
_WRITE_KINDS = {"create": "create", "update": "overwrite"}


def _recognises(record: Json) -> bool:
    if not isinstance(record.get("type"), str):
        return False
    if "sessionId" in record or "leafUuid" in record or "snapshot" in record:
        return True
    # The stream that `claude --output-format stream-json` prints.
    return "session_id" in record and record["type"] in _CONVERSATION


def _read(records: Iterable[Json], draft: Draft) -> None:
    main, aside = _Conversation(), _Conversation()
    for record in records:
        draft.cwd = draft.cwd or optional_text(record, "cwd")
        draft.tools = draft.tools or _tools(record)
        (aside if record.get("isSidechain") is True else main).add(record)
    main.finish()
    aside.finish()
    draft.messages = main.draft.messages or aside.draft.messages
    if main.draft.messages and aside.draft.messages:
        count = len(aside.draft.messages)
        draft.warnings.append(f"{count} messages of subagents (sidechains) were left out")


def _tools(record: Json) -> list[Json]:
    if record.get("type") != "system" or not isinstance(record.get("tools"), list):
        return []
    return [{"name": name} for name in record["tools"] if isinstance(name, str)]


@dataclass(slots=True)
class _Answer:
    """The assistant message that is still growing."""

    key: str | None
    uuid: str | None
    blocks: list[str | Json] = field(default_factory=list[str | Json])
    calls: Calls = field(default_factory=Calls)
    metadata: Json = field(default_factory=dict[str, Any])
    synthetic: bool = False


class _Conversation:
    def __init__(self) -> None:
        self.draft = Draft()
        self._turn = Turn(self.draft)
        self._answer: _Answer | None = None
        self._names: dict[str, str] = {}
        self._compaction: Json = {}

    def add(self, record: Json) -> None:
        match record.get("type"):
            case "assistant":
                self._assistant(record)
            case "user":
                self._user(record)
            case "attachment":
                self._queued(record)
            case "system" if record.get("subtype") == "compact_boundary":
                self._compaction = optional_mapping(record, "compactMetadata")
            case _:
                pass

    def finish(self) -> None:
        answer, self._answer = self._answer, None
        if answer is None:
            self._turn.release(None)
            return
        self._turn.release(
            answer.calls.message(
                answer.blocks,
                message_id=answer.uuid,
                synthetic=answer.synthetic,
                metadata=answer.metadata,
            )
        )

    def _assistant(self, record: Json) -> None:
        message = mapping(record, "message")
        key = optional_text(message, "id")
        if self._answer is None or key is None or key != self._answer.key:
            self.finish()
            self._answer = _Answer(key=key, uuid=optional_text(record, "uuid"))
        answer = self._answer
        for block in as_blocks(content_of(message)):
            if block.get("type") != "tool_use" or self._call(block):
                answer.blocks.append(block)
        answer.metadata.update(_metadata(record, message))
        answer.synthetic = message.get("model") == "<synthetic>"

    def _call(self, block: Json) -> bool:
        """Add a call; a block with unusable arguments would make the content invalid."""
        assert self._answer is not None  # noqa: S101 - only called while an answer grows
        call_id, name = text(block, "id"), text(block, "name")
        self._names[call_id] = name
        return self._answer.calls.add(call_id=call_id, name=name, arguments=block.get("input"))

    def _user(self, record: Json) -> None:
        blocks = as_blocks(content_of(mapping(record, "message")))
        rest: list[str | Json] = []
        for block in blocks:
            if block.get("type") == "tool_result":
                self._hold(self._result(record, block))
            else:
                rest.append(block)
        if not rest:
            return
        if record.get("isCompactSummary") is True:
            self._hold(self._summary(record, rest), shown=False)
        else:
            self._hold(_from_user(record, rest))

    def _hold(self, message: BaseMessage, *, shown: bool = True) -> None:
        self._turn.hold(message, shown=shown)

    def _result(self, record: Json, block: Json) -> BaseMessage:
        call_id, content = text(block, "tool_use_id"), content_of(block)
        failed = block.get("is_error") is True
        code = _EXIT_CODE.match(content) if failed and isinstance(content, str) else None
        kind = optional_mapping(record, "toolUseResult").get("type")
        return tool_result(
            content,
            call_id=call_id,
            name=self._names.get(call_id),
            failed=failed,
            message_id=optional_text(record, "uuid"),
            timestamp=optional_text(record, "timestamp"),
            exit_code=int(code[1]) if code else None,
            write_kind=_WRITE_KINDS.get(kind) if isinstance(kind, str) else None,
        )

    def _summary(self, record: Json, content: Content) -> BaseMessage:
        event, self._compaction = self._compaction, {}
        return compaction_summary(
            content,
            message_id=optional_text(record, "uuid"),
            timestamp=optional_text(record, "timestamp"),
            details=known(
                trigger=event.get("trigger"),
                pre_tokens=event.get("preTokens"),
                post_tokens=event.get("postTokens"),
            ),
        )

    def _queued(self, record: Json) -> None:
        attachment = optional_mapping(record, "attachment")
        if attachment.get("type") != "queued_command":
            return
        content = content_of(attachment, "prompt")
        typed = attachment.get("commandMode", "prompt") == "prompt" and _typed(attachment, content)
        self._hold(
            human(
                content,
                message_id=optional_text(record, "uuid"),
                timestamp=optional_text(record, "timestamp"),
                synthetic=not typed,
            )
        )


def _from_user(record: Json, content: Content) -> BaseMessage:
    return human(
        content,
        message_id=optional_text(record, "uuid"),
        timestamp=optional_text(record, "timestamp"),
        synthetic=not _typed(record, content),
    )


def _typed(record: Json, content: Content) -> bool:
    """Whether the user wrote this, rather than Claude Code in the user's name."""
    origin = optional_mapping(record, "origin").get("kind", "human")
    if record.get("isMeta") is True or origin != "human":
        return False
    blocks = as_blocks(content)
    return any("text" not in block or not _not_typed(str(block["text"])) for block in blocks)


def _not_typed(words: str) -> bool:
    if _WRITTEN_BY_THE_TOOL.match(words):
        # What follows a slash command was typed: it may be the whole request.
        return _COMMAND_WORDS.search(words) is None
    return bool(words.strip()) and not typed_part(words)


def _metadata(record: Json, message: Json) -> Json:
    # The usage counts prompts that are not recorded, so it must not pass for LangChain's own.
    return known(
        timestamp=optional_text(record, "timestamp"),
        id=optional_text(message, "id"),
        model_provider="anthropic",
        model_name=optional_text(message, "model"),
        stop_reason=optional_text(message, "stop_reason"),
        recorded_usage=optional_mapping(message, "usage") or None,
    )


CLAUDE_CODE = Format(
    name="claude-code",
    title="a Claude Code .jsonl",
    recognises=_recognises,
    read=_read,
    grows=True,
)
