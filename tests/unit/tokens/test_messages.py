from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.utils import convert_to_messages
from langchain_core.tools import tool
from pydantic import BaseModel

from langledger.tokens import (
    count_each,
    count_message,
    count_messages,
    count_text,
    count_tools,
)
from langledger.tokens import (
    text as text_module,
)

ARGUMENTS = {"path": "src/auth.py", "content": "def login():\n    return '中文'\n" * 200}
CALL = {"name": "write_file", "args": ARGUMENTS, "id": "call_1", "type": "tool_call"}
ARGUMENT_TOKENS = count_text(json.dumps(ARGUMENTS, ensure_ascii=False))


def test_a_text_message_costs_its_text_and_the_template():
    assert count_message(HumanMessage("hello world")) == 2 + 4


@pytest.mark.parametrize(
    "message",
    [
        SystemMessage("hello world"),
        ChatMessage(role="critic", content="hello world"),
        HumanMessage(["hello world"]),
        HumanMessage([{"type": "text", "text": "hello world"}]),
        AIMessage([{"type": "output_text", "text": "hello world", "annotations": ["u" * 99]}]),
    ],
)  # fmt: skip
def test_the_same_text_costs_the_same_in_any_form(message: BaseMessage):
    assert count_message(message) == 6


def test_a_name_is_counted():
    assert count_message(HumanMessage("hello world", name="alice")) > 6


@pytest.mark.parametrize(
    "content",
    [
        "",
        [],
        [{"type": "text", "text": ""}],
        [{"type": "tool_use", "id": "call_1", "name": "write_file", "input": ARGUMENTS}],
        [{"type": "function_call", "call_id": "call_1", "name": "write_file",
          "arguments": json.dumps(ARGUMENTS)}],
        [{"type": "tool_call", "id": "call_1", "name": "write_file", "args": ARGUMENTS}],
        [{"type": "input_json_delta", "partial_json": json.dumps(ARGUMENTS), "index": 0}],
    ],
)  # fmt: skip
def test_arguments_are_counted_once_whatever_the_content(
    content: str | list[str | dict[str, object]],
):
    counted = count_message(AIMessage(content, tool_calls=[CALL]))
    assert counted == pytest.approx(ARGUMENT_TOKENS, abs=25)
    assert counted > ARGUMENT_TOKENS


def test_invalid_calls_are_counted_once_too():
    broken = json.dumps(ARGUMENTS)[:-1]
    call = {
        "name": "f",
        "args": broken,
        "id": "1",
        "error": "bad " * 500,
        "type": "invalid_tool_call",
    }
    block = {"type": "tool_use", "id": "1", "name": "f", "input": broken}
    contents: list[Any] = ["", [block]]
    for content in contents:
        counted = count_message(AIMessage(content, invalid_tool_calls=[call]))
        assert counted == pytest.approx(count_text(broken), abs=25)


def test_calls_that_only_the_content_has_are_counted():
    block = {"type": "server_tool_use", "id": "1", "name": "bash", "input": ARGUMENTS}
    assert count_message(AIMessage([block])) > ARGUMENT_TOKENS
    legacy = {"function_call": {"name": "f", "arguments": json.dumps(ARGUMENTS)}}
    assert count_message(AIMessage("", additional_kwargs=legacy)) > ARGUMENT_TOKENS


def test_the_artifact_and_the_ids_are_not_sent():
    plain = ToolMessage("done", tool_call_id="1")
    heavy = ToolMessage(
        "done", tool_call_id="1" * 500, id="9" * 500, artifact={"rows": "x " * 9_000}
    )
    assert count_message(heavy) == count_message(plain)
    assert count_message(FunctionMessage(content="done", name="f")) > count_message(
        HumanMessage("done")
    )


def test_reasoning_beside_the_content_is_counted_where_it_is_sent_back():
    kwargs = {"reasoning_content": "because " * 300}
    assert count_message(AIMessage("x", additional_kwargs=kwargs, tool_calls=[CALL])) > (
        count_message(AIMessage("x", tool_calls=[CALL])) + 290
    )
    assert count_message(AIMessage("x", additional_kwargs=kwargs)) == count_message(AIMessage("x"))


def test_visible_thinking_is_counted_as_text():
    thinking = {"type": "thinking", "thinking": "step by step " * 100, "signature": "A" * 400}
    assert count_message(AIMessage([thinking])) == pytest.approx(300, abs=10)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "", "signature": "QUJD" * 1_575},
        {"type": "redacted_thinking", "data": "QUJD" * 1_575},
        {"type": "reasoning", "encrypted_content": "QUJD" * 1_750, "summary": []},
        {"type": "reasoning", "reasoning": "", "extras": {"signature": "QUJD" * 1_575}},
    ],
)
def test_hidden_reasoning_is_estimated_from_its_payload(block: dict[str, object]):
    assert count_message(AIMessage([block])) == 1_000 + 4


