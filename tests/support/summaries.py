"""Extractive summaries of few messages, each checked for its size and sources."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.compaction.extractive import extract_summary
from langledger.tokens import count_text

SOURCED = re.compile(r"^- .+ \[#\d+(, #\d+){0,2}\]$")

Numbered = list[tuple[int, BaseMessage]]


def numbered(*messages: BaseMessage) -> Numbered:
    return list(enumerate(messages, start=1))


def call(name: str, key: str = "1", **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": key, "type": "tool_call"}])


def result(text: str, key: str = "1", *, failed: bool = False) -> ToolMessage:
    return ToolMessage(text, tool_call_id=key, name="bash", status="error" if failed else "success")


def summary(*messages: BaseMessage, max_tokens: int = 1_500) -> str:
    text = extract_summary(numbered(*messages), max_tokens=max_tokens)
    assert count_text(text) <= max_tokens
    assert all(SOURCED.match(line) for line in text.splitlines())
    return text
