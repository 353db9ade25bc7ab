from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langledger.recall.metadata import facts_of
from langledger.recall.tags import tags_of
from langledger.recall.units import LONGEST, RECALLED, call_heads, recalled_mark, split, units_of

CALL = {"id": "c1", "name": "bash", "args": {"command": "pytest -x tests/test_login.py"}}


def test_a_tool_result_begins_with_its_call() -> None:
    asked = AIMessage("Running the tests.", tool_calls=[CALL])
    result = ToolMessage("1 failed", tool_call_id="c1")
    assert units_of(result, call_heads([asked])) == [
        "bash command: pytest -x tests/test_login.py\n1 failed"
    ]
    assert units_of(asked, {}) == [
        "Running the tests.\n\nbash command: pytest -x tests/test_login.py"
    ]


def test_what_is_said_before_a_call_stands_with_it_however_long_it_is() -> None:
    said = f"{'Some thoughts. ' * 30}\n\n{'Therefore I look at login.py again. ' * 10}"
    asked = AIMessage(said, tool_calls=[CALL])
    assert [unit for unit in units_of(asked, {}) if "look" in unit and "pytest" in unit]
    assert all(len(unit) <= LONGEST for unit in units_of(asked, {}))


def test_a_message_with_a_name_begins_with_it() -> None:
    assert units_of(HumanMessage("I moved.", name="Ana"), {}) == ["Ana: I moved."]
    assert units_of(HumanMessage("Ana: I moved.", name="Ana"), {}) == ["Ana: I moved."]
    call = AIMessage("", name="worker", tool_calls=[CALL])
    assert units_of(call, {}) == ["bash command: pytest -x tests/test_login.py"]


def test_an_empty_result_is_found_by_its_call() -> None:
    asked = AIMessage("", tool_calls=[CALL])
    assert units_of(ToolMessage("", tool_call_id="c1"), call_heads([asked])) != []


def test_what_repeats_a_recall_is_not_indexed() -> None:
    again = HumanMessage("the port is 8080", additional_kwargs={RECALLED: True})
    assert units_of(again, {}) == []
    quoted = HumanMessage(f"{recalled_mark('the port is 8080')}\nWhich port?")
    assert units_of(quoted, {}) == ["Which port?"]
    answer = ToolMessage("#3 (human): the port", tool_call_id="c", name="recall_history")
    assert units_of(answer, {}) == []


@pytest.mark.parametrize("tool", ["recall_history", "get_entry", "mcp__langledger__recall"])
def test_what_is_looked_up_in_the_record_is_not_indexed_nor_what_comes_of_it(tool: str) -> None:
    lookup = {"id": "c2", "name": tool, "args": {"query": "the torque limit"}}
    asked = AIMessage("I look.", tool_calls=[lookup, CALL])
    broken = {"id": "c3", "name": tool, "args": "{", "error": None, "type": "invalid_tool_call"}
    unread = AIMessage("", invalid_tool_calls=[cast("Any", broken)])
    assert units_of(asked, {}) == ["I look.\n\nbash command: pytest -x tests/test_login.py"]
    assert units_of(unread, {}) == []
    heads = call_heads([asked])
    assert units_of(ToolMessage("It is 4 Nm.", tool_call_id="c2"), heads) == []
    assert units_of(ToolMessage("It is 4 Nm.", tool_call_id="c2", name=tool), {}) == []


def test_a_tool_of_another_server_is_indexed_whatever_its_name() -> None:
    asked = AIMessage(
        "", tool_calls=[{"id": "c", "name": "mcp__mem__recall", "args": {"query": "torque"}}]
    )
    assert units_of(asked, {}) == ["mcp__mem__recall query: torque"]


def test_a_code_block_stays_whole() -> None:
    code = "```python\ndef f():\n\n    return 1\n```"
    text = f"{'Some words before. ' * 40}\n\n{code}\n\n{'And after. ' * 70}"
    assert any(code in unit for unit in split(text))


def test_blocks_of_any_provider_are_read() -> None:
    content = [
        {"type": "text", "text": "one"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "tool_result", "content": [{"type": "text", "text": "two"}]},
        "three",
    ]
    assert units_of(HumanMessage(content), {}) == ["one\n\ntwo\n\nthree"]


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=6000))
def test_nothing_but_space_is_lost(text: str) -> None:
    units = split(text)
    assert "".join("".join(units).split()) == "".join(text.split())
    assert all(0 < len(unit) <= LONGEST + 2 for unit in units)


def test_a_long_line_without_spaces_is_cut() -> None:
    assert len(split("x" * 100_000)) >= 80


def test_tags() -> None:
    assert "requirement" in tags_of("You must never push to main.", "human")
    assert "requirement" in tags_of("必须用中文回答，不要改配置", "human")
    assert "preference" in tags_of("I prefer tabs", "human")
    assert "decision" in tags_of("We decided to use pgvector", "ai")
    assert "error" in tags_of("ValueError: bad port", "tool")
    assert tags_of("ok, thanks!", "human") == ["noise"]
    assert tags_of("好的", "human") == ["noise"]
    assert tags_of("Noted.", "ai") == ["noise"]
    assert tags_of("Understood, will do.", "ai") == ["noise"]
    assert tags_of("收到，明白了。", "ai") == ["noise"]
    assert "noise" not in tags_of("Noted: port 8443.", "ai")
    assert "noise" not in tags_of("右边的按钮", "human")
    assert tags_of("You are a helpful assistant and must obey.", "system") == ["system"]


def test_a_tool_orders_nothing_and_a_guess_is_no_fact() -> None:
    assert "requirement" not in tags_of("Users must never be trusted", "tool")
    guess = tags_of("I could evaluate whether X could be useful; maybe we will use it", "ai")
    assert guess == ["hypothesis"]


def test_facts() -> None:
    facts = facts_of(
        "```python\nclass Login:\n    def check(self): ...\n```\n"
        "src/auth/login.py:42: ValueError, version 3.11, code TS2345, see README"
    )
    assert facts["path"] == ["src/auth/login.py"]
    assert facts["function"] == ["check"]
    assert facts["class"] == ["Login"]
    assert facts["error"] == ["ValueError", "TS2345"]
    assert facts["language"] == ["python"]


def test_messages_that_say_nothing_have_no_unit() -> None:
    assert units_of(HumanMessage(""), {}) == units_of(SystemMessage("  \n "), {}) == []
