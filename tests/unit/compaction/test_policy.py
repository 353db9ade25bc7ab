"""When a compaction is due, and what options are refused."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from langledger.compaction.host import is_overflow, reserved_output, scope_of, window_of
from langledger.compaction.options import compactor_of
from langledger.compaction.pairing import Tracked, units_of
from langledger.compaction.policy import Policy, Room, candidates
from langledger.errors import ConfigurationError, WindowUnknownError
from tests.support.scripted import ScriptedModel

ROOM = Room(window=10_000, reserved=2_000)


@pytest.mark.parametrize(
    ("trigger", "tokens", "messages", "due"),
    [
        (0.72, 5_759, 1, None),
        (0.72, 5_760, 1, "fraction 0.72"),
        (("tokens", 3_000), 3_000, 1, "tokens 3000"),
        (("messages", 40), 10, 40, "messages 40"),
        ([("fraction", 0.9), ("messages", 5)], 10, 5, "messages 5"),
        ([("fraction", 0.9), ("messages", 5)], 10, 4, None),
    ],
)
def test_the_trigger(trigger: Any, tokens: int, messages: int, due: str | None) -> None:
    policy = compactor_of(can_look_up=False, trigger=trigger).policy
    assert policy.reason(tokens=tokens, messages=messages, room=ROOM) == due


@pytest.mark.parametrize(
    "options",
    [
        {"trigger": 0},
        {"trigger": -0.5},
        {"trigger": 1.0},
        {"trigger": 0.96},
        {"trigger": True},
        {"trigger": ("share", 0.7)},
        {"trigger": ("tokens", "many")},
        {"trigger": []},
        {"keep": ("fraction", 1.5)},
        {"keep": ("turns", 3)},
        {"target": 0},
        {"max_summary_tokens": 10},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        compactor_of(can_look_up=False, **options)


def test_a_mistyped_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="triger"):
        compactor_of(can_look_up=False, triger=0.8)  # type: ignore[call-arg]


def test_a_low_trigger_warns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Policy(trigger=(("fraction", 0.5),))
    assert "0.5 is below 0.60" in caplog.text


def test_the_first_candidate_masks_the_second_summarises() -> None:
    turns = []
    for n in range(6):
        call = {"name": "f", "args": {}, "id": str(n)}
        turns += [AIMessage("", tool_calls=[call]), ToolMessage("r", tool_call_id=str(n))]
    tracked = [Tracked(n, m, 500) for n, m in enumerate([HumanMessage("go"), *turns], 1)]
    mask, summarise, *harder = candidates(units_of(tracked), keep=2_000, shown=lambda t: t.tokens)
    assert list(mask.masked) == [3, 5, 7]
    assert not mask.summarises
    assert list(summarise.covered) == [2, 3, 4, 5, 6, 7]  # the request stays
    assert [c.size for c in harder] <= [summarise.size] * len(harder)
    assert 12 not in harder[-2].covered  # the open turn stays
    assert 12 in harder[-1].covered  # until nothing else is left
    assert 1 not in harder[-1].covered


def test_a_large_result_does_not_end_the_tail_and_the_newest_is_whole() -> None:
    sizes = {1: 50, 2: 50, 3: 9_000, 4: 50, 5: 9_000}
    turns = []
    for n in range(2):
        call = {"name": "f", "args": {}, "id": str(n)}
        turns += [AIMessage("", tool_calls=[call]), ToolMessage("r", tool_call_id=str(n))]
    tracked = [Tracked(n, m, sizes[n]) for n, m in enumerate([HumanMessage("go"), *turns], 1)]
    _, gentle, *_ = candidates(units_of(tracked), keep=2_000, shown=lambda t: t.tokens)
    assert gentle.clipped == {3: 500}
    assert not gentle.covered.spans


@pytest.mark.parametrize(
    "after",
    [SystemMessage("rules changed"), HumanMessage("note", additional_kwargs={"synthetic": True})],
)
def test_what_hosts_add_after_the_newest_turn_does_not_push_it_out(after: BaseMessage) -> None:
    turns = []
    for n in range(4):
        call = {"name": "f", "args": {}, "id": str(n)}
        turns += [AIMessage("", tool_calls=[call]), ToolMessage("r", tool_call_id=str(n))]
    messages = [HumanMessage("go"), *turns, after]
    tracked = [Tracked(n, m, 500) for n, m in enumerate(messages, 1)]
    offered = list(candidates(units_of(tracked), keep=0, shown=lambda t: t.tokens))
    assert all(not {8, 9, 10} & set(c.covered) for c in offered if c.newest_whole)
    assert any(c.covered.spans for c in offered if c.newest_whole)


@pytest.mark.parametrize(
    ("checkpoint_ns", "scope"),
    [("", ""), ("model:1f", ""), ("worker:1f|model:2e", "worker"), ("a:1|b:2|llm:3", "a|b")],
)
def test_the_scope_is_the_namespace_without_task_ids(checkpoint_ns: str, scope: str) -> None:
    assert scope_of(checkpoint_ns) == scope


def test_the_window_is_given_or_told() -> None:
    told = ScriptedModel(profile={"max_input_tokens": 5_000})
    assert window_of(told, None) == 5_000
    assert window_of(told, 3_000) == 3_000
    with pytest.raises(WindowUnknownError, match="window="):
        window_of(ScriptedModel(), None)
    with pytest.raises(ConfigurationError, match="at least 1"):
        window_of(told, 0)


def test_output_is_reserved_as_the_model_was_told() -> None:
    assert reserved_output(ScriptedModel(max_tokens=800), 4_000) == 800
    assert reserved_output(ScriptedModel(max_tokens=64_000), 100_000) == 50_000
    assert reserved_output(ScriptedModel(), 4_000) == 0
    assert reserved_output(ScriptedModel(), 4_000, {"max_tokens": 100}) == 100


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The input token count (1200000) exceeds the maximum number of tokens allowed",
        "Input is too long for requested model.",
        "the request exceeds the available context size, try increasing it",
    ],
)
def test_overflows_are_known_by_what_providers_say(text: str) -> None:
    assert is_overflow(ValueError(text))
    assert not is_overflow(ValueError("rate limit reached"))
