"""What goes in comes back equal, also what PostgresSaver changes or refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel

from langledger.checkpoint import LedgerSaver
from langledger.checkpoint import sealing as sealing_module
from langledger.errors import ConfigurationError, SerializationError


class Plan(BaseModel):
    steps: list[str]


@dataclass
class Place:
    name: str


VALUES: list[Any] = [
    None,
    "nul \x00 inside",
    "lone \ud800 surrogate",
    {"lone \udfff key": ["\ud800"]},
    2**70,
    [2**64, -(2**200)],
    math.inf,
    -0.0,
    b"\x00\xff",
    bytearray(b"bytes"),
    {"nested": {"list": [1, [2, {"three": None}]], "empty": {}, "none": []}},
    {1: "int key", (1, 2): "tuple key"},
    {"set": {1, 2, 3}},
    list(range(5000)),
    ["line " * 20] * 300,
    {f"file{n}": f"text {n} " * 50 for n in range(60)},
    "long " * 100_000,
    Plan(steps=["a", "b"]),
    Place("here"),
    [HumanMessage("lone \ud800", id="1"), AIMessage("big", additional_kwargs={"n": 2**80}, id="2")],
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:30])
def test_a_value_comes_back_equal(value: Any, put: Any, saver: LedgerSaver, cold: Any) -> None:
    config = put({"channel": value})
    saver.put_writes(config, [("channel", value)], "task")
    for reader in (saver, cold):
        found = reader.get_tuple(config)
        assert found.checkpoint["channel_values"] == {"channel": value}
        assert [write[2] for write in found.pending_writes] == [value]
        assert type(found.checkpoint["channel_values"]["channel"]) is type(value)


def test_not_a_number_comes_back(put: Any, cold: LedgerSaver) -> None:
    found = cold.get_tuple(put({"channel": math.nan}, metadata={"score": math.nan}))
    assert found is not None
    assert math.isnan(found.checkpoint["channel_values"]["channel"])
    assert math.isnan(found.metadata["score"])  # type: ignore[typeddict-item]  - any key may be there


def test_metadata_come_back_equal(put: Any, cold: LedgerSaver) -> None:
    metadata = {
        "source": "update",
        "step": 2**80,
        "parents": {"": "x", "node:1": "y" * 300},
        "nested": {"nul": ["\x00"], "lone": "\ud800", "set": {1}},
        "long": "text " * 200,
    }
    found = cold.get_tuple(put({"channel": 1}, metadata=metadata))
    assert found is not None
    assert found.metadata == metadata
    assert [t.metadata for t in cold.list(None, filter={"long": "text " * 200})] == [metadata]


def test_ten_megabytes_come_back(put: Any, cold: LedgerSaver) -> None:
    text = "".join(chr(32 + n * 7919 % 90) for n in range(1_000_000)) * 10
    found = cold.get_tuple(put({"messages": [HumanMessage(text, id="1")], "other": {"x": text}}))
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"][0].content == text
    assert found.checkpoint["channel_values"]["other"] == {"x": text}


def test_many_messages_at_once_are_sent_in_several_statements(put: Any, cold: Any) -> None:
    messages = [HumanMessage(f"message {n}", id=str(n)) for n in range(1200)]
    found = cold.get_tuple(put({"messages": messages}))
    assert found.checkpoint["channel_values"]["messages"] == messages


def test_what_cannot_be_stored_is_refused_and_the_thread_still_reads(
    put: Any, saver: LedgerSaver, rows: Any
) -> None:
    config = put({"messages": [HumanMessage("fine", id="1")]})
    bad = {"messages": [HumanMessage("new", id="2")], "handle": object()}
    with pytest.raises(SerializationError, match="object cannot be stored"):
        put(bad, parent=config)
    with pytest.raises(SerializationError, match="object cannot be stored"):
        saver.put_writes(config, [("messages", ["ok"]), ("handle", object())], "task")
    found = saver.get_tuple({"configurable": {"thread_id": "thread"}})
    assert found is not None
    assert found.config == config
    assert found.pending_writes == []
    assert rows("SELECT count(*) AS n FROM {schema}.entry")[0]["n"] == 1


def nested(depth: int, *, leaf: str, beside: str) -> Any:
    value: Any = leaf
    for level in range(depth):
        value = [value, beside] if level % 2 else {"in": value, "beside": beside}
    return value


@pytest.mark.parametrize("beside", ["", "text " * 100], ids=["small", "split"])
@pytest.mark.parametrize("leaf", ["plain", "why?", "\ud800"], ids=["plain", "mark", "surrogate"])
@pytest.mark.parametrize("depth", [31, 32, 33, 200])
def test_what_is_nested_deeply_comes_back(
    depth: int, leaf: str, beside: str, put: Any, saver: LedgerSaver, cold: LedgerSaver
) -> None:
    value = nested(depth, leaf=leaf, beside=beside)
    message = AIMessage("said", id="1", additional_kwargs={"deep": value})
    config = put({"value": value, "messages": [message]})
    for reader in (saver, saver, cold):
        values = reader.get_tuple(config).checkpoint["channel_values"]
        assert values == {"value": value, "messages": [message]}


@pytest.mark.parametrize("leaf", ["plain", "why?", "\ud800"], ids=["plain", "mark", "surrogate"])
def test_what_is_nested_beyond_all_measure_is_refused(
    leaf: str, put: Any, saver: LedgerSaver
) -> None:
    config = put({"value": "before"})
    deep = nested(3000, leaf=leaf, beside="")
    endless: list[Any] = []
    endless.append(endless)
    message = AIMessage("said", id="1", additional_kwargs={"deep": deep})
    for value in (deep, endless, [message]):
        with pytest.raises(SerializationError, match="nested too deeply"):
            put({"value": value}, parent=config, version=2)
        with pytest.raises(SerializationError, match="nested too deeply"):
            saver.put_writes(config, [("value", value)], "task")
    found = saver.get_tuple(config)
    assert found.checkpoint["channel_values"] == {"value": "before"}


def test_a_name_that_is_not_text_is_refused(put: Any, saver: LedgerSaver, rows: Any) -> None:
    with pytest.raises(SerializationError, match="name of a channel or node"):
        put({"half \ud800": 1})
    config = put({"messages": [HumanMessage("fine", id="1")]})
    with pytest.raises(SerializationError, match="name of a channel or node"):
        saver.put_writes(config, [("half \ud800", "x")], "task")
    found = saver.get_tuple(config)
    assert found is not None
    assert found.pending_writes == []


def test_a_value_too_large_for_postgresql_is_refused_with_advice(
    put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing_module, "_LARGEST", 10_000)  # a real gigabyte takes too long
    with pytest.raises(SerializationError, match="put its path into the state"):
        put({"channel": "x" * 20_000})


def test_a_config_without_thread_is_refused(saver: LedgerSaver) -> None:
    for call in (
        lambda: saver.get_tuple({"configurable": {}}),
        lambda: list(saver.list({"configurable": {}})),
        lambda: saver.put_writes({"configurable": {"checkpoint_id": "x"}}, [], "task"),
    ):
        with pytest.raises(ConfigurationError, match="names no thread"):
            call()


@pytest.mark.parametrize("part", ["thread_id", "checkpoint_ns", "checkpoint_id"])
def test_a_name_postgresql_cannot_hold_is_refused(part: str, saver: LedgerSaver) -> None:
    configurable = {"thread_id": "t", "checkpoint_ns": "", part: "nul \x00"}
    with pytest.raises(ConfigurationError):
        saver.get_tuple({"configurable": configurable})


def test_writes_without_checkpoint_are_refused(saver: LedgerSaver) -> None:
    with pytest.raises(ConfigurationError, match="belong to a checkpoint"):
        saver.put_writes({"configurable": {"thread_id": "t"}}, [("a", 1)], "task")


def test_an_unknown_thread_is_nothing(saver: LedgerSaver) -> None:
    config = {"configurable": {"thread_id": "never seen"}}
    assert saver.get_tuple(config) is None
    assert list(saver.list(config)) == []
    saver.delete_thread("never seen")
    saver.prune(["never seen"])
    assert saver.get_delta_channel_history(config=config, channels=["a"]) == {"a": {"writes": []}}


def test_other_ids_than_uuids_work(saver: LedgerSaver, cold: LedgerSaver) -> None:
    config: Any = {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}}
    for name in ("one", "three", "two"):
        checkpoint: Any = {
            "v": 1,
            "id": name,
            "ts": "whenever",
            "channel_values": {"a": name},
            "channel_versions": {"a": name},
            "versions_seen": {},
        }
        config = saver.put(config, checkpoint, {"step": 1}, {"a": name})
        saver.put_writes(config, [("a", name * 2)], f"task {name}", "path")
    found = list(cold.list({"configurable": {"thread_id": "thread"}}))
    assert [t.checkpoint["id"] for t in found] == ["two", "three", "one"]
    assert found[0].checkpoint["ts"] == "whenever"
    assert "updated_channels" not in found[0].checkpoint
    assert found[0].pending_writes == [("task two", "a", "twotwo")]
    assert found[0].parent_config == found[1].config
