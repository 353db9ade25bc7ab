"""Messages put together quickly are what LangGraph's serialiser makes of the same bytes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import ormsgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langledger.entries.codec import dump_message, load_message
from langledger.entries.revival import revived

_serde = JsonPlusSerializer()
_RAW = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
_CALL = {"name": "run", "args": {"a": [1, None]}, "id": "c1", "type": "tool_call"}
_USAGE = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}

_texts = st.text(max_size=8)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2),
    max_leaves=4,
)
_dicts = st.dictionaries(_texts | st.sampled_from(["tool_calls", "extras"]), _json, max_size=3)
_calls = st.fixed_dictionaries(
    {"name": _texts, "args": _dicts, "id": _texts | st.none()},
    optional={"type": st.just("tool_call"), "extras": _dicts, "index": st.integers(0, 3)},
)
_counts = st.integers(0, 9) | st.floats(0, 9) | st.booleans() | _texts
_usages = st.fixed_dictionaries(
    dict.fromkeys(_USAGE, _counts),
    optional={
        "input_token_details": st.dictionaries(
            st.sampled_from(["audio", "cache_read", "cache_creation", "other"]), _counts
        ),
        "more": _counts,
    },
)
_values = {
    "content": _texts | st.lists(_texts | _dicts, max_size=3) | _json,
    "additional_kwargs": _dicts | st.just({"tool_calls": [_RAW]}),
    "response_metadata": _dicts,
    "name": _texts | st.none(),
    "id": _texts | st.none() | st.integers(0, 9),
    "tool_calls": st.lists(_calls, max_size=2),
    "invalid_tool_calls": st.lists(_dicts, max_size=1),
    "usage_metadata": _usages | st.none(),
    "tool_call_id": _texts | st.uuids(),
    "artifact": _json | st.uuids(),
    "status": st.sampled_from(["success", "error"]) | _texts,
    "type": _texts,
}


@st.composite
def _stored(draw: Any) -> bytes:
    """A message's bytes; one or two of its fields hold anything."""
    kind = draw(st.sampled_from([HumanMessage, AIMessage, ToolMessage, SystemMessage]))
    fields = dict(_ordinary(kind).__dict__)
    for name in draw(st.lists(st.sampled_from(list(fields)), max_size=2, unique=True)):
        fields[name] = draw(_values[name])
    return _packed([kind.__module__, kind.__name__, fields, "model_validate_json"])


def _packed(content: Any) -> bytes:
    """Pack as the serialiser packs a pydantic model."""
    return ormsgpack.packb(ormsgpack.Ext(5, _serde.dumps_typed(content)[1]))


def _ordinary(kind: type[BaseMessage]) -> BaseMessage:
    more: dict[str, Any] = {"tool_call_id": "c1"} if kind is ToolMessage else {}
    more |= {"tool_calls": [_CALL], "usage_metadata": _USAGE} if kind is AIMessage else {}
    return kind("said", id="m1", additional_kwargs={"refusal": None}, **more)


def _all_of(message: Any) -> str:
    """All that a message holds, in order and with types."""
    extra, names = message.__pydantic_extra__, sorted(message.__pydantic_fields_set__)
    private = message.__pydantic_private__
    return repr((type(message), message.__dict__, extra, names, private))


@given(_stored())
def test_a_message_is_what_the_serialiser_makes(payload: bytes) -> None:
    quick, usual = revived(payload), _serde.loads_typed(("msgpack", payload))
    if quick is not None:
        assert _all_of(quick) == _all_of(usual)


@pytest.mark.parametrize(
    "message",
    [
        *(_ordinary(kind) for kind in (HumanMessage, AIMessage, ToolMessage, SystemMessage)),
        HumanMessage([{"type": "text", "text": "你好"}, "plain"]),
        AIMessage(
            "",
            tool_calls=[_CALL],
            usage_metadata={**_USAGE, "input_token_details": {"cache_read": 1}},
        ),
        ToolMessage(
            "failed", tool_call_id="c", status="error", artifact={"rows": [1, 2]}, name="run"
        ),
    ],
    ids=lambda message: f"{message.type} {str(message.content)[:8]}",
)
def test_what_agents_say_every_day_is_put_together_quickly(message: BaseMessage) -> None:
    quick = revived(_serde.dumps_typed(message)[1])
    assert quick is not None
    assert _all_of(quick) == _all_of(_serde.loads_typed(_serde.dumps_typed(message)))


@pytest.mark.parametrize(
    "message",
    [
        AIMessageChunk("part"),
        HumanMessage("more", example=True),
        AIMessage("", additional_kwargs={"tool_calls": [_RAW]}, tool_calls=[]),
        ToolMessage("", tool_call_id="c", artifact=UUID(int=1)),
    ],
    ids=lambda message: message.type,
)
def test_what_is_not_ordinary_is_left_to_the_serialiser(message: BaseMessage) -> None:
    kind, payload = dump_message(message)
    assert revived(payload) is None
    assert load_message(kind, payload) == message


@given(st.binary(max_size=40))
@example(b"")
@example(b"\xc7\x00\x05")
@example(b"\xc9\x00")
@example(_packed(["a", "b", {}, "c"]))
@example(_packed([[], {}, 1, "c"]))
@example(_packed(["langchain_core.messages.ai", "AIMessage", 3, ""]))
def test_other_bytes_are_no_message(payload: bytes) -> None:
    assert revived(payload) is None
