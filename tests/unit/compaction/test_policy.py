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

from langledger.compaction.host import reserved_output, window_of
from langledger.compaction.options import compactor_of
from langledger.compaction.pairing import Tracked, recent_growth, track, units_of
from langledger.compaction.policy import candidates
from langledger.compaction.triggers import Measures, parse_triggers
from langledger.errors import ConfigurationError, WindowUnknownError
from tests.support.scripted import ScriptedModel


@pytest.mark.parametrize(
    ("trigger", "tokens", "messages", "due"),
    [
        (0.72, 5_759, 1, None),
        (0.72, 5_760, 1, "fraction 0.72"),
        (("tokens", 3_000), 3_000, 1, "tokens 3000"),
        (("messages", 40), 10, 40, "messages 40"),
        ([("fraction", 0.9), ("messages", 5)], 10, 5, "messages 5"),
        ([("fraction", 0.9), ("messages", 5)], 10, 4, None),
        ({"tokens": 3_000, "messages": 9}, 3_000, 8, None),
        ({"tokens": 3_000, "messages": 9}, 3_000, 9, "tokens 3000 and messages 9"),
        ([{"tokens": 3_000, "messages": 9}, 0.72], 5_760, 1, "fraction 0.72"),
        (("messages", 40), 7_600, 2, "hard_trigger 0.95"),
    ],
)
def test_the_trigger(trigger: Any, tokens: int, messages: int, due: str | None) -> None:
    policy = compactor_of(can_look_up=False, trigger=trigger).policy
    measures = Measures(tokens=tokens, usable=8_000, messages=messages)
    found = next(policy.dues(measures, at_turn=True), None)
    assert (found and found.reason) == due


@pytest.mark.parametrize(
    ("trigger", "tokens", "growth", "due"),
    [
        (0.72, 5_700, 300, False),
        (0.72, 5_700, 301, True),  # the next call would take over 75 %
        (0.72, 5_519, 4_000, False),
        (0.72, 5_520, 4_000, True),  # never less than 69 %
        (("tokens", 5_760), 5_759, 4_000, False),
    ],
)
def test_a_share_that_the_next_call_would_pass_sets_one_off_early(
    trigger: Any, tokens: int, growth: int, due: bool
) -> None:
    policy = compactor_of(can_look_up=False, trigger=trigger).policy
    measures = Measures(tokens=tokens, usable=8_000, messages=9, growth=growth)
    assert (next(policy.dues(measures, at_turn=True), None) is not None) == due


def test_how_much_calls_grow_is_the_lesser_of_the_last_two_steps() -> None:
    human, answer, result = HumanMessage("x"), AIMessage("y"), ToolMessage("z", tool_call_id="1")
    messages = [human, answer, result, answer, result, result, answer, human]
    tracked = track(range(8), messages, [900, 10, 20, 5, 300, 300, 10, 30])
    assert recent_growth(tracked) == 40
    assert recent_growth(tracked[:6]) == 30
    assert recent_growth(tracked[:3]) == 0


@pytest.mark.parametrize("kind", ["turns", "topic_switch", "low_density"])
def test_what_happens_in_a_conversation_sets_one_off(kind: str) -> None:
    triggers = parse_triggers((kind, 5))
    for reached, due in ((4, None), (5, f"{kind} 5")):
        found = triggers.due(Measures(tokens=1, usable=9, messages=8, **{kind: reached}))
        assert (found and found.reason) == due


def test_a_trigger_that_waits_for_the_user_gives_way_to_the_hard_one() -> None:
    policy = compactor_of(can_look_up=False, wait_for_turn=True, hard_trigger=0.9).policy

    def reason(tokens: int, *, at_turn: bool) -> str | None:
        measures = Measures(tokens=tokens, usable=1_000, messages=1)
        return next((due.reason for due in policy.dues(measures, at_turn=at_turn)), None)

    assert reason(800, at_turn=True) == "fraction 0.72"
    assert reason(800, at_turn=False) is None
    assert reason(900, at_turn=False) == "hard_trigger 0.9"


def test_a_preset_gives_way_to_what_is_said() -> None:
    policy = compactor_of(can_look_up=False, preset="repository", max_summary_tokens=900).policy
    assert policy.triggers == parse_triggers(0.95)
    assert (policy.keep_files, policy.max_summary_tokens) == (5, 900)


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
        {"trigger": {}},
        {"trigger": {"fraction": 0.7, "share": 3}},
        {"trigger": [{"fraction": 0.7}, {"tokens": -1}]},
        {"trigger": ("turns", 0)},
        {"trigger": ("messages", 1)},
        {"trigger": ("messages", float("inf"))},
        {"trigger": [[0.7]]},
        {"hard_trigger": 0.6},
        {"hard_trigger": "often"},
        {"hard_trigger": 1.5},
        {"wait_for_turn": 1},
        {"max_pinned_tokens": 3},
        {"keep_files": -1},
        {"keep_files": 1.5},
        {"preset": "repo"},
        {"model": 5},
        {"summary_prompt": ""},
        {"keep": ("turns", 3)},
        {"target": 0},
        {"max_summary_tokens": 10},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        compactor_of(can_look_up=False, **options)


def test_a_mistyped_option_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="no option triger; did you mean trigger"):
        compactor_of(can_look_up=False, triger=0.8)  # type: ignore[call-arg]


def test_a_low_trigger_warns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        parse_triggers(0.5)
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


def test_the_window_is_given_or_told() -> None:
    told = ScriptedModel(profile={"max_input_tokens": 5_000})
    assert window_of(told, None) == 5_000
    assert window_of(told, 3_000) == 3_000
    assert window_of(told, 9_000) == 5_000  # a smaller fallback, or a router's choice
    assert window_of(told, {"": 9_000}) == 9_000
    assert window_of(told, {"other": 9_000}) == 5_000
    assert window_of(ScriptedModel(), 9_000) == 9_000
    with pytest.raises(ConfigurationError, match="window"):
        window_of(told, {"other": 0})
    with pytest.raises(WindowUnknownError, match="window="):
        window_of(ScriptedModel(), None)
    with pytest.raises(ConfigurationError, match="at least 1"):
        window_of(told, 0)


def test_output_is_reserved_as_the_model_was_told() -> None:
    assert reserved_output(ScriptedModel(max_tokens=800), 4_000) == 800
    assert reserved_output(ScriptedModel(max_tokens=64_000), 100_000) == 50_000
    assert reserved_output(ScriptedModel(), 4_000) == 0
    assert reserved_output(ScriptedModel(), 4_000, {"max_tokens": 100}) == 100
