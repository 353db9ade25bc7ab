"""LangChain messages from recorded ones."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
)
from langchain_core.messages.tool import invalid_tool_call, tool_call

from langledger.compaction.transcript import TYPED
from langledger.replay.formats.base import Draft, SessionMessage
from langledger.replay.formats.injected import typed_part
from langledger.replay.formats.shapes import Content, Json, known

__all__ = [
    "COMPACTION",
    "SYNTHETIC",
    "Calls",
    "Turn",
    "as_blocks",
    "compaction_summary",
    "human",
    "plain_text",
    "simplify",
    "tool_result",
    "with_reasoning",
]

# Keys of additional_kwargs: the user did not write it; it is a recorded tool's summary.
SYNTHETIC = "synthetic"
COMPACTION = "compaction"


def simplify(content: Content) -> Content:
    """Return content as LangChain's chat models do: plain text where it is nothing else."""
    if content == []:
        return ""
    if isinstance(content, list) and len(content) == 1:
        only = content[0]
        if isinstance(only, str):
            return only
        if only.keys() == {"type", "text"} and only["type"] == "text":
            return str(only["text"])
    return content


def with_reasoning(content: Content, thinking: str | None) -> Content:
    """Return content after the text of the thinking that led to it.

    Without a signature it is no provider's thinking block, so LangChain's own is used.
    """
    if thinking is None:
        return content
    return [{"type": "reasoning", "reasoning": thinking}, *as_blocks(content)]


def as_blocks(content: Content) -> list[Json]:
    """Return content as blocks; empty text is none."""
    parts = content if isinstance(content, list) else [content] if content else []
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]


def plain_text(content: Content) -> str:
    """Return the text in content, block after block."""
    return "\n".join(str(block["text"]) for block in as_blocks(content) if "text" in block)


def human(
    content: Content,
    *,
    message_id: str | None = None,
    timestamp: str | None = None,
    synthetic: bool = False,
) -> HumanMessage:
    """Build what stands in the user's place.

    What the host wrote there is told from what the user typed: a message of nothing else is
    synthetic, and one of both says under ``typed`` what the user's part is.

    Args:
        content: As recorded; it is kept whole.
        message_id: Its recorded id.
        timestamp: When it was sent.
        synthetic: The recorder says that the user did not type it.
    """
    return HumanMessage(
        content=simplify(content),
        id=message_id,
        additional_kwargs={SYNTHETIC: True} if synthetic else _authorship(content),
        response_metadata=known(timestamp=timestamp),
    )


def _authorship(content: Content) -> Json:
    """Say what of a message the user typed, where it is not all of it."""
    blocks = as_blocks(content)
    texts = [str(block["text"]) for block in blocks if "text" in block]
    typed = [typed_part(text) for text in texts]
    if typed == texts:
        return {}
    said = "\n".join(part for part in typed if part)
    if not said and len(texts) == len(blocks):
        return {SYNTHETIC: True}
    return {TYPED: said}


def compaction_summary(
    content: Content,
    *,
    message_id: str | None = None,
    timestamp: str | None = None,
    details: Json,
) -> HumanMessage:
    """Build a recorded tool's compaction summary; ``details``: trigger, tokens before."""
    message = human(content, message_id=message_id, timestamp=timestamp, synthetic=True)
    message.additional_kwargs[COMPACTION] = details
    return message


def tool_result(
    content: Content,
    *,
    call_id: str,
    name: str | None,
    failed: bool,
    message_id: str | None = None,
    timestamp: str | None = None,
    exit_code: int | None = None,
    write_kind: str | None = None,
) -> ToolMessage:
    """Build a tool's answer.

    ``exit_code`` and ``write_kind`` (``create`` or ``overwrite``) go to
    ``additional_kwargs``; ``failed`` becomes ``status="error"``.
    """
    return ToolMessage(
        content=simplify(content),
        tool_call_id=call_id,
        name=name,
        status="error" if failed else "success",
        id=message_id,
        additional_kwargs=known(exit_code=exit_code, write_kind=write_kind),
        response_metadata=known(timestamp=timestamp),
    )


@dataclass(slots=True)
class Calls:
    """The tool calls of one assistant message; what cannot be parsed is kept as invalid."""

    valid: list[ToolCall] = field(default_factory=list[ToolCall])
    invalid: list[InvalidToolCall] = field(default_factory=list[InvalidToolCall])

    def add(self, *, call_id: str, name: str, arguments: object) -> bool:
        """Add a call and return whether its arguments are an object, or text that holds one."""
        args, problem = _arguments(arguments)
        if problem is None:
            self.valid.append(tool_call(name=name, args=args, id=call_id))
            return True
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        self.invalid.append(invalid_tool_call(name=name, args=raw, id=call_id, error=problem))
        return False

    def names(self) -> dict[str, str]:
        """Return the tools' names by call id."""
        return {
            call["id"]: call["name"]
            for call in (*self.valid, *self.invalid)
            if call["id"] is not None and call["name"] is not None
        }

    def message(
        self,
        content: Content,
        *,
        message_id: str | None = None,
        synthetic: bool = False,
        metadata: Json,
    ) -> AIMessage:
        """Build the assistant message that makes these calls."""
        return AIMessage(
            content=simplify(content),
            tool_calls=self.valid,
            invalid_tool_calls=self.invalid,
            id=message_id,
            additional_kwargs={SYNTHETIC: True} if synthetic else {},
            response_metadata=metadata,
        )


def _arguments(value: object) -> tuple[Json, str | None]:
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError) as error:
            return {}, f"the arguments are not JSON: {error}"
    if value is None:
        return {}, None
    if isinstance(value, dict):
        return cast("Json", value), None
    return {}, "the arguments are not an object"


@dataclass(slots=True)
class Turn:
    """What is recorded while an assistant message may still grow.

    Tools write one record for each block of an answer, and results and user messages
    come between them. A provider accepts only: the answer, all its results, the rest.
    """

    draft: Draft
    waiting: list[SessionMessage] = field(default_factory=list[SessionMessage])

    def hold(self, message: BaseMessage, *, shown: bool = True) -> None:
        """Keep a message back until the answer before it is complete."""
        self.waiting.append(SessionMessage(index=-1, message=message, shown=shown))

    def release(self, answer: AIMessage | None) -> None:
        """Add the answer, then its results, then everything else in recorded order."""
        asked: set[str | None] = set()
        if answer is not None:
            self.draft.add(answer)
            asked = {call["id"] for call in (*answer.tool_calls, *answer.invalid_tool_calls)}
        for held in sorted(self.waiting, key=lambda held: not _answers(held.message, asked)):
            self.draft.add(held.message, shown=held.shown)
        self.waiting.clear()


def _answers(message: BaseMessage, asked: set[str | None]) -> bool:
    return isinstance(message, ToolMessage) and message.tool_call_id in asked
