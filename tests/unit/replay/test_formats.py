"""The shorter formats, and telling all of them apart."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    message_to_dict,
)

from langledger.replay.session import FORMATS, load_session

CALL = {"id": "c", "name": "ls", "args": {"path": "."}}


def test_normalised(load_lines):
    session = load_lines(
        {"role": "system", "content": "be good"},
        {"role": "user", "content": "go", "ts": "2026-01-01T00:00:00Z"},
        {"role": "assistant", "content": "ok", "thinking": "hm", "tool_calls": [CALL]},
        {
            "role": "tool",
            "content": "x",
            "tool_call_id": "c",
            "name": "ls",
            "is_error": True,
            "exit_code": 1,
        },
        {"role": "system", "content": "Applied edit", "meta": {"synthetic": True}},
        {"role": "user", "content": "so far", "meta": {"compaction": True, "pre_tokens": 9}},
        {"role": "assistant", "content": ""},
    )
    system, user, answer, result, output, summary, empty = (e.message for e in session.messages)
    assert isinstance(system, SystemMessage)
    assert user.response_metadata == {"timestamp": "2026-01-01T00:00:00Z"}
    assert answer.content == [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "ok"},
    ]
    assert answer.tool_calls == [{**CALL, "type": "tool_call"}]
    assert (result.status, result.additional_kwargs) == ("error", {"exit_code": 1})
    assert isinstance(output, HumanMessage)
    assert output.additional_kwargs == {"synthetic": True}
    assert summary.additional_kwargs["compaction"] == {"pre_tokens": 9}
    assert empty.content == ""
    assert [e.shown for e in session.messages] == [True] * 5 + [False, True]
    assert [e.message.id for e in session.messages] == [f"normalised-{i}" for i in range(7)]


def test_lines_with_calls_in_openai_shape(load_lines):
    function = {"name": "ls", "arguments": '{"path": "."}'}
    session = load_lines(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        }
    )
    assert session.messages[0].message.tool_calls == [{**CALL, "type": "tool_call"}]


def test_openai_document(load_document):
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    calls = [{"id": "c", "type": "function", "function": function}]
    session = load_document(
        {
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": [{"type": "text", "text": "u"}]},
                {
                    "role": "assistant",
                    "content": "a",
                    "reasoning_content": "r",
                    "tool_calls": calls,
                },
                {
                    "role": "tool",
                    "content": "t\n[Command finished with exit code 2]",
                    "tool_call_id": "c",
                },
                {"role": "exit", "content": "patch"},
            ],
            "info": {"config": {"environment": {"cwd": "/testbed"}}},
            "kwargs": {"tools": [{"type": "function"}]},
            "response": {"choices": [{"message": {"role": "assistant", "content": "end"}}]},
        }
    )
    assert [e.message.text for e in session.messages][-1] == "end"
    result = session.messages[3].message
    assert (result.name, result.status) == ("bash", "error")
    assert result.additional_kwargs == {"exit_code": 2}
    assert session.messages[2].message.content[0] == {"type": "reasoning", "reasoning": "r"}
    assert (session.cwd, len(session.tools)) == ("/testbed", 1)


def test_pi(load_lines):
    def message(**fields: object) -> dict:
        return {"type": "message", "id": f"m{len(fields)}{fields['role']}", "message": fields}

    session = load_lines(
        {"type": "session", "id": "s", "cwd": "/w"},
        message(role="user", content="go"),
        message(
            role="assistant",
            content=[
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "ls"}},
            ],
        ),
        message(
            role="toolResult",
            toolCallId="c",
            toolName="bash",
            content=[{"type": "text", "text": "no\n\nCommand exited with code 1"}],
            isError=True,
        ),
        message(role="bashExecution", command="pwd", output="/w"),
        {"type": "compaction", "id": "k", "summary": "so far", "tokensBefore": 7},
    )
    assert session.cwd == "/w"
    user, answer, result, ran, summary = (e.message for e in session.messages)
    assert user.additional_kwargs == {}
    assert answer.content == [{"type": "thinking", "thinking": "hm", "signature": "sig"}]
    assert result.additional_kwargs == {"exit_code": 1}
    assert result.status == "error"
    assert ran.additional_kwargs == {"synthetic": True}
    assert summary.additional_kwargs["compaction"] == {"pre_tokens": 7}
    assert not session.messages[-1].shown


@pytest.mark.parametrize("path", [(), ("values",), ("channel_values",), ("state",)])
def test_langgraph_states(load_document, path: tuple[str, ...]):
    messages = [HumanMessage("go", id="h"), AIMessage("ok", id="a")]
    document: dict[str, object] = {"messages": [message.model_dump() for message in messages]}
    for key in path:
        document = {key: document, "next": []}
    session = load_document(document, indent=2)
    assert session.format == "langchain"
    assert [e.message for e in session.messages] == messages


def test_ids_of_langchain_messages(load_document):
    messages = [
        HumanMessage("a", id="x"),
        HumanMessage("b"),
        HumanMessage("c", id="x"),
        HumanMessage("d", id="langchain-1"),
        HumanMessage("e", id=""),
    ]
    session = load_document([message_to_dict(message) for message in messages])
    assert [e.message.id for e in session.messages] == [
        "langchain-0",
        "langchain-1'",
        "langchain-2",
        "langchain-1",
        "langchain-4",
    ]


def test_summary_of_a_replay_s_own_dump_stays_hidden(load_lines, load_document):
    first = load_lines(
        {"role": "user", "content": "go"},
        {"role": "user", "content": "so far", "meta": {"compaction": True}},
    )
    dumped = [message_to_dict(entry.message) for entry in first.messages]
    again = load_document(dumped)
    assert again.messages == first.messages


def test_name_and_suffix_say_nothing(tmp_path):
    path = tmp_path / "rollout-claude-code.md"
    path.write_text('{"role": "user", "content": "hi"}', encoding="utf-8")
    session = load_session(path)
    assert (session.format, session.name) == ("normalised", "rollout-claude-code")


@pytest.mark.transcripts
def test_every_single_record_is_claimed_by_its_own_format_or_none(transcripts_dir):
    files = {file: file.parent.name for file in (transcripts_dir / "raw").rglob("*.jsonl")}
    files |= dict.fromkeys(transcripts_dir.glob("*/*.jsonl"), "normalised")
    claimed: Counter[str] = Counter()
    for file, expected in files.items():
        for line in filter(None, file.read_text(encoding="utf-8").split("\n")):
            record = json.loads(line)
            found = next((known.name for known in FORMATS if known.recognises(record)), None)
            assert found in {None, expected}, line[:300]
            claimed[found or "none"] += 1
    assert set(claimed) == {"claude-code", "codex", "normalised", "pi", "none"}
