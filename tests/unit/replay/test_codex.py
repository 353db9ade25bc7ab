from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage, SystemMessage


def item(kind: str, **fields: object) -> dict:
    return {"type": "response_item", "timestamp": "t", "payload": {"type": kind, **fields}}


def said(role: str, *words: str) -> dict:
    block = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": block, "text": w} for w in words])


def call(call_id: str, arguments: str = "{}", name: str = "shell") -> dict:
    return item("function_call", name=name, arguments=arguments, call_id=call_id)


def output(call_id: str, value: object) -> dict:
    return item("function_call_output", call_id=call_id, output=value)


HEAD = {
    "type": "session_meta",
    "timestamp": "t",
    "payload": {"id": "s", "cwd": "/w", "base_instructions": {"text": "You are Codex."}},
}


def test_items_of_one_answer_are_one_message(load_lines):
    reasoning = {"id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    session = load_lines(
        HEAD,
        {"type": "turn_context", "payload": {"model": "gpt-5", "cwd": "/w"}},
        said("user", "go"),
        item("reasoning", **reasoning, internal_chat_message_metadata_passthrough={"turn_id": "x"}),
        said("assistant", "looking"),
        call("c1", '{"command": ["ls"]}'),
        call("c2", "not json"),
        output("c1", "a"),
        said("developer", "approved"),
        output("c2", "b"),
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "looking"}},
        HEAD,
        said("assistant", "done"),
    )
    assert session.cwd == "/w"
    messages = [entry.message for entry in session.messages]
    kinds = [message.type for message in messages]
    assert kinds == ["system", "human", "ai", "tool", "tool", "system", "ai"]
    answer = messages[2]
    assert isinstance(answer, AIMessage)
    assert answer.content == [
        {"type": "reasoning", **reasoning},
        {"type": "text", "text": "looking"},
    ]
    assert [found["args"] for found in answer.tool_calls] == [{"command": ["ls"]}]
    assert answer.invalid_tool_calls[0]["args"] == "not json"
    assert answer.response_metadata["model_name"] == "gpt-5"
    assert messages[6].content == "done"


@pytest.mark.parametrize(
    ("value", "content", "exit_code", "status"),
    [
        ("plain", "plain", None, "success"),
        (json.dumps({"output": "x", "metadata": {"exit_code": 0}}), "x", 0, "success"),
        (json.dumps({"output": "x", "metadata": {"exit_code": 2}}), "x", 2, "error"),
        ('{"output": "no metadata"}', '{"output": "no metadata"}', None, "success"),
        ("Exit code: 1\nOutput:\nx", "Exit code: 1\nOutput:\nx", 1, "error"),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nx", None, 0, "success"),
        ("Wall time: 1\nOutput:\nExit code: 1", None, None, "success"),
        ("apply_patch verification failed: no lines", None, None, "error"),
        ({"content": "denied", "success": False}, "denied", None, "error"),
        ([{"type": "input_text", "text": "Script failed\n"}], "Script failed\n", None, "error"),
        (None, "", None, "success"),
    ],
)
def test_results(load_lines, value, content, exit_code, status):
    answer, result = (entry.message for entry in load_lines(call("c"), output("c", value)).messages)
    assert answer.tool_calls[0]["id"] == result.tool_call_id == "c"
    assert result.content == (value if content is None else content)
    assert result.additional_kwargs.get("exit_code") == exit_code
    assert result.status == status
    assert result.name == "shell"


def test_patches_and_local_shell_calls(load_lines):
    action = {"type": "exec", "command": ["ls"]}
    session = load_lines(
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c1"),
        item("custom_tool_call_output", call_id="c1", output="ok"),
        item("local_shell_call", call_id=None, id="c2", action=action, status="completed"),
        item("web_search_call", action={"query": "x"}, status="completed"),
    )
    first, _, second = (entry.message for entry in session.messages)
    assert first.tool_calls[0]["args"] == {"input": "*** Begin Patch"}
    assert second.tool_calls[0]["args"] == action
    assert second.tool_calls[0]["id"] == "c2"
    assert [block["type"] for block in second.content] == ["web_search_call"]


def test_surroundings_are_synthetic_and_images_are_kept(load_lines):
    session = load_lines(
        said("user", "# AGENTS.md instructions for /w", "<environment_context>"),
        said("user", "<environment_context> is what I asked about?", "yes"),
        item(
            "message",
            role="user",
            content=[{"type": "input_image", "image_url": "data:image/png;base64,AA"}],
        ),
    )
    synthetic = ["synthetic" in entry.message.additional_kwargs for entry in session.messages]
    assert synthetic == [True, False, False]
    assert session.messages[2].message.content == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    ]


@pytest.mark.parametrize("words", ["what happened so far", ""])
def test_compaction_is_kept_but_not_shown(load_lines, words: str):
    payload = {"message": words, "replacement_history": [{"type": "message"}]}
    session = load_lines(said("user", "go"), {"type": "compacted", "payload": payload})
    assert [entry.shown for entry in session.messages] == [True, False]
    assert session.messages[1].message.text == words
    assert session.messages[1].message.additional_kwargs["compaction"] == {"kept_messages": 1}


def test_the_shape_before_autumn_2025(load_lines):
    session = load_lines(
        {"id": "s", "timestamp": "t", "instructions": "be brief", "git": {}},
        {"record_type": "state"},
        said("user", "go")["payload"],
        call("c")["payload"],
        output("c", "x")["payload"],
    )
    assert session.format == "codex"
    assert [entry.message.type for entry in session.messages] == ["human", "ai", "tool"]
    assert not any(isinstance(entry.message, SystemMessage) for entry in session.messages)