def test_the_responses_reasoning_item_beside_the_content_is_counted():
    item = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "a b c"}],
    }
    message = AIMessage("x", additional_kwargs={"reasoning": item})
    assert count_message(message) == count_message(AIMessage("x")) + 3


IMAGE = base64.b64encode(bytes(300_000)).decode()


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_result", "tool_use_id": "1", "content": [
            {"type": "text", "text": "screenshot"},
            {"type": "image", "source": {"type": "base64", "data": IMAGE}}]},
        {"toolResult": {"content": [{"image": {"format": "png", "source": {"bytes": IMAGE}}}]}},
        {"type": "computer_call_output", "output": {
            "type": "input_image", "image_url": f"data:image/png;base64,{IMAGE}"}},
        {"type": "non_standard", "value": {"type": "image", "base64": IMAGE}},
        {"type": "a kind of tomorrow", "picture": f"data:image/png;base64,{IMAGE}"},
        {"type": "inline_data", "inline_data": {"mime_type": "image/png", "data": IMAGE}},
    ],
)  # fmt: skip
def test_a_picture_inside_another_block_costs_a_picture(block: dict[str, object]):
    assert 1_000 < count_message(ToolMessage([block], tool_call_id="1")) < 1_700


def test_an_image_block_costs_what_openai_says_not_its_base64():
    block = {"type": "input_image", "image_url": f"data:image/png;base64,{IMAGE}"}
    assert count_message(HumanMessage([block])) == 1_105 + 4


def test_base64_that_is_written_as_text_is_text():
    assert count_message(HumanMessage([{"type": "text", "text": IMAGE}])) > 100_000 / 3


def test_documents_made_of_text_count_as_text():
    blocks: list[Any] = [
        {"type": "text", "text": "The grass is green"},
        {"type": "text", "text": "The sky is blue"},
    ]
    document = {"type": "document", "source": {"type": "content", "content": blocks}}
    assert count_message(HumanMessage([document])) == count_message(HumanMessage(blocks))


@pytest.mark.parametrize(
    "block",
    [
        {},
        {"type": None},
        {"type": ["x"]},
        {"type": 5, "x": b"\xff"},
        {"x": {1: {2, 3}}},
        {"n": [1, None]},
    ],
)
def test_blocks_of_no_known_kind_are_counted_without_failing(block: dict[str, object]):
    assert count_message(HumanMessage([block])) >= 4


def test_arguments_that_json_cannot_write_are_counted():
    circular: dict[str, object] = {"text": "word " * 100}
    circular["self"] = circular
    message = AIMessage("", tool_calls=[{"name": "f", "args": circular, "id": "1"}])
    assert count_message(message) > 100


def test_a_thousand_messages_are_one_native_call(monkeypatch: pytest.MonkeyPatch):
    batches: list[int] = []
    native = text_module.batch_count

    def spy(texts: list[str], *args: Any, **options: Any) -> list[int]:
        batches.append(len(texts))
        return native(texts, *args, **options)

    monkeypatch.setattr(text_module, "batch_count", spy)
    messages = [
        AIMessage([{"type": "text", "text": f"step {i}"}], tool_calls=[CALL]) for i in range(1_000)
    ]
    assert count_messages(messages) == sum(count_each(messages))
    assert batches == [3_000, 3_000]


@tool
def search(query: str, limit: int = 10) -> str:
    """Search the code base for a text and return the lines that hold it."""
    return query * limit


class Answer(BaseModel):
    """The final answer."""

    text: str


def greet(name: str) -> str:
    """Greet someone.

    Args:
        name: Who.
    """
    return name


@pytest.mark.parametrize(
    "definition",
    [
        search,
        Answer,
        greet,
        {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}},
        {"type": "function", "function": {"name": "f", "parameters": {}}},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
        {"google_search": {}},
        {},
    ],
)
def test_tools_in_every_form_are_counted(definition: Any):
    assert 8 < count_tools([definition]) < 200


def test_tools_add_up_and_a_longer_description_costs_more():
    assert count_tools([search, greet]) == count_tools([search]) + count_tools([greet])
    short: dict[str, Any] = {
        "name": "f",
        "description": "d",
        "parameters": {"type": "object", "properties": {}},
    }
    assert count_tools([{**short, "description": "d " * 500}]) > count_tools([short]) + 490
    assert count_tools([]) == 0


def test_a_recorded_request_is_near_what_the_provider_reported(datasets_dir: Path):
    lines = (datasets_dir / "messages/multimodal_messages.jsonl").read_text("utf-8").splitlines()
    before, after = (json.loads(line) for line in lines[:2])
    grown = after["response"]["usage"]["input_tokens"] - before["response"]["usage"]["input_tokens"]
    # A call, and its result with a text and a picture of 131 kB.
    added = convert_to_messages(after["request"]["messages"][1:])
    assert count_messages(added) == pytest.approx(grown, rel=0.15)
