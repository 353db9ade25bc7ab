"""Conversations in OpenAI's chat shape inside one JSON document.

``{"messages": [{role, content, tool_calls}]}``, one or one a line, as mini-swe-agent's
trajectories and OpenHands' completion logs have it; the latter also hold the last
``response`` and the ``tools`` that were sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from langchain_core.messages import BaseMessage, SystemMessage

from langledger.replay.formats.base import Draft, Format
from langledger.replay.formats.building import human, plain_text, tool_result, with_reasoning
from langledger.replay.formats.normalised import read_calls
from langledger.replay.formats.shapes import (
    Content,
    Json,
    ShapeError,
    at,
    content_of,
    items,
    optional_mapping,
    optional_text,
    text,
)

__all__ = ["MINI_SWE_AGENT", "OPENAI_CHAT", "OPENHANDS_CALL", "read_chat_message"]

# How OpenHands ends the output of a command.
_EXIT_CODE = re.compile(r"\[Command finished with exit code (-?\d{1,9})\]\s*\Z")


def _recognises(record: Json) -> bool:
    messages = record.get("messages")
    if not isinstance(messages, list) or not messages:
        return False
    first = cast("list[Any]", messages)[0]
    return isinstance(first, dict) and "role" in first and "content" in first


def _read(records: Iterable[Json], draft: Draft) -> None:
    for record in records:
        if draft.messages:
            raise ShapeError("the record", "one conversation in the file", "a second one")
        environment: Json = record
        for key in ("info", "config", "environment"):
            environment = optional_mapping(environment, key)
        draft.cwd = draft.cwd or optional_text(environment, "cwd")
        draft.tools = draft.tools or items(optional_mapping(record, "kwargs"), "tools")
        names: dict[str, str] = {}
        for position, message in enumerate(items(record, "messages")):
            with at(f"messages[{position}]"):
                _add(message, names, draft)
        for choice in items(optional_mapping(record, "response"), "choices")[:1]:
            with at("response"):
                _add(optional_mapping(choice, "message"), names, draft)


def _parts(records: Iterable[Json]) -> Iterable[tuple[str, Sequence[Json]]]:
    """Divide lines of conversations, as fine-tuning files have them."""
    for number, record in enumerate(records, start=1):
        yield optional_text(record, "instance_id") or str(number), [record]


def _add(record: Json, names: dict[str, str], draft: Draft) -> None:
    role = text(record, "role")
    if role == "exit":  # mini-swe-agent's end mark: the patch, never sent to the model
        return
    draft.add(read_chat_message(record, names))


def read_chat_message(record: Json, names: dict[str, str]) -> BaseMessage:
    """Return a message in OpenAI's chat shape.

    Args:
        record: As recorded.
        names: The tools of the calls so far, by call id; those of this message are added.

    Raises:
        ShapeError: It is none.
    """
    role, content = text(record, "role"), content_of(record)
    if role == "user":
        return human(content)
    if role in {"system", "developer"}:
        return SystemMessage(content=content)
    if role == "assistant":
        calls = read_calls(record)
        names |= calls.names()
        return calls.message(
            with_reasoning(content, optional_text(record, "reasoning_content")), metadata={}
        )
    if role == "tool":
        return _result(record, content, names)
    raise ShapeError("role", "one of assistant, developer, system, tool, user", role)


def _result(record: Json, content: Content, names: dict[str, str]) -> BaseMessage:
    call_id = text(record, "tool_call_id")
    words = plain_text(content)
    code = optional_mapping(record, "extra").get("returncode")
    if not isinstance(code, int):
        told = _EXIT_CODE.search(words[-80:])
        code = int(told[1]) if told else None
    return tool_result(
        content,
        call_id=call_id,
        name=optional_text(record, "name") or names.get(call_id),
        failed=code not in {None, 0} or words.startswith("ERROR:"),
        exit_code=code,
    )


def _of_mini_swe_agent(record: Json) -> bool:
    told = optional_text(record, "trajectory_format") or ""
    return told.startswith("mini-swe-agent") and _recognises(record)


def _of_openhands(record: Json) -> bool:
    return {"response", "args", "kwargs"} <= record.keys() and _recognises(record)


OPENAI_CHAT = Format(
    name="openai-chat",
    title="a JSON document with OpenAI chat messages",
    recognises=_recognises,
    read=_read,
    parts=_parts,
)
MINI_SWE_AGENT = replace(
    OPENAI_CHAT,
    name="mini-swe-agent",
    title="a mini-swe-agent trajectory",
    recognises=_of_mini_swe_agent,
)
OPENHANDS_CALL = replace(
    OPENAI_CHAT,
    name="openhands",
    title="OpenHands' log of a completion",
    recognises=_of_openhands,
)
