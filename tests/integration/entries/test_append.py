"""Entries on a real PostgreSQL: once each, in order, equal to what went in."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
)

from langledger import entries
from langledger.database import AsyncDatabase, Database
from langledger.entries import Location
from langledger.errors import ConfigurationError, SerializationError
from langledger.operations import Query, arun, run

HERE = Location("t", "thread")

EXACT = [
    HumanMessage("plain"),
    HumanMessage("nul \x00 inside", id="h\x00"),
    HumanMessage("lone \ud800 surrogate \udfff"),
    HumanMessage("中文，日本語、한국어 🙂"),
    HumanMessage(""),
    HumanMessage(
        [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ],
        name="ann",
    ),
    SystemMessage("rules"),
    AIMessage(
        [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "ok"},
            {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": [1, None, {"b": 2.5}]}},
        ],
        tool_calls=[{"name": "f", "args": {"a": [1, None, {"b": 2.5}]}, "id": "c1"}],
        invalid_tool_calls=[{"name": "g", "args": "{broken", "id": "c2", "error": "bad json"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model_name": "m", "finish_reason": "tool_calls"},
        id="a1",
    ),
    AIMessage(
        "big number", additional_kwargs={"n": 2**80, "nested": {"k": (1, 2), 3: b"\x00\xff"}}
    ),
    AIMessageChunk("partial", id="chunk"),
    ToolMessage(
        "result", tool_call_id="c1", status="error", artifact={"raw": b"\x00\x01"}, name="f"
    ),
    ToolMessage([{"type": "text", "text": "a"}, "b"], tool_call_id="c2"),
    ChatMessage(role="developer", content="hi"),
    FunctionMessage(name="fn", content="42"),
]


def read(database: Database, location: Location = HERE) -> list[BaseMessage]:
    return [entry.message for entry in run(entries.history(location), database)]


def test_every_message_comes_back_equal(database: Database) -> None:
    run(entries.append(HERE, EXACT), database)
    back = read(database)
    assert back == EXACT
    assert [type(m) for m in back] == [type(m) for m in EXACT]


def test_a_ten_megabyte_result_comes_back_equal(database: Database) -> None:
    big = ToolMessage("line of output \n" * 700_000, tool_call_id="c")
    run(entries.append(HERE, [big]), database)
    assert read(database) == [big]


def test_messages_with_ids_are_recorded_once(database: Database) -> None:
    messages = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    first = run(entries.append(HERE, messages), database)
    again = run(entries.append(HERE, [*messages, HumanMessage("c", id="3")]), database)
    assert first.entry_ids == [1, 2]
    assert first.added == 2
    assert again.entry_ids == [1, 2, 3]
    assert again.added == 1
    assert run(entries.count(HERE), database) == 3


def test_an_edited_message_is_another_entry(database: Database) -> None:
    run(entries.append(HERE, [HumanMessage("a", id="1")]), database)
    run(entries.append(HERE, [HumanMessage("edited", id="1")]), database)
    assert [m.content for m in read(database)] == ["a", "edited"]


def test_the_same_words_said_twice_are_two_entries(database: Database) -> None:
    run(entries.append(HERE, [HumanMessage("yes")]), database)
    run(entries.append(HERE, [HumanMessage("yes"), HumanMessage("yes")]), database)
    assert [m.content for m in read(database)] == ["yes"] * 3


def test_a_whole_thread_without_ids_given_again_adds_only_what_is_new(database: Database) -> None:
    thread = [HumanMessage("go"), AIMessage("ok"), HumanMessage("go"), AIMessage("ok")]
    run(entries.append(HERE, thread, from_start=True), database)
    grown = [*thread, HumanMessage("go")]
    recorded = run(entries.append(HERE, grown, from_start=True), database)
    assert recorded.entry_ids == [1, 2, 3, 4, 5]
    assert recorded.added == 1
    assert read(database) == grown


def test_many_messages_are_asked_for_before_they_are_sent(database: Database) -> None:
    thread = [HumanMessage(f"message {n}") for n in range(200)]
    run(entries.append(HERE, thread[:150], from_start=True), database)
    recorded = run(entries.append(HERE, thread, from_start=True), database)
    assert recorded.entry_ids == list(range(1, 201))
    assert recorded.added == 50


def test_threads_and_tenants_are_apart(database: Database) -> None:
    other, stranger = Location("t", "other"), Location("u", "thread")
    for location, text in ((HERE, "mine"), (other, "other thread"), (stranger, "other tenant")):
        run(entries.append(location, [HumanMessage(text, id="same")]), database)
    assert [m.content for m in read(database)] == ["mine"]
    assert [m.content for m in read(database, stranger)] == ["other tenant"]
    assert {row["thread_id"] for row in run(entries.threads("t"), database)} == {"thread", "other"}


def test_an_empty_append_is_nothing(database: Database) -> None:
    assert run(entries.append(HERE, []), database).entry_ids == []
    assert run(entries.threads("t"), database) == []


def test_what_cannot_be_stored_is_refused_whole(database: Database) -> None:
    bad = AIMessage("x", additional_kwargs={"handle": object()})
    with pytest.raises(SerializationError, match="cannot be stored"):
        run(entries.append(HERE, [HumanMessage("fine"), bad]), database)
    assert run(entries.count(HERE), database) == 0


def test_an_artifact_that_cannot_be_stored_does_not_cost_the_message(database: Database) -> None:
    run(entries.append(HERE, [ToolMessage("r", tool_call_id="c", artifact=object())]), database)
    assert read(database) == [ToolMessage("r", tool_call_id="c")]


@pytest.mark.parametrize("thread_id", ["", "a\x00b", "lone \ud800", None, 7])
def test_a_thread_id_that_cannot_be_a_key_is_refused(thread_id: Any) -> None:
    with pytest.raises(ConfigurationError):
        Location("t", thread_id)


def test_writers_of_one_thread_lose_nothing(database: Database) -> None:
    def write(writer: int) -> None:
        for n in range(20):
            run(entries.append(HERE, [HumanMessage(f"{writer}-{n}")]), database)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    found = run(entries.history(HERE), database)
    assert [entry.entry_id for entry in found] == list(range(1, 161))
    assert {entry.message.content for entry in found} == {
        f"{w}-{n}" for w in range(8) for n in range(20)
    }


def test_writers_of_the_same_messages_write_them_once(database: Database) -> None:
    messages = [HumanMessage(f"m{n}", id=str(n)) for n in range(50)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: run(entries.append(HERE, messages), database), range(8)))
    assert sum(result.added for result in results) == 50
    assert all(result.entry_ids == results[0].entry_ids for result in results)


async def test_the_awaited_path_does_the_same(async_database: AsyncDatabase) -> None:
    await arun(entries.append(HERE, EXACT), async_database)
    found = await arun(entries.history(HERE), async_database)
    assert [entry.message for entry in found] == EXACT


def test_an_append_is_one_transaction(database: Database) -> None:
    operation = entries.append(HERE, [HumanMessage("a")], also=Query("SELECT 1/0"))
    with pytest.raises(Exception, match="division by zero"):
        run(operation, database)
    assert run(entries.count(HERE), database) == 0


@pytest.mark.transcripts
def test_recorded_provider_messages_come_back_equal(datasets_dir, database: Database) -> None:
    lines = (datasets_dir / "messages" / "langgraph_values.jsonl").read_text().splitlines()
    for number, line in enumerate(lines):
        found = [m for m in _message_dicts(json.loads(line)) if "content" in m and "type" in m]
        messages = [
            m
            for d in found
            if d["type"] in ("human", "ai", "tool", "system")
            for m in messages_from_dict([{"type": d["type"], "data": d}])
        ]
        location = Location("t", f"recorded-{number}")
        recorded = run(entries.append(location, messages, from_start=True), database)
        back = {e.entry_id: e.message for e in run(entries.history(location), database)}
        assert [back[entry_id] for entry_id in recorded.entry_ids] == messages


def _message_dicts(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        own = [value] if "content" in value and "type" in value else []
        return own + [m for item in value.values() for m in _message_dicts(item)]
    if isinstance(value, list):
        return [m for item in value for m in _message_dicts(item)]
    return []
