"""Any list of LangChain messages, dumped in any of LangChain's forms, loads back equal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)

from langledger.replay.session import load_session

# Surrogates are left to the unit tests: here the file is written with raw characters too.
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
# Keys that dumpd must escape are wanted among the others.
keys = words | st.sampled_from(["lc", "type", "id", "kwargs", "__lc_escaped__", "messages"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(keys, values, max_size=3)
blocks = (
    st.fixed_dictionaries({"type": st.just("text"), "text": words})
    | st.fixed_dictionaries(
        {"type": st.just("thinking"), "thinking": words, "signature": words},
    )
    | st.fixed_dictionaries(
        {"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": words})}
    )
    | st.fixed_dictionaries({"type": st.just("reasoning"), "summary": st.lists(objects)})
)
contents = words | st.lists(words | blocks, max_size=3)
ids = st.none() | st.uuids().map(str) | names
extras = st.dictionaries(names.map(lambda name: f"x_{name}"), values, max_size=2)
shared = {
    "content": contents,
    "id": ids,
    "name": st.none() | names,
    "additional_kwargs": extras,
    "response_metadata": extras,
}
calls = st.fixed_dictionaries(
    {"name": names, "args": objects, "id": names, "type": st.just("tool_call")}
)
bad_calls = st.fixed_dictionaries(
    {
        "name": st.none() | names,
        "args": st.none() | words,
        "id": st.none() | names,
        "error": st.none() | words,
        "type": st.just("invalid_tool_call"),
    }
)
usage = st.none() | st.fixed_dictionaries(
    {
        "input_tokens": st.integers(0, 10**6),
        "output_tokens": st.integers(0, 10**6),
        "total_tokens": st.integers(0, 10**6),
        "input_token_details": st.fixed_dictionaries({"cache_read": st.integers(0, 10)}),
    }
)
messages = st.one_of(
    st.builds(SystemMessage, **shared),
    st.builds(HumanMessage, **shared),
    st.builds(
        AIMessage,
        **shared,
        tool_calls=st.lists(calls, max_size=2),
        invalid_tool_calls=st.lists(bad_calls, max_size=2),
        usage_metadata=usage,
    ),
    st.builds(
        ToolMessage,
        **shared,
        tool_call_id=names,
        status=st.sampled_from(["success", "error"]),
        artifact=values,
    ),
    st.builds(ChatMessage, **shared, role=names),
    st.builds(FunctionMessage, **(shared | {"name": names})),
)


def one_a_line(dumped: list[object]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in dumped)


def indented(dumped: list[object]) -> str:
    return json.dumps(dumped, indent=2)


def one_line(dumped: list[object]) -> str:
    return json.dumps(dumped)


def state(dumped: list[object]) -> str:
    return json.dumps({"messages": dumped, "todo": []}, ensure_ascii=False)


@pytest.mark.parametrize("write", [one_a_line, indented, one_line, state])
@pytest.mark.parametrize(
    "dump",
    [message_to_dict, dumpd, lambda message: message.model_dump()],
    ids=["dict", "lc", "dump"],
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recorded=st.lists(messages, min_size=1, max_size=5))
def test_loads_back_equal(
    tmp_path: Path,
    dump: Callable[[BaseMessage], object],
    write: Callable[[list[object]], str],
    recorded: Sequence[BaseMessage],
):
    path = tmp_path / "dump"
    path.write_text(write([dump(message) for message in recorded]), encoding="utf-8", newline="")
    session = load_session(path)
    assert session.format == "langchain"
    assert session.warnings == []
    loaded = [entry.message for entry in session.messages]
    assert len({message.id for message in loaded}) == len(loaded)
    every_id = [message.id for message in recorded]
    for position, (before, after) in enumerate(zip(recorded, loaded, strict=True)):
        kept = bool(before.id) and every_id.count(before.id) == 1
        expected = before if kept else before.model_copy(update={"id": f"langchain-{position}"})
        assert after == expected
        assert type(after) is type(before)
