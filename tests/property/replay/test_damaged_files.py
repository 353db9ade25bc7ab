"""Whatever happens to a file, it loads or gives a SessionFileError, never another error."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langledger.errors import SessionFileError
from langledger.replay.session import load_session

CALL = {"id": "c", "name": "f", "args": {}}
THINKING = {"type": "thinking", "thinking": "t", "signature": "s"}
SESSIONS: list[list[Any]] = [
    [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": "a", "thinking": "t", "tool_calls": [CALL], "meta": {}},
        {"role": "tool", "content": "r", "tool_call_id": "c", "name": "f", "exit_code": 1},
        {"role": "user", "content": "c", "meta": {"compaction": True, "trigger": "auto"}},
    ],
    [
        {
            "type": "user",
            "sessionId": "s",
            "uuid": "u",
            "cwd": "/w",
            "origin": {"kind": "human"},
            "message": {"content": "hi"},
        },
        {
            "type": "assistant",
            "sessionId": "s",
            "message": {
                "id": "m",
                "model": "x",
                "usage": {"input_tokens": 1},
                "content": [THINKING, {"type": "tool_use", "id": "c", "name": "f", "input": {}}],
            },
        },
        {
            "type": "user",
            "sessionId": "s",
            "toolUseResult": {"type": "create"},
            "message": {
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": "Exit code 1"}]
            },
        },
        {"type": "system", "subtype": "compact_boundary", "sessionId": "s", "compactMetadata": {}},
        {"type": "user", "sessionId": "s", "isCompactSummary": True, "message": {"content": "c"}},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "p"}},
    ],
    [
        {"type": "session_meta", "payload": {"cwd": "/w", "base_instructions": {"text": "b"}}},
        {"type": "turn_context", "payload": {"model": "m"}},
        {
            "type": "response_item",
            "timestamp": "t",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "u"}],
            },
        },
        {
            "type": "response_item",
            "payload": {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
        },
        {
            "type": "response_item",
            "payload": {
                "type": "function_call_output",
                "call_id": "c",
                "output": '{"output": "o", "metadata": {"exit_code": 0}}',
            },
        },
        {
            "type": "response_item",
            "payload": {"type": "local_shell_call", "call_id": "d", "action": {"command": ["x"]}},
        },
        {"type": "compacted", "payload": {"message": "m", "replacement_history": [{}]}},
    ],
    [
        {"type": "human", "data": {"content": "h", "additional_kwargs": {"tool_calls": []}}},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {"content": "a", "tool_calls": [{**CALL, "type": "tool_call"}]},
        },
        {"type": "tool", "content": [{"type": "text", "text": "r"}], "tool_call_id": "c"},
        {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [{"function": {}}]}},
    ],
    [
        {
            "messages": [
                {"role": "user", "content": "u"},
                {
                    "role": "assistant",
                    "content": "a",
                    "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
                },
                {"role": "tool", "content": "r", "tool_call_id": "c", "extra": {"returncode": 1}},
            ],
            "info": {"config": {"environment": {"cwd": "/w"}}},
            "kwargs": {"tools": [{}]},
            "response": {"choices": [{"message": {"role": "assistant", "content": "e"}}]},
        }
    ],
    [
        {"type": "session", "id": "s", "cwd": "/w"},
        {"type": "session_init", "systemPrompt": "p", "tools": ["a"]},
        {"type": "message", "message": {"role": "user", "content": "u"}},
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "thinkingSignature": "s"},
                    {"type": "toolCall", "id": "c", "name": "f", "arguments": {}},
                ],
            },
        },
        {"type": "message", "message": {"role": "toolResult", "toolCallId": "c", "content": "r"}},
        {"type": "compaction", "summary": "c", "tokensBefore": 1},
    ],
]

junk = st.sampled_from(
    [
        *(None, True, 0, -1.5, 10**30, "", "x", '{"output":1}'),
        *([], [None], [[]], {}, {"type": []}, {"a": 1}),
        *([{"type": "text"}], [{"type": "text", "text": None}], [{"text": {}}]),
    ]
)


def load_or_refuse(path: Path) -> None:
    with suppress(SessionFileError):
        session = load_session(path)
        ids = [entry.message.id for entry in session.messages]
        assert len(set(ids)) == len(ids) > 0
        assert all(isinstance(entry.message.text, str) for entry in session.messages)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    found: list[tuple[Any, Any]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        found.append((value, key))
        if isinstance(inner, dict | list):
            found += places(inner)
    return found


@settings(max_examples=800, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_may_be_anything(tmp_path: Path, data: st.DataObject):
    records = copy.deepcopy(data.draw(st.sampled_from(SESSIONS)))
    for _ in range(data.draw(st.integers(1, 3))):
        spots = places(records)
        container, key = spots[data.draw(st.integers(0, len(spots) - 1))]
        if data.draw(st.booleans()):
            container[key] = copy.deepcopy(data.draw(junk))
        else:
            del container[key]
        if not records:
            break
    path = tmp_path / "damaged.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    load_or_refuse(path)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    records=st.sampled_from(SESSIONS),
    start=st.integers(0, 2000),
    length=st.integers(0, 40),
    inserted=st.binary(max_size=8),
)
def test_any_bytes_may_be_replaced(
    tmp_path: Path, records: list[Any], start: int, length: int, inserted: bytes
):
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    start %= len(content)
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(content[:start] + inserted + content[start + length :])
    load_or_refuse(path)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.sampled_from(SESSIONS), kept=st.integers(0, 2000))
def test_a_file_cut_anywhere_loads_what_is_whole(tmp_path: Path, records: list[Any], kept: int):
    lines = [json.dumps(record) + "\n" for record in records]
    content = "".join(lines).encode()
    kept %= len(content)
    path = tmp_path / "cut.jsonl"
    path.write_bytes(content[:kept])
    whole = content[: kept + 1].count(b"\n") if kept else 0
    try:
        session = load_session(path)
    except SessionFileError:
        # Nothing whole was left, or only lines that hold no message.
        assert whole <= 2
    else:
        path.write_text("".join(lines[:whole]), encoding="utf-8")
        assert session.messages == load_session(path).messages
        cut = not content[:kept].endswith(b"\n") and content[kept : kept + 1] != b"\n"
        assert bool(session.damage) == cut
